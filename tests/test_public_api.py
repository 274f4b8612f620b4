"""Nothing public changes unnoticed."""

from __future__ import annotations

import difflib

import driftword as dw
import public_api


def test_the_public_interface_is_the_one_on_the_list() -> None:
    listed = public_api.LIST.read_text(encoding="utf-8").splitlines()
    changed = list(difflib.unified_diff(listed, public_api.lines(), lineterm="", n=0))
    assert changed == [], "\n".join(
        ["The public interface changed; if that is meant: python tests/public_api.py", *changed]
    )


def test_the_list_has_every_public_name_with_types() -> None:
    text = public_api.LIST.read_text(encoding="utf-8")
    assert set(dw.__all__) - {"plot", "baselines"} <= {
        line.split(".")[1].partition("(")[0] for line in text.splitlines()
    }
    assert "driftword.fit(corpus: Corpus | str | os.PathLike[str]" in text
    assert "\ndriftword.Corpus.words\n" in text  # inherited
