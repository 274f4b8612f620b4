"""Every snippet of the documentation runs, in order, in an empty folder."""

from __future__ import annotations

import ast
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import altair as alt
import polars as pl
import pytest
from typer.testing import CliRunner

import driftword as dw
from conftest import ROOT, of_this_run, one_at_a_time
from driftword.cli import app
from driftword.sources import opening

pytestmark = pytest.mark.slow

PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")])
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
#: Words that pages ask about and that are not in every part of a speech.
RARE = re.compile(r"\b(bonds|coal|energy|freedom|issues|oil|progress|savages|security|vigor|zeal)\b", re.IGNORECASE)
FREQUENT = 400  # words that speeches are cut down to
SETTING_UP = ("make ", "pip install ")  # what has been done by the time a test runs


@pytest.fixture
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder for what first commands of pages made: one that begins in the same way need not make it again."""
    return of_this_run(tmp_path_factory, "made")


@pytest.fixture(scope="session")
def few_sentences() -> Callable[[], opening.Source]:
    """Return what reads every ninth sentence of each speech, and those with rare words that pages ask about.

    Other words than these and the frequent ones are left out, as each of them would be tested.
    """
    whole = opening._state_of_the_union

    @cache
    def read() -> tuple[opening.Source, pl.DataFrame]:
        source = whole()
        speeches = pl.concat(source.frames)
        texts = []
        for text in speeches["text"]:
            sentences = enumerate(re.split(r"(?<=[.;?!])\s+", text))
            texts.append(" ".join(part for number, part in sentences if number % 9 == 0 or RARE.search(part)))
        counts = Counter(word for text in texts for word in re.findall(r"\w+", text.lower()))
        known = {word for word, _ in counts.most_common(FREQUENT)}
        known |= {word for word in counts if RARE.fullmatch(word)}
        texts = [re.sub(r"\w+", lambda word: word[0] if word[0].lower() in known else "", text) for text in texts]
        return source, speeches.with_columns(text=pl.Series(texts))

    def again() -> opening.Source:
        source, speeches = read()
        return replace(source, frames=[speeches], state=opening.ReadingState())

    return again


@pytest.fixture
def shorter_speeches(few_sentences: Callable[[], opening.Source], monkeypatch: pytest.MonkeyPatch) -> None:
    """Take most time out of fits. All dates and presidents are there: what runs with these speeches runs with all."""
    monkeypatch.setattr(opening, "_state_of_the_union", few_sentences)


@pytest.mark.usefixtures("shorter_speeches", "small_background")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_snippets_run(
    page: Path, tmp_path: Path, made: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    monkeypatch.chdir(tmp_path)
    if (encoder := "all-MiniLM-L6-v2") in page.read_text():
        Path(encoder).symlink_to(request.getfixturevalue("tiny_encoder"))  # any encoder will do
    monkeypatch.setattr(os, "cpu_count", lambda: 1)  # the other tests run beside it, and threads would wait for them
    names: dict[str, Any] = {"__name__": page.stem}
    commands = ""
    for kind, code in FENCE.findall(page.read_text()):
        if kind == "python":
            exec(compile(code, page.name, "exec"), names)
        elif kind == "sh":
            for line in code.splitlines():
                command = line.partition("#")[0].strip()
                if not command or command.startswith(SETTING_UP):
                    continue
                program, *arguments = shlex.split(command)
                assert program == "driftword", f"{page.name} shows a command that is not tested: {command}"
                if arguments[0] not in ("prepare", "fit"):
                    run(arguments)
                    continue
                commands += f"{command}\n"
                kept, out = made / sha256(commands.encode()).hexdigest(), Path(arguments[arguments.index("--out") + 1])
                with one_at_a_time(kept):
                    if not kept.exists():
                        run(arguments)
                        shutil.copytree(out, kept, copy_function=os.link)
                if not out.exists():
                    shutil.copytree(kept, out, copy_function=os.link)
        elif kind == "r":
            if shutil.which("Rscript"):  # shown for those who have R, and run where it is
                subprocess.run(["Rscript", "--vanilla", "-e", code], check=True, capture_output=True)
        else:
            assert kind == "text", f"{page.name} has a block of unknown kind '{kind}'"


def run(arguments: list[str]) -> None:
    """Run a command in this process; one of its own for each would take minutes."""
    if arguments[0] == "report" and "-n" not in arguments:
        arguments = [*arguments, "-n", "4"]  # pages of words, which take half a second each
    asked, _, file = " ".join(map(shlex.quote, arguments)).partition(" '>' ")
    done = CliRunner(env={"COLUMNS": "140"}).invoke(app, shlex.split(asked))
    assert done.exit_code == 0, f"{arguments}\n{done.output}"
    if file:
        Path(file).write_text(done.stdout, encoding="utf-8")


@pytest.mark.usefixtures("shorter_speeches", "small_background")
def test_notebooks_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cell by cell, in an empty folder; what a cell ends with must be something that a notebook can show."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    notebooks = sorted((ROOT / "notebooks").glob("*.ipynb"))
    assert len(notebooks) == 2
    for notebook in notebooks:
        names: dict[str, Any] = {"__name__": notebook.stem}
        for number, cell in enumerate(json.loads(notebook.read_text(encoding="utf-8"))["cells"]):
            if cell["cell_type"] == "code":
                value = run_cell("".join(cell["source"]), names, f"{notebook.name}, cell {number}")
                kept = [kind for output in cell["outputs"] for kind in output.get("data", ())]
                # python docs/notebooks.py: figures are kept as pictures that need no network, tables as HTML.
                assert (value is not None) == bool(kept), f"{notebook.name}, cell {number} was not run"
                assert ("image/svg+xml" in kept) == isinstance(value, alt.TopLevelMixin)
                assert ("text/html" in kept) == isinstance(value, pl.DataFrame | dw.Corpus)
        assert not re.search(r'"/(tmp|home|root|work)/', notebook.read_text(encoding="utf-8"))


def run_cell(code: str, names: dict[str, Any], where: str) -> Any:
    """Run a cell, and return what its last line is."""
    tree = ast.parse(code, filename=where)
    shown = ast.Expression(tree.body.pop().value) if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, where, "exec"), names)
    if shown is not None:
        value = eval(compile(shown, where, "eval"), names)
        pictured = getattr(value, "_repr_mimebundle_", None) or getattr(value, "_repr_html_", None)
        assert value is None or str(pictured() if pictured else value)
        return value
    return None


def test_links_lead_somewhere() -> None:
    for page in (*PAGES, ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"):
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
            if not target.startswith("http"):
                assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_the_first_steps_show_what_the_program_prints(sotu: Any) -> None:
    shown = (ROOT / "docs" / "first-steps.md").read_text()
    run = [sys.executable, "-m", "driftword", "info", str(sotu.path)]
    done = subprocess.run(run, capture_output=True, text=True, env={**os.environ, "COLUMNS": "140"})
    for line in done.stdout.splitlines():
        assert line.rstrip() in shown


def test_the_site_names_every_page_and_every_public_name() -> None:
    listed = (ROOT / "mkdocs.yml").read_text()
    for page in (ROOT / "docs").glob("*.md"):
        assert f": {page.name}\n" in listed, f"{page.name} is not in the site"
    reference = (ROOT / "docs" / "api.md").read_text()
    names = set(dw.__all__) - {"plot", "baselines"}
    names |= {f"{part}.{name}" for part in ("plot", "baselines") for name in getattr(dw, part).__all__}
    assert set(re.findall(r"^::: driftword\.(\S+)$", reference, re.MULTILINE)) == names


def test_the_site_builds(tmp_path: Path) -> None:
    """A link that leads nowhere, or a name that is not in the code, ends the build."""
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "mkdocs.yml", tmp_path)
    build = [sys.executable, "-m", "zensical", "build", "--strict"]
    done = subprocess.run(build, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    for page in ("index.html", "api/index.html", "benchmarks/index.html"):
        assert (tmp_path / "site" / page).exists()
    assert "Fit a model" in (tmp_path / "site" / "api" / "index.html").read_text()
