"""Captured loops of dynamic mode: whatever a program does in its steps, it gets the same."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from dynamic_machine import indices, tree

import bivouac.dynamic as dyn
from bivouac import _client, errors
from bivouac._call import Call

pytestmark = pytest.mark.usefixtures("sidecar")

SIZE = 4
FILES = 26  # the last batch of an epoch has samples of the next one


def elements(value: Any) -> Any:
    """Return the elements and types of a value, or the text of its error."""
    try:
        if isinstance(value, dyn.Batch):
            return [(str(s.dtype), s.shape, np.asarray(s).tolist()) for s in value]
        return str(value.dtype), value.shape, np.asarray(value).tolist()
    except RuntimeError as err:
        return str(err)


class Program:
    """A Program makes the calls of a loop. The same seed makes the same calls.

    A step makes the calls of the step before. Now and then the calls change for all further steps,
    and now and then one step differs.
    """

    def __init__(self, seed: int, root: str, capture: bool) -> None:
        self.r = random.Random(seed)
        self.reader = dyn.readers.File(file_root=root, random_shuffle=True, seed=seed)
        self.capture = capture
        self.rngs = [dyn.random.RNG(seed=seed), dyn.random.RNG(seed=seed + 1)]
        self.outside = dyn.tensor([1.5, 2.5]) + 0
        self.calls = self.plan()

    def plan(self) -> list[tuple[str, int, int]]:
        """Return calls: a kind, and two numbers that choose inputs and arguments."""
        kinds = ["add", "mul", "outside", "uniform", "normal", "flip", "pad", "cast", "where"]
        r = self.r
        return [
            (r.choice(kinds), r.randrange(99), r.randrange(99)) for _ in range(r.randint(2, 7))
        ]

    def call(self, kind: str, a: int, b: int, values: list[Any]) -> Any:
        """Make a call with the values of the step."""
        x, y = values[a % len(values)], values[b % len(values)]
        rng = self.rngs[a % 2]
        if kind == "add":
            return x + y
        if kind == "mul":
            return x * (b % 5)
        if kind == "outside":
            return x + self.outside
        if kind == "uniform":
            return dyn.random.uniform(range=[0, 1 + b], rng=rng, batch_size=SIZE)
        if kind == "normal":
            return dyn.random.normal(x, rng=rng)
        if kind == "flip":
            return dyn.random.coin_flip(rng=rng, batch_size=SIZE)
        if kind == "pad":
            return dyn.pad(x, fill_value=b, axes=[0], shape=[2])
        if kind == "cast":
            return dyn.cast(x, dtype=dyn.float32)
        return dyn.math.max(x, y)

    def step(self, files: Any, labels: Any) -> Any:
        """Make the calls of a step. Return everything that the program sees."""
        r = self.r
        if r.random() < 0.15:
            self.calls = self.plan()
        values, seen = [labels], []
        for kind, a, b in self.calls:
            if r.random() < 0.02:
                b += 1  # another argument, or another input
            if r.random() < 0.02:
                self.rngs[0]()
            if r.random() < 0.02 and a % 3 == 0:
                number = elements(values[-1])  # a value that is used in the program
                values.append(values[-1] + len(str(number)))
            values.append(self.call(kind, a, b, values))
        if r.random() < 0.1:
            self.outside = self.outside + 1
        if r.random() < 0.05:
            values.append(dyn.crop(files, crop=[2, 2]))  # bytes are no image: an error
        if r.random() < 0.5:
            values = values[-2:]
        seen.append(indices(files))
        seen += [elements(value) for value in values]
        seen += [str(rng.state) for rng in self.rngs]
        return seen

    def run(self, epochs: int = 2) -> Iterator[Any]:
        """Yield what the steps of several epochs show."""
        for _ in range(epochs):
            for files, labels in self.reader.next_epoch(batch_size=SIZE, capture=self.capture):
                yield self.step(files, labels)
            yield "end"


@pytest.mark.parametrize("seed", range(24))
def test_random_programs(tmp_path: Path, seed: int) -> None:
    root = tree(tmp_path, FILES)
    captured = Program(seed, root, True)
    assert list(captured.run()) == list(Program(seed, root, False).run())


def test_most_steps_are_made_ahead(tmp_path: Path) -> None:
    root = tree(tmp_path, FILES)
    ahead = 0
    for seed in range(4):
        program = Program(seed, root, True)
        list(program.run())
        ahead += program.reader._ahead
    assert ahead > 0


def test_going_on_from_the_state_of_a_generator(tmp_path: Path) -> None:
    """A state that is taken between two steps has only the steps that the program saw."""
    root = tree(tmp_path, FILES)

    def steps(rng: dyn.random.RNG, skip: int, capture: bool) -> Iterator[Any]:
        reader = dyn.readers.File(file_root=root)
        for number, (_, labels) in enumerate(reader.next_epoch(batch_size=SIZE, capture=capture)):
            if number < skip:
                continue
            noise = dyn.random.normal(labels, stddev=2.0, rng=rng)
            flip = dyn.random.coin_flip(rng=rng, batch_size=SIZE)
            yield elements(noise * flip), str(rng.state)

    plain = list(steps(dyn.random.RNG(seed=9), 0, False))
    for stop in range(1, len(plain)):
        rng = dyn.random.RNG(seed=9)
        for found in (captured := steps(rng, 0, True)):
            if found == plain[stop - 1]:
                break
        captured.close()
        state = rng.get_state()
        assert list(steps(dyn.random.RNG(state=state), stop, True)) == plain[stop:]


def test_errors_of_calls_that_were_made_ahead(tmp_path: Path) -> None:
    """A call that fails is an error if the program makes it, and no error if it does not."""
    root = tree(tmp_path, FILES)  # files from 10 on, in the third batch, have two bytes

    def run(steps: int, capture: bool) -> str:
        reader = dyn.readers.File(file_root=root)
        with dyn.EvalContext() as ctx:
            epoch = reader.next_epoch(batch_size=SIZE, capture=capture)
            for _, (files, _) in zip(range(steps), epoch):
                value = dyn.reshape(files, shape=[1])
                if steps < 3:
                    value.evaluate()
            try:
                ctx.evaluate_all()
            except errors.BivouacError as err:
                return str(err)
        return ""

    for steps in (1, 2, 3):
        for _ in range(5):
            said = run(steps, True)
            assert said == run(steps, False)
            assert (said == "") == (steps < 3)


def test_interrupted_waits_in_a_captured_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A wait for a value that was interrupted is made again, and nothing else changes."""
    root = tree(tmp_path, FILES)
    until, waits = Call._until, 0

    def interrupted(self: Call, ready: Any, timeout: float | None) -> None:
        nonlocal waits
        waits += self.op == "dynamic.run"
        if self.op == "dynamic.run" and waits % 3 == 0:
            raise KeyboardInterrupt
        until(self, ready, timeout)

    def again(value: Any) -> Any:
        while True:
            try:
                return elements(value)
            except KeyboardInterrupt:
                continue

    def run() -> list[Any]:
        reader, rng = dyn.readers.File(file_root=root), dyn.random.RNG(seed=3)
        found = []
        for _, labels in reader.next_epoch(batch_size=SIZE, capture=True):
            value = dyn.random.normal(labels, rng=rng) + 1
            found.append((again(labels), again(value), str(rng.state)))
        return found

    plain = run()
    with monkeypatch.context() as changed:
        changed.setattr(Call, "_until", interrupted)
        assert run() == plain
    assert waits > 3


def test_an_interrupted_step_of_a_captured_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The batch whose wait was interrupted is the first one of the next loop."""
    reader = dyn.readers.File(file_root=tree(tmp_path, FILES))
    epoch = reader.next_epoch(batch_size=SIZE, capture=True)
    for number in range(3):
        files, labels = next(epoch)
        (labels + 1).evaluate()
        assert indices(files) == list(range(SIZE * number, SIZE * (number + 1)))

    def interrupted(self: Call, ready: Any, timeout: float | None) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as changed:
        changed.setattr(Call, "_until", interrupted)
        with pytest.raises(KeyboardInterrupt):
            next(epoch)
    files, _ = next(reader.next_epoch(batch_size=SIZE, capture=True))
    assert indices(files) == list(range(SIZE * 3, SIZE * 4))


def test_closing_in_a_captured_loop(tmp_path: Path) -> None:
    """The connection ends while the next step is being made; another one begins."""
    root = tree(tmp_path, FILES)
    for _ in range(3):
        reader = dyn.readers.File(file_root=root)
        for number, (files, labels) in enumerate(reader.next_epoch(batch_size=SIZE, capture=True)):
            value = labels * 2
            if number == 2:
                break
        assert indices(files) == list(range(SIZE * 2, SIZE * 3))
        _client.connection().close()
        with pytest.raises(errors.Closed):
            value.evaluate()
