"""SIGTERM and the keyboard's interrupt end a run's work, so that the run can say how it ended."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = ["Interrupt", "interruptible", "uninterrupted"]

_SIGNALS = (signal.SIGTERM, signal.SIGINT)
_Handler = Callable[[int, FrameType | None], object] | int | signal.Handlers | None


class Interrupt(BaseException):
    """The process was told to stop; `str` names the signal.

    Not an Exception: Py4J, and whatever else works for us, would take it for a failure of its own and wrap it.
    """


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Within, SIGTERM and SIGINT are ignored: for what must not stop halfway, a commit or a report."""
    with _handling(signal.SIG_IGN):
        yield


@contextmanager
def interruptible(cancel_jobs: Callable[[], None]) -> Iterator[None]:
    """Within, the first SIGTERM or SIGINT raises Interrupt; further ones are ignored.

    Spark's jobs are cancelled from a thread of their own: the JVM takes no call from inside a handler that
    interrupted another call. Outside the main thread nothing changes.
    """

    def interrupt(number: int, _frame: FrameType | None) -> None:
        for each in _SIGNALS:
            signal.signal(each, signal.SIG_IGN)
        threading.Thread(target=cancel_jobs, daemon=True).start()
        raise Interrupt(signal.Signals(number).name)

    with _handling(interrupt):
        yield


@contextmanager
def _handling(handler: _Handler) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, handler) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, previous in before.items():
            signal.signal(number, previous)
