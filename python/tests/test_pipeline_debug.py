"""Debug mode: operators compute at once, and make what the pipeline makes without it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bivouac
import pipeline_scenes
from bivouac import Pipeline, errors, types
from bivouac._pipeline.debug import DataNodeDebug, PipelineDebug
from bivouac.pipeline.experimental import pipeline_def

# Calls that are wrong have no types.
fn: Any = bivouac.fn

pytestmark = pytest.mark.usefixtures("sidecar")

SETTINGS: dict[str, Any] = {"batch_size": 2, "num_threads": 1, "device_id": None, "seed": 5}


def debugged(define: Any, **settings: Any) -> Any:
    """Return a pipeline in debug mode."""
    made = pipeline_def(define, debug=True, **{**SETTINGS, **settings})()
    assert isinstance(made, PipelineDebug)
    return made


def numbers(i: int) -> list[Any]:
    """A source: sample k of batch i is 10 i + k, twice."""
    return [np.full(2, 10 * i + k, np.int32) for k in range(2)]


class TestNodes:
    def test_have_data(self) -> None:
        seen = []

        def define() -> Any:
            x = fn.external_source(source=numbers)
            y = x + 1
            seen.append((y.get().as_array().tolist(), y.shape(), y.device))
            assert isinstance(x, DataNodeDebug) and isinstance(y, DataNodeDebug)
            assert "DataNodeDebug" in repr(y) and "[[" in str(y)
            if y.get().as_array().sum() > 40:
                return y * 2
            return y

        pipe = debugged(define)
        assert pipe.run()[0].as_array().tolist() == [[1, 1], [2, 2]]
        assert seen == [([[1, 1], [2, 2]], [(2,), (2,)], "cpu")]
        with pytest.raises(RuntimeError, match="Unexpected operator.*changing the order"):
            pipe.run()

    def test_stay_as_they_were(self) -> None:
        kept = []

        def define() -> Any:
            x = fn.external_source(source=numbers)
            kept.append(x.get())
            y = fn.cast(x, dtype=types.FLOAT)
            kept.append(y.get())
            return y

        pipe = debugged(define)
        for _ in range(70):  # more than a pipeline holds without debug mode
            pipe.run()
        for i, data in enumerate(kept):
            assert data.as_array().tolist() == [[v, v] for v in (10 * (i // 2), 10 * (i // 2) + 1)]

    def test_batches_of_the_program_are_inputs(self) -> None:
        def define() -> Any:
            x = fn.external_source(source=numbers)
            changed = [np.asarray(x.get().at(i)) * 3 for i in range(2)]
            return fn.cast(changed, dtype=types.FLOAT), fn.copy(x.get()), x[0], -x

        cast, copy, first, negative = debugged(define).run()
        assert cast.as_array().tolist() == [[0, 0], [3, 3]]
        assert copy.as_array().tolist() == [[0, 0], [1, 1]]
        assert first.as_array().tolist() == [0, 1]
        assert negative.as_array().tolist() == [[0, 0], [-1, -1]]

    def test_outputs_that_are_constants(self) -> None:
        five, ones = debugged(lambda: (5, np.ones(3))).run()
        assert five.as_array().tolist() == [5, 5] and str(five.dtype).endswith("INT64")
        assert ones.as_array().tolist() == [[1] * 3] * 2 and str(ones.dtype).endswith("FLOAT64")
        assert debugged(lambda: None).run() == ()
        with pytest.raises(TypeError, match="output 0.*got a list"):
            debugged(lambda: [fn.external_source(source=numbers)]).run()


class TestSources:
    def test_are_as_without_debug(self, tmp_path: Path) -> None:
        """All kinds of sources, over epochs of different lengths."""

        def sample(info: Any) -> Any:
            if info.iteration == 3:
                raise StopIteration
            return np.full(1 + info.idx_in_batch, info.idx_in_epoch, np.int32)

        def define() -> Any:
            x, y = fn.external_source(
                source=lambda i: (numbers(i), np.full((2, 1), i)), num_outputs=2, layout=["A", "B"]
            )
            z = fn.external_source(source=sample, batch=False)
            return x + 1, y, z

        pipe = debugged(define)
        plain = bivouac.pipeline_def(define, **SETTINGS)()
        for _ in range(3):
            assert pipeline_scenes.told(pipe.run()) == pipeline_scenes.told(plain.run())
        with pytest.raises(StopIteration):
            pipe.run()
        with pytest.raises(StopIteration):
            plain.run()

    def test_an_epoch_begins_again(self) -> None:
        def source(i: int) -> Any:
            if i == 2:
                raise StopIteration
            return numbers(i)

        pipe = debugged(lambda: fn.external_source(source=source) + 0)
        for _ in range(3):
            assert [pipe.run()[0].as_array()[0, 0] for _ in range(2)] == [0, 10]
            with pytest.raises(StopIteration):
                pipe.run()

    def test_are_fed(self) -> None:
        pipe = debugged(lambda: fn.external_source(name="x") + fn.external_source(name="y"))
        pipe.feed_input("x", np.array([[1], [2]]))
        pipe.feed_input("y", np.array([[5], [6]]))
        assert pipe.run()[0].as_array().tolist() == [[6], [8]]
        with pytest.raises(RuntimeError, match="'x'.*a batch of feed_input"):
            pipe.run()
        assert pipe.run(x=np.array([[1], [1]]), y=np.array([[2], [2]]))[0].at(1).tolist() == [3]

    def test_other_batch_sizes(self) -> None:
        def define() -> Any:
            x = fn.external_source(name="x")
            return x, x * 2

        pipe = debugged(define, batch_size=4)
        for size in (3, 4, 1):
            pipe.feed_input("x", np.ones((size, 1), np.int32))
            assert [len(o) for o in pipe.run()] == [size, size]

    def test_sizes_that_differ(self) -> None:
        two = lambda: fn.external_source(name="x") + fn.external_source(name="y")  # noqa: E731
        pipe = debugged(two)
        pipe.feed_input("x", np.array([[1], [2]]))
        pipe.feed_input("y", np.array([[5]]))
        with pytest.raises(RuntimeError, match="returned batch size: 1, expected: 2"):
            pipe.run()


class TestOperators:
    def test_random_numbers_go_on(self) -> None:
        """Runs differ, and are the same again with the seed."""

        def define() -> Any:
            u = fn.random.uniform(range=[0, 1])
            return u, fn.random.uniform(range=[0, 1]), fn.random.uniform(range=[0, 1], seed=3)

        made = []
        for _ in range(2):
            pipe = debugged(define)
            made.append([pipeline_scenes.told(pipe.run()) for _ in range(3)])
        assert made[0] == made[1]
        flat = [repr(output) for run in made[0] for output in run]
        assert len(set(flat)) == len(flat)
        other = [pipeline_scenes.told(debugged(define, seed=6).run())]
        assert other[0][0] != made[0][0][0] and other[0][2] == made[0][0][2]

    def test_functions(self) -> None:
        def define() -> Any:
            x = fn.external_source(source=numbers)
            return fn.python_function(x, function=lambda v: v * np.float32(0.5))

        pipe = debugged(define)
        pipe.run()
        assert pipe.run()[0].as_array().tolist() == [[5, 5], [5.5, 5.5]]

    def test_a_failure_is_at_the_call(self) -> None:
        def define() -> Any:
            x = fn.external_source(source=lambda i: [np.zeros(3, np.uint8)] * 2)
            try:
                fn.decoders.image(x)
            except errors.BivouacError as err:
                caught.append(str(err))
            return x

        caught: list[str] = []
        debugged(define).run()
        assert len(caught) == 1 and "decoders.image" in caught[0]

    def test_an_argument_that_changes(self) -> None:
        angles = iter([10.0, 20.0])

        def define() -> Any:
            x = fn.external_source(source=lambda i: [np.zeros((4, 4, 1), np.uint8)] * 2)
            return fn.rotate(x, angle=next(angles))

        pipe = debugged(define)
        pipe.run()
        with pytest.raises(RuntimeError, match="'angle' for operator 'rotate' unexpectedly"):
            pipe.run()

    @pytest.mark.parametrize(
        ("says", "second"),
        [
            ("has dtype = .*FLOAT, expected: .*INT32", np.ones((2, 2), np.float32)),
            ("has ndim = 2, expected: 1", np.ones((2, 2, 2), np.int32)),
        ],
    )
    def test_an_input_of_another_kind(self, says: str, second: Any) -> None:
        pipe = debugged(lambda: fn.copy(fn.external_source(name="x")))
        pipe.run(x=np.ones((2, 2), np.int32))
        with pytest.raises(RuntimeError, match=f"Input 0 for operator 'copy' {says}"):
            pipe.run(x=second)

    def test_a_node_of_no_run(self) -> None:
        other = debugged(lambda: fn.external_source(source=numbers))
        with Pipeline(**SETTINGS):
            node = fn.random.uniform()
        assert len(other.run()) == 1
        with pytest.raises(RuntimeError, match="a node without data"):
            debugged(lambda: fn.copy(node)).run()


def test_what_debug_mode_does_not_have() -> None:
    pipe = debugged(lambda: fn.external_source(source=numbers))
    with pytest.raises(RuntimeError, match="a `with` statement"):
        with pipe:
            pass
    for method in ("serialize", "schedule_run", "share_outputs", "checkpoint", "reader_meta"):
        with pytest.raises(NotImplementedError, match="in debug mode: .*want run and feed_input"):
            getattr(pipe, method)()


def test_debug_is_an_argument_of_the_call() -> None:
    made = pipeline_def(lambda: fn.external_source(source=numbers), **SETTINGS)
    assert isinstance(made(debug=True), PipelineDebug)
    assert not isinstance(made(), PipelineDebug)
    assert made(debug=True).run()[0].as_array().tolist() == made().run()[0].as_array().tolist()
