"""A job records its scalars, and what it did, in the journal of the run."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import time
from decimal import Decimal
from pathlib import Path
from typing import Any

import journals
import numpy as np
import pytest
from jobs import Batches, new_state, train
from lifecycle import Program

import bivouac as bv
from bivouac import errors
from bivouac._job import journal, scalars

pytestmark = pytest.mark.usefixtures("sidecar")


def record(run: Path, steps: int, **options: Any) -> None:
    """Train, and record a loss of each step."""
    state = new_state()
    np.random.seed(7)
    with bv.Job(run, Batches(), state, steps=steps, **{"save_every": 4, **options}) as job:
        for ids in job:
            train(state, ids)
            job.scalar("loss", 0.0)
            job.scalars({"loss": 1 / (job.step + 1), "lr": 0.5})


def test_each_step_is_recorded(tmp_path: Path) -> None:
    record(tmp_path, 10, identity="tiny", batch_size=3)
    record(tmp_path, 15, identity="tiny", batch_size=3)
    rows = journals.current(tmp_path)
    assert [row["step"] for row in rows] == list(range(1, 16))
    for row in rows:
        assert row["scalars"]["loss"] == 1 / row["step"]
        assert row["scalars"]["lr"] == 0.5
        assert row["scalars"]["job/seconds"] >= row["scalars"]["job/data_seconds"] >= 0
        assert row["scalars"]["job/samples_per_second"] > 0
        assert "job/nonfinite" not in row["scalars"]
    first, second = journals.attempts(tmp_path)
    start = second[0]["start"]
    wanted = {"attempt": 2, "from": 10, "identity": "tiny", "steps": 15, "save_every": 4}
    assert {key: start[key] for key in wanted} == wanted
    assert (start["world"], start["batch"], start["seed"]) == (1, 3, "1")
    assert start["bivouac"] == bv.__version__
    assert start["runtime"].startswith("python3")
    assert [row["step"] for row in first if row["kind"] == "save"] == [4, 8, 10]
    assert journals.events(first)[-1] == "pass ended"
    assert journals.events(second)[0] == "resumed"
    assert [journals.end(rows) for rows in (first, second)] == ["done", "done"]


def test_ends_are_recorded(tmp_path: Path) -> None:
    with bv.Job(tmp_path / "stopped", Batches(), new_state(), steps=9) as job:
        for _ in job:
            if job.step == 2:
                break
    with pytest.raises(ValueError, match="broken"):
        with bv.Job(tmp_path / "failed", Batches(), new_state(), steps=9) as job:
            for _ in job:
                if job.step == 2:
                    raise ValueError("broken")
    with pytest.raises(bv.Preempted):
        with bv.Job(tmp_path / "preempted", Batches(), new_state(), steps=9) as job:
            for _ in job:
                if job.step == 2:
                    os.kill(os.getpid(), signal.SIGTERM)
    for name, last in ("stopped", 2), ("failed", 2), ("preempted", 3):
        (rows,) = journals.attempts(tmp_path / name)
        assert journals.end(rows) == name
        assert [row["step"] for row in journals.steps(rows)] == list(range(1, last + 1))
        assert name != "failed" or rows[-1]["end"]["error"] == "ValueError: broken"


def test_journal_that_cannot_be_written_stops_nothing(tmp_path: Path) -> None:
    """A file has the name of its folder. The job tells it, trains to its end, and raises then."""
    mine, told = tmp_path / "journal", []
    mine.write_text("mine")
    with pytest.raises(errors.Invalid, match="want a directory, got a file"):
        record(tmp_path, 9, on_event=told.append)
    failed = [event for event in told if event["event"] == "journal failed"]
    assert len(failed) == 1, told
    assert "journal" in failed[0]["text"]
    assert mine.read_text() == "mine"
    assert {"4", "8", "9"} <= {path.name for path in tmp_path.iterdir()}
    mine.unlink()
    record(tmp_path, 12)
    assert [row["step"] for row in journals.current(tmp_path)] == [10, 11, 12]


def test_nan_and_infinities_are_recorded(tmp_path: Path) -> None:
    odd = {"a": float("nan"), "b": float("inf"), "c": np.float32("-inf"), "d": 1e300}
    with bv.Job(tmp_path, Batches(), new_state(), steps=2) as job:
        for _ in job:
            if job.step == 0:
                job.scalars(odd)
    first, second = journals.current(tmp_path)
    assert [first["scalars"][name] for name in "abcd"] == ["NaN", "Infinity", "-Infinity", 1e300]
    assert first["scalars"]["job/nonfinite"] == 3
    assert set(second["scalars"]) == {"job/seconds", "job/data_seconds"}


NUMBERS = [
    (3, 3.0), (True, 1.0), (np.int64(7), 7.0), (np.float16(0.5), 0.5), (np.array(2.5), 2.5),
    (np.array([[4]]), 4.0), (Decimal("0.25"), 0.25), (np.uint64(2**64 - 1), 2.0**64),
    (-0.0, -0.0), (10**300, 1e300), (np.bool_(True), 1.0),
]  # fmt: skip


@pytest.mark.parametrize("value, want", NUMBERS)
def test_numbers_are_taken(value: Any, want: float) -> None:
    got = scalars.number("x", value)
    assert type(got) is float
    assert got == want


@pytest.mark.parametrize(
    "value",
    [
        *(None, "1", b"1", 1j, [1.0], {}, object(), 10**400, np.datetime64("2026-11-29")),
        *(np.zeros(2), np.array([]), np.array("1"), np.array(1j), np.array(None), np.complex64(1)),
    ],
)
def test_other_values_are_refused(value: Any) -> None:
    with pytest.raises(errors.Invalid, match="scalar 'my loss'") as caught:
        scalars.number("my loss", value)
    assert "a real number" in str(caught.value)


BAD_NAMES = ["", "x" * 201, "é" * 101, "job/seconds", "\ud800", 7, None, ["a"]]


@pytest.mark.parametrize("name", BAD_NAMES)
def test_bad_names_are_refused(tmp_path: Path, name: Any) -> None:
    for on in True, False:
        run = tmp_path / str(on)
        with bv.Job(run, Batches(), new_state(), steps=2, journal=on) as job:
            for _ in job:
                with pytest.raises(errors.Invalid, match="name of a scalar"):
                    job.scalar(name, 1.0)
                job.scalar("é" * 100, 1.0)
        assert (run / "journal").exists() is on
    assert [row["scalars"]["é" * 100] for row in journals.current(tmp_path / "True")] == [1.0, 1.0]


def test_too_many_names_are_refused(tmp_path: Path) -> None:
    with bv.Job(tmp_path, Batches(), new_state(), steps=1) as job:
        for _ in job:
            for i in range(scalars.MOST):
                job.scalar(f"s{i}", i)
            with pytest.raises(errors.Exhausted, match="at most 990 names"):
                job.scalar("one more", 1.0)
    (row,) = journals.current(tmp_path)
    assert all(row["scalars"][f"s{i}"] == i for i in range(scalars.MOST))


def test_event_files_are_written(tmp_path: Path) -> None:
    board = tmp_path / "board"
    record(tmp_path / "run", 6, tensorboard=board)
    (file,) = board.iterdir()
    assert file.name.startswith("events.out.tfevents.000001-")
    assert b"loss" in file.read_bytes()
    for wrong, kind in ("s3://bucket/board", errors.Unsupported), (file, errors.Invalid):
        with pytest.raises(kind, match="bucket/board|tfevents"):
            bv.Job(tmp_path / "run", Batches(), new_state(), tensorboard=wrong)
    with pytest.raises(errors.Invalid, match="journal=False"):
        bv.Job(tmp_path / "other", Batches(), new_state(), tensorboard=board, journal=False)
    record(tmp_path / "run", 8, tensorboard=board)  # the failures left no lock
    assert len(list(board.iterdir())) == 2


class Later:
    """A value of a device, as torch has it, that may be read only when it is ready."""

    device, dtype = "device", "float32"

    def __init__(self, value: float) -> None:
        self.value, self.ready = value, False

    def detach(self) -> Later:
        return self

    def reshape(self, shape: tuple[()]) -> Later:
        return self

    def __float__(self) -> float:
        if not self.ready:
            raise AssertionError("the value is read too early")
        if self.value < 0:
            raise RuntimeError("it was deleted")
        return self.value


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take values of type Later."""
    number = scalars.number
    monkeypatch.setattr(
        scalars, "number", lambda name, v: v if isinstance(v, Later) else number(name, v)
    )


@pytest.mark.usefixtures("later")
def test_values_of_devices_are_read_before_a_save(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal, "_EVERY", 1e9)
    told: list[str] = []
    made: list[Later] = []

    def listen(event: dict[str, Any]) -> None:
        if event["event"] == "journal failed":
            told.append(event["text"])

    with bv.Job(
        tmp_path, Batches(), new_state(), steps=6, save_every=3, on_event=listen
    ) as job:
        for _ in job:
            made.append(Later(-1.0 if job.step in (1, 4) else job.step + 1.0))
            job.scalar("loss", made[-1])
            if (job.step + 1) % 3 == 0:
                for value in made:
                    value.ready = True
    losses = [row["scalars"].get("loss") for row in journals.current(tmp_path)]
    assert losses == [1.0, None, 3.0, 4.0, None, 6.0]
    assert told == ["scalar 'loss' cannot be read: it was deleted"]


@pytest.mark.usefixtures("later")
def test_values_of_devices_are_not_read_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each step sends rows, but never one of which a value came with this step."""
    monkeypatch.setattr(journal, "_EVERY", 0.0)
    made: list[Later] = []
    with bv.Job(tmp_path, Batches(), new_state(), steps=20, save_every=None) as job:
        for _ in job:
            if made:
                made[-1].ready = True
            made.append(Later(job.step + 1.0))
            made[-1].ready = job.step == 19  # the last step is saved
            job.scalar("loss", made[-1])
    losses = [row["scalars"]["loss"] for row in journals.current(tmp_path)]
    assert losses == [step + 1.0 for step in range(20)]


PROGRAM = f"""
import sys, time
sys.path.insert(0, {str(Path(__file__).parent)!r})
import numpy as np
import bivouac as bv
from jobs import Batches, new_state, train

state = new_state()
np.random.seed(7)
with bv.Job(sys.argv[1], Batches(), state, steps=60, save_every=3) as job:
    print("begin", flush=True)
    for ids in job:
        train(state, ids)
        job.scalar("loss", 1 / state["n"])
        time.sleep(0.002)
"""


def test_killed_jobs_tell_one_story(program: Program, tmp_path: Path) -> None:
    """After each kill the rows of each committed step are there. In the end each step has one."""
    rng = random.Random(5)
    kills, finished = 0, False
    for _ in range(40):
        run = program(PROGRAM, str(tmp_path / "run"))
        assert run.stdout is not None
        run.stdout.readline()
        if kills < 8:
            time.sleep(rng.random() * 0.06)
        else:
            run.wait(60)
        children = Path(f"/proc/{run.pid}/task/{run.pid}/children")
        pids = children.read_text().split() if children.exists() else []
        run.kill()
        if rng.random() < 0.5:
            for pid in pids:  # the side-car too
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(pid), signal.SIGKILL)
        run.communicate()
        there = tmp_path / "run"
        committed = max((int(p.name) for p in there.iterdir() if p.name.isdigit()), default=0)
        rows = journals.current(there) if (there / "journal").exists() else []
        numbers = [row["step"] for row in rows]
        assert numbers == list(range(1, len(rows) + 1))
        assert len(rows) >= committed
        assert all(row["scalars"]["loss"] == 1 / row["step"] for row in rows)
        finished = run.returncode == 0
        if finished:
            break
        kills += 1
    assert finished
    assert len(rows) == 60
    assert kills >= 3
    assert journals.end(journals.attempts(tmp_path / "run")[-1]) == "done"
