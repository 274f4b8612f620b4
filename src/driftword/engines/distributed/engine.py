"""One fit by several processes: each has some adjacent slices, their embeddings and their text.

Embeddings and their accumulators never travel. What the text of all slices moves does:
context vectors, and in the static pass embeddings too. Each process moves its own copy;
every so often the movements are added up, and all go on from the sum. The prior, which
couples the slices of different processes, is solved together (`borders`).

The leader runs the fit as if it had an ordinary engine, a `DistributedEngine`; every call of
that is a command that the others follow with an engine of their own (`follow`). That engine is
an ordinary one: it knows only its slices, and beside them the slices just outside, which
have no text. For the step of the prior these are set to what they will be, and held there.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import platform
import weakref
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from driftword.basics import randomness
from driftword.basics.errors import FitError, OptionError
from driftword.basics.process import versions
from driftword.corpus import Corpus
from driftword.engines.contract import Engine
from driftword.engines.distributed.borders import eliminate, solve
from driftword.engines.distributed.ranks import Ranks, divide
from driftword.engines.parameters import Floats, Parameters, Table, by_slice
from driftword.engines.prior import Prior
from driftword.engines.registry import make_engine
from driftword.engines.rounds import PassPlan, Sampler, Step, Text
from driftword.engines.torch.steps import DevicePrior, by_column

#: Of the blocks done since the accumulators were reset: how many may be done between two exchanges. With 1 / 32 fits by
#: four processes diverge, with 1 / 64 they lose 0.002 of L, with this nothing that could be told from chance.
SHARE: Final = 1 / 96
WORDS_PER_BLOCK: Final = 64  # that move with a block, about
HELD: Final = 1e30  # accumulator of a slice that no step moves


class SharedRound(NamedTuple):
    """A round of all processes."""

    number: int
    positions: int


class RankPart:
    """What one process does for an engine of all of them: all carry out the same commands."""

    def __init__(self, ranks: Ranks, corpus: Corpus, parts: Parts) -> None:
        self.ranks, self.corpus, self.parts = ranks, corpus, parts
        self.rounds: list[Any] = []
        self.reader = ThreadPoolExecutor(1)
        self.ahead: tuple[PassPlan, Future[Any]] | None = None  # the next piece of the text, while this one is used
        self.blocks_done = 0.0
        self.texts: dict[int, Text] = {}
        self.kept: Callable[[], tuple[Floats, Floats]] | None = None
        self.center: Floats | None = None

    # -- the commands ------------------------------------------------------------------

    def start(
        self,
        name: str,
        sampler: Sampler,
        options: dict[str, Any],
        *,
        group: str | None,
        done: Sequence[int],
        parameters: Parameters | None,
    ) -> None:
        """Make the engine of this process, for all text or that of a group; the leader has the parameters.

        `done` are the numbers of engines that serve no more.
        """
        for number in done:
            self.parts.pop(number, None)
        if group is not None:
            self.corpus = self.corpus.of_group(group)
        weights = self.corpus.counts @ self.corpus.keep_probability
        self.borders = divide(weights.tolist(), self.ranks.size)  # about as much text each
        self.low, self.high = self.borders[self.ranks.rank : self.ranks.rank + 2]
        self.outside = (int(self.low > 0), int(self.high < self.borders[-1]))  # slices before and after ours
        arrays = {} if parameters is None else vars(parameters)
        shapes = self.ranks.share({key: values.shape for key, values in arrays.items()})
        self.sliced, self.dim = shapes["rho"][0] > 1, shapes["alpha"][-1]
        own = {key: self._deal(arrays.get(key), shape) for key, shape in shapes.items()}
        self.threads: int = options["threads"] or self.ranks.threads
        torch.set_num_threads(self.threads)  # torchrun allows one
        options = {**options, "threads": self.threads}
        if name == "torch" and options["device"] is None:
            options["device"] = self.ranks.device
        self.engine: Any = make_engine(name, Parameters(**own), sampler, **options)

    def broadcast(self, initial_accumulator: float, *, contexts: bool) -> None:
        """Give every slice the static embeddings."""
        here = self.high - self.low + sum(self.outside)
        self.engine = self.engine.broadcast(here, initial_accumulator, contexts=contexts)
        self.sliced = True

    def vectors(self) -> Floats:
        """Return all context vectors and then all embeddings, without intercepts, as means over slices."""
        rho, alpha = self.engine.embeddings()
        inner = slice(self.outside[0], len(rho) - self.outside[1])
        own = [table[inner] if len(table) > 1 else table for table in (by_slice(alpha), rho[..., : self.dim])]
        means = torch.from_numpy(np.concatenate([table.mean(axis=0) for table in own]))
        means *= (self.high - self.low) / self.borders[-1]  # our share of the slices
        self.ranks.add(means)
        return means.numpy()

    def merge(self, number: int, *options: Any) -> None:
        """Add the vectors of another engine to those of this one; the other serves no more."""
        self.engine.merge(self.parts.pop(number).engine, *options)

    def capacity(self) -> float:
        """Return how many tokens all processes can read at once; the one with the least memory decides."""
        return self.ranks.size * float(min(self.ranks.collect(self.engine.capacity() / self.ranks.on_this_machine)))

    def read(self, plan: PassPlan) -> list[int]:
        """Read the text of our slices; return how many words all processes predict in each round."""
        # With one seed for all, they would draw the same negatives at the same time.
        seed = randomness.key(plan.seed, "process", self.ranks.rank)
        plan = dataclasses.replace(plan, slices=(self.low, self.high), first=self.outside[0], seed=seed)
        if self.ahead is not None and self.ahead[0] == plan:
            self.rounds = list(self.ahead[1].result())
        else:
            self.rounds = list(self.engine.read(self.corpus, plan))
        self.ahead = None
        piece, pieces = plan.piece
        if piece + 1 < pieces:
            following = dataclasses.replace(plan, piece=(piece + 1, pieces))
            self.ahead = (following, self.reader.submit(self.engine.read, self.corpus, following))
        counts = torch.tensor([[part.positions, part.n_blocks] for part in self.rounds], dtype=torch.float64)
        self.ranks.add(counts)
        positions, self.block_counts = counts.T.tolist()
        self.blocks_done = plan.texts_before * sum(self.block_counts)
        return [int(n) for n in positions]

    def round(self, number: int, step: Step) -> float:
        """Take the likelihood steps of our blocks, exchanging movements, then the prior's together with all others.

        There are none to exchange where every slice has context vectors of its own, or all of them stay.
        """
        total, begin = 0.0, 0.0
        before = [] if self.sliced and step.frozen >= len(self.corpus.words) else self._shared()
        before = [Table(*(part.clone() for part in table)) for table in before]
        while begin < 1:
            blocks = max(self.blocks_done * SHARE, self.ranks.size)
            end = min(1.0, begin + blocks / max(self.block_counts[number], 1))
            end = 1.0 if end > 1 - 1e-9 or not before else end
            total += float(self.engine.likelihood_step(self.rounds[number].part(begin, end), step))
            if before:
                self._add_movements(before, few=blocks * WORDS_PER_BLOCK < len(before[0].values))
            self.blocks_done += (end - begin) * self.block_counts[number]
            begin = end
        if self.sliced:
            step = dataclasses.replace(step, prior=self._own_prior(step.prior))
            for name in ("rho", "alpha") if len(step.prior.alpha.precision) > 1 else ("rho",):
                self._hold_borders(name, step)
        self.engine.prior_step(step)
        sums = torch.tensor([total], dtype=torch.float64)
        self.ranks.add(sums)
        return float(sums)

    def set_center(self, center: Floats | None) -> None:
        """Take over the center of the prior, of which the leader has all slices."""
        self.center = self._deal(center, self.ranks.share(None if center is None else center.shape))

    def take_text(self, number: int, parts: Sequence[Text] | None) -> None:
        """Take over the part of a held-out text that lies in our slices."""
        text = self.ranks.deal(parts)
        first = np.int32(self.low - self.outside[0])
        self.texts[number] = text._replace(slice_of=text.slice_of - first)

    def score(self, number: int, **options: Any) -> list[npt.NDArray[np.float32]]:
        """Score our part of a text; return the scores of all processes."""
        scores = self.engine.score(self.texts[number], **options)
        return self.ranks.collect(np.asarray(scores, dtype=np.float32))

    def snapshot(self) -> None:
        """Keep the current embeddings."""
        self.kept = self.engine.snapshot()

    def gather(self, what: str) -> list[Floats | None]:
        """Return the current parameters or embeddings, or the embeddings that were kept, in the leader."""
        sources: dict[str, Any] = {
            "parameters": lambda: vars(self.engine.parameters).values(),
            "embeddings": self.engine.embeddings,
            "kept": self.kept,
        }
        return [self._gather(values) for values in sources[what]()]

    # -- how ---------------------------------------------------------------------------

    def _deal(self, whole: Floats | None, shape: tuple[int, ...]) -> Floats:
        """Return our part of an array of the leader: our slices, with places for those just outside, or all of it."""
        if len(shape) == 2 or shape[0] == 1:
            return np.asarray(self.ranks.share(whole))
        part = self.ranks.deal_rows(whole, self.borders)
        return np.concatenate([part[:1]] * self.outside[0] + [part] + [part[-1:]] * self.outside[1])

    def _gather(self, part: Floats) -> Floats | None:
        """Return an array of all slices, in the leader; one that all processes share is returned in all."""
        if not self.sliced or part.ndim == 2:
            return part
        return self.ranks.gather_rows(part[self.outside[0] : len(part) - self.outside[1]], self.borders)

    def _shared(self) -> list[Table]:
        """Return what the text of all slices moves, a row for each word."""
        tables = [self.engine.table("alpha"), self.engine.table("rho")]
        shared = [table for table in tables if table.values.ndim == 2 or not self.sliced]
        return [Table(*(torch.as_tensor(part).flatten(0, -2) for part in table)) for table in shared]

    def _add_movements(self, before: list[Table], *, few: bool) -> None:
        """Add up what all processes have moved since `before`, which is then as they are after that.

        Each has taken steps that were as long as its own gradients let them be. Those of all together have to be
        shorter, by what half of them adds to the accumulators: on average a step is taken halfway. Where `few` words
        moved, only those are sent.
        """
        now = self._shared()
        rows: list[Any] = [slice(None)] * len(now)
        if few:
            moved = [(new.accumulator != old.accumulator).any(1) for new, old in zip(now, before, strict=True)]
            marks = torch.cat(moved).to(torch.uint8)
            self.ranks.add_marks(marks)
            rows = [torch.nonzero(part)[:, 0] for part in torch.split(marks, [len(part) for part in moved])]
        starts, messages = [], []
        for table, old, here in zip(now, before, rows, strict=True):
            start = Table(*(part[here] for part in old))  # copies, where few words moved
            own = table.accumulator[here] - start.accumulator
            movement = (table.values[here] - start.values) * self._roots(start, own)
            starts.append(start)
            messages.append(torch.cat([own, movement], dim=1))
        flat = torch.cat([message.flatten() for message in messages])
        self.ranks.add(flat)
        sums = torch.split(flat, [message.numel() for message in messages])
        for table, old, here, start, total in zip(now, before, rows, starts, sums, strict=True):
            accumulators = table.accumulator.shape[1]
            both = total.view(-1, accumulators + table.values.shape[1])
            added, movement = both[:, :accumulators], both[:, accumulators:]
            start.values.add_(movement / self._roots(start, added))
            start.accumulator.add_(added)
            for place in (table, old) if few else (table,):
                place.values[here], place.accumulator[here] = start

    def _roots(self, start: Table, added: Tensor) -> Tensor:
        """Return what gradients were divided by on average, in every column, while squares were added."""
        return by_column(torch.sqrt(start.accumulator + added / 2), self.dim, start.values.shape[1])

    def _own_prior(self, prior: Prior) -> Prior:
        """Return the prior of our slices, and of those just outside."""
        low, high = self.low - self.outside[0], self.high + self.outside[1]
        return dataclasses.replace(
            prior,
            alpha=prior.alpha.part(low, high) if len(prior.alpha.precision) > 1 else prior.alpha,
            rho=prior.rho.part(low, high),
            intercept=prior.intercept.part(low, high),
            center=self.center,
        )

    def _hold_borders(self, name: str, step: Step) -> None:
        """Set the slices just outside ours to what the prior's step will make of them, and hold them there."""
        chain, intercepts, center = step.prior.alpha, None, None
        if name == "rho":
            chain, intercepts, center = step.prior.rho, step.prior.intercept, step.prior.center
        first, end = self.outside[0], self.outside[0] + self.high - self.low
        equations = []
        for low, high, arrays in self.engine.word_ranges(name):
            table = Table(*map(torch.as_tensor, arrays))
            device = table.values.device
            prior = DevicePrior.make(chain, intercepts, self.dim, table.values.shape[2], device)
            if center is not None:
                table = table._replace(values=table.values.clone())
                table.values[..., : center.shape[2]] -= torch.as_tensor(center[:, low:high]).to(device)
            of_words = prior.of_words(low, high)
            equations.append(
                eliminate(table, of_words, (first, end), learning_rate=step.learning_rate, threads=self.threads)
            )
        before, after = solve(
            torch.cat(equations, 2) if len(equations) > 1 else equations[0],
            prior.step_into(first) if self.outside[0] else None,
            prior.step_into(end) if self.outside[1] else None,
            send=self.ranks.send,
            receive=self.ranks.receive,
        )
        self.ranks.wait()
        for t, found in ((0, before), (-1, after)):
            if found is not None:
                if center is not None:
                    found[:, : center.shape[2]] += torch.as_tensor(center[min(t, len(center) - 1)]).to(found.device)
                values, accumulator = map(torch.as_tensor, self.engine.table(name))
                values[t], accumulator[t] = found, HELD


class Parts(dict[int, RankPart]):
    """What one process does for each engine that serves, in the same order in all processes."""

    def __init__(self, ranks: Ranks, corpus: Corpus) -> None:
        super().__init__()
        self._ranks, self._corpus = ranks, corpus
        self.numbers = itertools.count()  # of engines
        self.done: list[int] = []  # numbers of engines that nobody uses any more; the next one to start says so

    def __missing__(self, number: int) -> RankPart:
        """Make the part of another engine."""
        self[number] = RankPart(self._ranks, self._corpus, self)
        return self[number]


class DistributedEngine:
    """The engine of the leader: it has the others carry out all that it does itself."""

    reads_ahead = True  # every process does so by itself, and what they say to each other must keep its order

    def __init__(
        self,
        parameters: Parameters,
        sampler: Sampler,
        *,
        parts: Parts,
        name: str,
        options: dict[str, Any],
        group: str | None = None,
    ) -> None:
        self._number = next(parts.numbers)
        self._own = parts[self._number]
        self._texts: dict[int, tuple[Text, list[Any]]] = {}  # by the id of the text, which is kept so that it lasts
        self._center: Floats | None = None
        done, parts.done = parts.done, []
        self._all("start", name, sampler, options, group=group, done=done, only_here={"parameters": parameters})
        weakref.finalize(self, _note, parts, self._number)
        self.machine = f"{self._own.ranks.size} processes, each with {self._own.engine.machine}"

    def _all(self, command: str, *arguments: Any, only_here: dict[str, Any] | None = None, **options: Any) -> Any:
        """Have all processes carry out a command; what is only here, the others get as None."""
        only_here = only_here or {}
        self._own.ranks.share((self._number, command, arguments, {**options, **dict.fromkeys(only_here)}))
        return getattr(self._own, command)(*arguments, **options, **only_here)

    @property
    def parameters(self) -> Parameters:
        """The current parameters as NumPy arrays."""
        return Parameters(*self._all("gather", "parameters"))

    def broadcast(self, n_slices: int, initial_accumulator: float, *, contexts: bool = False) -> DistributedEngine:
        """Give every slice the static embeddings, and reset the Adagrad accumulators."""
        del n_slices  # every process knows its own
        self._all("broadcast", initial_accumulator, contexts=contexts)
        return self

    def vectors(self) -> Floats:
        """Return all context vectors and then all embeddings, without intercepts, as means over slices."""
        return np.asarray(self._all("vectors"))

    def merge(self, other: DistributedEngine, own: Floats, others: Floats, share: float) -> None:
        """Multiply all vectors by a matrix, and add those of another engine, multiplied by another matrix."""
        self._all("merge", other._number, own, others, share)

    def capacity(self) -> float:
        """Return how many tokens it can read at once, beside those it works on, into the memory that is free."""
        return float(self._all("capacity"))

    def read(self, corpus: Corpus, plan: PassPlan) -> list[SharedRound]:
        """Return the rounds of a pass."""
        del corpus  # every process has its own
        return [SharedRound(number, positions) for number, positions in enumerate(self._all("read", plan))]

    def round(self, blocks: SharedRound, step: Step) -> float:
        """Take the likelihood step of every block, then the prior's; return the text's summed log-likelihood."""
        center = step.prior.center
        if center is not None:
            if center is not self._center:
                self._all("set_center", only_here={"center": center})
                self._center = center
            step = dataclasses.replace(step, prior=dataclasses.replace(step.prior, center=None))
        return float(self._all("round", blocks.number, step))

    def score(
        self, text: Text, *, sampler: Sampler, half_window: int, negatives: int, key: int
    ) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """Return log sigmoid(eta) of each word, and the summed log sigmoid(-eta) of its negatives."""
        number = id(text)
        if number not in self._texts:
            owner = np.searchsorted(self._own.borders, text.slice_of, side="right") - 1
            masks = [owner == rank for rank in range(self._own.ranks.size)]
            self._all("take_text", number, only_here={"parts": [text.select(mask) for mask in masks]})
            self._texts[number] = (text, [np.repeat(mask, np.diff(text.offsets)) for mask in masks])
        found = self._all("score", number, sampler=sampler, half_window=half_window, negatives=negatives, key=key)
        scores = np.zeros((2, len(text.ids)))
        for mask, part in zip(self._texts[number][1], found, strict=True):
            scores[:, mask] = part
        return scores[0], scores[1]

    def finite(self) -> bool:
        """Tell whether the parameters are still finite; alpha shows it, as every other number soon reaches it."""
        return bool(self._own.engine.finite())

    def embeddings(self) -> tuple[Floats, Floats]:
        """Return the current rho and alpha."""
        rho, alpha = self._all("gather", "embeddings")
        return rho, alpha

    def snapshot(self) -> Callable[[], tuple[Floats, Floats]]:
        """Copy the current rho and alpha; return a function that gives the copies, until the next are made."""
        self._all("snapshot")
        return lambda: tuple(self._all("gather", "kept"))


def _note(parts: Parts, number: int) -> None:
    """Note that an engine is no longer used."""
    parts.done.append(number)


@contextmanager
def leading(corpus: Corpus, name: str, options: dict[str, Any]) -> Iterator[Callable[..., Engine]]:
    """Meet the other processes; give what starts an engine of all of them, and let them go in the end."""
    with _met(corpus) as ranks:
        try:
            yield functools.partial(DistributedEngine, parts=Parts(ranks, corpus), name=name, options=options)
        finally:
            with suppress(FitError):  # where one has stopped, all of them know
                ranks.share(None)


def follow(corpus: Corpus) -> None:
    """Meet the other processes, and carry out what the leader says until it is done."""
    with _met(corpus) as ranks:
        parts = Parts(ranks, corpus)
        while (command := ranks.share(None)) is not None:
            number, name, arguments, options = command
            getattr(parts[number], name)(*arguments, **options)


@contextmanager
def _met(corpus: Corpus) -> Iterator[Ranks]:
    """Meet the other processes, see to it that all have the same corpus and version, and part from them in the end."""
    python = ".".join(platform.python_version_tuple()[:2])  # bug fixes change nothing here
    packages = versions() | {"Python": python, "torch": torch.__version__.partition("+")[0]}
    facts = {f"version of {name}": version for name, version in packages.items()}
    ranks = Ranks.join({"corpus": corpus.fingerprint, **facts})
    try:
        if ranks.size > len(corpus.slices):
            raise OptionError(
                f"{ranks.size} processes cannot share {len(corpus.slices)} slices; "
                "start at most as many as there are slices"
            )
        yield ranks
    finally:
        ranks.leave()
