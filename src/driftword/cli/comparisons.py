"""Commands that compare: models with one another, and with other methods."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from driftword.basics.checks import comma_separated
from driftword.basics.visible_text import visible
from driftword.cli.app import Answer, command, question
from driftword.cli.arguments import (
    BETWEEN,
    CORPUS,
    DEVICE,
    ENGINE,
    GOLD,
    MODEL,
    PASSES,
    THREADS,
    read_numbers,
    two_slices,
)
from driftword.cli.models import warn_about_text
from driftword.cli.options import spec_options
from driftword.models.spec import Spec

if TYPE_CHECKING:
    pass


@question
@spec_options(without=("model", "context"))
def compare(
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
) -> Answer:
    """Fit static, binned and dynamic models and score them on the test text: the paper's table.

    Gains in L over the other models of the same context are paired by document. What the dynamic model gains over the
    model named frequency, it gains beyond changes of frequency.

    [bold]Examples[/bold]

      driftword compare sotu.corpus --out models

      driftword compare sotu.corpus --contexts 8 --dim 50 --drift-precision 100 --seeds 0,1,2 --format latex

      driftword compare sotu.corpus --tune --out models   (the best options of each model; six times as long)

      driftword compare sotu.corpus --paper   (the options of the paper)

    To compare with other methods: [bold]driftword benchmark[/bold].
    """
    from driftword.cli.answers import print_comparison
    from driftword.corpus import Corpus
    from driftword.fitting import comparison

    corpus = Corpus.open(path)
    warn_about_text(corpus, spec)
    names = None if models is None else comma_separated(models)
    table = comparison.compare(
        corpus, contexts=read_numbers("contexts", contexts), models=names, spec=spec, passes=passes,
        seeds=read_numbers("seeds", seeds), tune=tune, threads=threads, engine=engine, device=device, out=out,
        overwrite=overwrite,
    )  # fmt: skip
    return Answer(table, print_comparison, comparison.comparison_table)


@question
@spec_options(without=("model",))
def benchmark(
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
) -> Answer:  # fmt: skip
    """Compare models and other methods: what they find, miss, repeat and cost.

    Changes of meaning are planted in a copy of the text whose dates are permuted: words take each other's places, and
    others only become rarer. The table shows how well each method finds the first and ignores the second, whether it
    dates them right, what two seeds have in common, held-out scores, seconds and memory; beside two rules that know
    nothing of meaning. It takes an hour or more on a large corpus.

    [bold]Examples[/bold]

      driftword benchmark sotu.corpus --out sotu-benchmark

      driftword benchmark sotu.corpus --models dynamic,procrustes,compass --seeds 0 --out quick
    """
    from driftword.basics import tables
    from driftword.benchmarking import suite
    from driftword.cli.answers import print_benchmark

    def for_people(table: Any, console: Any) -> None:
        print_benchmark(table, console)
        if out is not None:
            written = " and ".join(visible(str(out / f"benchmark.{ending}")) for ending in ("md", "json"))
            print(f"\nWritten to {written}; what was fitted is beside them")

    def for_papers(table: Any, *, format: str) -> str:
        return suite.benchmark_table(table) if format == "markdown" else tables.latex(table)

    table = suite.benchmark(
        path, models=None if models is None else comma_separated(models), spec=spec, passes=passes,
        seeds=read_numbers("seeds", seeds), max_slices=max_slices, tested=tested, gold=gold, threads=threads,
        engine=engine, device=device, out=out,
    )  # fmt: skip
    return Answer(table, for_people, for_papers)


@question
def gold(
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
) -> Answer:
    """Compare how far words moved with what people have judged, in data sets that you have on disk.

    Reads SemEval-2020 task 1, DWUG, NorDiaChange, DURel, RuSemShift, RuShiftEval, LiverpoolFC and the ratings of
    Gulordava and Baroni, and any table of words and how far they changed.

    [bold]Examples[/bold]

      driftword gold semeval.model semeval2020_ulscd_eng

      driftword gold news.model dwug_de --metric cosine,neighbors --between 1800-1899,1946-1990
    """
    from driftword.benchmarking.gold_sets import read_gold, score_gold
    from driftword.cli.answers import print_agreement

    judged = read_gold(data, column=column)
    table = score_gold(path, judged, metric=comma_separated(metric), between=two_slices(between))
    return Answer(table, print_agreement)


@question
def gold_uses(
    folder: Annotated[str, typer.Argument(metavar="FOLDER", help="Folder of a data set of word usage graphs.")],
    encoder: Annotated[
        str | None, typer.Option(help="Also with vectors of this encoder, as in 'encode'.", show_default=False)
    ] = None,
    layers: Annotated[int, typer.Option(help="Take the mean of so many of its last layers.")] = 4,
    pool: Annotated[str, typer.Option(help="word: the vector of the word; text: of all that is seen.")] = "word",
    passes: Annotated[int, typer.Option(help="Passes of the fit to the text of the uses.")] = 10,
    seed: Annotated[int, typer.Option(help="Seed of the fit, of exchanges, and of chance.")] = 0,
    threads: Annotated[int | None, THREADS] = None,
) -> Any:
    """Compare changes and senses with what people have judged of single uses, in data sets that you have on disk.

    Reads DWUG and its relatives in many languages: sentences of two periods, clusters of senses, and how far each word
    changed. "spearman" is the rank correlation with the graded change and its 90% interval over words, "AUC" the chance
    that a changed word has the larger score, and "rand_index" (adjusted) how well two senses agree with the clusters.
    Chance and frequency are rows of their own.

    [bold]Examples[/bold]

      driftword gold-uses dwug_en

      driftword gold-uses dwug_de --encoder ./bert-base-german-cased --csv > table.csv
    """
    from driftword.benchmarking.judged_uses import gold_uses as compare_uses

    return compare_uses(
        folder, encoder=encoder, layers=layers, pool=pool, passes=passes, seed=seed, threads=threads
    )  # fmt: skip


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
    from driftword.cli import answers, terminal

    named = None if periods is None else comma_separated(periods)
    corpus = prepare_gold(folder, out=out, periods=named, vocabulary=vocabulary, overwrite=overwrite)
    answers.print_corpus(corpus, terminal.out())
