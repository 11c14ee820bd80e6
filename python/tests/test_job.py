"""What a job saves, what it continues from, and how it ends."""

from __future__ import annotations

import dataclasses
import json
import random
import signal
import subprocess
import threading
import time
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from conftest import eventually
from jobs import PROGRAM, Batches, equal, names, new_state, run
from lifecycle import Program

import bivouac as bv
from bivouac import _process, errors
from bivouac._job import generators, values
from bivouac.checkpoint import training

pytestmark = pytest.mark.usefixtures("sidecar")


@pytest.mark.parametrize("stop_at", [1, 3, 4, 5, 7, 8, 14, 15, 16])
def test_a_resumed_run_is_equal(tmp_path: Path, stop_at: int) -> None:
    want, ids = run(tmp_path / "unbroken", 20)
    _, first = run(tmp_path / "run", 20, stop_at)
    got, second = run(tmp_path / "run", 20)
    begin = (stop_at - 1) // 4 * 4
    assert first == ids[:stop_at] and second == ids[begin:]
    assert equal(got, want)


def test_items_and_documents(tmp_path: Path) -> None:
    run(tmp_path, 6, identity="m")
    step = tmp_path / "6"
    assert {p.name for p in step.iterdir() if p.is_dir()} == {"data", "python", "state"}
    assert json.loads((step / "data" / "data.json").read_text()) == {
        "version": 1, "identity": "m", "step": 6, "stream": {"epoch": 0, "at": 18},
    }  # fmt: skip


def test_the_command_reads_the_steps(tmp_path: Path) -> None:
    run(tmp_path, 12)
    binary = _process.binary()
    for command, status in (("ls", 0), ("verify", 0), ("info", 0), ("diff", 4)):
        at = [tmp_path / "8", tmp_path / "12"] if command == "diff" else [tmp_path]
        said = subprocess.run([binary, command, *at], capture_output=True, text=True)
        assert said.returncode == status, said.stderr
        assert "12" in said.stdout or "w" in said.stdout


def test_keep_and_save_every(tmp_path: Path) -> None:
    run(tmp_path / "a", 20, keep=2)
    assert names(tmp_path / "a") == ["16", "20"]
    run(tmp_path / "b", 10, save_every=None)
    assert names(tmp_path / "b") == ["10"]
    policy = training.save_decision_policies.FixedIntervalPolicy(5)
    run(tmp_path / "c", 11, save_decision_policy=policy, keep=None)
    assert {"5", "10", "11"} <= set(names(tmp_path / "c"))
    assert not {"4", "6", "8"} & set(names(tmp_path / "c"))


def test_metrics_decide_what_stays(tmp_path: Path) -> None:
    best = training.preservation_policies.BestN(
        n=1, get_metric_fn=lambda metrics: -metrics["loss"], keep_checkpoints_without_metrics=False
    )
    with bv.Job(
        tmp_path, Batches(), new_state(), steps=5, save_every=1, preservation_policy=best
    ) as job:
        for _ in job:
            job.metrics = {"loss": abs(job.step + 1 - 3)}
    assert "3" in names(tmp_path) and "1" not in names(tmp_path)


def test_epochs(tmp_path: Path) -> None:
    def count(**limits: int) -> tuple[int, int, int]:
        seen = 0
        with bv.Job(tmp_path, Batches(), new_state(), save_every=7, **limits) as job:
            for _ in job:
                seen += 1
        return seen, job.step, job.epoch

    assert count() == (7, 7, 1)
    assert count() == (0, 7, 1)
    assert count(epochs=3) == (14, 21, 3)
    assert count(steps=25) == (4, 25, 3)
    assert count(steps=100, epochs=4) == (3, 28, 4)
    assert count(steps=30) == (2, 30, 4)


def test_an_extended_run_is_equal(tmp_path: Path) -> None:
    want, ids = run(tmp_path / "unbroken", 21)
    for steps in (7, 10, 14, 21):
        got, _ = run(tmp_path / "run", steps)
    assert equal(got, want)


def test_the_end_of_the_loader_is_an_error(tmp_path: Path) -> None:
    class Once(Batches):
        def __iter__(self) -> Iterator[Any]:
            if self.epoch == 0:
                yield from super().__iter__()

    with pytest.raises(errors.Invalid, match="20 steps.* after 7 steps, which are committed"):
        with bv.Job(tmp_path, Once(), new_state(), steps=20) as job:
            for _ in job:
                pass
    assert names(tmp_path) == ["7"]


class Iterated:
    """An Iterated is a loader whose iterators have the state, as in Grain."""

    def __init__(self, as_bytes: bool) -> None:
        self.as_bytes = as_bytes

    def __iter__(self) -> Iterator[int]:
        return Counter(self.as_bytes)


class Counter(Iterator[int]):
    def __init__(self, as_bytes: bool) -> None:
        self.at, self.as_bytes = 0, as_bytes

    def __next__(self) -> int:
        if self.at == 5:
            raise StopIteration
        self.at += 1
        return self.at

    def get_state(self) -> Any:
        state = {"at": self.at}
        return json.dumps(state).encode() if self.as_bytes else state

    def set_state(self, state: Any) -> None:
        self.at = (json.loads(state) if self.as_bytes else state)["at"]


@pytest.mark.parametrize("as_bytes", [False, True])
def test_iterators_with_a_state(tmp_path: Path, as_bytes: bool) -> None:
    seen = []
    for stop_at in (4, 8, 10, 99):
        state = {"n": 0}
        with bv.Job(tmp_path, Iterated(as_bytes), state, steps=12, save_every=1) as job:
            for number in job:
                if state["n"] == stop_at:
                    break
                state["n"] += 1
                seen.append(number)
    assert seen == [1, 2, 3, 4, 5, 1, 2, 3, 4, 5, 1, 2]


def test_breaking_keeps_the_batch(tmp_path: Path) -> None:
    with bv.Job(tmp_path, Batches(), new_state(), steps=6, save_every=2) as job:
        seen = []
        for ids in job:
            if job.step == 3:
                break
        with pytest.raises(errors.Sequence, match="step 4.*not done"):
            job.save()
        for again in job:
            seen.append(again.tolist())
        assert seen[0] == ids.tolist() and job.step == 6
    with pytest.raises(errors.Closed):
        iter(job)


def test_samplers_are_told_the_epoch(tmp_path: Path) -> None:
    class Sampler:
        def __init__(self) -> None:
            self.told: list[int] = []

        def set_epoch(self, epoch: int) -> None:
            self.told.append(epoch)

    def run(steps: int) -> list[int]:
        loader = Batches()
        loader.sampler = sampler = Sampler()  # type: ignore[attr-defined]
        with bv.Job(tmp_path, loader, new_state(), steps=steps) as job:
            for _ in job:
                pass
        return sampler.told

    assert run(9) == [0, 1]  # an epoch has seven batches
    assert run(14) == [1]
    assert run(16) == [1, 2]  # the epoch of the last step is over, which its iterator tells


def test_save_in_the_body(tmp_path: Path) -> None:
    with bv.Job(tmp_path, Batches(), new_state(), steps=6, save_every=None) as job:
        for _ in job:
            if job.step == 2:
                job.save()
            if job.step == 4:
                job.wait()
                assert job.latest == 3
    assert names(tmp_path) == ["3", "6"]


# States.


class Pair(NamedTuple):
    mean: Any
    count: int


@dataclasses.dataclass
class Trainer:
    weights: Any
    rate: float
    moments: Any


def test_states_of_many_forms(tmp_path: Path) -> None:
    def make() -> types.SimpleNamespace:
        return types.SimpleNamespace(
            trainer=Trainer(np.zeros(2), 0.5, Pair(np.zeros(()), 0)),
            history=[1, [2.5, None]],
            frozen=np.float32(1),
            name="a",
            keyed={1: np.zeros(1)},
            python=random.Random(1),
            legacy=np.random.RandomState(1),
            numpy=np.random.Generator(np.random.PCG64DXSM(1)),
        )

    def change(state: types.SimpleNamespace) -> None:
        state.trainer.weights += 1
        state.trainer.rate *= 2
        state.trainer.moments = Pair(state.trainer.moments.mean + 1, 3)
        state.history = [7, [3.5, None]]
        state.frozen = np.float32(9)
        state.name = "ü"
        state.keyed[1] += 4
        state.python.random(), state.python.gauss(0, 1)
        state.legacy.normal()
        state.numpy.integers(5, dtype=np.int32)

    changed = make()
    with bv.Job(tmp_path, Batches(), changed, steps=1) as job:
        for _ in job:
            change(changed)
    got = make()
    weights, keyed = got.trainer.weights, got.keyed
    with bv.Job(tmp_path, Batches(), got, steps=1) as job:
        assert job.state is got
    assert got.trainer.weights is weights and got.keyed is keyed
    assert weights.tolist() == [1, 1] and keyed[1].tolist() == [4]
    assert type(got.trainer.moments) is Pair and got.trainer.moments.count == 3
    assert (got.trainer.rate, got.history, got.frozen, got.name) == (1, [7, [3.5, None]], 9, "ü")
    for generator in ("python", "legacy", "numpy"):
        text = generators.text_of(getattr(got, generator))
        assert text == generators.text_of(getattr(changed, generator))


def test_an_immutable_state(tmp_path: Path) -> None:
    for steps in (3, 5):
        with bv.Job(tmp_path, Batches(), Pair(0.5, 0), steps=steps) as job:
            for _ in job:
                job.state = Pair(job.state.mean * 2, job.state.count + 1)
    assert job.state == Pair(16.0, 5)


def test_objects_with_a_state_dict(tmp_path: Path) -> None:
    class Optimizer:
        def __init__(self) -> None:
            self.state: dict[str, Any] = {"state": {}, "groups": []}

        def state_dict(self) -> dict[str, Any]:
            return self.state

        def load_state_dict(self, state: dict[str, Any]) -> None:
            if "state" not in state:
                raise KeyError("state")
            self.state = state

    want = {
        "state": {0: {"m": np.ones(3), "step": np.float32(2)}, 1: {}},
        "groups": [{"betas": (0.9, 0.5), "names": ["a"], "none": None, "params": [0, 1]}],
        "text": {"0": 1},
    }
    for steps in (1, 2):
        optimizer = Optimizer()
        with bv.Job(tmp_path, Batches(), {"o": optimizer}, steps=steps) as job:
            if steps == 2:
                assert repr(optimizer.state) == repr(want)
            for _ in job:
                optimizer.state = dict(want)
    optimizer.state_dict = lambda: {"a": {"b": object()}}  # type: ignore[method-assign]
    with pytest.raises(errors.Invalid, match=r"state\.o\.a\.b.*type object"):
        bv.Job(tmp_path / "other", Batches(), {"o": optimizer})


def test_values_as_json() -> None:
    value = {
        "a": [1, 2.5, None, True, "ü", float("inf"), 2**100],
        "b": (1, (b"\x00\xff", np.arange(6, dtype=np.int16).reshape(2, 3))),
        3: {"$x": np.float32(1.5), (1, "k"): []},
        "t": {"tensor": 1, "shape": 2, "hex": 3},
    }
    got = values.decode(json.loads(json.dumps(values.encode(value, "v"))))
    assert repr(got) == repr(value)
    with pytest.raises(errors.Invalid, match=r"v\.a\[1\].*type object"):
        values.encode({"a": [1, object()]}, "v")


# Refusals.


def test_handlers_are_called_and_given_back(tmp_path: Path) -> None:
    called: list[int] = []
    before = signal.signal(signal.SIGUSR1, lambda number, frame: called.append(number))
    mine = signal.getsignal(signal.SIGUSR1)
    try:
        with pytest.raises(bv.Preempted, match="preempted at step 3, committed") as caught:
            with bv.Job(
                tmp_path, Batches(), new_state(), steps=9, signals=[signal.SIGUSR1]
            ) as job:
                for _ in job:
                    if job.step == 2:
                        signal.raise_signal(signal.SIGUSR1)
                        assert job.preempted
        assert called == [signal.SIGUSR1] and signal.getsignal(signal.SIGUSR1) is mine
    finally:
        signal.signal(signal.SIGUSR1, before)
    error = caught.value
    assert (error.step, error.committed, error.code) == (3, 3, 75) and isinstance(error, SystemExit)
    assert names(tmp_path) == ["3"]


def test_a_handler_that_raises_ends_the_loop_after_the_commit(tmp_path: Path) -> None:
    def leave(number: int, frame: Any) -> None:
        raise SystemExit(3)

    before = signal.signal(signal.SIGUSR1, leave)
    try:
        with pytest.raises(SystemExit) as caught:
            with bv.Job(
                tmp_path, Batches(), new_state(), steps=9, signals=[signal.SIGUSR1]
            ) as job:
                for _ in job:
                    signal.raise_signal(signal.SIGUSR1)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert caught.value.code == 3 and names(tmp_path) == ["1"]


def test_no_grace_keeps_the_commit_before(tmp_path: Path) -> None:
    with pytest.raises(bv.Preempted, match="step 3, not committed; step 2 is the last") as caught:
        with bv.Job(
            tmp_path, Batches(), new_state(), steps=9, save_every=2, grace=0.0
        ) as job:
            for _ in job:
                if job.step == 2:
                    job.wait()
                    signal.raise_signal(signal.SIGTERM)
    assert caught.value.committed == 2 and names(tmp_path) == ["2"]


def test_a_loader_that_fails_by_the_signal(tmp_path: Path) -> None:
    class Fails(Batches):
        num_workers = 2

        def __iter__(self) -> Iterator[Any]:
            for ids in super().__iter__():
                if self.at > 10:
                    self.at -= self.batch_size
                    signal.raise_signal(signal.SIGTERM)
                    raise RuntimeError("a worker was killed by signal: Terminated")
                yield ids

    with pytest.raises(bv.Preempted, match="step 3, committed"):
        with bv.Job(tmp_path, Fails(), new_state(), steps=9) as job:
            for _ in job:
                pass
    with bv.Job(tmp_path, Batches(), new_state(), steps=9) as job:
        assert job.step == 3
        assert next(iter(job)).tolist() == run(tmp_path / "unbroken", 9)[1][3]


def test_nothing_is_saved_after_a_failure_of_the_loader(tmp_path: Path) -> None:
    class Fails(Batches):
        def __iter__(self) -> Iterator[Any]:
            for ids in super().__iter__():
                if self.at > 10:
                    signal.raise_signal(signal.SIGTERM)
                    raise RuntimeError("bad sample")
                yield ids

    with pytest.raises(RuntimeError, match="bad sample"):
        with bv.Job(tmp_path / "run", Fails(), new_state(), steps=9, save_every=2) as job:
            try:
                for _ in job:
                    pass
            finally:
                with pytest.raises(errors.Sequence, match="position is not known"):
                    job.save()
                with pytest.raises(errors.Sequence, match="position is not known"):
                    iter(job)
    assert names(tmp_path / "run") == ["2"]
    _, ids = run(tmp_path / "unbroken", 9)
    assert run(tmp_path / "run", 9)[1] == ids[2:]


def test_a_second_signal_after_the_grace_ends_the_process(
    tmp_path: Path, program: Program
) -> None:
    log = tmp_path / "log"
    options = "{'pause': 60, 'grace': 0.05}"
    other = program(PROGRAM, str(tmp_path / "run"), str(log), "5", options)
    assert eventually(lambda: log.exists() and "begin" in log.read_text(), 60)
    time.sleep(0.1)
    other.send_signal(signal.SIGTERM)
    time.sleep(0.3)
    other.send_signal(signal.SIGTERM)
    assert other.wait(30) == -signal.SIGTERM


def test_leaving_the_loop_after_a_signal_is_told(tmp_path: Path) -> None:
    with pytest.raises(bv.Preempted, match="preempted at step 2, committed"):
        with bv.Job(tmp_path, Batches(), new_state(), steps=9, save_every=1) as job:
            for _ in job:
                if job.step == 2:
                    signal.raise_signal(signal.SIGTERM)
                    break


def test_a_thread_catches_no_signals(tmp_path: Path) -> None:
    done: list[Any] = []
    thread = threading.Thread(target=lambda: done.append(run(tmp_path, 5)))
    thread.start()
    thread.join(60)
    assert len(done) == 1 and signal.getsignal(signal.SIGTERM) == signal.SIG_DFL


def test_exceptions_pass(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError):
        with bv.Job(tmp_path, Batches(), new_state(), save_every=1) as job:
            for _ in job:
                if job.step == 2:
                    raise ZeroDivisionError
    assert names(tmp_path) == ["1", "2"]
