"""A Dask cluster: connected to, checked, and given tasks, with its failures as sentences.

Dask runs a task again if its worker dies, or if it fails for a reason that may pass. Dask itself is imported only
when a cluster is asked for.
"""

from __future__ import annotations

import contextlib
import logging
import os
import secrets
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from driftword.basics import checks
from driftword.basics.errors import DriftwordError, OptionError, SourceError
from driftword.basics.polars_faults import reason
from driftword.basics.process import available_cores
from driftword.basics.progress import Progress

LOCAL: Final = "local"
#: Seconds to wait for a scheduler, and for the workers of this machine.
CONNECTING = 10.0
_STARTING: Final = 60.0
_RETRIES: Final = 3  # of a task that failed for a reason that may pass
_FAN: Final = 8  # results that one task adds up
_AGAIN: Final = "run the same command again"
#: Packages whose versions decide what a worker computes, or whether it understands its tasks.
_DECISIVE: Final = ("driftword", "python", "dask", "distributed", "numpy", "polars")


def check_dask(dask: Any) -> None:
    """Refuse what is no cluster."""
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
    with _quiet():
        if not isinstance(dask, str):
            yield dask
        elif dask == LOCAL:
            with _local_client() as client:
                yield client
        else:
            with _client(dask) as client:
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
def _local_client() -> Iterator[Any]:
    """Yield a client of one worker with one thread for each core, in processes of their own.

    They are started as programs, so that a user's script is not run again in each of them.
    """
    from distributed import LocalCluster

    number = available_cores()
    options = f"--nworkers {number} --nthreads 1 --memory-limit 0 --no-dashboard --death-timeout {_STARTING:.0f}"
    with (
        LocalCluster(n_workers=0, dashboard_address="127.0.0.1:0", silence_logs=logging.CRITICAL) as cluster,
        _client(cluster.scheduler_address) as client,
    ):
        process = subprocess.Popen(
            [sys.executable, "-m", "distributed.cli.dask_worker", cluster.scheduler_address, *options.split()],
            env={**os.environ, "DASK_LOGGING__DISTRIBUTED": "critical"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            try:
                client.wait_for_workers(number, timeout=_STARTING)
            except TimeoutError as error:
                message = f"The workers did not start within {_STARTING:.0f} seconds; leave out `dask`"
                raise OptionError(message) from error
            yield client
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Keep Dask from writing to a user's terminal what an error of ours says in a sentence."""
    packages = ("distributed", "tornado", "asyncio")
    known = [name for name in logging.root.manager.loggerDict if name.startswith("distributed.")]
    levels = {logging.getLogger(name): logging.getLogger(name).level for name in (*packages, *known)}
    for logger in levels:
        logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for logger, level in levels.items():
            logger.setLevel(level)


# -- checks ------------------------------------------------------------------------------


def check_workers(client: Any) -> None:
    """Refuse a cluster without workers, or with other versions than this process has."""
    with explained():
        own, others = versions(client)
        if not others:
            raise OptionError("The Dask cluster given as `dask` has no workers; start some with: dask worker ADDRESS")
        for address, theirs in others.items():
            different = [name for name in _DECISIVE if own[name] != theirs[name]]
            if different:
                there, here = (
                    ", ".join(f"{name} {found[name] or 'not installed'}" for name in different)
                    for found in (theirs, own)
                )
                raise OptionError(
                    f"The worker {address} has {there}, and this process has {here}; install the same versions "
                    "everywhere"
                )


def versions(client: Any) -> tuple[dict[str, str | None], dict[str, dict[str, str | None]]]:
    """Return the versions of packages that matter in this process, and in each worker by its address."""
    found = client.get_versions(packages=["driftword", "numpy", "polars"])

    def decisive(facts: Any) -> dict[str, str | None]:
        listed = {**facts["host"], **facts["packages"]} if facts else {}
        chosen = {name: listed.get(name) for name in _DECISIVE}
        chosen["python"] = ".".join(str(chosen["python"]).split(".")[:2])  # as bug fixes change nothing here
        return chosen

    return decisive(found["client"]), {address: decisive(facts) for address, facts in found["workers"].items()}


def check_shared(client: Any, folder: Path) -> None:
    """Refuse a cluster whose workers do not see a folder."""
    probe = folder / f"probe-{secrets.token_hex(4)}"
    with explained():
        probe.write_text(probe.name)
        try:
            for address, seen in client.run(_sees, probe).items():
                if not seen:
                    raise OptionError(
                        f"The worker {address} does not see the folder '{folder.parent}'; give an `out` on storage "
                        "that this process and all workers share, under the same path"
                    )
        finally:
            probe.unlink(missing_ok=True)


def _sees(probe: Path) -> bool:
    """Tell whether a file that the client wrote is here."""
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


def _checked(result: Any) -> Any:
    if isinstance(result, _Refusal):
        raise result.error
    return result


class Tasks:
    """Runs the same task for all partitions on a cluster, and shows how many are done."""

    def __init__(self, client: Any, bar: Progress) -> None:
        self._client, self._bar = client, bar
        self._futures: list[Any] = []  # that are not done

    def map(self, task: Callable[..., Any], jobs: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Return the result of a task for each job, in order."""
        with explained():
            futures = self._submit(_guarded, [(task, *job) for job in jobs])
            self._wait(futures)
            results = [_checked(result) for result in self._client.gather(futures)]
            self._futures.clear()
            return results

    def add(
        self, task: Callable[..., Any], jobs: Sequence[tuple[Any, ...]], add_up: Callable[[Sequence[Any]], Any]
    ) -> Any:
        """Return the sum of the results of a task, which workers add up, a few at a time.

        It is Dask's promise of it: other tasks take it where it is, and `get` brings it here.
        """
        with explained():
            futures = self._submit(task, jobs)
            self._wait(futures)
            while len(futures) > 1:
                futures = self._submit(add_up, [(futures[i : i + _FAN],) for i in range(0, len(futures), _FAN)])
            self._futures.clear()
            return futures[0]

    def get(self, promised: Any) -> Any:
        """Return what `add` promised."""
        with explained():
            return promised.result()

    def cancel(self) -> None:
        """Give up what is not done; running tasks are not stopped, but they leave nothing half-written."""
        with contextlib.suppress(Exception):
            self._client.cancel(self._futures)

    def _submit(self, task: Callable[..., Any], jobs: Sequence[tuple[Any, ...]]) -> list[Any]:
        futures = [self._client.submit(task, *job, pure=False, retries=_RETRIES) for job in jobs]
        self._futures += futures
        return futures

    def _wait(self, futures: Sequence[Any]) -> None:
        """Wait for all tasks, or for the first that fails; show how many are done."""
        from distributed import as_completed

        for done, future in enumerate(as_completed(futures, loop=self._client.loop), start=1):
            if future.status != "finished" or future.type is _Refusal:
                _checked(future.result())
            self._bar.update(more=1, facts=f"{done:,} of {len(futures):,} parts")


@contextlib.contextmanager
def explained() -> Iterator[None]:
    """Turn what goes wrong between this process and the cluster into sentences."""
    from concurrent.futures import CancelledError

    from distributed.comm.core import CommClosedError
    from distributed.scheduler import KilledWorker

    try:
        yield
    except KilledWorker as error:
        raise SourceError(
            "A part of the text ended every worker that worked on it, perhaps as there was not enough memory; give "
            f"workers more, or divide large files, and {_AGAIN}"
        ) from error
    except (CommClosedError, CancelledError, TimeoutError) as error:
        raise SourceError(f"The connection to the Dask scheduler was lost; {_AGAIN}") from error
    except ImportError as error:  # as from a worker that came later, with other versions
        raise SourceError(
            f"A worker could not do its task ({reason(error)}); install the same versions everywhere, and {_AGAIN}"
        ) from error
