#!/usr/bin/env python3
"""Compares bivouac.torch.StatefulDataLoader with torch's DataLoader and torchdata's loader.

    python bench/python/loader.py [--rounds 9] [--only NAME]

It needs torch, and the packages torchdata, torchvision and pillow for some lines. The loaders take
turns within each round, in changing order. Their batches are compared first. Each line has the
medians, and the ratio of torch's DataLoader to Bivouac's loader.
"""

from __future__ import annotations

import argparse
import importlib
import io
import itertools
import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))

import numpy as np
import torch
from torch.utils.data import DataLoader

from bivouac.torch import StatefulDataLoader


class Numbers:
    """A data set of numbers, which cost nothing to read."""

    def __init__(self, n: int) -> None:
        self.n = n

    def __len__(self) -> int:
        return self.n

    def __getitem__(self, i: int) -> int:
        return i


class Images(Numbers):
    """A data set of images that are decoded already: 256 of them are 38 MB."""

    def __init__(self, n: int) -> None:
        super().__init__(n)
        self.pixels = torch.arange(3 * 224 * 224 * 32).to(torch.uint8).reshape(32, 3, 224, 224)

    def __getitem__(self, i: int) -> Any:  # type: ignore[override]
        return self.pixels[i % 32]


class Photos(Numbers):
    """A data set of JPEG files, decoded by PIL and changed by torchvision."""

    def __init__(self, n: int) -> None:
        super().__init__(n)
        image = importlib.import_module("PIL.Image")
        changes = importlib.import_module("torchvision.transforms")
        x, y = np.meshgrid(np.arange(500), np.arange(375))
        waves = [127 + 120 * np.sin(x / a + y / b) for a, b in ((9, 30), (40, 7), (23, 23))]
        file = io.BytesIO()
        image.fromarray(np.stack(waves, -1).astype(np.uint8)).save(file, "JPEG", quality=90)
        self.bytes, self.open = file.getvalue(), image.open
        self.change = changes.Compose([changes.CenterCrop(224), changes.ToTensor()])

    def __getitem__(self, i: int) -> Any:  # type: ignore[override]
        return self.change(self.open(io.BytesIO(self.bytes)).convert("RGB")), i


def loaders() -> dict[str, Any]:
    """Return the loaders that are installed."""
    found: dict[str, Any] = {"torch": DataLoader, "bivouac": StatefulDataLoader}
    try:
        module = importlib.import_module("torchdata.stateful_dataloader")
        found["torchdata"] = module.StatefulDataLoader
    except ImportError:
        pass
    return found


def equal(a: Any, b: Any) -> bool:
    """Report whether two batches are equal."""
    if isinstance(a, torch.Tensor):
        return a.dtype == b.dtype and torch.equal(a, b)
    return len(a) == len(b) and all(map(equal, a, b))


def measure(
    name: str, make: Callable[[Any], Any], steps: int, rounds: int, state: bool = False
) -> None:
    """Print the line of a case: microseconds a batch."""
    classes = loaders()
    if state:
        del classes["torch"]
    batches = [list(itertools.islice(iter(make(cls)), 4)) for cls in classes.values()]
    assert all(equal(batches[0], other) for other in batches[1:]), "the batches differ"
    del batches
    times: dict[str, list[float]] = {key: [] for key in classes}
    for k in range(rounds):
        order = list(classes)
        for key in order[k % len(order) :] + order[: k % len(order)]:
            loader = make(classes[key])
            iterator = iter(loader)
            for _ in range(6):
                next(iterator)
            began = time.perf_counter()
            for _ in range(steps):
                next(iterator)
                if state:
                    loader.state_dict()
            times[key].append((time.perf_counter() - began) / steps * 1e6)
            del loader, iterator
    line: dict[str, Any] = {"case": name, "unit": "us a batch"}
    for key, values in times.items():
        line[key] = round(statistics.median(values), 1)
        line[f"{key} spread"] = [round(min(values), 1), round(max(values), 1)]
    against = "torchdata" if state else "torch"
    line["ratio"] = round(line[against] / line["bivouac"], 2)
    line["load average"] = round(os.getloadavg()[0], 1)
    print(json.dumps(line), flush=True)


def memcpy(rounds: int) -> None:
    """Print how long a copy of a batch of 38 MB takes."""
    source = np.ones(256 * 3 * 224 * 224, np.uint8)
    target, times = source.copy(), []
    for _ in range(rounds):
        began = time.perf_counter()
        np.copyto(target, source)
        times.append((time.perf_counter() - began) * 1e6)
    print(json.dumps({"case": "memcpy of 38 MB", "us": round(statistics.median(times), 1)}))


def main() -> None:
    """Run the cases."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--only", default="")
    args = parser.parse_args()
    torch.set_num_threads(1)
    cases: dict[str, tuple[Callable[[Any], Any], int, bool]] = {}

    def case(name: str, dataset: Any, steps: int, state: bool = False, **options: Any) -> None:
        cases[name] = (lambda cls: cls(dataset, **options), steps, state)

    case("2 workers, 38 MB", Images(1 << 20), 20, batch_size=256, num_workers=2)
    case("1 worker, 38 MB", Images(1 << 20), 20, batch_size=256, num_workers=1)
    for size in (1, 64, 1024):
        many = 4000 // (1 + size // 16)
        case(f"0 workers, {size} numbers", Numbers(1 << 24), many, batch_size=size)
        few = 400 // (1 + size // 256)
        case(f"2 workers, {size} numbers", Numbers(1 << 24), few, batch_size=size, num_workers=2)
    case("0 workers, 64 numbers, state", Numbers(1 << 24), 800, True, batch_size=64)
    case("2 workers, 64 numbers, state", Numbers(1 << 24), 200, True, batch_size=64, num_workers=2)
    try:
        case("2 workers, 32 photos", Photos(1 << 20), 8, batch_size=32, num_workers=2)
    except ImportError as err:
        print(json.dumps({"case": "2 workers, 32 photos", "skipped": str(err)}))
    memcpy(args.rounds)
    for name, (make, steps, state) in cases.items():
        if args.only in name:
            measure(name, make, steps, args.rounds, state)
    memcpy(args.rounds)


if __name__ == "__main__":
    import warnings

    warnings.simplefilter("ignore")
    main()
