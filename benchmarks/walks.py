"""Which walk fits words best? Held-out text, planted changes, and the dates of abrupt ones.

    python benchmarks/walks.py un.corpus join=5 seed=0,1,2 walk=random,ou,jumps,words

For every walk and seed it reports L on validation and test text of the corpus as it is, with the
difference from the first walk on test text. Then changes are planted (see planted.py), after `join`
consecutive slices are joined: average precision of the exchanged words whose change lasts, in the
whole vocabulary, by two metrics of drift, and the share of abrupt changes that the trajectory dates
exactly. `contexts=0,1` also tries context vectors that drift. `seed`, `passes` and `engine` can be
given too; all other names are options of `Spec`, and lists of them are all tried.
"""

from __future__ import annotations

import itertools
import sys
import time
from typing import Any

import driftword as dw
from driftword.benchmarking.measures import precision_of
from driftword.benchmarking.planting import TEMPORARY, plant
from driftword.fitting.evaluation import score
from driftword.fitting.held_out import mean_and_error
from machine import describe
from options import parse_arguments
from planted import dates, measures


def main() -> None:
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    print(describe(), end="\n\n")
    source = dw.Corpus.open(sys.argv[1])
    given = parse_arguments(sys.argv[2:])
    join, passes = (int(given.pop(name, [default])[0]) for name, default in (("join", 1), ("passes", 10)))
    seeds, engine = given.pop("seed", [0]), given.pop("engine", ["auto"])[0]
    given["dynamic_context"] = [bool(value) for value in given.pop("contexts", [0])]
    for seed in seeds:
        corpus, planted = plant(
            source, join=join, subsample=source.subsample or "auto", seed=seed, changes=True, abrupt=0.5
        )
        lasts, usual = planted.kind != TEMPORARY, None
        for combination in itertools.product(*given.values()):
            options: dict[str, Any] = dict(zip(given, combination, strict=True))
            spec, begin = dw.Spec(**options), time.perf_counter()
            model = dw.fit(source, spec, passes=passes, seed=seed, engine=engine)
            seconds = time.perf_counter() - begin
            found = score(model, source, split="test", engine=engine)
            usual = found if usual is None else usual
            gain, error = mean_and_error(
                found.positive + found.negative - usual.positive - usual.negative, found.document
            )
            valid = model.history[model.best_pass - 1]["L"]
            changed = dw.fit(corpus, spec, passes=passes, seed=seed, engine=engine)
            by_metric = measures(changed)
            precision = [precision_of(by_metric[name], planted, lasts) for name in ("relative", "cosine")]
            print(
                f"{' '.join(f'{k}={v}' for k, v in options.items()):50} seed {seed}  L valid {valid:.4f} test "
                f"{found.summary()['L']:.4f} ({gain:+.4f} ± {error:.4f})  AP relative {precision[0]:.3f} cosine "
                f"{precision[1]:.3f}  {dates(changed, planted, 0.5)}  pass {model.best_pass}  {seconds:.0f} s",
                flush=True,
            )  # fmt: skip


if __name__ == "__main__":
    main()
