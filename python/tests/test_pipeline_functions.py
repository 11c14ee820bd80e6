"""Functions of the program that a pipeline calls: what they return, raise and do."""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bivouac
from bivouac import _client, errors
from bivouac._pipeline.refusals import BrokenGraph
from conftest import eventually, running
from lifecycle import output, sidecar_pid

# Calls that are wrong have no types.
fn: Any = bivouac.fn
ops: Any = bivouac.ops

pytestmark = pytest.mark.usefixtures("sidecar")

BATCH = 3


def graph(function: Any, *, after: Any = None, inputs: int = 1, **options: Any) -> Any:
    """Return a pipeline in which a function gets sample k of batch i as two times 10 i + k."""
    own = ("prefetch_queue_depth", "exec_pipelined", "exec_async", "exec_dynamic", "num_threads")
    settings = {key: options.pop(key) for key in own if key in options}
    settings.setdefault("num_threads", 2)

    @bivouac.pipeline_def(batch_size=BATCH, seed=1, device_id=None, **settings)
    def define() -> Any:
        x = fn.external_source(
            source=lambda i: [np.full(2, 10 * i + k, np.int32) for k in range(BATCH)]
        )
        made = fn.python_function(*[x] * inputs, function=function, **options)
        if after is not None:
            return after(made)
        return tuple(made) if isinstance(made, list) else made

    return define()


def rows(outputs: Any) -> list[int]:
    """Return the first element of each sample of the first output."""
    return [int(outputs[0].at(i)[0]) for i in range(len(outputs[0]))]


def want(batch: int, plus: int = 0) -> list[int]:
    """Return rows of a batch."""
    return [10 * batch + k + plus for k in range(BATCH)]


class OwnError(Exception):
    """An exception of a program."""


def fails(_: Any) -> Any:
    raise OwnError("oh déar")


def interrupted(_: Any) -> Any:
    raise KeyboardInterrupt


def ended(_: Any) -> Any:
    raise StopIteration


WRONG: list[tuple[str, Any, dict[str, Any]]] = [
    ("OwnError: oh déar", fails, {}),
    ("KeyboardInterrupt: <EMPTY MESSAGE>", interrupted, {}),
    ("StopIteration: <EMPTY MESSAGE>", ended, {}),
    ("SystemExit: 3", lambda x: sys.exit(3), {}),
    ("ZeroDivisionError: .*by zero", lambda x: 1 // 0, {}),
    ("TypeError: .* takes 0 positional arguments but 1 was given", lambda: 1, {}),
    ("want 1 outputs of the function, got None", lambda x: None, {}),
    ("want an array of numpy of the function, got int", lambda x: 5, {}),
    ("want an array of numpy of the function, got list", lambda x: [1], {}),
    ("want numbers or booleans, got object", lambda x: np.array([None]), {}),
    ("want numbers or booleans, got complex128", lambda x: np.array([1j]), {}),
    ("want numbers or booleans, got <U1", lambda x: np.array(["a"]), {}),
    ("want a tuple of 2 outputs of the function, got list", lambda x: [x, x], {"num_outputs": 2}),
    ("want 2 outputs of the function, got 3", lambda x: (x, x, x), {"num_outputs": 2}),
    (
        "want 0 outputs of the .*got 1",
        lambda x: x,
        {"num_outputs": 0, "after": lambda _: 1, "exec_dynamic": False},
    ),
    ("a list with an array for each.*got ndarray", np.stack, {"batch_processing": True}),
    ("want a list of 3 samples, got 2", lambda x: x[1:], {"batch_processing": True}),
    (
        "samples of one type, int8, sample 1 has int32",
        lambda x: [x[0].astype(np.int8), *x[1:]],
        {"batch_processing": True},
    ),
    (
        "samples with one number of dimensions, 1, sample 2 has 2",
        lambda x: [*x[:2], x[2][None]],
        {"batch_processing": True},
    ),
]


class TestErrors:
    @pytest.mark.parametrize(("says", "function", "options"), WRONG, ids=[w[0] for w in WRONG])
    def test_comes_out_of_run_twice(
        self, says: str, function: Any, options: dict[str, Any]
    ) -> None:
        """The error is a RuntimeError as in DALI. The pipeline stays where it was."""
        pipe = graph(function, **options)
        for _ in range(2):
            with pytest.raises(RuntimeError, match=says) as caught:
                pipe.run()
            assert "bivouac.fn.python_function" in str(caught.value)
            assert "test_pipeline_functions.py" in str(caught.value)
            assert caught.value.__cause__ is not None

    def test_the_cause_is_the_exception(self) -> None:
        with pytest.raises(RuntimeError, match="fails") as caught:
            graph(fails).run()
        assert type(caught.value.__cause__) is OwnError

    @pytest.mark.parametrize("depth", [1, 2, 5])
    def test_the_batch_is_made_again(self, depth: int) -> None:
        """The batches before it come first, and the function is called in order."""
        calls: list[int] = []
        broken = [True]

        def function(x: Any) -> Any:
            if x[0] == 31 and broken:
                broken.clear()
                raise OwnError("once")
            calls.append(int(x[0]))
            return x + 1

        pipe = graph(function, prefetch_queue_depth=depth)
        seen = []
        for i in range(8):
            if i == 3:
                with pytest.raises(RuntimeError, match="OwnError: once"):
                    pipe.run()
            seen.append(rows(pipe.run()))
        assert seen == [want(i, 1) for i in range(8)]
        clean = [v for v in calls if v < 30] + [30] + [v for i in range(3, 8) for v in want(i)]
        assert calls[: len(clean)] == clean

    def test_another_operator_fails_after_it(self) -> None:
        """The function is not called again for a batch that failed after it."""
        calls: list[int] = []

        def function(x: Any) -> Any:
            calls.append(int(x[0]))
            return np.zeros(2 if x[0] != 21 else 3, np.int32)

        other = lambda y: y + np.zeros(2, np.int32)  # noqa: E731
        pipe = graph(function, after=other, prefetch_queue_depth=1)
        assert [len(pipe.run()) for _ in range(2)] == [1, 1]
        for _ in range(3):
            with pytest.raises(errors.BivouacError, match="position 7"):
                pipe.run()
        assert calls == [v for i in range(3) for v in want(i)]

    def test_a_layout_that_does_not_fit(self) -> None:
        with pytest.raises(ValueError, match="2 dimensions, as in the layout 'XY', got 1"):
            graph(lambda x: x, output_layouts="XY").run()

    @pytest.mark.parametrize(
        ("kind", "says", "options"),
        [
            (TypeError, "the argument function", {"function": None}),
            (TypeError, "a function, got int", {"function": 5}),
            (ValueError, "num_outputs.*got -1", {"num_outputs": -1}),
            (ValueError, "num_outputs.*got 5000", {"num_outputs": 5000}),
            (ValueError, "cpu, gpu, mixed", {"device": "tpu"}),
            (NotImplementedError, "want cpu, got gpu", {"device": "gpu"}),
            (KeyError, "'bogus' of bivouac.fn.python_function", {"bogus": 3}),
            (RuntimeError, "at most 1 layouts.*got 2", {"output_layouts": ["A", "B"]}),
        ],
    )
    def test_wrong_arguments(self, kind: Any, says: str, options: dict[str, Any]) -> None:
        with pytest.raises(kind, match=says):
            graph(**{"function": lambda x: x, **options})

    def test_wrong_calls(self) -> None:
        with pytest.raises(RuntimeError, match="a current pipeline"):
            fn.python_function(function=lambda: 1)
        with bivouac.Pipeline(batch_size=1, num_threads=1):
            x = fn.random.uniform()
            with pytest.raises(TypeError, match="take no lists"):
                fn.python_function([x, x], function=lambda x: x)
            with pytest.raises(ValueError, match="0 to 256, got 300"):
                fn.python_function(*[x] * 300, function=lambda *x: x)
            with pytest.raises(ValueError, match="argument output_layouts"):
                ops.PythonFunction(lambda x: x, output_layouts="A")(x, output_layouts="B")

    def test_is_not_serialized(self) -> None:
        pipe = graph(lambda x: x)
        with pytest.raises(BrokenGraph, match="python_function.*that can be serialized"):
            pipe.serialize()
        assert rows(pipe.run()) == want(0)


class TestCalls:
    def test_one_at_a_time_in_one_thread(self) -> None:
        busy = threading.Lock()
        threads = set()
        order: list[tuple[str, int]] = []

        def named(name: str) -> Callable[[Any], Any]:
            def function(x: Any) -> Any:
                assert busy.acquire(blocking=False), "two calls at once"
                threads.add(threading.get_ident())
                order.append((name, int(x[0]) // 10))
                busy.release()
                return x

            return function

        def after(x: Any) -> Any:
            y = fn.python_function(x, function=named("B"))
            fn.python_function(x, function=named("C"))
            return y

        pipe = graph(named("A"), after=after, num_threads=4, prefetch_queue_depth=4)
        for i in range(6):
            assert rows(pipe.run()) == want(i)
        assert len(threads) == 1
        each = [[(name, i)] * BATCH for i in range(6) for name in "ABC"]
        assert order[: 18 * BATCH] == [call for calls in each for call in calls]

    def test_inputs_are_kept_and_written(self) -> None:
        """A function that keeps its inputs, or writes to them, harms nothing but them."""
        kept: list[Any] = []

        def function(x: Any, y: Any) -> Any:
            kept.append(x)
            x[0] += 5
            return np.array([x[0], y[0]])

        pipe = graph(function, inputs=2)
        for i in range(20):
            (batch,) = pipe.run()
            assert [v.tolist() for v in batch.views()] == [[v + 5, v] for v in want(i)]
        del pipe
        gc.collect()
        assert all(x.shape == (2,) and x.sum() is not None for x in kept)

    def test_what_a_function_returned_may_change_later(self) -> None:
        buffer = np.zeros((BATCH, 2), np.int32)

        def function(x: Any) -> Any:
            buffer[:] = np.stack(x)
            return list(buffer)

        pipe = graph(function, batch_processing=True, prefetch_queue_depth=4)
        assert [rows(pipe.run()) for _ in range(5)] == [want(i) for i in range(5)]

    def test_large_and_empty_arrays(self) -> None:
        def function(x: Any) -> Any:
            size = (0, 1, 1 << 20)[int(x[0]) % 3]
            return np.arange(size, dtype=np.float64)[::-1], np.zeros((0, 3), np.uint8)

        pipe = graph(function, num_outputs=2)
        for i in range(4):
            large, empty = pipe.run()
            for k, v in enumerate(want(i)):
                size = (0, 1, 1 << 20)[v % 3]
                assert np.array_equal(np.asarray(large.at(k)), np.arange(size, dtype=float)[::-1])
                assert np.asarray(empty.at(k)).shape == (0, 3)

    def test_bytes_of_the_other_order(self) -> None:
        assert rows(graph(lambda x: x.astype(">i4")).run()) == want(0)

    def test_a_function_that_forks(self) -> None:
        """The child ends with the call, and the parent goes on."""
        left: list[int] = []

        def function(x: Any) -> Any:
            pid = os.fork()
            if pid:
                left.append(os.waitpid(pid, 0)[1])
            return x

        pipe = graph(function)
        assert [rows(pipe.run()) for _ in range(2)] == [want(0), want(1)]
        assert set(left) == {0}

    def test_a_forked_child_has_its_own(self) -> None:
        pipe = graph(lambda x: x + 1)
        assert rows(pipe.run()) == want(0, 1)
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                try:
                    pipe.run()
                except errors.Closed:
                    status = 0 if rows(graph(lambda x: x + 2).run()) == want(0, 2) else 2
                _client._close()
            finally:
                os._exit(status)
        assert os.waitpid(pid, 0)[1] == 0
        assert rows(pipe.run()) == want(1, 1)

    def test_the_thread_ends_with_the_pipeline(self) -> None:
        class Holder:
            def __init__(self) -> None:
                self.pipe = graph(self.call)

            def call(self, x: Any) -> Any:
                return x

        before = set(threading.enumerate())
        holder = Holder()
        assert rows(holder.pipe.run()) == want(0)
        made = [t for t in set(threading.enumerate()) - before if "functions" in t.name]
        assert len(made) == 1
        del holder
        # A call for a batch ahead may still run at the first collection.
        assert eventually(lambda: gc.collect() >= 0 and not made[0].is_alive())

    def test_torch(self) -> None:
        torch: Any = pytest.importorskip("torch")
        from bivouac.plugin import pytorch

        @bivouac.pipeline_def(batch_size=2, num_threads=1, device_id=None)
        def define() -> Any:
            x = bivouac.types.Constant(np.arange(6, dtype=np.float32).reshape(2, 3))
            y = pytorch.fn.torch_python_function(x, function=lambda v: torch.flip(v, (1,)) * 2)
            z = pytorch.TorchPythonFunction(lambda v: [t.sum() for t in v], batch_processing=True)
            return y, z(x)

        y, z = define().run()
        assert np.asarray(y.at(1)).tolist() == [[4, 2, 0], [10, 8, 6]]
        assert [float(z.at(i)) for i in range(2)] == [15, 15]
        wrong: Any = lambda v: v.numpy()  # noqa: E731
        with bivouac.Pipeline(batch_size=1, num_threads=1, device_id=None) as pipe:
            pipe.set_outputs(pytorch.fn.torch_python_function(np.float32(1), function=wrong))
        with pytest.raises(RuntimeError, match="want a tensor of torch.*got ndarray"):
            pipe.run()


class TestHangs:
    def test_an_interrupt_leaves_the_wait(self) -> None:
        """The function is not interrupted. The next run returns its batch."""
        go = threading.Event()

        def function(x: Any) -> Any:
            if x[0] == 10:
                os.kill(os.getpid(), signal.SIGINT)
                go.wait()
            return x

        pipe = graph(function, prefetch_queue_depth=1)
        assert rows(pipe.run()) == want(0)
        with pytest.raises(KeyboardInterrupt):
            pipe.run()
        assert not go.is_set()
        go.set()
        assert [rows(pipe.run()) for _ in range(2)] == [want(1), want(2)]

    def test_an_interrupt_while_the_call_is_sent(self) -> None:
        """The call is cancelled then. It has taken nothing, and the next run returns the batch."""
        go = threading.Event()

        def function(x: Any) -> Any:
            if x[0] == 10:
                go.wait()
            return x

        pipe = graph(function, prefetch_queue_depth=1)
        assert rows(pipe.run()) == want(0)
        writer = _client.connection()._writer
        post = writer.post

        def interrupts(frame: Any) -> None:
            post(frame)
            if b"pipeline.run" in bytes(frame.view):
                setattr(writer, "post", post)  # noqa: B010
                raise KeyboardInterrupt

        setattr(writer, "post", interrupts)  # noqa: B010
        with pytest.raises(KeyboardInterrupt):
            pipe.run()
        go.set()
        assert [rows(pipe.run()) for _ in range(2)] == [want(1), want(2)]

    @pytest.mark.parametrize("variable", [False, True])
    def test_a_time_limit(self, variable: bool, monkeypatch: pytest.MonkeyPatch) -> None:
        """The error names the function. The pipeline goes on when the function returns."""
        go = threading.Event()
        calls: list[int] = []

        def stuck(x: Any) -> Any:
            calls.append(int(x[0]))
            if calls.count(11) == 1 and x[0] == 11:
                go.wait()
            return x

        pipe = graph(stuck, prefetch_queue_depth=1)
        if variable:
            monkeypatch.setenv("BIVOUAC_CALLBACK_TIMEOUT", "1.5")
        else:
            pipe.callback_timeout = 1.5
        assert rows(pipe.run()) == want(0)
        with pytest.raises(errors.DeadlineExceeded, match="stuck .*1.5s.*callback_timeout"):
            pipe.run()
        go.set()
        assert [rows(pipe.run()) for _ in range(2)] == [want(1), want(2)]

    @pytest.mark.parametrize("seconds", ["0", "-1", "x", "nan"])
    def test_wrong_time_limits(self, seconds: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("BIVOUAC_CALLBACK_TIMEOUT", seconds)
        with pytest.raises(ValueError, match="BIVOUAC_CALLBACK_TIMEOUT.*positive"):
            graph(lambda x: x).run()

    def test_the_sidecar_dies(self) -> None:
        def function(x: Any) -> Any:
            if x[0] == 10:
                os.kill(pid, signal.SIGKILL)
            return x

        pipe = graph(function, prefetch_queue_depth=1)
        pipe.build()
        pid = sidecar_pid()
        assert rows(pipe.run()) == want(0)
        with pytest.raises(errors.Died):
            pipe.run()
        assert rows(graph(lambda x: x).run()) == want(0)

    def test_a_function_hangs_at_the_end_of_the_program(
        self, program: Any, tmp_path: Path
    ) -> None:
        """Neither the program nor the side-car waits for it."""
        process = program(
            "import threading, numpy as np, bivouac\n"
            "from bivouac import _client, fn\n"
            "called = threading.Event()\n"
            "def hangs():\n"
            "    called.set()\n"
            "    threading.Event().wait()\n"
            "pipe = bivouac.Pipeline(batch_size=1, num_threads=1, device_id=None)\n"
            "with pipe:\n"
            "    pipe.set_outputs(fn.python_function(function=hangs))\n"
            "pipe.schedule_run()\n"
            "called.wait()\n"
            "print(_client.connection()._process.pid, flush=True)\n"
        )
        pid = int(output(process))
        assert eventually(lambda: not running(pid))
