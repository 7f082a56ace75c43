"""Work over many files on every processor, in order, with a bounded amount of it in memory."""

from __future__ import annotations

import multiprocessing
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from itertools import islice
from typing import TypeVar

__all__ = ["in_batches"]

Item = TypeVar("Item")
Answer = TypeVar("Answer")

#: Items that a process takes at a time; fewer than two such batches cost less here than a second process's start.
BATCH = 250


def in_batches(work: Callable[[list[Item]], Answer], items: Iterable[Item]) -> Iterator[Answer]:
    """`work` on each batch of `items`, the answers in the order of the batches.

    Where there are several batches and processors, each batch is worked on in one of as many processes: `work`,
    items and answers must pickle then.
    """
    remaining = iter(items)
    batches = iter(lambda: list(islice(remaining, BATCH)), [])
    first = list(islice(batches, 2))
    processes = os.cpu_count() or 1
    if len(first) < 2 or processes < 2:
        yield from (work(batch) for batch in (*first, *batches))
        return
    # Not fork: the caller may have threads, whose locks a forked child would inherit locked.
    with ProcessPoolExecutor(processes, multiprocessing.get_context("spawn")) as pool:
        waiting: deque[Future[Answer]] = deque(pool.submit(work, batch) for batch in first)
        while waiting:
            waiting.extend(pool.submit(work, batch) for batch in islice(batches, 2 * processes - len(waiting) + 1))
            yield waiting.popleft().result()
