"""Writes golden.json: numbers of NumPy that the shared vectors leave out."""
import hashlib
import json
import os

import numpy as np


def sha(a):
    return hashlib.sha256(np.asarray(a, dtype="<i8").tobytes()).hexdigest()


out = {"numpy": np.__version__, "cases": []}
for seed in (0, 7, 2**32 - 1, 2**63 - 1, 2**64 - 1):
    p, x = np.random.PCG64(seed), np.random.Philox(key=seed)
    p.advance(123456789012345678)
    x.random_raw(3)
    x.advance(2**40 + 3)
    g = np.random.default_rng(seed)
    first = [int(g.integers(0, 3)), int(g.integers(0, 2**40)), int(g.integers(-5, 2**62)), int(g.integers(0, 3))]
    out["cases"].append({
        "seed": str(seed),
        "words": [str(v) for v in np.random.SeedSequence([seed & 0xFFFFFFFF, seed >> 32, 5, 0, 9, 1]).generate_state(6, np.uint32)],
        "advanced": [str(v) for v in p.random_raw(2)],
        "philox_advanced": [str(v) for v in x.random_raw(2)],
        "mixed": [str(v) for v in first],
        "permutation_100003": sha(np.random.default_rng(seed).permutation(100003)),
        "choice_20000_500": sha(np.random.default_rng(seed).choice(20000, 500, False)),
        "choice_20000_400": sha(np.random.default_rng(seed).choice(20000, 400, False)),
        "choice_9_9": np.random.default_rng(seed).choice(9, 9, False).tolist(),
        "randomstate_100003": sha(np.random.RandomState(seed & 0xFFFFFFFF).permutation(100003)),
    })
json.dump(out, open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "golden.json"), "w"), indent=1)
