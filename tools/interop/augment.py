#!/usr/bin/env python3
"""Records what nvidia.dali.auto_aug does: augment.py OUT (testdata/dali-augment).

Writes OUT/cases.json: a pipeline of external_source, a function of auto_aug, and a coin_flip after
it, for each case. Images are made by `image`, which the test repeats. Two runs give the same bytes.
"""
import base64
import json
import sys
import warnings
import zlib

import numpy as np
from nvidia.dali import __version__, fn, pipeline_def, types
from nvidia.dali.auto_aug import augmentations as a
from nvidia.dali.auto_aug import auto_augment, rand_augment, trivial_augment

warnings.simplefilter("ignore")

ALL = ["translate_x", "translate_y", "shear_x", "shear_y", "rotate", "brightness", "contrast", "color", "sharpness",
       "posterize", "solarize", "equalize", "auto_contrast", "identity"]
SIZES = [(9, 13), (16, 12), (1, 1), (7, 24), (1, 9), (21, 2)]


def image(k, frames=0):
    """Image k: a gradient, a texture, few values or one value."""
    h, w = SIZES[k % len(SIZES)]
    f, y, x, c = np.meshgrid(np.arange(max(frames, 1)), np.arange(h), np.arange(w), np.arange(3), indexing="ij")
    v = [
        x * 255 // max(w - 1, 1) // (c + 1) + y * 3,
        (x * 7 + y * 13 + c * 29 + x * y * 5 + k * 31) ^ (x * (c + 3)),
        100 + (x + y * 2 + c) % 7 * 9,
        0 * x + 40 + 50 * c + k,
        (x * x + y * y * 3 + 17 * c) % 251,
    ][k % 5] + f * 11
    v = (v & 255).astype(np.uint8)
    return v if frames else v[0]


def recorded(case):
    kind, args = case["function"], dict(case["args"])
    frames, given = case.get("frames", 0), {}
    count = [0]

    def source():
        first = count[0]
        count[0] += case["batch"]
        return [image(k, frames) for k in range(first, count[0])]

    for name, v in args.items():
        if name == "interp_type":
            v = getattr(types, v)
        if name == "clamp":
            name, v = "fill_value", None
        if name.startswith("max_translate") and isinstance(v, list):
            v = tuple(v)
        given[name] = v
    policy = given.pop("policy", None)

    @pipeline_def(batch_size=case["batch"], num_threads=1, device_id=None, seed=case["seed"], enable_conditionals=True)
    def pipe():
        data = fn.external_source(source, layout="FHWC" if frames else "HWC", batch=True, dtype=types.UINT8)
        before = fn.random.uniform(range=[0, 1])
        if given.get("shape") == "own":
            given["shape"] = data.shape()
        elif "shape" in given:
            given["shape"] = tuple(given["shape"])
        if len(given.get("excluded", ())) > 8:
            out = without(kind, data, given)
        elif kind == "rand_augment":
            out = rand_augment.rand_augment(data, **given)
        elif kind == "trivial_augment_wide":
            out = trivial_augment.trivial_augment_wide(data, **given)
        elif policy is not None:
            bins = given.pop("num_magnitude_bins")
            subs = [[(SUITE[name], p, m) for name, p, m in sub] for sub in policy]
            out = auto_augment.apply_auto_augment(auto_augment.Policy("own", bins, subs), data, **given)
        else:
            out = auto_augment.auto_augment(data, **given)
        return out, fn.random.coin_flip(), before

    p = pipe()
    p.build()
    images, numbers = [], []
    for _ in range(case["iterations"]):
        out, after, before = p.run()
        images += [np.ascontiguousarray(out.at(i)).tobytes() for i in range(case["batch"])]
        numbers += [[float(before.at(i)), int(after.at(i))] for i in range(case["batch"])]
    packed = base64.b64encode(zlib.compress(b"".join(images), 9)).decode()
    return {**case, "numbers": numbers, "images": packed}


def without(kind, data, args):
    """A suite without most augmentations: DALI's function with excluded refuses those without a warp."""
    args = dict(args)
    excluded = args.pop("excluded")
    shape = args.get("shape")
    sizes = [shape is not None, args.pop("max_translate_abs", None), args.pop("max_translate_rel", None)]
    if kind == "trivial_augment_wide":
        apply, suite = trivial_augment.apply_trivial_augment, trivial_augment.get_trivial_augment_wide_suite
    else:
        apply, suite = rand_augment.apply_rand_augment, rand_augment.get_rand_augment_suite
        if not args.pop("monotonic_mag", True):
            suite = rand_augment.get_rand_augment_non_monotonic_suite
    left = [x for x in suite(*sizes) if x.name not in excluded]
    if any(x.name.startswith(("translate", "shear", "rotate")) for x in left):
        args = {"fill_value": 128, "interp_type": None, **args}
        if not any(x.name.startswith("translate") for x in left):
            args.pop("shape", None)
    return apply(left, data, **args)


SUITE = {
    "solarize_add": a.solarize_add.augmentation((0, 110), False), "invert": a.invert, "identity": a.identity,
    "rotate": a.rotate.augmentation((0, 30), True), "shear_x": a.shear_x.augmentation((0, 0.3), True),
    "translate_x": a.translate_x_no_shape.augmentation((0, 250), True),
    "sharpness": a.sharpness.augmentation((0.1, 1.9), False, a.sharpness_kernel_shifted),
    "color": a.color.augmentation((0.1, 1.9), False, None),
}


def main(out):
    cases, seed = [], [100]

    def case(function, batch=6, iterations=2, **args):
        frames = args.pop("frames", 0)
        if len(args.get("excluded", ())) > 8:
            iterations = 1
        seed[0] += 1
        c = {"function": function, "batch": batch, "iterations": iterations, "seed": seed[0], "args": args}
        if frames:
            c["frames"] = frames
        cases.append(recorded(c))

    for name in ALL:
        others = [n for n in ALL if n != name]
        for m in (1, 14, 30):
            case("rand_augment", n=1, m=m, excluded=others)
        case("rand_augment", n=1, m=3, num_magnitude_bins=5, monotonic_mag=False, excluded=others)
        case("rand_augment", n=1, m=20, monotonic_mag=False, excluded=others)
        case("trivial_augment_wide", excluded=others)
    for name in ("translate_x", "translate_y", "shear_x", "shear_y", "rotate"):
        others = [n for n in ALL if n != name]
        case("rand_augment", n=1, m=9, excluded=others, clamp=True, max_translate_abs=6)
        case("rand_augment", n=1, m=9, excluded=others, fill_value=7, max_translate_abs=[3, 9], interp_type="INTERP_NN")
        case("rand_augment", n=1, m=9, excluded=others, shape="own", max_translate_rel=0.5)
        case("rand_augment", n=1, m=9, excluded=others, shape="own")
        case("trivial_augment_wide", excluded=others, shape=[8, 10], max_translate_rel=[0.2, 0.7])
    for n, m in ((0, 0), (1, 5), (2, 9), (3, 17), (5, 30)):
        case("rand_augment", n=n, m=m)
        case("rand_augment", n=n, m=m, seed=77 + n)
        case("rand_augment", n=n, m=m, monotonic_mag=False, shape="own")
    case("rand_augment", n=2, m=0, num_magnitude_bins=1)
    case("rand_augment", n=2, m=6, frames=3)
    case("rand_augment", n=2, m=6, batch=1, iterations=8)
    case("rand_augment", n=2, m=6, excluded=["equalize", "rotate"])
    case("rand_augment", n=2, m=6, excluded=[n for n in ALL if n not in ("solarize", "equalize")])
    for batch, iterations in ((1, 8), (3, 4), (17, 2)):
        case("trivial_augment_wide", batch=batch, iterations=iterations)
    case("trivial_augment_wide", seed=5)
    case("trivial_augment_wide", num_magnitude_bins=3, shape="own")
    case("trivial_augment_wide", frames=2)
    for name in ("image_net", "reduced_image_net", "reduced_cifar10", "svhn"):
        for batch, iterations in ((25, 1), (4, 3)):
            case("auto_augment", batch=batch, iterations=iterations, policy_name=name)
        case("auto_augment", batch=7, policy_name=name, seed=3)
        if name != "reduced_image_net":
            case("auto_augment", batch=9, policy_name=name, shape="own")
            case("auto_augment", batch=9, policy_name=name, shape="own", max_translate_rel=0.3, interp_type="INTERP_NN")
            case("auto_augment", batch=9, policy_name=name, max_translate_abs=5, fill_value=0)
    case("auto_augment")
    case("auto_augment", frames=2)
    case("auto_augment", batch=12, num_magnitude_bins=7, policy=[
        [["solarize_add", 0.9, 5], ["invert", 0.5, None], ["rotate", 1.0, 6]], [["color", 1, 2]],
        [["translate_x", 0.5, 1], ["sharpness", 0.7, 6]]])
    case("auto_augment", batch=12, num_magnitude_bins=2, policy=[[["solarize_add", 1.0, 1]], [["invert", 1.0, None]]])
    with open(out + "/cases.json", "w") as f:
        json.dump({"dali": __version__, "cases": cases}, f, separators=(",", ":"))
        f.write("\n")
    print(len(cases), "cases")


main(sys.argv[1])
