"""The live configuration, as Terragrunt resolves it: whole, of one mind with the repository, and applied for real."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from pipeline_runtime.scheduling.deployment import Deployment
from pipeline_runtime.scheduling.products import find_products, upstream_of
from sandbox.deploy.environment import Environment
from sandbox.deploy.live import Live
from sandbox.deploy.terraform import ACCOUNTS, copy_of
from sandbox.deploy.terragrunt import Unit, UnsupportedTerragrunt, in_order, units
from tests.conftest import Aws

pytestmark = pytest.mark.terraform


@pytest.fixture(scope="module")
def by_name(terraform_tree: Path) -> dict[str, Unit]:
    return {unit.name: unit for unit in units(terraform_tree.parent)}


def test_every_account_has_its_units(by_name: dict[str, Unit]) -> None:
    assert set(by_name) == {
        "prod/platform/executor_artefact",
        "prod/governance/policy",
        "prod/governance/lineage_adapter",
        "prod/automation/orchestrator_role",
        "prod/automation/dag_bucket",
        *(f"prod/domains/{domain}" for domain in ("fraud", "policy", "finance")),
        *(f"prod/domains/{domain}/scheduler" for domain in ("fraud", "policy", "finance")),
        *(f"prod/domains/{domain}/freshness" for domain in ("fraud", "policy", "finance")),
        *(f"prod/domains/{domain}/ci" for domain in ("fraud", "policy", "finance")),
        "prod/domains/fraud/shares",
        "prod/domains/finance/links",
    }


def test_a_unit_comes_after_what_it_reads(by_name: dict[str, Unit]) -> None:
    order = [unit.name for unit in in_order(by_name.values())]
    assert order.index("prod/governance/lineage_adapter") < order.index("prod/domains/fraud")
    assert order.index("prod/domains/fraud") < order.index("prod/domains/fraud/scheduler")
    assert order.index("prod/automation/orchestrator_role") < order.index("prod/domains/fraud/scheduler")
    assert order.index("prod/domains/finance/scheduler") < order.index("prod/automation/dag_bucket")
    shared, linked = order.index("prod/domains/fraud/shares"), order.index("prod/domains/finance/links")
    assert shared < linked < order.index("prod/domains/finance")


def test_governance_knows_the_jobs_that_the_domains_declare(by_name: dict[str, Unit], tmp_path: Path) -> None:
    domains = ("fraud", "policy", "finance")
    declared = {
        domain: [
            job["name"].strip('"') for job in by_name[f"prod/domains/{domain}"].document["inputs"]["transform_jobs"]
        ]
        for domain in domains
    }
    adapter = by_name["prod/governance/lineage_adapter"].write(tmp_path / "root", {}, tmp_path / "data")
    asked = "jsonencode({ for name, domain in local.config_env.domains : name => domain.job_names })\n"
    (adapter.folder / "provider.tf").unlink()
    (adapter.folder / "backend.tf.json").unlink()
    adapter.init()

    assert json.loads(json.loads(adapter("console", given=asked).stdout)) == declared


def test_every_descriptor_of_the_samples_is_deployed_once(by_name: dict[str, Unit]) -> None:
    deployed = [
        job["descriptor"].strip('"')
        for unit in by_name.values()
        if unit.module.name == "transform_jobs"
        for job in unit.document["inputs"]["transform_jobs"]
    ]
    there = [path.relative_to(Path.cwd()).as_posix() for path in Path.cwd().glob("domains/*/pipelines/*.yml")]
    assert sorted(deployed) == sorted(there)


def test_the_orchestrator_is_told_of_every_domain(by_name: dict[str, Unit], terraform_tree: Path) -> None:
    told = by_name["prod/automation/dag_bucket"].document["inputs"]["deployments"]
    assert set(told) == set(Environment.of(terraform_tree.parent).domains)


def test_a_unit_has_what_it_includes_and_its_own_counts_before_that(
    by_name: dict[str, Unit], terraform_tree: Path, tmp_path: Path
) -> None:
    unit = by_name["prod/domains/fraud"]
    copy_of(terraform_tree, tmp_path / "terraform")
    own = tmp_path / "terraform" / "live" / unit.name / "terragrunt.hcl"
    own.write_text(own.read_text().replace("inputs = {", 'inputs = {\n  bucket_name = "mine"'))
    document = Unit(tmp_path, own.parent).document
    assert document["inputs"]["bucket_name"] == '"mine"'
    assert document["inputs"]["executor_version"] == unit.document["inputs"]["executor_version"]
    assert set(unit.dependencies) == {"artefact", "policy", "adapter"}
    assert {folder.name for folder in unit.dependencies.values()} == {"executor_artefact", "policy", "lineage_adapter"}
    assert unit.module.name == "transform_jobs"


def test_a_local_of_an_included_file_is_not_defined_twice(terraform_tree: Path, tmp_path: Path) -> None:
    copy_of(terraform_tree, tmp_path / "terraform")
    own = tmp_path / "terraform" / "live" / "prod" / "domains" / "fraud" / "terragrunt.hcl"
    own.write_text(own.read_text() + '\nlocals {\n  domain = "other"\n}\n')
    with pytest.raises(UnsupportedTerragrunt, match=r"prod/domains/fraud: local domain is also an included file's"):
        _ = Unit(tmp_path, own.parent).document


def test_a_units_state_and_account_follow_its_folder(by_name: dict[str, Unit], tmp_path: Path) -> None:
    outputs = {folder: {"location": "s3://a/b"} for folder in by_name["prod/domains/finance"].dependencies.values()}
    written = by_name["prod/domains/finance"].write(tmp_path / "root", outputs, tmp_path / "data")
    assert 'role_arn = "arn:aws:iam::666677778888:role/deployer"' in (written.folder / "provider.tf").read_text()
    backend = (written.folder / "backend.tf.json").read_text()
    assert '"bucket": "cordata-terraform-state-666677778888"' in backend
    assert '"key": "prod/domains/finance/terraform.tfstate"' in backend


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("skip = true", "skip"),
        ('inputs = { secret = "${run_cmd("cat", "/etc/passwd")}" }', "run_cmd"),
        ("inputs = { who = get_aws_caller_identity_arn() }", "get_aws_caller_identity_arn"),
    ],
)
def test_what_is_not_resolved_is_an_error(terraform_tree: Path, tmp_path: Path, line: str, problem: str) -> None:
    copy_of(terraform_tree, tmp_path / "terraform")
    folder = tmp_path / "terraform" / "live" / "prod" / "odd"
    folder.mkdir()
    text = f'terraform {{\n  source = "${{get_repo_root()}}/terraform/modules//policy"\n}}\n{line}\n'
    (folder / "terragrunt.hcl").write_text(text)
    with pytest.raises(UnsupportedTerragrunt, match=problem):
        next(unit for unit in units(tmp_path) if unit.name == "prod/odd").write(
            tmp_path / "root", {}, tmp_path / "data"
        )


@pytest.mark.slow
def test_all_units_are_applied_and_a_second_plan_finds_nothing(aws: Aws, terraform_tree: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "any.zip", "w") as archive:
        archive.writestr("handler.py", "")
    for domain, database, table in (("fraud", "fraud_raw", "transactions"), ("policy", "policy_raw", "claims")):
        source(aws.client("glue", ACCOUNTS[domain]), database, table)
    anywhere = {"adapter_zip": str(tmp_path / "any.zip"), "executor_zip": str(tmp_path / "any.zip")}
    standin = {"lineage_adapter": anywhere, "freshness": {"executor_zip": anywhere["executor_zip"]}}
    live = Live(terraform_tree.parent, aws.endpoint, tmp_path / "work", standin)
    live.apply()
    assert live.changes() == {}
    jobs = aws.client("glue", ACCOUNTS["finance"]).list_jobs()["JobNames"]
    assert jobs == ["merchant_settlement_daily"]
    arguments = aws.client("glue", ACCOUNTS["finance"]).get_job(JobName=jobs[0])["Job"]["DefaultArguments"]
    assert arguments["--lineage-url"] == live.output("prod/governance/lineage_adapter", "lineage_url")
    assert arguments["--lineage-role-arn"] == f"arn:aws:iam::{ACCOUNTS['governance']}:role/cordata-finance-lineage"
    the_orchestrator_has_a_job_for_every_descriptor(aws, live.output("prod/automation/dag_bucket", "bucket"))
    each_domain_watches_its_products(aws)
    live.destroy()


def the_orchestrator_has_a_job_for_every_descriptor(aws: Aws, bucket: str) -> None:
    written = aws.client("s3", ACCOUNTS["automation"]).get_object(Bucket=bucket, Key="dags/deployment.json")
    deployment = Deployment.model_validate_json(written["Body"].read())
    jobs = deployment.by_descriptor()
    products = find_products(Path.cwd())
    assert {product.path: product.domain for product in products} == {
        path: domain for path, (domain, _) in jobs.items()
    }
    # Whose source no other job makes starts by the clock, or never.
    made = upstream_of(products)
    for product in products:
        domain, name = jobs[product.path]
        assert (deployment.domains[domain].jobs[name].schedule is None) == (product in made)
    for domain, its in deployment.domains.items():
        role = aws.client("iam", ACCOUNTS[domain]).get_role(RoleName=its.role_arn.rpartition("/")[2])["Role"]
        [statement] = role["AssumeRolePolicyDocument"]["Statement"]
        assert statement["Principal"] == {"AWS": f"arn:aws:iam::{ACCOUNTS['automation']}:role/cordata-orchestrator"}


def each_domain_watches_its_products(aws: Aws) -> None:
    for domain in ("fraud", "policy", "finance"):
        found = aws.client("lambda", ACCOUNTS[domain]).get_function(FunctionName=f"cordata-{domain}-freshness")
        variables = found["Configuration"]["Environment"]["Variables"]
        targets = [product.target for product in find_products(Path.cwd()) if product.domain == domain]
        watched = json.loads(variables["CORDATA_FRESHNESS_PRODUCTS"])
        assert [f"{each['database']}.{each['table']}" for each in watched] == targets
        assert variables["CORDATA_OWNER_TOPIC"].endswith(f":{ACCOUNTS[domain]}:cordata-{domain}-owners")


def source(glue: Any, database: str, table: str) -> None:
    glue.create_database(DatabaseInput={"Name": database})
    storage = {
        "Location": f"s3://cordata-{database.replace('_', '-')}/{table}/",
        "Columns": [{"Name": "id", "Type": "string"}],
    }
    glue.create_table(DatabaseName=database, TableInput={"Name": table, "StorageDescriptor": storage})
