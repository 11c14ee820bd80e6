#!/usr/bin/env python3
"""Records cases of operators on boxes and masks: detection.py OUT FILES (testdata/dali/ops/detection, testdata/dali/inputs).

Writes OUT/cases.json in the format of testdata/dali/README.md, and one large mask into FILES. Each
argument of each operator takes values that change the output. Two runs give the same bytes.
"""
import io
import json
import os
import random
import sys

import numpy as np

import cases
from cases import enum, literal, record

R, N = random.Random(11), np.random.RandomState(11)
BATCH = 257
LARGE = "mask2000"


def rec(op, inputs, args=None, exact=True, **more):
    record(op, inputs, args, group="detection", exact=exact, **more)


def f(lo, hi):
    return round(R.uniform(lo, hi), R.choice([1, 2, 3, 6]))


def per_sample(values, dtype="float32"):
    return {"tensor": values, "dtype": dtype}


def boxes(n, ltrb=True):
    lo = N.rand(n, 2) * 0.7
    size = N.rand(n, 2) * (1 - lo)
    return np.concatenate([lo, lo + size if ltrb else size], 1).astype(np.float32)


ODD = np.array([[0.5, 0.5, 0.5, 0.5], [0.8, 0.9, 0.1, 0.2], [-0.5, -0.25, 1.5, 2.5], [0.0, 0.0, 1.0, 1.0]], np.float32)
BAD = np.array([[np.nan, 0.1, 0.5, 0.6], [0.1, 0.2, np.inf, 0.6], [-np.inf, 0.1, 0.3, np.nan]], np.float32)
NONE = np.zeros((0, 4), np.float32)


def short(a):
    """The numbers of an array, of float32 with as many digits as they need."""
    if a.dtype != np.float32:
        return a.tolist()
    return [short(x) for x in a] if a.ndim else float(np.format_float_scientific(a, unique=True))


def col(*arrays, layout=None):
    return [{**literal(np.asarray(a), layout), "value": short(np.asarray(a))} for a in arrays]


def empty(shape, dtype="float32"):
    """A literal has no extents behind an axis of none: inputs without rows are files."""
    name = "none_%s_%s" % (dtype, "x".join(map(str, shape)))
    np.save(os.path.join(cases.FILES, name + ".npy"), np.zeros(shape, dtype))
    return {"npy": name}


def flips():
    for ltrb in (True, False):
        for h in (0, 1):
            for v in (0, 1):
                rec("bb_flip", [col(boxes(R.randint(1, 6), ltrb))], {"ltrb": ltrb, "horizontal": h, "vertical": v})
        rec("bb_flip", [col(boxes(3, ltrb))], {"ltrb": ltrb})
        rec("bb_flip", [col(ODD)], {"ltrb": ltrb, "vertical": 1})
        rec("bb_flip", [col(BAD)], {"ltrb": ltrb, "vertical": 1})
        rec("bb_flip", [col(*[boxes(n, ltrb) for n in (1, 4, 2)])],
            {"ltrb": ltrb, "horizontal": per_sample([0, 1, 5], "int32"), "vertical": per_sample([1, 0, -1], "int32")})
    rec("bb_flip", [col(boxes(2))], {})
    rec("bb_flip", [[empty((0, 4))]], {"ltrb": True})
    rec("bb_flip", [col(boxes(1)[0])], {"ltrb": True})
    rec("bb_flip", [col(boxes(6).reshape(2, 3, 4))], {"ltrb": True})
    rec("bb_flip", [col(boxes(4).reshape(2, 8))], {"ltrb": True})
    rec("bb_flip", [col(boxes(3).astype(np.float64))], {"ltrb": True})
    rec("bb_flip", [col((boxes(3) * 9).astype(np.int32))], {"ltrb": True})
    rec("bb_flip", [col(*[boxes(1) for _ in range(BATCH)])], {"ltrb": True, "vertical": 1})


def pastes():
    for i in range(16):
        ltrb = i % 2 == 0
        a = {"ratio": R.choice([1.0, f(1, 2), f(1, 9)]), "ltrb": ltrb}
        for k in ("paste_x", "paste_y"):
            if R.random() < 0.7:
                a[k] = f(0, 1)
        rec("bbox_paste", [col(boxes(R.randint(1, 6), ltrb))], a)
    for ltrb in (True, False):
        rec("bbox_paste", [col(ODD)], {"ratio": 1.7, "ltrb": ltrb, "paste_x": 0.1, "paste_y": 0.9})
        rec("bbox_paste", [col(BAD)], {"ratio": 3.0, "ltrb": ltrb, "paste_x": 0.0, "paste_y": 1.0})
    rec("bbox_paste", [col(*[boxes(n) for n in (1, 3, 2)])],
        {"ratio": per_sample([1.5, 4.0, 1.0]), "paste_x": per_sample([0.2, 0.5, 0.9]), "paste_y": per_sample([0.0, 1.0, 0.3])})
    rec("bbox_paste", [[empty((0, 4))]], {"ratio": 2.0})
    rec("bbox_paste", [col(boxes(1)[0])], {"ratio": 2.0})
    rec("bbox_paste", [col(boxes(3)[:, :3])], {"ratio": 2.0})
    rec("bbox_paste", [col(boxes(4).reshape(2, 8))], {"ratio": 2.0})
    rec("bbox_paste", [col(boxes(3))], {"ratio": 0.5})
    rec("bbox_paste", [col(boxes(3))], {"ratio": 2.0, "paste_x": 1.5, "paste_y": -0.5})
    rec("bbox_paste", [col(boxes(3))], {})
    rec("bbox_paste", [col(boxes(3).astype(np.float64))], {"ratio": 2.0})
    rec("bbox_paste", [col(*[boxes(1) for _ in range(BATCH)])], {"ratio": 1.25, "ltrb": True})


def rotations():
    for i in range(40):
        ltrb, normal = R.random() < 0.5, R.random() < 0.6
        h, w = R.randint(1, 300), R.randint(1, 300)
        n = R.randint(1, 6)
        b = boxes(n, ltrb)
        if not normal:
            b = b * np.array([w, h, w, h], np.float32)
        a = {"angle": R.choice([f(-360, 360), f(-40, 40), 90.0, 180.0, 45.0, 0.0]), "bbox_layout": "xyXY" if ltrb else "xyWH", "bbox_normalized": normal}
        a["input_shape"] = [h, w]
        if R.random() < 0.4:
            a.update(R.choice([{"shape_layout": "WH", "input_shape": [w, h]}, {"shape_layout": "CHW", "input_shape": [3, h, w]}, {"input_shape": [h, w, 3]},
                               {"shape_layout": "HWC", "input_shape": [h, w, 3]}]))
        if R.random() < 0.6:
            a["mode"] = R.choice(["expand", "fixed", "halfway"])
        if R.random() < 0.5:
            a["keep_size"] = True
        elif R.random() < 0.4:
            a["size"] = [f(20, 300), f(20, 300)]
        if R.random() < 0.5:
            a["remove_threshold"] = R.choice([0.0, f(0, 1), 1.0])
        inputs = [col(b)]
        if R.random() < 0.6:
            labels = np.arange(10, 10 + n, dtype=np.int32)
            inputs.append(col(labels if R.random() < 0.5 else labels[:, None]))
        rec("bbox_rotate", inputs, a)
    base = {"angle": 33.0, "input_shape": [60, 90]}
    for b in (ODD, BAD):
        rec("bbox_rotate", [col(b)], base)
        rec("bbox_rotate", [col(b), col(np.arange(len(b), dtype=np.int32))], {**base, "keep_size": True, "mode": "halfway", "bbox_layout": "xyWH"})
        rec("bbox_rotate", [col(b)], {**base, "keep_size": True, "mode": "fixed", "remove_threshold": 0.0})
    corner = np.array([[0.0, 0.0, 0.05, 0.05], [0.4, 0.4, 0.6, 0.6], [0.97, 0.0, 1.0, 0.03]], np.float32)
    rec("bbox_rotate", [col(corner), col(np.arange(3, dtype=np.int32))], {"angle": 45.0, "input_shape": [60, 90], "keep_size": True, "remove_threshold": 0.0})
    rec("bbox_rotate", [col(corner), col(np.arange(3, dtype=np.int32))], {"angle": 45.0, "input_shape": [60, 90], "keep_size": True})
    rec("bbox_rotate", [col(boxes(2), boxes(3), boxes(1)), col(*[np.arange(n, dtype=np.int32) for n in (2, 3, 1)])],
        {"angle": per_sample([10.0, -70.0, 181.0]), "input_shape": per_sample([[40, 50], [7, 9], [100, 30]], "int32"), "size": per_sample([[40.5, 50.2], [9, 9], [33, 44]])})
    rec("bbox_rotate", [col(boxes(2), boxes(3))],
        {"angle": per_sample([[10.0], [-70.0]]), "input_shape": per_sample([[40, 50, 3], [7, 9, 1]], "int64"), "keep_size": True})
    rec("bbox_rotate", [[empty((0, 4))], [empty((0,), "int32")]], base)
    rec("bbox_rotate", [[empty((0, 4))], [empty((0, 1), "int32")]], base)
    rec("bbox_rotate", [col(boxes(3))], {"input_shape": [60, 90]})
    rec("bbox_rotate", [col(boxes(3))], {"angle": 3.0})
    for extra in ({"bbox_layout": "xywh"}, {"bbox_layout": "yxYX"}, {"mode": "other"}, {"keep_size": True, "size": [9.0, 9.0]}, {"remove_threshold": 1.5}, {"remove_threshold": -0.5},
                  {"input_shape": [5]}, {"shape_layout": "WC"}, {"size": [9.0]}, {"input_shape": [0, 9]}, {"shape_layout": "HWC", "input_shape": [9, 9]}):
        rec("bbox_rotate", [col(boxes(3))], {**base, **extra})
    rec("bbox_rotate", [col(boxes(3)), col(np.arange(2, dtype=np.int32))], {**base, "keep_size": True})
    rec("bbox_rotate", [col(boxes(3)), col(np.arange(3, dtype=np.int64))], base)
    rec("bbox_rotate", [col(boxes(3)), col(np.arange(6, dtype=np.int32).reshape(3, 2))], base)
    rec("bbox_rotate", [col(*[boxes(1) for _ in range(BATCH)])], {**base, "mode": "fixed"})


def encoders():
    def anchors(n):
        return [float(v) for v in boxes(n).ravel()]
    for i in range(22):
        n = R.randint(1, 6)
        a = {"anchors": anchors(R.choice([1, 3, 8, 15]))}
        if R.random() < 0.7:
            a["criteria"] = R.choice([0.0, f(0, 1), 0.1, 1.0])
        if i % 2:
            a["offset"] = True
            if R.random() < 0.7:
                a["scale"] = f(0.5, 300)
            if R.random() < 0.7:
                a["means"] = [f(-1, 1) for _ in range(4)]
            if R.random() < 0.7:
                a["stds"] = [f(0.1, 2) for _ in range(4)]
        rec("box_encoder", [col(boxes(n)), col(np.arange(1, n + 1, dtype=np.int32))], a)
    for offset in (False, True):
        rec("box_encoder", [[empty((0, 4))], [empty((0,), "int32")]], {"anchors": anchors(4), "offset": offset})
        rec("box_encoder", [col(ODD), col(np.arange(1, 5, dtype=np.int32))], {"anchors": anchors(6), "offset": offset})
        rec("box_encoder", [col(ODD[[0, 3]]), col(np.arange(1, 3, dtype=np.int32))], {"anchors": anchors(6), "offset": offset})
        rec("box_encoder", [col(BAD), col(np.arange(1, 4, dtype=np.int32))], {"anchors": anchors(6), "offset": offset})
    grid = [v for y in range(0, 10) for x in range(0, 10) for v in (x / 10, y / 10, x / 10 + 0.15, y / 10 + 0.1)]
    for criteria in (0.0, 0.2, 0.5):
        for offset in (False, True):
            n = R.randint(2, 9)
            rec("box_encoder", [col(boxes(n) * np.float32(R.choice([1.0, 0.4]))), col(np.arange(1, n + 1, dtype=np.int32))],
                {"anchors": grid, "criteria": criteria, "offset": offset})
    same = boxes(1)
    rec("box_encoder", [col(np.repeat(same, 3, 0)), col(np.arange(1, 4, dtype=np.int32))], {"anchors": [float(v) for v in np.repeat(same, 3, 0).ravel()]})
    rec("box_encoder", [col(boxes(2)), col(np.array([[4], [5]], np.int32))], {"anchors": anchors(5)})
    two = [col(boxes(2)), col(np.array([4, 5], np.int32))]
    for extra in ({"anchors": anchors(2)[:7]}, {"anchors": [0.5, 0.5, 0.1, 0.2]}, {"criteria": 1.5}, {"criteria": -0.5}, {"means": [0.0] * 3, "offset": True},
                  {"stds": [1.0] * 5, "offset": True}, {"stds": [0.0, 1.0, 1.0, 1.0], "offset": True}, {"scale": 0.0, "offset": True}, {"anchors": [0.1, 0.1, 1.5, 2.0]}):
        rec("box_encoder", two, {"anchors": anchors(3), **extra})
    rec("box_encoder", [col(boxes(2)), col(np.array([4, 5], np.int64))], {"anchors": anchors(5)})
    rec("box_encoder", [col(*[boxes(1) for _ in range(BATCH)]), col(*[np.array([i], np.int32) for i in range(BATCH)])], {"anchors": anchors(2)})


def crops():
    def image(h, w, c=3):
        return N.randint(0, 256, (h, w, c)).astype(np.uint8)
    for i in range(24):
        n = R.randint(1, 4)
        b = R.choice([boxes(n), np.array([[0.05, 0.05, 0.95, 0.95]] * n, np.float32), np.array([[0.2, 0.1, 0.8, 0.9]] * n, np.float32)])
        rec("ssd_random_crop", [col(*[image(R.randint(1, 9), R.randint(1, 9), R.choice([1, 3])) for _ in range(2)], layout=R.choice(["HWC", "HWC", None])),
                                col(b, b), col(*[np.arange(10, 10 + n, dtype=np.int32)] * 2)],
            {"seed": R.randint(0, 999), **({"num_attempts": R.randint(1, 30)} if i % 3 else {})}, iters=2)
    rec("ssd_random_crop", [col(image(4, 4)), [empty((0, 4))], [empty((0,), "int32")]], {"seed": 1})
    rec("ssd_random_crop", [col(image(4, 4)), col(BAD), col(np.arange(3, dtype=np.int32))], {"seed": 6})
    rec("ssd_random_crop", [col(image(4, 4).astype(np.float32)), col(boxes(1)), col(np.arange(1, dtype=np.int32))], {"seed": 3, "num_attempts": 9})
    rec("ssd_random_crop", [col(*[image(2, 2, 1) for _ in range(BATCH)]), col(*[np.array([[0.1, 0.1, 0.9, 0.9]], np.float32)] * BATCH), col(*[np.array([i], np.int32) for i in range(BATCH)])],
        {"seed": 12, "num_attempts": 20})


def mask(shape, dtype="uint8", top=3, share=0.5):
    m = N.randint(1, top + 1, shape) * (N.rand(*shape) < share)
    return (m if dtype != "bool" else m > 0).astype(dtype)


def blobs(shape, n, dtype="int32", top=3):
    m = np.zeros(shape, dtype)
    for _ in range(n):
        at = tuple(slice(a := R.randint(0, e - 1), a + R.randint(1, max(1, e // 2))) for e in shape)
        m[at] = R.randint(0, top)
    return m


def pixels():
    shapes = [(1, 1), (3, 7), (5,), (2, 3, 4), (9, 9), (1, 12), (2, 2, 2, 2)]
    for i, dtype in enumerate(["uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64", "float32", "bool"] * 2):
        a = {"seed": R.randint(0, 999), "foreground": R.choice([0, 1, 1, 1, -3])}
        if i % 3 == 0:
            a["value"] = R.choice([0, 1, 2, 300, -1])
        elif i % 3 == 1:
            a["threshold"] = R.choice([0.0, 1.0, 1.5, 2.0, 9.0, -1.0])
        m = [mask(R.choice(shapes), dtype, share=R.choice([0.1, 0.5, 1.0])) for _ in range(1)] * 2
        rec("segmentation.random_mask_pixel", [col(*m)], a, iters=2)
    m = mask((3, 7), "float32")
    m[0] = np.nan
    m[1, 2] = np.inf
    rec("segmentation.random_mask_pixel", [col(m, m)], {"seed": 4, "foreground": 1, "threshold": 0.5}, iters=3)
    rec("segmentation.random_mask_pixel", [col(m, m)], {"seed": 4, "foreground": 1, "value": 2}, iters=3)
    m = mask((3, 7))
    rec("segmentation.random_mask_pixel", [col(m, m, m, m)],
        {"seed": 4, "foreground": per_sample([0, 1, 1, 1], "int32"), "threshold": per_sample([0.0, 1.0, 2.0, 3.0])}, iters=2)
    rec("segmentation.random_mask_pixel", [col(m, m, m, m)],
        {"seed": 4, "foreground": per_sample([0, 1, 1, 1], "int32"), "value": per_sample([1, 2, 0, 3], "int32")}, iters=2)
    rec("segmentation.random_mask_pixel", [[{"npy": LARGE}] * 3], {"seed": 8, "foreground": 1, "value": 2}, iters=2)
    rec("segmentation.random_mask_pixel", [[{"npy": LARGE}] * 3], {"seed": 8, "foreground": 0}, iters=2)
    rec("segmentation.random_mask_pixel", [col(m)], {"seed": 4, "foreground": 1, "value": 2, "threshold": 1.0})
    rec("segmentation.random_mask_pixel", [col(m.astype(np.float64))], {"seed": 4, "foreground": 1})
    rec("segmentation.random_mask_pixel", [col(*[mask((2, 2))] * BATCH)], {"seed": 5, "foreground": 1})


def objects():
    op = "segmentation.random_object_bbox"
    dtypes = ["uint8", "int8", "uint16", "int16", "uint32", "int32", "bool"]
    for i in range(48):
        shape = R.choice([(1, 1), (3, 7), (6,), (9, 9), (12, 5), (4, 5, 6), (2, 3, 3, 3), (16, 16), (2, 2, 2, 2, 2), (2, 2, 2, 2, 2, 2)])
        if i % 4 == 0 and shape == (1, 1):
            shape = (1, 2)  # of one pixel and ignore_class DALI returns an empty box
        d = dtypes[i % 7]
        m = blobs(shape, R.randint(1, 9), d) if R.random() < 0.6 else mask(shape, d)
        a = {"seed": R.randint(0, 9999)}
        if R.random() < 0.4:
            a["format"] = R.choice(["anchor_shape", "start_end", "box"])
        if R.random() < 0.3:
            a["foreground_prob"] = R.choice([0.0, 0.5, 0.8])
        if R.random() < 0.3:
            a["k_largest"] = R.randint(1, 4)
        if R.random() < 0.3:
            a["threshold"] = R.choice([R.randint(1, 3), [R.randint(0, 3) for _ in shape]])
        if i % 4 == 0:
            a["ignore_class"] = True
        else:
            if R.random() < 0.6:
                a["output_class"] = True
            if R.random() < 0.4:
                a["classes"] = R.choice([[1, 2], [2], [3, 1], [0, 2], [7], [0, 1, 2, 3]])
                if R.random() < 0.5:
                    a["class_weights"] = [f(0, 3) for _ in a["classes"]]
            elif R.random() < 0.4:
                a["class_weights"] = R.choice([[1.0, 0.5, 3.0], [0.0, 1.0], [0.0, 0.0, 0.0]])
        if R.random() < 0.3:
            a["background"] = R.choice([0, 1, 2, 9, -1])
        if R.random() < 0.2:
            a["cache_objects"] = True
        rec(op, [col(m, m)], a, iters=2)
    snake = np.array([[1, 0, 1, 1, 1], [1, 0, 1, 0, 1], [1, 1, 1, 0, 1], [0, 0, 0, 0, 1], [1, 1, 1, 1, 1]], np.int32)
    rec(op, [col(*[snake] * 6)], {"seed": 2, "k_largest": 1})
    diagonal = np.eye(5, dtype=np.int32)
    rec(op, [col(*[diagonal] * 8)], {"seed": 2, "format": "box"})
    rec(op, [col(*[diagonal[:, ::-1].copy()] * 8)], {"seed": 2, "format": "box"})
    comb = np.array([[1, 0, 1, 0, 1, 0, 1], [1, 0, 1, 0, 1, 1, 1], [1, 1, 1, 0, 0, 0, 0], [0, 0, 0, 0, 1, 0, 1]], np.int32)
    rec(op, [col(*[comb] * 8)], {"seed": 3, "format": "box"})
    rec(op, [col(*[comb] * 8)], {"seed": 3, "format": "box", "ignore_class": True})
    m = [blobs((9, 9), 8) for _ in range(4)]
    rec(op, [col(*m)], {"seed": 9, "classes": per_sample([[1, 2], [2, 3], [3, 1], [1, 3]], "int32"), "class_weights": per_sample([[1, 2], [0, 3], [3, 0], [1, 1]]),
                        "foreground_prob": per_sample([1.0, 0.5, 0.7, 1.0]), "background": per_sample([0, 0, 9, 8], "int32"), "threshold": per_sample([[1, 1], [2, 2], [1, 3], [0, 0]], "int32"),
                        "output_class": True}, iters=3)
    rec(op, [col(np.zeros((4, 4), np.int32))], {"seed": 9, "output_class": True})
    rec(op, [col(np.zeros((4, 4), np.int32))], {"seed": 9, "ignore_class": True})
    rec(op, [col(np.full((4, 4), -2, np.int32))], {"seed": 9, "output_class": True})
    rec(op, [[empty((0, 4), "int32")]], {"seed": 9, "output_class": True})
    for labels in ([0, 2], [2, 0, -5], [-2147483648, 0], [-2147483648, 2147483647, 0]):  # the background is another label
        rec(op, [col(np.full((2, 2), 5, np.int32), np.full((2, 2), 0, np.int32))], {"seed": 4, "output_class": True, "classes": labels})
    rows = np.array([[1, 0, 1, 0, 1, 0, 0], [0, 0, 0, 0, 0, 2, 2], [3, 3, 0, 0, 0, 2, 2]], np.int32)  # one class has large boxes
    rec(op, [col(*[rows] * 12)], {"seed": 4, "output_class": True, "threshold": 2})
    rec(op, [col(*[rows] * 12)], {"seed": 5, "output_class": True, "threshold": [1, 2], "class_weights": [5.0, 1.0, 1.0]})
    rec(op, [[{"npy": LARGE}] * 4], {"seed": 9, "output_class": True}, iters=2)
    rec(op, [[{"npy": LARGE}] * 4], {"seed": 9, "k_largest": 5, "ignore_class": True}, iters=2)
    rec(op, [[{"npy": LARGE}] * 4], {"seed": 9, "k_largest": 5, "format": "start_end", "cache_objects": True}, iters=2)
    m = blobs((4, 4), 4)
    for extra in ({"format": "other"}, {"k_largest": 0}, {"ignore_class": True, "classes": [1]}, {"ignore_class": True, "output_class": True}, {"classes": [1, 2], "class_weights": [1.0]},
                  {"classes": [0, 1], "background": 0}, {"threshold": [1, 2, 3]}, {"ignore_class": True, "class_weights": [1.0]}, {"class_weights": [-1.0, 2.0]}, {"classes": []}):
        rec(op, [col(m)], {"seed": 1, **extra})
    rec(op, [col(m.astype(np.float32))], {"seed": 1})
    rec(op, [col(m.astype(np.int64))], {"seed": 1})
    rec(op, [col(*[blobs((3, 3), 3)] * BATCH)], {"seed": 3, "format": "box"})


def selections():
    op = "segmentation.select_masks"

    def one(k, dims=2, dtype="float32", order=None):
        lengths = [R.randint(0, 4) for _ in range(k)]
        ends = np.cumsum([0] + lengths)
        p = np.array([[i * 2, ends[i], ends[i + 1]] for i in (order or range(k))], np.int32).reshape(-1, 3)
        return p, (N.rand(max(int(ends[-1]), 1), dims) * 99).astype(dtype)
    for i, dtype in enumerate(["float32", "int32", "uint8", "int16", "float64", "int64"] * 3):
        k = R.randint(1, 5)
        p, v = one(k, R.randint(1, 4), dtype)
        ids = R.sample([2 * j for j in range(k)], R.randint(1, k))
        rec(op, [col(np.array(ids, np.int32)), col(p), col(v)], {"reindex_masks": True} if i % 2 else {})
    p, v = one(3, order=[2, 0, 1])
    rec(op, [col(np.array([4, 0, 2], np.int32)), col(p), col(v)], {"reindex_masks": True})
    rec(op, [[empty((0,), "int32")], col(p), col(v)], {})
    rec(op, [col(np.array([0, 2, 0], np.int32)), col(p), col(v)], {})
    rec(op, [col(np.array([1], np.int32)), col(p), col(v)], {})
    twice = np.array([[0, 0, 3], [0, 3, 5], [1, 5, 6]], np.int32)
    six = N.rand(6, 2).astype(np.float32)
    rec(op, [col(np.array([0, 1], np.int32)), col(twice), col(six)], {})
    for rows in ([[0, 0, 7]], [[0, -1, 2]], [[0, 4, 2]], [[0, 0]], [[0, -1, -1]]):
        rec(op, [col(np.array([0], np.int32)), col(np.array(rows, np.int32)), col(six)], {})
    rec(op, [col(np.array([3], np.int32)), col(np.array([[0, 0, 9], [3, 1, 2]], np.int32)), col(six)], {})
    rec(op, [col(np.array([0], np.int64)), col(twice), col(six)], {})
    rec(op, [col(np.array([0], np.int32)), col(twice.astype(np.int64)), col(six)], {})
    rec(op, [col(np.array([0], np.int32)), col(twice), col(six[0])], {})
    rec(op, [col(*[np.array([1], np.int32)] * BATCH), col(*[twice] * BATCH), col(*[N.rand(6, 1).astype(np.float32) for _ in range(BATCH)])], {})


def windows():
    """Further cases of random_bbox_crop."""
    for i in range(24):
        axes = 3 if i % 4 == 3 else 2
        n = R.randint(1, 5)
        lo = N.rand(n, axes) * 0.6
        size = N.rand(n, axes) * (1 - lo)
        lengths = i % 3 == 0
        b = np.concatenate([lo, size if lengths else np.minimum(lo + size, 1)], 1).astype(np.float32)
        a = {"seed": R.randint(0, 9999), "total_num_attempts": R.randint(1, 40), "num_attempts": R.randint(1, 5),
             "thresholds": [f(0, 0.6) for _ in range(R.randint(1, 4))], "threshold_type": R.choice(["iou", "overlap"]),
             "allow_no_crop": R.random() < 0.4, "all_boxes_above_threshold": R.random() < 0.5}
        if lengths:
            a.update(R.choice([{"ltrb": False}, {"bbox_layout": "xyzWHD" if axes == 3 else "xyWH"}]))
        elif axes == 2 and R.random() < 0.5:
            a["bbox_layout"] = "yxYX"
            b = b[:, [1, 0, 3, 2]]
        if R.random() < 0.5:
            a["bbox_prune_threshold"] = f(0, 0.8)
        if R.random() < 0.5:
            a["output_bbox_indices"] = True
        layout = R.choice([None, "HW" if axes == 2 else "DHW"])
        if i % 2:
            image = [R.randint(30, 90) for _ in range(axes)]
            a["input_shape"] = image
            if R.random() < 0.6:
                a["crop_shape"] = [R.randint(5, e) for e in image]
                a["allow_no_crop"] = False
            if layout:
                a["shape_layout"] = layout
        if "crop_shape" not in a:
            a["scaling"] = [f(0.1, 0.5), f(0.6, 1)]
            a["aspect_ratio"] = [f(0.3, 0.9), f(1.1, 3)] * (3 if axes == 3 and R.random() < 0.5 else 1)
        inputs = [col(b, b, b)]
        if R.random() < 0.6:
            labels = np.arange(n, dtype=np.int32)
            inputs.append(col(*[labels if R.random() < 0.5 else labels[:, None]] * 3))
        rec("random_bbox_crop", inputs, a, iters=2)
    b = boxes(2)
    rec("random_bbox_crop", [col(b, b)], {"seed": 3, "crop_shape": per_sample([[20, 10], [5, 6]], "int32"), "input_shape": per_sample([[40, 30], [9, 8]], "int32"), "shape_layout": "HW",
                                          "allow_no_crop": False, "total_num_attempts": 5}, iters=2)
    rec("random_bbox_crop", [[empty((0, 4))]], {"seed": 3, "thresholds": [0.3], "allow_no_crop": False, "scaling": [0.2, 0.9], "total_num_attempts": 9})
    rec("random_bbox_crop", [col(*[np.array([[0.1, 0.2, 0.8, 0.9]], np.float32)] * BATCH)],
        {"seed": 3, "scaling": [0.5, 0.9], "aspect_ratio": [0.5, 2.0], "total_num_attempts": 9, "allow_no_crop": False})


def arrays():
    def npy(a, version=None):  # DALI reads Fortran order too, but needs the driver of a GPU for it
        out = io.BytesIO()
        np.lib.format.write_array(out, a, version=version)
        return np.frombuffer(out.getvalue(), np.uint8)
    op = "decoders.numpy"
    names = {"uint8": "UINT8", "int8": "INT8", "uint16": "UINT16", "int16": "INT16", "uint32": "UINT32", "int32": "INT32", "uint64": "UINT64", "int64": "INT64",
             "float16": "FLOAT16", "float32": "FLOAT", "float64": "FLOAT64", "bool": "BOOL"}
    for d, name in names.items():
        rec(op, [col(npy((N.rand(2, 3) * 9).astype(d)))], {"dtype": enum(name)})
    for shape in ((), (5,), (0, 3), (1, 1), (2, 2, 2, 2)):
        rec(op, [col(npy(np.array(N.rand(*shape) * 99 - 40, np.float32)))], {"dtype": enum("FLOAT")})
    a = N.rand(2, 3) * 300 - 50
    for name in names.values():
        rec(op, [col(npy(a))], {"dtype": enum(name)})
        rec(op, [col(npy((a * 300).astype(np.int32)))], {"dtype": enum(name)})
    f = {"dtype": enum("FLOAT")}
    rec(op, [col(npy(a.astype(np.float32)), npy(a.astype(np.int16)))], f)
    rec(op, [col(npy(a), npy(a[0]))], {})
    rec(op, [col(npy(a))], {})
    rec(op, [col(npy(a.astype(np.int32)))], {})
    rec(op, [col(npy(a.astype(np.complex64)))], f)
    rec(op, [col(npy(np.zeros(2, [("a", "<i4"), ("b", "<f4")])))], f)
    for damaged in (npy(a)[:-3], np.append(npy(a), np.zeros(5, np.uint8)), npy(a)[:20], npy(a)[1:]):
        rec(op, [col(damaged)], f)
    rec(op, [[empty((0,), "uint8")]], f)
    rec(op, [col(*[npy(np.array([i], np.uint8)) for i in range(5)])], {"dtype": enum("INT16")})


def frames():
    op = "per_frame"
    for layout in (None, "FHW", "F**", "FXY", "HWC", "DHW", "CHW", "XYZ"):
        for replace in (False, True):
            rec(op, [col(N.rand(2, 3, 2).astype(np.float32), layout=layout)], {"replace": replace} if replace or layout else {})
    for shape in ((), (3,), (2, 2, 2, 2)):
        rec(op, [col(N.rand(*shape).astype(np.float32) if shape else np.float32(3))], {})
    rec(op, [col(np.arange(4, dtype=np.int64), layout="F")], {})
    rec(op, [col(np.arange(4, dtype=np.uint8), layout="X")], {"replace": True})
    rec(op, [col(*[np.arange(2, dtype=np.uint8)] * BATCH)], {})


FAMILIES = (flips, pastes, rotations, encoders, crops, pixels, objects, selections, windows, arrays, frames)

if __name__ == "__main__":
    out = os.path.abspath(sys.argv[1])
    cases.FILES = os.path.abspath(sys.argv[2])
    os.makedirs(out, exist_ok=True)
    os.chdir(cases.FILES)
    np.save(os.path.join(cases.FILES, LARGE + ".npy"), blobs((2000, 17), 400, "uint8") * (N.rand(2000, 17) < 0.9).astype(np.uint8))
    wanted = os.environ.get("FAMILIES", "")
    for family in FAMILIES:
        if not wanted or family.__name__ in wanted.split(","):
            family()
            print(family.__name__, len(cases.CASES), flush=True)
    for c in cases.CASES:
        for o in c.get("outputs", []):
            if "f32" in o or "data" in o:
                del o["sha256"]
            for key in ("iter", "output", "sample", "layout"):
                if not o[key]:
                    del o[key]
    with open(os.path.join(out, "cases.json"), "w") as file:
        file.write("[\n" + ",\n".join(json.dumps(c, separators=(",", ":")) for c in cases.CASES) + "\n]\n")
    print(len(cases.CASES), "cases,", sum("error" in c for c in cases.CASES), "with errors")
