"""Run by Airflow's own Python: what Airflow makes of the DAGs, as JSON in the line that begins with ANSWER.

airflow_run.py import                        every DAG, its schedule and the problems of importing it
airflow_run.py test <dag id> <nominal time>    one run by dag.test(), and the runs of other DAGs that it asked for
airflow_run.py configuration                 what Airflow's provider reads from the configuration
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import Any

from airflow.configuration import conf
from airflow.dag_processing.dagbag import BundleDagBag, sync_bag_to_db
from airflow.utils.session import create_session


def bag_of_dags() -> Any:
    folder = Path(conf.get("core", "dags_folder"))
    return BundleDagBag(dag_folder=folder, bundle_path=folder, bundle_name="dags-folder")


def imported() -> dict[str, Any]:
    bag = bag_of_dags()
    return {
        "errors": bag.import_errors,
        "warnings": [str(each) for found in bag.captured_warnings.values() for each in found],
        "dags": {
            dag.dag_id: {
                "owner": dag.owner,
                "schedule": repr(dag.timetable),
                "tasks": {task.task_id: type(task).__name__ for task in dag.tasks},
                "retries": [task.retries for task in dag.tasks],
                "outlets": [asset.uri for task in dag.tasks for asset in task.outlets],
                "catchup": dag.catchup,
                "max_active_runs": dag.max_active_runs,
            }
            for dag in bag.dags.values()
        },
    }


def dag_test(dag_id: str, *nominal_times: str) -> list[dict[str, Any]]:
    from airflow.dag_processing.bundles.manager import DagBundlesManager

    bag = bag_of_dags()
    with create_session() as session:
        DagBundlesManager().sync_bundles_to_db(session=session)
    sync_bag_to_db(bag, "dags-folder", None)
    unpause(bag)
    found = []
    for nominal_time in nominal_times:
        run = bag.dags[dag_id].test(run_conf={"nominal_time": nominal_time})
        [task] = run.get_task_instances()
        found.append({"state": str(task.state), "tries": task.try_number, "asked_for": asked_for()})
    return found


def unpause(bag: Any) -> None:
    from airflow.models.dag import DagModel
    from sqlalchemy import update

    with create_session() as session:
        session.execute(update(DagModel).where(DagModel.dag_id.in_(list(bag.dags))).values(is_paused=False))


def asked_for() -> list[str]:
    """The runs that the scheduler makes because of what was published, as <dag>@<partition>."""
    from airflow.jobs.job import Job
    from airflow.jobs.scheduler_job_runner import SchedulerJobRunner
    from airflow.models.dagrun import DagRun
    from sqlalchemy import select

    with create_session() as session:
        SchedulerJobRunner(job=Job())._create_dagruns_for_partitioned_asset_dags(session=session)
        session.commit()
        runs = session.scalars(select(DagRun).where(DagRun.partition_key.is_not(None))).all()
        return sorted(f"{run.dag_id}@{run.partition_key}" for run in runs)


def configured() -> dict[str, Any]:
    from airflow.providers.openlineage import conf as openlineage

    return {
        "namespace": openlineage.namespace(),
        "transport": openlineage.transport(),
        "disabled": openlineage.is_disabled(),
    }


if __name__ == "__main__":
    warnings.simplefilter("error")
    # Airflow's own reading of .airflowignore.
    warnings.filterwarnings("ignore", message="GitWildMatchPattern", category=DeprecationWarning)
    what, *arguments = sys.argv[1:]
    answer = {"import": imported, "test": dag_test, "configuration": configured}[what](*arguments)
    sys.stdout.write(f"\nANSWER {json.dumps(answer)}\n")
