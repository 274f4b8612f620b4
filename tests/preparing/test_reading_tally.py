from __future__ import annotations

import json
from collections import Counter

from driftword.preparing.reading_tally import EXAMPLES, Tally


def test_a_tally_survives_json() -> None:
    """Partitions keep theirs in `meta.json`, with whatever was counted by name or by magnitude."""
    tally = Tally(
        rows=9,
        bad_dates=1,
        examples=[(2, "soon"), (3, None)],
        other_languages=Counter({"fr": 3, "de": 1}),
        detected_encodings=Counter({"cp1252": 2}),
        bad_files=["a.csv"],
        magnitudes=Counter({9: 4}),
    )
    assert Tally.from_dict(json.loads(json.dumps(tally.to_dict()))) == tally


def test_tallies_of_parts_add_up_to_that_of_the_whole() -> None:
    first = Tally(rows=10, examples=[(1, "a")] * 3, other_languages=Counter(fr=1), bad_files=["a"], documents=4)
    later = Tally(rows=5, examples=[(i, "b") for i in range(4)], other_languages=Counter(de=1, fr=2), bad_files=["b"])
    total = sum([first, later], Tally())
    assert (total.rows, total.documents, total.bad_files) == (15, 4, ["a", "b"])
    assert total.other_languages == {"fr": 3, "de": 1}
    assert total.examples == [(1, "a")] * 3 + [(10, "b"), (11, "b")]
    assert len(total.examples) == EXAMPLES
