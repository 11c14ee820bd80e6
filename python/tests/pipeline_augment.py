"""Pipelines with automatic augmentation, made with a package: Bivouac, or DALI.

A case is a dictionary that JSON can hold: the function, its arguments, and the settings of the
pipeline. `made` builds its pipeline.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

SIZES = [(9, 13), (16, 12), (1, 1), (7, 24), (1, 9), (21, 2)]

NAMES = [
    "translate_x", "translate_y", "shear_x", "shear_y", "rotate", "brightness", "contrast", "color",
    "sharpness", "posterize", "solarize", "equalize", "auto_contrast", "identity",
]  # fmt: skip

Case = dict[str, Any]


def image(k: int, frames: int) -> Any:
    """Return image k: a gradient, a texture, few values, one value, or a parabola."""
    height, width = SIZES[k % len(SIZES)]
    f, y, x, c = np.ogrid[: max(frames, 1), :height, :width, :3]
    values = [
        x * 255 // max(width - 1, 1) // (c + 1) + y * 3,
        (x * 7 + y * 13 + c * 29 + x * y * 5 + k * 31) ^ (x * (c + 3)),
        100 + (x + y * 2 + c) % 7 * 9,
        0 * x + 40 + 50 * c + k + 0 * y,
        (x * x + y * y * 3 + 17 * c) % 251,
    ][k % 5] + f * 11
    pixels = (values & 255).astype(np.uint8)
    return pixels if frames else pixels[0]


def cases() -> dict[str, Case]:
    """Return the cases that are recorded, by name."""
    made: dict[str, Case] = {}

    def case(function: str, settings: Case | None = None, **args: Any) -> None:
        settings = {"batch_size": 5, "seed": 100 + len(made), **(settings or {})}
        made[f"{len(made):02} {function}"] = {"call": function, "args": args, **settings}

    for name in ("image_net", "reduced_image_net", "reduced_cifar10", "svhn"):
        case("auto_augment", policy_name=name)
        case("auto_augment", {"batch_size": 1}, policy_name=name, fill_value=None, seed=7)
        if name != "reduced_image_net":
            case("auto_augment", policy_name=name, shape="own", interp_type="INTERP_NN")
            case("auto_augment", policy_name=name, shape=[8, 10], max_translate_rel=[0.2, 0.7])
            case("auto_augment", policy_name=name, max_translate_abs=5, fill_value=3)
    case("auto_augment_image_net", {"frames": 2}, seed=3)
    for monotonic in (True, False):
        for n, m in ((1, 9), (2, 0), (3, 30)):
            case("rand_augment", n=n, m=m, monotonic_mag=monotonic)
        case("rand_augment", n=2, m=4, num_magnitude_bins=5, monotonic_mag=monotonic, shape="own")
    case("rand_augment", {"frames": 3}, n=2, m=6)
    case("rand_augment", n=2, m=6, excluded=["equalize", "rotate"], max_translate_abs=[3, 9])
    case("rand_augment", n=1, m=6, excluded=NAMES[1:], fill_value=None)
    case("rand_augment", n=0, m=0)
    case("rand_augment", n=1, m=0, num_magnitude_bins=1, seed=11, max_translate_rel=0.3, shape="own")
    case("trivial_augment_wide")
    case("trivial_augment_wide", {"batch_size": 1}, seed=5, interp_type="INTERP_NN")
    case("trivial_augment_wide", num_magnitude_bins=3, shape="own", max_translate_rel=0.5)
    case("trivial_augment_wide", {"frames": 2}, max_translate_abs=4)
    case("trivial_augment_wide", num_magnitude_bins=1, excluded=NAMES[2:])
    for custom in CUSTOM:
        case(custom)
        case(custom, seed=9)
    return made


def made(p: Any, case: Case) -> Any:
    """Return the pipeline of a case."""
    fn, types = p.fn, p.types
    auto_aug = importlib.import_module(f"{p.__name__}.auto_aug")
    for name in ("augmentations", "auto_augment", "core", "rand_augment", "trivial_augment"):
        importlib.import_module(f"{p.__name__}.auto_aug.{name}")
    args = dict(case["args"])
    frames = case.get("frames", 0)
    first = [0]

    def source() -> list[Any]:
        first[0] += case["batch_size"]
        return [image(k, frames) for k in range(first[0] - case["batch_size"], first[0])]

    if "interp_type" in args:
        args["interp_type"] = getattr(types, args["interp_type"])
    shape = args.pop("shape", None)
    for name in ("max_translate_abs", "max_translate_rel"):
        if isinstance(args.get(name), list):
            args[name] = tuple(args[name])

    def define() -> Any:
        data = fn.external_source(
            source, layout="FHWC" if frames else "HWC", batch=True, dtype=types.UINT8
        )
        before = fn.random.uniform(range=[0.0, 1.0])
        if shape is not None:
            args["shape"] = data.shape()[1 if frames else 0 :] if shape == "own" else tuple(shape)
        out = function(p, auto_aug, case["call"])(data, **args)
        return out, fn.random.coin_flip(), before

    settings = {k: v for k, v in case.items() if k in ("batch_size", "seed")}
    return p.pipeline_def(enable_conditionals=True, num_threads=1, device_id=None, **settings)(
        define
    )()


def function(p: Any, auto_aug: Any, name: str) -> Callable[..., Any]:
    """Return a function of the package, or one of the functions below."""
    if name in CUSTOM:
        return CUSTOM[name](p, auto_aug)
    kind = name if name != "auto_augment_image_net" else "auto_augment"
    found: Callable[..., Any] = getattr(
        getattr(auto_aug, kind.removesuffix("_wide")), name
    )
    return found


def own_policy(p: Any, auto_aug: Any) -> Callable[..., Any]:
    """A policy with sub-policies of several lengths, two augmentations of one name, identity."""
    a, Policy = auto_aug.augmentations, auto_aug.core.Policy
    turn = a.rotate.augmentation((0, 20), False, name="turn")
    twice = a.shear_x.augmentation((0, 0.6)), a.shear_x.augmentation((0.1, 0.4))
    policy = Policy("own", 7, [
        [(a.solarize_add.augmentation((0, 110)), 0.9, 5), (a.invert, 0.5, None), (turn, 1.0, 6)],
        [(twice[0], 1, 2)], [(twice[1], 0.5, 1), (a.identity, 0.7, None)], [],
    ])  # fmt: skip

    def apply(data: Any, **args: Any) -> Any:
        return auto_aug.auto_augment.apply_auto_augment(
            policy, data, fill_value=9, rotate_keep_size=True, **args
        )

    return apply


def unsigned_policy(p: Any, auto_aug: Any) -> Callable[..., Any]:
    """A policy without magnitudes that may be negative."""
    a, Policy = auto_aug.augmentations, auto_aug.core.Policy
    policy = Policy("plain", 3, [[(a.posterize, 1.0, 2)], [(a.equalize, 0.5, None)]])

    def apply(data: Any, **args: Any) -> Any:
        return auto_aug.auto_augment.apply_auto_augment(policy, data, **args)

    return apply


def own_augmentations(p: Any, auto_aug: Any) -> Callable[..., Any]:
    """Augmentations of the program: with a condition, with magnitudes in an array, with none."""
    fn, types = p.fn, p.types
    augmentation = auto_aug.core.augmentation

    @augmentation(mag_range=(0, 40), randomly_negate=True, mag_to_param=np.int32)
    def moved(data: Any, by: Any, scale: int = 1) -> Any:
        if by > 0:
            data = fn.brightness(data, brightness_shift=0.1)
        else:
            data = fn.cast(p.math.clamp(data + by * scale, 0, 255), dtype=types.UINT8)
        return data

    @augmentation(mag_range=np.array([1.0, 2.5, 0.5, 4.0]), name="by array")
    def multiplied(data: Any, factor: Any) -> Any:
        return fn.cast(data * factor, dtype=types.UINT8)

    @augmentation
    def flipped(data: Any, _: Any, *, vertical: int = 1) -> Any:
        return fn.flip(data, horizontal=fn.random.coin_flip(), vertical=vertical)

    def apply(data: Any, **args: Any) -> Any:
        suite = [moved, multiplied, flipped]
        data = auto_aug.rand_augment.apply_rand_augment(
            suite, data, 2, 3, num_magnitude_bins=4, scale=2, vertical=0, **args
        )
        return auto_aug.trivial_augment.apply_trivial_augment(suite[1:], data, 4, **args)

    return apply


def selected(p: Any, auto_aug: Any) -> Callable[..., Any]:
    """`select` and calls of augmentations by themselves."""
    a, core, fn, types = auto_aug.augmentations, auto_aug.core, p.fn, p.types

    def apply(data: Any, **args: Any) -> Any:
        seed = args.get("seed")
        bins = core.signed_bin(fn.random.uniform(values=[0, 3, 9], dtype=types.INT32), seed=seed)
        sign = fn.random.coin_flip(seed=seed)
        data = a.shear_y(data, magnitude_bin=core.signed_bin(4, sign), num_magnitude_bins=9)
        index = fn.random.uniform(values=[0, 1, 2], dtype=types.INT32)
        data = core.select(
            [a.rotate, a.posterize, a.invert], index, data, magnitude_bin=bins, num_magnitude_bins=10
        )
        return a.solarize(data, magnitude_bin=2, num_magnitude_bins=5)

    return apply


CUSTOM: dict[str, Callable[[Any, Any], Callable[..., Any]]] = {
    f.__name__: f for f in (own_policy, unsigned_policy, own_augmentations, selected)
}
