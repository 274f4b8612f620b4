"""Nothing public changes unnoticed, and what is to go away goes when it was said."""

from __future__ import annotations

import difflib
import importlib
import pkgutil
import subprocess
import sys
import warnings

import pytest
from packaging.version import Version

import driftword as dw
import public_api
from driftword import deprecations
from driftword.deprecations import ANNOUNCED, deprecated, renamed


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


def test_what_is_to_go_away_says_so() -> None:
    @deprecated("new_way", until="9.0")
    def old_way(x: int) -> int:
        """Return x."""
        return x

    @renamed(until="9.0", size="dim")
    def fitted(*, dim: int = 1) -> int:
        return dim

    try:
        with pytest.warns(DeprecationWarning, match="old_way` goes away in driftword 9.0; use `new_way`") as seen:
            assert old_way(3) == 3
        assert seen[0].filename == __file__  # the warning shows the user's line
        assert old_way.__doc__ == "Return x."
        with pytest.warns(DeprecationWarning, match="`size` of `.*fitted` is now `dim`; the old name goes away in"):
            assert fitted(size=5) == 5  # type: ignore[call-arg]
        with pytest.raises(dw.OptionError, match="`size` is the former name of `dim`; give `dim` alone"):
            fitted(size=5, dim=6)  # type: ignore[call-arg]
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert fitted(dim=7) == 7
        assert {"9.0"} == {until for name, until in ANNOUNCED.items() if "what_is_to_go_away" in name}
    finally:
        for name in [name for name in ANNOUNCED if "what_is_to_go_away" in name]:
            del ANNOUNCED[name]


def test_what_was_to_go_away_by_now_is_gone() -> None:
    for module in pkgutil.walk_packages(dw.__path__, "driftword."):
        if "triton" not in module.name and not module.name.endswith(("__main__", "process")):
            importlib.import_module(module.name)
    now = Version(dw.__version__)
    assert {name: until for name, until in deprecations.ANNOUNCED.items() if Version(until) <= now} == {}


def test_importing_takes_no_time() -> None:
    """NumPy and Polars, which take a third of a second, are loaded when something needs them."""
    code = "import sys, driftword; print([m for m in ('numpy', 'polars', 'typer') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
