from __future__ import annotations

import pickle
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import driftword as dw
from conftest import letters
from driftword.basics.errors import StoreError
from driftword.storage import shards
from driftword.storage.shards import ShardedArray, ShardWriter

SIZE = 700


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[dw.Corpus, dw.Corpus]:
    """Return the same corpus with its tokens in one file and in several."""
    folder = tmp_path_factory.mktemp("shards")
    one = dw.prepare(letters(), out=folder / "one", slices="2y")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shards, "SHARD_VALUES", SIZE)
        return one, dw.prepare(letters(), out=folder / "several", slices="2y")


def test_several_files_hold_what_one_holds(both: tuple[dw.Corpus, dw.Corpus]) -> None:
    one, several = both
    assert one.path is not None
    assert several.path is not None
    files = sorted(several.path.glob("tokens*"))
    assert [file.name for file in files] == [f"tokens-{i:05}.npy" for i in range(len(files))]
    assert [len(np.load(file)) for file in files[:-1]] == [SIZE] * (len(files) - 1)
    assert np.concatenate([np.load(file) for file in files]).tolist() == one.tokens.tolist()


@pytest.mark.slow
def test_everything_that_reads_tokens_reads_several_files(both: tuple[dw.Corpus, dw.Corpus], tmp_path: Path) -> None:
    one, several = both
    assert isinstance(several.tokens, ShardedArray)
    assert isinstance(one.tokens, np.ndarray)
    spec = dw.Spec(dim=6, context=4, rounds=2, prior_precision=0.1)
    models = [dw.fit(corpus, spec, passes=2, engine="reference") for corpus in both]
    on_cores = [dw.fit(corpus, spec, passes=2, engine="cpu", threads=1) for corpus in both]
    on_torch = [dw.fit(corpus, spec, passes=1, engine="torch", device="cpu") for corpus in both]
    for fitted in (models, on_cores, on_torch):
        assert np.array_equal(fitted[0].rho, fitted[1].rho)
    asked: list[Any] = [
        lambda corpus, model: corpus.fingerprint,
        lambda corpus, model: corpus.info()["tokens_per_slice"],
        lambda corpus, model: corpus.train_counts.tolist(),
        lambda corpus, model: corpus.passages("ship", n=9).rows(),
        lambda corpus, model: corpus.passages("ship", at=1850, n=9).rows(),
        lambda corpus, model: [chunk.tolist() for chunk in corpus.chunks("test", pass_number=2)],
        lambda corpus, model: corpus.shuffle_dates(3).counts.tolist(),
        lambda corpus, model: corpus.from_slice(2).tokens.tolist(),
        lambda corpus, model: pickle.loads(pickle.dumps(corpus.tokens)).tolist(),
        lambda corpus, model: dw.evaluate(model, corpus=corpus).rows(),
        lambda corpus, model: dw.significance(model, corpus=corpus, permutations=20).rows(),
    ]
    for ask in asked:
        assert ask(one, models[0]) == ask(several, models[1])


@pytest.mark.slow
def test_a_corpus_of_ids_and_an_extended_one_have_several_files_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = {}
    for name, size in (("one", 1 << 30), ("several", 100)):
        monkeypatch.setattr(shards, "SHARD_VALUES", size)
        ids = dw.Corpus.from_ids(
            ["a", "b"], np.arange(450) % 2, [0, 450], chunk_slice=[0], chunk_split=[0], slices=[1900],
            out=tmp_path / f"{name}.ids",
        )  # fmt: skip
        corpus = dw.prepare(letters(), out=tmp_path / f"{name}.corpus", slices="1y")
        model = dw.fit(corpus, dw.Spec(dim=4, context=2), passes=3, threads=1, out=tmp_path / f"{name}.model")
        later = [(text, "1861-03-01") for text, _ in letters(9, seed=4)]
        longer = dw.extend(model, later, out=tmp_path / f"{name}-1861.model").open_corpus()
        made[name] = [np.asarray(one.tokens).tolist() for one in (ids, corpus, longer)]
    assert made["one"] == made["several"]
    assert len(list((tmp_path / "several.ids").glob("tokens-*.npy"))) == 5
    assert not (tmp_path / "several.ids" / "tokens.npy").exists()


def test_a_file_that_is_missing_is_named(both: tuple[dw.Corpus, dw.Corpus], tmp_path: Path) -> None:
    import shutil

    assert both[1].path is not None
    shutil.copytree(both[1].path, tmp_path / "copy")
    (tmp_path / "copy" / "tokens-00001.npy").unlink()
    with pytest.raises(StoreError, match=r"tokens-00001\.npy is missing"):
        dw.Corpus.open(tmp_path / "copy")


sizes = st.lists(st.integers(0, 5), min_size=1, max_size=5).filter(sum)


@pytest.mark.slow
@given(sizes, st.data())
def test_parts_are_read_like_one_array(lengths: list[int], data: st.DataObject) -> None:
    whole = np.arange(sum(lengths), dtype=np.uint16) * 3
    array = ShardedArray(np.split(whole, np.cumsum(lengths)[:-1]))
    n = len(whole)
    numbers = st.integers(-n, n - 1)
    part = data.draw(st.slices(n))
    positions = np.array(data.draw(st.lists(numbers, max_size=6)), dtype=np.int64)
    mask = np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    for key in (data.draw(numbers), part, positions, np.sort(positions), mask):
        assert np.array_equal(array[key], whole[key])
        assert np.asarray(array[key]).dtype == whole.dtype
    assert np.array_equal(np.asarray(array), whole)
    assert np.array_equal(np.asarray(array.view("i2")), whole.view("i2"))
    assert (array.shape, array.nbytes, len(array), array.dtype) == (whole.shape, whole.nbytes, n, whole.dtype)
    assert list(array) == list(whole)
    assert shards.find(array, 3).tolist() == np.flatnonzero(whole == 3).tolist()
    for beyond in (n, -n - 1, np.array([n]), np.array([-n - 1])):
        with pytest.raises(IndexError):
            array[beyond]


@pytest.mark.slow
@given(st.lists(st.integers(0, 99), min_size=1, max_size=20), st.integers(1, 7), st.randoms())
def test_values_are_written_in_any_order(
    tmp_path_factory: pytest.TempPathFactory, values: list[int], size: int, random: Any
) -> None:
    folder = tmp_path_factory.mktemp("written")
    array = np.array(values, dtype=np.uint16)
    ends = [0, *sorted(random.sample(range(len(values)), min(3, len(values)))), len(values)]
    pieces = list(pairwise(ends))
    random.shuffle(pieces)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shards, "SHARD_VALUES", size)
        with ShardWriter(folder, "values", np.uint16, len(array)) as writer:
            for begin, end in pieces:
                writer.write(begin, array[begin:end])
    parts = shards.read_shards(folder, "values")
    assert np.concatenate(parts).tolist() == values
    assert [len(part) for part in parts[:-1]] == [size] * (len(parts) - 1)
