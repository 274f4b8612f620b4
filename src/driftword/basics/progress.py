"""Progress bars for long work: shown in a terminal, silent elsewhere."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import Any


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
            fields = {} if facts is None else {"facts": facts}
            self._bar.update(self._task, completed=done, advance=more or None, **fields)


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
        BarColumn(bar_width=24),
        TaskProgressColumn(),
        TextColumn("{task.fields[facts]}"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        yield Progress(bar)
