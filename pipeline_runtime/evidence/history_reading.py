"""Finding a dataset's verdicts in the evidence prefix without reading all of it.

A run's verdict lies at `runs/<run id>/other.json`, and run ids say nothing about time or dataset, so all names are
listed (a request for a thousand). Read are, newest first, the verdicts that were stored since the window began, and
then, until one is found, older ones for the last batch: an object cannot hold an event that is later than itself.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from pipeline_runtime.errors import UsageError
from pipeline_runtime.evidence.event_files import EventFile, EventFolder
from pipeline_runtime.evidence.event_reading import RunEvent, Unusable, events_in
from pipeline_runtime.evidence.history import WEEK, Batch, History, batch_of, history_of

__all__ = ["DatasetHistory", "dataset_history"]

#: How far the clock of a run may be ahead of the store's: an event seems that much later than it was stored.
_CLOCKS = timedelta(hours=1)
#: Older verdicts that are looked at, one after another, for a last batch before the window.
_BLOCK = 50


@dataclass(frozen=True)
class DatasetHistory:
    """The dataset's full identity and its history; `read` counts the verdicts that were read, of `stored`."""

    dataset: tuple[str, str]
    history: History
    read: int
    stored: int


def dataset_history(folder: EventFolder, asked: str, until: datetime) -> DatasetHistory:
    """The rolling week of the dataset that ends at `until`.

    `asked` is `<database>.<table>`, or namespace and name joined by a slash. Raises UsageError where no verdict
    about it is stored, where it could mean several datasets, or where a verdict cannot be read: an unread one
    could be the failure that matters. Raises EvidenceFailed.
    """
    stored = sorted(
        (file for file in folder.files("runs/") if file.name.endswith("/other.json")),
        key=lambda file: (file.modified, file.name),
        reverse=True,
    )
    begin = until - WEEK - _CLOCKS
    recent = [file for file in stored if file.modified > begin]
    older = stored[len(recent) :]
    found = list(_batches(folder, recent))
    read = len(recent)
    while older and not any(_is_asked(batch, asked) and batch.time <= until for batch in found):
        block, older = older[:_BLOCK], older[_BLOCK:]
        found += _batches(folder, block)
        read += len(block)
    dataset = _one(asked, found, folder.where)
    history = history_of((batch for batch in found if batch.dataset == dataset), until)
    return DatasetHistory(dataset, history, read, len(stored))


def _batches(folder: EventFolder, files: Iterable[EventFile]) -> Iterator[Batch]:
    for file, body in folder.read(iter(files)):
        for item in events_in(file.name, body):
            if isinstance(item, RunEvent):
                yield from batch_of(item)
            elif isinstance(item, Unusable):
                raise UsageError(
                    f"{folder.where}: {item.where} {item.reason}; with it unread the rule cannot be judged"
                )


def _is_asked(batch: Batch, asked: str) -> bool:
    return asked.lower() in _names(batch.dataset)


def _names(dataset: tuple[str, str]) -> set[str]:
    """What a person may call the dataset, in lower case: as the catalog compares names."""
    namespace, name = dataset
    return {text.lower() for text in (f"{namespace}/{name}", name, _short(dataset))}


def _short(dataset: tuple[str, str]) -> str:
    """`<database>.<table>` of a Glue table; any other dataset's own name."""
    name = dataset[1]
    return name.removeprefix("table/").replace("/", ".") if name.startswith("table/") else name


def _one(asked: str, found: Iterable[Batch], where: str) -> tuple[str, str]:
    datasets = {batch.dataset for batch in found}
    meant = sorted(dataset for dataset in datasets if asked.lower() in _names(dataset))
    if len(meant) > 1:
        names = ", ".join("/".join(dataset) for dataset in meant)
        raise UsageError(f"{asked} could be {names}; write one of them in full")
    if not meant:
        near = difflib.get_close_matches(asked, [_short(dataset) for dataset in datasets], n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise UsageError(f"{where}: no verdict about {asked} is stored{hint}")
    return meant[0]
