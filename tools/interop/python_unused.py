"""Random pipelines with operators that no output needs, in DALI and in Bivouac.

    python_unused.py FIRST COUNT

It needs nvidia.dali. Each number of a pipeline is a seed. Functions whose results nothing uses fail
in some batches, operators with `preserve` do not take what they get, and other operators are behind
them. Both Pythons run the pipeline. The batches are equal, and so are the calls of each function.
Of a pipeline that DALI refuses, Bivouac refuses the first batch too.
"""

from __future__ import annotations

import collections
import importlib
import random
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from python_pipelines import BATCHES, Graph, batches, compare


class Unused(Graph):
    """An Unused is a random graph whose functions count their calls."""

    def __init__(self, seed: int, m: Any) -> None:
        super().__init__(seed, m)
        self.calls = True
        self.counts: collections.Counter[str] = collections.Counter()
        self.unused: list[Any] = []  # nodes that are for no output

    def build(self) -> Any:
        """Return the outputs."""
        made = super().build()
        for _ in range(self.rng.randint(1, 6)):
            self.rng.choice([self.effect, self.effect, self.refused, self.behind, self.branch])()
        return made

    def counted(self, function: Callable[..., Any], fails: float) -> Callable[..., Any]:
        """Return a function that counts its calls, and fails in some of them."""
        name, seed = f"f{len(self.counts)}", self.rng.randint(0, 1 << 30)
        self.counts[name] = 0

        def call(*args: Any) -> Any:
            self.counts[name] += 1
            # The call itself decides, so that batches ahead do not.
            if random.Random(seed + self.counts[name]).random() < fails:
                raise ValueError("it fails")
            return function(*args)

        return call

    def source(self) -> Any:
        """Return a node that outputs may need, or one that none needs."""
        if self.unused and self.rng.random() < 0.5:
            return self.rng.choice(self.unused)
        return self.pick()[0]

    def effect(self) -> None:
        """Add a function of which no output needs anything."""
        r, fn, node = self.rng, self.fn, self.source()
        fails = r.choice([0.0, 0.1, 0.5])
        kind = r.randint(0, 3)
        if kind == 0:
            made = fn.python_function(node, function=self.counted(lambda x: x, fails))
        elif kind == 1:
            copied = self.counted(lambda xs: [np.array(x) for x in xs], fails)
            made = fn.python_function(node, function=copied, batch_processing=True)
        elif kind == 2:
            wide = self.counted(lambda x: np.asarray(x, np.float64)[None], fails)
            made = fn.python_function(node, function=wide)
        else:
            nothing = self.counted(lambda x: None, fails)
            fn.python_function(node, function=nothing, num_outputs=0)
            return
        self.unused.append(made)

    def refused(self) -> None:
        """Add an operator that may not take its input."""
        r, fn = self.rng, self.fn
        node = fn.cast(self.source(), dtype=self.m.types.FLOAT64)
        made = r.choice(
            [
                lambda: fn.reductions.min(node, preserve=True),
                lambda: fn.transpose(node, perm=[1, 0], preserve=True),
                lambda: fn.decoders.image(node, preserve=True),
                lambda: fn.cat(node, node, axis=3, preserve=True),
                lambda: node & 3,
            ]
        )()
        self.unused.append(made)

    def behind(self) -> None:
        """Add operators that only such operators need."""
        r, fn, node = self.rng, self.fn, self.source()
        self.unused.append(
            r.choice([lambda: node * 2, lambda: fn.copy(node), lambda: node + self.source()])()
        )

    def branch(self) -> None:
        """Add random numbers beside, which outputs must not depend on."""
        drawn = self.fn.random.uniform(range=[0.0, 1.0], shape=[2])
        self.unused.append(drawn)


def define(name: str, seed: int, checkpoint: bytes | None = None) -> tuple[Any, Unused]:
    """Return the pipeline of a seed, in DALI or in Bivouac, and its graph."""
    m = importlib.import_module(name)
    for part in ("fn", "types", "math"):
        importlib.import_module(f"{name}.{part}")
    r = random.Random(-seed)
    graph = Unused(seed, m)

    @m.pipeline_def(
        batch_size=r.randint(1, 5),
        num_threads=r.randint(1, 3),
        device_id=None,
        seed=seed,
        prefetch_queue_depth=1,
        exec_dynamic=r.random() < 0.8,
        enable_checkpointing=seed % 2 == 0,
    )
    def pipe() -> Any:
        return tuple(graph.build())

    return pipe() if checkpoint is None else pipe(checkpoint=checkpoint), graph


def check(seed: int) -> str:
    """Compare a pipeline. Return what came of it."""
    (ours, mine), (theirs, other) = define("bivouac", seed), define("nvidia.dali", seed)
    try:
        theirs.build()
        want = batches(theirs)
    except RuntimeError:
        try:
            batches(ours)
        except RuntimeError:
            return "refused by both"
        raise AssertionError(f"pipeline {seed}: DALI refuses what Bivouac runs") from None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        compare(seed, "defined here", want, batches(ours))
    if mine.counts != other.counts:
        raise AssertionError(f"pipeline {seed}: calls: want {other.counts}, got {mine.counts}")
    if seed % 2 == 0:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            resumed(seed, want)
    failed = any("no output needs" in str(one.message) for one in caught)
    return "equal, with failures" if failed else "equal"


def resumed(seed: int, want: list[Any]) -> None:
    """Compare the batches after a state of the other."""
    for name, other in (("bivouac", "nvidia.dali"), ("nvidia.dali", "bivouac")):
        first, _ = define(name, seed)
        first.build()
        batches(first, 2)
        then, _ = define(other, seed, first.checkpoint())
        then.build()
        try:
            found = batches(then, BATCHES - 2)
        except RuntimeError:
            if then.exec_dynamic:
                raise
            continue  # functions fail in other batches now
        compare(seed, f"{other} from a state of {name}", want[2:], found)


if __name__ == "__main__":
    first, count = int(sys.argv[1]), int(sys.argv[2])
    found = collections.Counter(check(number) for number in range(first, first + count))
    print(f"{count} pipelines from {first} on, {BATCHES} batches of each:")
    for what, number in sorted(found.items()):
        print(f"{number} {what}")
    if not found["equal, with failures"]:
        sys.exit("no failure was compared")
