"""Inputs that no program should write, for `prepare` to accept or to refuse in a sentence.

`mutations(seed)` goes on for ever: tables with odd names, types and values, folders of texts with odd names, and all
of them with bytes changed, cut off or put in. `python tests/preparing/mutated_inputs.py --count 5000` tries that many,
and reports what ended neither in a corpus nor in a sentence, how long the slowest took, and how much memory was used.
"""

from __future__ import annotations

import argparse
import bz2
import gzip
import io
import json
import lzma
import random
import resource
import sys
import tempfile
import time
import traceback
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl
import zstandard

import driftword as dw

#: Words of the texts, and things that are rarely words.
WORDS = (
    *("ship", "harbour", "sailor", "voyage", "storm", "wheat", "cattle", "plough", "don't", "U.S.", "co-\noperation"),
    *(
        "größer",
        "свобода",
        "हिन्दी",
        "東京",
        "😀",
        "1,000.50",
        "\x1b[31m",
        "\0",
        "\u202e",
        "\u009b2J",
        "\u200d",
        "\ufffd",
    ),
    *("=1+1", "@user", "-", "'", '"', ",", ";", "\t", "\r", "\r\n", "\n\n", "[bold]", "\\", "\ufeff", "ﬁ", "ß" * 50),
)
NAMES = (
    *(
        "text",
        "date",
        "year",
        "body",
        "time",
        "slice",
        "document",
        "left",
        "keyword",
        "right",
        "file",
        "file_",
        "text_",
    ),
    *("", " ", "\0", "a\0b", "\0row", "\x1b[2J", "*", "^.*$", "^text$", "a,b", 'a"b', "a\nb", "=cmd()", "é" * 300),
    *("\ufeffdate", "Text", " text ", "values", "n", "literal", "len", "\u202etxet", "[red]", "`text`"),
)
DATES = (
    *("1900", "1901-05-12", "May 1902", "12 May 1903", "1904-Q1", "1905-W05", "1850s", "c. 1850", "[1850?]", "85", ""),
    *("03/04/1921", "0000-00-00", "9999-12-31", "10000", "-5", "1609459200", "1609459200000", "NaN", "inf", "1e999"),
    *("[" * 2000, "c" * 5000, "1900-01-01T" + "0" * 5000, "9" * 5000, "\0", "\x1b[0m1900", "1900\n", "१९००", "²⁰⁰⁰"),
    *("?" * 300, "ca " * 3000 + "1850", "1900-02-30", "Thu, 12 May 1921 10:00:00 GMT", "0001-01-01", "1900.0"),
)
BYTES = (
    *(
        b"\0",
        b"\xff\xfe",
        b"\xef\xbb\xbf",
        b"\x1b[31m",
        b'"',
        b'""',
        b"'",
        b"\r",
        b"\n",
        b"\r\n",
        b",",
        b"\t",
        b"{",
        b"}",
    ),
    *(b"[", b"]", b"\\u d800", b"\\ud800", b"\xed\xa0\x80", b"\x80\x81\x8d", b"9" * 400, b"1e999", b"null", b"=1+1"),
    *(b"PAR1", b"ARROW1", b"\xff" * 8, b"\x7f\xff\xff\xff\xff\xff\xff\xff", b"\x1f\x8b\x08", b"\x28\xb5\x2f\xfd"),
)
FORMATS = ("csv", "tsv", "jsonl", "json", "parquet", "arrow", "txt")
PACKERS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress,
    ".zst": zstandard.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
}


@dataclass(frozen=True)
class MutatedInput:
    """One input: what it is called, how it is written below a folder, and the options to prepare it with."""

    name: str
    write: Callable[[Path], Path]
    options: dict[str, Any] = field(default_factory=dict)


def mutations(seed: int) -> Iterator[MutatedInput]:
    """Yield inputs for ever; each depends only on the seed and on its number."""
    number = 0
    while True:
        chance = random.Random(f"{seed}-{number}")
        yield _mutation(chance, f"{seed}-{number}")
        number += 1


def _mutation(chance: random.Random, name: str) -> MutatedInput:
    kind = chance.choice(FORMATS)
    if kind == "txt":
        files = {_file_name(chance): _damaged(chance, _text(chance).encode(errors="replace")) for _ in range(4)}

        def write_folder(folder: Path) -> Path:
            target = folder / "texts"
            for path, content in files.items():
                (target / path).parent.mkdir(parents=True, exist_ok=True)
                (target / path).write_bytes(content)
            return target

        return MutatedInput(f"{name} texts", write_folder, _options(chance, kind))
    writers = {"csv": _csv, "tsv": _csv, "jsonl": _json, "json": _json, "parquet": _columns, "arrow": _columns}
    content = _damaged(chance, writers[kind](chance, kind))
    suffix = f".{kind}"
    if chance.random() < 0.15:
        packed = chance.choice(list(PACKERS))
        suffix += packed
        content = _damaged(chance, PACKERS[packed](content))
    elif chance.random() < 0.03:
        suffix, archive = ".zip", io.BytesIO()
        with zipfile.ZipFile(archive, "w") as target:
            target.writestr(f"a.{kind}", content)
        content = archive.getvalue()

    def write(folder: Path) -> Path:
        path = folder / f"input{suffix}"
        path.write_bytes(content)
        return path

    return MutatedInput(f"{name} {suffix}", write, _options(chance, kind))


def _options(chance: random.Random, kind: str) -> dict[str, Any]:
    options: dict[str, Any] = {
        "min_count": chance.choice([None, 1, 1, 1, 3]),
        "slices": chance.choice(["1y", "1y", "10y", "100y", "1q", "equal:2", "1800,1850,1950", "1w"]),
        "tokens": chance.choice([*["words"] * 8, "whitespace", "list"]),
        "skip_bad_dates": chance.random() < 0.9,
        "skip_bad_rows": chance.random() < 0.9,
        "numbers": chance.random() < 0.2,
        "phrases": chance.random() < 0.5,
    }
    if chance.random() < 0.08:
        options["time_format"] = chance.choice(
            ["%Y", "%y", "%d/%m/%Y", "%Y-%m-%d", "seconds", "milliseconds", "%G-W%V"]
        )
    if chance.random() < 0.06 and kind in ("csv", "tsv", "json", "jsonl", "txt"):
        options["encoding"] = chance.choice(["utf-16", "cp1252", "utf-8", "shift_jis", "utf-7", "cp500", "utf-32"])
    if chance.random() < 0.05:
        options["text"] = chance.choice(NAMES)
    if chance.random() < 0.05:
        options["time"] = chance.choice(NAMES)
    if kind == "txt" and chance.random() < 0.2:
        options["time_from_name"] = chance.choice([r"\d+", r"(\d{4})", "x", "(?P<a>.)", ".*"])
    return options


def _text(chance: random.Random) -> str:
    words = chance.choices(WORDS[: chance.choice([8, 12, len(WORDS)])], k=chance.choice([0, 1, 30, 30, 120]))
    return chance.choice([" ", " ", " ", "", "\n"]).join(words)


def _names(chance: random.Random) -> list[str]:
    """Return names of columns, mostly with a text and a date among them."""
    names = ["text", "date"] if chance.random() < 0.85 else []
    names += chance.choices(NAMES, k=chance.choice([0, 0, 1, 3]))
    if chance.random() < 0.9:
        names = list(dict.fromkeys(names))
    chance.shuffle(names)
    return names or ["text"]


def _value(chance: random.Random, name: str) -> str:
    if chance.random() < 0.05:
        return chance.choice([*DATES, *WORDS])
    if name == "text":
        return _text(chance)
    if name == "date":
        return str(1900 + chance.randrange(5)) if chance.random() < 0.8 else chance.choice(DATES)
    return chance.choice(WORDS)


def _csv(chance: random.Random, kind: str) -> bytes:
    names = _names(chance)
    delimiter = chance.choice("\t\t\t\t," if kind == "tsv" else ",,,;\t|")
    end = chance.choice(["\n", "\n", "\r\n", "\r"])

    def cell(text: str) -> str:
        if chance.random() < 0.02:
            return text  # whatever is in it
        return '"' + text.replace('"', '""') + '"'

    lines = [delimiter.join(cell(name) for name in names)]
    for _ in range(chance.choice([0, 1, *[30] * 8])):
        cells = [cell(_value(chance, name)) for name in names]
        if chance.random() < 0.02:
            cells = cells[:-1] if chance.random() < 0.5 else [*cells, "more"]
        lines.append(delimiter.join(cells))
    text = end.join(lines) + chance.choice(["", end, end * 3])
    return text.encode(chance.choice([*["utf-8"] * 9, "utf-8-sig", "utf-16", "cp1252", "utf-16-le"]), errors="replace")


def _json_value(chance: random.Random, name: str) -> Any:
    if chance.random() < 0.95:
        return _value(chance, name)
    nested: Any = chance.choice([None, True, 1900, -1.5e300, 10**30, [], {}, ["ship", "sea"], [1, None], {"": [{}]}])
    for _ in range(chance.choice([0, 0, 0, 1, 100])):
        nested = [nested]
    return nested


def _object(chance: random.Random) -> dict[str, Any]:
    names = ["text", "date"] if chance.random() < 0.9 else _names(chance)
    return {name: _json_value(chance, name) for name in names}


def _json(chance: random.Random, kind: str) -> bytes:
    rows = [_object(chance) for _ in range(chance.choice([0, 1, *[30] * 8]))]
    ascii_only = chance.random() < 0.5
    if kind == "json":
        return json.dumps(rows, indent=chance.choice([None, 1]), ensure_ascii=ascii_only).encode(errors="replace")
    return "\n".join(json.dumps(row, ensure_ascii=ascii_only) for row in rows).encode(errors="replace")


def _series(chance: random.Random, name: str, height: int) -> pl.Series:
    """Return a column of a type by chance, mostly one that fits its name."""
    texts = [_value(chance, name) if chance.random() < 0.97 else None for _ in range(height)]
    if chance.random() < 0.75:
        return pl.Series(name, texts, dtype=pl.String)
    numbers = [chance.choice([0, 1, 1900, 1901, -5, 85, 2**31, 1609459200, None]) for _ in range(height)]
    far = [chance.choice([0, -(2**62), 2**62, -62135596800 * 10**6, 253402300799 * 10**6]) for _ in range(height)]
    zone = chance.choice([None, "UTC", "Asia/Tokyo", "America/New_York"])
    times = pl.Series(name, far, dtype=pl.Int64).cast(pl.Datetime(chance.choice(["ms", "us", "ns"]), zone))
    text = pl.Series(name, texts, dtype=pl.String)
    lists = [None if value is None else value.split() for value in texts]
    return chance.choice([
        lambda: text.cast(pl.Categorical),
        lambda: text.cast(pl.Enum(sorted({value for value in texts if value is not None}))),
        lambda: pl.Series(name, [None] * height, dtype=pl.Null),
        lambda: pl.Series(name, lists, dtype=pl.List(pl.String)),
        lambda: pl.Series(name, lists, dtype=pl.List(pl.Categorical)),
        lambda: pl.Series(name, [[n] for n in numbers], dtype=pl.List(pl.Int64)),
        lambda: pl.Series(name, [{"a": n} for n in numbers], dtype=pl.Struct({"a": pl.Int64})),
        lambda: text.cast(pl.Binary),
        lambda: pl.Series(name, numbers, dtype=pl.Int64),
        lambda: pl.Series(name, numbers, dtype=pl.Int64).cast(pl.Float64),
        lambda: pl.Series(name, numbers, dtype=pl.Int64).cast(pl.Decimal(20, 2)),
        lambda: pl.Series(name, numbers, dtype=pl.Int64).cast(pl.Boolean),
        lambda: pl.Series(name, [n and n % 10**6 for n in numbers], dtype=pl.Int32).cast(pl.Date),
        lambda: pl.Series(name, [n and n % 80_000 for n in numbers], dtype=pl.Int64).cast(pl.Time),
        lambda: pl.Series(name, numbers, dtype=pl.Int64).cast(pl.Duration("us")),
        lambda: times,
        lambda: times,
    ])()  # fmt: skip


def _columns(chance: random.Random, kind: str) -> bytes:
    height = chance.choice([0, 1, *[30] * 8])
    frame = pl.DataFrame([_series(chance, name, height) for name in dict.fromkeys(_names(chance))])
    target = io.BytesIO()
    if kind == "parquet":
        frame.write_parquet(target, row_group_size=chance.choice([None, 3]))
    else:
        frame.write_ipc(target, compression=chance.choice(["uncompressed", "lz4", "zstd"]))
    return target.getvalue()


def _file_name(chance: random.Random) -> str:
    part = chance.choice(
        [*["1861-05-12 home", "1862"] * 5, "06_05_2022", "notes", "1861_7", "\x1b[31m1863", "1864\n", "x" * 200]
    )
    folder = chance.choice(["", "", "1870/", "a[1]/", "-/", "\u202e/"])
    return f"{folder}{part}{chance.randrange(3)}.txt"


def _damaged(chance: random.Random, content: bytes) -> bytes:
    """Change bytes here and there; two inputs in three stay as they are."""
    if chance.random() < 0.65:
        return content
    data = bytearray(content)
    for _ in range(chance.choice([1, 1, 2, 5, 30])):
        at = chance.randrange(len(data) + 1)
        match chance.randrange(7):
            case 0 if at < len(data):
                data[at] ^= 1 << chance.randrange(8)
            case 1:
                data[at : at + chance.choice([1, 2, 8, 100])] = b""
            case 2:
                data[at:at] = chance.choice(BYTES)
            case 3 if chance.random() < 0.3:
                del data[at:]
            case 4:
                data[at:at] = data[at : at + chance.choice([1, 10, 500])]
            case 5:
                data[at : at + 4] = chance.randbytes(4)
            case 6 if len(data) >= 8:
                end = max(len(data) - chance.choice([8, 20, 200]), 0)
                data[end : end + 1] = chance.randbytes(1)  # footers are at the end
    return bytes(data)


@dataclass
class Outcome:
    """What became of one input: "prepared", "refused", or the traceback of another exception."""

    result: str
    sentence: str
    seconds: float


def try_input(one: MutatedInput, folder: Path) -> Outcome:
    """Prepare one input, and open what was prepared."""
    started = time.monotonic()
    sentence = ""
    try:
        corpus = dw.prepare(one.write(folder), out=folder / "out.corpus", show_progress=False, **one.options)
        corpus.summary()
        corpus.passages(corpus.words[0], n=2)
        result = "prepared"
    except dw.DriftwordError as error:
        result, sentence = "refused", str(error)
    except KeyboardInterrupt:
        raise
    except BaseException:  # a panic of Polars is not an Exception
        result = traceback.format_exc()
    return Outcome(result, sentence, time.monotonic() - started)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=5_000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    counts: Counter[str] = Counter()
    slowest = (0.0, "")
    for _, one in zip(range(given.count), mutations(given.seed), strict=False):
        with tempfile.TemporaryDirectory() as folder:
            outcome = try_input(one, Path(folder))
        slowest = max(slowest, (outcome.seconds, one.name))
        raw = outcome.result not in ("prepared", "refused")
        counts["raw" if raw else outcome.result] += 1
        if raw:
            print(f"RAW {one.name} {one.options}\n{outcome.result}", flush=True)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << (30 if sys.platform == "darwin" else 20))
    print(
        f"{given.count:,} inputs of seed {given.seed}: {counts['prepared']:,} prepared, {counts['refused']:,} refused "
        f"in a sentence, {counts['raw']:,} raw exceptions; slowest {slowest[0]:.1f} s ({slowest[1]}); "
        f"peak {peak:.2f} GiB"
    )
    sys.exit(counts["raw"] > 0)


if __name__ == "__main__":
    main()
