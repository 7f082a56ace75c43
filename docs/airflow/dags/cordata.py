"""The one DAG file: a DAG for every descriptor that has a deployed job."""

from pathlib import Path

from pipeline_runtime.airflow.dags import dags

for dag in dags(Path(__file__).parent):
    globals()[dag.dag_id] = dag
