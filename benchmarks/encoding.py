"""How much longer does `encode` take than the encoder itself?

    python benchmarks/encoding.py sotu.corpus PATH energy bonds frontier

Occurrences of words are encoded by `dw.encode`, from the texts to the vectors in memory; and, in the same run, their
pieces are passed through the encoder alone, in batches of texts of similar length, made beforehand. Both in turn, three
times; the share is that of the best times.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np
import torch
from transformers import AutoModel, AutoTokenizer

import driftword as dw
from driftword.encoding.encoder import AT_ONCE
from machine import describe


def bare(batches: list[Any], model: Any) -> float:
    """Return the seconds that the encoder alone takes."""
    began = time.perf_counter()
    with torch.inference_mode():
        for batch in batches:
            model(**batch)
    return time.perf_counter() - began


def main(path: str, encoder: str, words: list[str]) -> None:
    """Measure both."""
    print(describe("torch", "transformers"))
    texts = dw.occurrences(path, words)["text"].to_list()
    order = np.argsort([len(text) for text in texts], kind="stable")
    tokenizer, model = AutoTokenizer.from_pretrained(encoder), AutoModel.from_pretrained(encoder).eval()
    batches = [
        tokenizer([texts[i] for i in order[first : first + AT_ONCE]], return_tensors="pt", padding=True)
        for first in range(0, len(texts), AT_ONCE)
    ]
    alone, ours = [], []
    for _ in range(3):
        alone.append(bare(batches, model))
        began = time.perf_counter()
        dw.encode(path, words, encoder=encoder, n=None, controls=0)
        ours.append(time.perf_counter() - began)
    print(
        f"{len(texts):,} occurrences: the encoder alone {min(alone):.1f} s, encode {min(ours):.1f} s "
        f"(loading the encoder and reading the texts too): {min(alone) / min(ours):.2f} of its speed"
    )


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
