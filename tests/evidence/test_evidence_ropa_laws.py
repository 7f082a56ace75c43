"""`ropa`: what holds for any events, in any order, and for ten thousand of them."""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from activities import DECLARED, ROOT, event, run_id
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipeline_runtime.evidence.event_reading import events_in
from pipeline_runtime.evidence.ropa.as_json import as_json
from pipeline_runtime.evidence.ropa.collect import collected
from pipeline_runtime.evidence.ropa.markdown import as_markdown
from pipeline_runtime.evidence.ropa.project import record_of
from sandbox.audited_domain import ENDED, AuditedDomain

EVENTS = st.lists(
    st.builds(
        lambda job, run, day, kind, reads, writes, purpose: event(
            f"ns/{job}",
            run * 3 + "abc".index(job),
            ENDED + timedelta(days=day),
            kind,
            reads=tuple(f"wh|{name}" for name in reads),
            writes=tuple(f"wh|{name}" for name in writes),
            **({"purpose": purpose} if purpose else {}),
        ),
        st.sampled_from("abc"),
        st.integers(0, 3),
        st.integers(0, 5),
        st.sampled_from(["START", "COMPLETE", "FAIL"]),
        st.sets(st.sampled_from("xyz"), max_size=2),
        st.sets(st.sampled_from("xyz"), max_size=2),
        st.sampled_from(["", "one", "two"]),
    ),
    max_size=12,
)


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None, max_examples=40)
@given(EVENTS, st.randoms(use_true_random=False))
def test_the_record_does_not_depend_on_the_order_in_which_events_are_read(
    events: list[dict[str, Any]], shuffler: random.Random
) -> None:
    def made(items: list[dict[str, Any]]) -> str:
        return as_json(
            record_of(collected(each for item in items for each in events_in("x", json.dumps(item).encode())), "x")
        )

    shuffled = [*events, *events[:2]]
    shuffler.shuffle(shuffled)
    once, again = json.loads(made(events)), json.loads(made(shuffled))
    assert once["activities"] == again["activities"]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(["eventType", "run", "runId", "job", "namespace", "name", "facets", "inputs", "outputs"])
            | st.sampled_from(
                ["processing", "purpose", "parent", "tags", "symlinks", "identifiers", "ownership", "owners"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_whatever_a_file_holds_the_record_is_made_of_the_rest(data: st.DataObject) -> None:
    damaged = event(reads=("wh|raw",), writes=("wh|mart",), tags={"a": "b"}, aliases=("x|y",), **DECLARED)
    holder: Any = damaged
    while True:
        key = data.draw(st.sampled_from(sorted(holder) if isinstance(holder, dict) else range(len(holder))))
        if not isinstance(holder[key], dict | list) or not holder[key] or data.draw(st.booleans()):
            holder[key] = data.draw(JSON)
            break
        holder = holder[key]
    whole = event("ns/whole", 2, **DECLARED)

    found = record_of(
        collected(
            each for item in (damaged, whole, data.draw(JSON)) for each in events_in("x", json.dumps(item).encode())
        ),
        "x",
    )

    assert "whole" in [activity.job for activity in found.activities]
    json.loads(as_json(found))
    as_markdown(found)


@pytest.mark.slow
def test_ten_thousand_events_take_seconds_and_little_memory(tmp_path: Path, domain: AuditedDomain) -> None:
    domain.commit()
    example = domain.event()
    columns = [{"name": f"column_{number}", "type": "string"} for number in range(100)]
    example["outputs"][0]["facets"]["schema"]["fields"] = columns
    folder = tmp_path / "events"
    for job in range(50):
        (folder / f"{job}").mkdir(parents=True)
        example["job"]["name"] = f"job-{job}"
        for run in range(200):
            example["run"]["runId"] = run_id(job * 1000 + run)
            example["eventTime"] = (datetime(2026, 1, 1, tzinfo=UTC) + timedelta(days=run)).isoformat()
            (folder / f"{job}" / f"{run}.json").write_text(json.dumps(example))

    # The kernel's high-water mark of the process itself: what wait4 tells includes this session's, from before exec.
    measured = (
        "import os, sys; from pipeline_runtime.cli import main; code = main(sys.argv[1:]);"
        "print(os.times().user, open('/proc/self/status').read(), file=sys.stderr); sys.exit(code)"
    )
    command = [sys.executable, "-c", measured, "ropa", str(folder), "--format", "json"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    found = json.loads(done.stdout)
    assert (done.returncode, len(found["activities"]), found["scope"]["events"]) == (0, 50, 10_000)
    # Of its own processor time, for others may use the machine; measured: 1.3 s and 27 MB.
    seconds = float(done.stderr.split()[0])
    (kilobytes,) = re.findall(r"VmHWM:\s+(\d+) kB", done.stderr)
    peak = int(kilobytes) / 1000
    assert seconds < 10, f"{seconds:.1f} s"
    assert peak < 100, f"{peak:.0f} MB"
