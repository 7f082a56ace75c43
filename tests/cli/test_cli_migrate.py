"""`migrate`: a v1 descriptor becomes the same declaration in v2, and nothing else in the file changes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipeline_runtime.cli import main
from pipeline_runtime.descriptor.load import load

V1 = """\
# yaml-language-server: $schema=../schemas/descriptor.v1.json
# The orders of a day, scored.
apiVersion: cordata.tech/v1   # chosen in 2026
kind: TransformPipeline
metadata: {name: orders-daily, domain: shop, owner: shop@example.com}

source:
  kind: glue_table
  # the ledger's own table
  database: shop_raw
  schema_version: 7   # reviewed on 2026-08-01
  table: orders

steps:
  - {id: clean, kind: sql, query_file: sql/clean.sql}

target:
  kind: iceberg
  database: shop_curated
  table: orders_scored
  partition_by: [order_date]
  location: s3://shop-curated/orders_scored/   # its own bucket
  # nothing else may lie there

# What we promise.
contract:   # signed off by sales
  freshness_sla: PT4H

  lf_tags:   # by governance
    sensitivity: high
  # residency is inherited

# The rules.
expectations: {suite: expectations/orders.yml, on_failure: warn}
processing: {purpose: orders, legal_basis: contract}
"""

V2 = """\
# yaml-language-server: $schema=../schemas/descriptor.v2.json
# The orders of a day, scored.
apiVersion: cordata.tech/v2   # chosen in 2026
kind: TransformPipeline
metadata: {name: orders-daily, domain: shop, owner: shop@example.com}

source:
  kind: glue_table
  # the ledger's own table
  database: shop_raw
  contract:
    schema_version: 7   # reviewed on 2026-08-01
  table: orders

steps:
  - {id: clean, kind: sql, query_file: sql/clean.sql}

target:
  kind: iceberg
  database: shop_curated
  table: orders_scored
  partition_by: [order_date]
  location: s3://shop-curated/orders_scored/   # its own bucket
  # nothing else may lie there
  # What we promise.
  contract:   # signed off by sales
    freshness_sla: PT4H

    lf_tags:   # by governance
      sensitivity: high
    # residency is inherited

# The rules.
expectations: {suite: expectations/orders.yml, on_failure: warn}
processing: {purpose: orders, legal_basis: contract}
"""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A v1 descriptor at ./shop/pipelines/orders.yml."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "shop" / "pipelines" / "orders.yml"
    path.parent.mkdir(parents=True)
    path.write_text(V1, encoding="utf-8")
    return path


def text_of(file: Path) -> str:
    return file.read_bytes().decode("utf-8")


def test_comments_order_and_spacing_stay_and_each_side_gets_its_contract(file, capsys):
    assert main(["migrate", "--write", "shop"]) == 0
    assert text_of(file) == V2
    assert capsys.readouterr().out.endswith("1 file rewritten to cordata.tech/v2\n")


def test_the_difference_is_shown_and_nothing_written_until_asked_to(file, capsys):
    assert main(["migrate", "shop/pipelines/orders.yml"]) == 0
    out = capsys.readouterr().out
    assert "-apiVersion: cordata.tech/v1   # chosen in 2026\n+apiVersion: cordata.tech/v2   # chosen in 2026\n" in out
    assert "+  contract:\n+    schema_version: 7   # reviewed on 2026-08-01\n" in out
    assert out.endswith("1 file would become cordata.tech/v2; --write rewrites them\n")
    assert text_of(file) == V1


def test_check_ends_with_1_while_a_file_is_v1(file, capsys):
    assert main(["migrate", "--check", "shop"]) == 1
    assert text_of(file) == V1
    file.write_text(V2, encoding="utf-8")
    assert main(["migrate", "--check", "shop"]) == 0
    assert capsys.readouterr().out.endswith("0 files would become cordata.tech/v2, 1 left alone\n")


def test_a_v2_file_is_left_alone(file):
    file.write_text(V2, encoding="utf-8")
    before = file.stat()
    assert main(["migrate", "--write", "shop"]) == 0
    assert (text_of(file), file.stat().st_mtime_ns) == (V2, before.st_mtime_ns)


def test_line_ends_a_byte_order_mark_and_the_files_mode_are_kept(file):
    file.write_bytes(b"\xef\xbb\xbf" + V1.replace("\n", "\r\n").encode())
    file.chmod(0o640)
    assert main(["migrate", "--write", "shop"]) == 0
    assert file.read_bytes() == b"\xef\xbb\xbf" + V2.replace("\n", "\r\n").encode()
    assert file.stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (
            re.search(r"source:\n(  .*\n)+", V1)[0],
            "source: {kind: glue_table, database: shop_raw, schema_version: 7, table: orders}\n",
            "source: {kind: glue_table, database: shop_raw, contract: {schema_version: 7}, table: orders}\n",
        ),
        ("cordata.tech/v1 ", '"cordata.tech/v1" ', 'apiVersion: "cordata.tech/v2"   # chosen'),
        ("expectations: {suite", "x", None),
    ],
    ids=["between braces", "quoted", "broken"],
)
def test_other_spellings(file, old, new, expected):
    file.write_text(V1.replace(old, new, 1), encoding="utf-8")
    assert main(["migrate", "--write", "shop"]) == (0 if expected else 2)
    if expected:
        assert expected in text_of(file)
        assert load(file).descriptor.apiVersion == "cordata.tech/v2"


BRACES = (
    'target: {kind: iceberg, database: shop_curated, table: t, location: "s3://shop-curated/t/"}  # here\n'
    "contract: {freshness_sla: PT4H, lf_tags: {sensitivity: high}}\n"
)


def test_a_target_between_braces_takes_a_contract_between_braces(file):
    start, end = V1.index("target:"), V1.index("# The rules.")
    file.write_text(V1[:start] + BRACES + V1[end:], encoding="utf-8")
    assert main(["migrate", "--write", "shop"]) == 0
    assert (
        'location: "s3://shop-curated/t/", contract: {freshness_sla: PT4H, lf_tags: {sensitivity: high}}}  # here\n'
        "# The rules." in text_of(file)
    )


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        (
            re.search(r"target:\n(  .*\n)+", V1)[0],
            BRACES.splitlines()[0] + "\n",
            "target is written between braces and contract in lines",
        ),
        ("  schema_version: 7   # reviewed on 2026-08-01\n", "  <<: {schema_version: 7}\n", "the merge key <<"),
    ],
    ids=["mixed braces", "merge key"],
)
def test_what_cannot_be_rewritten_safely_is_refused_and_left_as_it_is(file, capsys, old, new, why):
    text = V1.replace(old, new, 1)
    file.write_text(text, encoding="utf-8")
    assert main(["migrate", "--write", "shop"]) == 2
    assert text_of(file) == text
    said = capsys.readouterr().err
    assert said.startswith("shop/pipelines/orders.yml: cannot be rewritten without touching more than is meant: ")
    assert why in said


def test_a_contract_above_the_target_that_something_between_refers_to_is_refused(file, capsys):
    contract = re.search(r"contract: .*\n(?:  .*\n|\n)+?(?=# The rules)", V1)[0]
    text = V1.replace(contract, "\n").replace("kind: TransformPipeline\n", contract.replace("high", "&word high"))
    text = text.replace("steps:\n", "kind: TransformPipeline\nsteps:\n")
    text = text.replace("table: orders\n", "table: *word\n")
    file.write_text(text, encoding="utf-8")
    assert main(["migrate", "--write", "shop"]) == 2
    assert "the result would not be read: the alias *word names nothing" in capsys.readouterr().err
    assert text_of(file) == text


def test_a_broken_file_does_not_keep_the_others_from_being_rewritten(file, capsys):
    file.with_name("broken.yml").write_text("apiVersion: cordata.tech/v1\n")
    assert main(["migrate", "--write", "shop", "nowhere"]) == 2
    assert text_of(file) == V2
    captured = capsys.readouterr()
    assert "shop/pipelines/broken.yml:1: metadata: is missing" in captured.err
    assert "nowhere: does not exist" in captured.err
    assert captured.out.endswith("1 file rewritten to cordata.tech/v2, 2 with problems\n")


BLOCKS = re.split(r"(?=^(?:apiVersion|kind|metadata|source|steps|target|contract|exp|proc))", V1, flags=re.M)


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    order=st.permutations(range(1, len(BLOCKS))),
    gaps=st.lists(st.sampled_from(["", "\n", "\n\n", "# between\n", "\n# apart\n\n"]), min_size=9, max_size=9),
    ended=st.booleans(),
)
def test_in_whatever_order_and_spacing_the_blocks_stand_the_meaning_and_every_comment_survive(file, order, gaps, ended):
    text = BLOCKS[0] + "".join(gap + BLOCKS[at].rstrip("\n") + "\n" for gap, at in zip(gaps, order, strict=False))
    text = text if ended else text.rstrip("\n")
    file.write_text(text, encoding="utf-8")
    before = load(file).descriptor
    assert main(["migrate", "--write", "shop"]) == 0
    after = load(file).descriptor
    assert after == before.model_copy(update={"apiVersion": "cordata.tech/v2"})
    words = [sorted(line.strip() for line in each.splitlines() if line.strip()) for each in (text, text_of(file))]
    changed = {"apiVersion: cordata.tech/v1   # chosen in 2026", "apiVersion: cordata.tech/v2   # chosen in 2026"}
    changed |= {"contract:", *(line for each in words for line in each if "$schema=" in line)}
    assert [word for word in words[0] if word not in changed] == [word for word in words[1] if word not in changed]
