"""Pipelines with automatic augmentation, made with a package: Bivouac, or DALI.

A case is a dictionary that JSON can hold: the function, its arguments, and the settings of the
pipeline. `made` builds its pipeline.
"""

from __future__ import annotations

import hashlib
import importlib
import inspect
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
    case("rand_augment", n=1, m=0, num_magnitude_bins=1, max_translate_rel=0.3, shape="own", seed=1)
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
    augmentation: Callable[..., Callable[[Any], Any]] = auto_aug.core.augmentation

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
            [a.rotate, a.posterize, a.invert],
            index,
            data,
            magnitude_bin=bins,
            num_magnitude_bins=10,
        )
        return a.solarize(data, magnitude_bin=2, num_magnitude_bins=5)

    return apply


CUSTOM: dict[str, Callable[[Any, Any], Callable[..., Any]]] = {
    f.__name__: f for f in (own_policy, unsigned_policy, own_augmentations, selected)
}


def results(p: Any, case: Case, runs: int = 2) -> tuple[str, str]:
    """Return digests of the serialized pipeline of a case, and of what it computes."""
    pipe = made(p, case)
    graph = pipe.serialize()
    pipe.build()
    found = hashlib.sha256()
    for _ in range(runs):
        for output in pipe.run():
            for i in range(len(output)):
                sample = np.ascontiguousarray(output.at(i))
                found.update(f"{sample.dtype} {sample.shape}".encode() + sample.tobytes())
    return hashlib.sha256(graph).hexdigest(), found.hexdigest()


def signatures(p: Any) -> dict[str, list[str]]:
    """Return the names of arguments with their defaults, of each function and augmentation."""
    made: dict[str, list[str]] = {}
    for module, names in PUBLIC.items():
        here = importlib.import_module(f"{p.__name__}.auto_aug.{module}")
        for name in names:
            value = getattr(here, name)
            path = f"{module}.{name}"
            settled = not isinstance(value, type) and hasattr(value, "op")
            made[path] = arguments(value.op if settled else value)
            if name == "_Augmentation":
                made[f"{path}.augmentation"] = arguments(value.augmentation)
                made[f"{path}.__call__"] = arguments(value.__call__)
            if settled:
                settings = (value.name, value.mag_range, value.randomly_negate, value.param_device)
                made[path].append(repr(settings))
    for call in ("get_rand_augment_suite", "get_rand_augment_non_monotonic_suite"):
        made[f"suite of {call}"] = suite(p, "rand_augment", call)
    made["suite of trivial"] = suite(p, "trivial_augment", "get_trivial_augment_wide_suite")
    for call in PUBLIC["auto_augment"]:
        if call.endswith("_policy"):
            here = importlib.import_module(f"{p.__name__}.auto_aug.auto_augment")
            policy = getattr(here, call)()
            subs = [[(one.name, *rest) for one, *rest in sub] for sub in policy.sub_policies]
            made[f"policy of {call}"] = [policy.name, *map(repr, subs), *policy.augmentations]
    return made


def suite(p: Any, module: str, call: str) -> list[str]:
    """Return the names and magnitudes of a suite."""
    here = importlib.import_module(f"{p.__name__}.auto_aug.{module}")
    suites = [
        *getattr(here, call)(),
        *getattr(here, call)(True, max_translate_rel=(0.5, 0.25))[:2],
        *getattr(here, call)(False, 17)[:2],
    ]
    return [repr((one.name, one.mag_range, one.randomly_negate)) for one in suites]


def arguments(function: Any) -> list[str]:
    """Return the names of arguments with their defaults. Functions and classes are "..."."""
    found = []
    for name, one in inspect.signature(function).parameters.items():
        text = {"VAR_KEYWORD": "**", "VAR_POSITIONAL": "*", "KEYWORD_ONLY": "*, "}.get(
            one.kind.name, ""
        )
        default = one.default
        if default is not inspect.Parameter.empty:
            name += "=..." if callable(default) else f"={default!r}"
        found.append(text + name)
    return found


PUBLIC = {
    "augmentations": [
        "auto_contrast", "brightness", "color", "contrast", "equalize", "identity", "invert",
        "poster_mask_uint8", "posterize", "rotate", "sharpness", "sharpness_kernel",
        "sharpness_kernel_shifted", "shear_x", "shear_y", "shift_enhance_range", "solarize",
        "solarize_add", "solarize_add_shift", "translate_x", "translate_x_no_shape", "translate_y",
        "translate_y_no_shape", "warp_x_param", "warp_y_param",
    ],
    "auto_augment": [
        "apply_auto_augment", "auto_augment", "auto_augment_image_net", "get_image_net_policy",
        "get_reduced_cifar10_policy", "get_reduced_image_net_policy", "get_svhn_policy",
    ],
    "core": ["Policy", "_Augmentation", "augmentation", "select", "signed_bin"],
    "rand_augment": [
        "apply_rand_augment", "get_rand_augment_non_monotonic_suite", "get_rand_augment_suite",
        "rand_augment",
    ],
    "trivial_augment": [
        "apply_trivial_augment", "get_trivial_augment_wide_suite", "trivial_augment_wide",
    ],
}  # fmt: skip
"""The names of each module. signed_bin and others of core are the only ones of that module."""


def mistakes(p: Any, auto_aug: Any) -> dict[str, Callable[[Any], Any]]:
    """Return wrong calls by name. Each takes a batch, and must raise."""
    a, core = auto_aug.augmentations, auto_aug.core
    rand, trivial, auto = auto_aug.rand_augment, auto_aug.trivial_augment, auto_aug.auto_augment

    def function(data: Any, by: Any) -> Any:
        return data * by

    def demanding(data: Any, by: Any, needed: Any) -> Any:
        return data * by * needed

    def policy(*stages: Any, bins: Any = 3) -> Any:
        return core.Policy("own", bins, [list(stages)])

    one = core.augmentation(mag_range=(1, 2))(function)
    ragged = one.augmentation(mag_to_param=lambda m: np.zeros(int(m)))
    return {
        "rand n": lambda d: rand.rand_augment(d, -1, 3),
        "rand n float": lambda d: rand.rand_augment(d, 1.0, 3),
        "rand m": lambda d: rand.rand_augment(d, 1, 31),
        "rand m node": lambda d: rand.rand_augment(d, 1, p.fn.random.coin_flip()),
        "rand bins": lambda d: rand.rand_augment(d, 1, 0, num_magnitude_bins=0),
        "rand empty": lambda d: rand.apply_rand_augment([], d, 1, 0),
        "rand excluded": lambda d: rand.rand_augment(d, 1, 0, excluded=["rotates"]),
        "rand no warps": lambda d: rand.rand_augment(d, 1, 0, excluded=NAMES[:5]),
        "rand unused": lambda d: rand.apply_rand_augment([a.invert], d, 1, 0, fill_value=3),
        "rand no shape": lambda d: rand.apply_rand_augment([a.translate_x], d, 1, 0),
        "rand rel": lambda d: rand.rand_augment(d, 1, 0, max_translate_rel=0.5),
        "rand abs": lambda d: rand.rand_augment(d, 1, 0, shape=(3, 4), max_translate_abs=5),
        "rand three": lambda d: rand.rand_augment(d, 1, 0, max_translate_abs=(1, 2, 3)),
        "suite node": lambda d: rand.get_rand_augment_suite(d.shape()),
        "trivial bins": lambda d: trivial.trivial_augment_wide(d, num_magnitude_bins=-1),
        "trivial empty": lambda d: trivial.apply_trivial_augment([], d),
        "trivial excluded": lambda d: trivial.trivial_augment_wide(d, excluded=["nothing"]),
        "trivial unused": lambda d: trivial.apply_trivial_augment([a.invert], d, some=3),
        "auto name": lambda d: auto.auto_augment(d, "imagenet"),
        "auto name of another type": lambda d: auto.auto_augment(d, 3),
        "auto shape": lambda d: auto.auto_augment(d, "reduced_image_net", shape=(3, 4)),
        "auto abs": lambda d: auto.auto_augment(d, "reduced_image_net", max_translate_abs=4),
        "auto rel": lambda d: auto.auto_augment(d, "svhn", max_translate_rel=0.4),
        "auto empty": lambda d: auto.apply_auto_augment(core.Policy("own", 3, []), d),
        "auto unused": lambda d: auto.apply_auto_augment(policy((one, 1, 0)), d, fill_value=3),
        "policy bins": lambda d: policy(bins=0),
        "policy bins float": lambda d: policy(bins=3.0),
        "policy list": lambda d: core.Policy("own", 3, {}),
        "policy sub": lambda d: core.Policy("own", 3, [3]),
        "policy pair": lambda d: policy((one, 1)),
        "policy function": lambda d: policy((function, 1, 0)),
        "policy probability": lambda d: policy((one, 1.1, 0)),
        "policy text": lambda d: policy((one, "1", 0)),
        "policy no bin": lambda d: policy((one, 1, None)),
        "policy bin": lambda d: policy((one, 1, 3)),
        "policy unneeded bin": lambda d: policy((a.invert, 1, 3)),
        "signed bin": lambda d: core.signed_bin(1.5),
        "signed seed": lambda d: core.signed_bin(1, d, seed=4),
        "signed shape": lambda d: core.signed_bin(1, d, shape=(2,)),
        "decorated twice": lambda d: core.augmentation(one),
        "decorated number": lambda d: core.augmentation(3),
        "decorated small": lambda d: core.augmentation(lambda data: data),
        "no bin": lambda d: one(d, num_magnitude_bins=3),
        "no bins": lambda d: one(d, magnitude_bin=1),
        "bin too large": lambda d: one(d, magnitude_bin=3, num_magnitude_bins=3),
        "range": lambda d: one.augmentation(mag_range=(1, 2, 3))(
            d, magnitude_bin=0, num_magnitude_bins=3
        ),
        "range number": lambda d: one.augmentation(mag_range=4)(
            d, magnitude_bin=0, num_magnitude_bins=3
        ),
        "array": lambda d: one.augmentation(mag_range=np.zeros(4))(
            d, magnitude_bin=0, num_magnitude_bins=3
        ),
        "ragged": lambda d: ragged(
            d, magnitude_bin=p.fn.random.coin_flip(), num_magnitude_bins=2
        ),
        "node of a magnitude": lambda d: one.augmentation(mag_to_param=lambda m: [d])(
            d, magnitude_bin=0, num_magnitude_bins=3
        ),
        "needed": lambda d: core.augmentation(demanding)(d),
        "unknown setting": lambda d: one.augmentation(magnitudes=3),
        "solarize_add": lambda d: a.solarize_add.augmentation((0, 200))(
            d, magnitude_bin=2, num_magnitude_bins=3
        ),
        "select none": lambda d: core.select([], d, d),
        "two batches": lambda d: a.invert(d, d),
        "types": lambda d: rand.rand_augment(d, 1, 3, interp_type="linear"),
    }


def refused(p: Any) -> dict[str, str]:
    """Make each mistake, and return the names of the errors, or "" for none."""
    auto_aug = importlib.import_module(f"{p.__name__}.auto_aug")
    for module in PUBLIC:
        importlib.import_module(f"{p.__name__}.auto_aug.{module}")
    found = {}
    for name, mistake in mistakes(p, auto_aug).items():

        def define(mistake: Callable[[Any], Any] = mistake) -> Any:
            data = p.fn.external_source(name="x", dtype=p.types.UINT8, layout="HWC")
            return mistake(data)

        try:
            p.pipeline_def(
                enable_conditionals=True, batch_size=2, num_threads=1, device_id=None
            )(define)().serialize()
            found[name] = ""
        except Exception as err:
            found[name] = f"{type(err).__name__}: {err}"
    return found
