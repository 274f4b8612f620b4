"""What driftword needs: every lower bound is tested, and the pinned versions fit."""

from __future__ import annotations

import tomllib

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from conftest import ROOT

#: Older versions of these would download gigabytes, so the oldest set has those of the newest.
AS_NEWEST = {"torch", "triton"}


def requirements() -> list[Requirement]:
    """Return what pyproject.toml asks for, with all extras."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    listed = [
        *project["dependencies"],
        *(line for extra in project["optional-dependencies"].values() for line in extra),
    ]
    return [wanted for line in listed if (wanted := Requirement(line)).name != "driftword"]


def pinned(name: str) -> dict[str, Version]:
    """Return the versions in a file of constraints."""
    lines = [line for line in (ROOT / name).read_text().splitlines() if line and not line.startswith("#")]
    pairs = (line.split("==") for line in lines)
    return {canonicalize_name(package): Version(version) for package, version in pairs}


def test_every_requirement_has_a_lower_bound_that_the_oldest_set_tests() -> None:
    bounds: dict[str, Version] = {}
    for wanted in requirements():
        lower = [Version(s.version) for s in wanted.specifier if s.operator in (">=", "==")]
        assert len(lower) == 1, f"{wanted} has no lower bound"
        package = canonicalize_name(wanted.name)
        bounds[package] = max(lower[0], bounds.get(package, lower[0]))
    newest = pinned("constraints.txt")
    expected = {package: newest[package] if package in AS_NEWEST else version for package, version in bounds.items()}
    assert pinned("constraints-oldest.txt") == expected


def test_the_pinned_versions_fulfil_every_requirement() -> None:
    newest = pinned("constraints.txt")
    for wanted in requirements():
        assert newest[canonicalize_name(wanted.name)] in wanted.specifier, wanted
