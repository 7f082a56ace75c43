"""Each example is applied for real: a second plan finds nothing to do, adding something adds only that, and destroying
leaves nothing.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from sandbox.deploy.terraform import ACCOUNTS, ROOT, Workspace
from tests.conftest import Aws
from tests.terraform.examples import EXAMPLES

pytestmark = [pytest.mark.terraform, pytest.mark.slow]

THERE = sorted(folder.parents[1].name for folder in (ROOT / "terraform" / "modules").glob("*/examples/basic"))
#: Tried by tests of their own.
ELSEWHERE = {"freshness"}


@pytest.mark.parametrize("name", [name for name in THERE if name not in ELSEWHERE])
def test_an_example_is_applied_gains_an_element_and_is_destroyed(
    replicating: Aws, terraform_tree: Path, tmp_path: Path, name: str
) -> None:
    aws, example = replicating, EXAMPLES[name]
    given = example.given(tmp_path)
    example.needs(aws)
    workspace = Workspace(terraform_tree / "modules" / name / "examples" / "basic", tmp_path / name)
    workspace.use(aws.endpoint, ACCOUNTS[example.owner])
    workspace.init()

    workspace.apply(**given)
    assert set(example.holds(aws)) == example.there
    example.judge(aws)
    assert workspace.changes(**given) == []

    changes = {change.address: change.actions for change in workspace.changes(**given, **example.more)}
    new = {address for address, actions in changes.items() if actions == ("create",)}
    assert new == {f"module.{name}.{address}" for address in example.new}
    assert set(changes) - new == {f"module.{name}.{address}" for address in example.touched}
    assert {changes[address] for address in set(changes) - new} <= {("update",)}
    workspace.apply_planned()

    workspace.destroy()
    assert workspace("state", "list").stdout == ""
    assert list(example.holds(aws)) == []


def test_every_module_has_an_example_that_is_tried() -> None:
    modules = {folder.name for folder in (ROOT / "terraform" / "modules").iterdir() if folder.is_dir()}
    assert set(THERE) == modules
    assert set(EXAMPLES) | ELSEWHERE == modules
