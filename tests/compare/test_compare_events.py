"""Two events say the same, or where they do not: only run id, event time and producer are left out."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline_runtime.cli import main
from pipeline_runtime.compare.events import compare_events

RUN = "0196f3f4-7a1c-7c3e-9f6a-2d54a1c0b7e9"
GLUE = "arn:aws:glue:eu-central-1:111122223333"


def facet(**values: Any) -> dict[str, Any]:
    return {"_producer": "https://example.org/one", "_schemaURL": "https://openlineage.io/spec/facets/1.json", **values}


def event() -> dict[str, Any]:
    """A COMPLETE event of a product of two columns, whose score comes from the amount."""
    edge = {"namespace": GLUE, "name": "table/raw/payments", "field": "amount"}
    return {
        "eventType": "COMPLETE",
        "eventTime": "2026-08-04T09:00:00.000Z",
        "producer": "https://example.org/one",
        "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
        "run": {
            "runId": RUN,
            "facets": {"cordata_provenance": facet(executor_version="one 1.0", source_schema_version=7)},
        },
        "job": {"namespace": "cordata.fraud", "name": "payments-scored", "facets": {}},
        "inputs": [{"namespace": GLUE, "name": "table/raw/payments", "facets": {}}],
        "outputs": [
            {
                "namespace": GLUE,
                "name": "table/curated/payments_scored",
                "facets": {
                    "schema": facet(
                        fields=[
                            {"name": "amount", "type": "decimal(10,2)", "ordinal_position": 1},
                            {"name": "score", "type": "double", "ordinal_position": 2},
                        ]
                    ),
                    "columnLineage": facet(fields={"score": {"inputFields": [edge]}}),
                    "storage": facet(branch=f"audit_{RUN.replace('-', '_')}"),
                },
                "outputFacets": {"cordata_publish": facet(rows=2, snapshot_id=41)},
            }
        ],
    }


def other_run() -> dict[str, Any]:
    """The same event of another run, an hour later, by another producer."""
    text = json.dumps(event()).replace(RUN, "11111111-1111-4111-8111-111111111111")
    text = text.replace(RUN.replace("-", "_"), "11111111_1111_4111_8111_111111111111")
    text = text.replace("https://example.org/one", "https://example.org/two").replace("one 1.0", "two 9.9")
    changed: dict[str, Any] = json.loads(text)
    changed["eventTime"] = "2026-08-04T10:00:00.000Z"
    return changed


def difference(change: Any, snapshots: tuple[int | None, int | None] = (None, None)) -> list[str]:
    """The findings after `change` has been done to the other run's event."""
    second = other_run()
    change(second)
    return [str(finding) for finding in compare_events(event(), second, snapshots)]


def output(second: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = second["outputs"][0]
    return found


def test_another_run_at_another_time_by_another_producer_says_the_same() -> None:
    assert difference(lambda second: None) == []


def test_a_changed_lineage_edge_is_named() -> None:
    def change(second: dict[str, Any]) -> None:
        output(second)["facets"]["columnLineage"]["fields"]["score"]["inputFields"][0]["field"] = "fee"

    place = f"outputs[{GLUE} table/curated/payments_scored].facets.columnLineage.fields.score.inputFields"
    found = difference(change)
    assert [each.split(": only")[0] for each in found] == [
        f"event: {place}[{GLUE} table/raw/payments amount]",
        f"event: {place}[{GLUE} table/raw/payments fee]",
    ]
    assert "only in the first" in found[0]
    assert "only in the second" in found[1]


def test_a_lost_edge_and_another_input_are_named() -> None:
    def lose(second: dict[str, Any]) -> None:
        del output(second)["facets"]["columnLineage"]["fields"]["score"]

    (lost,) = difference(lose)
    assert "columnLineage.fields.score: only in the first" in lost

    def rename(second: dict[str, Any]) -> None:
        second["inputs"][0]["name"] = "table/raw/refunds"

    found = difference(rename)
    assert [each.split(": ")[1] for each in found] == [
        f"inputs[{GLUE} table/raw/payments]",
        f"inputs[{GLUE} table/raw/refunds]",
    ]


def test_a_changed_type_is_named_with_both_types() -> None:
    def change(second: dict[str, Any]) -> None:
        output(second)["facets"]["schema"]["fields"][0]["type"] = "decimal(12,2)"

    (found,) = difference(change)
    assert found.endswith('facets.schema.fields[amount].type: "decimal(10,2)" → "decimal(12,2)"')


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("eventType",), "FAIL"),
        (("schemaURL",), "https://openlineage.io/spec/1-0-0/OpenLineage.json"),
        (("job", "name"), "payments_scored"),
        (("job", "namespace"), "default"),
        (("run", "facets", "cordata_provenance", "source_schema_version"), 8),
        (("run", "facets", "cordata_provenance", "source_schema_version"), "7"),
        (("run", "facets", "cordata_provenance", "source_schema_version"), True),
        (("run", "facets", "cordata_provenance", "_schemaURL"), "https://openlineage.io/spec/facets/2.json"),
    ],
)
def test_everything_else_counts(path: tuple[str, ...], value: Any) -> None:
    def change(second: dict[str, Any]) -> None:
        place = second
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = value

    (found,) = difference(change)
    assert found.startswith(f"event: {'.'.join(path)}: ")
    assert json.dumps(value) in found


def test_the_order_of_named_entries_means_nothing() -> None:
    def change(second: dict[str, Any]) -> None:
        output(second)["facets"]["schema"]["fields"].reverse()

    assert difference(change) == []


def test_a_repeated_entry_is_not_lost_among_its_equals() -> None:
    def change(second: dict[str, Any]) -> None:
        second["inputs"].append(copy.deepcopy(second["inputs"][0]))

    (found,) = difference(change)
    assert found.startswith("event: inputs[1]: only in the second")


def test_snapshot_ids_agree_where_both_name_what_was_compared() -> None:
    def change(second: dict[str, Any]) -> None:
        output(second)["outputFacets"]["cordata_publish"]["snapshot_id"] = 42

    assert len(difference(change)) == 1
    assert difference(change, (41, 42)) == []
    assert len(difference(change, (41, 43))) == 1
    assert len(difference(change, (None, 42))) == 1


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["name", "key", "a", "b"]), inner),
    max_leaves=12,
)


@given(json_values, json_values)
def test_findings_are_empty_for_the_same_facet_and_only_for_it(first: Any, second: Any) -> None:
    def with_facet(value: Any) -> dict[str, Any]:
        return {**event(), "job": {"facets": {"own": value}}}

    assert compare_events(with_facet(first), with_facet(first)) == []
    if order_aside(first) != order_aside(second):
        assert compare_events(with_facet(first), with_facet(second)) != []


def order_aside(value: Any) -> Any:
    """A value in which the order of lists does not count, and 1, True and 1.0 are three things."""
    if isinstance(value, dict):
        return {key: order_aside(held) for key, held in value.items()}
    if isinstance(value, list):
        return sorted(json.dumps(order_aside(each), sort_keys=True) for each in value)
    return type(value).__name__, value


def test_the_command_says_the_same_with_its_exit_code(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, second = tmp_path / "first.json", tmp_path / "second.json"
    first.write_text(json.dumps(event()), "utf-8")
    second.write_text(json.dumps(other_run()), "utf-8")
    assert main(["compare", "--events", str(first), str(second)]) == 0
    assert capsys.readouterr().out == ""

    second.write_text(json.dumps({**other_run(), "eventType": "FAIL"}), "utf-8")
    assert main(["compare", "--events", str(first), str(second)]) == 1
    assert capsys.readouterr().out == 'event: eventType: "COMPLETE" → "FAIL"\n'


@pytest.mark.parametrize(
    ("text", "said"),
    [(None, "No such file"), ("{", "is not JSON"), ("[]", "no OpenLineage run event"), ('{"a": 1}', "run event")],
    ids=["missing", "no JSON", "a list", "no event"],
)
def test_what_is_no_event_cannot_be_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str | None, said: str
) -> None:
    first, second = tmp_path / "first.json", tmp_path / "second.json"
    first.write_text(json.dumps(event()), "utf-8")
    if text is not None:
        second.write_text(text, "utf-8")

    assert main(["compare", "--events", str(first), str(second)]) == 2

    written = capsys.readouterr()
    assert written.out == ""
    assert str(second) in written.err
    assert said in written.err


@pytest.mark.parametrize(
    "arguments", [[], ["one"], ["--bytes", "--events", "EVENT", "EVENT"], ["--examples", "-1", "a", "b"]]
)
def test_a_command_line_without_a_pair_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    (tmp_path / "event.json").write_text(json.dumps(event()), "utf-8")

    assert main(["compare", *(each.replace("EVENT", str(tmp_path / "event.json")) for each in arguments)]) == 2
    assert capsys.readouterr().err
