"""The loop: a DAG for every descriptor that has a deployed job."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from airflow.sdk import (
    DAG,
    Asset,
    CronPartitionTimetable,
    DayWindow,
    MonthWindow,
    Param,
    PartitionedAssetTimetable,
    RollupMapper,
    StartOfDayMapper,
    StartOfMonthMapper,
    StartOfWeekMapper,
    WeekWindow,
)

from pipeline_runtime.airflow.operator import RunDescriptor
from pipeline_runtime.airflow.periods import KEY_FORMAT
from pipeline_runtime.errors import ConfigurationError
from pipeline_runtime.scheduling.deployment import Deployment, Job, load_deployment
from pipeline_runtime.scheduling.products import Product, find_products, upstream_of

__all__ = ["dags"]

_COLLECTED = {
    "day": (StartOfDayMapper, DayWindow),
    "week": (StartOfWeekMapper, WeekWindow),
    "month": (StartOfMonthMapper, MonthWindow),
}

#: Before any run; Airflow wants one, and catches nothing up.
_START = datetime(2026, 1, 1, tzinfo=UTC)


def dags(folder: Path, deployment_file: Path | None = None) -> Iterator[DAG]:
    """The DAGs of the descriptors in `domains/*/pipelines/` below the folder.

    The deployment's file is `deployment.json` in it, where no other is named. A descriptor without a deployed job is
    left out: it may be merged before it is applied. Raises ConfigurationError where the two do not fit together.
    """
    deployment = load_deployment(deployment_file or folder / "deployment.json")
    products = find_products(folder)
    jobs = deployment.by_descriptor()
    if missing := sorted(set(jobs) - {product.path for product in products}):
        raise ConfigurationError(f"the deployment has jobs for {', '.join(missing)}, which are not below {folder}")
    upstream = upstream_of(products)
    for product in products:
        if product.path in jobs:
            domain, job = jobs[product.path]
            if domain != product.domain:
                raise ConfigurationError(f"{product.path} is {product.domain}'s, and its job {job} {domain}'s")
            yield _dag(product, upstream.get(product), deployment, job)


def _dag(product: Product, maker: Product | None, deployment: Deployment, job: str) -> DAG:
    domain = deployment.domains[product.domain]
    with DAG(
        dag_id=f"{product.domain}.{product.name}",
        schedule=_schedule(domain.jobs[job], product, maker, deployment),
        start_date=_START,
        catchup=False,
        # A Glue job has one run at a time.
        max_active_runs=1,
        tags=[product.domain],
        description=f"{product.target}: {product.purpose}",
        params={"nominal_time": Param(None, type=["null", "string"], description="For a run by hand: its period")},
        default_args={"owner": product.owner},
    ) as dag:
        RunDescriptor(
            task_id="run",
            job=job,
            role_arn=domain.role_arn,
            external_id=domain.external_id,
            region=deployment.region,
            poll_seconds=deployment.poll_seconds,
            product=_asset(product, deployment),
            retries=deployment.retries,
            retry_delay=timedelta(seconds=deployment.retry_seconds),
            retry_exponential_backoff=2.0,
            max_retry_delay=timedelta(minutes=30),
        )
    return dag


def _schedule(job: Job, product: Product, maker: Product | None, deployment: Deployment) -> Any:
    """By the clock where nobody we know makes the source; else whenever it has been made for a period."""
    # A maker without a job never says that it is done; until it is deployed, the clock may decide.
    if maker is not None and maker.path in deployment.by_descriptor():
        if job.schedule is not None:
            raise ConfigurationError(
                f"{product.path} starts when {maker.key} has published {product.source}; take its schedule "
                f"{job.schedule!r} out of the deployment"
            )
        if job.collects is None:
            return PartitionedAssetTimetable(assets=_asset(maker, deployment))
        start, window = _COLLECTED[job.collects]
        mapper = RollupMapper(upstream_mapper=start(output_format=KEY_FORMAT), window=window())
        return PartitionedAssetTimetable(assets=_asset(maker, deployment), default_partition_mapper=mapper)
    if job.collects is not None:
        raise ConfigurationError(f"{product.path} collects a {job.collects} of {product.source}, which no job makes")
    # At the end of a period, for that period.
    return None if job.schedule is None else CronPartitionTimetable(job.schedule, timezone="UTC", run_offset=-1)


def _asset(product: Product, deployment: Deployment) -> Asset:
    """A product as Airflow knows it: by its table's ARN, the name that lineage has for it as well."""
    domain = deployment.domains[product.domain]
    arn = f"arn:aws:glue:{deployment.region}:{domain.account}:table/{product.target.replace('.', '/')}"
    return Asset(name=f"{product.domain}/{product.target}", uri=arn)
