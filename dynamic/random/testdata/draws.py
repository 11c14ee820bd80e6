"""Records what DALI's dynamic mode draws: draws.py > draws.json (nvidia-dali 2.4.0).

Each case is an operator, its arguments, a seed and the calls made with one generator: for each call
its batch size (null: a Tensor), the outputs as hexadecimal bytes of each sample, or their hash, with shape and
dtype, and the state of the generator after it.
"""
import hashlib
import json

import numpy as np
import nvidia.dali.experimental.dynamic as ndd
import nvidia.dali.types as types

SEEDS = [0, 1, 42, 2**63 + 5]
CALLS = [None, 1, 3, None, 2]


def sample(x):
    a = np.ascontiguousarray(np.array(x))
    r = {"shape": list(a.shape), "dtype": str(a.dtype)}
    if a.nbytes > 128:
        return r | {"sha256": hashlib.sha256(a.tobytes()).hexdigest()}
    return r | {"bytes": a.tobytes().hex()}


def values(x):
    return [sample(t) for t in x] if isinstance(x, ndd.Batch) else [sample(x)]


def image():
    return (np.arange(20 * 30 * 3) % 251).astype(np.uint8).reshape(20, 30, 3)


def ramp(dtype):
    return (np.arange(12) * 5 % 256).astype(dtype).reshape(3, 4)


# name -> (function, input or None, layout)
def function(name):
    f = ndd
    for part in name.split("."):
        f = getattr(f, part)
    return f


CASES = [
    ("random.uniform", None, {"range": [0.0, 1.0]}),
    ("random.uniform", None, {"range": [-2.0, 3.0], "shape": [3]}),
    ("random.uniform", None, {"range": [0.0, 10.0], "dtype": "INT32", "shape": [2]}),
    ("random.uniform", None, {"range": [0.0, 1.0], "dtype": "FLOAT64", "shape": [2]}),
    ("random.uniform", None, {"range": [0.0, 256.0], "dtype": "UINT8", "shape": [4]}),
    ("random.uniform", None, {"values": [1.0, 2.0, 5.0], "shape": [4]}),
    ("random.normal", None, {"shape": [2]}),
    ("random.normal", None, {"mean": 10.0, "stddev": 3.0, "dtype": "FLOAT64"}),
    ("random.coin_flip", None, {}),
    ("random.coin_flip", None, {"probability": 0.25, "shape": [8], "dtype": "UINT8"}),
    ("random.beta", None, {"alpha": 2.0, "beta": 3.0, "shape": [2]}),
    ("random.choice", 5, {"shape": [3]}),
    ("random.choice", 3, {"p": [0.1, 0.2, 0.7], "shape": [3]}),
    ("noise.gaussian", "float32", {"stddev": 2.0}),
    ("noise.gaussian", "uint8", {"stddev": 20.0}),
    ("noise.salt_and_pepper", "uint8", {"prob": 0.5}),
    ("noise.shot", "float32", {"factor": 3.0}),
    ("random_crop_generator", "shape", {}),
    ("random_resized_crop", "image", {"size": [2, 3], "interp_type": "INTERP_NN", "antialias": False}),
    ("batch_permutation", None, {}),
    ("batch_permutation", None, {"allow_repetitions": True}),
    ("batch_permutation", None, {"no_fixed_points": True}),
    ("decoders.image_random_crop", "ppm", {}),
    ("decoders.image_random_crop", "ppm", {"random_area": [0.1, 0.5], "random_aspect_ratio": [0.5, 2.0]}),
    ("random_bbox_crop", "boxes", {"thresholds": [0.0, 0.3, 0.6], "bbox_layout": "xyXY"}),
    ("roi_random_crop", None, {"crop_shape": [4, 5], "roi_start": [2, 3], "roi_shape": [8, 9], "in_shape": [20, 30]}),
]

INPUTS = {"float32": (ramp(np.float32), ""), "uint8": (ramp(np.uint8), ""), "image": (image(), "HWC"),
          "shape": (np.array([20, 30, 3]), ""),
          "ppm": (np.frombuffer(b"P6\n30 20\n255\n" + image().tobytes(), np.uint8).copy(), ""),
          "boxes": (np.array([[0.1, 0.2, 0.5, 0.7], [0.4, 0.1, 0.9, 0.6]], np.float32), "")}


def run(name, source, args, seed):
    rng, calls = ndd.random.RNG(seed), []
    kw = {k: getattr(types, v) if k in ("dtype", "interp_type") else v for k, v in args.items()}
    for size in CALLS:
        if name == "batch_permutation" and size is None:
            size = 5
        given, more = [], {}
        if isinstance(source, str):
            array, layout = INPUTS[source]
            t = ndd.tensor(array, layout=layout or None)
            given = [t if size is None else ndd.batch([array] * size, layout=layout or None)]
        else:
            given = [] if source is None else [source]
            more = {} if size is None else {"batch_size": size}
        out = function(name)(*given, rng=rng, **kw, **more)
        out = out if isinstance(out, tuple) else (out,)
        calls.append({"batch": size, "outputs": [values(x) for x in out], "state": str(rng.state)})
    return {"op": name, "input": source, "args": args, "seed": seed, "calls": calls}


print("[" + ",\n".join(json.dumps(run(n, s, a, seed)) for n, s, a in CASES for seed in SEEDS) + "]")
