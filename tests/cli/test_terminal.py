from __future__ import annotations

import io
import json
from pathlib import Path

import polars as pl
import pytest
from rich.cells import cell_len
from rich.text import Text
from test_visible_text import HOSTILE, is_safe

import driftword as dw
from conftest import random_model, run_here
from driftword.cli import answers, terminal

CONTROL = "\x1b[31m\x9b2J\u202e"


def lines(console: terminal.Console) -> str:
    shown: str = console.file.getvalue()  # type: ignore[attr-defined]
    assert is_safe(shown.replace("\n", "")), ascii(shown)
    return shown


@pytest.fixture
def console() -> terminal.Console:
    return terminal._Console(highlight=False, soft_wrap=True, width=160, file=io.StringIO())


def test_whatever_is_printed_is_printable(console: terminal.Console) -> None:
    words = [f"{CONTROL}{letter}" for letter in "abcde"]
    model = random_model(words)
    terminal.print_table(dw.drift(model).rename({"word": f"word{HOSTILE}"}), console)
    answers.print_neighbors(dw.neighbors(model, words[0]), model, words[0], console)
    answers.print_neighbors(dw.neighbors(model, words[0], at=[1990, 1991]), model, words[0], console)
    answers.print_trajectories(dw.trajectory(model, words[:2]), console)
    terminal.print_facts({HOSTILE: HOSTILE}, console)
    row = dict.fromkeys(("left", "keyword", "right", "slice"), HOSTILE)
    answers.print_passages(pl.DataFrame([row]), console)
    console.print(HOSTILE, Text(HOSTILE), markup=False)  # what forgets to make its text visible
    assert lines(console).count("␛[31m") > 10


def test_columns_stay_in_line(console: terminal.Console) -> None:
    terminal.print_table(pl.DataFrame({"word": ["plain", CONTROL], "n": [1, 2]}), console)
    assert [len(line.rstrip()) for line in lines(console).splitlines()] == [len("␛[31m\ufffd2J  n")] * 3


@pytest.mark.parametrize("width", [200, 60, 30])
def test_words_give_way_where_a_table_is_too_wide_and_numbers_never(width: int) -> None:
    console = terminal._Console(highlight=False, soft_wrap=True, width=width, file=io.StringIO())
    table = pl.DataFrame({"word": ["wide" * 20, "漢字" * 20], "first": ["1900", "1910"], "a_long_name": [1.5, 2],
                          "another_long_name": [123456789, 1]})  # fmt: skip
    terminal.print_table(table, console)
    head, *rows = (line.rstrip() for line in lines(console).splitlines())
    assert all(name in head for name in table.columns)
    assert all(row.endswith(f"{number:,}") and f" {first} " in row for row, number, first in zip(
        rows, table["another_long_name"], table["first"], strict=True))  # fmt: skip
    (found,) = {cell_len(line) for line in (head, *rows)}
    assert found in {200: [119], 60: [60], 30: [51, 53]}[width]  # old versions of rich pad the ends
    assert ("wide" * 20 in rows[0]) == (width == 200)


def test_names_that_look_like_markup_are_shown(console: terminal.Console) -> None:
    terminal.print_table(pl.DataFrame({"[red]": [1]}), console)
    terminal.print_facts({"[red]": "[blue]"}, console)
    shown = lines(console)
    assert shown.count("[red]") == 2
    assert "[blue]" in shown


def test_json_is_safe_and_exact(capsys: pytest.CaptureFixture[str]) -> None:
    terminal.print_json({HOSTILE: [HOSTILE]})
    written = capsys.readouterr().out
    assert is_safe(written.replace("\n", ""))
    assert json.loads(written) == {HOSTILE: [HOSTILE]}


@pytest.mark.parametrize("in_terminal", [True, False])
def test_tables_for_programs_are_exact_outside_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], in_terminal: bool
) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: in_terminal)
    terminal.print_for_programs(f"a,b\n{CONTROL},1\n")
    assert capsys.readouterr().out == (f"a,b\n{'␛[31m�2J' if in_terminal else CONTROL},1\n")


def test_sentences_are_printable(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    terminal.warn(HOSTILE)
    terminal.say(HOSTILE)
    written = capsys.readouterr()
    assert is_safe(written.out.strip("\n"))
    assert is_safe(written.err.strip("\n"))
    source = tmp_path / "a.csv"
    source.write_text(f'"year","{CONTROL}"\n1900,ship\n')
    for arguments in ([source], [tmp_path / CONTROL], [source, CONTROL], [source, "--text", CONTROL, f"--{CONTROL}"]):
        done = run_here("prepare", *arguments, "--out", tmp_path / CONTROL)
        assert done.returncode == 2
        assert done.stderr.startswith("driftword: ")
        assert is_safe((done.stdout + done.stderr).replace("\n", "")), arguments
