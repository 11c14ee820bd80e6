"""Workers of parallel sources: failures, interrupts, and what is left of them."""

from __future__ import annotations

import gc
import itertools
import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

import bivouac
from bivouac import errors, fn
from bivouac._pipeline import workers
from bivouac._pipeline.running import Running
from conftest import eventually, running
from parallel_sources import first, number, pipeline

pytestmark = pytest.mark.usefixtures("sidecar")


# Failures.


def test_an_exception_has_the_traceback_of_the_worker(tmp_path: Path) -> None:
    flag = tmp_path / "flag"

    def source(info: Any) -> Any:
        if info.idx_in_epoch == 5 and not flag.exists():
            raise LookupError("mine")
        return np.array(info.idx_in_epoch)

    pipe = pipeline(source, batch=False, py_num_workers=2, exec_pipelined=False)
    assert first(pipe.run()) == 0
    for _ in range(2):
        with pytest.raises(workers.SourceError, match="LookupError: mine") as caught:
            pipe.run()
        assert "in source" in str(caught.value) and type(caught.value.__cause__) is LookupError
    flag.touch()
    assert [first(pipe.run()) for _ in range(2)] == [4, 8]


def test_an_exception_that_does_not_travel() -> None:
    class Odd(Exception):
        def __init__(self, a: int, b: int) -> None:
            super().__init__(f"odd {a} {b}")

    def source(i: int) -> Any:
        raise Odd(1, 2)

    with pytest.raises(workers.SourceError, match="Odd: odd 1 2") as caught:
        pipeline(source, batch=True).run()
    assert type(caught.value.__cause__) is RuntimeError


def test_sys_exit_is_an_exception_and_ends_no_worker() -> None:
    pipe = pipeline(lambda i: sys.exit(3), batch=True)
    with pytest.raises(workers.SourceError, match="SystemExit: 3"):
        pipe.run()
    assert all(running(pid) for pid in pipe._pool.pids())


def test_a_source_that_ends_its_process(tmp_path: Path) -> None:
    """Three workers try the batch. The run after the error tries it again."""
    flag = tmp_path / "flag"

    def source(i: int) -> Any:
        if i == 2 and not flag.exists():
            os._exit(7)
        return number(i)

    pipe = pipeline(source, batch=True, py_num_workers=2, exec_pipelined=False)
    assert [first(pipe.run()) for _ in range(2)] == [0, 1]
    for _ in range(2):
        with pytest.raises(RuntimeError, match="ended with status 7"):
            pipe.run()
    flag.touch()
    assert [first(pipe.run()) for _ in range(3)] == [2, 3, 4]


class Fatal:
    """A function that ends a worker that unpickles it."""

    def __call__(self, i: int) -> Any:
        return number(i)

    def __reduce__(self) -> Any:
        return os._exit, (5,)


def test_a_worker_that_does_not_start() -> None:
    pipe = pipeline(Fatal(), batch=True, py_start_method="spawn")
    for _ in range(2):
        with pytest.raises(workers.WorkerDied, match="status 5 before a call"):
            pipe.run()
    assert pipe._pool is None


def numbers() -> Iterator[Any]:
    for i in range(40):
        yield number(i)


@pytest.mark.parametrize("name", ["function", "iterable", "samples"])
def test_killed_workers_are_replaced(name: str) -> None:
    """Order and values stay as they are, whichever workers are killed, and whenever."""

    def sample(info: Any) -> Any:
        if info.iteration == 40:
            raise StopIteration
        return np.array([info.iteration])

    def ending(i: int) -> Any:
        if i == 40:
            raise StopIteration
        return number(i)

    source: Any = {"function": ending, "iterable": numbers, "samples": sample}[name]
    options = {"batch": name != "samples", "prefetch_queue_depth": 3, "py_num_workers": 2}
    if name == "iterable":
        options["py_num_workers"] = 1
    pipe = pipeline(source, **options)
    pipe.build()
    for i in range(40):
        if i % 4 == 0:
            os.kill(pipe._pool.pids()[i // 4 % len(pipe._pool.pids())], signal.SIGKILL)
        assert first(pipe.run()) == i
    with pytest.raises(StopIteration):
        pipe.run()
    pipe.reset()
    if name != "iterable":
        assert first(pipe.run()) == 0


@pytest.mark.parametrize("name", ["function", "iterable"])
def test_a_call_that_hangs(name: str, tmp_path: Path) -> None:
    """Its worker is ended, and the next run calls the source again for the same batch."""
    flag = tmp_path / "flag"

    def source(i: int) -> Any:
        while i == 2 and not flag.exists():
            time.sleep(1000)
        return number(i)

    def batches() -> Iterator[Any]:
        for i in range(5):
            yield source(i)

    pipe = pipeline(source if name == "function" else batches, batch=True, exec_pipelined=False)
    pipe.callback_timeout = 1
    assert [first(pipe.run()) for _ in range(2)] == [0, 1]
    pids = pipe._pool.pids()
    with pytest.raises(errors.DeadlineExceeded, match="at most 1"):
        pipe.run()
    flag.touch()
    assert eventually(lambda: not any(running(pid) for pid in pids))
    assert [first(pipe.run()) for _ in range(3)] == [2, 3, 4]


def test_data_that_does_not_fit_is_asked_for_again(tmp_path: Path) -> None:
    flag = tmp_path / "flag"

    def source(i: int) -> Any:
        if i == 1 and not flag.exists():
            return [np.zeros(1, np.int32), np.zeros(1, np.int64)]
        return number(i)

    pipe = pipeline(source, batch=True, exec_pipelined=False)
    assert first(pipe.run()) == 0
    with pytest.raises(TypeError, match="samples of one type"):
        pipe.run()
    flag.touch()
    assert [first(pipe.run()) for _ in range(2)] == [1, 2]


# Interrupts.


class Stop(Exception):
    """What the handler of a signal raises."""


def run_interrupted(pipe: Any, line: int) -> tuple[bool, Any]:
    """Run a pipeline with an interrupt before a line of the methods that want and take batches."""
    methods = {
        method.__code__
        for method in (
            Running._call_sources,
            workers.Pool.prefetch,
            workers.Pool.call,
            workers.Pool._wait,
            workers._Source.wanted,
            workers._Source.fill,
            workers._Source._entry,
            workers._Engine.ask,
            workers._Bell.ring,
            workers._Bell.clear,
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
        return False, pipe.run()
    except Stop:
        return True, None
    finally:
        sys.settrace(None)


def endless() -> Iterator[Any]:
    for i in itertools.count():
        yield number(i)


def test_an_interrupt_before_each_line_loses_and_repeats_nothing() -> None:
    @bivouac.pipeline_def(batch_size=4, num_threads=1, device_id=None, py_num_workers=2)
    def graph() -> Any:
        return (
            fn.external_source(source=endless, parallel=True, batch=True),
            fn.external_source(source=number, parallel=True, batch=True, prefetch_queue_depth=2),
            fn.external_source(
                source=lambda info: np.array([info.iteration]), parallel=True, batch=False
            ),
        )

    pipe = graph()
    came = 0
    for i in range(1000):
        interrupted, batch = run_interrupted(pipe, i + 1)
        if interrupted:
            came += 1
            batch = pipe.run()
        assert [first([output]) for output in batch] == [i] * 3, i
        if not interrupted:
            break
    assert came > 60, came


def test_ctrl_c(program: Any) -> None:
    """An interrupt leaves the wait, the workers do not see it, and no batch is lost."""
    process = program(
        """
        import os, signal, sys, time
        import numpy as np
        import bivouac
        from bivouac import fn

        flag = sys.argv[1]
        def source(i):
            while i == 3 and not os.path.exists(flag):
                time.sleep(0.01)
            return np.full((2, 1), i)

        @bivouac.pipeline_def(batch_size=2, num_threads=1, device_id=None, exec_pipelined=False)
        def graph():
            return fn.external_source(source=source, parallel=True, batch=True)

        pipe = graph()
        found = [int(pipe.run()[0].at(0)[0]) for _ in range(3)]
        print("waits", flush=True)
        while True:
            try:
                found.append(int(pipe.run()[0].at(0)[0]))
                break
            except KeyboardInterrupt:
                open(flag, "w").close()
        found.append(int(pipe.run()[0].at(0)[0]))
        print(found, flush=True)
        """,
        str(Path(os.environ.get("TMPDIR", "/tmp")) / f"flag-{os.getpid()}-{time.monotonic_ns()}"),
    )
    assert process.stdout.readline() == "waits\n"
    time.sleep(0.2)  # it may wait by now; an interrupt that comes before is one too
    os.killpg(process.pid, signal.SIGINT)
    assert process.stdout.readline() == "[0, 1, 2, 3, 4]\n"
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0 and not out and "Traceback" not in err, err


# The end.


def test_nothing_is_left(program: Any) -> None:
    """A pipeline that nothing refers to leaves no process, no thread, no memory."""
    process = program(
        """
        import gc, os, threading
        import numpy as np
        import bivouac
        from bivouac import fn

        def left():
            with open("/proc/self/maps") as file:
                maps = sum("bivouac-slot" in line for line in file)
            return maps, sum(t.name == "bivouac-workers" for t in threading.enumerate())

        big = np.zeros((4, 1 << 16))

        @bivouac.pipeline_def(batch_size=4, num_threads=1, device_id=None, py_num_workers=2)
        def graph():
            return fn.external_source(source=lambda i: big, parallel=True, batch=True)

        pipe = graph()
        for _ in range(4):
            pipe.run()
        pids = pipe._pool.pids()
        maps, threads = left()
        assert maps > 0 and threads == 1, (maps, threads)
        del pipe
        gc.collect()
        while left()[1]:
            pass  # the test ends the program if it lasts too long
        for pid in pids:
            try:
                os.kill(pid, 0)
                raise AssertionError(pid)
            except ProcessLookupError:
                pass
        gc.collect()
        print(left())
        """
    )
    out, err = process.communicate(timeout=60)
    assert out == "(0, 0)\n", err


@pytest.mark.parametrize("end", ["return", "kill"])
def test_no_worker_outlives_the_trainer(program: Any, end: str) -> None:
    process = program(
        """
        import os, signal, sys, time
        import numpy as np
        import bivouac
        from bivouac import fn

        @bivouac.pipeline_def(batch_size=2, num_threads=1, device_id=None, py_num_workers=3)
        def graph():
            return fn.external_source(
                source=lambda i: time.sleep(0.01) or np.zeros((2, 9000)), parallel=True, batch=True)

        pipe = graph()
        pipe.run()
        print(*pipe._pool.pids(), flush=True)
        if sys.argv[1] == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        """,
        end,
    )
    out, err = process.communicate(timeout=60)
    pids = [int(pid) for pid in out.split()]
    assert len(pids) == 3 and not err, err
    assert eventually(lambda: not any(running(pid) for pid in pids))


def test_workers_that_hang_end_with_the_pipeline(tmp_path: Path) -> None:
    begun = [tmp_path / str(i) for i in range(3)]

    def source(i: int) -> Any:
        if i:
            begun[i - 1].touch()
            time.sleep(1000)
        return number(i)

    options = {"py_num_workers": 3, "prefetch_queue_depth": 3, "exec_pipelined": False}
    pipe = pipeline(source, batch=True, **options)
    assert first(pipe.run()) == 0
    pids = pipe._pool.pids()
    assert eventually(lambda: all(path.exists() for path in begun), 60)
    del pipe
    gc.collect()
    assert eventually(lambda: not any(running(pid) for pid in pids), 60)


def test_a_forked_child_has_no_part_in_it() -> None:
    pipe = pipeline(number, batch=True)
    assert first(pipe.run()) == 0
    pids = pipe._pool.pids()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            pipe.run()
        except errors.Closed:
            del pipe
            gc.collect()
            code = 0
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert [first(pipe.run()) for _ in range(2)] == [1, 2]
    assert pipe._pool.pids() == pids and all(running(pid) for pid in pids)
