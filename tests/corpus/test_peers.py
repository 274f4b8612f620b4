"""Words of similar frequency, beside a plain computation."""

from __future__ import annotations

import numpy as np
import pytest

from driftword.corpus.peers import FEWEST_PEERS, PEERS, Peers, peer_windows


@pytest.mark.parametrize(("n", "number"), [(1, 1), (12, 12), (60, FEWEST_PEERS), (1_000, 50), (9_000, PEERS)])
def test_peers_are_those_around_a_word(n: int, number: int) -> None:
    frequency = np.random.default_rng(n).integers(1, n + 1, n)
    order, begin, width = peer_windows(frequency)
    assert width == number
    peers = Peers(frequency, np.ones(n, dtype=bool))
    for place in {0, n // 3, n - 1}:
        v = order[place]
        found = peers.of(v)
        assert set(found) | {v} == set(order[begin[place] : begin[place] + width])
        assert len(found) == width - 1
        others = np.delete(frequency, [*found, v])
        low, high = (frequency[order[begin[place] + end]] for end in (0, width - 1))
        assert ((others <= low) | (others >= high)).all()  # nobody between them is left out


def test_peers_are_chosen_among_some_words() -> None:
    frequency = np.arange(100)[::-1]
    among = np.arange(100) % 2 == 0
    peers = Peers(frequency, among)
    assert set(peers.of(50)) == {v for v in range(32, 71, 2) if v != 50}
    assert set(peers.of(51)) == set(peers.of(52)) | {52}  # those of the next rarer word among them
    assert len(Peers(frequency, np.zeros(100, dtype=bool)).of(3)) == 0
