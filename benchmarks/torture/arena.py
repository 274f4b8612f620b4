"""What all parts share: a temporary folder, processes, corpora and models; and what a part is."""

from __future__ import annotations

import importlib.util
import random
import shutil
import sys
import tempfile
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from torture.corpora import Corpora, make_corpora
from torture.processes import Launcher
from torture.verdicts import Verdict


@dataclass
class Arena:
    """A temporary folder in which everything happens."""

    folder: Path
    seed: int

    @classmethod
    def open(cls, seed: int) -> Arena:
        """Make the folder; other users may read it, so that attacks can run without root's rights."""
        folder = Path(tempfile.mkdtemp(prefix="driftword-torture-"))
        folder.chmod(0o755)
        return cls(folder, seed)

    @cached_property
    def launcher(self) -> Launcher:
        """Starts commands."""
        (self.folder / "output").mkdir()
        return Launcher(self.folder / "output")

    @cached_property
    def corpora(self) -> Corpora:
        """The corpora and models to attack."""
        return make_corpora(self.folder / "corpora", self.launcher)

    def close(self) -> None:
        """End all processes and remove the folder."""
        if "launcher" in vars(self):
            self.launcher.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def load(path: Path) -> Any:
    """Load a module of the tests from its file."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[path.stem] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Part:
    """One kind of attack. A case follows from the seed and its number alone, so that it can be tried again."""

    name: ClassVar[str]
    default: ClassVar[int]  # cases at full scale

    def __init__(self, arena: Arena) -> None:
        self.arena = arena

    def case(self, number: int, rng: random.Random) -> Verdict:
        """Try one case."""
        raise NotImplementedError

    def conclusions(self) -> list[Verdict]:
        """Return what can only be judged when all cases are done."""
        return []

    def notes(self) -> list[str]:
        """Return what was measured on the way."""
        return []

    def close(self) -> None:
        """End what the part started."""
