"""The public interface, as griffe reads it from the code: ``python tests/public_api.py`` rewrites the list of it.

A test compares the list with the code, so that no name, parameter, default or type changes unnoticed. A change that a
user's program would notice also needs a line in CHANGELOG.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import griffe

ROOT = Path(__file__).parent.parent
LIST = Path(__file__).parent / "public_api.txt"
KEPT = ("__getitem__", "__contains__", "__len__", "__iter__")
MARKS = {griffe.ParameterKind.var_positional: "*", griffe.ParameterKind.var_keyword: "**"}


def lines() -> list[str]:
    """Return a line for every public function, class, method and attribute."""
    package = griffe.load("driftword", search_paths=[str(ROOT / "src")], resolve_aliases=True)
    return sorted(line for part in (package, package["baselines"], package["plot"]) for line in _of_module(part))


def _of_module(module: griffe.Object | griffe.Alias) -> Iterator[str]:
    for name in module.exports or []:
        member = module[str(name)]
        if member.is_function:
            yield f"{module.path}.{name}{_signature(member)}"
        elif member.is_class:
            yield from _of_class(f"{module.path}.{name}", member)


def _of_class(path: str, found: griffe.Object | griffe.Alias) -> Iterator[str]:
    bases = ", ".join(str(base) for base in found.bases)
    yield f"class {path}({bases})"
    for name, member in {**found.inherited_members, **found.members}.items():
        public = not name.startswith("_") or name in KEPT or name == "__init__"
        if public and member.is_function:
            yield f"{path}.{name}{_signature(member)}"
        elif public and member.is_attribute:
            yield f"{path}.{name}" + ("" if member.annotation is None else f": {member.annotation}")


def _signature(function: griffe.Object | griffe.Alias) -> str:
    parts, named_only = [], False
    for parameter in function.parameters:
        if parameter.kind is griffe.ParameterKind.var_positional:
            named_only = True
        if parameter.kind is griffe.ParameterKind.keyword_only and not named_only:
            parts.append("*")
            named_only = True
        kind = "" if parameter.annotation is None else f": {parameter.annotation}"
        default = "" if parameter.default is None or parameter.kind in MARKS else f" = {parameter.default}"
        parts.append(f"{MARKS.get(parameter.kind, '')}{parameter.name}{kind}{default}")
    return f"({', '.join(parts)}) -> {function.returns}"


if __name__ == "__main__":
    LIST.write_text("\n".join(lines()) + "\n", encoding="utf-8")
