"""The shape of the house: imports point one way, and starting is quick."""

from __future__ import annotations

import ast
import functools
import subprocess
import sys
from pathlib import Path

import pytest

import driftword
import house_page
from house_page import ROOMS

PACKAGE = Path(driftword.__file__).parent
READING = {"explore", "plot", "pages", "web"}


@functools.cache
def modules() -> dict[str, ast.Module]:
    files = {str(f.relative_to(PACKAGE).with_suffix("")).replace("/", "."): f for f in PACKAGE.rglob("*.py")}
    return {name.removesuffix(".__init__"): ast.parse(f.read_text()) for name, f in files.items()}


def imported(tree: ast.Module) -> set[str]:
    """Return the parts of driftword that a module imports, anywhere in it."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            raise AssertionError("imports are absolute in this house")
    return {name.split(".")[1] for name in found if name.startswith("driftword.")}


def test_every_module_has_a_room() -> None:
    assert {path.name for path in PACKAGE.iterdir() if path.name != "__pycache__"} == {
        "__init__.py", "__main__.py", "py.typed", *ROOMS,
    }  # fmt: skip


def test_the_page_of_the_house_says_what_the_modules_say() -> None:
    assert house_page.PAGE.read_text() == house_page.make_page(), "run: python tests/house_page.py"


def test_every_room_says_what_lives_there() -> None:
    for room in ROOMS:
        assert "import" in (ast.get_docstring(modules()[room]) or ""), f"{room} does not say what it may import"


def test_imports_point_down() -> None:
    for name, tree in modules().items():
        if name in ("__init__", "__main__"):
            continue
        floor = ROOMS.index(name.split(".")[0])
        for other in imported(tree) & set(ROOMS):
            assert ROOMS.index(other) <= floor, f"{name} imports {other}, which stands above it"


def test_no_module_imports_itself_by_a_detour() -> None:
    names = set(modules())
    graph = {
        name: names & {full.removesuffix(".__init__") for full in imported_modules(tree)}
        for name, tree in modules().items()
    }
    done: set[str] = set()

    def visit(name: str, path: tuple[str, ...]) -> None:
        assert name not in path, " -> ".join((*path, name))
        if name not in done:
            for target in graph.get(name, set()) - {name}:
                visit(target, (*path, name))
            done.add(name)

    for name in graph:
        visit(name, ())


def imported_modules(tree: ast.Module) -> set[str]:
    """Return the modules of driftword that are imported, without the package's own name; packages' faces aside."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("driftword"):
            base = node.module.removeprefix("driftword").lstrip(".")
            found |= {base, *(f"{base}.{alias.name}".lstrip(".") for alias in node.names)}
    return found - {"", "__init__"} - {name for name in found if (PACKAGE / name.replace(".", "/")).is_dir()}


def test_the_reading_leg_imports_no_engine() -> None:
    for name, tree in modules().items():
        if name.split(".")[0] in READING:
            assert not imported(tree) & {"engines", "fitting"}, name


def test_numba_is_imported_in_one_place() -> None:
    for name, tree in modules().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "numba":
                assert name == "basics.jit", f"{name} imports Numba, and with it what the current directory says of it"


@pytest.mark.parametrize("module", ["driftword", "driftword.cli"])
def test_importing_loads_nothing_heavy(module: str) -> None:
    """Help is shown at once: NumPy and Polars, which take a third of a second, are loaded when something needs them."""
    heavy = ("numpy", "polars", "numba", "torch", "altair", "pandas", "dask", "fsspec")
    code = f"import sys, {module}; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
