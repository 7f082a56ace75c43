"""Which team a principal belongs to, and which declared pipelines run under it: a file that people keep.

    principals:
      - principal: "arn:aws:iam::111122223333:role/bi-*"
        team: bi-team@cordata.example
      - principal: "arn:aws:iam::111122223333:role/nightly"
        team: finance-data@cordata.example
        pipelines: [merchant-settlement-daily]
      - principal: "arn:aws:iam::444455556666:role/card-ledger"
        team: card-ledger@cordata.example
        producer: true

The first entry that fits counts. `*` stands for any characters; a role is named without its path.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from pathlib import Path

from pydantic import Field, ValidationError

from pipeline_runtime.descriptor.explain import explain, path_of
from pipeline_runtime.descriptor.v1 import Strict, Text
from pipeline_runtime.descriptor.yaml_source import dotted, load_yaml
from pipeline_runtime.errors import DescriptorError, Problem, UsageError

__all__ = ["Principal", "Principals", "load_principals"]


class Principal(Strict):
    """What is known about some principals."""

    principal: Text = Field(description="An ARN; * stands for any characters.")
    team: Text = Field(description="Whom to talk to about it.")
    pipelines: list[Text] = Field(default_factory=list, description="The pipelines whose jobs run under it.")
    producer: bool = Field(
        default=False, strict=True, description="Whether it is the application that writes the table."
    )


class Principals(Strict):
    """The principals of an organisation, as far as anyone wrote them down."""

    principals: list[Principal] = Field(description="The first entry that fits a principal counts.")

    def of(self, principal: str) -> Principal | None:
        """The entry of a principal, None where there is none."""
        return next((entry for entry in self.principals if fnmatchcase(principal, entry.principal)), None)


def load_principals(path: Path) -> Principals:
    """The mapping in the file at `path`. Raises UsageError with every problem of the file."""
    try:
        document = load_yaml(path)
        return Principals.model_validate(document.data)
    except DescriptorError as error:
        raise UsageError(str(error)) from None
    except ValidationError as error:
        problems = [
            Problem(
                str(path),
                document.line(path_of(each)),
                f"{dotted(path_of(each))}: {explain(each, document, Principals)}",
            )
            for each in error.errors(include_url=False)
        ]
        raise UsageError("\n".join(map(str, sorted(problems)))) from None
