"""Work on batches in threads: results come in the order of the batches, and only a few batches are in memory."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

from driftword.basics.process import available_cores

Item = TypeVar("Item")
Result = TypeVar("Result")


class Workers:
    """A number of threads, by default one for each core; with one, everything is done at once by the caller."""

    def __init__(self, threads: int | None = None) -> None:
        self.threads = threads or available_cores()
        # One more, so that a long task in the background takes no thread from those that others wait for.
        self._pool = ThreadPoolExecutor(self.threads + 1) if self.threads > 1 else None

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def submit(self, task: Callable[..., Result], *arguments: Any) -> Future[Result]:
        """Begin a task; its result, or its error, comes with the future."""
        if self._pool is not None:
            return self._pool.submit(task, *arguments)
        done: Future[Result] = Future()
        try:
            done.set_result(task(*arguments))
        except Exception as error:
            done.set_exception(error)
        return done

    def map(self, task: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """Yield the result of a task for each item, in order; few items are taken before their time."""
        pending: deque[Future[Result]] = deque()
        for item in items:
            pending.append(self.submit(task, item))
            if len(pending) > self.threads:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()
