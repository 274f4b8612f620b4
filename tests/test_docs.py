"""Every snippet of the documentation runs, in order, in an empty folder."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from conftest import ROOT
from driftword.cli import app

PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")])
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SETTING_UP = ("make ", "pip install ")  # what has been done by the time a test runs


#: What the first commands of a page made, so that a page that begins in the same way need not make it again.
MADE: dict[tuple[str, ...], Path] = {}


@pytest.mark.xdist_group("pages")  # in one process, which then knows what was made
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_snippets_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(os, "cpu_count", lambda: 1)  # the other tests run beside it, and threads would wait for them
    names: dict[str, Any] = {"__name__": page.stem}
    commands: tuple[str, ...] = ()
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
                makes = arguments[0] in ("prepare", "fit")
                if makes:
                    commands, out = (*commands, command), Path(arguments[arguments.index("--out") + 1])
                    if commands in MADE:
                        shutil.copytree(MADE[commands], out, copy_function=os.link)
                        continue
                done = CliRunner(env={"COLUMNS": "140"}).invoke(app, arguments)  # a process for each would take minutes
                assert done.exit_code == 0, f"{command}\n{done.output}"
                if makes:
                    MADE[commands] = out.absolute()
        else:
            assert kind == "text", f"{page.name} has a block of unknown kind '{kind}'"


def test_links_lead_somewhere() -> None:
    for page in (*PAGES, ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"):
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
            if not target.startswith("http"):
                assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_the_readme_shows_what_the_program_prints(sotu: Any) -> None:
    shown = (ROOT / "README.md").read_text()
    run = [sys.executable, "-m", "driftword", "info", str(sotu.path)]
    done = subprocess.run(run, capture_output=True, text=True, env={**os.environ, "COLUMNS": "140"})
    for line in done.stdout.splitlines():
        assert line.rstrip() in shown
