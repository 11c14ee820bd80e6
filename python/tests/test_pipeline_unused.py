"""Operators that no output needs: what runs, and what their failures do."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bivouac
import pipeline_unused
from bivouac import fn, pipeline_def, types

RECORDED: dict[str, Any] = json.loads(Path(__file__).with_name("pipeline_unused.json").read_text())

pytestmark = pytest.mark.usefixtures("sidecar")


@pytest.mark.filterwarnings("ignore:no output needs:RuntimeWarning")
@pytest.mark.parametrize("way", pipeline_unused.WAYS)
@pytest.mark.parametrize("name", sorted(pipeline_unused.graphs()))
def test_as_in_dali(name: str, way: str) -> None:
    """The same functions are called, and the same batches come, as in DALI 2.4.0."""
    assert pipeline_unused.outcome(bivouac, name, way) == RECORDED.get(f"{name}, {way}")


def failing(**settings: Any) -> Any:
    """Return a pipeline with a function that no output needs and that fails in each batch."""

    @pipeline_def(batch_size=2, num_threads=1, seed=5, **settings)
    def graph() -> Any:
        x = fn.random.uniform(range=[0.0, 1.0])
        fn.python_function(x, function=pipeline_unused.fails, name="dump")
        return x

    return graph()


def test_one_warning_of_each_operator() -> None:
    """The failure is a warning that names operator, function and exception, and comes once."""
    pipe = failing()
    with pytest.warns(RuntimeWarning) as caught:
        for _ in range(4):
            pipe.run()
    (said,) = [str(w.message) for w in caught]
    for part in ("no output needs", "dump", "fails (pipeline_unused.py", "ValueError: it fails"):
        assert part in said
    assert caught[0].filename == __file__


def test_warning_as_an_error_loses_no_batch() -> None:
    """With a filter that makes the warning an error, the next call returns the batch."""
    want = [np.array(out[0].as_array()) for out in [failing_run(failing(), 1)]]
    pipe = failing()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(RuntimeWarning, match="no output needs"):
            pipe.run()
        np.testing.assert_array_equal(pipe.run()[0].as_array(), want[0])


def failing_run(pipe: Any, batches: int) -> Any:
    """Run batches without a warning, and return the last one."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(batches):
            made = pipe.run()
    return made


def test_states_go_on() -> None:
    """The state of a pipeline with a failing operator resumes at the batch after it."""
    settings = {"enable_checkpointing": True}
    pipe = failing(**settings)
    failing_run(pipe, 2)
    state = pipe.checkpoint()
    want = np.array(failing_run(pipe, 1)[0].as_array())
    got = failing_run(failing(**settings, checkpoint=state), 1)[0].as_array()
    np.testing.assert_array_equal(got, want)


def test_a_time_limit_is_not_tolerated() -> None:
    """A function that takes too long fails the batch, although no output needs it."""
    pipe = slow()
    with pytest.raises(bivouac.errors.Canceled, match="a result within"):
        pipe.run()


def slow() -> Any:
    import time

    @pipeline_def(batch_size=1, num_threads=1)
    def graph() -> Any:
        x = fn.random.coin_flip(dtype=types.BOOL)
        fn.python_function(x, function=lambda x: time.sleep(3), num_outputs=0)
        return x

    pipe = graph()
    pipe.callback_timeout = 0.3
    return pipe
