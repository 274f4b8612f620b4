"""What stands on each page, ready for a template, for JSON and for CSV: the tables of `explore`, and no more."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import polars as pl

from driftword import __version__, explore
from driftword.errors import OptionError
from driftword.explore import vectors as space
from driftword.model import Model
from driftword.pages.figures import HALF, figure
from driftword.suggestions import closest

MOST_ROWS: Final = 200
MOST_SLICES: Final = 12
MOST_WORDS: Final = 6
#: What each measure of drift tells, in a few words.
MEASURES: Final = {
    "absolute": "how far a word moved",
    "cosine": "how much its direction changed",
    "thirds": "how much its direction changed from the first third of the time to the last",
    "farthest": "how far it ever was from its beginning",
    "path": "how long its whole way is",
    "step": "its largest single step",
    "neighbors": "how many of its 25 nearest words were exchanged",
    "ranks": "how differently its nearest words are ranked",
    "relative": "how far it moved, beside words that are as frequent",
}
SORTS: Final = ("drift", "word", "count_first", "count_last", "slices")
_UNUSUAL: Final = 0.9  # words as frequent that a change must surpass to be called one
_FEW: Final = 6  # neighbours that tell in a table what a word was near to
_SMALL: Final = {"width": HALF, "height": 150}

Content = dict[str, Any]


def start(
    model: Model, begin: str | None = None, end: str | None = None, *, pace: pl.DataFrame | None = None, **options: Any
) -> Content:
    """Return the corpus at a glance, the words that changed most, and the slices in which language did.

    `pace` may be given where it is known already; `options` are those of `between`.
    """
    labels = model.slices.labels
    tokens = np.asarray(model.counts).sum(axis=1, dtype=np.int64).tolist()
    tokens_each = figure(
        "Words of text in each slice", "words of text", "bars", series=[_series("words", tokens)], **_SMALL
    )
    figures = {"tokens": tokens_each}
    content: Content = {
        "title": "How words changed",
        "words": len(model.words),
        "slices": list(labels),
        "tokens": tokens,
        "held_out": model.info()["validation"],
        "model": model.spec.model,
        "figures": figures,
        "table": [],
        "moving": len(model.rho) > 1,
        "cite": cite(model),
    }
    if content["moving"]:
        speed = explore.pace(model) if pace is None else pace
        figures["pace"] = figure(
            "How far language moved into each slice", "mean distance from the slice before", "lines",
            series=[_series("movement", speed["movement"].to_list())], **_SMALL,
        )  # fmt: skip
        content["fastest"] = speed.drop_nulls("movement").sort("movement", descending=True).head(5).to_dicts()
        first, last = explore.ends(model)
        found = between(model, begin or first, end or last, **options)
        content = found | content | {"table": found["table"], "enough": (found["begin"], found["end"]) == (first, last)}
    return content


def between(
    model: Model, begin: str | None, end: str | None, *, metric: str = "absolute", n: int = 30, min_count: int = 5,
    skip: int | None = None, sort: str = "drift",
) -> Content:  # fmt: skip
    """Return the words that changed most from one slice to another, and what each was near to in both."""
    skip = usual_skip(model) if skip is None else skip
    space.moving(model)
    space.choose("order", sort, SORTS)
    labels = model.slices.labels
    usual = explore.ends(model)
    times = sorted(model.slices.index(at) for at in (begin or usual[0], end or usual[1]))
    first, last = (labels[t] for t in times)
    table = explore.drift(
        model, n=bounded("n", n, MOST_ROWS), metric=metric, between=(first, last), min_count=min_count, skip=skip
    )
    near = explore.neighborhoods(model, table["word"].to_list(), at=[first, last], n=_FEW)
    for label, name in ((first, "near_first"), (last, "near_last")):
        names = near.filter(pl.col("slice") == label).select("word", pl.col("neighbors").alias(name))
        table = table.join(names, on="word", how="left", maintain_order="left")
    if sort != "drift":
        table = table.sort(sort, descending=sort != "word", maintain_order=True)
    return {
        "title": f"From {first} to {last}",
        "begin": first,
        "end": last,
        "slices": list(labels),
        "metric": metric,
        "n": n,
        "min_count": min_count,
        "skip": skip,
        "sort": sort,
        "table": table.to_dicts(),
        "columns": table.columns,
        "figures": {},
        "cite": cite(model),
    }


def usual_skip(model: Model) -> int:
    """Return how many of the most frequent words are left out: their use changes with style rather than meaning."""
    return min(200, len(model.words) // 50)


def one_slice(model: Model, label: str, **options: Any) -> Content:
    """Return what moved into a slice, and the slices beside it."""
    space.moving(model)
    labels = model.slices.labels
    t = model.slices.index(label)
    if t == 0:
        raise OptionError(f"'{labels[0]}' is the first slice, so nothing moved into it; look at a later one")
    return between(model, labels[t - 1], labels[t], **options) | {
        "title": f"What moved into {labels[t]}",
        "slice": labels[t],
        "before": labels[t - 1] if t > 1 else None,
        "after": labels[t + 1] if t + 1 < len(labels) else None,
        "occurrences": int(np.asarray(model.counts)[t].sum()),
    }


def word(
    model: Model,
    asked: str,
    *,
    at: Sequence[str] = (),
    n: int = 10,
    others: Sequence[str] = (),
    taken: str | None = None,
) -> Content:
    """Return all there is to say about a word.

    Parameters
    ----------
    model, asked
        The model, and the word.
    at
        Slices whose neighbours are shown; by default those that tell most.
    n
        How many neighbours.
    others
        Words to which its nearness is shown; by default its nearest ones, early and late.
    taken
        The slice in which it is taken to find what stands there in others; by default the last of those shown.
    """
    name, labels = model.words[model.word_id(asked)], model.slices.labels
    n = bounded("n", n, MOST_ROWS)
    at_most("slices", at, MOST_SLICES)
    at_most("words", others, MOST_WORDS)
    chosen = [labels[t] for t in (sorted(space.slice_numbers(model, list(at))) if at else explore.telling(model, name))]
    near = explore.neighbors(model, name, at=chosen, n=n)
    often = explore.frequency(model, name)
    counts = often["count"].to_list()
    moving = len(model.rho) > 1
    content: Content = {
        "title": name,
        "word": name,
        "slices": list(labels),
        "counts": counts,
        "chosen": chosen,
        "neighbors": side_by_side(chosen, near.to_dicts()),
        "moving": moving,
        "changes": [],
        "usual": None,
        "figures": {"frequency": figure(f"How often {name} occurs", "per million words", "bars",
                                        series=[_series(name, often["per_million"].to_list())], **_SMALL)},
        "table": near.to_dicts(),
        "cite": cite(model),
    }  # fmt: skip
    if not moving:
        return content
    if len(labels) > 2:
        found = explore.changes(model, name, n=3).to_dicts()
        places = sorted(labels.index(row["slice"]) for row in found if row["unusual"] >= _UNUSUAL)
        told = {row["slice"]: row for row in found}
        for before, place, after in zip([0, *places], places, [*places[1:], len(labels)], strict=False):
            evidence = {"count_before": sum(counts[before:place]), "count_after": sum(counts[place:after])}
            content["changes"].append(told[labels[place]] | evidence)  # beside those that are shown
        content["usual"] = max(found, key=lambda row: row["unusual"], default=None)
    way = explore.trajectory(model, name, at=chosen[0], n=1)
    others = [model.words[model.word_id(other)] for other in others] or _telling_words(content["neighbors"])
    taken = labels[model.slices.index(taken)] if taken else chosen[-1]
    elsewhere = [label for label in chosen if label != taken]
    content["figures"] |= {
        "way": figure(f"{name} through time", "meaning, on the line along which it moved most", "way",
                      series=[_series(name, way["place"].to_list(), counts)], height=260),
        "movement": figure(f"How far {name} moved into each slice", "distance from the slice before", "bars",
                           series=[_series(name, often["step"].to_list(), counts)], **_SMALL),
        "similarity": _nearness(model, name, [other for other in others if other != name]),
    }  # fmt: skip
    found = explore.equivalents(model, name, at=taken, to=elsewhere, n=5).to_dicts() if elsewhere else []
    content["taken"] = taken
    content["equivalents"] = [
        {"slice": label, "words": [row for row in found if row["slice"] == label]} for label in elsewhere
    ]
    return content


def near(model: Model, asked: str, at: str, *, n: int) -> Content:
    """Return the neighbours of a word in one slice, for a reader who points at it."""
    found = explore.neighbors(model, asked, at=at, n=n)
    t = model.slices.index(at)
    return {
        "slice": model.slices.labels[t],
        "count": int(model.counts[t][model.word_id(asked)]),
        "neighbors": found["word"].to_list(),
    }


def side_by_side(chosen: Sequence[str], near: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the neighbours of each slice in a list, with what entered since the one before and what left after it."""
    lists = [[row for row in near if row["slice"] == label] for label in chosen]
    result = []
    for i, label in enumerate(chosen):
        before = {row["word"] for row in lists[i - 1]} if i else None
        after = {row["word"] for row in lists[i + 1]} if i + 1 < len(chosen) else None
        rows = [
            {
                **row,
                "entered": before is not None and row["word"] not in before,
                "left": after is not None and row["word"] not in after,
            }
            for row in lists[i]
        ]
        result.append({"slice": label, "words": rows})
    return result


def _telling_words(columns: list[dict[str, Any]]) -> list[str]:
    """Choose the two nearest words of the first list that leave, and of the last that are new there."""
    if not columns:
        return []
    lists = [[row["word"] for row in columns[edge]["words"]] for edge in (0, -1)]
    picked = [[name for name in lists[i] if name not in lists[1 - i]][:2] or lists[i][:1] for i in (0, 1)]
    return list(dict.fromkeys([*picked[0], *picked[1]]))


def through_time(content: Content) -> list[dict[str, Any]]:
    """Return what the figures of a word's page show, one row for each slice."""
    figures = content["figures"]
    columns = {"slice": content["slices"], "count": content["counts"]}
    for kind, column in (("frequency", "per_million"), ("movement", "step"), ("way", "place")):
        if kind in figures:
            columns[column] = figures[kind]["series"][0]["values"]
    columns |= {
        f"similarity to {one['name']}": one["values"] for one in figures.get("similarity", {}).get("series", [])
    }
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def compare(model: Model, words: Sequence[str]) -> Content:
    """Return several words through time: how near the first is to the others, how each moved, how often it occurs."""
    names = list(dict.fromkeys(model.words[model.word_id(name)] for name in at_most("words", words, MOST_WORDS)))
    if len(names) < 2:
        raise OptionError(f"comparing needs two to {MOST_WORDS} different words; name them with commas between")
    often = [explore.frequency(model, name) for name in names]
    counts, shares = ([table[column].to_list() for table in often] for column in ("count", "per_million"))
    near = [explore.similarity(model, names[0], other)["similarity"].to_list() for other in names[1:]]
    figures = {"similarity": _nearness(model, names[0], names[1:], colour=1)}
    ways: list[list[float]] = []
    if len(model.rho) > 1:
        last = model.slices.labels[-1]
        ways = [(1 - explore.trajectory(model, name, at=last, n=1)["similarity_first"]).to_list() for name in names]
        figures["change"] = figure(
            "How far each is from where it began", "1 - cosine to itself in the first slice", "lines",
            series=[_series(name, way, n) for name, way, n in zip(names, ways, counts, strict=True)],
        )  # fmt: skip
    figures["frequency"] = figure(
        "How often each occurs", "per million words", "lines",
        series=[_series(name, share, seen) for name, share, seen in zip(names, shares, counts, strict=True)],
    )  # fmt: skip
    return {
        "title": " and ".join([", ".join(names[:-1]), names[-1]]),
        "words": names,
        "slices": list(model.slices.labels),
        "figures": figures,
        "table": [
            {
                "slice": label,
                "word": name,
                "count": counts[i][t],
                "per_million": shares[i][t],
                f"similarity to {names[0]}": near[i - 1][t] if i else None,
                **({"distance from the first slice": ways[i][t]} if ways else {}),
            }
            for i, name in enumerate(names)
            for t, label in enumerate(model.slices.labels)
        ],
        "cite": cite(model),
    }


def axis(model: Model, words: Sequence[str], low: Sequence[str], high: Sequence[str]) -> Content:
    """Return where words lie between two poles of meaning, through time."""
    for pole in (low, high):
        at_most("words", pole, MOST_WORDS)
    names = list(dict.fromkeys(model.words[model.word_id(name)] for name in at_most("words", words, MOST_WORDS)))
    if not names:
        raise OptionError("an axis of meaning needs a word to lay on it; name one")
    tables = {name: explore.towards(model, name, (low, high)) for name in names}
    ends = ", ".join(low), ", ".join(high)
    told = f"{', '.join(names)} between {ends[0]} and {ends[1]}"
    series = [_series(name, table["place"].to_list(), table["count"].to_list()) for name, table in tables.items()]
    return {
        "title": f"Between {ends[0]} and {ends[1]}",
        "words": names,
        "low": list(low),
        "high": list(high),
        "slices": list(model.slices.labels),
        "figures": {"axis": figure(told, f"below: {ends[0]}; above: {ends[1]}", "lines",
                                   series=series, height=300)},
        "table": [{"word": name, **row} for name, table in tables.items() for row in table.to_dicts()],
        "cite": cite(model),
    }  # fmt: skip


def _nearness(model: Model, name: str, others: Sequence[str], *, colour: int = 0) -> dict[str, Any]:
    series = []
    for other in others:
        table = explore.similarity(model, name, other)
        both = table.select(pl.min_horizontal("count_a", "count_b"))["count_a"]
        series.append(_series(other, table["similarity"].to_list(), both.to_list()))
    return figure(
        f"How near {name} is to {others[0] if len(others) == 1 else 'other words'}",
        "nearness (cosine): 1 is nearest, 0 unrelated", "lines", series=series, colour=colour,
    )  # fmt: skip


def _series(name: str, values: Sequence[float | None], counts: Sequence[int] | None = None) -> dict[str, Any]:
    return {"name": name, "values": list(values), "counts": None if counts is None else list(counts)}


def suggest(model: Model, asked: str, n: int) -> list[str]:
    """Complete a word; where nothing begins so, name the words that look like it."""
    folded = asked.strip().casefold()
    found = [name for name in model.words if name.startswith(folded)][:n] if folded else []
    return found or (closest(folded, model.words, n=5) if folded else [])


def cite(model: Model) -> str:
    """Return the line that says what a finding was made from."""
    made, spec = model.meta["provenance"], model.spec
    source = f" {made['citation']}." if made.get("citation") else ""
    return (
        f"{model.title}, {model.slices.labels[0]} to {model.slices.labels[-1]}.{source} "
        f"{spec.model} Bernoulli embeddings (K = {spec.dim}, context {spec.context}, "
        f"drift precision {spec.drift_precision:g}, seed {made.get('seed')}), "
        f"driftword {__version__}."
    )


def bounded(name: str, value: int, most: int) -> int:
    """Check a number that a reader gave."""
    if not 1 <= value <= most:
        raise OptionError(f"{name} is {value}; ask for 1 to {most}")
    return value


def at_most(name: str, given: Sequence[str], most: int) -> Sequence[str]:
    """Check how many things a reader named."""
    if len(given) > most:
        raise OptionError(f"{len(given)} {name} were named; a page shows at most {most}")
    return given
