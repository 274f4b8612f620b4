"""The program of a process that fits one model, so that its memory is known: options in, what it took out, as JSON."""

from __future__ import annotations

import json
import os
import platform
import sys
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from driftword import baselines
from driftword.basics.errors import DriftwordError
from driftword.basics.system_calls import resource
from driftword.corpus import Corpus
from driftword.fitting.fitting import fit
from driftword.models.spec import Spec

OWN: Final = ("static", "binned", "dynamic")
METHODS: Final = (*OWN, "procrustes", "incremental", "compass", "ppmi")
INTERRUPTED: Final = 130  # exit status after Ctrl-C


def fit_method(
    method: str, corpus: Corpus, *, spec: Spec, passes: int, learning: Mapping[str, Any], **stored: Any
) -> None:
    """Fit a model, or a baseline with the options that it shares with models."""
    if method in OWN:
        fit(corpus, replace(spec, model=method), passes=passes, **learning, **stored)
        return
    own: dict[str, Any] = {} if method == "incremental" else {"threads": learning["threads"]}
    own |= {} if method == "ppmi" else {"passes": passes}
    getattr(baselines, method)(corpus, dim=spec.dim, context=spec.context, **own, **stored)


def peak_memory() -> float:
    """Return the most memory that this process has held, in GB; 0 where the system does not say."""
    if resource is None:  # Windows
        return 0.0
    unit = 1 if platform.system() == "Darwin" else 1024
    return float(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e9)


def main() -> None:
    """Fit what standard input asks for; an error that a user can mend is part of the answer."""
    answer = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever prints something must not print it into the answer
    asked = json.load(sys.stdin)
    corpus, begun = Corpus.open(asked.pop("corpus")), time.perf_counter()
    spec = Spec.from_dict(asked.pop("spec"))
    try:
        fit_method(asked.pop("method"), corpus, spec=spec, **asked, overwrite=True, show_progress=False)
        found: dict[str, Any] = {"seconds": time.perf_counter() - begun, "memory_GB": peak_memory()}
    except DriftwordError as error:
        found = {"error": str(error)}
    except KeyboardInterrupt:  # which the process that waits for this one reports
        sys.exit(INTERRUPTED)
    json.dump(found, answer)
    answer.close()


if __name__ == "__main__":
    main()
