"""Feeding pipelines: where the side-car reads the arrays. Interrupts at each line of a run."""

from __future__ import annotations

import random
import sys
import time
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pipeline_scenes
import pytest

import bivouac
from bivouac import _rooms, fn
from bivouac._pipeline.remote import Remote
from bivouac._pipeline.running import Running
from bivouac._slots import Slots


@pytest.fixture(params=["direct", "arena"])
def reading(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The side-car reads the arrays where they lie, or gets them in an arena."""
    if request.param == "arena":
        monkeypatch.setattr(_rooms, "enabled", False)
    return str(request.param)


class Stop(Exception):
    """What the handler of a signal raises."""


def run_interrupted(
    pipe: Any, line: int, how: str = "run", ends: bool = False
) -> tuple[bool, Any]:
    """Run a pipeline, by the method `how`, with an interrupt.

    It comes before a line of the methods that feed and take, counted from 1. Return whether it
    came, and the batch if it did not. With `ends`, StopIteration is the batch None.
    """
    methods = {
        method.__code__
        for method in (
            Running._call_sources,
            Running._schedule,
            Remote.feed,
            Remote._feed_directly,
            Remote._feed_arena,
            Remote.was_fed,
            Remote.forget_feed,
            Remote.take,
            Remote.settle,
            Remote._run,
            Remote._hook,
            Remote._look,
            Remote._take,
            Remote._keep,
            Slots.take,
            Slots.freed,
        )
    }
    left = line

    def trace(frame: FrameType, event: str, _: object) -> Any:
        nonlocal left
        if frame.f_code not in methods:
            return None
        if event == "line":
            left -= 1
            if left == 0:
                raise Stop
        return trace

    sys.settrace(trace)
    try:
        return False, getattr(pipe, how)()
    except Stop:
        return True, None
    except StopIteration:
        if not ends:
            raise
        return False, None
    finally:
        sys.settrace(None)


def test_an_interrupt_before_each_line_loses_and_repeats_nothing(reading: str) -> None:
    @bivouac.pipeline_def(batch_size=2, num_threads=1, device_id=None)
    def graph() -> Any:
        one, two = fn.external_source(
            source=lambda i: (np.full((2, 9000), i, np.int32), np.full((2, 3), -i, np.int16)),
            num_outputs=2,
        )
        return one, two

    pipe = graph()
    number = came = 0
    held = []
    for line in range(1, 1000):
        interrupted, batch = run_interrupted(pipe, line)
        if interrupted:
            came += 1
            batch = pipe.run()
        one, two = (np.asarray(output.as_array()) for output in batch)
        assert (one == number).all() and (two == -number).all(), (line, number)
        held = [*held[-3:], (number, one)]
        for expected, array in held:
            assert (array == expected).all(), line
        number += 1
        if not interrupted:
            break
    assert came > 60, came
    assert not pipe._remote._link._calls


def ahead(root: Path, state: bytes | None = None, depth: int = 2) -> Any:
    """Return a pipeline without external sources."""

    @bivouac.pipeline_def(
        batch_size=2,
        num_threads=1,
        device_id=None,
        seed=5,
        enable_checkpointing=True,
        checkpoint=state,
        prefetch_queue_depth=depth,
    )
    def made() -> Any:
        data, label = fn.readers.file(
            file_root=str(root), file_filters=["*.bin"], random_shuffle=True
        )
        return label, fn.random.uniform(shape=[9000]), data

    return made()


@pytest.mark.parametrize("depth", [1, 2, 4])
def test_as_many_are_in_the_making_as_were_asked_for(tmp_path: Path, depth: int) -> None:
    pipe = ahead(pipeline_scenes.files(tmp_path), depth=depth)
    for number in range(1, 20):
        pipe.run()
        if number % 3 == 0:
            time.sleep(0.001)
        if number % 2 == 0:  # it may stop the call that asks ahead
            pipe.checkpoint()
        in_flight = pipe._remote.call("progress")["begun"] - number
        assert in_flight == (depth if depth > 1 else 0), number


@pytest.mark.parametrize("pause", [0.0, 0.01])
def test_an_interrupt_before_each_line_of_a_run_that_asks_ahead(
    tmp_path: Path, pause: float
) -> None:
    """The next batch is the one after the last that the program got, and so says the state.

    In a pause a batch comes that was asked for ahead.
    """
    root = pipeline_scenes.files(tmp_path)
    plain, pipe = ahead(root), ahead(root)
    came = 0
    for line in range(1, 1000):
        interrupted, batch = run_interrupted(pipe, line)
        want = pipeline_scenes.told(plain.run())
        if interrupted:
            came += 1
            time.sleep(pause)
            assert pipeline_scenes.told(ahead(root, pipe.checkpoint()).run()) == want, line
            batch = pipe.run()
        assert pipeline_scenes.told(batch) == want, line
        if not interrupted:
            break
    assert came > 60, came
    assert pipe._remote.left() <= 3
    for _ in range(5):
        assert pipeline_scenes.told(pipe.run()) == pipeline_scenes.told(plain.run())


@pytest.mark.parametrize("scheduled", [False, True])
def test_interrupts_anywhere(tmp_path: Path, scheduled: bool) -> None:
    """Batches come in order, and a state leads to the one that comes next."""
    root = pipeline_scenes.files(tmp_path)
    plain = ahead(root)
    want = [pipeline_scenes.told(plain.run()) for _ in range(80)]
    never = 1 << 30
    for seed in range(8):
        rng = random.Random(seed)
        pipe, number = ahead(root, depth=1 + seed % 4), 0
        for _ in range(80):
            if rng.random() < 0.15:
                time.sleep(rng.random() * 0.004)
            line = rng.randint(1, 110) if rng.random() < 0.5 else never
            if scheduled and rng.random() < 0.5:
                run_interrupted(pipe, line, "schedule_run")
                continue
            how = "share_outputs" if scheduled else "run"
            try:
                interrupted, batch = run_interrupted(pipe, line, how)
            except StopIteration:
                continue  # none was scheduled
            if not interrupted:
                assert pipeline_scenes.told(batch) == want[number], (seed, number)
                number += 1
            if rng.random() < 0.1:
                batch = ahead(root, pipe.checkpoint()).run()
                assert pipeline_scenes.told(batch) == want[number], (seed, number)
        assert number > 10


def test_arrays_of_any_form_are_fed(reading: str) -> None:
    """Strides, byte orders, empty samples, and arrays beside each other and far from each other."""
    rng = np.random.default_rng(2)
    wide = rng.integers(0, 1 << 20, (6, 200, 300)).astype(np.int32)
    batches: list[Any] = [
        wide[:4],
        wide[:4, ::2, ::-3],
        wide[:4].astype(">i4"),
        [wide[0], wide[1, :5], wide[2, :, :1], wide[3].T],
        [wide[0, :0], wide[1, :3], np.empty((7, 0), np.int32), wide[2]],
        np.empty((3, 0, 5), np.int32),
        [np.asfortranarray(wide[0]), wide[1]],
    ]

    @bivouac.pipeline_def(batch_size=4, num_threads=1, device_id=None, prefetch_queue_depth=1)
    def graph() -> Any:
        return fn.external_source(source=iter(batches))

    pipe = graph()
    for batch in batches:
        (output,) = pipe.run()
        assert len(output) == len(batch)
        for got, want in zip(output.views(), batch):
            assert got.dtype == np.int32
            np.testing.assert_array_equal(got, want)
    with pytest.raises(StopIteration):
        pipe.run()


def test_memory_that_cannot_be_read_goes_by_an_arena(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a container that forbids it: the first feed finds out, and the others do not try."""

    def refused(_: Any) -> dict[str, Any]:
        return {"address": 8, "token": "00" * 16}

    @bivouac.pipeline_def(batch_size=2, num_threads=1, device_id=None, prefetch_queue_depth=1)
    def graph() -> Any:
        return fn.external_source(source=lambda i: np.full((2, 4), i, np.int32))

    pipe = graph()
    monkeypatch.setattr(_rooms, "argument", refused)
    for i in range(5):
        assert (np.asarray(pipe.run()[0].as_array()) == i).all()
        assert not pipe._remote._reads


@pytest.mark.parametrize(
    ("depth", "calls", "made"),
    [
        # f feeds a batch, r runs, s schedules, o takes. DALI 2.4.0 delivers the same batches before
        # the error, after which its pipeline ends.
        (1, "r", ["unfed"]),
        (1, "ffrrr", [0, 1, "unfed"]),
        (2, "frr", [0, "unfed"]),
        (2, "ffrr", [0, 1]),
        (2, "fffrrr", [0, 1, 2]),
        (2, "ffrrrfr", [0, 1, "unfed", 2]),
        (2, "ffsosoo", [0, 1, "unfed"]),
        (2, "so", ["unfed"]),
        (2, "sofo", ["unfed", 0]),
        (3, "fffrrrr", [0, 1, 2, "unfed"]),
    ],
)
@pytest.mark.usefixtures("sidecar")
def test_what_was_fed_comes_before_the_error(depth: int, calls: str, made: list[Any]) -> None:
    @bivouac.pipeline_def(
        batch_size=2, num_threads=1, device_id=None, prefetch_queue_depth=depth
    )
    def graph() -> Any:
        return fn.external_source(name="in")

    pipe, fed, got = graph(), 0, []
    pipe.build()
    for call in calls:
        try:
            if call == "f":
                pipe.feed_input("in", np.full((2, 1), fed, np.int32))
                fed += 1
            elif call == "s":
                pipe.schedule_run()
            else:
                batch = pipe.run() if call == "r" else pipe.share_outputs()
                got.append(int(batch[0].at(0)[0]))
        except IndexError as err:
            assert isinstance(err, RuntimeError) and "node in" in str(err)
            got.append("unfed")
    assert got == made


@pytest.mark.usefixtures("sidecar")
def test_a_source_is_not_fed_as_well() -> None:
    @bivouac.pipeline_def(batch_size=2, num_threads=1, device_id=None)
    def graph() -> Any:
        return fn.external_source(source=lambda i: np.full((2, 1), i), name="in")

    pipe = graph()
    with pytest.raises(RuntimeError, match="'in'.*without a source"):
        pipe.feed_input("in", np.zeros((2, 1)))
    assert [int(pipe.run()[0].at(0)[0]) for _ in range(3)] == [0, 1, 2]
