from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from driftword.preparing import id_stream as streams


def test_batches_hold_whole_documents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "BATCH_TOKENS", 10)
    lengths = [3, 0, 4, 25, 2, 8, 0, 0, 1]
    ids = np.arange(sum(lengths), dtype=np.uint32)
    stream = streams.IdStream(tmp_path)
    stream.append(ids[:7], np.array(lengths[:3]))
    stream.append(ids[7:], np.array(lengths[3:]))
    batches = list(stream.batches())
    assert np.concatenate([batch.ids for batch in batches]).tolist() == ids.tolist()
    assert [n for batch in batches for n in batch.lengths] == lengths
    assert max(len(batch.ids) for batch in batches if len(batch.ends) > 1) <= 10
    assert stream.counts(50).tolist() == np.bincount(ids, minlength=50).tolist()
    doubled = stream.map(np.arange(100, dtype=np.uint32)[::-1])
    assert np.concatenate([batch.ids for batch in doubled.batches()]).tolist() == (99 - ids).tolist()
    doubled.close()
    assert list(tmp_path.iterdir()) == []
