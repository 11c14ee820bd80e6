"""Feeding pipelines: the memory that data goes through. Interrupts at each line of a run."""

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
from bivouac import fn
from bivouac._pipeline import remote
from bivouac._pipeline.remote import Remote, _Feed
from bivouac._pipeline.running import Running
from bivouac._slots import Slots


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
            Remote._room,
            Remote._mapped,
            Remote._bring,
            Remote._send,
            Remote._wait,
            Remote._copy,
            Remote._settle_feed,
            Remote.begun_by_now,
            Remote.holds,
            _Feed.hook,
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
            Slots.room,
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
    except IndexError:  # an input was not fed
        return False, None
    finally:
        sys.settrace(None)


def test_an_interrupt_before_each_line_loses_and_repeats_nothing() -> None:
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
    pipe._remote.settle()  # the batch that was asked for ahead
    assert not pipe._remote._link._calls


LARGE, SMALL = 9000, 5  # elements: batches that come one by one, or several at a time


def ahead(
    root: Path, state: bytes | None = None, depth: int = 2, elements: int = LARGE
) -> Any:
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
        return label, fn.random.uniform(shape=[elements]), data

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


@pytest.mark.parametrize(("pause", "elements"), [(0.0, LARGE), (0.01, LARGE), (0.01, SMALL)])
def test_an_interrupt_before_each_line_of_a_run_that_asks_ahead(
    tmp_path: Path, pause: float, elements: int
) -> None:
    """The next batch is the one after the last that the program got, and so says the state.

    In a pause a batch comes that was asked for ahead.
    """
    root = pipeline_scenes.files(tmp_path)
    plain, pipe = ahead(root, elements=elements), ahead(root, elements=elements)
    came = 0
    for line in range(1, 1000):
        while elements == SMALL and len(pipe._remote._ready if pipe._remote else []) > 1:
            assert pipeline_scenes.told(pipe.run()) == pipeline_scenes.told(plain.run())
        interrupted, batch = run_interrupted(pipe, line)
        want = pipeline_scenes.told(plain.run())
        if interrupted:
            came += 1
            time.sleep(pause)
            other = ahead(root, pipe.checkpoint(), elements=elements)
            assert pipeline_scenes.told(other.run()) == want, line
            batch = pipe.run()
        assert pipeline_scenes.told(batch) == want, line
        if not interrupted:
            break
    assert came > 60, came
    assert pipe._remote.left() <= (3 if elements == LARGE else 40)
    for _ in range(5):
        assert pipeline_scenes.told(pipe.run()) == pipeline_scenes.told(plain.run())


@pytest.mark.parametrize(
    ("scheduled", "elements"), [(False, LARGE), (True, LARGE), (False, SMALL)]
)
def test_interrupts_anywhere(tmp_path: Path, scheduled: bool, elements: int) -> None:
    """Batches come in order, and a state leads to the one that comes next."""
    root = pipeline_scenes.files(tmp_path)
    plain = ahead(root, elements=elements)
    want = [pipeline_scenes.told(plain.run()) for _ in range(80)]
    never = 1 << 30
    for seed in range(8):
        rng = random.Random(seed)
        pipe, number = ahead(root, depth=1 + seed % 4, elements=elements), 0
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
                batch = ahead(root, pipe.checkpoint(), elements=elements).run()
                assert pipeline_scenes.told(batch) == want[number], (seed, number)
        assert number > 10


def fed_ahead(state: bytes | None = None, depth: int = 2) -> Any:
    """Return a pipeline with external sources whose batches differ in size."""

    def numbers(batch: Any) -> Any:
        rng = random.Random(batch.iteration)
        size = rng.choice([1, 7, 3000, 60000])
        sizes = [rng.randrange(size) if rng.random() < 0.3 else size for _ in range(3)]
        return [np.full(size, batch.iteration, np.int32) for size in sizes]

    def labels(batch: Any) -> Any:
        return np.full((3, 1), batch.iteration, np.int64)

    @bivouac.pipeline_def(
        batch_size=3,
        num_threads=1,
        device_id=None,
        enable_checkpointing=True,
        checkpoint=state,
        prefetch_queue_depth=depth,
    )
    def made() -> Any:
        number = fn.external_source(source=numbers, batch_info=True)
        label = fn.external_source(source=labels, batch_info=True)
        return number, label, number + 1

    return made()


def test_interrupts_anywhere_with_sources() -> None:
    """As above, while the program holds some batches and writes to others."""

    def check(batch: Any, number: int, what: object) -> None:
        for output, value in zip(batch, (number, number, number + 1)):
            for view in output.views():
                assert (view == value).all(), (what, number)

    never = 1 << 30
    for seed in range(12):
        rng = random.Random(seed)
        depth = 1 + seed % 4
        pipe, number = fed_ahead(depth=depth), 0
        held: list[tuple[int, Any]] = []
        while number < 40:
            line = rng.randrange(1, 250) if rng.random() < 0.75 else never
            interrupted, batch = run_interrupted(pipe, line)
            if not interrupted:
                check(batch, number, (seed, line))
                if rng.random() < 0.5:
                    held.append((number, batch))
                else:
                    for output in batch:
                        for view in output.views():
                            view[...] = -1
                number += 1
            if len(held) > 5:
                had, one = held.pop(rng.randrange(len(held)))
                check(one, had, (seed, "held"))
            if rng.random() < (0.3 if interrupted else 0.05):
                pipe = fed_ahead(pipe.checkpoint(), depth)
                check(pipe.run(), number, (seed, "state"))
                number += 1


@pytest.mark.parametrize("depth", [1, 2, 4])
def test_a_source_is_called_for_as_many_batches_as_are_made_ahead(depth: int) -> None:
    calls = 0

    def source(i: int) -> Any:
        nonlocal calls
        calls = i + 1
        return np.full((2, 3), i)

    @bivouac.pipeline_def(
        batch_size=2, num_threads=1, device_id=None, prefetch_queue_depth=depth
    )
    def graph() -> Any:
        return fn.external_source(source=source)

    pipe = graph()
    for number in range(1, 20):
        assert int(pipe.run()[0].at(0)[0]) == number - 1
        if number % 3 == 0:
            time.sleep(0.001)
        assert calls == number + depth - 1
        if number % 2 == 0:  # it may stop the call that asks ahead
            assert pipe._remote.call("progress")["begun"] == calls


def test_a_copy_that_fails_is_made_by_the_next_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """The side-car knows of the data already, so the source is not asked again."""
    calls = []

    @bivouac.pipeline_def(batch_size=2, num_threads=1, device_id=None)
    def graph() -> Any:
        return fn.external_source(source=lambda i: calls.append(i) or np.full((2, 9000), i))

    def broken(*_: object) -> None:
        raise ValueError("no copy")

    pipe = graph()
    for number in range(12):
        if number % 3 == 1:
            with monkeypatch.context() as patch:
                patch.setattr(remote, "copy_all", broken)
                with pytest.raises(ValueError, match="no copy"):
                    pipe.run()
        assert (pipe.run()[0].as_array() == number).all()
    assert calls == list(range(13))


def test_feed_input_after_an_interrupt_in_the_feed_of_a_source() -> None:
    """The batch of the source is neither fed again nor begun before it was copied."""

    @bivouac.pipeline_def(batch_size=2, num_threads=1, device_id=None, prefetch_queue_depth=1)
    def graph() -> Any:
        return (
            fn.external_source(source=lambda i: np.full((2, 9000), i)),
            fn.external_source(name="in"),
        )

    pipe = graph()
    pipe.build()
    came = number = 0
    for line in range(1, 1000):
        interrupted, batch = run_interrupted(pipe, line)  # its other input is not fed
        came += interrupted
        pipe.feed_input("in", np.full((2, 3), number))
        try:
            one, two = pipe.run()
        except IndexError:  # of the interrupted run, which nobody has waited for
            one, two = pipe.run()
        assert (one.as_array() == number).all() and (two.as_array() == number).all(), line
        number += 1
        if not interrupted:
            break
    assert came > 60, came


def test_arrays_of_any_form_are_fed() -> None:
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


@pytest.mark.usefixtures("sidecar")
def test_a_batch_that_was_fed_is_not_changed_by_who_fed_it_or_had_the_one_before() -> None:
    """It lies where it was fed, in memory that batches before had."""
    given = np.zeros((2, 1 << 16), np.int32)

    @bivouac.pipeline_def(batch_size=2, num_threads=1, device_id=None, prefetch_queue_depth=2)
    def graph() -> Any:
        inputs = fn.external_source(name="in")
        repeated = fn.external_source(name="again", repeat_last=True)
        return inputs, inputs + 1, repeated, inputs

    pipe, sizes = graph(), random.Random(3)
    held: list[Any] = []
    pipe.build()

    def feed(number: int) -> None:
        given[...] = number
        pipe.feed_input("in", given[:, : sizes.randrange(1, 1 << 16)])
        if number % 3 == 0:
            pipe.feed_input("again", [given[0], given[1, :5]])
        given[...] = -1

    for number in range(2):
        feed(number)
    for number in range(40):
        outputs = pipe.run()
        values = number, number + 1, number - number % 3, number
        views = [view for output in outputs for view in output.views()]
        for view, value in zip(views, [value for value in values for _ in range(2)]):
            assert (view == value).all()
        if sizes.random() < 0.5:
            held.append((views, [view.copy() for view in views]))
        else:
            for view in views:
                view[...] = -7  # the program may write to its batch
        del outputs, views
        feed(number + 2)
        if len(held) > 5:
            had, copies = held.pop(0)
            for view, copy in zip(had, copies):
                np.testing.assert_array_equal(view, copy)
    assert held


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
