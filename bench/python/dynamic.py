#!/usr/bin/env python3
"""Measures dynamic mode in Python, beside DALI's dynamic mode and a pipeline of the same operators.

    python bench/python/dynamic.py [--rounds 9] [--batches 20] [--threads 2] [--only NAME]

It needs Go, nvidia.dali in this Python, and a side-car (BIVOUAC_BINARY). All contenders take turns
within each round, in changing order, and are warm. A line has the median time and the ratio of the
first contender's time to it. Data are the JPEG files of bench/pipeline.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))

import numpy as np
from pipelines import compare, go_command, in_go, photos, timed

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


def pipeline(m: Any, files: str, threads: int) -> Any:
    """Return a pipeline of the same operators."""

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
    return pipe


def main() -> None:
    """Measure all."""
    parser = argparse.ArgumentParser(description="dynamic mode in Python")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--batches", type=int, default=20)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--only", default="")
    args = parser.parse_args()
    ours = importlib.import_module("bivouac.dynamic")
    theirs = importlib.import_module("nvidia.dali.experimental.dynamic")
    graphs = importlib.import_module("bivouac")
    for m in (ours, theirs):
        m.set_num_threads(args.threads)
    title = f"a group of {GROUP} calls"
    if args.only in title:
        small = {"DALI": timed(calls(theirs)), "Bivouac": timed(calls(ours))}
        compare(title, small, 5 * args.batches, args.rounds, "call", GROUP)
    title = f"a loop over batches of {BATCH} photos"
    if args.only not in title:
        return
    with tempfile.TemporaryDirectory() as folder:
        command = go_command(Path(folder))
        files = photos(Path(folder) / "photos", command)
        pipe = pipeline(graphs, files, args.threads)
        loops = {
            "pipeline in Go": in_go(pipe.serialize(), command, Path(folder)),
            "pipeline": timed(lambda: pipe.run()[0].at(0)),
            "captured loop": timed(loop(ours, files, True)),
            "loop": timed(loop(ours, files, False)),
            "loop of DALI": timed(loop(theirs, files, False)),
        }
        compare(title, loops, args.batches, args.rounds)


if __name__ == "__main__":
    main()
