#!/usr/bin/env python3
"""Records cases of operators under the names that DALI deprecates: older.py OUT (testdata/dali/ops/older).

Writes OUT/cases.json in the format of testdata/dali/README.md. Every argument of every operator has
at least two values. Two runs give the same bytes.
"""
import json
import os
import sys

import numpy as np

import cases
from cases import CASES, enum, literal, record

N = np.random.RandomState(9)


def older(op, args=None, inputs=(), **more):
    """A case of two samples and two runs. Without a seed of its own it takes the pipeline's."""
    if not inputs:
        more.setdefault("batch", 2)
    record(op, [list(col) for col in inputs], args, group="older", exact=False, **{"iters": 2, **more})


def per_sample(values, dtype="float32"):
    return {"tensor": values, "dtype": dtype}


LIKE = [[literal(np.zeros((2, 3), np.uint8)), literal(np.zeros((4, 1), np.uint8))]]  # inputs of two shapes


def distribution(op, some, dtypes, mistakes):
    """The arguments of all distributions; some are those of this one."""
    older(op)
    older(op, pipe_seed=77)
    older(op, {"shape": [5]})
    older(op, {"shape": [2, 3], "seed": 11})
    older(op, {"shape": [2, 3], "seed": 12})
    older(op, {"shape": per_sample([[2], [3]], "int32"), "seed": 13})
    older(op, {"shape": [], "seed": 2**33 + 1})
    older(op, {"seed": 14}, LIKE)
    older(op, {"bytes_per_sample_hint": 64, "preserve": True, "seed": 15})
    for dtype in dtypes:
        older(op, {"dtype": enum(dtype), "shape": [4], "seed": 16, **some[0]})
    for a in some:
        older(op, {"shape": [6], "seed": 17, **a})
        older(op, a, LIKE, pipe_seed=5)
    for a in mistakes:
        older(op, a)
    older(op, {"shape": [2]}, LIKE)


def distributions():
    distribution("coin_flip", [{"probability": 0.25}, {"probability": 0.9}, {"probability": per_sample([0.0, 1.0])}],
                 ["BOOL", "UINT8", "INT32"], [{"dtype": enum("FLOAT16")}])
    distribution("uniform", [{"range": [-4.0, 300.0]}, {"range": per_sample([[0.0, 1.0], [5.0, 6.0]])}, {"values": [1.0, 3.0, 8.5]},
                             {"values": per_sample([[1.0, 2.0], [7.0, 9.0]])}],
                 ["UINT8", "INT16", "INT64", "FLOAT16", "FLOAT64"], [{"range": [2.0, 1.0]}, {"range": [1.0]}])
    distribution("normal_distribution", [{"mean": 100.0, "stddev": 30.0}, {"stddev": 0.0}, {"mean": -3.5}, {"mean": per_sample([0.0, 50.0])},
                                         {"stddev": per_sample([1.0, 9.0])}],
                 ["UINT8", "INT32", "FLOAT16", "FLOAT64"], [{"dtype": enum("BOOL")}])


def translations():
    op = "transform_translation"
    matrices = lambda n: [[literal(np.round(N.randn(n, n + 1) * 8).astype(np.float32) / 4) for _ in range(2)]]
    once = {"iters": 1}
    for offset in ([2.5], [1.0, -2.0], [3.0, 4.0, 5.0], [0.0, 0.0], [1.0, 2.0, 3.0, 4.0], 7.0, [1, 2], per_sample([[1.0, 2.0], [-3.0, 0.5]]),
                   per_sample([[1.0], [2.0]])):
        older(op, {"offset": offset}, **once)
    for reverse in (False, True):
        for n, offset in ((1, [4.0]), (2, [1.5, -2.0]), (3, [1.0, 2.0, 3.0]), (2, per_sample([[1.0, 2.0], [-3.0, 0.5]]))):
            older(op, {"offset": offset, "reverse_order": reverse}, matrices(n), **once)
    for f in ("transform_translation", "transforms.translation"):  # an offset for each frame works with the newer name only
        frames = ["call", "fn.per_frame", [["name", "a"]], {}]
        transforms, offsets = [[literal(N.randint(0, 9, (3, *e)).astype(np.float32))] * 2 for e in ((2, 3), (2,))]
        record(f + " of frames", [transforms], ast=["call", "fn." + f, [frames], {"offset": ["list", [["const", 1.0], ["const", 2.0]]]}], group="older")
        record(f + ", offsets of frames", [offsets], ast=["call", "fn." + f, [], {"offset": frames}], group="older")
    older(op, {"offset": [1.0, 2.0], "preserve": True, "bytes_per_sample_hint": 24}, **once)
    older(op, {"offset": [1e30, -0.0]}, **once)
    older(op, **once)
    older(op, {"offset": []}, **once)
    older(op, {"offset": [1.0]}, matrices(2), **once)
    older(op, {"offset": [1.0, 2.0]}, [[literal(np.zeros((2, 2), np.float32))] * 2], **once)


if __name__ == "__main__":
    os.makedirs(sys.argv[1], exist_ok=True)
    cases.FILES = os.curdir
    distributions()
    translations()
    with open(os.path.join(sys.argv[1], "cases.json"), "w") as out:
        out.write("[\n" + ",\n".join(json.dumps(c, separators=(",", ":")) for c in CASES) + "\n]\n")
    print(len(CASES), "cases,", sum("error" in c for c in CASES), "with errors")
