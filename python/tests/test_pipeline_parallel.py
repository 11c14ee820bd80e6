"""External sources with parallel=True: processes call them, and nothing else changes."""

from __future__ import annotations

import functools
import itertools
import json
import os
import pickle
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bivouac
import pipeline_parallel as given
import pipeline_scenes
from bivouac import fn, types
from bivouac._pipeline import workers
from bivouac.pickling import pickle_by_value
from conftest import running
from parallel_sources import first, number, pipeline

RECORDED: dict[str, Any] = json.loads(
    Path(__file__).with_name("pipeline_parallel.json").read_text()
)

pytestmark = pytest.mark.usefixtures("sidecar")


def known(name: str) -> Any:
    return pipeline_scenes.modules("bivouac"), name


# What DALI makes.


# A process that is spawned takes a second, so there is one case of each kind.
_RUNS = [
    *((name, "fork", count) for name in sorted(RECORDED) for count in (1, 3)),
    *((name, "spawn", 2) for name in ("samples", "several", "raises")),
]


@pytest.mark.parametrize(("name", "method", "count"), _RUNS)
def test_as_dali(name: str, method: str, count: int) -> None:
    """Batches, ends and errors are those of DALI 2.4.0, for any number of workers."""
    assert sorted(RECORDED) == sorted(given.sources())
    found = given.run(*known(name), py_num_workers=count, py_start_method=method)
    assert found == RECORDED[name]


@pytest.mark.parametrize("name", ["samples", "samples of two", "batch info", "several"])
def test_prefetch_changes_nothing(name: str) -> None:
    for depth, ahead, count in itertools.product((1, 4), (1, 3), (1, 2, 5)):
        options = {"depth": depth, "prefetch_queue_depth": ahead, "py_num_workers": count}
        assert given.run(*known(name), **options) == RECORDED[name], options


# Batches of these differ in DALI too. The iterable counts how often it is begun: in the trainer and
# again in the worker. An iterator that goes on after its end is over for a worker.
_OTHERS = {"iterable None", "iterable raise", "iterable quiet", "iterator None", "raises"}


@pytest.mark.parametrize("name", sorted(set(RECORDED) - _OTHERS))
def test_as_in_the_trainer(name: str) -> None:
    assert given.run(*known(name), parallel=False) == RECORDED[name]


# Values.


def test_large_and_small_arrays_of_any_form() -> None:
    rng = np.random.default_rng(3)
    wide = rng.integers(0, 1 << 20, (5, 300, 200)).astype(np.int32)
    batches = [
        wide[:4],
        [wide[0], wide[1].T, wide[2][::2, ::-3], wide[3][:0]],
        [np.asfortranarray(wide[i]) for i in range(4)],
        wide[:4].astype(">i4"),
        np.arange(4, dtype=np.int32).reshape(4, 1, 1),
    ]
    pipe = pipeline(batches, batch=True, prefetch_queue_depth=3)
    held = []
    for batch in batches:
        (output,) = pipe.run()
        held.append(output)
    for output, batch in zip(held, batches):
        for got, want in zip(output.views(), batch):
            np.testing.assert_array_equal(got, want)


def test_what_is_no_array_is_an_error_that_names_it() -> None:
    pipe = pipeline(lambda i: [3] * 4, batch=True)
    with pytest.raises(workers.SourceError, match="TypeError.*got int"):
        pipe.run()


def test_samples_go_to_all_workers() -> None:
    pipe = pipeline(lambda info: np.array(os.getpid()), batch=False, py_num_workers=3)
    seen = {int(x) for x in np.asarray(pipe.run()[0].as_array()).flat}
    assert seen == set(pipe._pool.pids()) and os.getpid() not in seen and len(seen) == 3


def test_iterables_have_one_worker_each() -> None:
    def pids() -> Iterator[Any]:
        while True:
            yield np.full((4, 1), os.getpid())

    with pytest.warns(UserWarning, match="1 of 3 worker processes"):
        pipe = pipeline(pids, batch=True, py_num_workers=3, prefetch_queue_depth=2)
        seen = {first(pipe.run()) for _ in range(4)}
    assert seen == set(pipe._pool.pids()) and len(seen) == 1


def test_memory_is_counted() -> None:
    big = np.zeros((4, 1 << 16))
    pipe = pipeline(lambda i: big, batch=True)
    assert pipe.external_source_shm_statistics()["capacities"] == []
    pipe.run()
    found = pipe.external_source_shm_statistics()
    assert min(found["capacities"]) >= big.nbytes
    assert min(found["per_sample_capacities"]) >= big.nbytes // 4


# Starting.


@pytest.mark.parametrize("count", [0, -1, None, "2"])
def test_a_parallel_source_needs_a_worker(count: Any) -> None:
    with pytest.raises(RuntimeError, match="py_num_workers"):
        pipeline(number, batch=True, py_num_workers=count).build()


def test_workers_start_before_the_pipeline_is_built() -> None:
    pipe = pipeline(number, batch=True, py_num_workers=2)
    pipe.start_py_workers()
    pids = pipe._pool.pids()
    assert pipe._remote is None and all(running(pid) for pid in pids)
    pipe.start_py_workers()
    assert [first(pipe.run()) for _ in range(3)] == [0, 1, 2]
    assert pipe._pool.pids() == pids


def test_no_parallel_source_no_workers() -> None:
    @bivouac.pipeline_def(batch_size=4, num_threads=1, device_id=None, py_num_workers=2)
    def graph() -> Any:
        return fn.external_source(source=number)

    pipe = graph()
    pipe.start_py_workers()
    assert pipe._pool is None and first(pipe.run()) == 0


class Locked:
    """A function that cannot be pickled."""

    def __init__(self) -> None:
        self.lock = threading.Lock()

    def __call__(self, i: int) -> Any:
        return number(i)


@pytest.mark.parametrize("kind", ["function", "generator"])
def test_spawn_needs_what_can_be_pickled(kind: str) -> None:
    """The errors are those of pickle, as in DALI. With fork the source is inherited."""

    def source() -> Any:
        return Locked() if kind == "function" else (number(i) for i in range(3))

    with pytest.raises(TypeError, match="cannot pickle"):
        pipeline(source(), batch=True, py_start_method="spawn").run()
    assert first(pipeline(source(), batch=True).run()) == 0


@pickle_by_value
def by_value(i: int) -> Any:
    return np.full((4, 1), i + HUNDRED)


HUNDRED = 100


def test_local_functions_travel() -> None:
    """A worker that is spawned gets lambdas, closures, recursion and globals by value."""
    base = 1000

    def fact(n: int) -> int:
        return 1 if n < 2 else n * fact(n - 1)

    def source(i: int, more: int = 5) -> Any:
        return [np.full(1, base + fact(i) + m) for m in (more, *(more + k for k in range(3)))]

    at = functools.partial(source, more=7)
    first_of = functools.partial(lambda f, i: f(i), at)

    @bivouac.pipeline_def(
        batch_size=4, num_threads=1, device_id=None, py_start_method="spawn", py_num_workers=1
    )
    def graph() -> Any:
        one = fn.external_source(source=first_of, parallel=True, batch=True)
        two = fn.external_source(source=by_value, parallel=True, batch=True)
        return one, two

    pipe = graph()
    for i, factorial in enumerate((1, 1, 2, 6, 24)):
        one, two = pipe.run()
        assert int(one.at(0)[0]) == 1007 + factorial and int(two.at(0)[0]) == 100 + i
    with pytest.raises(TypeError, match="want a function"):
        pickle_by_value(3)


class Wrapping:
    """A pickler that notes its options."""

    @staticmethod
    def dumps(value: Any, mark: str = "") -> Any:
        return pickle.dumps(value), mark

    @staticmethod
    def loads(value: Any, wanted: str = "") -> Any:
        assert value[1] == wanted
        return pickle.loads(value[0])


@pytest.mark.parametrize(
    "pickler", [Wrapping, (Wrapping,), (Wrapping, {"mark": "a"}, {"wanted": "a"})]
)
def test_a_pickler_of_the_program(pickler: Any) -> None:
    source = given.Broken(9)
    options = {"py_start_method": "spawn", "py_callback_pickler": pickler}
    assert first(pipeline(source, batch=True, **options).run()) == 0


def test_a_pickler_that_does_not_fit() -> None:
    options = {"py_start_method": "spawn", "py_callback_pickler": 3}
    with pytest.raises(ValueError, match="py_callback_pickler"):
        pipeline(number, batch=True, **options).run()
    wrong = (Wrapping, {"mark": "a"}, {})
    options["py_callback_pickler"] = wrong
    with pytest.raises(workers.SourceError, match="AssertionError"):
        pipeline(given.Broken(9), batch=True, **options).run()


# States.


@pytest.mark.parametrize("count", [1, 3])
def test_states_as_in_the_trainer(count: int) -> None:
    """A state has the position, so functions go on exactly, with other workers too."""

    def sample(info: types.SampleInfo) -> Any:
        if info.iteration == 5:
            raise StopIteration
        return np.array([info.epoch_idx, info.iteration, info.idx_in_batch])

    def batch(info: types.BatchInfo) -> Any:
        return np.full((4, 1), 100 * info.epoch_idx + info.iteration)

    def graph(parallel: bool, **options: Any) -> Any:
        @bivouac.pipeline_def(
            batch_size=4, num_threads=1, device_id=None, enable_checkpointing=True, seed=5
        )
        def define() -> Any:
            number = fn.random.uniform(range=[0, 1])
            one = fn.external_source(source=sample, batch=False, parallel=parallel)
            two = fn.external_source(
                source=batch, batch=True, batch_info=True, parallel=parallel
            )
            return one, two, number

        return define(**options)

    def steps(pipe: Any) -> Iterator[tuple[Any, bytes]]:
        while True:
            try:
                made = pipeline_scenes.told(pipe.run())
            except StopIteration:
                pipe.reset()
                continue
            yield made, pipe.checkpoint()

    want = list(itertools.islice(steps(graph(False)), 12))
    assert list(itertools.islice(steps(graph(True, py_num_workers=count)), 12)) == want
    for i in (0, 3, 4, 7):
        again = graph(True, checkpoint=want[i][1], py_num_workers=count + 1)
        assert list(itertools.islice(steps(again), 12 - i - 1)) == want[i + 1 :], i
