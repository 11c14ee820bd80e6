"""Random pipelines with automatic augmentation that DALI and Bivouac make and run alike.

    python_augment.py FIRST COUNT

It needs nvidia.dali. Each number of a pipeline is a seed: of the function, its arguments, the
policy, the batch size and the images. Both Pythons serialize the same bytes, and two batches of
both are equal in every byte. What is an error in one must be an error in the other.
"""

from __future__ import annotations

import random
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python" / "tests"))


def drawn(seed: int) -> dict[str, Any]:
    """Return a case as pipeline_augment has them."""
    import pipeline_augment

    rng = random.Random(seed)
    case: dict[str, Any] = {"batch_size": rng.randint(1, 9), "seed": rng.randrange(1 << 20)}
    if rng.random() < 0.2:
        case["frames"] = rng.randint(1, 3)
    args: dict[str, Any] = {}

    def maybe(name: str, share: float, value: Any) -> None:
        if rng.random() < share:
            args[name] = value

    kinds = ["rand_augment", "trivial_augment_wide", "auto_augment", "policy", "policy"]
    case["call"] = rng.choice(kinds)
    case["args"] = args
    maybe("seed", 0.4, rng.randrange(1 << 20))
    if case["call"] == "policy":
        case["policy"] = seed
        return case
    shaped = rng.random() < 0.5
    if shaped:
        args["shape"] = rng.choice(["own", [rng.randint(1, 30), rng.randint(1, 30)]])
        maybe("max_translate_rel", 0.5, rng.choice([rng.random(), [rng.random(), rng.random()]]))
    else:
        maybe("max_translate_abs", 0.5, rng.choice([rng.randint(0, 40), [3, rng.randint(0, 9)]]))
    maybe("max_translate_rel", 0.03, 0.5)
    maybe("fill_value", 0.5, rng.choice([None, 0, rng.randint(1, 255)]))
    maybe("interp_type", 0.4, rng.choice(["INTERP_LINEAR", "INTERP_NN"]))
    if case["call"] == "auto_augment":
        names = ["image_net", "reduced_image_net", "reduced_cifar10", "svhn"]
        maybe("policy_name", 0.9, rng.choice(names))
        return case
    bins = rng.choice([31, rng.randint(1, 40)])
    maybe("num_magnitude_bins", 0.5, bins)
    maybe("excluded", 0.4, rng.sample(pipeline_augment.NAMES, rng.randint(0, 13)))
    if case["call"] == "rand_augment":
        args["n"] = rng.choice([0, 1, 1, 2, 2, 3])
        args["m"] = rng.randrange(args.get("num_magnitude_bins", 31))
        maybe("monotonic_mag", 0.5, rng.random() < 0.3)
    return case


def policy(auto_aug: Any, seed: int) -> Any:
    """Return a random policy: its augmentations, magnitudes, probabilities and lengths."""
    rng = random.Random(seed)
    a = auto_aug.augmentations
    bins = rng.randint(1, 12)
    known: list[tuple[Any, bool]] = []
    for name in ("equalize", "invert", "auto_contrast", "identity"):
        known.append((getattr(a, name), False))
    for name in ("shear_x", "shear_y", "rotate", "translate_y_no_shape", "solarize_add", "solarize"):
        one = getattr(a, name)
        high = rng.uniform(0, 0.9) if "shear" in name else rng.randint(1, 100)
        signed = rng.random() < 0.5 and name not in ("solarize", "solarize_add")
        own = rng.choice([None, f"{name} of mine"])
        known.append((one.augmentation((0, high), signed, name=own), True))
    for name in ("brightness", "contrast", "color", "sharpness", "posterize"):
        known.append((getattr(a, name), True))
    known = rng.sample(known, rng.randint(1, len(known)))
    subs = []
    for _ in range(rng.randint(1, 6)):
        stages = []
        for _ in range(rng.randint(0, 3)):
            one, ranged = rng.choice(known)
            bin = rng.randrange(bins) if ranged else None
            stages.append((one, rng.choice([1, rng.random()]), bin))
        subs.append(stages)
    if not any(subs):
        subs.append([(a.invert, 0.5, None)])
    return auto_aug.core.Policy("drawn", bins, subs)


def results(package: Any, case: dict[str, Any]) -> tuple[str, str] | Exception:
    """Return the digests of a case, or its error."""
    import pipeline_augment

    def drawn_policy(p: Any, auto_aug: Any) -> Callable[..., Any]:
        made = policy(auto_aug, case["policy"])

        def apply(data: Any, **args: Any) -> Any:
            return auto_aug.auto_augment.apply_auto_augment(made, data, **args)

        return apply

    pipeline_augment.CUSTOM["policy"] = drawn_policy
    try:
        return pipeline_augment.results(package, case)
    except Exception as err:
        return err


def main() -> None:
    warnings.simplefilter("ignore")
    import nvidia.dali as dali
    from nvidia.dali._utils import dali_trace

    import bivouac

    dali_trace.set_tracing(enabled=False)
    first, count = int(sys.argv[1]), int(sys.argv[2])
    errors = 0
    for seed in range(first, first + count):
        case = drawn(seed)
        theirs, ours = (results(package, case) for package in (dali, bivouac))
        failed = isinstance(theirs, Exception)
        if failed != isinstance(ours, Exception) or not failed and theirs != ours:
            sys.exit(f"pipeline {seed}, {case}: DALI {theirs!r:.600}, Bivouac {ours!r:.600}")
        errors += failed
    print(f"{count} pipelines with automatic augmentation are equal, {errors} of them errors")


if __name__ == "__main__":
    main()
