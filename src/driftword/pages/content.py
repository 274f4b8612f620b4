"""The content of pages about words, for templates, JSON and CSV: the tables of `explore`, and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import polars as pl

from driftword import explore
from driftword.basics.errors import OptionError
from driftword.basics.suggestions import closest
from driftword.corpus import Corpus
from driftword.corpus.groups import OTHERS, group_number
from driftword.exchange.model_card import citation
from driftword.explore.before_and_after import CLEARLY_NEARER
from driftword.explore.changepoints import NOTABLE
from driftword.explore.first_use import first_attested, observed_distances
from driftword.models.model import Model
from driftword.models.significance_table import verdict
from driftword.pages.figures import Figure, Series, figure
from driftword.pages.svg import Change

MAX_ROWS: Final = 200
MAX_SLICES: Final = 12
MAX_COMPARED: Final = 6
MAX_GROUPS: Final = 6  # as many as there are colours
_ROOM: Final = 1.7  # that intervals may need above a line
_GAP: Final = 0.05  # of all time: a longer one between two documents is told
_STRIP: Final = {"aligned": True, "height": 110}

Content = dict[str, Any]


def word(
    model: Model, name: str, *, at: Sequence[str] = (), n: int = 10, others: Sequence[str] = (),
    reference: str | None = None, groups: Sequence[str] = (), groups_at: str | None = None,
) -> Content:  # fmt: skip
    """Return everything a word's page shows, apart from its passages.

    It lists n neighbours in the slices `at`, by default those on either side of its change, the first and the last;
    its similarity to `others`, by default to neighbours from the first and the last of those; words used in these
    slices as this one is in the slice `reference`, by default the last; and trajectories in `groups`, by default the
    largest, with neighbours in the slice `groups_at`, by default as `reference`.
    """
    labels = model.slices.labels
    _check_number(others)
    numbers = sorted({model.slices.index(label) for label in at}) if at else explore.shift_slices(model, name)
    selected = [labels[t] for t in numbers]
    neighbors = explore.neighbors(model, name, at=selected, n=n).to_dicts()
    frequency = explore.frequency(model, name)
    counts = frequency["count"].to_list()
    observed = model.vocabulary.observed[:, model.word_id(name)].tolist()
    content: Content = {
        "title": name,
        "word": name,
        "slices": list(labels),
        "counts": counts,
        "total": None if None in counts else sum(counts),
        "observed": observed,
        "selected": selected,
        "neighbors": neighbor_columns(selected, neighbors),
        "moves": model.moves,
        "changes": [],
        "largest_change": None,
        "significance": _significance(model, name),
        "shift": explore.shifts(model, [name]).row(0, named=True) if model.moves else None,
        "figures": {"frequency": figure(f"Frequency of {name}", "per million words", "bars",
                                        series=[series_of(name, frequency["per_million"].to_list())], **_STRIP)},
        "table": neighbors,
        "cite": citation(model),
    }  # fmt: skip
    if not model.moves:
        return content
    if len(labels) > 2:
        content |= _change_points(model, name)
    content["journey"] = explore.journey(model, name)
    content["stream"] = content["journey"]["anchors"]
    content["marked"] = _marked(model, name)
    others = [model.words[model.word_id(other)] for other in others] or _contrasting_words(content["neighbors"])
    content["figures"] |= {
        "trajectory": _distance_figure(model, name, content),
        "movement": figure(f"Movement of {name}", "distance from the previous slice", "bars",
                           series=[series_of(name, frequency["step"].to_list(), counts, observed)], **_STRIP),
        "similarity": _similarity_figure(model, name, [other for other in others if other != name]),
    }  # fmt: skip
    usual = next((label for label in reversed(selected) if observed[labels.index(label)]), selected[-1])
    if model.groups:
        at_slice = labels[model.slices.index(groups_at)] if groups_at else usual
        content["groups"], content["figures"]["groups"] = _by_group(model, name, groups, at_slice, n)
    reference = labels[model.slices.index(reference)] if reference else usual
    # A vector that is only interpolated says nothing about how the word was used.
    elsewhere = [label for label in selected if label != reference] if observed[labels.index(reference)] else []
    rows = explore.equivalents(model, name, at=reference, to=elsewhere, n=5).to_dicts() if elsewhere else []
    content["reference"] = reference
    content["equivalents"] = [
        {"slice": label, "words": [row for row in rows if row["slice"] == label]} for label in elsewhere
    ]
    return content


def _distance_figure(model: Model, name: str, content: Content) -> Figure:
    """Describe how far a word is from its first use, beside words that did not change."""
    table = explore.displacement(model, name)
    first = model.slices.labels[first_attested(model, model.word_id(name))]
    shift, verdict_ = content["shift"], content["significance"]
    told = shift is not None and (verdict_ is None or content["marked"])
    return figure(
        f"How far {name} has moved since {first}", f"distance from its use in {first}", "distance", height=270,
        aligned=True,
        series=[series_of(name, table["distance"].to_list(), content["counts"], content["observed"])],
        usual=(table["usual_low"].to_list(), table["usual_high"].to_list()),
        top=_top(model, [table["distance"].to_list()]),
        changes=content["marked"], first=first,
        sides=(shift["before"] or [], shift["after"] or []) if told else ([], []),
    )  # fmt: skip


def _top(model: Model, distances: Sequence[Sequence[float | None]]) -> float:
    """Return how far up an axis of distances reaches: as far as most words move, with room for intervals."""
    return max(explore.farthest(model), *(_ROOM * value for line in distances for value in line if value is not None))


def _marked(model: Model, name: str) -> list[Change]:
    """Return the change of a word with its interval, where a test found one."""
    if (found := model.significance) is None:
        return []
    row = found.table.row(model.word_id(name), named=True)
    if row["change"] is None:
        return []
    at, low, high = (row[column].isoformat() for column in ("change", "change_low", "change_high"))
    return [{"at": at, "low": low, "high": high}]


def band(model: Model, name: str, corpus: Corpus | None, group: str | None = None) -> Content:
    """Return the 90% interval of how far a word is from its first use, in all text or a group; this takes a while."""
    group = None if group is None else model.groups[group_number(model.groups, group)]
    content: Content = {"word": name, "group": group, "low": None, "high": None}
    if corpus is None or not model.moves or not model.predicts:
        return content
    ends = explore.displacement_interval(model, name, corpus, group=group)
    for side, values in zip(("low", "high"), ends, strict=True):
        rounded = [round(value, 4) for value in values]
        content[side] = rounded if group is None else _within_text(rounded, model.group(group), name)
    return content


def _by_group(model: Model, name: str, groups: Sequence[str], at: str, n: int) -> tuple[Content, Figure]:
    """Return the neighbours of a word in some groups in one slice, and how far it is in each from its first use."""
    shown = [model.groups[group_number(model.groups, group)] for group in dict.fromkeys(groups)]
    shown = shown or _largest_groups(model)[:MAX_GROUPS]
    series, rows = [], []
    for part in explore.group_displacement(model, name, shown).partition_by("group", maintain_order=True):
        group, counts, observed = part["group"][0], part["count"].to_list(), part["observed"].to_list()
        values = _within_text(part["distance"].to_list(), model.group(group), name)
        series.append(series_of(group, values, counts, observed))
        here = part.row(model.slices.labels.index(at), named=True)
        near = explore.neighbors(model.group(group), name, at=at, n=n)["word"].to_list() if here["observed"] else None
        rows.append({"group": group, "total": sum(counts), "count": here["count"], "neighbors": near})
    first = model.slices.labels[first_attested(model, model.word_id(name))]
    title = f"How far {name} has moved since {first}, {'by group' if len(shown) > 1 else f'in {shown[0]}'}"
    content = {"names": list(model.groups), "shown": shown, "slice": at, "table": rows}
    described = figure(
        title, f"distance from its use in {first} in all text", "distance", series=series, height=240,
        top=explore.farthest(model), first=first, aligned=True,
    )  # fmt: skip
    return content, described


def _within_text(values: Sequence[float | None], group: Model, name: str) -> list[float | None]:
    """Return the values from the first to the last text of a group; elsewhere its vectors are those of all text."""
    times = np.flatnonzero(group.vocabulary.observed[:, group.word_id(name)])
    return [value if len(times) and times[0] <= t <= times[-1] else None for t, value in enumerate(values)]


def _largest_groups(model: Model) -> list[str]:
    """Return the groups, those with the most text first; the group of all other documents comes last."""

    def rank(name: str) -> tuple[bool, int]:
        return name == OTHERS, -int(np.asarray(model.group(name).counts).sum(dtype=np.int64))

    return model.cached("largest groups", lambda: sorted(model.groups, key=rank))


def _significance(model: Model, name: str) -> Content | None:
    """Return what a test of significance found about a word, with the verdict in words; None without a test."""
    if (found := model.significance) is None:
        return None
    row, v = found.written.row(model.word_id(name), named=True), model.word_id(name)
    change, before = found.table["change"][v], found.table["last_before"][v]
    days = (model.slices.last[-1] - model.slices.first[0]).days
    gap = change is not None and before is not None and (change - before).days > _GAP * days
    return row | {"verdict": verdict(row["q"]), "within": found.within, "gap": gap}


def _change_points(model: Model, name: str) -> Content:
    """Return the change points that rank high among words of similar frequency, and the largest one of all."""
    largest = max(explore.changes(model, name, n=3).to_dicts(), key=lambda row: row["rank"], default=None)
    listed: list[dict[str, Any]] = []
    if largest is not None and largest["rank"] >= NOTABLE:
        listed = explore.changes(model, name, n=3, min_rank=NOTABLE).to_dicts()  # counts up to those listed alone
    order = model.slices.labels.index
    return {"changes": sorted(listed, key=lambda row: order(row["slice"])), "largest_change": largest}


def slice_neighbors(model: Model, name: str, at: str, *, n: int) -> Content:
    """Return the neighbours of a word in one slice, for a reader who points at it."""
    t = model.slices.index(at)
    return {
        "slice": model.slices.labels[t],
        "count": model.vocabulary.count(t, model.word_id(name)),
        "neighbors": explore.neighbors(model, name, at=at, n=n)["word"].to_list(),
    }


def neighbor_columns(selected: Sequence[str], neighbors: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the neighbours of each slice, marked where they are clearly nearer than in the slice before, or after.

    A word that is missing from another list was at most as near there as the last word of that list. Where that is
    clearly farther than here, the word has entered, or leaves; otherwise a small difference may have pushed it off.
    """
    lists = [[row for row in neighbors if row["slice"] == label] for label in selected]

    def nearer_than(other: list[dict[str, Any]], row: dict[str, Any]) -> bool:
        absent = all(one["word"] != row["word"] for one in other)
        return absent and bool(other) and row["similarity"] - other[-1]["similarity"] >= CLEARLY_NEARER

    columns = []
    for label, before, here, after in zip(selected, [[], *lists], lists, [*lists[1:], []], strict=False):
        marked = [{**row, "entered": nearer_than(before, row), "left": nearer_than(after, row)} for row in here]
        columns.append({"slice": label, "words": marked})
    return columns


def _contrasting_words(columns: list[dict[str, Any]]) -> list[str]:
    """Choose up to two words that are only in the first list of neighbours, and two that are only in the last."""
    if not columns:
        return []
    lists = [[row["word"] for row in columns[edge]["words"]] for edge in (0, -1)]
    picked = [[name for name in lists[i] if name not in lists[1 - i]][:2] or lists[i][:1] for i in (0, 1)]
    return list(dict.fromkeys([*picked[0], *picked[1]]))


def word_over_time(content: Content) -> list[dict[str, Any]]:
    """Return what the figures of a word's page show, one row for each slice."""
    figures = content["figures"]
    columns = {"slice": content["slices"], "count": content["counts"]}
    for name, column in (("frequency", "per_million"), ("movement", "step"), ("trajectory", "distance")):
        if name in figures:
            columns[column] = figures[name]["series"][0]["values"]
    columns |= {
        f"{column} {one['name']}": one["values"]
        for name, column in (("similarity", "similarity to"), ("groups", "distance in"))
        for one in figures.get(name, {}).get("series", [])
    }
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def compare(model: Model, words: Sequence[str]) -> Content:
    """Return several words over time: similarity of the first to the others, movement and frequency of each."""
    names = _known_words(model, words)
    if len(names) < 2:
        raise OptionError(f"A comparison needs two to {MAX_COMPARED} different words; separate them with commas")
    tables = [explore.frequency(model, name) for name in names]
    counts, shares = ([table[column].to_list() for table in tables] for column in ("count", "per_million"))
    observed = [model.vocabulary.observed[:, model.word_id(name)].tolist() for name in names]

    def lines(values: list[list[float]]) -> list[Series]:
        return [series_of(*one) for one in zip(names, values, counts, observed, strict=True)]

    similarity = _similarity_figure(model, names[0], names[1:], color=1)
    figures = {"similarity": similarity}
    distances: list[list[float]] = []
    if model.moves:
        distances = [explore.displacement(model, name)["distance"].to_list() for name in names]
        label = "1 - cosine similarity to its first use"
        figures["change"] = figure(
            "How far each word has moved",
            label,
            "distance",
            top=_top(model, distances),
            height=300,
            series=lines(distances),
            aligned=True,
        )
    figures["frequency"] = figure("Frequency", "per million words", "lines", series=lines(shares), aligned=True)
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
                f"similarity to {names[0]}": similarity["series"][i - 1]["values"][t] if i else None,
                **({"distance from its first attested slice": distances[i][t]} if distances else {}),
            }
            for i, name in enumerate(names)
            for t, label in enumerate(model.slices.labels)
        ],
        "cite": citation(model),
    }


def axis(model: Model, words: Sequence[str], low: Sequence[str], high: Sequence[str]) -> Content:
    """Return where words lie between two poles of meaning, over time."""
    for pole in (low, high):
        _check_number(pole)
    names = _known_words(model, words)
    if not names:
        raise OptionError("An axis of meaning needs at least one word to place on it; name one")
    tables = {name: explore.towards(model, name, low=low, high=high) for name in names}
    low_names, high_names = ", ".join(low), ", ".join(high)
    series = [series_of(name, table["position"].to_list(), table["count"].to_list()) for name, table in tables.items()]
    title = f"{', '.join(names)} between {low_names} and {high_names}"
    label = f"below: {low_names}; above: {high_names}"
    return {
        "title": f"Between {low_names} and {high_names}",
        "words": names,
        "low": list(low),
        "high": list(high),
        "slices": list(model.slices.labels),
        "figures": {"axis": figure(title, label, "lines", series=series, height=300)},
        "table": [{"word": name, **row} for name, table in tables.items() for row in table.to_dicts()],
        "cite": citation(model),
    }


def _similarity_figure(model: Model, name: str, others: Sequence[str], *, color: int = 0) -> Figure:
    series = []
    for other in others:
        table = explore.similarity(model, name, other)
        fewer = table.select(pl.min_horizontal("count", "count_other"))["count"]
        series.append(series_of(other, table["similarity"].to_list(), fewer.to_list()))
    return figure(
        f"Similarity of {name} to {others[0] if len(others) == 1 else 'other words'}",
        "cosine similarity (1: same direction, 0: unrelated)", "lines", series=series, color=color, aligned=True,
    )  # fmt: skip


def series_of(
    name: str,
    values: Sequence[float | None],
    counts: Sequence[int | None] | None = None,
    observed: Sequence[bool] | None = None,
) -> Series:
    """Describe one line, or one set of bars, of a figure."""
    return {
        "name": name,
        "values": list(values),
        "counts": None if counts is None else list(counts),
        "observed": None if observed is None else list(observed),
    }


def suggest(model: Model, typed: str, n: int) -> list[str]:
    """Return words that begin with what was typed or, where there are none, words that are spelt similarly."""
    folded = typed.strip().casefold()
    if not folded:
        return []
    return [name for name in model.words if name.startswith(folded)][:n] or closest(folded, model.words, n=5)


def completions(model: Model, typed: str, n: int) -> list[dict[str, Any]]:
    """Return words that complete what was typed, with how often each occurs and its distance from its first use."""
    words = suggest(model, typed, n)
    ids = [model.word_id(name) for name in words]
    paths: list[Any] = [None] * len(words)
    if model.moves and words:
        paths = [[None if d is None else round(d, 3) for d in row] for row in observed_distances(model, ids)]
    counts = model.vocabulary.totals[ids].tolist() if model.vocabulary.counted else [None] * len(words)
    columns = zip(words, counts, paths, strict=True)
    return [{"word": name, "count": count, "distance": path} for name, count, path in columns]


def _known_words(model: Model, given: Sequence[str]) -> list[str]:
    """Return the words that a reader named, each once, as the model spells them."""
    _check_number(given)
    return list(dict.fromkeys(model.words[model.word_id(name)] for name in given))


def _check_number(words: Sequence[str]) -> None:
    """Refuse more words than a page compares."""
    if len(words) > MAX_COMPARED:
        raise OptionError(f"{len(words)} words are too many for one page; name at most {MAX_COMPARED}")
