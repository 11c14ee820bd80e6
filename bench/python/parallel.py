#!/usr/bin/env python3
"""Compares external sources in worker processes with DALI's, with the same number of workers.

    python bench/python/parallel.py [--rounds 9] [--batches 20] [--workers 2] [--only NAME]

It needs nvidia.dali in this Python. Both take turns within each round, with pipelines that are warm.
A line has the median time of a batch and the ratio of DALI's to it.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import time
import zlib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))
sys.path.insert(0, str(Path(__file__).resolve().parent))

import numpy as np

from pipelines import compare, timed

BATCH = 64
_PACKED = zlib.compress(np.random.default_rng(1).integers(0, 9, (112, 112, 3), np.uint8).tobytes())
_IMAGE = np.random.default_rng(2).integers(0, 255, (224, 224, 3), np.uint8)


def sleeps(info: Any) -> Any:
    """A sample that is waited for, as for a file of a slow disk."""
    time.sleep(0.0005)
    return _IMAGE


def decodes(info: Any) -> Any:
    """A sample that Python decodes."""
    return np.frombuffer(zlib.decompress(_PACKED), np.uint8).reshape(112, 112, 3)


def gives(info: Any) -> Any:
    """A sample that costs nothing: what is measured is how it travels."""
    return _IMAGE


def batches() -> Any:
    """Batches of one worker that cost nothing."""
    while True:
        yield [_IMAGE] * BATCH


def pipeline(m: Any, source: Any, workers: int) -> Any:
    """Return a pipeline that is built."""
    batch = source is batches

    @m.pipeline_def(batch_size=BATCH, num_threads=1, device_id=None, py_num_workers=workers)
    def graph() -> Any:
        return m.fn.external_source(
            source=source, parallel=True, batch=batch, prefetch_queue_depth=2, layout="HWC"
        )

    pipe = graph()
    pipe.build()
    return pipe


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--batches", type=int, default=20)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--only", default="")
    args = parser.parse_args()
    packages = {}
    for name, package in {"DALI": "nvidia.dali", "Bivouac": "bivouac"}.items():
        packages[name] = importlib.import_module(package)
        importlib.import_module(f"{package}.fn")
    lines = {
        "samples that sleep": sleeps,
        "samples that Python decodes": decodes,
        "samples that cost nothing, 150 kB": gives,
        "batches of an iterable, 64 x 150 kB": batches,
    }
    for title, source in lines.items():
        if args.only not in title:
            continue
        pipes = {name: pipeline(m, source, args.workers) for name, m in packages.items()}
        takes = {name: timed(pipe.run) for name, pipe in pipes.items()}
        compare(f"{title}, {args.workers} workers", takes, args.batches, args.rounds)


if __name__ == "__main__":
    main()
