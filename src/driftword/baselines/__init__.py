"""Other ways to embed words over time, for comparison: each takes a corpus and gives a `Model`.

Every question, figure, page and test works on what they return; held-out scores and intervals, which need
probabilities of words, do not. They see the same training text as driftword's own models, after the same subsampling.
Those that use skip-grams need gensim: ``pip install 'driftword[baselines]'``. It imports the rooms up to `models`.
"""

from driftword.baselines.aligned_slices import ppmi, procrustes
from driftword.baselines.shared_space import compass, incremental

__all__ = ["compass", "incremental", "ppmi", "procrustes"]
