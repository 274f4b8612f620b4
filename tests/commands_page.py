"""The page of all commands, made from their own help: ``python tests/commands_page.py`` writes docs/commands.md."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import typer

from driftword.cli import GROUPS, app

PAGE = Path(__file__).parent.parent / "docs" / "commands.md"
COMMANDS: dict[str, Any] = typer.main.get_command(app).commands  # type: ignore[attr-defined]
HEAD = """# Commands

Every command explains itself: `driftword COMMAND --help`. This page lists them all with their options. An option has
the same name in Python, with underscores instead of hyphens.

- Lists are separated by commas: `--at 1825,1975`. An option that takes a list may also be given several times.
- Tables are printed for people. `--json` and `--csv` are for programs; `--format markdown` and `--format latex` are
  for papers.
- A spreadsheet runs text that begins with `=`, `+`, `-` or `@` as a formula, so `--csv` writes an apostrophe in front
  of such text: the word *@user* becomes `'@user`. Numbers stay numbers. `--json` and the files of `export` are exact.
- Control characters in words, texts and names are shown as symbols (␛), never sent to the terminal; JSON writes them as
  `\\u001b`, and CSV in a file or a pipe holds them as they are.
- The exit status is 0, 2 where you can put something right (a sentence says what), and 1 for a fault of ours.
- `driftword --version` shows the version.
"""


def make_page() -> str:
    """Return the whole page."""
    rows = [f"| {group} | {', '.join(f'[{name}](#{name})' for name in names)} |" for group, names in GROUPS.items()]
    parts = [HEAD, "\n".join(["| | |", "|---|---|", *rows, ""])]
    parts += [_section(name, COMMANDS[name]) for names in GROUPS.values() for name in names]
    return "\n".join(parts).rstrip() + "\n"


def _section(name: str, command: Any) -> str:
    paragraphs = [_plain(part) for part in command.help.partition("[bold]Example")[0].strip().split("\n\n")]
    arguments = [parameter for parameter in command.params if not _is_option(parameter)]
    options = [parameter for parameter in command.params if _is_option(parameter) and parameter.name != "help"]
    usage = " ".join(["driftword", name, *map(_argument, arguments), "[OPTIONS]"])
    lines = [f"## {name}", "", *(line for text in paragraphs for line in (text, "")), f"`{usage}`", ""]
    lines += ["| option | default | |", "|---|---|---|", *map(_row, options), ""]
    return "\n".join(lines)


def _is_option(parameter: Any) -> bool:
    return bool(parameter.opts[0].startswith("-"))


def _argument(parameter: Any) -> str:
    kinds = {"A corpus directory": "CORPUS", "A model directory": "MODEL"}
    names = {"words": "WORD", "others": "OTHER"}
    name = next((kind for start, kind in kinds.items() if (parameter.help or "").startswith(start)), None)
    name = name or names.get(parameter.name) or parameter.name.upper()
    name += " ..." if parameter.nargs == -1 else ""
    return name if parameter.required else f"[{name}]"


def _row(parameter: Any) -> str:
    flags = ", ".join(f"`{flag}`" for flag in [*parameter.opts, *parameter.secondary_opts])
    return f"| {flags} | {_default(parameter)} | {_plain(parameter.help or '')} |"


def _default(parameter: Any) -> str:
    if isinstance(parameter.show_default, str):
        return str(parameter.show_default)
    if parameter.required:
        return "required"
    if parameter.secondary_opts:
        return "on" if parameter.default else "off"
    if parameter.default is None or parameter.is_flag or parameter.default in ("", (), []):
        return ""
    return f"`{parameter.default}`"


def _plain(text: str) -> str:
    return re.sub(r"\[/?bold\]", "`", " ".join(text.split())).replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(make_page(), encoding="utf-8")
