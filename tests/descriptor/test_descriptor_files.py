"""The files a descriptor names stay inside its domain."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipeline_runtime.descriptor.files import confined, named_files, read_text
from pipeline_runtime.errors import FileProblem


@pytest.fixture
def refusal(domain):
    """The reason why the given name is no file of the domain."""

    def refuse(name: str) -> str:
        with pytest.raises(ValueError, match=r".") as caught:
            confined(domain.root, name)
        return str(caught.value)

    return refuse


def test_the_files_of_a_descriptor_are_found_from_the_domain_root(domain, monkeypatch):
    monkeypatch.chdir("/")
    files = named_files(domain.load())
    assert dict(files.sql) == {
        "clean": domain.root / "sql" / "clean.sql",
        "score": domain.root / "sql" / "score.sql",
    }
    assert files.suite == domain.root / "expectations" / "orders.yml"
    assert files.all == (*files.sql.values(), files.suite)


@pytest.mark.parametrize("module", ["transforms.score", "domains.shop.transforms.score"])
def test_a_python_steps_module_is_found_from_the_domain_root_however_the_folder_is_called(domain, module):
    file = domain.root / "transforms" / "score.py"
    file.parent.mkdir()
    file.write_text("")
    moved = replace(domain, root=domain.root.rename(domain.root.with_name("copy-4f1")))
    changed = moved.with_("    kind: sql\n    query_file: sql/score.sql", f"    kind: python\n    module: {module}")

    files = named_files(changed.load())

    assert dict(files.modules) == {"score": moved.root / "transforms" / "score.py"}
    assert list(files.sql) == ["clean"]
    assert files.all == (moved.root / "sql" / "clean.sql", files.modules["score"], files.suite)


@pytest.mark.parametrize(
    ("module", "reason"),
    [
        ("transforms.scoer", "means transforms/scoer.py, which does not exist in the domain root shop/; did you mean"),
        ("domains.fraud.transforms.score", "belongs to domain fraud, the descriptor to shop; write domains.shop."),
        ("requests.sessions", "is not in the domain's package; write domains.shop.transforms.sessions for transforms/"),
        ("transforms", "is not in the domain's package"),
        ("transforms..os", "is not in the domain's package"),
        ("transforms.../sql/score", "is not in the domain's package"),
        ("transforms.out", "means transforms/out.py, which is a symlink that leads out of the domain"),
        ("transforms.both", "is two files, transforms/both.py and transforms/both/__init__.py; keep one"),
    ],
)
def test_a_module_that_is_no_file_of_the_domains_own_package_is_refused(domain, module, reason):
    folder = domain.root / "transforms"
    (folder / "both").mkdir(parents=True)
    for name in ("score.py", "both.py", "both/__init__.py"):
        (folder / name).write_text("")
    (folder / "out.py").symlink_to(__file__)
    changed = domain.with_("    kind: sql\n    query_file: sql/score.sql", f"    kind: python\n    module: {module}")
    with pytest.raises(FileProblem) as caught:
        named_files(changed.load())
    assert str(caught.value).startswith(f"orders.yml:18: steps[1].module: '{module}' {reason}")


def test_two_steps_may_share_a_file(domain):
    files = named_files(domain.with_("query_file: sql/clean.sql", "query_file: ./sql/score.sql").load())
    assert len(files.all) == 2


def test_all_files_that_cannot_be_used_are_named_with_the_descriptors_lines(domain):
    changed = (
        domain.with_("sql/clean.sql", "sql/claen.sql")
        .with_("sql/score.sql", "/etc/passwd")
        .with_("expectations/orders.yml", "../other/orders.yml")
    )
    with pytest.raises(FileProblem) as caught:
        named_files(changed.load())
    problems = [str(problem).removeprefix("orders.yml:") for problem in caught.value.problems]
    assert problems[0].startswith("15: steps[0].query_file: 'sql/claen.sql' does not exist in the domain root shop/")
    assert problems[0].endswith("; did you mean clean.sql?")
    assert problems[1].startswith("18: steps[1].query_file: '/etc/passwd' is not a path from the domain root")
    assert problems[2].startswith("32: expectations.suite: '../other/orders.yml' climbs with '..'")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("/etc/passwd", "is not a path from the domain root"),
        ("//host/share", "is not a path from the domain root"),
        ("C:/sql/a.sql", "is not a path from the domain root"),
        ("sql\\score.sql", "is not a path from the domain root"),
        ("s3://bucket/score.sql", "is not a path from the domain root"),
        ("sql/../../x.sql", "climbs with '..'"),
        ("sql/../sql/score.sql", "climbs with '..'"),
        ("..", "climbs with '..'"),
        (".", "is not the name of a file"),
        ("", "is not the name of a file"),
        ("sql/\0.sql", "is not the name of a file"),
        ("sql", "is not a regular file"),
        ("sql/absent.sql", "does not exist in the domain root shop/"),
        ("sql/score.sql/x", "cannot be read: Not a directory"),
        ("sql/" + "x" * 300, "cannot be read: File name too long"),
        ("sql/\ud800", "cannot be read: the path leads nowhere"),
    ],
)
def test_a_name_that_is_no_file_of_the_domain_is_refused(refusal, name, expected):
    assert refusal(name).startswith(expected)


def test_a_symlink_may_not_lead_out_of_the_domain(domain, refusal, tmp_path):
    (tmp_path / "secret.sql").write_text("SELECT 1")
    (domain.root / "sql" / "out.sql").symlink_to(tmp_path / "secret.sql")
    (domain.root / "away").symlink_to(tmp_path)
    assert refusal("sql/out.sql") == "is a symlink that leads out of the domain"
    assert refusal("away/secret.sql") == "is a symlink that leads out of the domain"


def test_a_sibling_whose_name_begins_alike_is_outside(domain, refusal):
    neighbour = domain.root.with_name("shop-other")
    neighbour.mkdir()
    (neighbour / "x.sql").write_text("SELECT 1")
    (domain.root / "sql" / "x.sql").symlink_to(neighbour / "x.sql")
    assert refusal("sql/x.sql") == "is a symlink that leads out of the domain"


def test_a_symlink_within_the_domain_is_followed(domain):
    (domain.root / "sql" / "same.sql").symlink_to("score.sql")
    assert confined(domain.root, "sql/same.sql").read_text().startswith("SELECT")


def test_a_domain_may_itself_stand_behind_a_symlink(domain, tmp_path):
    (tmp_path / "linked").symlink_to(domain.root)
    assert confined(tmp_path / "linked", "sql/score.sql") == tmp_path / "linked" / "sql" / "score.sql"


def test_a_loop_of_symlinks_and_a_pipe_are_no_files(domain, refusal):
    (domain.root / "sql" / "loop.sql").symlink_to("loop.sql")
    os.mkfifo(domain.root / "sql" / "pipe.sql")
    assert refusal("sql/loop.sql").startswith("cannot be read")
    assert refusal("sql/pipe.sql") == "is not a regular file"


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"SELECT 1\n-- caf\xe9\n", "is not UTF-8 (line 2); save it as UTF-8"),
        (b"x" * 1_100_000, "is larger than 1,048,576 bytes"),
    ],
)
def test_a_file_that_is_no_text_is_refused_at_the_descriptors_line(domain, content, expected):
    (domain.root / "sql" / "score.sql").write_bytes(content)
    with pytest.raises(FileProblem) as caught:
        named_files(domain.load())
    assert str(caught.value) == f"orders.yml:18: steps[1].query_file: 'sql/score.sql' {expected}"


def test_a_byte_order_mark_is_no_part_of_the_sql(domain):
    path = domain.root / "sql" / "score.sql"
    path.write_bytes(b"\xef\xbb\xbfSELECT 1")
    assert read_text(path) == "SELECT 1"


def test_a_file_that_goes_away_is_said_in_words(domain):
    with pytest.raises(ValueError, match="cannot be read: No such file or directory"):
        read_text(domain.root / "sql" / "gone.sql")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(name=st.text(alphabet="./\\sql~:\0*é\ud800 ", max_size=20))
def test_whatever_the_name_it_stays_inside_or_is_a_value_error(domain, name):
    try:
        path = confined(domain.root, name)
    except ValueError:
        return
    assert Path(os.path.realpath(path)).is_relative_to(os.path.realpath(domain.root))
