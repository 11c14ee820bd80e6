#!/usr/bin/env python3
"""Records cases of the colour and filter operators from live DALI: pictures.py OUT FILES (testdata/dali/ops/pictures, testdata/dali/inputs).

Writes OUT/cases.json in the format of testdata/dali/README.md. Every argument of every operator has
at least two values. Pictures are small; results that are exact are kept as a hash. Two runs give the
same bytes.
"""
import json
import os
import sys
import warnings

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
        args = {"image_type": enum("RGB"), "output_type": enum("YCbCr")}
    for k in range(4):
        picture(op, one(noise(10, 20, 3)), args)
        picture(op, one(noise(10, 20, 3)), {"image_type": enum("YCbCr"), "output_type": enum("RGB")})
    picture(op, one(noise(2, 2, 3, 3), "DHWC"), args)
    picture(op, one(noise(3, 3, 3), None), args)
    picture(op, one(noise(3, 4, 5), "CHW"), args)
    picture(op, one(noise(40, 3, 3)), args)
    picture(op, [literal(noise(1, 1 + i % 2, 3), "HWC") for i in range(257)], args)
    picture(op, one(noise(3, 3, 3)), {"image_type": enum("ANY_DATA"), "output_type": enum("RGB")})
    picture(op, one(noise(3, 3, 3)), {"image_type": enum("RGB"), "output_type": enum("ANY_DATA")})
    picture(op, one(noise(3, 3, 3)), {"image_type": enum("RGB")})
    for dtype in ("int8", "uint16", "float32"):
        picture(op, one(noise(3, 3, 3).astype(dtype)), args)


def equalizations(op="equalize"):
    for shape, layout in (((12, 15), "HW"), ((12, 15), None), ((9, 8, 1), "HWC"), ((9, 8, 3), "HWC"), ((9, 8, 5), "HWC"), ((2, 9, 8), "CHW"), ((3, 9, 8), "FHW"),
                          ((3, 4, 5, 2), "FHWC"), ((3, 2, 5, 6), "FCHW"), ((1, 1, 1), "HWC"), ((3, 7, 3), "HWC"), ((40, 3, 1), "HWC"), ((3, 4, 5, 2), None),
                          ((9, 8, 3), None), ((2, 2, 3, 4, 1), "FDHWC"), ((40,), None)):
        picture(op, one(noise(*shape) // 3 + 20, layout))
    for k in range(4):
        picture(op, one(smooth(5 + k, 7, 3, top=60 * (k + 1))))
    if op != "equalize":
        return
    picture(op, one(np.full((4, 5, 1), 77, np.uint8)))
    picture(op, one(np.array([[0, 0, 0, 255], [0, 0, 9, 9]], np.uint8), "HW"))
    for k in range(6):
        picture(op, one(smooth(17, 23, 3, top=[255, 100, 9, 1, 30, 200][k])))
    for dtype in ("int8", "uint16", "float32"):
        picture(op, one(noise(4, 4, 3).astype(dtype)))


def tiles():
    op, base = "clahe", {"tiles_x": 3, "tiles_y": 2, "clip_limit": 2.0}
    for c in (1, 3):
        for a in ({}, {"tiles_x": 1}, {"tiles_y": 5}, {"clip_limit": 0.0}, {"clip_limit": 0.5}, {"clip_limit": 40.0}, {"clip_limit": -1.0}, {"clip_limit": 3.7},
                  {"bins": 128}, {"bins": 100}, {"luma_only": False}, {"luma_only": False, "clip_limit": 5.0},
                  {"tiles_x": 8, "tiles_y": 8, "clip_limit": 4.0}):
            picture(op, one(smooth(16, 21, c)), {**base, **a})
        for h, w in ((1, 1), (3, 7), (40, 3), (2, 2), (16, 16), (21, 30)):
            picture(op, one(noise(h, w, c)), base)
    picture(op, one(smooth(20, 24, 1)[:, :, 0], "HW"), base)
    picture(op, one(smooth(50, 40, 1, top=9)), {"tiles_x": 1, "tiles_y": 1, "clip_limit": 0.9})
    picture(op, one(smooth(20, 24, 3), None), base)
    picture(op, one(noise(6, 6, 2)), base)
    picture(op, one(noise(6, 6, 5)), base)
    picture(op, one(noise(2, 6, 6, 3), "FHWC"), base)
    picture(op, one(smooth(20, 24, 3).astype(np.float32)), base)
    picture(op, one(smooth(20, 24, 3)), {"tiles_x": 3, "clip_limit": 2.0})
    picture(op, one(smooth(20, 24, 3)), {"tiles_x": 3, "tiles_y": 2})


def laplacians():
    op = "laplacian"
    for a in ({}, {"window_size": 5}, {"window_size": 23}, {"window_size": [3, 7]}, {"smoothing_size": 1}, {"smoothing_size": [1, 5]}, {"smoothing_size": 23},
              {"scale": 0.5}, {"scale": [0.5, -0.25]}, {"scale": [0.3, 1.7]}, {"normalized_kernel": True}, {"normalized_kernel": True, "scale": 1.0},
              {"normalized_kernel": True, "window_size": [5, 3], "smoothing_size": 3}, {"dtype": enum("FLOAT")}, {"dtype": enum("FLOAT"), "scale": 0.1},
              {"dtype": enum("INT16")}, {"dtype": enum("UINT8")}, {"window_size": 4}, {"window_size": 1}, {"window_size": 25}, {"window_size": 31}, {"window_size": 33}, {"smoothing_size": 33}, {"smoothing_size": 2},
              {"smoothing_size": 0}, {"window_size": [3, 3, 3]}, {"scale": [1.0, 2.0, 3.0]}, {"window_size": 0}):
        picture(op, one(smooth(7, 9, 3)), a)
        picture(op, one(floats(5, 6, 2)), a)
    for dtype in ("int8", "uint16", "int16", "uint32", "int32", "uint64", "int64", "float16", "float64", "bool"):
        picture(op, one((floats(4, 5, 2) * 3).astype(np.int32).astype(dtype) if dtype[0] != "u" else smooth(4, 5, 2).astype(dtype)), {"scale": 0.5})
    for shape, layout in (((6,), None), ((6, 5), None), ((6, 5), "HW"), ((4, 3, 5), None), ((4, 3, 5), "DHW"), ((4, 3, 5, 2), "DHWC"), ((3, 4, 5, 2), "FHWC"),
                          ((2, 4, 5), "CHW"), ((3, 2, 4, 5), "FCHW"), ((2, 2, 3, 4, 2), "FDHWC"), ((1, 1, 1), "HWC"), ((3, 7, 3), "HWC"),
                          ((200, 5, 1), "HWC"), ((2, 3, 4, 5), None), ((3, 4, 2, 5), "FHCW")):
        picture(op, one(floats(*shape), layout), {"window_size": 3, "scale": 0.3})
    picture(op, one(floats(4, 3, 5, 2), "DHWC"), {"window_size": [3, 5, 3], "smoothing_size": [1, 3, 5], "scale": [0.1, 0.2, 0.3]})
    x = floats(6, 7, 1)
    x[2, 3], x[5, 5] = NAN, INF
    picture(op, one(x), {"window_size": 3})
    picture(op, [literal(noise(4, 5, 1), "HWC"), literal(noise(3, 3, 1), "HWC")], {"window_size": {"tensor": [3, 5], "dtype": "int32"}, "smoothing_size": {"tensor": [[1, 3], [3, 5]], "dtype": "int32"},
                                                                                  "scale": {"tensor": [0.5, 0.25], "dtype": "float32"}})
    picture(op, [literal(noise(1 + i % 2, 2, 1), "HWC") for i in range(257)], {})


WEIGHTS = np.array([[0.25, 0.5, -0.125], [0, 0.75, 0.3], [-0.6, 0.1, 0.2]], np.float32)


def filters(op="filter", few=False):
    def filtered(a, weights, args=None, layout="HWC", fill=None, exact=True, filters="HW"):
        inputs = [one(a, layout), one(weights, filters)] + ([one(fill, None)] if fill is not None else [])
        picture(op, inputs, args, exact=exact, group="pictures" if exact else "filter")
    for a in ({}, {"border": "reflect_1001"}, {"border": "wrap"}, {"border": "clamp"}, {"border": "constant"}, {"border": "edge"}, {"border": "reflect"},
              {"border": "none"}, {"anchor": 0}, {"anchor": [0, 2]}, {"anchor": [2, 1]}, {"anchor": [3, 1]}, {"anchor": -2}, {"anchor": [1, -1]},
              {"mode": "valid"}, {"mode": "full"}, {"mode": "valid", "anchor": 0}, {"dtype": enum("FLOAT")}, {"dtype": enum("INT16")}, {"dtype": enum("UINT8")},
              {"border": "wrap", "anchor": [0, 0], "dtype": enum("FLOAT")}):
        filtered(noise(7, 9, 3), WEIGHTS, a)
        if not few:
            filtered(floats(6, 7, 2), WEIGHTS, a)
            filtered(floats(5, 8, 1).astype(np.int16) * 40, WEIGHTS, a)
            filtered(smooth(5, 5, 1, "uint16", 60000), WEIGHTS, a)
    if few:
        return
    for k in ((1, 1), (1, 5), (4, 1), (2, 3), (7, 4), (9, 9)):
        w = (np.round(N.randn(*k) * 32) / 64).astype(np.float32)
        for border in ("reflect_101", "reflect_1001", "wrap", "clamp", "constant"):
            filtered(noise(4, 6, 1).astype(np.int16), w, {"border": border, "dtype": enum("FLOAT")})
            filtered(noise(3, 3, 2), w, {"border": border})
    filtered(noise(5, 6, 1), np.zeros((3, 3), np.float32))
    filtered(noise(16, 17, 1), (N.rand(12, 12) / 144).astype(np.float32), exact=False)
    filtered(noise(9, 9, 1).astype(np.int16), (N.rand(7, 8) / 56).astype(np.float32), exact=False)
    for shape, layout in (((6, 7), "HW"), ((6, 7), None), ((2, 6, 7), "CHW"), ((3, 4, 5), "FHW"), ((2, 4, 5, 3), "FHWC"), ((2, 2, 4, 5), "FCHW"), ((3, 4, 5), "DHW"),
                          ((3, 4, 5), None), ((2, 4, 5, 2), "DHWC"), ((2, 3, 4, 5), "CFHW"), ((1, 1, 1), "HWC"), ((3, 7, 5), "HWC"), ((40, 3, 1), "HWC"), ((8,), None)):
        filtered(noise(*shape).astype(np.int16), WEIGHTS, layout=layout)
    for dtype, fill in (("uint8", 200), ("int16", -300), ("uint16", 60000), ("float32", 2.5)):
        filtered(noise(4, 5, 3).astype(dtype), WEIGHTS, {"border": "constant"}, fill=np.array(fill, dtype))
        filtered(noise(4, 5, 1).astype(dtype), WEIGHTS, {"border": "constant", "anchor": [0, 2]}, fill=np.array(fill, dtype))
    filtered(noise(4, 5, 3), WEIGHTS, {"border": "constant"}, fill=np.array(2.5, np.float32))
    filtered(noise(4, 5, 3), WEIGHTS, {}, fill=np.array(7, np.uint8))
    filtered(noise(4, 5, 3), WEIGHTS.astype(np.float64))
    filtered(noise(4, 5, 3), WEIGHTS[0])
    filtered(noise(3, 4, 5, 1).astype(np.int16), np.stack([WEIGHTS, -WEIGHTS, WEIGHTS[::-1]]), layout="FHWC", filters="FHW")
    filtered(noise(2, 9, 1), WEIGHTS, {"mode": "valid"})
    for dtype in ("int8", "float16", "int32", "float64"):
        filtered(noise(4, 5, 1).astype(dtype), WEIGHTS)
    filtered(noise(4, 5, 1), WEIGHTS * 1000)
    filtered(noise(4, 5, 1).astype(np.int16), WEIGHTS * 1e9)
    x = floats(5, 6, 1)
    x[1, 2], x[3, 4] = NAN, INF
    filtered(x, WEIGHTS)
    filtered(x, np.array([[0, 1, 0]], np.float32))
    picture(op, [[literal(noise(4, 5, 1).astype(np.int16), "HWC"), literal(noise(3, 3, 1).astype(np.int16), "HWC")], [literal(WEIGHTS), literal(WEIGHTS[:2])]],
            {"anchor": {"tensor": [[0, 1], [1, 2]], "dtype": "int32"}})


def mosaics(op="debayer", few=False):
    for algorithm in (None, "bilinear_ocv", "edgeaware_ocv", "vng_ocv", "gray_ocv"):
        a = {"algorithm": algorithm} if algorithm else {}
        for blue in ([0, 0], [0, 1], [1, 0], [1, 1]):
            picture(op, one(noise(12, 26), "HW"), {**a, "blue_position": blue})
            if few:
                continue
            picture(op, one(smooth(14, 12, 1)), {**a, "blue_position": blue})
            picture(op, one(noise(8, 10, dtype="uint16") * 257, "HW"), {**a, "blue_position": blue})
        if few or not algorithm:
            continue
        for shape, layout in (((2, 2), "HW"), ((2, 8), "HW"), ((4, 4), None), ((4, 2), "HW"), ((6, 20), "HW"), ((30, 8), "HW"), ((3, 8, 8), "FHW"), ((2, 8, 12, 1), "FHWC"), ((8, 8, 1), None),
                              ((7, 8), "HW"), ((8, 7), "HW"), ((8, 8, 3), "HWC"), ((2, 8, 8), None), ((16,), None), ((10, 34), "HW")):
            picture(op, one(noise(*shape), layout), {**a, "blue_position": [0, 1]})
    if few:
        return
    for a in ({"blue_position": [2, 0]}, {"blue_position": [0, -1]}, {"blue_position": 0}, {"blue_position": [0, 1, 0]}, {}, {"algorithm": "nearest", "blue_position": [0, 0]},
              {"algorithm": "default_npp", "blue_position": [0, 0]}):
        picture(op, one(noise(4, 4), "HW"), a)
    for dtype in ("int8", "int16", "float32"):
        picture(op, one(noise(4, 4).astype(dtype), "HW"), {"blue_position": [0, 0]})
    picture(op, [literal(noise(4, 6), "HW"), literal(noise(8, 8), "HW"), literal(noise(2, 4), "HW")], {"blue_position": {"tensor": [[0, 1], [1, 1], [0, 0]], "dtype": "int32"}})
    for k in range(3):
        picture(op, one(smooth(20, 30, 1) // 2 + noise(20, 30, 1) // (k + 2)), {"algorithm": "vng_ocv", "blue_position": [k // 2, k % 2]})


def distortions():
    op = "jpeg_compression_distortion"
    for q in (None, 1, 2, 5, 10, 25, 49, 50, 51, 75, 90, 95, 99, 100, 0, -7, 200):
        picture(op, one(noise(17, 11, 3)), {"quality": q} if q is not None else {})
        picture(op, one(smooth(9, 18, 3)), {"quality": q} if q is not None else {})
    for h, w in ((1, 1), (1, 2), (2, 1), (3, 7), (7, 3), (2, 4), (5, 5), (8, 8), (9, 6), (40, 3), (16, 16), (15, 18), (18, 47)):
        picture(op, one(noise(h, w, 3)), {"quality": 80})
        picture(op, one(smooth(h, w, 3)), {"quality": 30})
    picture(op, one(noise(2, 6, 9, 3), "FHWC"), {"quality": 60})
    picture(op, one(noise(6, 9, 3), None), {"quality": 60})
    picture(op, one(noise(6, 9, 1)), {"quality": 60})
    picture(op, one(noise(3, 6, 9), "CHW"), {"quality": 60})
    picture(op, one(noise(6, 9, 3).astype(np.float32)), {"quality": 60})
    picture(op, [literal(noise(6, 5 + k, 3), "HWC") for k in range(5)], {"quality": {"tensor": [5, 40, 60, 95, 300], "dtype": "int32"}})


def resizings(op, size, more):
    nn = {"interp_type": enum("INTERP_NN")}
    for a in ({**size}, {**size, "antialias": False}, {**size, "antialias": True}, {**size, **nn}, {**size, "interp_type": enum("INTERP_CUBIC")}, {**size, "dtype": enum("FLOAT")},
              {**size, "mag_filter": enum("INTERP_NN")}, {**size, "min_filter": enum("INTERP_NN")}, {**size, "subpixel_scale": False}, {**size, "mode": "not_larger"},
              {**size, "roi_start": [1, 2], "roi_end": [6, 9]}, {**size, "roi_start": [0.25, 0.5], "roi_end": [1.0, 0.75], "roi_relative": True}, *more):
        if op == "experimental.tensor_resize":
            a = {"axes": [0, 1], **a}
        for x in (noise(9, 12, 3), floats(5, 7, 1)):
            picture(op, one(x), a, exact=x.dtype == np.float32, group="resize")


def aliases_of_resize():
    resizings("experimental.tensor_resize", {"sizes": [5.0, 7.3]}, [{"scales": [0.5, 1.7]}, {"sizes": [4.4, 9.0], "alignment": 0.0}, {"sizes": [4.4, 9.6], "size_rounding": "ceil"},
                                                                   {"sizes": [4.4, 9.6], "size_rounding": "truncate"}, {"sizes": [4.4, 9.0], "max_size": 7.0}, {}])
    resizings("fast_resize_crop_mirror", {"size": [5.0, 7.0], "crop": [3.0, 4.0]}, [{"size": [5.0, 7.0], "crop": [3.0, 4.0], "mirror": 1}, {"size": [5.0, 7.0], "crop": [3.0, 4.0], "mirror": 2},
              {"size": [5.0, 7.0], "crop": [2.0, 2.0], "crop_pos_x": 0.1, "crop_pos_y": 0.9}, {"resize_shorter": 4.0, "crop_h": 2.0, "crop_w": 3.0}, {"resize_x": 5.0, "crop": [2.0, 2.0], "rounding": "truncate"}])
    picture("fast_resize_crop_mirror", one(noise(2, 6, 8, 3), "FHWC"), {"size": [4.0, 5.0], "crop": [3.0, 3.0]}, exact=False, group="resize")


MATRIX = [1.05, 0.1, -3.0, -0.1, 0.95, 4.0, 0.008, -0.005, 1.0]


def perspectives():
    op = "experimental.warp_perspective"

    def warped(a, args=None, layout="HWC", **more):
        picture(op, one(a, layout), {"matrix": MATRIX, **(args or {})}, **more)
    for dtype in ("uint8", "uint16", "int16", "float32"):
        for c in (1, 2, 3, 4):
            a = noise(9, 19, c).astype(dtype) * (1 if dtype == "uint8" else 100)
            warped(a)
            warped(a, {"interp_type": enum("INTERP_NN"), "fill_value": 9.0})
            warped(a, {"size": [6.0, 35.0], "border_mode": ["replicate", "reflect", "reflect_101", "wrap"][c - 1]})
    for a in ({"border_mode": "replicate"}, {"border_mode": "reflect"}, {"border_mode": "reflect_101"}, {"border_mode": "wrap"}, {"border_mode": "clamp"},
              {"fill_value": [1.0, 2.0, 300.0]}, {"fill_value": 7.5}, {"fill_value": [1.0, 2.0]}, {"inverse_map": False}, {"pixel_origin": "center"}, {"pixel_origin": "middle"},
              {"inverse_map": False, "pixel_origin": "center"}, {"matrix": [1.0, 0.0, 0.5, 0.0, 1.0, 1.5, 0.0, 0.0, 1.0], "interp_type": enum("INTERP_NN")},
              {"matrix": [1.0, 0.0]}, {"size": [0.0, 4.4]}, {"size": [5.0]}, {"interp_type": enum("INTERP_LANCZOS3")}):
        warped(noise(9, 17, 3), a)
        warped(floats(6, 16, 3), a)
    for shape, layout in (((9, 8), "HW"), ((9, 8), None), ((9, 8, 3), None), ((2, 9, 8), "CHW"), ((3, 5, 8, 3), "FHWC"), ((2, 3, 5, 8), "FCHW"), ((9, 8, 5), "HWC"), ((1, 1, 1), "HWC"),
                          ((3, 7, 3), "HWC"), ((40, 3, 1), "HWC"), ((2, 5, 6, 3), None)):
        warped(noise(*shape), {"size": [4.0, 20.0]}, layout)
    warped(noise(4, 5, 3).astype(np.int32))
    for width in (8.0, 24.0, 29.0, 31.0):
        warped(floats(6, 20, 1), {"size": [4.0, width]})
    picture(op, one(noise(4, 5, 3)))
    m = np.array(MATRIX, np.float32).reshape(3, 3)
    picture(op, [one(noise(4, 5, 3)), one(m, None)])
    picture(op, [one(noise(4, 5, 3)), one(m.ravel(), None)])
    picture(op, [one(noise(4, 5, 3)), one(m.astype(np.float64), None)])
    picture(op, [one(noise(4, 5, 3)), one(m, None)], {"matrix": MATRIX})
    picture(op, [literal(noise(4, 5, 3), "HWC"), literal(noise(6, 3, 3), "HWC")], {"matrix": {"tensor": [m.tolist(), (m * 2).tolist()], "dtype": "float32"}, "size": {"tensor": [[3, 4], [2, 9]], "dtype": "float32"}})
    x = floats(6, 7, 1)
    x[2, 3], x[4, 4] = NAN, INF
    warped(x)


FAMILIES = [spaces, equalizations, tiles, laplacians, filters, mosaics, distortions, aliases_of_resize, perspectives]


def curves():
    op = "experimental.warp_perspective"

    def warped(a, args=None, layout="HWC"):
        picture(op, one(a, layout), {"matrix": MATRIX, "interp_type": enum("INTERP_CUBIC"), **(args or {})})
    for dtype in ("uint8", "uint16", "int16", "float32"):
        for c in (1, 2, 3, 4):
            a = noise(9, 19, c).astype(dtype) * (1 if dtype == "uint8" else 100)
            warped(a, {"fill_value": 9.0})
            warped(a, {"size": [6.0, 35.0], "border_mode": ["replicate", "reflect", "reflect_101", "wrap"][c - 1]})
    for a in ({"border_mode": "reflect"}, {"fill_value": [1.0, 2.0, 300.0]}, {"inverse_map": False}, {"pixel_origin": "center"}, {"inverse_map": False, "pixel_origin": "center"},
              {"matrix": [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0]}, {"matrix": [0.5, 0.0, 70.0, 0.0, 0.5, 2.0, 0.0, 0.0, 1.0], "fill_value": 3.7},
              {"matrix": [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.25, 0.0, -1.0], "fill_value": 5.0}, {"matrix": [1.0, 0.0], "border_mode": "wrap"}, {"size": [5.0]}):
        warped(noise(9, 17, 3), a)
        warped(floats(6, 16, 3), a)
    for shape, layout in (((9, 8), "HW"), ((9, 8), None), ((2, 9, 8), "CHW"), ((3, 5, 8, 3), "FHWC"), ((2, 3, 5, 8), "FCHW"), ((1, 1, 1), "HWC"), ((3, 3, 2), "HWC"),
                          ((40, 3, 1), "HWC"), ((4, 70, 1), "HWC")):
        warped(noise(*shape), {"size": [7.0, 90.0]}, layout)


def aliases():
    equalizations("experimental.equalize")
    filters("experimental.filter", few=True)
    mosaics("experimental.debayer", few=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    os.makedirs(sys.argv[1], exist_ok=True)
    OUT, cases.FILES = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    for family in [*FAMILIES, aliases, curves]:
        N.seed(FAMILIES.index(family) if family in FAMILIES else 99)
        family()
    with open(os.path.join(OUT, "cases.json"), "w") as out:
        out.write("[\n" + ",\n".join(json.dumps(c, separators=(",", ":")) for c in CASES) + "\n]\n")
    print(len(CASES), "cases,", sum("error" in c for c in CASES), "with errors")
