"""What a descriptor may say, and how it is told that it may not."""

from __future__ import annotations

import hashlib
from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipeline_runtime.descriptor import v1, v2
from pipeline_runtime.descriptor.blocks import OnFailure
from pipeline_runtime.descriptor.load import MODELS, load
from pipeline_runtime.errors import DescriptorError, UnknownApiVersion, UsageError


def test_a_descriptor_is_read_as_it_was_written(domain):
    loaded = domain.load()
    pipeline = loaded.descriptor
    assert (pipeline.metadata.name, pipeline.metadata.domain) == ("orders-daily", "shop")
    assert (pipeline.source.fqn, pipeline.source.schema_version) == ("shop_raw.orders", 7)
    assert [step.id for step in pipeline.steps] == ["clean", "score"]
    assert pipeline.steps[1].params == {"model": "2026-07"}
    assert (pipeline.contract.freshness_sla, pipeline.contract.freshness) == ("PT4H", timedelta(hours=4))
    assert pipeline.expectations.on_failure is OnFailure.BLOCK_PUBLISH


def test_the_file_travels_with_the_descriptor(domain, monkeypatch):
    domain.load()
    monkeypatch.chdir(domain.root / "pipelines")
    loaded = load(domain.descriptor.relative_to(domain.root / "pipelines"))
    assert loaded.path == domain.descriptor
    assert loaded.domain_root == domain.root
    assert loaded.sha256 == hashlib.sha256(domain.descriptor.read_bytes()).hexdigest()
    assert loaded.document.line(("target", "location")) == 26


def test_without_being_told_the_registered_kinds_are_the_known_ones(domain):
    domain.with_("kind: glue_table", "kind: no_such_reader").descriptor.write_text(
        domain.text.replace("glue_table", "no_such_reader")
    )
    with pytest.raises(DescriptorError, match=r"source\.kind: 'no_such_reader' is not one of: .*glue_table"):
        load(domain.descriptor)


def test_names_lose_stray_spaces_and_the_case_that_the_catalog_ignores(domain):
    loaded = domain.with_("database: shop_raw", 'database: "  Shop_RAW\\u00a0"').load()
    assert loaded.descriptor.source.database == "shop_raw"


def test_the_whole_table_is_replaced_where_no_partition_is_named(domain):
    assert domain.with_("partition_by: [order_date]", "partition_by: []").load().descriptor.target.partition_by == []
    assert domain.with_("  partition_by: [order_date]\n", "").load().descriptor.target.partition_by == []


def test_version_zero_can_be_pinned(domain):
    assert domain.with_("schema_version: 7", "schema_version: 0").load().descriptor.source.schema_version == 0


def test_a_module_is_the_body_of_a_python_step(domain):
    changed = domain.with_(
        "    kind: sql\n    query_file: sql/score.sql", "    kind: python\n    module: transforms.score"
    )
    assert changed.load().descriptor.steps[1].module == "transforms.score"


def test_a_loaded_descriptor_cannot_be_changed(domain):
    with pytest.raises(ValueError, match="frozen"):
        domain.load().descriptor.metadata.name = "other"


@pytest.mark.parametrize(
    ("old", "new", "place", "words"),
    [
        # keys
        ("on_failure:", "on_fail:", "33 expectations.on_fail", "unknown key; did you mean on_failure?"),
        (
            "  purpose:",
            "  colour: red\n  purpose:",
            "35 processing.colour",
            "unknown key; known keys here: purpose, legal_basis",
        ),
        ("  owner: shop-data@example.com\n", "", "3 metadata.owner", "is missing. Whom failures, quarantines and"),
        # one of several
        (
            "block_publish",
            "blok_publish",
            "33 expectations.on_failure",
            "'blok_publish' is not one of: block_publish, quarantine, warn; did you m",
        ),
        (
            "legal_basis: contract",
            "legal_basis: legit",
            "36 processing.legal_basis",
            "'legit' is not one of: consent, contract, legal-obligation, legitimate-i",
        ),
        (
            "TransformPipeline",
            "transformpipeline",
            "2 kind",
            "'transformpipeline' is not one of: IngestionPipeline, TransformPipeline",
        ),
        (
            "on_failure: block_publish",
            "on_failure: [warn]",
            "33 expectations.on_failure",
            "holds a list; one of these is expected: block_publish, quarantine, warn",
        ),
        # kinds
        (
            "kind: glue_table",
            "kind: glue_tabel",
            "8 source.kind",
            "'glue_tabel' is not one of: glue_table, jdbc; did you mean glue_table?",
        ),
        ("kind: iceberg", "kind: delta", "22 target.kind", "'delta' is not one of: iceberg, parquet"),
        (
            "id: clean\n    kind: sql",
            "id: clean\n    kind: spark",
            "14 steps[0].kind",
            "'spark' is not one of: python, sql",
        ),
        # the pin
        ("schema_version: 7", "schema_version: -1", "11 source.schema_version", "-1 is too small; 0 is the least"),
        (
            "schema_version: 7",
            'schema_version: "7"',
            "11 source.schema_version",
            '"7" is text; write 7, without quotes',
        ),
        ("schema_version: 7", "schema_version: 7.0", "11 source.schema_version", "7.0 is not a whole number"),
        (
            "schema_version: 7",
            "schema_version:",
            "11 source.schema_version",
            "has no value; write a whole number such as 7",
        ),
        (
            "schema_version: 7",
            "schema_version: 2024-01-02",
            "11 source.schema_version",
            "2024-01-02 is not a whole number",
        ),
        # names
        ("name: orders-daily", "name: Orders", "4 metadata.name", "'Orders' does not fit: 3 to 64 lower-case letters"),
        (
            "table: orders\n",
            "table: orders.v2\n",
            "10 source.table",
            "'orders.v2' does not fit: up to 255 letters, digits",
        ),
        ("domain: shop", 'domain: "  "', "5 metadata.domain", "is empty; write up to 63 lower-case letters"),
        ("owner: shop-data@example.com", 'owner: " "', "6 metadata.owner", "is empty; write a value"),
        # shapes
        (
            "  suite: expectations/orders.yml",
            "  suite: [a, b]",
            "32 expectations.suite",
            "holds a list; one value is expected",
        ),
        (
            "[order_date]",
            "order_date",
            "25 target.partition_by",
            "holds order_date; a list (items start with '- ', or [] for none) is expe",
        ),
        (" [order_date]", "", "25 target.partition_by", "holds nothing; a list"),
        ("[order_date]", "[order_date, ORDER_DATE]", "25 target.partition_by", "names order_date twice"),
        (
            "    sensitivity: high",
            "    sensitivity: [high, low]",
            "30 contract.lf_tags.sensitivity",
            "holds a list; one value is expected",
        ),
        (
            "  lf_tags:\n    sensitivity: high",
            "  lf_tags: {}",
            "29 contract.lf_tags",
            "is empty; give at least 1 (LF-tags of the product",
        ),
        (
            "  lf_tags:\n    sensitivity: high",
            "  lf_tags:",
            "29 contract.lf_tags",
            "holds nothing; a mapping (lines of 'key: value') is expected",
        ),
        (
            "sensitivity: high",
            "sensitivity: high\n    Sensitivity: low",
            "29 contract.lf_tags",
            "sensitivity is given twice (case and spaces around a key do not count)",
        ),
        # the contract
        ("PT4H", "P1M", "28 contract.freshness_sla", "'P1M' is not an ISO 8601 duration"),
        ("PT4H", "PT0S", "28 contract.freshness_sla", "'PT0S' is no time at all"),
        (
            "s3://shop-curated/orders_scored/",
            "s3://shop-curated/",
            "26 target.location",
            "s3://shop-curated/ is the root of a bucket",
        ),
        # steps
        (
            "    query_file: sql/clean.sql",
            "    module: transforms.clean",
            "13 steps[0]",
            "step clean: a step of kind sql has a query_file",
        ),
        (
            "    query_file: sql/clean.sql",
            "    query_file: sql/clean.sql\n    module: m",
            "13 steps[0]",
            "step clean: set exactly one of query_file / module",
        ),
        ("    query_file: sql/clean.sql\n", "", "13 steps[0]", "step clean: set exactly one of query_file / module"),
        (
            "      model:",
            "      nominal_time:",
            "20 steps[1].params.nominal_time",
            "nominal_time is bound by the executor; rename the param",
        ),
        (
            "      model:",
            "      Model:",
            "20 steps[1].params.Model",
            "'Model' does not fit: lower-case letters, digits and underscores",
        ),
        ("id: score", "id: clean", "16 steps[1].id", "clean is used twice, first on line 13; each step needs its own"),
        (
            "id: score",
            'id: "1st"',
            "16 steps[1].id",
            "'1st' does not fit: letters, digits, underscores and hyphens, a letter f",
        ),
        # across blocks
        (
            "database: shop_curated\n  table: orders_scored",
            "database: SHOP_raw\n  table: orders",
            "24 target.table",
            "source and target are the same table, shop_raw.orders",
        ),
    ],
    ids=lambda value: str(value).strip()[:40],
)
def test_a_mistake_is_named_with_its_line_and_the_remedy(domain, old, new, place, words):
    line, key = place.split(" ")
    problems = domain.with_(old, new).refusal()
    assert any(problem.startswith(f"{line}: {key}: {words}") for problem in problems), problems


def test_no_steps_are_no_pipeline(domain):
    steps = domain.text[domain.text.index("steps:") : domain.text.index("target:")]
    assert domain.with_(steps, "steps: []\n").refusal() == [
        "12: steps: is empty; give at least 1 (What is done to it, in this order; each sees the last one's result)"
    ]
    assert domain.with_(steps, "steps: [sql/clean.sql]\n").refusal() == [
        "12: steps[0]: holds sql/clean.sql; a mapping (lines of 'key: value') is expected"
    ]


@pytest.mark.parametrize(
    ("written", "kind"),
    [
        ("1.10", "a number"),
        ("1e3", "a number"),
        ("1_000", "a number"),
        ("true", "a boolean"),
        ("2024-01-02", "a date"),
        ("null", "the absence of a value"),
        ("NO", "false to some YAML readers"),
        ("on", "true to some YAML readers"),
        ("12:30", "a number in base 60"),
        ("0123", "an octal number"),
        ("=", "has a meaning of its own"),
        ("2024-02-30", "has the form of a date, and there is no such date"),
    ],
)
@pytest.mark.parametrize("place", ["params", "owner"])
def test_reported_an_unquoted_value_where_text_is_meant_asks_for_quotes(domain, written, kind, place):
    changed = domain.with_(*{"params": ('"2026-07"', written), "owner": ("shop-data@example.com", written)}[place])
    (problem,) = changed.refusal()
    assert problem.startswith(
        {"params": "20: steps[1].params.model: unquoted ", "owner": "6: metadata.owner: unquoted "}[place] + written
    )
    assert kind in problem
    assert f'"{written}"' in problem


def test_reported_text_between_quotes_is_kept_as_written(domain):
    for written in ("1.10", "NO", "0123", "12:30", "1e3"):
        assert domain.with_('"2026-07"', f'"{written}"').load().descriptor.steps[1].params == {"model": written}


def test_reported_a_param_may_be_empty_text_but_not_nothing(domain):
    assert domain.with_('"2026-07"', '""').load().descriptor.steps[1].params == {"model": ""}
    assert domain.with_(' "2026-07"', "").refusal() == [
        '20: steps[1].params.model: has no value; write one, or "" for empty text'
    ]


@pytest.mark.parametrize("value", ["[a, b]", "{a: b}", "2024-01-02", "1.5", "null"])
def test_reported_a_param_that_is_no_text_is_refused(domain, value):
    (problem,) = domain.with_('"2026-07"', value).refusal()
    assert problem.startswith("20: steps[1].params.model: ")


def test_reported_a_block_given_twice_is_refused_with_both_lines(domain):
    changed = domain.with_("contract:", "source:\n  kind: jdbc\ncontract:")
    assert changed.refusal() == ["27: the key source is given twice, here and on line 7; keep one"]


def test_reported_a_merge_key_with_an_override_is_legal(domain):
    changed = domain.with_("  database: shop_raw\n", "  <<: &raw {database: shop_raw, table: other}\n")
    assert changed.load().descriptor.source.fqn == "shop_raw.orders"


def test_reported_a_misspelt_block_and_a_boolean_version_are_refused(domain):
    changed = domain.with_("expectations:", "expectaions:").with_("schema_version: 7", "schema_version: yes")
    assert changed.refusal() == [
        "1: expectations: is missing. The rules that every batch must pass before it is published.",
        "11: source.schema_version: yes is not a whole number; write one such as 7",
        "31: expectaions: unknown key; did you mean expectations?",
    ]
    assert domain.with_("schema_version: 7", "schema_version: true").refusal() == [
        "11: source.schema_version: true is not a whole number; write one such as 7"
    ]


def test_all_problems_of_a_file_are_reported_at_once(domain):
    changed = (
        domain.with_("kind: glue_table", "kind: csv")
        .with_("schema_version: 7", "schema_version: seven")
        .with_("id: score", "id: clean")
        .with_('"2026-07"', "1.10")
        .with_("database: shop_curated\n  table: orders_scored", "database: shop_raw\n  table: Orders")
        .with_("freshness_sla: PT4H", "freshness_sla: 4h")
        .with_("on_failure: block_publish", "on_failure: off\n  on_failure: warn")
    )
    assert [problem.split(":")[0] for problem in changed.refusal()] == ["8", "11", "16", "20", "24", "28", "33", "34"]


def test_a_wrong_key_in_a_step_does_not_hide_that_its_body_is_wrong(domain):
    changed = domain.with_(
        "    query_file: sql/clean.sql", "    query_file: sql/clean.sql\n    module: m\n    parms: {}"
    )
    assert changed.refusal() == [
        "13: steps[0]: step clean: set exactly one of query_file / module",
        "17: steps[0].parms: unknown key; did you mean params?",
    ]


def test_an_unknown_api_version_lists_the_known_ones(domain):
    changed = domain.with_("cordata.tech/v1", "cordata.tech/v9")
    with pytest.raises(UnknownApiVersion) as caught:
        changed.load()
    assert str(caught.value) == (
        "orders.yml:1: apiVersion: 'cordata.tech/v9' is not one of: cordata.tech/v1, cordata.tech/v2; "
        "did you mean cordata.tech/v2?"
    )
    assert domain.with_("cordata.tech/v1", "1.0").refusal() == [
        "1: apiVersion: '1.0' is not one of: cordata.tech/v1, cordata.tech/v2"
    ]


def test_a_missing_api_version_is_said_beside_everything_else(domain):
    changed = domain.with_("apiVersion: cordata.tech/v1\n", "").with_("schema_version: 7", "schema_version: x")
    assert changed.refusal() == [
        "1: apiVersion: is missing. Chooses this model.",
        "10: source.schema_version: x is not a whole number; write one such as 7",
    ]


def test_every_api_version_is_judged_by_the_model_of_that_name():
    assert {"cordata.tech/v1": v1.Descriptor, "cordata.tech/v2": v2.Descriptor} == MODELS
    for name, model in MODELS.items():
        assert model.model_json_schema()["properties"]["apiVersion"]["const"] == name


def test_a_descriptor_outside_a_pipelines_folder_has_no_domain_root(domain):
    elsewhere = domain.root / "orders.yml"
    elsewhere.write_text(domain.text)
    with pytest.raises(DescriptorError, match="lives in <domain root>/pipelines/; move it there"):
        load(elsewhere)


def test_a_symlinked_descriptor_belongs_to_the_domain_where_the_link_stands(domain, tmp_path):
    store = tmp_path / "store"
    store.mkdir()
    (store / "a1b2").write_text(domain.text)
    domain.descriptor.symlink_to(store / "a1b2")
    assert load(domain.descriptor).domain_root == domain.root


@pytest.mark.parametrize("content", ["", "- a\n", "a: 1\n---\nb: 2\n", "a: [\n", "\ufeff"])
def test_a_file_without_a_mapping_is_one_problem_and_exit_code_2(domain, content):
    domain.descriptor.write_text(content, encoding="utf-8")
    with pytest.raises(UsageError) as caught:
        load(domain.descriptor, shown_as="orders.yml")
    assert caught.value.exit_code == 2
    assert len(str(caught.value).splitlines()) == 1


_VALUE = st.sampled_from(
    [
        "",
        "NO",
        "1.10",
        "[]",
        "{}",
        "[a, 1]",
        "{a: b}",
        "x",
        "'x'",
        "7",
        "-1",
        "~",
        "2024-01-02",
        "!!str 7",
        "&a x",
        "s3://b/p",
    ]
)
_LINE = st.integers(min_value=0, max_value=34)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150)
@given(changes=st.lists(st.tuples(_LINE, _VALUE), min_size=1, max_size=4))
def test_whatever_stands_at_a_key_only_a_descriptor_error_is_raised(domain, changes):
    lines = domain.text.splitlines()
    for number, value in changes:
        key, colon, _ = lines[number].partition(":")
        lines[number] = f"{key}{colon} {value}"
    domain.descriptor.write_text("\n".join(lines))
    problems = ()
    try:
        load(domain.descriptor)
    except DescriptorError as error:
        problems = error.problems
    assert all(problem.message and "\n" not in problem.message for problem in problems)
