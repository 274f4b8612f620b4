"""Run the notebooks and keep what they show in them, so that they can be read before they are run.

python docs/notebooks.py

Tables are kept as HTML and figures as SVG, so that a reader needs neither Python nor a network. The
cells run here, without a kernel or a server.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import os
import tempfile
from pathlib import Path
from typing import Any

import altair as alt
import vl_convert

NOTEBOOKS = Path(__file__).parent.parent / "notebooks"


def main() -> None:
    """Run all notebooks, each in an empty folder."""
    for path in sorted(NOTEBOOKS.glob("*.ipynb")):
        notebook = json.loads(path.read_text(encoding="utf-8"))
        names: dict[str, Any] = {"__name__": path.stem}
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            number = 0
            for cell in notebook["cells"]:
                if cell["cell_type"] == "code":
                    number += 1
                    cell["execution_count"] = number
                    cell["outputs"] = outputs(*run_cell("".join(cell["source"]), names, path.name), number)
        path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        print(f"{path.name}: {number} cells, {path.stat().st_size / 1e3:.0f} kB")


def run_cell(code: str, names: dict[str, Any], where: str) -> tuple[str, Any]:
    """Run the code of a cell; return what it prints and what its last line is, as a notebook would show them."""
    tree = ast.parse(code, filename=where)
    shown = ast.Expression(tree.body.pop().value) if isinstance(tree.body[-1], ast.Expr) else None
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(tree, where, "exec"), names)
        value = None if shown is None else eval(compile(shown, where, "eval"), names)
    return printed.getvalue(), value


def outputs(printed: str, value: Any, number: int) -> list[dict[str, Any]]:
    """Return the outputs of a cell, as notebooks store them."""
    found: list[dict[str, Any]] = []
    if printed:
        found.append({"name": "stdout", "output_type": "stream", "text": printed.splitlines(keepends=True)})
    if value is not None:
        data = shown_as(value)
        kept = {kind: text.splitlines(keepends=True) for kind, text in data.items()}
        found.append({"data": kept, "execution_count": number, "metadata": {}, "output_type": "execute_result"})
    return found


def shown_as(value: Any) -> dict[str, str]:
    """Return how a notebook shows a value: as a figure, as HTML, or as text."""
    if isinstance(value, alt.TopLevelMixin):
        return {"image/svg+xml": vl_convert.vegalite_to_svg(value.to_dict()), "text/plain": "a figure"}
    if hasattr(value, "_repr_html_"):
        return {"text/html": value._repr_html_(), "text/plain": repr(value)}
    return {"text/plain": repr(value)}


if __name__ == "__main__":
    os.environ.setdefault("POLARS_FMT_TABLE_HIDE_DATAFRAME_SHAPE_INFORMATION", "1")
    main()
