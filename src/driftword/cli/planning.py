"""The command that says what a corpus will take."""

from __future__ import annotations

import re
from typing import Annotated, Any

import typer

from driftword.basics.errors import OptionError
from driftword.cli.app import Answer, question
from driftword.cli.arguments import PASSES

_UNITS = {"": 1.0, "k": 1e3, "m": 1e6, "b": 1e9, "g": 1e9, "t": 1e12}


def _amount(name: str, text: str) -> float:
    """Read a number such as 30M, 500k or 1e12."""
    found = re.fullmatch(r"\s*([0-9][0-9_,]*\.?[0-9]*(?:e\+?[0-9]{1,3})?)\s*([kmbgt]?)\s*", text, re.IGNORECASE)
    if found is None:
        raise OptionError(f"`{name}` is '{text}'; write a number such as 500k, 30M, 10B or 1e12")
    return float(found[1].replace(",", "").replace("_", "")) * _UNITS[found[2].lower()]


@question
def plan(
    path: Annotated[
        str | None, typer.Argument(metavar="[CORPUS]", help="A corpus directory.", show_default=False)
    ] = None,
    tokens: Annotated[
        str | None, typer.Option(help="Words of text, instead of a corpus: 30M, 10B, 1e12.", show_default=False)
    ] = None,
    vocabulary: Annotated[str, typer.Option(help="Words of the vocabulary, with --tokens: 25k, 500k.")] = "25k",
    slices: Annotated[int, typer.Option(help="Slices, with --tokens.")] = 50,
    dim: Annotated[int, typer.Option(help="Dimension of the embeddings.")] = 100,
    passes: Annotated[int, PASSES] = 10,
    cores: Annotated[
        int | None, typer.Option(help="Cores of each machine.", show_default="those of this machine")
    ] = None,
    gpus: Annotated[int, typer.Option(help="GPUs that fit together; 0 fits on cores.")] = 0,
    processes: Annotated[
        int | None, typer.Option(help="Processes that fit together on cores.", show_default="1")
    ] = None,
    dask_cores: Annotated[
        int, typer.Option(help="Cores of a Dask cluster for prepare and significance; 0 leaves both to this machine.")
    ] = 0,
    core_speed: Annotated[float, typer.Option(help="How fast a core is beside those that were measured.")] = 1.0,
) -> Any:
    """Estimate what a corpus takes: time, memory, disk and traffic, stage by stage.

    The numbers come from costs that were measured on one machine (docs/scale.md says how well they fit), so they are
    estimates. Memory is that of one process; traffic is what one process sends.

    [bold]Examples[/bold]

      driftword plan un.corpus

      driftword plan --tokens 30M --slices 77 --cores 16

      driftword plan --tokens 1e12 --vocabulary 500k --slices 200 --gpus 64 --dask-cores 2048
    """
    from driftword.cli.answers import print_plan
    from driftword.fitting.planning import plan as estimate
    from driftword.models.spec import Spec

    table = estimate(
        path, Spec(dim=dim), tokens=None if tokens is None else _amount("tokens", tokens),
        vocabulary=round(_amount("vocabulary", vocabulary)), slices=slices, passes=passes, cores=cores, gpus=gpus,
        processes=processes, dask_cores=dask_cores, core_speed=core_speed,
    )  # fmt: skip
    return Answer(table, print_plan)
