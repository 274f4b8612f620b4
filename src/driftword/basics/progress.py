"""Progress bars for long work: shown in a terminal, silent elsewhere."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import Any, Final

_BAR: Final = 20  # letters
_TIMES: Final = 29  # letters of the share, the times and the spaces between


class Progress:
    """A bar with a stage, the amount done and a line of facts; without a bar it does nothing."""

    def __init__(self, bar: Any = None) -> None:
        self._bar = bar
        self._task: Any = None

    def stage(self, name: str, total: float | None = None) -> None:
        """Begin a stage of the work."""
        if self._bar is not None:
            if self._task is not None:
                self._bar.remove_task(self._task)
            self._task = self._bar.add_task(name, total=total, facts="")

    def update(self, *, done: float | None = None, more: float = 0, facts: str | None = None) -> None:
        """Report how far the stage has come."""
        if self._bar is not None and self._task is not None:
            fields = {} if facts is None else {"facts": self._fitting(facts)}
            self._bar.update(self._task, completed=done, advance=more or None, **fields)

    def _fitting(self, facts: str) -> str:
        """Cut facts off where the terminal is too narrow, so that the bar stays."""
        described = len(self._bar.tasks[-1].description) if self._bar.tasks else 0
        room = max(self._bar.console.width - described - _BAR - _TIMES, 1)
        return facts if len(facts) <= room else facts[: room - 1] + "…"


@contextlib.contextmanager
def progress(*, show: bool | None = None) -> Iterator[Progress]:
    """Show a bar on standard error; None shows it only in a terminal."""
    if not (sys.stderr.isatty() if show is None else show):
        yield Progress()
        return
    from rich.console import Console
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=_BAR),
        TaskProgressColumn(),
        TextColumn("{task.fields[facts]}"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        yield Progress(bar)
