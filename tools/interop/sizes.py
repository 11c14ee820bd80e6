#!/usr/bin/env python3
"""Records cases at odd sizes from live DALI: sizes.py OUT FILES (testdata/dali/ops/sizes, testdata/dali/inputs).

Pictures of 1x1, 3x7 and 2000x17, of 1 to 5 channels, sequences, volumes, batches of 257, NaN and
infinities, regions that are negative or outside, and every argument of an operator. Writes
OUT/cases.json as cases.py does. Inputs are made from a formula, and results of more than a few
numbers are kept as a hash, so they have to be equal to the bit. `sizes.py OUT FILES 20 7` records
20 times as many, with another seed, to look for differences. Two runs give the same bytes.
"""
import json
import os
import signal
import sys

import numpy as np

import cases
from cases import N, R, enum, f, literal, maybe
import sizes_more

TIMES = 1
PLACES = [(1, 1), (3, 7), (7, 3), (1, 9), (9, 1), (2, 300), (300, 2), (17, 16), (16, 33), (31, 64), (2000, 17), (17, 2000)]
SMALL = [(1, 1), (3, 7), (7, 3), (1, 9), (9, 1), (4, 4), (5, 6)]
INTERPS = ["NN", "LINEAR", "CUBIC", "TRIANGULAR", "LANCZOS3", "GAUSSIAN"]


def made(shape, dtype="uint8", layout=None, mod=None, add=None, odd=None):
    """An input whose element k is (k * mul % mod + add) / over, but for those of odd."""
    real = dtype.startswith("float")
    mod = mod or (251 if dtype == "uint8" else 1999 if real else 101)
    add = add if add is not None else 0 if dtype.startswith("uint") else -(mod // 2)
    m = {"shape": list(shape), "mul": R.choice([7, 89, 163]), "mod": mod, "add": add, "over": 8 if real else 1, **({"odd": odd} if odd else {})}
    return {"made": m, "dtype": dtype, **({"layout": layout} if layout else {})}


def array(s):
    m = s["made"]
    k = np.arange(int(np.prod(m["shape"])), dtype=np.int64)
    a = ((k * m["mul"] % m["mod"] + m["add"]) / m["over"]).astype(s["dtype"])
    for i, v in m.get("odd", {}).items():
        a[int(i)] = float(v)
    return a.reshape(m["shape"])


def picture(places=PLACES, dtypes=("uint8", "uint8", "float32", "int16"), channels=(1, 2, 3, 3, 5), frames=0.15):
    h, w = R.choice(places)
    dtype, c = R.choice(dtypes), R.choice(channels)
    if h * w < 600 and maybe(frames):
        return made((R.randint(1, 4), h, w, c), dtype, "FHWC")
    return made((h, w, c), dtype, "HWC")


def volume(dtypes=("uint8", "float32")):
    return made((R.randint(1, 6), R.randint(1, 7), R.randint(1, 8), R.choice([1, 3])), R.choice(dtypes), "DHWC")


def some(p=0.4, **words):
    """Some of the arguments, each with what its function gives."""
    return {k: v() for k, v in words.items() if maybe(p)}


def pick(*values):
    return lambda: R.choice(values)


def number(lo, hi):
    return lambda: f(lo, hi)


def samples(n, one, dtype="float32"):
    """An argument that differs from sample to sample."""
    return {"tensor": [one() for _ in range(n)], "dtype": dtype}


def times(n):
    return range(n * TIMES)


def warps():
    dtypes = ("uint8", "uint8", "float32", "int16", "int32")
    kinds = ["FLOAT", "FLOAT", "UINT8", "INT16"]
    matrices = [lambda: [1.0, 0.0, R.choice([0.0, 1.0, -2.0, 0.5]), 0.0, 1.0, R.choice([0.0, 3.0, -1.0, 0.5])],
                lambda: [0.0, -1.0, f(-9, 9), 1.0, 0.0, f(-9, 9)], lambda: [R.choice([0.5, 2.0, 3.0]), 0.0, 0.0, 0.0, R.choice([0.5, 2.0, 0.25]), 0.0],
                lambda: [f(-2, 2), f(-2, 2), f(-9, 9), f(-2, 2), f(-2, 2), f(-9, 9)]]
    for k in times(36):
        n, matrix = R.choice([1, 1, 2]), R.choice(matrices)
        x = [picture(dtypes=dtypes) if n == 1 else made((*R.choice(SMALL), 3), "uint8", "HWC") for _ in range(n)]
        a = some(interp_type=pick(enum("INTERP_NN"), enum("INTERP_LINEAR")), fill_value=number(-9, 255), inverse_map=pick(False, True), dtype=lambda: enum(R.choice(kinds)))
        if maybe(0.3):
            a["size"] = [R.choice([1, 3, 17, 200]), R.choice([1, 7, 33])]
        if k % 5 == 4:
            d = volume()
            m = [f(-1, 1) for _ in range(12)]
            a.pop("size", None)
            cases.record("warp_affine", [[d]], {**a, "matrix": m, **({"size": [R.randint(1, 5) for _ in range(3)]} if maybe() else {})})
        elif k % 5 == 3:
            cases.record("warp_affine", [x, [literal(np.array(matrix(), np.float32).reshape(2, 3)) for _ in range(n)]], a)
        else:
            cases.record("warp_affine", [x], {**a, "matrix": matrix() if maybe() else samples(n, lambda: np.reshape(matrix(), (2, 3)).tolist())})
    for _ in times(3):
        cases.record("warp_affine", [[picture(SMALL, ("float32",))]], {"matrix": R.choice(matrices)(), "output_dtype": enum(R.choice(kinds))})
    turn = lambda: R.choice([0.0, 90.0, -90.0, 180.0, 270.0, 45.0, 30.0, -135.0, 360.0, f(-400, 400)])
    for k in times(36):
        n = R.choice([1, 1, 2])
        x = [picture(dtypes=dtypes) if n == 1 else made((*R.choice(SMALL), 3), "uint8", "HWC") for _ in range(n)]
        a = some(interp_type=pick(enum("INTERP_NN"), enum("INTERP_LINEAR")), fill_value=number(-9, 255), keep_size=pick(True), dtype=lambda: enum(R.choice(kinds)))
        if maybe(0.3):
            a["size"] = [R.choice([1, 3, 17, 200]), R.choice([1, 7, 33])]
        if k % 4 == 3:
            x, n = [volume()], 1
            a["axis"] = R.choice([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [f(-1, 1), f(-1, 1), f(0.1, 1)]])
            if "size" in a:
                a["size"] = [R.randint(1, 5) for _ in range(3)]
        cases.record("rotate", [x], {**a, "angle": turn() if maybe() else samples(n, turn)})
    for _ in times(3):
        cases.record("rotate", [[picture(SMALL, ("float32",))]], {"angle": turn(), "output_dtype": enum(R.choice(kinds))})


def sides(full):
    return {"size": lambda: [R.choice(full), R.choice(full)], "resize_x": pick(*full), "resize_y": pick(*full), "resize_shorter": pick(*full), "resize_longer": pick(*full)}


def sized(full=(1, 2, 3, 4, 7, 16, 40)):
    """One way to say how large a picture becomes, with a mode and a limit."""
    ways = sides(full)
    kind = R.choice(list(ways))
    a = {kind: ways[kind]()}
    if kind in ("resize_x", "resize_y") and maybe(0.3):
        a = {"resize_x": R.choice(full), "resize_y": R.choice(full)}
    if kind in ("size", "resize_x", "resize_y"):
        a.update(some(0.5, mode=pick("stretch", "not_larger", "not_smaller", "default")))
    if kind == "resize_shorter" or a.get("mode") == "not_smaller":
        a.update(some(0.5, max_size=lambda: R.choice([5, 20, 100, [9, 30]])))
    return {**a, **some(0.3, subpixel_scale=pick(False))}


def region(relative=None):
    if relative if relative is not None else maybe():
        return {"roi_start": [f(-0.2, 0.4), f(-0.2, 0.4)], "roi_end": [f(0.5, 1.2), f(0.5, 1.2)], "roi_relative": True}
    return {"roi_start": [f(-2, 3), f(-2, 3)], "roi_end": [f(4, 9), f(4, 9)]}


def filters():
    a = {"interp_type": enum("INTERP_" + R.choice(INTERPS))} if maybe(0.8) else {"min_filter": enum("INTERP_" + R.choice(INTERPS[1:])), "mag_filter": enum("INTERP_" + R.choice(INTERPS[1:]))}
    return {**a, **some(0.3, antialias=pick(False, False, True), dtype=lambda: enum("FLOAT"))}


def tame(a):
    """The arguments without a part that lies outside the picture, where DALI reads other memory with nearest neighbours."""
    if a.get("interp_type") == enum("INTERP_NN"):
        a.pop("alignment", None)
        a["subpixel_scale"] = False
        if "roi_start" in a:
            a.update(roi_start=[f(0, 0.4), f(0, 0.4)], roi_end=[f(0.5, 1), f(0.5, 1)], roi_relative=True)
    return a


def resizings():
    dtypes = ("uint8", "uint8", "float32", "int16", "uint16")
    for k in times(60):
        x = picture(dtypes=dtypes)
        a = {**filters(), **sized(), **(region() if maybe(0.3) else {})}
        if k % 6 == 5:  # very few pixels of many
            x, a = made((R.choice([1, 5, 900]), R.choice([700, 1500]), R.choice([1, 3])), "uint8", "HWC"), {"interp_type": enum("INTERP_LANCZOS3"), "size": [R.randint(1, 4), R.randint(1, 4)], **some(antialias=pick(False))}
        cases.record("resize", [[x]], tame(a))
    for _ in times(8):
        a = {**filters(), "save_attrs": True, **some(resize_x=pick(3, 9), resize_y=pick(2, 5), resize_z=pick(1, 4)), **({"roi_start": [f(0, 1)] * 3, "roi_end": [f(1, 3)] * 3} if maybe(0.3) else {})}
        cases.record("resize", [[volume()]], {"resize_z": 3, **a})
        n = R.randint(2, 4)
        cases.record("resize", [[made((*R.choice(SMALL), 3), "uint8", "HWC") for _ in range(n)]], {**filters(), "size": samples(n, lambda: [R.randint(1, 9) + 0.0, R.randint(1, 9) + 0.0])})
        cases.record("resize", [[made((R.choice([1, 3]), *R.choice(SMALL)), "uint8", "CHW")]], {**filters(), **sized((1, 3, 8))})
    for _ in times(40):
        x = picture(SMALL + [(17, 33), (60, 5)], dtypes)
        a = {**filters(), **some(0.3, subpixel_scale=pick(False), size_rounding=pick("truncate", "ceil", "round"))}
        two = R.choice([{"axes": [0, 1]}, {"axes": [1, 0]}, {"axis_names": "HW"}, {"axis_names": "WH"}])
        if x["layout"] == "FHWC":
            two = {"axis_names": "HW"}
        way = R.choice([{"sizes": [R.choice([1, 3, 7.4, 20]) + 0.0, R.choice([1, 5.5, 9]) + 0.0], **some(0.5, mode=pick("stretch", "not_larger", "not_smaller"))}, {"scales": [f(0.3, 2.5), f(0.3, 2.5)]}])
        if way.get("mode") == "not_smaller":
            way.update(some(0.6, max_size=pick(9, 14)))
        a.update(region() if maybe(0.4) else {})
        cases.record("tensor_resize", [[x]], tame({**a, **way, **two, **some(0.3, alignment=lambda: R.choice([0.0, 1.0, [0.0, 1.0], f(0, 1)]))}))
    for _ in times(40):
        x = picture([(12, 9), (40, 31), (9, 60), (17, 16)], dtypes, frames=0.1)
        a = {**filters(), **sized((9, 12, 20)), **(region(True) if maybe(0.3) else {})}
        a.pop("max_size", None)
        if "resize_shorter" in a and maybe():
            a["max_size"] = R.choice([20, 40])
        cut = R.choice([{"crop": [R.randint(1, 4), R.randint(1, 4)]}, {"crop_h": R.randint(1, 4) + 0.0, "crop_w": R.randint(1, 4) + 0.0}, {"crop": [f(1, 4), f(1, 4)], "rounding": R.choice(["round", "truncate"])}])
        cases.record("resize_crop_mirror", [[x]], tame({**a, **cut, **some(0.4, crop_pos_x=number(0, 1), crop_pos_y=number(0, 1), **({} if x["layout"] == "FHWC" else {"mirror": lambda: R.randint(0, 1)}))}))
    for _ in times(12):
        cases.record("resize_crop_mirror", [[made((6, 7, 8, 2), "uint8", "DHWC")]], {**filters(), **R.choice([{"resize_z": R.randint(5, 9)}, {"resize_y": R.randint(7, 12)}]), "crop_d": 3.0, "crop_h": 4.0, "crop_w": 5.0,
                                                                                     **some(0.6, crop_pos_z=number(0, 1), crop_pos_y=number(0, 1))})
        name = "fast_resize_crop_mirror"
        x = picture([(12, 9), (40, 31), (9, 60)], ("uint8",), frames=0)
        a = R.choice([{"resize_y": R.randint(9, 20)}, {"resize_longer": R.randint(30, 60)}, {"resize_shorter": R.randint(9, 20), "max_size": R.randint(9, 30)}, {"resize_x": R.randint(9, 20), "subpixel_scale": False}])
        cases.record(name, [[x]], {**a, "crop": [f(1, 4), f(1, 4)], **some(0.6, mag_filter=lambda: enum("INTERP_" + R.choice(INTERPS[1:])), min_filter=lambda: enum("INTERP_" + R.choice(INTERPS[1:])), rounding=pick("truncate"))})
    cases.record("fast_resize_crop_mirror", [[made((6, 7, 8, 2), "uint8", "DHWC")]], {"resize_z": 9, "crop_d": 2.0, "crop_h": 3.0, "crop_w": 3.0, "crop_pos_z": 0.1})
    for k in times(40):
        nn = enum("INTERP_NN")
        a = {"size": [R.choice([1, 3, 7, 20]), R.choice([1, 5, 16])], "seed": R.randint(0, 10 ** 6), **({"interp_type": nn} if k % 2 else filters()),
             **some(0.3, random_area=lambda: [f(0.001, 0.2), f(0.3, 1)], random_aspect_ratio=lambda: [f(0.1, 1), f(1, 9)], num_attempts=pick(1, 2))}
        cases.record("random_resized_crop", [[picture(dtypes=("uint8", "uint8", "float32"), frames=0.1)]], a, iters=2)
    for _ in times(8):
        shape = literal(np.array([R.randint(1, 900), R.randint(1, 900)], dtype=np.int64))
        a = {"seed": R.randint(0, 10 ** 6), "random_area": [0.5, 1.0], "random_aspect_ratio": [f(0.05, 0.2), f(5, 20)], "num_attempts": R.choice([1, 2, 3])}
        cases.record("random_crop_generator", [[shape]], a, iters=3)


def apart(record):
    """Records a case in a process of its own. A case at which DALI's process ends is left out."""
    def one(*args, **words):
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            signal.alarm(20)
            record(*args, **words)
            with os.fdopen(write, "w") as to:
                json.dump(cases.CASES[-1], to)
            os._exit(0)
        os.close(write)
        with os.fdopen(read) as got:
            text = got.read()
        if os.waitpid(child, 0)[1]:
            print("DALI's process ended:", args, words)
        else:
            cases.CASES.append(json.loads(text))
    return one


if __name__ == "__main__":
    os.makedirs(sys.argv[1], exist_ok=True)
    out, cases.FILES = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    TIMES, seed = int(sys.argv[3]) if len(sys.argv) > 3 else 1, int(sys.argv[4]) if len(sys.argv) > 4 else 8
    only = sys.argv[5:]
    cases.INLINE = int(os.environ.get("SIZES_INLINE", cases.INLINE))  # a large number shows what differs
    os.chdir(cases.FILES)
    literals = cases.given
    cases.given = lambda s: array(s) if "made" in s else literals(s)
    cases.record = apart(cases.record)
    for family in (warps, resizings, *sizes_more.families(sys.modules[__name__])):
        R.seed(seed)
        N.seed(seed)
        if not only or family.__name__ in only:
            family()
    for c in cases.CASES:
        for o in c.get("outputs", ()):
            if "data" in o or "f32" in o:
                del o["sha256"]
    with open(os.path.join(out, "cases.json"), "w") as to:
        to.write("[\n" + ",\n".join(json.dumps(c, separators=(",", ":")) for c in cases.CASES) + "\n]\n")
    print(len(cases.CASES), "cases,", sum("error" in c for c in cases.CASES), "with errors")
