#!/usr/bin/env python3
"""Measures dynamic mode in Python, beside DALI's dynamic mode and a pipeline of the same operators.

    python bench/python/dynamic.py [--rounds 9] [--batches 20] [--threads 2]

It needs nvidia.dali in this Python, and a side-car (BIVOUAC_BINARY). All contenders take turns
within each round, in changing order, and are warm. A line has the median time and the ratio of the
first contender's time to it. Data are copies of a photo in testdata/photos.
"""

from __future__ import annotations

import argparse
import importlib
import statistics
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))

import numpy as np
from pipelines import photos, timed

BATCH = 64
GROUP = 100


def calls(m: Any) -> Callable[[], None]:
    """Return a function that makes a group of small calls and waits for the last one."""
    x = m.tensor([1.0, 2.0])

    def run() -> None:
        for _ in range(GROUP):
            y = x + 1.0
        y.evaluate()

    return run


def loop(m: Any, files: str, capture: bool) -> Callable[[], None]:
    """Return a function that takes a batch of the input pipeline of ResNet-50."""
    reader, rng = m.readers.File(file_root=files, random_shuffle=True, seed=7), m.random.RNG(seed=3)

    def steps() -> Any:
        while True:
            for jpegs, _ in reader.next_epoch(batch_size=BATCH, capture=capture):
                images = m.resize(m.decoders.image(jpegs), size=[224, 224])
                mirror = m.random.coin_flip(rng=rng, batch_size=BATCH)
                yield m.crop_mirror_normalize(
                    images, mirror=mirror, mean=[124.0, 116.0, 104.0], std=[58.0, 57.0, 57.0]
                )

    batches = steps()

    def run() -> None:
        images = next(batches).evaluate()
        np.asarray(images.tensors[0])

    return run


def pipeline(m: Any, files: str, threads: int) -> Callable[[], None]:
    """Return a function that takes a batch of a pipeline of the same operators."""

    @m.pipeline_def(batch_size=BATCH, num_threads=threads, device_id=None, seed=7)
    def graph() -> Any:
        jpegs, _ = m.fn.readers.file(file_root=files, random_shuffle=True)
        images = m.fn.resize(m.fn.decoders.image(jpegs), size=[224, 224])
        return m.fn.crop_mirror_normalize(
            images,
            mirror=m.fn.random.coin_flip(),
            mean=[124.0, 116.0, 104.0],
            std=[58.0, 57.0, 57.0],
        )

    pipe = graph()
    pipe.build()

    def run() -> None:
        pipe.run()[0].at(0)

    return run


def measure(title: str, unit: float, contenders: dict[str, Callable[[], None]], args: Any) -> None:
    """Print the median time of each contender."""
    times: dict[str, list[float]] = {name: [] for name in contenders}
    names = list(contenders)
    for turn in range(args.rounds):
        for name in names[turn % len(names) :] + names[: turn % len(names)]:
            times[name].append(timed(contenders[name])(args.batches) / args.batches)
    first = statistics.median(times[names[0]])
    for name in names:
        median = statistics.median(times[name])
        print(f"{title}: {name}: {median * unit:,.2f} (x {first / median:.2f})")


def main() -> None:
    """Measure all."""
    parser = argparse.ArgumentParser(description="dynamic mode in Python")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--batches", type=int, default=20)
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    ours = importlib.import_module("bivouac.dynamic")
    theirs = importlib.import_module("nvidia.dali.experimental.dynamic")
    graphs = importlib.import_module("bivouac")
    for m in (ours, theirs):
        m.set_num_threads(args.threads)
    small = {"DALI": calls(theirs), "bivouac": calls(ours)}
    measure(f"µs for a call of {GROUP}", 1e6 / GROUP, small, args)
    with tempfile.TemporaryDirectory() as folder:
        files = photos(Path(folder))
        images = {
            "bivouac, pipeline": pipeline(graphs, files, args.threads),
            "bivouac, captured loop": loop(ours, files, True),
            "bivouac, loop": loop(ours, files, False),
            "DALI, loop": loop(theirs, files, False),
        }
        measure("ms for a batch of 64 photos", 1e3, images, args)


if __name__ == "__main__":
    main()
