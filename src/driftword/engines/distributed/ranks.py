"""Processes that fit one model together, as ``torchrun`` starts them: who they are, and how they talk.

Process 0, the leader, decides and writes; the others follow. What they say goes through
torch.distributed: NCCL between GPUs, gloo between processors.
"""

from __future__ import annotations

import json
import os
import socket
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import accumulate
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed.distributed_c10d import PrefixStore, _set_pg_timeout
from torch.distributed.rendezvous import rendezvous

from driftword.basics.errors import DriftwordError, FitError, OptionError
from driftword.basics.process import available_cores

TIMEOUT: Final = timedelta(hours=1)  # without a word from the others; one that has ended is noticed at once
MEETING: Final = timedelta(minutes=10)  # until all have come: they are started together, and open a corpus at most
SILENCE: Final = 60  # seconds, after which a machine that does not answer is lost; its processes may be busy for longer
LOST: Final = (
    "Another process of this fit has stopped, or cannot be reached; see what it says, then continue with `resume=True`"
)
_ERROR: Final = "error"  # the name of a fact: why a process cannot take part
_CPU: Final = torch.device("cpu")


@dataclass
class Ranks:
    """One of `size` processes; the leader has rank 0."""

    rank: int
    size: int
    on_this_machine: int = 1  # how many of them
    number_here: int = 0  # of this process among those on this machine
    _sending: list[tuple[Any, Tensor]] = field(default_factory=list)

    @classmethod
    def join(cls, facts: Mapping[str, str]) -> Ranks:
        """Meet the other processes; refuse those for which some facts are not the same."""
        others = set(_open_files())
        with _explaining_loss("The processes of this fit cannot reach each other ({}); check the address of the first"):
            store, rank, size = _say(facts)
            with suppress(dist.DistStoreError):
                store.wait([str(number) for number in range(size)], MEETING)
            if missing := [number for number in range(size) if not store.check([str(number)])]:
                raise FitError(
                    f"Process {missing[0]} of this fit did not come within {MEETING.seconds // 60} minutes; "
                    "see what it says"
                )
            for number in range(size):
                _compare(facts, rank, json.loads(store.get(str(number))), number)
            if not dist.is_initialized():
                dist.init_process_group(_backend(), store=store, rank=rank, world_size=size, timeout=MEETING)
                _set_pg_timeout(TIMEOUT)
        for number in set(_open_files()) - others:
            notice_silence(number)
        return cls(rank, size, *_on_this_machine())

    @property
    def threads(self) -> int:
        """The number of threads this process may use, so that all on this machine have one for each core."""
        return max(1, available_cores() // self.on_this_machine)

    @property
    def device(self) -> str:
        """The GPU of this process."""
        return f"cuda:{self.number_here % max(torch.cuda.device_count(), 1)}"

    def share(self, value: Any) -> Any:
        """Return, in all processes, what the leader gives."""
        with _explaining_loss():
            box = [value]
            dist.broadcast_object_list(box, src=0, device=_CPU)
            return box[0]

    def collect(self, value: Any) -> list[Any]:
        """Return, in all processes, what each of them gives."""
        with _explaining_loss():
            values: list[Any] = [None] * self.size
            dist.all_gather_object(values, value)
            return values

    def deal(self, values: Sequence[Any] | None) -> Any:
        """Return the value that the leader has for this process."""
        with _explaining_loss():
            box: list[Any] = [None]
            dist.scatter_object_list(box, list(values) if values is not None else None, src=0)
            return box[0]

    def add(self, values: Tensor) -> None:
        """Replace numbers by their sums over all processes."""
        with _explaining_loss():
            dist.all_reduce(values)

    def add_marks(self, marks: Tensor) -> None:
        """Mark what any process has marked with a 1."""
        with _explaining_loss():
            dist.all_reduce(marks, op=dist.ReduceOp.MAX)

    def send(self, values: Tensor, steps: int) -> None:
        """Send numbers to the process so many ranks further on, without waiting for it."""
        values = values.contiguous()
        with _explaining_loss():
            self._sending.append((dist.isend(values, self.rank + steps), values))

    def receive(self, values: Tensor, steps: int) -> None:
        """Receive numbers from the process so many ranks further on."""
        with _explaining_loss():
            dist.recv(values, self.rank + steps)

    def wait(self) -> None:
        """Wait until all that was sent is gone."""
        with _explaining_loss():
            for work, _ in self._sending:
                work.wait()
        self._sending.clear()

    def gather_rows(self, part: npt.NDArray[Any], borders: Sequence[int]) -> npt.NDArray[Any] | None:
        """Return, in the leader, the parts of all processes as one array; each has the rows between two borders."""
        if self.rank:
            for row in part:  # one at a time, so that neither side needs room for more
                self.send(torch.from_numpy(np.ascontiguousarray(row)), -self.rank)
                self.wait()
            return None
        whole = np.empty((borders[-1], *part.shape[1:]), dtype=part.dtype)
        whole[: borders[1]] = part
        for t in range(borders[1], borders[-1]):
            self.receive(torch.from_numpy(whole[t]), bisect_right(borders, t) - 1)
        return whole

    def deal_rows(self, whole: npt.NDArray[Any] | None, borders: Sequence[int]) -> npt.NDArray[Any]:
        """Return the rows of this process from an array of the leader."""
        shape, dtype = self.share(None if whole is None else (whole.shape[1:], whole.dtype))
        if whole is not None:
            for t in range(borders[1], borders[-1]):
                self.send(torch.from_numpy(np.ascontiguousarray(whole[t])), bisect_right(borders, t) - 1)
                self.wait()
            return np.array(whole[: borders[1]])
        part = np.empty((borders[self.rank + 1] - borders[self.rank], *shape), dtype=dtype)
        for row in part:
            self.receive(torch.from_numpy(row), -self.rank)
        return part

    def leave(self) -> None:
        """Part from the other processes."""
        if dist.is_initialized():
            dist.destroy_process_group()


def tell(error: str) -> None:
    """Tell the other processes why this one cannot take part, so that they do not wait for it."""
    with suppress(RuntimeError, ValueError, StopIteration):  # nobody listens
        _say({_ERROR: error})


def _say(facts: Mapping[str, str]) -> tuple[PrefixStore, int, int]:
    """Say something at the next meeting of all processes; return where it is said, the rank of this one and the size.

    Meetings are numbered: a process may take part in several fits.
    """
    store, rank, size = next(rendezvous("env://", timeout=MEETING))
    meeting = PrefixStore(f"driftword/{store.add(f'driftword/{rank}', 1)}", store)
    meeting.set(str(rank), json.dumps(facts))
    return meeting, rank, size


def _compare(facts: Mapping[str, str], rank: int, others: Mapping[str, str], number: int) -> None:
    """Refuse a process for which some facts are not those of this one."""
    if _ERROR in others:
        raise FitError(f"Process {number} of this fit cannot take part: {others[_ERROR]}")
    if different := [name for name, value in facts.items() if others.get(name) != value]:
        raise OptionError(
            f"Processes {rank} and {number} do not have the same {' and the same '.join(different)}; start all of them "
            "with the same command, on machines with the same packages"
        )


def _open_files() -> list[int]:
    """Return the numbers of all files and sockets that this process has open."""
    folder = Path("/dev/fd")  # Windows has none
    return [int(path.name) for path in folder.iterdir()] if folder.is_dir() else []


def notice_silence(number: int) -> None:
    """Have the system give up a connection to a machine that does not answer, if this file is one.

    Left alone, whoever waits for such a machine does so for hours. Where a process is busy, its machine still answers.
    """
    with suppress(OSError), socket.socket(fileno=os.dup(number)) as connection:
        connection.getpeername()
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        wanted = {"KEEPIDLE": SILENCE // 6, "KEEPINTVL": SILENCE // 6, "KEEPCNT": 5, "USER_TIMEOUT": 1000 * SILENCE}
        for name, value in wanted.items():
            if option := getattr(socket, f"TCP_{name}", None):
                connection.setsockopt(socket.IPPROTO_TCP, option, value)


def _on_this_machine() -> tuple[int, int]:
    """Return how many of the processes are on this machine, and the number of this one among them."""
    return int(os.environ.get("LOCAL_WORLD_SIZE", 1)), int(os.environ.get("LOCAL_RANK", 0))


def _backend() -> str:
    if not torch.cuda.is_available():
        return "gloo"
    # NCCL wants a GPU for each process.
    return "cpu:gloo,cuda:nccl" if _on_this_machine()[0] <= torch.cuda.device_count() else "gloo"


def divide(weights: Sequence[float], parts: int) -> list[int]:
    """Return borders that divide a sequence into parts of at least one item, the heaviest as light as possible."""
    sums = [0.0, *accumulate(float(w) for w in weights)]
    n = len(weights)

    def borders_within(limit: float) -> list[int] | None:
        found = [0]
        for part in range(parts):
            end = found[-1] + 1
            most = n - (parts - part - 1)  # every later part needs an item
            while end < most and sums[end + 1] - sums[found[-1]] <= limit:
                end += 1
            found.append(end)
        return found if found[-1] == n else None

    low, high = 0.0, sums[-1]
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if borders_within(middle) else (middle, high)
    found = borders_within(high)
    assert found is not None
    return found


@contextmanager
def _explaining_loss(sentence: str = LOST) -> Iterator[None]:
    """Say that another process has stopped where a call of torch.distributed fails."""
    try:
        yield
    except (RuntimeError, ValueError) as error:
        if isinstance(error, DriftwordError):
            raise
        raise FitError(sentence.format(str(error).splitlines()[0][:200])) from error
