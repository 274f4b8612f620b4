"""An encoder on this machine: from texts to a vector for the word that each is about.

What is read are numbers and settings: weights as safetensors, which hold no code, and a tokenizer that says which
characters each of its pieces stands for. Code that comes with an encoder is not run, and nothing is downloaded.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import xxhash

from driftword.basics import checks
from driftword.basics.errors import OptionError, SourceError

Array = npt.NDArray[Any]
POOLS: Final = ("word", "text")
AT_ONCE: Final = 64  # texts
_LONGEST: Final = 512  # pieces of a text, if the encoder takes as many
_READ: Final = ("config.json", "tokenizer.json", "tokenizer_config.json")
_REMEDY: Final = "give the folder of one, or the name of one that Hugging Face has in its cache here"


class Encoder:
    """A model of Hugging Face's format, as it lies on disk."""

    def __init__(
        self, location: str | os.PathLike[str], *, layers: int = 4, pool: str = "word", device: str | None = None,
        threads: int | None = None,
    ) -> None:  # fmt: skip
        torch, transformers = _packages()
        self.folder = find_encoder(location)
        self._name = _name_of(Path(location) if Path(location).name else self.folder.resolve())
        self.layers, self.pool = layers, checks.one_of("pool", pool, POOLS)
        self.checksum = _checksum(self.folder)
        self._torch, self._threads = torch, threads
        with _quiet(transformers):
            self._tokenizer = self._load(transformers.AutoTokenizer)
            if not getattr(self._tokenizer, "is_fast", False):
                raise OptionError(
                    f"The tokenizer in '{self.folder}' does not say which characters its pieces stand for; "
                    "give an encoder that has a tokenizer.json"
                )
            model, facts = self._load(transformers.AutoModel, use_safetensors=True, output_loading_info=True)
        missing = [name for name in facts["missing_keys"] if "pooler" not in name]
        if missing or facts.get("mismatched_keys"):
            raise SourceError(f"The weights in '{self.folder}' are not all there, or not its own; get the encoder anew")
        if getattr(model.config, "is_encoder_decoder", False):
            model = model.get_encoder()
        number = int(getattr(model.config, "num_hidden_layers", 1))
        if layers > number:
            raise OptionError(f"`layers` is {layers}, but '{self.name}' has {number}; give at most as many")
        self._device = _device(torch, device)
        self._model = model.to(self._device).eval()
        most = min(int(getattr(model.config, "max_position_embeddings", _LONGEST)), _LONGEST)
        self._longest = min(most, int(self._tokenizer.model_max_length))
        if self._tokenizer.pad_token is None:
            self._tokenizer.pad_token = self._tokenizer.eos_token

    @property
    def name(self) -> str:
        """What it is called, as far as its path says so."""
        return self._name

    def encode(self, texts: Sequence[str], begin: Array, end: Array) -> Array:
        """Return a vector for each text: of the word from character `begin` to `end`, or of all of it."""
        found: Array | None = None
        order = np.argsort([len(text) for text in texts], kind="stable")
        with self._limited_threads(), self._torch.inference_mode():
            for first in range(0, len(order), AT_ONCE):
                some = order[first : first + AT_ONCE]
                rows = self._encode([texts[i] for i in some], begin[some], end[some])
                found = np.empty((len(texts), rows.shape[1]), dtype=np.float32) if found is None else found
                found[some] = rows
        assert found is not None
        return found

    def _encode(self, texts: list[str], begin: Array, end: Array) -> Array:
        """Encode a batch; a text that is too long for the encoder is cut on both sides of the word."""
        torch, longest = self._torch, self._longest
        while True:
            batch = self._tokenizer(
                texts, padding=True, truncation=True, max_length=longest, return_offsets_mapping=True,
                return_tensors="pt",
            )  # fmt: skip
            offsets = batch.pop("offset_mapping").numpy()  # (B, pieces, 2)
            inside = (offsets[..., 0] < end[:, None]) & (offsets[..., 1] > begin[:, None])
            inside &= offsets[..., 1] > offsets[..., 0]
            lost = np.flatnonzero(~inside.any(axis=1))
            if not len(lost):
                break
            texts, begin, end = list(texts), begin.copy(), end.copy()
            for i in lost.tolist():
                room = max(begin[i], len(texts[i]) - end[i]) // 2
                if not room:
                    raise OptionError(f"The tokenizer of '{self.name}' has no piece for {checks.quoted(texts[i][:60])}")
                left = max(begin[i] - room, 0)
                texts[i] = texts[i][left : end[i] + room]
                begin[i], end[i] = begin[i] - left, end[i] - left
        batch = batch.to(self._device)
        states = self._model(**batch, output_hidden_states=True).hidden_states[-self.layers :]
        mean = states[0] if self.layers == 1 else torch.stack(states).mean(0)  # (B, pieces, K)
        chosen = torch.from_numpy(inside).to(self._device) if self.pool == "word" else batch["attention_mask"] > 0
        weight = chosen.to(mean.dtype)
        rows = torch.einsum("bpk,bp->bk", mean, weight) / weight.sum(1, keepdim=True)
        return np.asarray(rows.float().cpu().numpy())

    def _load(self, loader: Any, **options: Any) -> Any:
        try:
            return loader.from_pretrained(str(self.folder), local_files_only=True, trust_remote_code=False, **options)
        except Exception as error:  # whatever Transformers and its formats raise
            first = str(error).strip().partition("\n")[0][:200] or type(error).__name__
            raise SourceError(f"'{self.folder}' cannot be read as an encoder ({first}); {_REMEDY}") from error

    @contextlib.contextmanager
    def _limited_threads(self) -> Iterator[None]:
        before = self._torch.get_num_threads()
        if self._threads is not None:
            self._torch.set_num_threads(self._threads)
        try:
            yield
        finally:
            self._torch.set_num_threads(before)


def find_encoder(location: str | os.PathLike[str]) -> Path:
    """Return the folder of an encoder: a path, or what Hugging Face keeps in its cache under a name."""
    given = checks.path("encoder", location)
    if given.is_dir():
        if not (given / "config.json").is_file():
            raise SourceError(f"'{given}' has no config.json, so it is not an encoder; {_REMEDY}")
        return given
    _packages()
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(str(location), local_files_only=True))
    except Exception as error:  # not there, or not a name
        raise SourceError(f"There is no encoder at '{given}', nor in the cache of Hugging Face; {_REMEDY}") from error


def _name_of(location: Path) -> str:
    """Return what an encoder is called: the last part of its path; of those that say nothing, the last two."""
    return "/".join(location.parts[-2:] if location.name in ("model", "encoder") else location.parts[-1:])


def _packages() -> tuple[Any, Any]:
    try:
        import torch
        import transformers
    except ImportError as error:
        raise OptionError(
            "Encoders need PyTorch and Transformers: install the extra with pip install 'driftword[encoder]'"
        ) from error
    return torch, transformers


@contextlib.contextmanager
def _quiet(transformers: Any) -> Iterator[None]:
    """Keep bars and remarks of Transformers to itself while it loads."""
    logging = transformers.utils.logging
    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()


def _device(torch: Any, device: str | None) -> Any:
    """Return the device to use: the one named, or a GPU where there is one."""
    if device is None:
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        found = torch.device(device)
        torch.empty(1, device=found)
    except Exception as error:
        raise OptionError(
            f"PyTorch cannot use the device {checks.quoted(device)}; give cpu, or leave it out"
        ) from error
    return found


def _checksum(folder: Path) -> str:
    """Return a checksum of what an encoder is made of."""
    sum_of = xxhash.xxh3_128()
    for path in sorted([*folder.glob("*.safetensors"), *(folder / name for name in _READ)]):
        if path.is_file():
            sum_of.update(path.name.encode())
            with path.open("rb") as file:
                while part := file.read(1 << 22):
                    sum_of.update(part)
    return sum_of.hexdigest()
