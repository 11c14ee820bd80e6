"""Debug mode with conditions: batches are those of the pipeline without debug mode."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import bivouac
import pipeline_augment
import pipeline_conditions
import pipeline_scenes
from bivouac import errors
from bivouac.auto_aug import rand_augment
from bivouac.pipeline.experimental import pipeline_def

# Calls that are wrong have no types.
fn: Any = bivouac.fn
types = bivouac.types

pytestmark = [pytest.mark.usefixtures("sidecar"), pytest.mark.filterwarnings("ignore")]

SETTINGS: dict[str, Any] = {
    "batch_size": 4, "num_threads": 1, "device_id": None, "enable_conditionals": True,
}  # fmt: skip


def made(define: Callable[[], Any], debug: bool, seed: int = 5) -> Any:
    return pipeline_def(define, debug=debug, seed=seed, **SETTINGS)()


def numbers(i: int) -> list[Any]:
    """A source: one number for each sample. Batch 1 has large ones only, batch 2 small ones."""
    return [np.float32(x) for x in ([1, 5, 2, 7], [6, 7, 8, 9], [1, 2, 3, 0])[i % 3]]


def same(define: Callable[[], Any], runs: int = 4) -> None:
    """Check that both modes give the same batches."""
    debugged, plain = made(define, True), made(define, False)
    for _ in range(runs):
        assert pipeline_scenes.told(debugged.run()) == pipeline_scenes.told(plain.run())


def source() -> Any:
    return fn.external_source(source=numbers)


def test_branches() -> None:
    """Each of three batches has other samples in the branches, two of them none in one."""

    def define() -> Any:
        x = source()
        y = 0
        if x > 4:
            y = x * 2
            if x > 7:
                y = y + fn.cast(x, dtype=types.FLOAT)
            x = x - 1
        elif x == 1:
            y = x + 100
        else:
            y = fn.stack(x, x)[0]
        return x, y

    same(define, 7)


def test_logical_operators() -> None:
    def define() -> Any:
        x = source()
        y = (x > 1 and x < 6) or not x > 0
        if y:
            return y, x
        return y, -x

    same(define)


def test_helpers_loops_and_structures() -> None:
    def add(v: Any, limit: float) -> Any:
        if v > limit:
            return v + 1
        return v

    def define() -> Any:
        x = source()
        many = {"a": x, "b": (x * 2, 3)}
        for limit in range(3):
            if x > limit:
                x = add(x, limit + 0.5)
                many["a"] = x
        return x, many["a"], many["b"][0]

    same(define)


def test_seeds_of_operators() -> None:
    """Operators with a seed draw as without debug mode, in a branch too, and go on."""

    def define() -> Any:
        x = source()
        drawn = fn.random.uniform(range=[0, 1], seed=4)
        if x > 4:
            x = x + drawn
        else:
            x = x * fn.random.uniform(range=[0, 9], seed=8)
        return x, drawn

    same(define, 6)


def test_operators_without_a_seed_are_repeatable() -> None:
    def define() -> Any:
        x = fn.random.uniform(range=[0, 1])
        if x > 0.5:
            x = x + fn.random.uniform(range=[0, 1])
        return x, fn.random.uniform(range=[0, 1])

    runs = []
    for seed in (5, 5, 6):
        pipe = made(define, True, seed)
        runs.append([pipeline_scenes.told(pipe.run()) for _ in range(3)])
    assert runs[0] == runs[1] != runs[2]
    assert len({repr(run) for run in runs[0]}) == 3


def tried(define: Callable[[], Any], debug: bool) -> Any:
    """Return two batches, or None for a graph that is wrong."""
    try:
        pipe = made(define, debug)
        return [pipeline_scenes.told(pipe.run()) for _ in range(2)]
    except (errors.BivouacError, TypeError):
        return None


@pytest.mark.parametrize("name", sorted(pipeline_conditions.functions(bivouac)))
def test_graphs_of_other_tests_run(name: str) -> None:
    """Graphs that the tests of conditions serialize run in debug mode, and again the same.

    Those that cannot run without it, such as branches of two types, cannot run with it.
    """
    define = pipeline_conditions.functions(bivouac)[name]
    plain, first, second = (tried(define, debug) for debug in (False, True, True))
    assert first == second
    assert (first is None) == (plain is None)


def test_data_is_there_in_a_branch() -> None:
    seen = []

    def define() -> Any:
        x = source()
        if x > 4:
            y = x + 1
            seen.append([float(v) for v in y.get().views()])
        else:
            y = x
        return y

    pipe = made(define, True)
    for _ in range(3):
        pipe.run()
    assert seen == [[6, 8], [7, 8, 9, 10], []]


def test_automatic_augmentation() -> None:
    def define() -> Any:
        images = fn.external_source(
            source=lambda: [pipeline_augment.image(k, 0) for k in range(4)], layout="HWC"
        )
        return rand_augment.rand_augment(images, 2, 9, seed=3, excluded=["contrast"])

    same(define, 2)


def test_batches_of_other_sizes() -> None:
    def define() -> Any:
        x = fn.external_source(source=lambda i: numbers(i)[: 2 + i % 2])
        if x > 4:
            x = x * 2
        return x

    same(define)


class TestErrors:
    def refused(self, define: Callable[[], Any], kind: type[Exception], says: str) -> None:
        pipe = made(define, True)
        with pytest.raises(kind, match=says):
            pipe.run()

    def test_branches_of_other_types(self) -> None:
        def types_differ() -> Any:
            x = source()
            if x > 4:
                x = fn.cast(x, dtype=types.INT32)
            return x

        def axes_differ() -> Any:
            x = source()
            if x > 4:
                x = fn.stack(x, x)
            return x

        self.refused(types_differ, errors.Mismatch, "the same dtype in both, got INT32 and FLOAT")
        self.refused(axes_differ, errors.Mismatch, "number of dimensions in both, got 1 and 0")

    def test_a_condition_of_several_values(self) -> None:
        def define() -> Any:
            x = fn.external_source(source=lambda: [np.zeros(2, np.bool_)] * 4)
            if x:
                y = 1
            else:
                y = 0
            return y

        self.refused(define, errors.Mismatch, "want a scalar for each sample.*1 dimensions")

    def test_data_of_the_program(self) -> None:
        def array() -> Any:
            return fn.copy(np.ones((4, 2), np.float32))

        def batch() -> Any:
            return fn.copy(source().get())

        def several() -> Any:
            x = source()
            return tuple(fn.copy([x, x]))

        for define in (array, batch):
            self.refused(define, errors.Invalid, "conditionals: .*an output of an operator")
        self.refused(several, errors.Invalid, "a list of several inputs")

    def test_a_node_of_another_branch(self) -> None:
        def define() -> Any:
            x, kept = source(), []
            if x > 4:
                kept.append(x + 1)
            else:
                kept.append(x + 2)
            return kept[0]

        self.refused(define, ValueError, "left in a variable by both")

    def test_the_next_run_is_whole(self) -> None:
        """After an error in a branch the next run begins outside of all branches."""
        fails = iter([False, True, False])

        def define() -> Any:
            x = source()
            if x > 4:
                x = x + 1
                if next(fails):
                    raise KeyError("a mistake of the program")
            return x

        pipe = made(define, True)
        assert pipe.run()[0].as_array().tolist() == [1, 6, 2, 8]
        with pytest.raises(KeyError, match="a mistake"):
            pipe.run()
        assert pipe.run()[0].as_array().tolist() == [1, 2, 3, 0]


def test_parts_that_the_program_splits() -> None:
    def define() -> Any:
        x = source()
        where, others = fn._conditional.split(x, predicate=x > 4)
        return fn._conditional.merge(where * 2, others, predicate=x > 4)

    pipe = made(define, True)
    assert pipe.run()[0].as_array().tolist() == [1, 10, 2, 14]
    assert pipe.run()[0].as_array().tolist() == [12, 14, 16, 18]
