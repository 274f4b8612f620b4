"""What is in a folder, and whether it is what an undisturbed run leaves there."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

Snapshot = dict[str, Any]  # a relative path and what is there: JSON is parsed, anything else hashed, a folder is None

_JSON: Final = (".json", ".jsonl")
_PARTIAL: Final = re.compile(r"\.(part|partial|tmp|lock)$|spool-")
#: Names of facts that differ from run to run.
_CHANGING: Final = re.compile(r"second|time|date|created|peak|memory|checksum")


def snapshot(folder: Path) -> Snapshot:
    """Return everything below a folder."""
    return {str(path.relative_to(folder)): _content(path) for path in sorted(folder.rglob("*"))}


def _content(path: Path) -> Any:
    if path.is_symlink():
        return f"link to {path.readlink()}"
    if path.is_dir():
        return None
    data = path.read_bytes()
    if path.suffix in _JSON:
        try:
            text = data.decode()
            return [json.loads(line) for line in text.splitlines()] if path.suffix == ".jsonl" else json.loads(text)
        except ValueError:
            return f"broken JSON of {len(data)} bytes"
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def leftovers(names: Sequence[str] | Snapshot) -> list[str]:
    """Return what a finished command should have removed: hidden, partial and lock files."""
    return [
        name
        for name in names
        if any(part.startswith(".") for part in Path(name).parts)
        or re.search(r"\.(part|partial|tmp|lock)$|spool-", name)
    ]


def reset(folder: Path, source: Path | None = None) -> Path:
    """Make a folder empty, or a copy of another."""
    if folder.is_dir() and not folder.is_symlink():
        shutil.rmtree(folder)
    if source is not None:
        shutil.copytree(source, folder, symlinks=True)
    else:
        folder.mkdir(parents=True)
    return folder


@dataclass
class Reference:
    """What an undisturbed run leaves, learned from several: what differs between them is not compared."""

    names: set[str] = field(default_factory=set)
    seconds: float = 0.0
    _runs: list[Snapshot] = field(default_factory=list)

    @classmethod
    def learn(cls, run: Callable[[], tuple[Path, float]], times: int = 2) -> Reference:
        """Call `run` several times; it returns the folder that a run left and how long it took."""
        reference = cls()
        for _ in range(times):
            folder, seconds = run()
            reference.add(snapshot(folder), seconds)
        return reference

    def add(self, run: Snapshot, seconds: float) -> None:
        """Add another undisturbed run."""
        self._runs.append(run)
        self.names = set(run)
        self.seconds = seconds

    @property
    def last(self) -> Snapshot:
        """What the last undisturbed run left."""
        return self._runs[-1]

    def differences(self, other: Snapshot, *, below: str = "") -> list[str]:
        """Return how a folder differs from what an undisturbed run leaves; with `below`, only in that place."""
        first = self._runs[0]
        names = [name for name in {*first, *other} if name == below or name.startswith(f"{below}/") or not below]
        found = []
        for name in sorted(names):
            if name not in other:
                found.append(f"{name} is missing")
            elif name not in first:
                found.append(f"{name} is left over")
            else:
                found += _differences(name, other[name], [run.get(name) for run in self._runs])
        return found


def _differences(name: str, value: Any, expected: list[Any]) -> Iterator[str]:
    """Compare a value with those of the undisturbed runs, leaf by leaf; leaves that vary among those are skipped."""
    first = expected[0]
    if isinstance(first, dict):
        if not isinstance(value, dict) or value.keys() != first.keys():
            yield f"{name} has other entries"
            return
        for key in first:
            if not _CHANGING.search(key):
                yield from _differences(f"{name}:{key}", value[key], [one.get(key) for one in expected])
    elif isinstance(first, list):
        if not isinstance(value, list) or len(value) != len(first):
            yield f"{name} has another length"
            return
        for i, item in enumerate(first):
            others = [one[i] if isinstance(one, list) and i < len(one) else item for one in expected]
            yield from _differences(f"{name}[{i}]", value[i], others)
    elif value != first and all(one == first for one in expected):
        yield f"{name} differs" if len(str(value)) > 20 else f"{name} is {value} instead of {first}"
