#!/usr/bin/env python3
"""Records cases of random operators from live DALI: draws.py OUT (testdata/dali/rng).

Writes OUT/OPERATOR_sNN.json in the format of testdata/dali/README.md: what each operator draws in
two or three iterations, and its state before each of them and after the last. Two runs give the same bytes.
"""
import json
import os
import random
import sys

import numpy as np
import nvidia.dali as dali
import nvidia.dali.fn as fn
import nvidia.dali.types as types

R = random.Random(5)


def f(lo, hi):
    return round(R.uniform(lo, hi), R.choice([1, 2, 3]))


def pick(**choices):
    """Some of these arguments, each with one of its values."""
    return {k: R.choice(v) for k, v in choices.items() if R.random() < 0.6}


def pixels(*dtypes):
    dtype = R.choice(dtypes)
    mod = {"uint8": 256, "float32": 50}.get(dtype, 2000)
    return {"shape": [R.randint(2, 4), R.randint(2, 4), R.choice([1, 3])], "dtype": dtype, "mul": R.randint(1, 19), "mod": R.randint(9, mod)}


def gaussian():
    return {"args": {**pick(mean=[0.0, f(-9, 9)]), "stddev": f(0, 30)}, "input": pixels("uint8", "float32", "int16")}


def pepper():
    a = pick(salt_vs_pepper=[0.0, 1.0, f(0, 1)], per_channel=[True, False], salt_val=[200.0, 7.0], pepper_val=[1.0, 5.0])
    return {"args": {**a, "prob": f(0, 1)}, "input": pixels("uint8", "float32", "int16")}


def shot():
    return {"args": {"factor": R.choice([0.0, f(0, 2), f(1, 60)])}, "input": pixels("uint8", "float32", "uint16")}


def beta():
    return {"args": {"alpha": f(0.1, 5), "beta": R.choice([1.0, f(0.1, 5)]), **pick(dtype=["FLOAT", "FLOAT64"], shape=[[4], [2, 3], []])}}


def choice():
    n = R.randint(1, 6)
    a = pick(shape=[[5], [2, 3], []])
    if R.random() < 0.5:
        cuts = sorted(R.randint(0, 16) for _ in range(n - 1))
        a["p"] = [(hi - lo) / 16 for lo, hi in zip([0, *cuts], [*cuts, 16])]  # their sum is 1 in float32
    return {"pos": R.choice([n, [R.randint(-9, 99) for _ in range(n)], [f(-1, 1) for _ in range(n)]]), "args": a}


def permutation():
    return {"args": pick(allow_repetitions=[True, False], no_fixed_points=[True, False])}


def normal():
    a = pick(mean=[0.0, f(-9, 9)], stddev=[0.0, f(0, 30)], dtype=["FLOAT", "FLOAT16", "FLOAT64", "INT32", "INT16", "UINT8", "INT64"])
    return {"args": {**a, "shape": R.choice([[1], [7], [3, 7], [300], []])}}


def flip():
    return {"args": {**pick(probability=[0.1, f(0, 1)], dtype=["BOOL", "UINT8", "INT32"]), "shape": R.choice([[1], [7], []])}}


def uniform():
    return {"args": {**pick(range=[[0.0, f(1, 9)]], dtype=["FLOAT", "FLOAT64", "INT16"]), "shape": R.choice([[1], [7], []])}}


FAMILIES = {"noise.gaussian": gaussian, "noise.salt_and_pepper": pepper, "noise.shot": shot, "random.beta": beta, "random.choice": choice,
            "batch_permutation": permutation, "random.normal": normal}
OLDER = {"coin_flip": flip, "uniform": uniform, "normal_distribution": normal}  # names that DALI deprecates; older.py has more of them


def build(c):
    args = dict(c["args"])
    if "dtype" in args:
        args["dtype"] = getattr(types, args["dtype"])
    operands = [c["pos"]] if "pos" in c else []
    if "input" in c:
        i = c["input"]
        values = np.arange(int(np.prod(i["shape"]))) * i["mul"] % i["mod"]
        operands = [types.Constant(values.reshape(i["shape"]).astype(i["dtype"]))]
    g = fn
    for part in c["op"].split("."):
        g = getattr(g, part)
    return g(*operands, **args)


def fields(b):
    """The fields of a protobuf message: number and value."""
    i = 0

    def varint():
        nonlocal i
        v = shift = 0
        while True:
            v |= (b[i] & 127) << shift
            shift, i = shift + 7, i + 1
            if b[i - 1] < 128:
                return v

    while i < len(b):
        key = varint()
        n = varint()
        if key & 7 == 2:
            yield key >> 3, b[i:i + n]
            i += n


def states(p):
    """The names and states of the random operators, from a checkpoint."""
    found = []
    for number, message in fields(p.checkpoint()):
        if number == 1:
            entry = dict(fields(message))
            if entry.get(2, b"").startswith(b"Philox_"):
                found.append([entry[1].decode(), entry[2].decode()])
    return found


def sample(a):
    e = {"shape": list(a.shape), "dtype": str(a.dtype)}
    bits = {"float32": ("f32", "%08x", np.uint32), "float64": ("f64", "%016x", np.uint64), "float16": ("f16", "%04x", np.uint16)}.get(e["dtype"])
    if bits:
        e[bits[0]] = [bits[1] % v for v in np.ascontiguousarray(a).view(bits[2]).ravel()]
    else:
        e["data"] = a.ravel().tolist()
    return e


def record(c):
    e = {"name": c["name"], "params": c}
    try:
        with dali.Pipeline(batch_size=c["batch_size"], num_threads=c["num_threads"], device_id=None, seed=c["pipe_seed"], enable_checkpointing=True) as p:
            p.set_outputs(*[build(c) for _ in range(c["copies"])])
        p.build()
        e["iterations"], e["states"] = [], [states(p)]
        for _ in range(c["iters"]):
            e["iterations"].append([[sample(np.array(t.at(i))) for i in range(len(t))] for t in p.run()])
            e["states"].append(states(p))
    except Exception as x:
        text = str(x)
        e = {"name": c["name"], "params": c, "error": {"type": type(x).__name__, "message": text[text.find("ncountered:") + 11:].strip()[:200]}}
    return e


def main(out):
    all = [(op, family, 14) for op, family in FAMILIES.items()] + [(op, family, 4) for op, family in OLDER.items()]
    errors = 0
    for op, family, count in all:
        for k in range(count):
            c = {"name": "%s_s%02d" % (op.replace(".", "_"), k), "op": op, "batch_size": R.randint(1, 4), "num_threads": R.randint(1, 3),
                 "pipe_seed": R.choice([1, 77, 2 ** 40 + 5]), "copies": R.choice([1, 1, 2]), "iters": R.randint(2, 3), **family()}
            if R.random() < 0.5:
                c["args"]["seed"] = R.choice([0, 3, 10 ** 6, 2 ** 33 + 1])
            e = record(c)
            errors += "error" in e
            with open(os.path.join(out, c["name"] + ".json"), "w") as to:
                json.dump(e, to)
                to.write("\n")
    print(sum(count for _, _, count in all), "cases,", errors, "with errors")


if __name__ == "__main__":
    main(sys.argv[1])
