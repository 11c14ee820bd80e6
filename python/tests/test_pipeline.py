"""Pipelines in Python make what DALI's made, and lose nothing when something goes wrong."""

from __future__ import annotations

import gc
import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bivouac
import pipeline_scenes
from bivouac import _client, errors, fn, types
from lifecycle import output

RECORDED = Path(__file__).with_name("pipeline_recorded.json")

pytestmark = pytest.mark.usefixtures("sidecar")


@pytest.mark.parametrize("name", sorted(pipeline_scenes.SCENES))
def test_scenes_are_as_dali_made_them(name: str, tmp_path: Path) -> None:
    """All values are compared exactly, with their types, layouts and shapes."""
    root = pipeline_scenes.files(tmp_path)
    made = pipeline_scenes.SCENES[name](pipeline_scenes.modules("bivouac"), root)
    assert json.loads(json.dumps(made)) == json.loads(RECORDED.read_text())[name]


def counted(batch: int = 4, most: int = 10**6, **options: Any) -> Any:
    """Return a pipeline whose batch i has the number i, in samples of different sizes."""

    def source(i: int) -> Any:
        if i >= most:
            raise StopIteration
        return [np.full((k + 1,), i, np.int32) for k in range(batch)]

    @bivouac.pipeline_def(batch_size=batch, num_threads=1, device_id=None, **options)
    def graph() -> Any:
        return fn.external_source(source=source) + 0

    return graph()


def number(batch: Any) -> int:
    """Return the number of a batch. All its elements must have it."""
    flat, _ = batch[0].flat()
    assert (flat == flat[0]).all()
    return int(flat[0])


class TestBatches:
    """The memory of a batch belongs to its views."""

    def test_ragged_batches_have_two_forms(self) -> None:
        (batch,) = counted().run()
        assert not batch.is_dense_tensor()
        flat, offsets = batch.flat()
        assert offsets.tolist() == [0, 1, 3, 6, 10]
        for i, view in enumerate(batch.views()):
            assert view.shape == batch.shape()[i] == (i + 1,)
            assert np.shares_memory(view, flat[offsets[i] : offsets[i + 1]])
        with pytest.raises(RuntimeError, match="same shape"):
            batch.as_array()

    def test_a_view_holds_its_batch(self) -> None:
        pipe = counted()
        views = {}
        for i in range(200):
            batch = pipe.run()
            assert number(batch) == i
            if i % 7 == 0:
                views[i] = batch[0].views()[i % 4][:1]
            if i % 21 == 0:
                views.pop(i - 21, None)
            for held, view in views.items():
                assert view.tolist() == [held]

    def test_slots_are_used_again(self) -> None:
        def mapped() -> int:
            gc.collect()
            with open("/proc/self/maps") as maps:
                return sum("bivouac-slot" in line for line in maps)

        before = mapped()  # of other tests
        pipe = counted()
        for _ in range(100):
            pipe.run()
        assert mapped() <= before + 5  # one of them has the batch that is asked for ahead

    def test_too_many_batches_are_an_error_that_loses_none(self) -> None:
        pipe = counted()
        held = []
        with pytest.raises(errors.Exhausted, match="at most 64"):
            for _ in range(100):
                held.append(pipe.run())
        assert [number(batch) for batch in held] == list(range(64))
        del held[10:]
        assert [number(pipe.run()) for _ in range(5)] == list(range(64, 69))

    def test_batches_outlive_the_pipeline_and_the_sidecar(self) -> None:
        pipe = counted()
        batch = pipe.run()
        process = _client.connection()._process
        assert process is not None
        os.kill(process.pid, signal.SIGKILL)
        with pytest.raises(errors.Died):
            for _ in range(3):
                pipe.run()
        assert number(batch) == 0

    def test_more_batches_can_be_held(self) -> None:
        pipe = counted()
        pipe.most_held = 3
        held = [pipe.run() for _ in range(3)]
        with pytest.raises(errors.Exhausted, match="at most 3.*most_held"):
            pipe.run()
        del held[0]
        assert number(pipe.run()) == 3

    def test_a_pipeline_ends_with_its_last_reference(self) -> None:
        pipe = counted()
        batch = pipe.run()
        name = pipe._remote._number
        del pipe
        gc.collect()
        other = counted()
        assert number(other.run()) == 0
        link = _client.connection()
        link._wait(lambda: not link._calls, 10, {})
        with pytest.raises(errors.NotFound):
            link.call("pipeline.progress", pipeline=name)
        assert number(batch) == 0

    def test_protocols_of_arrays(self) -> None:
        (batch,) = counted(batch=1).run()
        tensor = batch[0]
        assert np.asarray(tensor).tolist() == [0]
        assert np.from_dlpack(tensor).tolist() == [0]
        assert tensor.dtype is types.INT32 and batch.dtype is types.INT32
        assert np.asarray(batch).shape == (1, 1)


class TestSources:
    """A callback that fails is an error, after which the pipeline goes on where it was."""

    def test_an_exception_of_a_callback_comes_out(self) -> None:
        fails = [3, 3, 7]

        def source(i: int) -> Any:
            if fails and i == fails[0]:
                fails.pop(0)
                raise LookupError(f"no batch {i}")
            return np.full((2, 1), i, np.int32)

        @bivouac.pipeline_def(batch_size=2, num_threads=1, device_id=None)
        def graph() -> Any:
            return fn.external_source(source=source)

        pipe = graph()
        seen, failures = [], 0
        while len(seen) < 12:
            try:
                seen.append(number(pipe.run()))
            except LookupError:
                failures += 1
        assert seen == list(range(12)) and failures == 3

    @pytest.mark.parametrize(
        ("wrong", "want"),
        [
            (np.zeros((5, 1), np.int32), "at most 2"),
            (np.zeros((2, 1), np.float32), "int32"),
            (np.zeros((2, 1, 1), np.int32), "dim"),
            ([np.zeros(1, np.int32), np.zeros(1, np.int64)], "one type"),
            (["text", "text"], "no shape"),
            (7, "no shape"),
            ([], "at least one sample"),
        ],
    )
    def test_wrong_data_is_an_error(self, wrong: Any, want: str) -> None:
        given = iter([np.full((2, 1), 0, np.int32), wrong])

        def source(i: int) -> Any:
            return next(given, np.full((2, 1), i, np.int32))

        @bivouac.pipeline_def(
            batch_size=2, num_threads=1, device_id=None, prefetch_queue_depth=1
        )
        def graph() -> Any:
            return fn.external_source(source=source, dtype=types.INT32, ndim=1)

        pipe = graph()
        assert number(pipe.run()) == 0
        with pytest.raises((ValueError, TypeError, RuntimeError), match=want):
            pipe.run()
        assert [number(pipe.run()) for _ in range(3)] == [1, 2, 3]

    def test_a_batch_that_was_not_fed(self) -> None:
        @bivouac.pipeline_def(batch_size=2, num_threads=1, device_id=None)
        def graph() -> Any:
            return fn.external_source(name="x")

        pipe = graph()
        with pytest.raises(errors.Invalid, match="fed"):
            pipe.run()
        for i in range(3):
            pipe.feed_input("x", np.full((2, 1), i, np.int32))
        assert [number(pipe.run()), number(pipe.run())] == [0, 1]
        with pytest.raises((errors.NotFound, errors.Invalid), match="other"):
            pipe.feed_input("other", np.zeros((2, 1)))


class TestStates:
    """A pipeline goes on from a state with the batches that would have come."""

    @staticmethod
    def graph(root: Path, **options: Any) -> Any:
        @bivouac.pipeline_def(
            batch_size=4, num_threads=2, device_id=None, seed=5, enable_checkpointing=True
        )
        def made() -> Any:
            data, label = fn.readers.file(
                file_root=str(root), file_filters=["*.bin"], random_shuffle=True, initial_fill=7
            )
            noise = fn.random.uniform(range=[0.0, 1.0], shape=[2])
            return fn.pad(data, fill_value=0), label, noise

        return made(**options)

    def test_states_after_each_batch(self, tmp_path: Path) -> None:
        root = pipeline_scenes.files(tmp_path)
        pipe = self.graph(root)
        states, batches = [pipe.checkpoint()], []
        for _ in range(14):
            batches.append(pipeline_scenes.told(pipe.run()))
            states.append(pipe.checkpoint())
        for i in (0, 1, 5, 6, 13):
            for depth in (1, 4):
                again = self.graph(root, checkpoint=states[i], prefetch_queue_depth=depth)
                assert again.is_restored_from_checkpoint
                for want in batches[i:]:
                    assert pipeline_scenes.told(again.run()) == want

    def test_a_killed_sidecar(self, tmp_path: Path) -> None:
        root = pipeline_scenes.files(tmp_path)
        want = []
        pipe = self.graph(root)
        for _ in range(12 + 40):
            want.append(pipeline_scenes.told(pipe.run()))
        pipe, state, seen = self.graph(root), None, []
        for i in range(12):
            if i in (3, 4, 9):
                process = _client.connection()._process
                assert process is not None
                os.kill(process.pid, signal.SIGKILL)
                came = []
                with pytest.raises(errors.Died):
                    for _ in range(40):  # what came ahead is here
                        came.append(pipeline_scenes.told(pipe.run()))
                assert came == want[i : i + len(came)]
                pipe = self.graph(root, checkpoint=state)
            seen.append(pipeline_scenes.told(pipe.run()))
            state = pipe.checkpoint()
        assert seen == want[:12]

    def test_a_file_has_the_old_state_or_the_new(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        pipe = self.graph(pipeline_scenes.files(tmp_path / "data"))
        path = tmp_path / "state"
        first = pipe.checkpoint(str(path))
        pipe.run()

        def fails(_: int) -> None:
            raise OSError("no room")

        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", fails)
            with pytest.raises(OSError, match="no room"):
                pipe.checkpoint(str(path))
        assert path.read_bytes() == first
        second = pipe.checkpoint(str(path))
        assert path.read_bytes() == second != first
        assert sorted(p.name for p in tmp_path.iterdir()) == ["data", "state"]

    def test_a_state_needs_checkpointing(self) -> None:
        pipe = counted()
        pipe.run()
        with pytest.raises(errors.BivouacError, match="EnableCheckpointing"):
            pipe.checkpoint()


PRELUDE = """
import os, signal, sys, time
import numpy as np
import bivouac
from bivouac import _client, errors, fn
class Stop(Exception): pass
def source(i):
    return np.full((2, 1), i, np.int32)
@bivouac.pipeline_def(batch_size=2, num_threads=1, device_id=None)
def graph():
    return fn.external_source(source=source)
pipe = graph()
def stop(pid):
    os.kill(pid, signal.SIGSTOP)
    while True:
        with open(f"/proc/{pid}/stat") as file:
            if file.read().rpartition(")")[2].split()[0] == "T":
                return
def number():
    return int(pipe.run()[0].as_array()[0, 0])
"""

Program = Callable[..., "subprocess.Popen[str]"]


class TestInterrupts:
    """Interrupts, forks and the end of the program."""

    def test_an_interrupted_wait_loses_no_batch(self, program: Program) -> None:
        """The side-car stands still while the program waits for it."""
        process = program(
            PRELUDE
            + """
def handler(*_): raise Stop
signal.signal(signal.SIGALRM, handler)
pid = _client.connection()._process.pid
seen = [number()]
for i in range(1, 41):
    stop(pid)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.01 + 0.002 * (i % 7))
        pipe.run()
        raise SystemExit("no interrupt came")
    except Stop:
        pass
    os.kill(pid, signal.SIGCONT)
    seen.append(number())
assert seen == list(range(41)), seen
print("ok")
"""
        )
        assert output(process) == "ok\n"

    def test_ctrl_c_ends_a_wait_at_once(self, program: Program) -> None:
        process = program(
            PRELUDE
            + """
assert number() == 0
pid = _client.connection()._process.pid
stop(pid)
try:
    print("waiting", flush=True)
    pipe.run()
except KeyboardInterrupt:
    at = time.monotonic()
    os.kill(pid, signal.SIGCONT)
    assert number() == 1
    print("ok")
"""
        )
        assert process.stdout is not None
        assert process.stdout.readline() == "waiting\n"
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        assert output(process) == "ok\n"

    def test_a_forked_child_cannot_use_the_pipeline(self, program: Program) -> None:
        process = program(
            PRELUDE
            + """
batch = pipe.run()
pid = os.fork()
if pid == 0:
    try:
        pipe.run()
    except errors.Closed:
        assert batch[0].as_array()[0, 0] == 0
        pipe = graph()
        os._exit(0 if number() == 0 else 3)
    os._exit(2)
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
assert number() == 1
print("ok")
"""
        )
        assert output(process) == "ok\n"

    def test_the_sidecar_ends_with_the_program(self, program: Program) -> None:
        process = program(
            PRELUDE
            + """
number()
print(_client.connection()._process.pid, flush=True)
time.sleep(60)
"""
        )
        assert process.stdout is not None
        pid = int(process.stdout.readline())
        process.kill()
        deadline = time.monotonic() + 10
        while Path(f"/proc/{pid}").exists() and time.monotonic() < deadline:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
            if state == "Z":
                break
            time.sleep(0.02)
        else:
            assert not Path(f"/proc/{pid}").exists()
