"""How much memory a run took at most: the kernel's own high-water mark of each of its processes."""

from __future__ import annotations

import threading
from pathlib import Path
from types import TracebackType

__all__ = ["PeakMemory"]

_EVERY = 0.2


class PeakMemory:
    """Watches the processes of one session (a process started with `start_new_session`) while it lives.

    `jvm` and `python` are bytes: the sum, over the processes of that kind, of the most each had resident.
    """

    def __init__(self, session: int) -> None:
        self._session = session
        self._peaks: dict[tuple[int, str], int] = {}
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    @property
    def jvm(self) -> int:
        return sum(peak for (_, name), peak in self._peaks.items() if name == "java")

    @property
    def python(self) -> int:
        return sum(peak for (_, name), peak in self._peaks.items() if name.startswith("python"))

    def __enter__(self) -> PeakMemory:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._ended.wait(_EVERY):
            for folder in Path("/proc").glob("[0-9]*"):
                self._look_at(folder)

    def _look_at(self, folder: Path) -> None:
        try:
            head, _, rest = (folder / "stat").read_text("utf-8").rpartition(")")
            if int(rest.split()[3]) != self._session:
                return
            name = head.partition("(")[2]
            status = (folder / "status").read_text("utf-8")
        except (OSError, ValueError):
            return  # it ended while we looked
        for line in status.splitlines():
            if line.startswith("VmHWM:"):
                peak = int(line.split()[1]) * 1024
                key = (int(folder.name), name)
                self._peaks[key] = max(peak, self._peaks.get(key, 0))
