"""Tasks on a Dask cluster, with its failures as sentences.

Dask runs a task again if its worker dies, or if it fails for a reason that may pass. Dask itself is imported only
when a cluster is asked for.
"""

from __future__ import annotations

import contextlib
import logging
import secrets
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from driftword.basics import checks
from driftword.basics.errors import DriftwordError, OptionError, SourceError
from driftword.basics.polars_faults import reason
from driftword.basics.process import available_cores, python_program
from driftword.basics.progress import Progress
from driftword.basics.system_calls import end_group

LOCAL: Final = "local"
_HERE: Final = "127.0.0.1"
#: Seconds to wait for a scheduler, and for the workers of this machine.
CONNECTING = 10.0
_STARTING: Final = 60.0
_RETRIES: Final = 3  # of a task that failed for a reason that may pass
_FAN: Final = 8  # results that one task adds up
_AGAIN: Final = "run the same command again"
#: Packages whose versions decide what a worker computes, or whether it understands what it is told.
_DECISIVE: Final = ("driftword", "python", "dask", "distributed", "numpy", "polars")


def check_dask(dask: Any) -> None:
    """Refuse what is not a cluster."""
    try:
        from distributed import Client
    except ImportError:
        raise OptionError("To work on a cluster, install what talks to it: pip install 'driftword[dask]'") from None
    if not (isinstance(dask, Client) or (isinstance(dask, str) and (dask == LOCAL or "://" in dask))):
        raise OptionError(
            f"`dask` is {checks.shown(dask)}; give the address of a scheduler such as 'tcp://host:8786', "
            "a dask.distributed.Client, or 'local'"
        )
    if isinstance(dask, str):
        checks.text("dask", dask)
    elif dask.status != "running" or dask.asynchronous:
        raise OptionError("The Client given as `dask` is closed or asynchronous; give one that is neither")


@contextlib.contextmanager
def connect(dask: Any) -> Iterator[Any]:
    """Yield a client of the cluster that a user named; one that was made here is closed."""
    from distributed import LocalCluster

    with contextlib.ExitStack() as stack:
        stack.enter_context(_quiet())
        if dask == LOCAL:
            scheduler = LocalCluster(
                n_workers=0, host=_HERE, dashboard_address=f"{_HERE}:0", silence_logs=logging.CRITICAL
            )
            client = stack.enter_context(_client(stack.enter_context(scheduler).scheduler_address))
            stack.enter_context(_local_workers(client))
        else:
            client = stack.enter_context(_client(dask)) if isinstance(dask, str) else dask
        yield client


@contextlib.contextmanager
def _client(address: str) -> Iterator[Any]:
    from distributed import Client

    try:
        client = Client(address, timeout=CONNECTING, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        raise OptionError(
            f"No Dask scheduler answers at {checks.quoted(address)}; check the address given as `dask`, and that the "
            "scheduler is running"
        ) from error
    try:
        yield client
    finally:
        with contextlib.suppress(Exception):
            client.close(timeout=2)


@contextlib.contextmanager
def _local_workers(client: Any) -> Iterator[None]:
    """Run one worker with one thread for each core, in processes of their own.

    They are started as programs, so that a user's script is not run again in each of them.
    """
    number = available_cores()
    command, environment = python_program("distributed.cli.dask_worker")
    command += [client.scheduler.address, "--nworkers", str(number), "--nthreads", "1", "--memory-limit", "0"]
    # Whoever reaches a worker can run code in it, so all of them listen on this machine alone.
    command += ["--host", _HERE, "--dashboard-address", f"{_HERE}:0", "--no-dashboard"]
    command += ["--death-timeout", str(int(_STARTING))]
    environment["DASK_LOGGING__DISTRIBUTED"] = "critical"
    process = subprocess.Popen(
        command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        start_new_session=True,
    )  # fmt: skip
    try:
        try:
            client.wait_for_workers(number, timeout=_STARTING)
        except TimeoutError as error:
            raise OptionError(f"The workers did not start within {_STARTING:.0f} seconds; leave out `dask`") from error
        yield
    finally:
        end_group(process)
        try:
            process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            end_group(process, kill=True)
            process.wait()


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Keep Dask from writing to a user's terminal what an error of ours says in a sentence."""
    parts = [name for name in logging.root.manager.loggerDict if name.startswith("distributed.")]
    loggers = [logging.getLogger(name) for name in ("distributed", "tornado", "asyncio", *parts)]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


# -- checks ------------------------------------------------------------------------------


def check_workers(client: Any) -> None:
    """Refuse a cluster without workers, or whose versions are not those of this process."""
    with explained():
        own, others = versions(client)
        if not others:
            raise OptionError("The Dask cluster given as `dask` has no workers; start some with: dask worker ADDRESS")
        for address, theirs in others.items():
            different = [name for name in _DECISIVE if own.get(name) != theirs.get(name)]
            if different:
                here = ", ".join(f"{name} {own.get(name) or 'not installed'}" for name in different)
                there = ", ".join(f"{name} {theirs.get(name) or 'not installed'}" for name in different)
                raise OptionError(
                    f"The worker {address} has {there}, and this process has {here}; install the same versions "
                    "everywhere"
                )


def check_shared(client: Any, folder: Path, remedy: str = "give an `out`") -> None:
    """Refuse a cluster whose workers do not see a folder; `remedy` says what to put on storage that all share."""
    with explained():
        probe = folder / f"probe-{secrets.token_hex(4)}"
        probe.write_text(probe.name)
        try:
            for address, seen in client.run(_sees, str(probe)).items():
                if not seen:
                    raise OptionError(
                        f"The worker {address} does not see the folder '{folder.parent}'; {remedy} on storage "
                        "that this process and all workers share, under the same path"
                    )
        finally:
            probe.unlink(missing_ok=True)


def versions(client: Any) -> tuple[dict[str, str | None], dict[str, dict[str, str | None]]]:
    """Return the versions of the decisive packages in this process, and in each worker by its address."""
    found = client.get_versions(packages=["driftword", "numpy", "polars"])

    def decisive(facts: Any) -> dict[str, str | None]:
        listed = {**facts["host"], **facts["packages"]} if facts else {}
        chosen = {name: listed.get(name) for name in _DECISIVE}
        chosen["python"] = ".".join(str(chosen["python"]).split(".")[:2])  # bug fixes change nothing here
        return chosen

    return decisive(found["client"]), {address: decisive(facts) for address, facts in found["workers"].items()}


def _sees(path: str) -> bool:
    """Tell whether a file that the client wrote can be read here."""
    probe = Path(path)
    try:
        return probe.read_text() == probe.name
    except OSError:
        return False


# -- tasks -------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Refusal:
    """An error that a user can put right: trying again would not help."""

    error: DriftwordError


def _guarded(task: Callable[..., Any], *job: Any) -> Any:
    try:
        return task(*job)
    except DriftwordError as error:
        return _Refusal(error)


class Tasks:
    """Runs the same task for many jobs on a cluster, and shows how many are done."""

    def __init__(self, client: Any, bar: Progress) -> None:
        self._client, self._bar = client, bar
        self._futures: set[Any] = set()  # that are not done

    def map(self, task: Callable[..., Any], jobs: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Return the result of a task for each job, in order."""
        return self.finish(self.begin(task, jobs))

    def begin(self, task: Callable[..., Any], jobs: Sequence[tuple[Any, ...]], *, priority: int = 0) -> list[Any]:
        """Begin a task for each job, and return what `finish` needs; workers prefer those of a higher priority."""
        with explained():
            return self._submit(_guarded, [(task, *job) for job in jobs], priority=priority)

    def finish(self, futures: Sequence[Any]) -> list[Any]:
        """Return the results of what was begun, in order of the jobs."""
        with explained():
            self._wait(futures)
            results = self._client.gather(futures)
            self._done(futures)
        for result in results:
            if isinstance(result, _Refusal):
                raise result.error
        return list(results)

    def add(
        self,
        task: Callable[..., Any],
        jobs: Sequence[tuple[Any, ...]],
        add_up: Callable[[Sequence[Any]], Any],
    ) -> Any:
        """Return a future of the sum of a task's results, which workers add up, a few at a time.

        Other tasks take it where it is, and `get` brings it here.
        """
        with explained():
            futures = self._submit(task, jobs)
            self._wait(futures)
            while len(futures) > 1:
                groups = [futures[i : i + _FAN] for i in range(0, len(futures), _FAN)]
                self._done(futures)
                futures = self._submit(add_up, [(group,) for group in groups])
            self._done(futures)
            return futures[0]

    def get(self, future: Any) -> Any:
        """Return the result of a future that `add` returned."""
        with explained():
            return future.result()

    def cancel(self) -> None:
        """Give up what is not done; running tasks are not stopped, and leave nothing half-written."""
        with contextlib.suppress(Exception):
            self._client.cancel(list(self._futures))

    def _submit(self, task: Callable[..., Any], jobs: Sequence[tuple[Any, ...]], *, priority: int = 0) -> list[Any]:
        futures = [self._client.submit(task, *job, pure=False, retries=_RETRIES, priority=priority) for job in jobs]
        self._futures.update(futures)
        return futures

    def _done(self, futures: Sequence[Any]) -> None:
        self._futures.difference_update(futures)

    def _wait(self, futures: Sequence[Any]) -> None:
        """Wait for all tasks, or for the first that fails; show how many are done."""
        from distributed import as_completed

        for done, future in enumerate(as_completed(futures, loop=self._client.loop), start=1):
            if future.status != "finished":
                future.result()
            if future.type is _Refusal:
                raise future.result().error
            self._bar.update(more=1, facts=f"{done:,} of {len(futures):,} parts")


@contextlib.contextmanager
def explained() -> Iterator[None]:
    """Turn what goes wrong between this process and the cluster into sentences."""
    from concurrent.futures import CancelledError

    from distributed.comm.core import CommClosedError
    from distributed.scheduler import KilledWorker

    try:
        yield
    except DriftwordError:
        raise
    except KilledWorker as error:
        raise SourceError(
            "A part of the text ended every worker that worked on it, perhaps for want of memory; give the workers "
            f"more, or divide large files, and {_AGAIN}"
        ) from error
    except (CommClosedError, CancelledError, TimeoutError) as error:
        raise SourceError(f"The connection to the Dask scheduler was lost; {_AGAIN}") from error
    except ImportError as error:  # from a worker that came later, with other versions
        raise SourceError(
            f"A worker could not do its task ({reason(error)}); install the same versions everywhere, and {_AGAIN}"
        ) from error
