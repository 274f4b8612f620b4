from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

import driftword as dw
from conftest import PATIENCE, letters, run_here
from driftword.cli import app, everything, terminal

pytestmark = pytest.mark.slow

PROGRAM = [sys.executable, "-m", "driftword"]
PLAIN = {**os.environ, "COLUMNS": "100", "NO_COLOR": "1"}


def run(*arguments: object, **options: object) -> subprocess.CompletedProcess[str]:
    command = [*PROGRAM, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, env=PLAIN, **options)  # type: ignore[call-overload,no-any-return]


def call(*arguments: object) -> subprocess.CompletedProcess[str]:
    return run_here(*arguments, COLUMNS="100", NO_COLOR="1")


@pytest.fixture(scope="module")
def csv(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("cli") / "letters.csv"
    rows = [(text, when, f"writer {i % 3}") for i, (text, when) in enumerate(letters())]
    pl.DataFrame(rows, schema=["body", "year", "writer"], orient="row").write_csv(path)
    return path


def test_a_newcomer_with_a_csv(csv: Path, tmp_path: Path) -> None:
    done = run("prepare", csv, "--text", "body", "--time", "year", "--out", tmp_path / "c")
    assert done.returncode == 0, done.stderr
    for fact in ("documents", "60", "slices", "10 (1850 to 1859)", "tokens per slice", "a pass sees", "letters.csv"):
        assert fact in done.stdout
    assert "\x1b" not in done.stdout  # no colours in a pipe
    assert done.stderr == ""  # and no progress bar
    shown = call("info", tmp_path / "c")
    assert shown.stdout.strip() in done.stdout
    facts = json.loads(call("info", tmp_path / "c", "--json", "--verify").stdout)
    assert facts["documents"] == 60
    lines = call("passages", tmp_path / "c", "harbour", "--at", "1853", "-n", 3)
    assert lines.stdout.count("harbour") >= 3
    table = pl.read_csv(call("passages", tmp_path / "c", "harbour", "-n", 5, "--csv").stdout.encode())
    assert {"left", "keyword", "right", "slice", "date", "writer"} <= set(table.columns)
    assert len(json.loads(call("passages", tmp_path / "c", "harbour", "-n", 5, "--json").stdout)) == 5


def test_lists_of_words_come_from_files(csv: Path, tmp_path: Path) -> None:
    (tmp_path / "stop.txt").write_text("the\nand\n\nOf\n")
    done = call("prepare", csv, "--stopwords", tmp_path / "stop.txt", "-o", tmp_path / "c", "--json", "--no-phrases")
    assert json.loads(done.stdout)["words"] == 24
    missing = call("prepare", csv, "--keep", tmp_path / "none.txt", "-o", tmp_path / "d")
    assert (missing.returncode, "cannot be read: No such file" in missing.stderr) == (2, True)
    (tmp_path / "latin.txt").write_bytes(b"caf\xe9")
    latin = call("prepare", csv, "--stopwords", tmp_path / "latin.txt", "-o", tmp_path / "d")
    assert (latin.returncode, "is not UTF-8; save it as UTF-8" in latin.stderr) == (2, True)


def test_options_about_text_reach_the_library(tmp_path: Path) -> None:
    lines = ["Das Schiff verließ den Hafen am frühen Morgen.", "The ship left the harbour early in the morning."]
    rows = "".join(f'{1900 + i % 4},"{lines[i % 2]}"\n' for i in range(40))
    (tmp_path / "a.csv").write_bytes(f"year,text\n{rows}".encode("cp1252"))
    options = ("--language", "de", "--encoding", "cp1252", "--tokens", "whitespace", "--json")
    done = call("prepare", tmp_path / "a.csv", *options, "-o", tmp_path / "c")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["report"]["other_languages"] == {"en": 20}
    corpus = dw.Corpus.open(tmp_path / "c")
    assert "verließ" in " ".join(corpus.words)
    assert (corpus.options.tokens, corpus.options.encoding, corpus.options.language) == ("whitespace", "cp1252", "de")
    wrong = call("prepare", tmp_path / "a.csv", "--tokens", "spacy", "-o", tmp_path / "d")
    assert wrong.returncode == 2
    assert wrong.stderr == "driftword: --tokens is 'spacy'; choose one of words, whitespace, list, chinese, japanese\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["prepare", "none.csv", "-o", "c"], "driftword: There is no file 'none.csv'"),
        (["prepare", "letters.csv", "--text", "bdy", "-o", "c"], "has: body, year, writer; did you mean 'body'?"),
        (["prepare", "letters.csv", "--slices", "1 year", "-o", "c"], "is '1 year', which is not understood"),
        (["prepare", "letters.csv", "--vocabulary", "0", "-o", "c"], "is 0; it must be at least 1"),
        (["prepare", "letters.csv", "--time", "writer", "-o", "c"], "cannot be read (row 1: 'writer 0'"),
        (["prepare", "letters.csv", "-o", "letters.csv/c"], "Cannot write"),
        (["info", "none"], "There is no corpus at 'none'"),
        (["info", "."], "is neither a corpus nor a model"),
        (["prepare", "letters.csv"], "Missing option"),
    ],
)  # fmt: skip
def test_a_mistake_is_one_sentence_and_status_2(csv: Path, arguments: list[str], message: str) -> None:
    with contextlib.chdir(csv.parent):
        done = call(*arguments)
    assert done.returncode == 2
    assert message in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr
    if "Missing" not in message:
        assert done.stderr.startswith("driftword: ")
        assert done.stderr.count("\n") == 1
    assert [file.name for file in csv.parent.iterdir()] == ["letters.csv"]


def test_unknown_words_and_slices(small: dw.Corpus) -> None:
    for arguments, message in [
        (["harbor"], "'harbor' is not in the vocabulary; did you mean 'harbour'?"),
        (["harbour", "--at", "1700"], "'1700' lies outside the slices; the first is '1850', the last '1859'"),
    ]:
        done = call("passages", small.path, *arguments)
        assert (done.returncode, done.stderr) == (2, f"driftword: {message}\n")


def test_pipes_are_named(csv: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.csv")
    for source in ("-", "/dev/stdin", tmp_path / "pipe.csv"):
        command = ("prepare", source, "-o", tmp_path / "c")
        done = run(*command, input="text,year\na,1900\n") if source == "/dev/stdin" else call(*command)
        assert done.returncode == 2
        assert "is not a file; driftword reads a source more than once, so save it as a file first" in done.stderr


def test_words_without_spaces_are_noticed(tmp_path: Path) -> None:
    rows = [f'{{"text": "{chr(0x4E00 + i) * 8}，{chr(0x5E00 + i) * 7}。", "year": {1900 + i % 3}}}' for i in range(60)]
    (tmp_path / "zh.jsonl").write_text("\n".join(rows), encoding="utf-8")
    done = call("prepare", tmp_path / "zh.jsonl", "-o", tmp_path / "c", "--min-count", 1)
    assert "its words do not seem to be separated by spaces; pass --tokens chinese or" in " ".join(done.stdout.split())
    done = call("prepare", tmp_path / "zh.jsonl", "-o", tmp_path / "d", "--min-count", 5)
    assert (done.returncode, "as its words are not separated by spaces" in done.stderr) == (2, True)


def test_run_does_everything_and_goes_on_where_it_was(csv: Path, tmp_path: Path) -> None:
    out = tmp_path / "all"
    asked = ("run", csv, "--text", "body", "--time", "year", "--passes", 2, "--no-browser", "--out", out)
    done = call(*asked)
    assert done.returncode == 0, done.stderr
    assert "trying again with a learning rate of 0.1" in done.stderr  # so few words
    model = dw.Model.open(out / "words.model")
    assert model.significance is not None
    first = dw.describe(model, n=1)["sentence"]
    assert not len(first) or first[0][:20] in done.stdout
    assert "letters" in (out / "report.html").read_text(encoding="utf-8")
    again = call(*asked)
    assert (again.returncode, "exists already" in again.stderr) == (2, True)
    (out / "report.html").unlink()
    made = (out / "words.model" / "meta.json").stat().st_mtime_ns
    resumed = call(*asked, "--resume")
    assert resumed.returncode == 0, resumed.stderr
    assert (out / "report.html").exists()
    assert (out / "words.model" / "meta.json").stat().st_mtime_ns == made
    other = tmp_path / "other.csv"
    other.write_bytes(csv.read_bytes())
    mixed = call("run", other, *asked[2:], "--resume")
    assert (mixed.returncode, "was made of letters.csv; name that" in mixed.stderr) == (2, True)
    bad = tmp_path / "bad.csv"
    bad.write_bytes(csv.read_bytes() + b"a letter,no date,writer 1\n")
    refused = call("run", bad, *asked[2:-1], tmp_path / "bad")
    assert (refused.returncode, "--skip-bad-dates" in refused.stderr) == (2, True)
    assert not (tmp_path / "bad" / "texts.corpus").exists()
    single = call("run", bad, *asked[2:-1], tmp_path / "one", "--skip-bad-dates", "--slices", "1000y")
    assert (single.returncode, "nothing can change; give shorter --slices" in single.stderr) == (2, True)


def test_where_no_word_can_be_ranked_the_report_shows_frequent_ones(tmp_path: Path) -> None:
    rows = [(f"alpha{year} beta{year} gamma{year} " * 20, 1850 + year) for year in range(6) for _ in range(5)]
    pl.DataFrame(rows, schema=["text", "year"], orient="row").write_csv(tmp_path / "apart.csv")
    done = call("run", tmp_path / "apart.csv", "--passes", 2, "--dim", 4, "--no-browser", "--out", tmp_path / "apart")
    assert done.returncode == 0, done.stderr
    assert "too little text to rank words" in done.stderr
    assert 'data-word="alpha' in (tmp_path / "apart" / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("source", "name"),
    [("a/letters.csv.gz", "letters"), ("papers/*.jsonl", "papers"), ("letters/", "letters"), (".", "texts"),
     ("*.csv", "texts"), ("s3://bucket/archive/*.parquet", "archive"), ("..", "texts"), ("sotu", "sotu")],
)  # fmt: skip
def test_what_run_calls_a_source(source: str, name: str) -> None:
    assert everything._name_of(source) == name


def test_json_knows_no_nan(capsys: pytest.CaptureFixture[str]) -> None:
    terminal.print_json({"L": float("nan"), "rows": [{"x": float("inf"), "y": 1.5}]})
    assert json.loads(capsys.readouterr().out) == {"L": None, "rows": [{"x": None, "y": 1.5}]}


def test_every_command_teaches() -> None:
    def answer(*arguments: str) -> str:
        return CliRunner().invoke(app, list(arguments)).output

    listed = answer("--help")
    assert all(name in listed for name in ("prepare", "info", "passages", "demo"))
    for name in ("prepare", "info", "passages"):
        assert "Example" in answer(name, "--help")
    assert call("prepare").returncode == 2


def test_a_full_disk_leaves_nothing(csv: Path, tmp_path: Path) -> None:
    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

    done = run("prepare", csv, "-o", tmp_path / "c", "--text", "body", preexec_fn=limit)
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith(f"driftword: Cannot write '{tmp_path / 'c'}'")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -9)])
def test_an_interrupted_run_leaves_the_old_corpus(tmp_path: Path, number: int, status: int) -> None:
    out = tmp_path / "c"
    dw.prepare(list(letters()), out=out)
    before = (out / "meta.json").read_bytes()
    process = subprocess.Popen(
        [*PROGRAM, "prepare", "sotu", "-o", out, "--overwrite"], stderr=subprocess.PIPE, text=True, env=PLAIN
    )
    while not list(tmp_path.glob(".c.partial-*")) and process.poll() is None:
        time.sleep(0.01)
    process.send_signal(number)
    _, complaint = process.communicate(timeout=PATIENCE / 1000)
    assert process.returncode == status
    assert (out / "meta.json").read_bytes() == before
    if number != signal.SIGKILL:
        assert [file.name for file in tmp_path.iterdir()] == ["c"]
    if number == signal.SIGINT:
        assert complaint == "driftword: Interrupted; nothing was written\n"
    dw.prepare(list(letters()), out=out, overwrite=True)  # clears what the killed one left
    assert [file.name for file in tmp_path.iterdir()] == ["c"]


@pytest.mark.parametrize(
    "interrupted",
    [
        "ctypes.CFUNCTYPE(None)(lambda: os.kill(os.getpid(), signal.SIGINT))()",  # exceptions are ignored in there
        "exec('raise KeyboardInterrupt')",  # Python ends by the signal after this, even where it is caught
    ],
)
def test_an_interrupt_is_never_lost(interrupted: str) -> None:
    done = run_command(interrupted)
    assert (done.returncode, done.stderr) == (130, "driftword: Interrupted; nothing was written\n")


def test_an_interrupt_that_turned_into_another_error_is_no_fault() -> None:
    done = run_command(
        "try: os.kill(os.getpid(), signal.SIGINT); time.sleep(1)",
        "except BaseException: raise TypeError('no type')",
    )
    assert (done.returncode, done.stderr) == (130, "driftword: Interrupted; nothing was written\n")


def run_command(*body: str) -> subprocess.CompletedProcess[str]:
    """Run a command made of these lines."""
    lines = [
        "import ctypes, os, signal, sys, time",
        "import driftword.cli; from driftword.cli.app import command, main",
        "@command('wait')",
        "def wait() -> None:",
        *(f"    {line}" for line in body),
        "    for _ in range(1000): time.sleep(0.01)",
        "sys.argv = ['driftword', 'wait']",
        "main()",
    ]
    return subprocess.run([sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True, env=PLAIN)


def test_a_reader_that_stops_early_is_no_fault(small: dw.Corpus) -> None:
    command = f"{sys.executable} -m driftword passages {small.path} the -n 5000 --csv | head -1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, env=PLAIN)
    assert done.stdout.startswith("left,keyword,right")
    assert done.stderr == ""


def test_output_that_cannot_be_written_is_told(small: dw.Corpus) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run([*PROGRAM, "info", small.path], stdout=full, stderr=subprocess.PIPE, text=True, env=PLAIN)
    assert (done.returncode, done.stderr) == (2, "driftword: The output cannot be written: No space left on device\n")
    latin = subprocess.run(
        [*PROGRAM, "info", small.path], capture_output=True, env={**PLAIN, "PYTHONIOENCODING": "latin-1"}
    )
    assert latin.returncode == 0


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="needs a shell")
@pytest.mark.parametrize(
    ("command", "streams", "status", "said"),
    [
        ("info MODEL", ">&-", 0, ""),
        ("neighbors MODEL ship --json", ">&- 2>&-", 0, ""),
        ("prepare SOURCE --out OUT", "<&- >&- 2>&-", 0, ""),
        ("info nowhere", ">&-", 2, "driftword: There is no corpus at 'nowhere'"),
        ("--help", ">&-", 0, ""),
        ("--help", "> /dev/full", 2, "driftword: The output cannot be written"),
        ("drift MODEL --min-count 1 --skip 0", "> /dev/full", 2, "driftword: The output cannot be written"),
        ("--help", "| head -0", 0, ""),
    ],
)
def test_streams_that_are_closed_or_full(
    command: str, streams: str, status: int, said: str, small_model: dw.Model, tmp_path: Path
) -> None:
    (tmp_path / "letters.csv").write_text("text,date\n" + "\n".join(f"{text},{date}" for text, date in letters()))
    for name, path in (("MODEL", small_model.path), ("SOURCE", tmp_path / "letters.csv"), ("OUT", tmp_path / "out")):
        command = command.replace(name, str(path))
    line = f"'{sys.executable}' -m driftword {command} {streams}"
    done = subprocess.run(["sh", "-c", line], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, check=False)
    assert (done.returncode, done.stderr.count("\n")) == (status, bool(said)), done.stderr
    assert done.stderr.startswith(said)
    if "out" in command.split("/")[-1] and not status:
        dw.Corpus.open(tmp_path / "out").check_current()


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs a timer of the system")
def test_a_command_that_cannot_end_by_itself_is_ended() -> None:
    code = (
        "import signal, time\n"
        "from driftword.cli import app\n"
        "import sys; stop = sys.modules['driftword.cli.app']; stop._GRACE = 1.0\n"
        "signal.signal(signal.SIGTERM, stop._stop)\n"
        "try:\n    print('ready', flush=True); time.sleep(60)\n"
        "finally:\n    time.sleep(60)\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.terminate()
        assert process.wait(timeout=30) == -signal.SIGALRM
