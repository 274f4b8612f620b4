"""Answers as people read them in a terminal: one function for each kind; nothing is computed here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import polars as pl
from rich.console import Console
from rich.table import Table
from rich.text import Text

from driftword import explore
from driftword.basics.tables import cell
from driftword.basics.visible_text import visible
from driftword.cli.terminal import print_facts, print_table
from driftword.corpus import Corpus
from driftword.explore.drift_ranking import DriftRanking
from driftword.models.model import Model
from driftword.models.significance_table import (
    ALONE,
    BORDER,
    BY_CHANCE,
    CHANGE_DATE,
    DATES,
    LEVEL,
    SIGNIFICANT,
    TOO_FEW,
    verdict,
    with_written_dates,
)

_LEVELS: Final = " ▁▂▃▄▅▆▇█"
_CHART_ROWS: Final = 4
_CHART_COLUMNS: Final = 72
_SIDE_BY_SIDE: Final = 5
_LINE: Final = 24
_TOLD: Final = 100  # words of a list of which it is told from what to what they moved


def print_corpus(corpus: Corpus, console: Console, *, spell: Callable[[str], str] = str) -> None:
    """Print what is in a corpus, what was left out and why, and how much text each slice holds.

    `spell` writes options in advice such as "pass `language='en'`" as the reader would give them.
    """
    print_facts({name: spell(value) for name, value in corpus.summary().items()}, console)
    info = corpus.info()
    console.print()
    console.print("tokens per slice", style="bold")
    for line in chart(list(info["tokens_per_slice"].values()), ascii_only=not _has_blocks(console)):
        console.print("  " + line)
    columns = -(-info["slices"] // _per_column(info["slices"]))
    console.print("  " + _axis(info["first_slice"], info["last_slice"], columns), style="dim", markup=False)


def print_plan(table: pl.DataFrame, console: Console) -> None:
    """Print what every stage takes, and the time of all."""
    heads = {"memory_gb": "memory", "disk_gb": "disk", "traffic_gb": "sent"}
    rows = table.with_columns(
        pl.col("seconds").map_elements(_duration, return_dtype=pl.String).alias("time"),
        *(pl.col(name).map_elements(_gigabytes, return_dtype=pl.String).alias(head) for name, head in heads.items()),
        pl.col("limit").alias("limited by"),
    )
    print_table(rows.select("stage", "time", *heads.values(), "limited by"), console)
    console.print(f"\nIn all about {_duration(float(table['seconds'].sum()))}. These are estimates; see docs/scale.md.")


def _duration(seconds: float) -> str:
    """Write a time as people say it."""
    for unit, size in (("days", 86_400.0), ("h", 3_600.0), ("min", 60.0)):
        if seconds >= 1.5 * size:
            return f"{seconds / size:,.2g} {unit}" if seconds < 100 * size else f"{seconds / size:,.0f} {unit}"
    return f"{seconds:.2g} s"


def _gigabytes(amount: float) -> str:
    for unit, size in (("PB", 1e6), ("TB", 1e3), ("GB", 1.0), ("MB", 1e-3)):
        if amount >= size:
            return f"{amount / size:.3g} {unit}"
    return "-" if not amount else "< 1 MB"


def print_ranking(model: Model, ranking: DriftRanking, console: Console) -> None:
    """Print the words that changed most, from and to what, and which words were compared."""
    table = ranking.table
    if ranking.by_strength:  # all of the first ones are significant
        table = table.select("word", "strength", pl.exclude("word", "strength", "effect", "q"))
    if table.height <= _TOLD:
        table = table.join(_from_and_to(model, table["word"].to_list()), on="word", maintain_order="left")
    counts = pl.format("{} - {}", *(pl.col(name).fill_null("?") for name in ("count_first", "count_last")))
    plain = [] if table["interpolated"].any() else ["interpolated"]
    shown = table.with_columns(occurrences=counts)
    print_table(
        shown.drop("first", "last", "count_first", "count_last", "slices", "effect", *plain, strict=False), console
    )
    console.print(f"\n{ranking.describe()}", style="dim", markup=False)
    if not ranking.eligible:
        console.print("A smaller --min-count or --skip, or other slices (--between), let more words in.", style="dim")
    if ranking.table["interpolated"].any():
        console.print("interpolated: no training text in one of the slices; the vector there is a guess", style="dim")


def _from_and_to(model: Model, words: Sequence[str]) -> pl.DataFrame:
    """Return the neighbours that words had before their change, and since."""
    sides = (pl.col(side).list.join(", ").alias(name) for side, name in (("before", "from"), ("after", "to")))
    return explore.shifts(model, words, n=2).select("word", *sides)


def print_significance(table: pl.DataFrame, tested: pl.DataFrame, console: Console, *, which: str) -> None:
    """Print a test of all words, of "held out" or of "named" ones, and what it found in words."""
    verdicts = {
        SIGNIFICANT: "significant", ALONE: "significant alone", BY_CHANCE: "not significant",
        TOO_FEW: "too few documents",
    }  # fmt: skip
    table = with_written_dates(table)
    ends = table.select("change_low", "change_high").iter_rows()
    for_lists = ("documents_before", "documents_since", "lasting", "kind", "strength")
    shown = table.drop(DATES[1:], "gradual", "slices", for_lists).with_columns(
        pl.Series("verdict", [verdicts[verdict(*both)] for both in table.select("q", "p").iter_rows()], dtype=pl.String)
    )
    if shown["q"].is_null().all() and shown["p"].is_not_null().any():
        shown = shown.drop("q")
    if table["change_low"].is_not_null().any():
        interval = ["" if low == high else f"{low} to {high}" for low, high in ends]
        shown.insert_column(shown.columns.index("change") + 1, pl.Series("90% interval", interval, dtype=pl.String))
    elif table["change"].is_null().all():
        shown = shown.drop("change")
    print_table(shown, console)
    found = int((tested["q"] <= LEVEL).sum())
    few = int(tested["q"].is_null().sum())
    if which == "held out":
        console.print(
            f"\nSignificant in one half of the documents: {len(tested):,}; of these also in the other half, from which "
            f"all numbers are: {found:,}.",
            style="dim",
        )
    elif which == "all":
        changed = f"{found:,} changed their use, {SIGNIFICANT}" if found else "none changed its use by more than chance"
        rest = f"; {few:,} others occur in too few documents" if few else ""
        console.print(f"\nOf {len(tested) - few:,} words that were tested, {changed}{rest}.", style="dim")
    else:
        console.print()
    over = "the words that were chosen" if which == "held out" else "all words"
    sure = (
        f"q: false discovery rate over {over} (5% or less: significant)"
        if "q" in shown.columns
        else "p holds for words that were chosen before looking at results; for false discovery rates, test all words"
    )
    console.print(
        "effect: share of the variation between documents that time explains beyond chance, with its 90% interval; "
        + sure
        + (f"; {CHANGE_DATE if '90% interval' in shown.columns else BORDER}" if "change" in shown.columns else ""),
        style="dim",
    )


def print_power(table: pl.DataFrame, console: Console, *, level: float) -> None:
    """Print how often changes would have been found."""
    print_table(table, console, digits=2)
    console.print(
        "\npower: how often a change of this share of a word's occurrences, from that slice on, would have been found "
        f"with these documents (p up to {level:g})",
        style="dim",
    )


def print_contrast(table: pl.DataFrame, console: Console, found: pl.DataFrame | None = None) -> None:
    """Print a comparison of two groups; of a word, also what a test of it found over all of the time."""
    if "effect" not in table.columns:
        shown = table.with_columns(pl.col(name).list.join(", ") for name in ("first", "second"))
        print_table(shown, console)
        console.print("similarity: the cosine between the word's vectors in the two groups", style="dim")
        if found is not None:
            row = found.row(0, named=True)
            said = {
                SIGNIFICANT: "is significant",
                BY_CHANCE: f"is {BY_CHANCE}",
                TOO_FEW: "is in too few documents to tell",
            }
            numbers = "" if row["p"] is None else f" (effect {row['effect']:.3f}, p {row['p']:.3f})"
            console.print(f"Over all of the time, the difference {said[verdict(row['p'])]}{numbers}", style="dim")
        return
    print_table(table, console)
    called = int((table["q"] <= LEVEL).sum())
    over_time = "difference_early" in table.columns
    what, explains = "used differently", "the groups explain"
    if over_time:
        what, explains = "used more, less or otherwise differently over time", "a change of their difference explains"
    summary = f"None of these words is {what} by more than chance"
    if called:
        summary = f"{called:,} of these words {'is' if called == 1 else 'are'} {what}, {SIGNIFICANT}"
    console.print(
        f"\n{summary}; difference: cosine distance between the groups' mean vectors"
        f"{', in the earlier and the later half of the slices' if over_time else ''}; effect: share of the variation "
        f"between documents that {explains} beyond chance, with its 90% interval; q: false discovery rate",
        style="dim",
    )


def print_comparison(table: pl.DataFrame, console: Console) -> None:
    """Print a comparison of models: the paper's table, then gains and their standard errors, then tuned options."""
    rows = list(table.iter_rows(named=True))
    gains = [name for name in table.columns if f"{name}_se" in table.columns and name.startswith("over_")]
    gains = [name for name in gains if table[name].is_not_null().any()]
    tuned = table.columns[table.columns.index("seconds") + 1 :]

    def with_error(row: dict[str, Any], name: str, digits: int) -> str:
        return "" if row[name] is None else f"{row[name]:.{digits}f} ± {row[f'{name}_se']:.{digits}f}"

    def show(columns: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
        chosen = [{"context": row["context"], "model": row["model"], **columns(row)} for row in rows]
        print_table(pl.DataFrame(chosen), console, digits=1)

    show(
        lambda row: (
            {name: with_error(row, name, 3) for name in ("L_pos", "L")}
            | ({"seeds": row["seeds"], "sd of L": f"{row['L_seed_sd']:.4f}"} if row["seeds"] > 1 else {})
        )
    )
    if gains:
        console.print("\ngain in L over", style="dim")
        show(lambda row: {name.removeprefix("over_"): with_error(row, name, 4) for name in gains})
    if tuned:
        console.print("\noptions that were chosen on validation text", style="dim")
        show(lambda row: {name: "" if row[name] is None else f"{row[name]:g}" for name in tuned})
    console.print(
        "\nL_pos: mean log-probability of the words that occur; L: the same plus that of random words that do not; "
        "higher is better. Gains are paired by document; what is gained over frequency is beyond what changes of "
        "frequency explain.\n±: standard error over documents, of gains also over seeds if there are several.",
        style="dim",
    )


def print_benchmark(table: pl.DataFrame, console: Console) -> None:
    """Print a comparison of models and baselines: means over seeds, and half of their intervals."""
    from driftword.benchmarking.suite import INTERVALS, MEASURES, RULES, benchmark_cells, measured

    found = ("exchange_AP", "frequent_AP", "thinned", "dates", "equivalents")
    tested, judged = ("power", "false_calls"), ("spearman", "AUC")
    rest = [name for name in MEASURES if name not in (*found, *tested, *judged)]
    for title, wanted in (
        ("what they find of planted changes", found),
        ("what the significance test finds of them", tested),
        ("how far they agree with people", judged),
        ("how they predict, repeat and cost", rest),
    ):
        heads, body = benchmark_cells(table, wanted, digits=2, sign="±")
        if body:
            console.print(title, style="dim")
            print_table(pl.DataFrame([dict(zip(heads, row, strict=True)) for row in body]), console, digits=1)
            console.print()
    if table["seeds"].max() != 1:
        console.print(INTERVALS, style="dim")
    for name in measured(table):
        console.print(f"{name.replace('_', ' ')}: {MEASURES[name]}", style="dim")
    console.print(f"{' and '.join(RULES)}: rules that know nothing of meaning; what a method must beat", style="dim")


def print_agreement(table: pl.DataFrame, console: Console) -> None:
    """Print how far a model agrees with what people have judged."""
    print_table(table, console, digits=2)
    console.print(
        "spearman: correlation of movement with how far people say that words changed, with its 90% interval over "
        "words; AUC: chance that a changed word moved farther than an unchanged one (0.5: no relation); missing: "
        "judged words that the model lacks.\nfrequency change and frequency are rules that know nothing of meaning.",
        style="dim",
    )


def print_neighbors(table: pl.DataFrame, model: Model, word: str, console: Console) -> None:
    """Print the neighbours of several slices side by side, or line by line where they are many."""
    counts = dict(zip(model.slices.labels, model.vocabulary.count(slice(None), model.word_id(word)), strict=True))
    shown = {label: "count unknown" if count is None else f"{count:,}" for label, count in counts.items()}
    observed = dict(table.select("slice", "observed").iter_rows())
    shown |= {label: f"{shown[label]}, interpolated" for label in observed if not observed[label]}
    labels = table["slice"].unique(maintain_order=True).to_list()
    if "support" in table.columns:
        table = table.with_columns(
            pl.format("{} {}%", "word", (100 * pl.col("support")).round().cast(pl.Int64)).alias("word")
        )
    lists = {label: table.filter(pl.col("slice") == label)["word"].to_list() for label in labels}
    if len(labels) > _SIDE_BY_SIDE:
        print_facts({label: f"({shown[label]}) {', '.join(lists[label])}" for label in labels}, console)
        return
    if table.is_empty():
        console.print("[dim]No word occurs there often enough; use a smaller --min-count.[/dim]")
        return
    grid = Table(box=None, pad_edge=False, header_style="bold")
    room = max((console.width + 1) // len(labels) - 1, 8)
    for label in labels:
        grid.add_column(Text(f"{visible(label)}\n({shown[label]})"), no_wrap=True, max_width=min(room, 26))
    for row in range(max(map(len, lists.values()), default=0)):
        grid.add_row(*(Text(visible(words[row]) if row < len(words) else "") for words in lists.values()))
    console.print(grid, soft_wrap=False)
    console.print("[dim]in brackets: how often the word itself occurs in the slice[/dim]")
    if not all(observed.values()):
        console.print("[dim]interpolated: it has no training text there, so its neighbours are a guess[/dim]")


def print_trajectories(table: pl.DataFrame, console: Console) -> None:
    """Print the trajectories of words, and of groups, as dots on a line, with counts and neighbours."""
    by_group = "group" in table.columns
    several = table["word"].n_unique() > 1
    for of_word in table.partition_by("word", maintain_order=True):
        parts = of_word.partition_by("group", maintain_order=True) if by_group else [of_word]
        ends = ("position_low", "position", "position_high") if "position_low" in table.columns else ("position",)
        values = pl.concat([of_word[end].rename("position") for end in ends])
        for part in parts:
            names = [part[name][0] for name, shown in (("word", several), ("group", by_group)) if shown]
            if names:
                console.print(Text(visible(", ".join(names)), style="bold"))
            _print_trajectory(part, console, float(values.min()), float(values.max()))  # type: ignore[arg-type]
    line = "the line on which the word moved most" + (" in all text" if by_group else "")
    console.print(f"[dim]position: along {line}; · not observed in training text[/dim]")


def _print_trajectory(table: pl.DataFrame, console: Console, low: float, high: float) -> None:
    grid = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("slice", "count", "position", "neighbours"):
        grid.add_column(name, justify="right" if name == "count" else "left", no_wrap=name != "neighbours")
    for row in table.iter_rows(named=True):
        values = (row.get("position_low"), row["position"], row.get("position_high"))
        left, at, right = (
            round(((row["position"] if value is None else value) - low) / ((high - low) or 1) * (_LINE - 1))
            for value in values
        )
        dot = " " * left + "─" * (at - left) + ("●" if row["observed"] else "·") + "─" * (right - at)
        neighbors = Text(visible(", ".join(row["neighbors"] or [])))
        grid.add_row(Text(visible(row["slice"])), cell(row["count"], 0), dot.ljust(_LINE), neighbors)
    console.print(grid, soft_wrap=False)


def print_passages(passages: pl.DataFrame, console: Console) -> None:
    """Print keyword-in-context lines with the keyword in one column."""
    longest = max([0, *passages["left"].str.len_chars(), *passages["right"].str.len_chars()])
    side = max((min(console.width, 160) - 30) // 2, 16) if console.is_terminal else longest
    for row in passages.iter_rows(named=True):
        left, right = visible(row["left"])[-side:], visible(row["right"])[:side]
        line = Text(f"{visible(row['slice']):>9}  {left:>{side}}", overflow="crop", no_wrap=True)
        line.append(visible(row["keyword"]), style="bold")
        line.append(right)
        console.print(line, soft_wrap=False, no_wrap=True, crop=console.is_terminal)


def chart(values: Sequence[float], *, ascii_only: bool = False) -> list[str]:
    """Draw values as columns of blocks, neighbours added up where there are more than fit."""
    group = _per_column(len(values))
    sums = [sum(values[i : i + group]) for i in range(0, len(values), group)]
    top = max([*sums, 1])
    heights = [0 if v == 0 else max(1, round(v / top * _CHART_ROWS * 8)) for v in sums]
    rows = []
    for row in reversed(range(_CHART_ROWS)):
        levels = [min(max(height - 8 * row, 0), 8) for height in heights]
        rows.append("".join((" #"[level > 3] if ascii_only else _LEVELS[level]) for level in levels).rstrip())
    rows[0] += f"  max {top:,.0f}"
    if 0 in heights and not ascii_only:
        rows[-1] = "".join("·" if h == 0 else c for h, c in zip(heights, rows[-1].ljust(len(heights)), strict=True))
    return rows


def _per_column(slices: int) -> int:
    return -(-slices // _CHART_COLUMNS)


def _axis(first: str, last: str, width: int) -> str:
    return first + " " * max(2, width - len(first) - len(last)) + last if first != last else first


def _has_blocks(console: Console) -> bool:
    return (console.encoding or "").lower().startswith("utf")
