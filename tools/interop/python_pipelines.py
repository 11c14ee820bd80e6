"""Random pipelines that DALI and Bivouac run alike: in each Python, and serialized in the other.

    python_pipelines.py FIRST COUNT

It needs nvidia.dali. Each number of a pipeline is a seed. A pipeline is defined by one function with
either's modules, serialized by both, and run four times: each Python runs what it defined, and what
the other serialized. With checkpoints it is stopped in the middle and goes on in the other. Every
third one calls functions, and is not serialized. A pipeline that DALI refuses is counted: Bivouac
refuses it too, or it is one of those that DALI alone refuses.
"""

from __future__ import annotations

import collections
import importlib
import random
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

BATCHES = 5

# What DALI says of pipelines that Bivouac runs.
DALI_ALONE: tuple[str, ...] = ()


class Graph:
    """A Graph is a random graph: the same calls for the same seed, whatever the modules."""

    def __init__(self, seed: int, m: Any) -> None:
        self.rng = random.Random(seed)
        self.calls = calls_functions(seed)
        self.m = m
        self.fn = m.fn
        # Of each kind, nodes with the number of their dimensions and the least of their extents.
        self.numbers: list[tuple[Any, int]] = []
        self.images: list[Any] = []

    def pick(self) -> tuple[Any, int]:
        return self.rng.choice(self.numbers)

    def build(self) -> list[Any]:
        """Return the outputs."""
        r, fn, types = self.rng, self.fn, self.m.types
        for _ in range(r.randint(1, 3)):
            ndim = r.randint(0, 3)
            shape = [r.randint(2, 5) for _ in range(ndim)]
            kind = r.randint(0, 2)
            if kind == 0:
                node = fn.random.uniform(range=[-3.0, 5.0], shape=shape)
            elif kind == 1:
                values = [float(r.randint(-9, 9)) for _ in range(4)]
                node = fn.random.uniform(values=values, shape=shape, dtype=types.INT32)
            else:
                node = fn.random.coin_flip(probability=0.3, shape=shape, dtype=types.UINT8)
            self.numbers.append((node, ndim))
        for _ in range(r.randint(0, 2)):
            size = [r.randint(8, 20), r.randint(8, 20), 3]
            image = fn.random.uniform(range=[0.0, 255.0], shape=size)
            self.images.append(fn.reinterpret(fn.cast(image, dtype=types.UINT8), layout="HWC"))
        steps: list[Callable[[], None]] = [
            self.arithmetic,
            self.unary,
            self.reduce,
            self.shapes,
            self.index,
            self.choose,
            self.image,
        ]
        if self.calls:
            self.call()
            steps += [self.call] * 2
        for _ in range(r.randint(2, 9)):
            r.choice(steps)()
        nodes = [node for node, _ in self.numbers] + self.images
        return r.sample(nodes, min(len(nodes), r.randint(1, 4)))

    def arithmetic(self) -> None:
        r = self.rng
        (a, n), (b, k) = self.pick(), self.pick()
        if a is not b and n and k:  # shapes need not agree
            b, k = self.m.types.Constant(np.float32(r.randint(1, 5))), 0
        op = r.choice(["+", "-", "*", ">", "==", "min"])
        if op == "+":
            made = a + b
        elif op == "-":
            made = a - b
        elif op == "*":
            made = a * b
        elif op == ">":
            made = (a > b) * 1
        elif op == "==":
            made = (a == b) * 2
        else:
            made = self.m.math.min(a, b)
        self.numbers.append((made, max(n, k)))

    def unary(self) -> None:
        r, m = self.rng, self.m
        a, n = self.pick()
        made = r.choice(
            [
                lambda: -(a * 1),
                lambda: a * r.randint(-3, 3),
                lambda: a / r.randint(1, 5),
                lambda: m.math.floor(m.math.abs(a) * 1.5),
                lambda: m.math.clamp(a, -1, 2),
                lambda: self.fn.cast(a, dtype=r.choice([m.types.FLOAT, m.types.INT16])),
            ]
        )()
        self.numbers.append((made, n))

    def reduce(self) -> None:
        r = self.rng
        a, n = self.pick()
        if not n:
            return
        function = r.choice(["sum", "min", "max"])
        axis = r.randrange(n)
        made = getattr(self.fn.reductions, function)(a, axes=[axis])
        self.numbers.append((made, n - 1))

    def shapes(self) -> None:
        r = self.rng
        a, n = self.pick()
        if not n:
            return
        kind = r.randint(0, 3)
        if kind == 0:
            order = list(range(n))
            r.shuffle(order)
            made = self.fn.transpose(a, perm=order)
        elif kind == 1:
            made = self.fn.reshape(a, shape=[-1])
            n = 1
        elif kind == 2:
            made = self.fn.pad(a, fill_value=r.randint(0, 3), shape=[r.randint(6, 8)] * n)
        else:
            made = self.fn.cat(a, a, axis=r.randrange(n))
        self.numbers.append((made, n))

    def index(self) -> None:
        r = self.rng
        a, n = self.pick()
        if not n:
            return
        kind = r.randint(0, 2)
        if kind == 0:
            self.numbers.append((a[r.randint(0, 1)], n - 1))
        elif kind == 1:
            self.numbers.append((a[r.randint(0, 1) :], n))
        else:
            self.numbers.append((a[:2], n))

    def choose(self) -> None:
        a, n = self.pick()
        if n == 0:
            flip = self.fn.random.coin_flip(probability=0.5)
            self.numbers.append((a * flip, 0))

    def image(self) -> None:
        if not self.images:
            return
        r, fn = self.rng, self.fn
        image = r.choice(self.images)
        kind = r.randint(0, 4)
        if kind == 0:
            made = fn.flip(image, horizontal=r.randint(0, 1), vertical=r.randint(0, 1))
        elif kind == 1:
            made = fn.crop(image, crop=[r.randint(3, 7), r.randint(3, 7)])
        elif kind == 2:
            made = fn.brightness_contrast(image, brightness=r.uniform(0.5, 1.5))
        elif kind == 3:
            made = fn.flip(image, horizontal=fn.random.coin_flip())
        else:
            where = fn.random.uniform(range=[0.0, 1.0])
            made = fn.crop(image, crop=[4, 5], crop_pos_x=where)
        self.images.append(made)


    def call(self) -> None:
        """Add a function of the program."""
        r, fn = self.rng, self.fn
        a, n = self.pick()
        kind = r.randint(0, 5 if self.images else 4)
        if kind == 0:
            made = fn.python_function(a, function=lambda x: np.asarray(x * 2))
        elif kind == 1:
            made, size = fn.python_function(
                a, function=lambda x: (np.asarray(x - 1), np.array(x.size, np.int32)), num_outputs=2
            )
            self.numbers.append((size, 0))
        elif kind == 2:
            several = lambda xs: [np.asarray(x)[None] * len(xs) for x in xs]  # noqa: E731
            made, n = fn.python_function(a, function=several, batch_processing=True), n + 1
        elif kind == 3:
            made = fn.dl_tensor_python_function(a, function=lambda x: x)
        elif kind == 4:
            factor = np.float32(r.randint(1, 9))
            made = fn.python_function(a, factor, function=lambda x, y: np.asarray(x * y))
        else:
            image = r.choice(self.images)
            turned = fn.python_function(
                image, function=lambda x: x[::-1, 1:], output_layouts="HWC"
            )
            self.images.append(turned)
            return
        self.numbers.append((made, n))


def calls_functions(seed: int) -> bool:
    """Report whether the pipeline of a seed calls functions of the program."""
    return seed % 3 == 0


def define(name: str, seed: int, checkpoint: bytes | None = None) -> Any:
    """Return the pipeline of a seed, in DALI or in Bivouac."""
    m = importlib.import_module(name)
    for part in ("fn", "types", "math"):
        importlib.import_module(f"{name}.{part}")
    r = random.Random(-seed)

    @m.pipeline_def(
        batch_size=r.randint(1, 5),
        num_threads=r.randint(1, 3),
        device_id=None,
        seed=seed,
        prefetch_queue_depth=r.randint(1, 3),
        enable_checkpointing=seed % 2 == 0,
    )
    def graph() -> Any:
        return tuple(Graph(seed, m).build())

    return graph() if checkpoint is None else graph(checkpoint=checkpoint)


def batches(pipe: Any, number: int = BATCHES) -> list[Any]:
    """Run some batches."""
    made = []
    for _ in range(number):
        made.append(
            [
                (str(out.dtype), out.layout(), out.shape(), [np.array(x) for x in samples(out)])
                for out in pipe.run()
            ]
        )
    return made


def samples(out: Any) -> list[Any]:
    """Return the samples of an output."""
    return [out.at(i) for i in range(len(out))]


def compare(seed: int, what: str, want: list[Any], got: list[Any]) -> None:
    """Raise an error that names the first difference."""
    for i, (w, g) in enumerate(zip(want, got)):
        for k, (one, other) in enumerate(zip(w, g)):
            place = f"pipeline {seed}, {what}, batch {i}, output {k}"
            if one[:3] != other[:3]:
                raise AssertionError(f"{place}: want {one[:3]}, got {other[:3]}")
            for n, (a, b) in enumerate(zip(one[3], other[3])):
                if a.dtype.kind == "f":
                    same = np.allclose(a, b, rtol=2e-6, atol=2e-6, equal_nan=True)
                else:
                    same = np.array_equal(a, b)
                if not same:
                    raise AssertionError(f"{place}, sample {n}: want {a}, got {b}")


def drawing(pipe: Any, **options: bool) -> str:
    """Return the graph in the language of Graphviz."""
    with tempfile.TemporaryDirectory() as made:
        file = Path(made, "graph.dot")
        pipe.save_graph_to_dot_file(str(file), **options)
        return file.read_text()


def serialized(seed: int, ours: Any, theirs: Any, want: list[Any]) -> None:
    """Compare a pipeline that can be serialized. DALI has run it: `want` are its batches."""
    text = theirs.serialize()
    mine = ours.serialize()
    for options in ({}, {"show_tensors": True, "use_colors": True}):
        if drawing(ours, **options) != drawing(theirs, **options):
            raise AssertionError(f"pipeline {seed}: drawn in another way, with {options}")
    compare(seed, "defined here", want, batches(ours))
    bivouac = importlib.import_module("bivouac")
    dali = importlib.import_module("nvidia.dali")
    compare(seed, "serialized by DALI", want, batches(bivouac.Pipeline.deserialize(text)))
    there = dali.Pipeline.deserialize(mine)
    compare(seed, "serialized here, run by DALI", want, batches(there))


def refused_by(seed: int, text: str) -> str:
    """Return who refuses a pipeline that DALI refuses with a text."""
    try:
        batches(define("bivouac", seed))
    except (RuntimeError, TypeError, ValueError):
        return "both"
    if any(known in text for known in DALI_ALONE):
        return "DALI alone"
    raise AssertionError(f"pipeline {seed}: DALI refuses what Bivouac runs: {text}")


def check(seed: int) -> str:
    """Compare a pipeline in all ways. Return who has refused it, or ""."""
    ours, theirs = define("bivouac", seed), define("nvidia.dali", seed)
    try:
        theirs.build()
        want = batches(theirs)
    except RuntimeError as err:
        return refused_by(seed, str(err))
    if calls_functions(seed):
        compare(seed, "defined here", want, batches(ours))
    else:
        serialized(seed, ours, theirs, want)
    if seed % 2 == 0:
        ours, theirs = define("bivouac", seed), define("nvidia.dali", seed)
        theirs.build()
        batches(ours, 2)
        batches(theirs, 2)
        mine, text = ours.checkpoint(), theirs.checkpoint()
        compare(seed, "from DALI's state", want[2:], batches(define("bivouac", seed, text), 3))
        there = define("nvidia.dali", seed, mine)
        there.build()
        compare(seed, "DALI from our state", want[2:], batches(there, 3))
    return ""


if __name__ == "__main__":
    first, count = int(sys.argv[1]), int(sys.argv[2])
    refused = collections.Counter(check(number) for number in range(first, first + count))
    equal = refused.pop("", 0)
    print(f"{equal} pipelines from {first} on: equal in both Pythons, in all ways")
    for who, number in sorted(refused.items()):
        print(f"{number} refused by {who}")
    if not equal:
        sys.exit("no pipeline was compared")
