"""Commands that compare: models with one another, and with other methods."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from driftword.basics.checks import comma_separated
from driftword.basics.errors import OptionError
from driftword.basics.visible_text import visible
from driftword.cli.app import CORPUS, CSV, FORMAT, JSON, MODEL, THREADS, command, show, table_format, two_slices
from driftword.cli.models import DEVICE, ENGINE, PASSES, warn_about_text
from driftword.cli.options import spec_options
from driftword.cli.queries import BETWEEN
from driftword.models.spec import Spec

if TYPE_CHECKING:
    from driftword.corpus import Corpus

GOLD = typer.Option(
    help="Also compare with words whose change people have judged: folder of such a data set, or its file.",
    show_default=False,
)


@command("compare", no_args_is_help=True)
@spec_options(without=("model", "context"))
def compare_models(
    path: Annotated[str, CORPUS],
    *,
    spec: Spec,
    contexts: Annotated[str, typer.Option(help="Context sizes, separated by commas.")] = "2,8",
    models: Annotated[
        str | None,
        typer.Option(
            help="Models to compare, separated by commas: static; frequency (static embeddings, with intercepts that "
            "move); binned; dynamic.",
            show_default="all",
        ),
    ] = None,
    passes: Annotated[int, PASSES] = 10,
    seeds: Annotated[str, typer.Option(help="Seeds, separated by commas; scores are means over them.")] = "0",
    baselines: Annotated[
        bool,
        typer.Option(
            "--baselines",
            help="Also compare with other methods, in all that 'driftword benchmark' measures; in one context.",
        ),
    ] = False,
    tune: Annotated[
        bool, typer.Option("--tune", help="First choose the options of each model on the validation text.")
    ] = False,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Folder to keep the fitted models in.")] = None,
    threads: Annotated[int | None, THREADS] = None,
    engine: Annotated[str, ENGINE] = "auto",
    device: Annotated[str | None, DEVICE] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace models in that folder that have other options.")
    ] = False,
    format: Annotated[str, FORMAT] = "table",
    as_json: Annotated[bool, JSON] = False,
    as_csv: Annotated[bool, CSV] = False,
) -> None:
    """Fit static, binned and dynamic models and score them on the test text: the paper's table.

    Gains in L over the other models of the same context are paired by document. What the dynamic model gains over the
    model named frequency, it gains beyond changes of frequency.

    [bold]Examples[/bold]

      driftword compare sotu.corpus --out models

      driftword compare sotu.corpus --contexts 8 --dim 50 --drift-precision 100 --seeds 0,1,2 --format latex

      driftword compare sotu.corpus --tune --out models   (the best options of each model; six times as long)

      driftword compare sotu.corpus --paper   (the options of the paper)

      driftword compare sotu.corpus --contexts 8 --baselines --seeds 0,1,2 --out models   (beside other methods)
    """
    from driftword.cli.terminal import print_comparison
    from driftword.corpus import Corpus
    from driftword.fitting.comparison import compare, comparison_table

    chosen = table_format(format, as_json, as_csv)
    corpus = Corpus.open(path)
    warn_about_text(corpus, spec)
    names = None if models is None else comma_separated(models)
    if baselines:
        sizes = [8] if contexts == "2,8" else _numbers("contexts", contexts)
        if len(sizes) != 1 or tune or overwrite:
            raise OptionError(
                "With `baselines`, give a single number to `contexts`, and neither `tune` nor `overwrite`"
            )
        compare_with_baselines(
            corpus, models=names, spec=replace(spec, context=sizes[0]), passes=passes, seeds=_numbers("seeds", seeds),
            threads=threads, engine=engine, device=device, out=out, chosen=chosen,
        )  # fmt: skip
        return
    table = compare(
        corpus, contexts=_numbers("contexts", contexts), models=names, spec=spec, passes=passes,
        seeds=_numbers("seeds", seeds), tune=tune, threads=threads, engine=engine, device=device, out=out,
        overwrite=overwrite,
    )  # fmt: skip
    if chosen in ("markdown", "latex"):
        print(comparison_table(table, format=chosen))
        return
    show(table, chosen, print_comparison)


@command("benchmark", no_args_is_help=True)
@spec_options(without=("model",))
def benchmark_models(
    path: Annotated[str, CORPUS],
    *,
    spec: Spec,
    models: Annotated[
        str | None,
        typer.Option(
            help="What to compare, separated by commas: static, binned, dynamic, procrustes, incremental, compass "
            "and ppmi.",
            show_default="all",
        ),
    ] = None,
    passes: Annotated[int, typer.Option(help="Passes over the text, for all of them.")] = 5,
    seeds: Annotated[str, typer.Option(help="Seeds, separated by commas.")] = "0,1,2",
    max_slices: Annotated[int, typer.Option(help="Slices are joined until there are at most this many.")] = 16,
    tested: Annotated[
        bool,
        typer.Option(
            "--tested", help="Also test all words for significance in the text with planted changes; takes longer."
        ),
    ] = False,
    gold: Annotated[str | None, GOLD] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o",
            help="Folder for the report and for what was fitted; the same command uses that again.",
        ),
    ] = None,
    threads: Annotated[int | None, THREADS] = None,
    engine: Annotated[str, ENGINE] = "auto",
    device: Annotated[str | None, DEVICE] = None,
    format: Annotated[str, FORMAT] = "table",
    as_json: Annotated[bool, JSON] = False,
    as_csv: Annotated[bool, CSV] = False,
) -> None:  # fmt: skip
    """Compare models and other methods: what they find, miss, repeat and cost.

    Changes of meaning are planted in a copy of the text whose dates are permuted: words take each other's places, and
    others only become rarer. The table shows how well each method finds the first and ignores the second, whether it
    dates them right, what two seeds have in common, held-out scores, seconds and memory; beside two rules that know
    nothing of meaning. It takes an hour or more on a large corpus.

    [bold]Examples[/bold]

      driftword benchmark sotu.corpus --out sotu-benchmark

      driftword benchmark sotu.corpus --models dynamic,procrustes,compass --seeds 0 --out quick
    """
    from driftword.corpus import Corpus

    chosen = table_format(format, as_json, as_csv)
    compare_with_baselines(
        Corpus.open(path), models=None if models is None else comma_separated(models), spec=spec, passes=passes,
        seeds=_numbers("seeds", seeds), max_slices=max_slices, tested=tested, gold=gold, threads=threads, engine=engine,
        device=device, out=out, chosen=chosen,
    )  # fmt: skip


@command("gold", no_args_is_help=True)
def score(
    path: Annotated[str, MODEL],
    data: Annotated[str, typer.Argument(metavar="GOLD", help="Folder of a data set, or its file of judged words.")],
    column: Annotated[
        str | None,
        typer.Option(help="Column to read, where there are several; in RuShiftEval 1, 2 or 3, for pairs of periods."),
    ] = None,
    metric: Annotated[
        str, typer.Option(help="How movement is measured, as in 'drift'; several are separated by commas.")
    ] = "cosine",
    between: Annotated[str | None, BETWEEN] = None,
    format: Annotated[str, FORMAT] = "table",
    as_json: Annotated[bool, JSON] = False,
    as_csv: Annotated[bool, CSV] = False,
) -> None:
    """Compare how far words moved with what people have judged, in data sets that you have on disk.

    Reads SemEval-2020 task 1, DWUG, NorDiaChange, DURel, RuSemShift, RuShiftEval, LiverpoolFC and the ratings of
    Gulordava and Baroni, and any table of words and how far they changed.

    [bold]Examples[/bold]

      driftword gold semeval.model semeval2020_ulscd_eng

      driftword gold news.model dwug_de --metric cosine,neighbors --between 1800-1899,1946-1990
    """
    from driftword.benchmarking.gold_sets import read_gold, score_gold
    from driftword.cli.terminal import print_agreement

    chosen = table_format(format, as_json, as_csv)
    table = score_gold(
        path, read_gold(data, column=column), metric=comma_separated(metric), between=two_slices(between)
    )
    show(table, chosen, print_agreement)


@command("prepare-gold", no_args_is_help=True)
def make_corpus(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Folder with corpus1 and corpus2 in it.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Directory to write.")],
    periods: Annotated[
        str | None,
        typer.Option(
            help="The two periods, such as 1810-1860,1960-2010; known for SemEval's English, German and Swedish texts.",
            show_default=False,
        ),
    ] = None,
    vocabulary: Annotated[int, typer.Option(help="Number of words to keep, the most frequent ones.")] = 25_000,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the corpus if it exists.")] = False,
) -> None:
    """Make a corpus of the two texts that come with a data set of judged words, such as SemEval-2020 task 1.

    Words are taken as they are, none are joined into phrases, and all judged words are kept.

    [bold]Example[/bold]

      driftword prepare-gold semeval2020_ulscd_eng --out semeval.corpus
    """
    from driftword.benchmarking.gold_sets import prepare_gold
    from driftword.cli import terminal

    named = None if periods is None else comma_separated(periods)
    corpus = prepare_gold(folder, out=out, periods=named, vocabulary=vocabulary, overwrite=overwrite)
    terminal.print_corpus(corpus, terminal.out())


def compare_with_baselines(corpus: Corpus, *, chosen: str, out: Path | None, **options: Any) -> None:
    """Run a benchmark and print it."""
    from driftword.benchmarking.suite import benchmark, benchmark_table
    from driftword.cli.terminal import print_benchmark

    table = benchmark(corpus, out=out, **options)
    if chosen == "markdown":
        print(benchmark_table(table))
        return
    show(table, chosen, print_benchmark)
    if out is not None and chosen == "table":
        written = " and ".join(visible(str(out / f"benchmark.{ending}")) for ending in ("md", "json"))
        print(f"\nWritten to {written}; what was fitted is beside them")


def _numbers(name: str, text: str) -> list[int]:
    """Read whole numbers separated by commas."""
    try:
        return [int(part) for part in comma_separated(text)]
    except ValueError as error:
        raise OptionError(f"`{name}` is '{text}'; write whole numbers separated by commas, such as 2,8") from error
