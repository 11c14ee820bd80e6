#!/usr/bin/env python3
"""Compares pipelines of bivouac in Python with DALI on the CPU, and with the same graph in Go.

    python bench/python/pipelines.py [--rounds 9] [--batches 20] [--threads 2] [--only NAME]

It needs Go, and nvidia.dali and torch in this Python. All contenders take turns within each round, in
changing order, each with pipelines that are warm. A line has the median time of a batch and the
ratio of DALI's to it. Data are the 512 JPEG files of bench/pipeline, of about 500x375 pixels.
"""

from __future__ import annotations

import argparse
import importlib
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))

import numpy as np

BATCH = 64
AHEAD = 4  # more batches than a pipeline makes ahead


def modules(name: str) -> Any:
    """Return a package with its modules imported."""
    top = importlib.import_module(name)
    for part in ("fn", "types", "plugin.pytorch"):
        importlib.import_module(f"{name}.{part}")
    return top


def photos(root: Path, command: Path) -> str:
    """Make the data set of bench/pipeline."""
    subprocess.run([command, "photos", root], check=True)
    return str(root / "train")


def training(m: Any, files: str, threads: int, crop: str) -> Any:
    """The input pipeline of ResNet-50."""

    @m.pipeline_def(batch_size=BATCH, num_threads=threads, device_id=None, seed=7)
    def graph() -> Any:
        jpegs, labels = m.fn.readers.file(file_root=files, random_shuffle=True, name="files")
        if crop == "decode":
            images = m.fn.decoders.image_random_crop(jpegs)
            images = m.fn.resize(images, size=(224, 224))
        else:
            images = m.fn.random_resized_crop(m.fn.decoders.image(jpegs), size=(224, 224))
        images = m.fn.crop_mirror_normalize(
            images,
            mirror=m.fn.random.coin_flip(),
            dtype=m.types.FLOAT,
            output_layout="CHW",
            mean=[123.7, 116.3, 103.5],
            std=[58.4, 57.1, 57.4],
        )
        return images, labels

    pipe = graph()
    pipe.build()
    return pipe


def iterated(m: Any, pipe: Any) -> Callable[[], Any]:
    """Return what takes a batch as tensors of torch."""
    iterator = m.plugin.pytorch.DALIGenericIterator(
        pipe, ["image", "label"], reader_name="files", auto_reset=True
    )

    def take() -> Any:
        try:
            return next(iterator)
        except StopIteration:
            return next(iterator)

    return take


def small(m: Any, threads: int) -> Any:
    """A pipeline that does nearly nothing."""

    @m.pipeline_def(batch_size=4, num_threads=threads, device_id=None, seed=1)
    def graph() -> Any:
        return m.fn.random.coin_flip()

    pipe = graph()
    pipe.build()
    return pipe


def fed(m: Any, threads: int) -> Any:
    """An external source of batches of numpy arrays."""
    rng = np.random.default_rng(1)
    arrays = [rng.integers(0, 255, (224, 224, 3), np.uint8) for _ in range(BATCH)]

    @m.pipeline_def(batch_size=BATCH, num_threads=threads, device_id=None)
    def graph() -> Any:
        return m.fn.external_source(source=lambda i: arrays, layout="HWC")

    pipe = graph()
    pipe.build()
    return pipe


def in_go(graph: bytes, command: Path, root: Path) -> Callable[[int], float]:
    """Return what runs a graph in Go."""
    file = root / f"graph{len(list(root.glob('graph*')))}"
    file.write_bytes(graph)

    def run(batches: int) -> float:
        out = subprocess.run(
            [command, file, str(batches)], check=True, capture_output=True, text=True
        )
        return float(out.stdout)

    return run


def timed(take: Callable[[], Any]) -> Callable[[int], float]:
    """Return what measures some calls.

    As many are made before, as in Go, so that no batch comes that was made ahead in a pause.
    Afterwards the next contender waits until this one has made its batches ahead.
    """

    def run(batches: int) -> float:
        for _ in range(max(AHEAD, batches)):
            take()
        began = time.perf_counter()
        for _ in range(batches):
            take()
        seconds = time.perf_counter() - began
        time.sleep(AHEAD * seconds / batches + 0.1)
        return seconds

    return run


def compare(
    title: str,
    contenders: dict[str, Callable[[int], float]],
    batches: int,
    rounds: int,
    what: str = "batch",
    per: int = 1,
) -> None:
    """Measure contenders in turns, and print the median time of a batch of each.

    The ratios are to the first contender. A batch is `per` of `what`.
    """
    samples: dict[str, list[float]] = {name: [] for name in contenders}
    names = list(contenders)
    for number in range(rounds):
        for name in names[number % len(names) :] + names[: number % len(names)]:
            samples[name].append(contenders[name](batches) / batches)
    print(title)
    base, width = statistics.median(samples[names[0]]), max(15, *map(len, names))
    for name in names:
        median = statistics.median(samples[name])
        ratio = f"{base / median:6.2f} of {names[0]}"
        print(f"  {name:{width}} {median / per * 1e6:10.{0 if per == 1 else 1}f} us a {what}  {ratio}")


def go_command(root: Path) -> Path:
    """Build and return the command that runs a graph in Go."""
    command = root / "graph-in-go"
    build = ["go", "build", "-o", str(command), "./bench/python/graph"]
    subprocess.run(build, check=True, cwd=ROOT, env={**os.environ, "CGO_ENABLED": "0"})
    return command


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--batches", type=int, default=20)
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--only", default="")
    args = parser.parse_args()
    dali, bivouac = modules("nvidia.dali"), modules("bivouac")
    with tempfile.TemporaryDirectory() as made:
        root = Path(made)
        command = go_command(root)
        files = photos(root / "photos", command)
        lines: dict[str, tuple[int, dict[str, Callable[[int], float]]]] = {}
        for crop in ("decode", "resized"):
            ours = training(bivouac, files, args.threads, crop)
            lines[f"training, {crop} crop, to torch"] = (
                args.batches,
                {
                    "DALI": timed(iterated(dali, training(dali, files, args.threads, crop))),
                    "Bivouac": timed(iterated(bivouac, ours)),
                    "Bivouac in Go": in_go(ours.serialize(), command, root),
                },
            )
        lines["a batch that costs nothing"] = (
            500,
            {
                "DALI": timed(small(dali, 1).run),
                "Bivouac": timed(small(bivouac, 1).run),
            },
        )
        lines["external source, 64 arrays of 150 kB"] = (
            args.batches,
            {
                "DALI": timed(fed(dali, args.threads).run),
                "Bivouac": timed(fed(bivouac, args.threads).run),
            },
        )
        for title, (batches, contenders) in lines.items():
            if args.only not in title:
                continue
            compare(title, contenders, batches, args.rounds)


if __name__ == "__main__":
    main()
