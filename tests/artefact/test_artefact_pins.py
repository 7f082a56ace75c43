"""What may go to Glue: exact versions, of packages that the image survives."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from packaging.utils import canonicalize_name

from artefact.errors import ArtefactError
from artefact.pins import Pin, read_pins, wheel_pin
from artefact.wheels import REQUIREMENTS, lock, write_wheels
from pipeline_runtime.glue.engines import ENGINES

ROOT = Path(__file__).resolve().parents[2]
GLUE = ENGINES["5.1"]
Index = Callable[..., Path]


@pytest.fixture
def listed(tmp_path: Path) -> Callable[[str], Path]:
    def write(text: str, name: str = "glue-5.1.in") -> Path:
        (tmp_path / name).write_text(text)
        return tmp_path / name

    return write


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ("great_expectations", "great_expectations is not pinned; write name==version"),
        ("numpy>=2", "numpy>=2 is not pinned"),
        ("pandas~=2.3", "is not pinned"),
        ("pandas==2.*", "is not pinned"),
        ("pandas==2.3.3,<3", "is not pinned"),
        ("pydantic[email]==2.14.4", "has an extra or a condition"),
        ("tomli==2.0.1; python_version < '3.11'", "has an extra or a condition"),
        ("runtime.whl", "runtime.whl is not the name of a wheel, and Glue's pip refuses it"),
        ("wheels/pydantic-2.14.4-py3-none-any.whl", "is a file; pin it as name==version"),
        ("pydantic @ https://example.org/pydantic.zip", "is not pinned"),
        ("-r other.txt", "is no requirement"),
        ("pyspark==3.5.6", "pyspark==3.5.6: Glue 5.1 has its own; leave it out"),
        ("boto3==1.44.8", "boto3==1.44.8: Glue 5.1 has its own"),
        ("numpy==1.26.4", "numpy==1.26.4: Glue 5.1 brings 2.3.4"),
        ("pandas==3.0.1", "pandas==3.0.1: Glue 5.1 brings 2.3.3, .* pin pandas==2.3.3"),
        ("pydantic==2.14.4\npydantic==2.14.3", "pydantic is pinned twice"),
    ],
)
def test_reported_what_glue_would_not_install_as_tested_is_refused(
    listed: Callable[[str], Path], entry: str, problem: str
) -> None:
    with pytest.raises(ArtefactError, match=problem):
        read_pins(listed(entry), GLUE)


def test_all_problems_come_at_once_with_their_lines(listed: Callable[[str], Path]) -> None:
    with pytest.raises(ArtefactError) as refusal:
        read_pins(listed("# a list\n\ngreat_expectations\nopenlineage-python==1.53.0  # fine\nruntime.whl\n"), GLUE)
    assert [line.partition(" ")[0] for line in str(refusal.value).splitlines()] == [
        "glue-5.1.in:3:",
        "glue-5.1.in:5:",
    ]


def test_names_are_compared_as_pip_compares_them(listed: Callable[[str], Path]) -> None:
    assert read_pins(listed("Great_Expectations==1.24.1"), GLUE) == [Pin("great-expectations", "1.24.1")]


def test_a_wheels_name_tells_what_it_is() -> None:
    assert wheel_pin("PyYAML-6.0.4-cp311-cp311-manylinux2014_x86_64.whl") == Pin("pyyaml", "6.0.4")


def test_reported_a_set_that_pip_cannot_resolve_together_is_refused(
    listed: Callable[..., Path], index: Index, tmp_path: Path
) -> None:
    index("alpha", "1.0", "beta<2")
    index("beta", "1.0")
    index("beta", "2.0")
    listed("alpha==1.0\nbeta==2.0\n")
    listed("", "constraints.txt")
    with pytest.raises(ArtefactError, match=r"Glue 5\.1 \(Python 3\.11\): pip cannot resolve .*alpha"):
        lock(GLUE, tmp_path / "constraints.txt", tmp_path)


def test_reported_a_resolved_package_is_judged_like_a_listed_one(
    listed: Callable[..., Path], index: Index, tmp_path: Path
) -> None:
    index("alpha", "1.0", "pyspark")
    index("pyspark", "3.5.6")
    listed("alpha==1.0\n")
    listed("", "constraints.txt")
    with pytest.raises(ArtefactError, match=r"resolves to what Glue 5\.1 cannot run:\npyspark==3\.5\.6"):
        lock(GLUE, tmp_path / "constraints.txt", tmp_path)


def test_a_lock_holds_everything_that_the_list_needs_in_tested_versions(
    listed: Callable[..., Path], index: Index, tmp_path: Path
) -> None:
    index("alpha", "1.0", "beta")
    index("beta", "1.0")
    index("beta", "2.0")
    listed("alpha==1.0\n")
    listed("beta==1.0\nunrelated==3\n", "constraints.txt")
    listed(lock(GLUE, tmp_path / "constraints.txt", tmp_path), "glue-5.1.txt")
    assert [str(pin) for pin in read_pins(tmp_path / "glue-5.1.txt", GLUE)] == ["alpha==1.0", "beta==1.0"]


def test_an_archive_is_built_from_the_lock_alone(
    listed: Callable[..., Path], index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index("alpha", "1.0")
    listed("alpha==1.0\n")
    listed("", "constraints.txt")
    listed(lock(GLUE, tmp_path / "constraints.txt", tmp_path), "glue-5.1.txt")
    first = write_wheels(GLUE, tmp_path / "cache", tmp_path, tmp_path).read_bytes()

    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "nowhere"))
    assert write_wheels(GLUE, tmp_path / "cache", tmp_path, tmp_path).read_bytes() == first
    with pytest.raises(ArtefactError, match="pip cannot resolve"):
        write_wheels(GLUE, tmp_path / "empty", tmp_path, tmp_path)


def test_a_wheel_that_was_replaced_since_the_lock_is_refused(
    listed: Callable[..., Path], index: Index, tmp_path: Path
) -> None:
    index("alpha", "1.0")
    listed("alpha==1.0\n")
    listed("", "constraints.txt")
    listed(lock(GLUE, tmp_path / "constraints.txt", tmp_path), "glue-5.1.txt")
    index("alpha", "1.0", "evil")
    with pytest.raises(ArtefactError, match="alpha"):
        write_wheels(GLUE, tmp_path / "cache", tmp_path, tmp_path)


@pytest.mark.parametrize(
    ("lock_file", "problem"),
    [("beta==1.0 --hash=sha256:" + "a" * 64, "lacks alpha==1.0"), ("alpha==1.0", "no hash for alpha==1.0")],
)
def test_a_lock_that_does_not_fit_its_list_is_refused(
    listed: Callable[..., Path], tmp_path: Path, lock_file: str, problem: str
) -> None:
    listed("alpha==1.0\n")
    listed(lock_file, "glue-5.1.txt")
    with pytest.raises(ArtefactError, match=rf"glue-5\.1\.txt:? {problem}; run `python -m artefact lock`"):
        write_wheels(GLUE, tmp_path / "cache", tmp_path, tmp_path)


@pytest.mark.parametrize("version", list(ENGINES))
def test_our_own_lists_and_locks_fit_together_and_the_image(version: str) -> None:
    engine = ENGINES[version]
    wanted = {str(pin) for pin in read_pins(REQUIREMENTS / f"glue-{version}.in", engine)}
    locked = read_pins(REQUIREMENTS / f"glue-{version}.txt", engine)
    assert wanted <= {str(pin) for pin in locked}
    assert all(pin.sha256 for pin in locked)
    image = engine.provided.items() - {("boto3", engine.provided["boto3"])}
    assert {f"{name}=={release}" for name, release in image} <= wanted


def test_what_goes_to_glue_is_what_the_tests_run_with() -> None:
    pins = dict(re.findall(r'"([A-Za-z-]+)(?:\[\w+\])?==([^"]+)"', (ROOT / "pyproject.toml").read_text("utf-8")))
    shipped = {pin.name: pin.version for pin in read_pins(REQUIREMENTS / "glue-5.1.in", GLUE)}
    decided_by_the_image = GLUE.provided.keys()
    assert {name: pins[name] for name in shipped.keys() - decided_by_the_image} == {
        name: version for name, version in shipped.items() if name not in decided_by_the_image
    }


def test_all_that_goes_to_glue_6_is_in_the_versions_that_its_tests_run_with() -> None:
    tested = {
        Pin(canonicalize_name(name), version)
        for line in (ROOT / "constraints-glue-6.0.txt").read_text("utf-8").splitlines()
        for name, version in [line.split("==")]
    }
    shipped = {Pin(pin.name, pin.version) for pin in read_pins(REQUIREMENTS / "glue-6.0.txt", ENGINES["6.0"])}
    assert shipped - tested == set()
