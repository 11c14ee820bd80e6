"""Families of cases.py whose results have to be equal to the bit, not within a tolerance.

Windows of random_bbox_crop of which a ratio is fixed or the image has a size, sums over thousands of
inputs with the Lanczos filter, and pictures that sines move. Random numbers are these families' own.
"""
import random

import numpy as np

R, N = random.Random(6), np.random.RandomState(6)


def f(lo, hi):
    return round(R.uniform(lo, hi), R.choice([1, 2, 3, 6]))


def maybe(p=0.5):
    return R.random() < p


def span():
    return [f(0.1, 1), f(1, 4)]


def fixed():
    v = R.choice([1.0, 0.5, 1.5, 2.0, f(0.3, 3)])
    return [v, v]


def ratios(axes):
    """A range or a value for all pairs of axes, or one for each of three."""
    if axes == 2 or maybe(0.3):
        return R.choice([fixed, fixed, span])()
    return [v for pair in R.choice([(fixed, span, span), (span, fixed, span), (span, span, fixed), (fixed, fixed, span)]) for v in pair()]


def boxes(axes, n):
    lo = N.rand(n, axes) * 0.6
    hi = lo + N.rand(n, axes) * (1 - lo)
    return np.minimum(np.concatenate([lo, hi], 1), 1).astype(np.float32)


def windows(cases):
    for _ in range(70):
        axes, n = R.choice([2, 2, 3]), R.randint(1, 2)
        a = {"bbox_layout": "xyzXYZ" if axes == 3 else "xyXY", "seed": R.randint(0, 10 ** 6), "aspect_ratio": ratios(axes),
             "thresholds": R.choice([[0.0], [f(0, 0.3)], [0.0, f(0, 0.3), f(0.3, 0.9)]]), "allow_no_crop": maybe(0.2),
             "scaling": R.choice([[0.3, 1.0], [0.1, 1.0], [0.7, 1.3]]), "num_attempts": R.choice([1, 2, 20]),
             "total_num_attempts": R.choice([1, 10, 1000])}  # without, DALI looks for windows that are not there for ever
        a.update({"threshold_type": "overlap"} if maybe() else {})
        a.update({"all_boxes_above_threshold": False} if maybe() else {})
        a.update({"input_shape": [R.randint(50, 900) for _ in range(axes)]} if maybe(0.4) else {})
        cases.record("random_bbox_crop", [[cases.literal(boxes(axes, R.randint(1, 3))) for _ in range(n)]], a, exact=False, iters=2)


def reductions(cases):
    nn, lanczos = cases.enum("INTERP_NN"), cases.enum("INTERP_LANCZOS3")
    for _ in range(40):
        x = cases.literal(N.randint(0, 256, (R.randint(2, 9), R.randint(2, 9), 1)).astype("uint8"), "HWC")
        h, w = R.choice([(2, R.randint(500, 6000)), (R.randint(500, 6000), 2), (R.randint(300, 900), R.randint(300, 900))])
        wide = cases.call("resize", [["name", "a"]], size=[h, w], interp_type=nn)
        part = {"roi_start": [f(0, h / 3), f(0, w / 3)], "roi_end": [f(h / 2, h), f(w / 2, w)]} if maybe() else {}
        to = [R.randint(1, 4), R.randint(1, 4)]
        size = {"sizes": to, "axes": [0, 1]} if maybe() else {"size": to}
        op = "tensor_resize" if "sizes" in size else "resize"
        cases.record("wide filter", [[x]], ast=cases.call(op, [wide], **size, **part, interp_type=lanczos, dtype=cases.enum("FLOAT")), exact=False)


def moved(cases):
    for _ in range(30):
        x = cases.literal(N.randint(0, 256, (R.randint(9, 14), R.randint(9, 14), 1)).astype("uint8"), "HWC")
        a = {"ampl_x": f(1, 30), "ampl_y": f(1, 30), "freq_x": f(0, 1), "freq_y": f(0, 1), "phase_x": f(-7, 7), "phase_y": f(-7, 7)}
        cases.record("water", [[x]], {**a, "interp_type": cases.enum("INTERP_LINEAR"), "fill_value": f(0, 255)})


def all_equal(cases):
    windows(cases)
    reductions(cases)
    moved(cases)
