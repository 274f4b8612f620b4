"""CBOW with fixed targets: only the vectors of context words move."""

import numpy as np

from driftword.basics.jit import njit
from driftword.corpus.token_kernels import mix


@njit(nogil=True, cache=True)
def train_with_fixed_targets(ids, offsets, inputs, targets, chances, half_window, negatives, first, last, key):
    """Move the vectors of context words, the learning rate falling from `first` to `last`."""
    dim = inputs.shape[1]
    hidden, step = np.empty(dim, np.float32), np.empty(dim, np.float32)
    draw = np.uint64(0)
    for chunk in range(len(offsets) - 1):
        begin, end = offsets[chunk], offsets[chunk + 1]
        for i in range(begin, end):
            rate = np.float32(first + (last - first) * i / len(ids))
            draw += np.uint64(1)
            reach = 1 + np.int64(mix(key ^ draw) % np.uint64(half_window))  # nearer words count for more
            low, high = max(begin, i - reach), min(end, i + reach + 1)
            size = high - low - 1
            if size == 0:
                continue
            hidden[:] = 0
            step[:] = 0
            for j in range(low, high):
                if j != i:
                    for k in range(dim):
                        hidden[k] += inputs[ids[j], k]
            for k in range(dim):
                hidden[k] /= np.float32(size)
            for n in range(negatives + 1):
                target = np.int64(ids[i])
                if n > 0:
                    draw += np.uint64(1)
                    share = np.float64(mix(key ^ draw) >> np.uint64(11)) / np.float64(1 << 53)
                    target = np.searchsorted(chances, share)
                    if target == ids[i]:
                        continue
                product = np.float32(0)
                for k in range(dim):
                    product += hidden[k] * targets[target, k]
                slope = rate * (np.float32(n == 0) - np.float32(1) / (np.float32(1) + np.exp(-product)))
                for k in range(dim):
                    step[k] += slope * targets[target, k]
            for j in range(low, high):
                if j != i:
                    for k in range(dim):
                        inputs[ids[j], k] += step[k]
