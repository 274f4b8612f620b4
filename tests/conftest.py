"""Fixtures that many tests share: corpora, models, and a browser."""

from __future__ import annotations

import functools
import io
import os
import shutil
import signal
import sys
import threading
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any
from unittest import mock

# NumPy reads this as it is loaded: other tests run beside these, and its threads would wait for each other.
os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy as np
import polars as pl
import pytest
import typer.testing
from hypothesis import settings

import driftword as dw
from driftword.corpus.vocabulary import Vocabulary
from driftword.models.change_strength import with_strength
from driftword.models.model import GroupEmbeddings
from driftword.models.provenance import Provenance
from driftword.models.significance_table import SCHEMA, SignificanceTable

try:
    import fcntl
except ImportError:
    fcntl = None  # type: ignore[assignment]

# A busy machine is not a failure, and what CI tries must not change from run to run.
settings.register_profile("house", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("house")

del os.environ["OPENBLAS_NUM_THREADS"]  # programs that tests start have it as users do

# Tests run in several processes and start many more. Where the environment forbids bytecode, as images of containers
# often do, each of these would compile all of driftword anew, and each test process all tests.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# Tests ask hundreds of commands, and each question would make all commands anew.
typer.testing._get_command = functools.cache(typer.testing._get_command)

ROOT = Path(__file__).parent.parent
CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
DESK, PHONE = {"width": 1200, "height": 900}, {"width": 390, "height": 800}
#: Milliseconds after which a page is taken to hang. Only a defect takes so long, however busy the machine.
PATIENCE = 180_000
#: A folder in which to save screenshots of the pages.
PICTURES = os.environ.get("DRIFTWORD_PICTURES")
TOPICS = {
    "sea": ["ship", "harbour", "sailor", "voyage", "storm", "anchor", "captain", "island"],
    "farm": ["wheat", "cattle", "plough", "harvest", "barn", "meadow", "farmer", "orchard"],
    "law": ["court", "judge", "statute", "treaty", "senate", "verdict", "justice", "congress"],
}


#: Files with the longest tests, longest first. What fits models waits a little, so that in a new clone one process
#: compiles the kernels, those of the snippets, while the others do what needs none.
LONGEST = (
    "test_docs.py", "test_cluster.py", "test_preparation.py", "test_ingest.py", "test_distributed.py", "test_glance.py",
    "test_torch.py", "test_hostile_folder.py", "test_browser.py", "test_cli.py", "test_wrong_calls.py", "test_app.py",
    "test_suite.py", "test_limited_memory.py", "test_baselines.py", "test_fitting.py", "test_intervals.py",
    "test_queries.py", "test_groups.py", "test_significance.py", "test_streaming.py", "test_fuzz.py",
)  # fmt: skip


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the longest tests first, so that no process waits for another at the end."""
    rank = {name: number for number, name in enumerate(LONGEST)}
    items.sort(key=lambda item: rank.get(item.path.name, len(LONGEST)))


def data_folder() -> Path:
    return Path(os.environ.get("DRIFTWORD_DATA", ROOT.parent / "shared" / "data"))


def needs_data(name: str) -> Path:
    path = data_folder() / name
    if not path.exists():
        pytest.skip(f"{name} is not in {data_folder()}; set DRIFTWORD_DATA to the folder that holds it")
    return path


def letters(n: int = 60, *, seed: int = 0) -> Iterator[tuple[str, str]]:
    """Yield short made-up letters, 1850 to 1859, each about one topic."""
    random = np.random.default_rng(seed)
    for i in range(n):
        topic = list(TOPICS)[i % len(TOPICS)]
        words = random.choice([*TOPICS[topic], "the", "and", "of"], size=120)
        yield " ".join(words).capitalize() + ".", f"{1850 + i % 10}-{i % 12 + 1:02}-15"


def toy_model(rho: Any, counts: Any, words: Sequence[str], *, train_counts: Any = None, **options: Any) -> dw.Model:
    """Make a model of given vectors and counts, one slice a decade from 1900 on."""
    slices = options.pop("slices", None) or dw.Slices.from_labels([1900 + 10 * t for t in range(len(counts))])
    counts = np.asarray(counts)
    vocabulary = Vocabulary(tuple(words), slices, counts, counts if train_counts is None else np.asarray(train_counts))
    rho = np.asarray(rho, dtype=np.float32)
    return dw.Model(
        rho, options.pop("alpha", np.zeros(rho.shape[1:], dtype=np.float32)), vocabulary=vocabulary,
        spec=dw.Spec(**options), provenance=Provenance(engine="cpu"),
    )  # fmt: skip


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> dw.Corpus:
    out = tmp_path_factory.mktemp("corpora") / "small.corpus"
    return dw.prepare(letters(), slices="1y", out=out, subsample=None)


def of_this_run(factory: pytest.TempPathFactory, name: str) -> Path:
    """Return a folder of this run that all its test processes share."""
    base = factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / name
    folder.mkdir(exist_ok=True)
    return folder


@contextmanager
def one_at_a_time(path: Path) -> Iterator[None]:
    """Wait for the other test processes that make what will be at this path."""
    with path.with_name(f"{path.name}.lock").open("w") as lock:
        if fcntl is not None:  # Windows has none, and its tests may make something twice
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@pytest.fixture(scope="session")
def sotu(tmp_path_factory: pytest.TempPathFactory) -> dw.Corpus:
    """Return the speeches; making them takes seconds, so one test process does it for all. No test changes them."""
    out = of_this_run(tmp_path_factory, "shared") / "sotu.corpus"
    with one_at_a_time(out):
        return dw.Corpus.open(out) if out.exists() else dw.prepare("sotu", slices="5y", out=out)


@pytest.fixture(scope="session")
def small_model(small: dw.Corpus, tmp_path_factory: pytest.TempPathFactory) -> dw.Model:
    out = tmp_path_factory.mktemp("models") / "small.model"
    return dw.fit(small, dw.Spec(dim=8, context=4, rounds=2, prior_precision=0.1), passes=3, out=out)


@pytest.fixture
def small_background(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let tests of words expect contexts from a twelfth of the positions: quicker, and noisier than users have it."""
    from driftword.inference import document_scores

    monkeypatch.setattr(document_scores, "BACKGROUND", 20_000)


@pytest.fixture(scope="session")
def tiny_encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an encoder with random weights whose pieces are letters; one test process makes it for all."""
    pytest.importorskip("torch").set_num_threads(1)  # for so few numbers, more threads only wait for each other
    folder = of_this_run(tmp_path_factory, "shared") / "tiny-encoder"
    with one_at_a_time(folder):
        if not folder.exists():
            make_encoder(folder)
    return folder


def make_encoder(folder: Path, *, layers: int = 4, seed: int = 0) -> None:
    """Write an encoder in the format of Hugging Face."""
    import torch
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    letters = "abcdefghijklmnopqrstuvwxyz0123456789"
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *letters, *(f"##{letter}" for letter in letters)]
    tokenizer = Tokenizer(models.WordPiece({piece: i for i, piece in enumerate(pieces)}, unk_token="[UNK]"))
    tokenizer.normalizer, tokenizer.pre_tokenizer = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    special = {"unk_token": "[UNK]", "pad_token": "[PAD]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=128, **special)
    torch.manual_seed(seed)
    config = BertConfig(
        vocab_size=len(pieces), hidden_size=16, num_hidden_layers=layers, num_attention_heads=2, intermediate_size=32,
        max_position_embeddings=128,
    )  # fmt: skip
    partial = folder.with_name(f"{folder.name}.partial")
    BertModel(config).save_pretrained(partial)
    fast.save_pretrained(partial)
    partial.rename(folder)


def with_changes(model: dw.Model, changes: Mapping[str, str]) -> dw.Model:
    """Return a copy of a model in memory, in which a test found these words to have changed in these slices."""
    rows = []
    for word in model.words:
        at = changes.get(word)
        found = (
            {"effect": 0.2, "low": 0.1, "high": 0.3, "p": 0.001, "q": 0.01}
            if at
            else {"effect": 0.0, "low": -0.1, "high": 0.1, "p": 0.9, "q": 0.9}
        )
        dated: dict[str, Any] = {}
        if at:
            first, t = model.slices.first, model.slices.labels.index(at)
            dated = {"change": first[t], "change_low": first[max(t - 1, 0)], "gradual": 0.1}
            dated |= {"change_high": first[min(t + 1, len(first) - 1)], "last_before": first[max(t - 1, 0)]}
            dated |= {"documents_before": 20, "documents_since": 20, "lasting": 1.0}
        rows.append({"word": word, "documents": 40, "slices": 9, "kind": "word", **found, **dated})
    table = pl.DataFrame([{name: row.get(name) for name in SCHEMA} for row in rows], schema=SCHEMA)
    table = with_strength(table, model)
    copy = dw.Model(
        model.rho, model.alpha, model.intercepts, vocabulary=model.vocabulary, spec=model.spec,
        provenance=model.provenance,
    )  # fmt: skip
    copy.keep_significance(SignificanceTable(table, 1000, 0))
    return copy


def random_model(words: list[str], *, slices: int = 4, moves: bool = True, count: int = 9) -> dw.Model:
    """Make a model of random vectors; -1 is an unknown count."""
    rho = np.random.default_rng(0).normal(size=(slices if moves else 1, len(words), 3)).astype(np.float32)
    counts = np.full((slices, len(words)), count)
    vocabulary = Vocabulary(tuple(words), dw.Slices.from_labels(range(1990, 1990 + slices)), counts, counts)
    spec = dw.Spec(model="dynamic" if moves else "static", dim=3)
    return dw.Model(rho, rho[0], vocabulary=vocabulary, spec=spec, provenance=Provenance("reference"))


def grouped_model(groups: Sequence[str], *, slices: int = 4) -> dw.Model:
    """Make a model of random vectors with groups: "ship" is not in the second, and the third has hardly any text."""
    words = ["ship", "wheat", "court", "judge", "barn", "storm"]
    model, random = random_model(words, slices=slices, count=40), np.random.default_rng(1)
    made = {}
    for number, name in enumerate(groups):
        counts = np.full((slices, len(words)), 60 - number)
        counts[:, 0] *= number != 1
        if number == 2:
            counts[:] = 0
            counts[1, :2] = 1
        rho = model.rho + random.normal(scale=0.3, size=model.rho.shape).astype(np.float32)
        made[name] = GroupEmbeddings(rho, None, counts, counts)
    return dw.Model(
        model.rho, model.alpha, vocabulary=model.vocabulary, spec=model.spec, provenance=model.provenance, groups=made
    )


def run_here(*arguments: object, **environment: str) -> CompletedProcess[str]:
    """Run a command as `python -m driftword` does, in this process: to start another one takes a second.

    Tests of signals, pipes, full disks and what is loaded at the start need a process of their own.
    """
    from driftword.cli import main

    command = ["driftword", *map(str, arguments)]
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    hook = sys.unraisablehook
    try:
        with (
            mock.patch.object(sys, "argv", command), mock.patch.dict(os.environ, environment),
            redirect_stdout(out), redirect_stderr(err), warnings.catch_warnings(), pytest.raises(SystemExit) as ended,
        ):  # fmt: skip
            warnings.simplefilter("default")  # as in a new process, where they are no errors
            main()
    finally:
        sys.unraisablehook = hook
        for number, handler in handlers.items():
            signal.signal(number, handler)
    code = ended.value.code
    texts = [stream.buffer.getvalue().decode() for stream in (out, err)]  # type: ignore[attr-defined]
    return CompletedProcess(command, code if isinstance(code, int) else int(code is not None), *texts)


@contextmanager
def serving(app: Any) -> Iterator[str]:
    """Run an explorer; return its address."""
    import uvicorn

    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        thread.join(0.02)
        assert thread.is_alive()
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    server.should_exit = True
    thread.join(10)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """Start the Chromium of this machine, driven by Playwright."""
    sync_api = pytest.importorskip("playwright.sync_api")
    if CHROMIUM is None:
        pytest.skip("NO BROWSER: the explorer was not tested in one; install chromium, or set CHROMIUM")
    sync_api.expect.set_options(timeout=PATIENCE)
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def address(small_model: dw.Model) -> Iterator[str]:
    """Run an explorer; return its address."""
    from driftword.web.app import make_app

    with serving(make_app(small_model, small_model.open_corpus())) as here:
        yield here


@pytest.fixture
def page(chromium: Any, address: str, request: pytest.FixtureRequest) -> Iterator[Any]:
    """Open the start page; errors in the console of the browser fail the test."""
    context = new_context(chromium, viewport=DESK, base_url=address)
    page = context.new_page()
    console_errors: list[str] = []
    page.on("console", lambda message: console_errors.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: console_errors.append(str(error)))
    page.goto("/")
    yield page
    if PICTURES:
        page.screenshot(path=Path(PICTURES) / f"{request.node.name}.png", full_page=True)
    context.close()
    assert [text for text in console_errors if "404" not in text] == []


def new_context(chromium: Any, **options: Any) -> Any:
    """Open a window that waits for states of a page as long as it takes."""
    context = chromium.new_context(**options)
    context.set_default_timeout(PATIENCE)
    return context


def columns(page: Any) -> list[str]:
    return [text.strip(" ×") for text in page.locator("#neighbours + .columns h3").all_inner_texts()]
