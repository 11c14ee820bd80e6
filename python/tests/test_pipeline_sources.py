"""External sources: the callbacks are called as DALI calls them, and the graph has the operator."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pipeline_sources as given
from bivouac import Pipeline, fn, ops, types
from bivouac._pipeline.sources import Group, source_of

RECORDED: dict[str, Any] = json.loads(
    Path(__file__).with_name("pipeline_sources.json").read_text()
)


def groups(*args: Any, outputs: Any = None, **kwargs: Any) -> list[Group]:
    """Return the groups of a pipeline with one external source."""
    pipe = Pipeline(given.BATCH, 1)
    with pipe:
        made = fn.external_source(*args, **kwargs)
        pipe.set_outputs(*([made] if outputs is None else [made[i] for i in outputs]))
    pipe.serialize()
    return pipe._sources


def epochs(source: Any, options: dict[str, Any]) -> Any:
    """Return the batches of some epochs, or the class of the error."""
    try:
        (group,) = groups(source, **options)
    except Exception as err:
        return err
    found = []
    epoch = iteration = 0
    for _ in range(given.EPOCHS):
        values: list[Any] = []
        for _ in range(given.MOST):
            try:
                (data,) = group.call(epoch, iteration, given.BATCH)
            except StopIteration:
                values.append("stop")
                epoch, iteration = epoch + 1, 0
                group.reset()
                break
            iteration += 1
            values.append([int(one[0]) for one in data])
        found.append(values)
    return found


@pytest.mark.parametrize("name", sorted(RECORDED))
def test_as_dali(name: str) -> None:
    """The batches of three epochs are those of DALI 2.4.0, and so is the class of an error."""
    assert sorted(RECORDED) == sorted(given.sources())
    found = epochs(*given.sources()[name])
    if isinstance(RECORDED[name], str):
        assert isinstance(found, {"TypeError": TypeError, "ValueError": ValueError}[RECORDED[name]])
    else:
        assert found == RECORDED[name]


def several(index: int) -> tuple[int, int, int]:
    return index, 10 + index, 20 + index


def test_several_outputs() -> None:
    (group,) = groups(several, 3, outputs=[0, 1, 2], layout=["A", "", "B"], dtype=types.INT32)
    assert group.call(0, 4, 2) == [4, 14, 24]
    assert group.names == [f"__ExternalSource_{i}" for i in range(3)]
    assert group.layouts == ["A", None, "B"] and group.dtypes == [types.INT32] * 3


def test_outputs_that_nothing_uses_are_not_fed() -> None:
    with pytest.warns(UserWarning, match=r"nothing uses the outputs \[0, 1\]"):
        (group,) = groups(several, 3, outputs=[2])
    assert group.names == ["__ExternalSource_2"] and group.call(0, 1, 2) == [21]


def test_samples_with_several_outputs() -> None:
    def source(info: types.SampleInfo) -> tuple[int, int]:
        return info.idx_in_epoch, info.idx_in_batch

    (group,) = groups(source, 2, outputs=[0, 1], batch=False)
    assert group.call(0, 2, 3) == [[6, 7, 8], [0, 1, 2]]


def test_too_few_outputs() -> None:
    (group,) = groups(lambda: (1,), 2, outputs=[0, 1])
    with pytest.raises(RuntimeError, match="want 2 outputs, got 1"):
        group.call(0, 0, 2)
    (group,) = groups(lambda: 1, 2, outputs=[0, 1])
    with pytest.raises(TypeError, match="want a tuple of 2 outputs, got int"):
        group.call(0, 0, 2)


def test_an_error_of_the_source_is_raised_as_it_is() -> None:
    def source() -> None:
        raise LookupError("mine")

    (group,) = groups(source)
    with pytest.raises(LookupError, match="mine"):
        group.call(0, 0, 2)


@pytest.mark.parametrize(
    ("error", "args", "kwargs"),
    [
        (ValueError, (), {"num_outputs": 2}),
        (ValueError, ([1],), {"num_outputs": 0}),
        (RuntimeError, ([1], 2), {"name": "a"}),
        (ValueError, ([1],), {"repeat_last": True}),
        (ValueError, ([1],), {"prefetch_queue_depth": 2}),
        (ValueError, ([1],), {"bytes_per_sample_hint": 2}),
        (ValueError, (several,), {"parallel": True, "no_copy": False}),
        (ValueError, (several,), {"parallel": True, "prefetch_queue_depth": 0}),
        (TypeError, (lambda: 1,), {"parallel": True}),
        (TypeError, ([1],), {"parallel": True, "batch": False}),
        (ValueError, (), {"device": "tpu"}),
        (KeyError, (), {"bogus": 1}),
        (TypeError, (), {"name": 3}),
    ],
)
def test_refused(error: type[Exception], args: Any, kwargs: Any) -> None:
    with pytest.raises(error):
        groups(*args, **kwargs)


def test_parallel_has_defaults() -> None:
    (group,) = groups(several, 3, outputs=[0, 1, 2], parallel=True)
    assert group.parallel and group.batch and group.no_copy and group.prefetch_queue_depth == 1


def test_arguments_are_given_once() -> None:
    with Pipeline(2, 1):
        with pytest.raises(ValueError, match="layout"):
            ops.ExternalSource(layout="HW")(layout="HW")
        with pytest.raises(RuntimeError, match="source"):
            ops.ExternalSource([1])(source=[1])
        with pytest.raises(ValueError, match="cycle"):
            ops.ExternalSource([1])(cycle=True)
        with pytest.raises(TypeError, match="num_outputs"):
            ops.ExternalSource([1])(num_outputs=2)
        assert ops.ExternalSource()(source=[1], cycle="raise", name="n").name == "n"


def test_kinds() -> None:
    kinds = {
        name: source.kind
        for name, one in given.sources().items()
        if not isinstance(RECORDED[name], str) and (source := source_of(one[0])) is not None
    }
    assert kinds["list None"] == kinds["iterator None"] == kinds["generator"] == "iterable"
    assert kinds["generator function None"] == "generator function"
    assert kinds["object of generators None"] == "generator function"
    assert kinds["function"] == kinds["method"] == "callable"


def test_source_is_an_array() -> None:
    """An array is an iterable of batches."""
    (group,) = groups(np.arange(6).reshape(3, 2))
    assert [group.call(0, i, 2)[0].tolist() for i in range(3)] == [[0, 1], [2, 3], [4, 5]]
