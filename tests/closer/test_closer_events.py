"""What the closer says in a run's place: the run's own words, with the ending that was found."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import UTC, datetime

from openlineage.client.facet_v2 import error_message_run

from pipeline_runtime.closer.events import completed_event, ending_event

AT = datetime(2026, 8, 4, 9, 0, tzinfo=UTC)
START = {
    "eventType": "START",
    "eventTime": "2026-08-04T08:00:00.000Z",
    "producer": "https://cordata.tech/pipeline-runtime",
    "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
    "run": {"runId": "0b8c7a40-0000-4000-8000-000000000001", "facets": {"cordata_provenance": {"git": "ü"}}},
    "job": {"namespace": "cordata.fraud", "name": "payments-scored", "facets": {"processing": {"purpose": "p"}}},
    "inputs": [],
    "outputs": [],
}
FORESEEN = {
    **START,
    "eventType": "COMPLETE",
    "outputs": [
        {
            "namespace": "arn:aws:glue:eu-central-1:111122223333",
            "name": "table/d/t",
            "facets": {"version": {"datasetVersion": "7"}},
            "outputFacets": {"cordata_publish": {"snapshot_id": 7, "rows": 3}, "outputStatistics": {"rowCount": 3}},
        }
    ],
}


def test_a_fail_is_the_start_with_a_reason_and_without_datasets() -> None:
    event = json.loads(ending_event(json.dumps(START).encode(), "FAIL", "it was killed", AT))

    error = event["run"]["facets"].pop("errorMessage")
    assert event == {**START, "eventType": "FAIL", "eventTime": "2026-08-04T09:00:00.000Z"}
    assert error == {
        "_producer": START["producer"],
        "_schemaURL": error_message_run.ErrorMessageRunFacet._get_schema(),
        "message": "it was killed",
        "programmingLanguage": "python",
    }


def test_a_complete_is_what_the_run_had_foreseen_with_the_snapshot_that_the_catalog_shows() -> None:
    event = json.loads(completed_event(json.dumps(FORESEEN).encode(), AT, 9))

    output = event["outputs"][0]
    assert (event["eventType"], event["eventTime"]) == ("COMPLETE", "2026-08-04T09:00:00.000Z")
    assert output["facets"]["version"] == {"datasetVersion": "9"}
    assert output["outputFacets"]["cordata_publish"] == {"snapshot_id": 9, "rows": 3}
    assert output["outputFacets"]["outputStatistics"] == {"rowCount": 3}
    unchanged = json.loads(completed_event(json.dumps(FORESEEN).encode(), AT, None))
    assert unchanged == {**FORESEEN, "eventTime": "2026-08-04T09:00:00.000Z"}


def test_the_closers_import_is_light() -> None:
    code = (
        "import sys, pipeline_runtime.closer.handler\n"
        "print([m for m in ('pydantic', 'pyspark', 'great_expectations', 'openlineage', 'yaml', 'sqlglot', 'numpy')"
        " if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"
