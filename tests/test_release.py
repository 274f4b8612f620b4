"""What is released: one version everywhere, and packages that hold what they should."""

from __future__ import annotations

import re
import tomllib

import yaml

import driftword as dw
from conftest import ROOT


def test_there_is_one_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert project["project"]["dynamic"] == ["version"]
    assert project["tool"]["hatch"]["version"]["path"] == "src/driftword/__init__.py"
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert cited["version"] == dw.__version__
    assert cited["license"] == project["project"]["license"]
    assert f"## {dw.__version__}" in (ROOT / "CHANGELOG.md").read_text()


def test_the_workflow_runs_what_the_makefile_has() -> None:
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text())["jobs"]
    commands = [step["run"] for job in jobs.values() for step in job["steps"] if "run" in step]
    targets = {name for command in commands for name in re.findall(r"make ([\w -]+)", command)}
    known = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert {name for words in targets for name in words.split()} <= known
    assert {"test", "test-oldest", "wheel docs"} <= targets
    oldest = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["requires-python"]
    assert jobs["test"]["strategy"]["matrix"]["python"][0] == oldest.removeprefix(">=")
