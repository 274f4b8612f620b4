"""Occurrences for people to judge, and how well the senses that were found agree with their judgements."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import polars as pl

from driftword.basics import checks, randomness
from driftword.basics.errors import OptionError, SourceError
from driftword.basics.polars_faults import POLARS_ERRORS
from driftword.corpus import Corpus
from driftword.models.model import Model, as_model, corpus_of
from driftword.models.storing import MOST_SENSES
from driftword.storage import atomic_writes
from driftword.uses.word_senses import by_occurrences, find_word_senses

_JUDGED: Final = ("identifier", "cluster")


def export_uses(
    model: Model | str | os.PathLike[str],
    word: str,
    *,
    out: str | os.PathLike[str],
    n: int = 100,
    width: int = 300,
    seed: int = 0,
    corpus: Corpus | str | os.PathLike[str] | None = None,
    overwrite: bool = False,
) -> Path:
    """Write occurrences of a word for people to judge, as tools for word usage graphs read them.

    The file has tabs between its columns, and no quotation marks: lemma, pos (empty), date, grouping (the slice),
    identifier, context, and indexes_target_token, where the word begins and ends in the context. The senses that were
    found are not in it, so that they do not lead anybody.

    Parameters
    ----------
    model, word
        A model of any kind, or its path, and the word.
    out
        File to write.
    n
        Number of occurrences, drawn at random.
    width
        Characters of text on either side of the word.
    seed
        Seed of the choice.
    corpus
        The corpus that the model was fitted to, or its path; by default where it was then.
    overwrite
        Replace a file.
    """
    model = as_model(model)
    n, width = checks.whole("n", n, least=1), checks.whole("width", width, least=1)
    path = checks.path("out", out)
    if not checks.flag("overwrite", overwrite) and path.exists():
        raise atomic_writes.already_exists(path)
    found = find_word_senses(model, corpus_of(model, corpus), checks.text("word", word))
    drawn = randomness.bits(randomness.key(checks.seed(seed), "senses"), found.uses.positions)
    chosen = np.sort(np.argsort(drawn, kind="stable")[:n])
    table = by_occurrences(found, width=width, chosen=chosen)
    flat = pl.col("left", "keyword", "right").str.replace_all(r"[\t\r\n]", " ")
    lines = table.with_columns(flat).select(
        lemma=pl.lit(found.uses.word),
        pos=pl.lit(""),
        date=pl.col("date").cast(pl.String),
        grouping=pl.col("slice"),
        identifier=_identifiers(),
        context=pl.concat_str("left", "keyword", "right"),
        indexes_target_token=pl.concat_str(
            pl.col("left").str.len_chars(), pl.lit(":"), (pl.col("left") + pl.col("keyword")).str.len_chars()
        ),
    )
    with atomic_writes.writing(path), atomic_writes.replacing(path) as partial:
        lines.write_csv(partial, separator="\t", quote_style="never")
    return path


def score_senses(
    model: Model | str | os.PathLike[str],
    word: str,
    *,
    judgements: str | os.PathLike[str] | pl.DataFrame,
    n: int | None = None,
    corpus: Corpus | str | os.PathLike[str] | None = None,
) -> dict[str, Any]:
    """Compare the senses of a word with judgements of people.

    Parameters
    ----------
    model, word
        A model of any kind, or its path, and the word.
    judgements
        A table, or a file with tabs or commas between its columns: identifier, as `export_uses` wrote it, and cluster,
        the sense that people say it has; -1 for none.
    n
        Number of senses, as in `senses`.
    corpus
        The corpus that the model was fitted to, or its path; by default where it was then.

    Returns
    -------
    judged, the number of occurrences; senses and clusters, the numbers of both; rand_index, the adjusted Rand index: 1
    where they agree, 0 on average where they have nothing to do with each other; and accuracy, the share of occurrences
    that are right if every sense is the cluster that it shares most with.
    """
    model = as_model(model)
    n = checks.optional(checks.whole, "n", n, least=1, most=MOST_SENSES)
    judged = _read_judgements(judgements)
    found = find_word_senses(model, corpus_of(model, corpus), checks.text("word", word), n=n)
    table = by_occurrences(found, width=1).select("sense", identifier=_identifiers())
    both = table.join(judged, on="identifier").filter(pl.col("cluster") != "-1")
    if not both.height:
        raise OptionError(f"No judgement is of an occurrence of '{found.uses.word}'; give those of `export_uses`")
    counts = np.zeros((found.number, both["cluster"].n_unique()))
    np.add.at(counts, (both["sense"].to_numpy() - 1, both["cluster"].rank("dense").to_numpy().astype(int) - 1), 1)
    return {
        "judged": both.height, "senses": int((counts.sum(axis=1) > 0).sum()), "clusters": counts.shape[1],
        "rand_index": rand_index(counts), "accuracy": float(counts.max(axis=1).sum() / counts.sum()),
    }  # fmt: skip


def _identifiers() -> pl.Expr:
    return pl.concat_str("word", pl.lit("-"), "document", pl.lit("-"), "occurrence")


def _read_judgements(given: Any) -> pl.DataFrame:
    if isinstance(given, pl.DataFrame):
        table = given
    else:
        path = checks.path("judgements", given)
        try:
            with path.open(encoding="utf-8") as file:
                separator = "\t" if "\t" in file.readline() else ","
            quote = None if separator == "\t" else '"'
            table = pl.read_csv(path, separator=separator, quote_char=quote, infer_schema=False)
        except (OSError, UnicodeDecodeError, *POLARS_ERRORS) as error:
            raise SourceError(f"'{path}' cannot be read as a table of judgements; give a CSV file in UTF-8") from error
    if not set(_JUDGED) <= set(table.columns):
        raise SourceError(
            f"The judgements have the columns {', '.join(table.columns)}; identifier and cluster are needed"
        )
    return table.select(pl.col(name).cast(pl.String) for name in _JUDGED).unique("identifier")


def rand_index(counts: npt.NDArray[Any]) -> float:
    """Return the adjusted Rand index of a table of counts, of which rows are one division and columns another."""

    def pairs(numbers: npt.NDArray[Any]) -> float:
        return float((numbers * (numbers - 1) / 2).sum())

    both, rows, columns = pairs(counts), pairs(counts.sum(axis=1)), pairs(counts.sum(axis=0))
    expected = rows * columns / max(pairs(counts.sum(keepdims=True)), 1.0)
    most = (rows + columns) / 2
    return (both - expected) / (most - expected) if most > expected else 1.0 if both == most else 0.0
