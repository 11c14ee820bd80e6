#!/usr/bin/env python3
"""Records cases of the colour and filter operators from live DALI: pictures.py OUT FILES (testdata/dali/ops/pictures, testdata/dali/inputs).

Writes OUT/cases.json in the format of testdata/dali/README.md. Every argument of every operator has
at least two values. Pictures are small; results that are exact are kept as a hash. Two runs give the
same bytes.
"""
import json
import os
import sys

import numpy as np

import cases
from cases import CASES, enum, literal, record

N = np.random.RandomState(11)
INF, NAN = float("inf"), float("nan")
SPACES = ("RGB", "BGR", "GRAY", "YCbCr")


def noise(*shape, dtype="uint8"):
    return N.randint(0, 256, shape).astype(dtype)


def smooth(h, w, c, dtype="uint8", top=255):
    """A slope with a little noise, so that neighbours are alike."""
    y, x, k = np.mgrid[:h, :w, :c]
    a = (y * 7 + x * 5 + k * 40 + N.randint(0, 9, (h, w, c))) % 256
    return (a * (top / 255)).astype(dtype)


def floats(*shape):
    """Numbers with few digits."""
    return (np.round(N.randn(*shape) * 64) / 4).astype(np.float32)


def one(a, layout="HWC"):
    return [literal(a, layout)]


def picture(op, inputs, args=None, exact=True, **more):
    record(op, inputs if isinstance(inputs[0], list) else [inputs], args, group=more.pop("group", "pictures"), exact=exact, **more)


def spaces():
    op = "color_space_conversion"
    for a in SPACES:
        channels = 1 if a == "GRAY" else 3
        for b in SPACES:
            args = {"image_type": enum(a), "output_type": enum(b)}
            picture(op, one(noise(9, 11, channels)), args)
            picture(op, one(noise(2, 3, 4, channels), "FHWC"), args)
        args = {"image_type": enum(a), "output_type": enum("BGR" if a == "RGB" else "RGB")}
        picture(op, one(noise(1, 1, channels)), args)
        picture(op, one(noise(3, 7, 4 - channels)), args)
        picture(op, one(noise(2, 2, 2, 3, channels), "FDHWC"), args)
        picture(op, one(noise(0, 3, channels)), args)
    args = {"image_type": enum("RGB"), "output_type": enum("YCbCr")}
    for k in range(4):
        picture(op, one(noise(20, 40, 3)), args)
        picture(op, one(noise(20, 40, 3)), {"image_type": enum("YCbCr"), "output_type": enum("RGB")})
    picture(op, one(noise(2, 2, 3, 3), "DHWC"), args)
    picture(op, one(noise(3, 3, 3), None), args)
    picture(op, one(noise(3, 4, 5), "CHW"), args)
    picture(op, one(noise(200, 17, 3)), args)
    picture(op, [literal(noise(1 + i % 3, 2, 3), "HWC") for i in range(257)], args)
    picture(op, one(noise(3, 3, 3)), {"image_type": enum("ANY_DATA"), "output_type": enum("RGB")})
    picture(op, one(noise(3, 3, 3)), {"image_type": enum("RGB"), "output_type": enum("ANY_DATA")})
    picture(op, one(noise(3, 3, 3)), {"image_type": enum("RGB")})
    for dtype in ("int8", "uint16", "float32"):
        picture(op, one(noise(3, 3, 3).astype(dtype)), args)


def equalizations(op="equalize"):
    for shape, layout in (((12, 15), "HW"), ((12, 15), None), ((9, 8, 1), "HWC"), ((9, 8, 3), "HWC"), ((9, 8, 5), "HWC"), ((2, 9, 8), "CHW"), ((3, 9, 8), "FHW"),
                          ((3, 4, 5, 2), "FHWC"), ((3, 2, 5, 6), "FCHW"), ((1, 1, 1), "HWC"), ((3, 7, 3), "HWC"), ((200, 17, 1), "HWC"), ((3, 4, 5, 2), None),
                          ((9, 8, 3), None), ((0, 8, 3), "HWC"), ((2, 2, 3, 4, 1), "FDHWC"), ((40,), None)):
        picture(op, one(noise(*shape) // 3 + 20, layout))
    if op != "equalize":
        return
    picture(op, one(np.full((4, 5, 1), 77, np.uint8)))
    picture(op, one(np.array([[0, 0, 0, 255], [0, 0, 9, 9]], np.uint8), "HW"))
    for k in range(6):
        picture(op, one(smooth(17, 23, 3, top=[255, 100, 9, 1, 30, 200][k])))
    picture(op, [literal(noise(1 + i % 4, 3, 2) // 2, "HWC") for i in range(257)])
    for dtype in ("int8", "uint16", "float32"):
        picture(op, one(noise(4, 4, 3).astype(dtype)))


def tiles():
    op, base = "clahe", {"tiles_x": 3, "tiles_y": 2, "clip_limit": 2.0}
    for c in (1, 3):
        for a in ({}, {"tiles_x": 1}, {"tiles_y": 5}, {"clip_limit": 0.0}, {"clip_limit": 0.5}, {"clip_limit": 40.0}, {"clip_limit": -1.0}, {"clip_limit": 3.7},
                  {"bins": 128}, {"bins": 100}, {"luma_only": False}, {"luma_only": False, "clip_limit": 5.0},
                  {"tiles_x": 8, "tiles_y": 8, "clip_limit": 4.0}):
            picture(op, one(smooth(24, 33, c)), {**base, **a})
        for h, w in ((1, 1), (3, 7), (200, 17), (2, 2), (16, 16), (31, 40)):
            picture(op, one(noise(h, w, c)), base)
    picture(op, one(smooth(20, 24, 1)[:, :, 0], "HW"), base)
    picture(op, one(smooth(20, 24, 3), None), base)
    picture(op, one(noise(6, 6, 2)), base)
    picture(op, one(noise(6, 6, 5)), base)
    picture(op, one(noise(2, 6, 6, 3), "FHWC"), base)
    picture(op, one(smooth(20, 24, 3).astype(np.float32)), base)
    picture(op, one(smooth(20, 24, 3)), {"tiles_x": 3, "clip_limit": 2.0})
    picture(op, one(smooth(20, 24, 3)), {"tiles_x": 3, "tiles_y": 2})
    picture(op, [literal(noise(2 + i % 3, 3, 1), "HWC") for i in range(257)], base)


FAMILIES = [spaces, equalizations, tiles]


def aliases():
    equalizations("experimental.equalize")


if __name__ == "__main__":
    os.makedirs(sys.argv[1], exist_ok=True)
    OUT, cases.FILES = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    for family in [*FAMILIES, aliases]:
        N.seed(FAMILIES.index(family) if family in FAMILIES else 99)
        family()
    with open(os.path.join(OUT, "cases.json"), "w") as out:
        out.write("[\n" + ",\n".join(json.dumps(c, separators=(",", ":")) for c in CASES) + "\n]\n")
    print(len(CASES), "cases,", sum("error" in c for c in CASES), "with errors")
