"""The producer's check is quick enough to stand in every build, however many domains there are."""

from __future__ import annotations

import pytest

from benchmarks.consumers.__main__ import measure


@pytest.mark.slow
def test_ten_thousand_descriptors_take_less_than_twenty_seconds_on_two_processors_and_little_memory():
    tenth, whole = measure(1_000, 10), measure(10_000, 100)
    # Processor time: a busy machine is no slower a check.
    assert whole.processor_seconds < 2 * 20
    assert whole.megabytes < 1.5 * tenth.megabytes


def test_a_broken_descriptor_among_many_is_found_by_whichever_process_reads_it(consumers, check):
    from contract_samples import COLUMNS, proposal_text

    for number in range(600):
        consumers.descriptor(f"order-{number:03}", table="orders" if number % 100 == 0 else "lines", recorded=None)
    consumers.record(COLUMNS)
    (consumers.root / "finance" / "pipelines" / "order-550.yml").write_text("a: [")

    code, out, _ = check(proposal_text(COLUMNS), "--no-catalog")

    assert code == 1
    assert "UNREADABLE  domains/finance/pipelines/order-550.yml" in out
    assert "600 descriptors scanned under domains" in out
    assert [line.split()[1] for line in out.splitlines() if line.startswith("compatible")] == [
        f"order-{number:03}" for number in range(0, 600, 100)
    ]
