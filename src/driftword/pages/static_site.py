"""The report as a folder of plain files, a page for each word, that any web host serves; it also opens from disk.

What pages share is in files of its own: style, script, and `words.js`, the list of words that a reader can search.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final

from markupsafe import Markup

from driftword.basics.checks import quoted
from driftword.basics.errors import OptionError
from driftword.basics.tables import printable
from driftword.models.model import Model
from driftword.pages.content import Content
from driftword.pages.figures import STATIC
from driftword.pages.rendering import templates
from driftword.pages.svg import compact_json
from driftword.storage.atomic_writes import already_exists, partial_path, put_in_place, reserved, writing

MARK: Final = "// The words of a report by driftword, and where their pages are.\n"
_WORDS: Final = "words.js"
#: A page from disk may load the files beside it, and nothing else; on a host, only what comes from there.
_POLICY: Final = (
    "default-src 'none'; style-src 'self' file: 'unsafe-inline'; script-src 'self' file:; img-src data: blob:; "
    "base-uri 'none'"
)


def check_folder(path: Path, *, overwrite: bool) -> Path:
    """Check that a site can be written to a folder; one that is replaced must be a site."""
    if not path.name:
        raise OptionError(f"{quoted(str(path))} is not the name of a folder; give another `out`, such as site")
    if path.exists():
        if not overwrite:
            raise already_exists(path)
        if not is_site(path):
            raise OptionError(f"{quoted(str(path))} is not a site that driftword wrote; give another `out`")
    return path


def is_site(path: Path) -> bool:
    """Tell whether a folder is a site, or empty."""
    if not path.is_dir():
        return False
    try:
        with (path / _WORDS).open(encoding="utf-8") as file:
            return file.readline(len(MARK)) == MARK  # of a file that may be anyone's
    except (OSError, UnicodeDecodeError):
        return not any(path.iterdir())


def write_site(
    path: Path,
    model: Model,
    *,
    words: list[str],
    pages: Iterable[Content],
    overview: Callable[[], Content],
    data: Callable[[list[Content], Content], str],
    render: Callable[[Any, Content, str], str],
    title: str | None,
) -> Path:
    """Write the pages of words, as they come, and a page with the overview.

    `data` returns what scripts show of pages, and `render` the content of a word's page with an environment.
    """
    names = file_names(words)

    def environment(root: str) -> Any:
        return templates(
            model, title=title, live=False, has_bands=False, root=root, policy=_POLICY, home=f"{root}index.html",
            href=lambda word: f"{root}{names[word]}" if word in names else None, period=lambda _: "#changed",
        )  # fmt: skip

    with writing(path), reserved(path) as lock, partial_path(lock.target) as partial:
        (partial / "words").mkdir(parents=True)
        for name, parts in (
            ("style.css", ("figure.css", "style.css", "report.css")),
            ("site.js", ("figures.js", "report.js")),
        ):
            texts = [(STATIC / part).read_text(encoding="utf-8") for part in parts]
            (partial / name).write_text("".join(texts), encoding="utf-8")
        listed = compact_json([[word, name] for word, name in names.items()])
        (partial / _WORDS).write_text(f"{MARK}globalThis.siteWords = {listed};\n", encoding="utf-8")
        above = environment("../")
        for page in pages:
            body = render(above, page, f"../{names[page['word']]}")
            html = above.get_template("site.html").render(
                title=page["word"], cite=page["cite"], word=page["word"], page=Markup(body),
                description=(page["finding"] or {}).get("sentence"), data=Markup(data([page], {"timeline": None})),
            )  # fmt: skip
            (partial / names[page["word"]]).write_text(printable(html), encoding="utf-8")
        here, first = environment(""), overview()
        html = here.get_template("site.html").render(**first, word=None, description=None, data=Markup(data([], first)))
        (partial / "index.html").write_text(printable(html), encoding="utf-8")
        put_in_place(partial, lock.target)
    return path


def file_names(words: list[str]) -> dict[str, str]:
    """Return the file of each word: its letters where these are plain, and a number where two would be alike."""
    taken: dict[str, str] = {}
    for word in words:
        plain = re.sub(r"[^a-z0-9]+", "-", word.lower()).strip("-") or "word"
        name, number = plain[:60], 1
        while name in taken:
            number += 1
            name = f"{plain[:60]}-{number}"
        taken[name] = word
    return {word: f"words/{name}.html" for name, word in taken.items()}
