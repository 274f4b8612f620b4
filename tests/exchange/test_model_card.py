"""Model cards: everything a reader needs, nothing that a publisher would not want in it."""

from __future__ import annotations

from pathlib import Path

import pytest

import driftword as dw
from conftest import run_here, toy_model, with_changes
from driftword.exchange.model_card import bibtex


def test_a_card_says_what_a_model_is(small_model: dw.Model, small: dw.Corpus) -> None:
    text = dw.card(small_model)
    scores = dw.evaluate(small_model, corpus=small).row(0, named=True)
    for expected in (
        f"# {small_model.title}", "Dynamic embeddings of", "1850 to 1859", "## Text", "| documents | 60 |", "## Fit",
        "options that are not the defaults | dim 8, context 4", f"L {scores['L']:.4f} ± {scores['L_se']:.4f}",
        "have not been tested", "## What it cannot tell", "Bernoulli embeddings (K = 8", small.fingerprint,
    ):  # fmt: skip
        assert expected in text, expected
    assert str(Path(str(small.path)).parent) not in text  # it is for the public
    assert "None" not in text
    tested = dw.card(with_changes(small_model, {"ship": "1853"}), corpus=small, score=False)
    assert "Of 27 words that were tested, 1 changed" in tested
    assert "1,000 permutations" in tested
    assert "## How well it predicts" not in tested
    done = run_here("card", small_model.path)
    assert (done.returncode, done.stdout) == (0, text)


def test_a_card_of_whatever_is_known(small: dw.Corpus, tmp_path: Path) -> None:
    alone = dw.card(toy_model([[[1, 2], [3, 4]]] * 2, [[5, 5]] * 2, ["a*b", "<b>"], dim=2))
    assert "## Text" not in alone
    baseline = dw.card(dw.baselines.ppmi(small, dim=4), corpus=small)
    assert "Ppmi embeddings" in baseline
    assert "## How well it predicts" not in baseline
    vectors = tmp_path / "1900.vec"
    vectors.write_text("2 2\nship 1 2\ncourt 2 1\n")
    imported = dw.card(dw.read_word2vec({1900: vectors, 1910: vectors}))
    assert "Imported embeddings" in imported
    with pytest.raises(dw.OptionError, match="is not the corpus that the model was fitted to"):
        dw.card(dw.baselines.ppmi(small, dim=4), corpus=small.shuffle_dates(3))


def test_a_citation_for_bibtex_is_escaped() -> None:
    entry = bibtex("Energy & power", "sotu_5y, 100% {text}. driftword")
    assert entry == (
        "@misc{driftword-energy-power,\n  title = {Energy \\& power},\n"
        "  note = {sotu\\_5y, 100\\% \\{text\\}. driftword}\n}"
    )
    assert bibtex("和平", "x").startswith("@misc{driftword-answer,")
