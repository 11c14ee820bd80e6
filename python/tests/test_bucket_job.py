"""Jobs whose run is in a bucket, and jobs on a disk that copy their steps to a bucket."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bivouac as bv
import bivouac.checkpoint as ocp
from bivouac import errors
from bivouac.checkpoint.training import (
    Checkpointer,
    Tier,
    TierStatus,
    Uploads,
    preservation_policies,
    save_decision_policies,
)
from buckets import Door, Server
from conftest import eventually
from jobs import PROGRAM, Batches, damage, equal, names, new_state, run, train
from lifecycle import Program, output

# A run in a bucket.


def test_job_in_a_bucket_continues(bucket: str, tmp_path: Path) -> None:
    whole, seen = run(tmp_path / "disk", 20)
    _, first = run(f"{bucket}/run", 20, stop_at=10)  # type: ignore[arg-type]
    state, rest = run(f"{bucket}/run", 20)  # type: ignore[arg-type]
    assert equal(state, whole) and first[:8] + rest == seen
    with Checkpointer(f"{bucket}/run") as steps:
        assert [c.step for c in steps.checkpoints] == [12, 16, 20]


def test_two_jobs_in_a_bucket(bucket: str) -> None:
    with bv.Job(f"{bucket}/run", Batches(), new_state(), steps=8, save_every=2) as job:
        for number, ids in enumerate(job):
            train(job.state, ids)
            if number == 3:
                with pytest.raises(errors.Busy, match="lock"):
                    run(f"{bucket}/run", 8)  # type: ignore[arg-type]
    assert job.step == 8


def test_killed_jobs_continue_at_once(bucket: str, program: Program, tmp_path: Path) -> None:
    log = tmp_path / "log"
    whole = program(PROGRAM, str(tmp_path / "disk"), str(tmp_path / "whole"), "30")
    assert output(whole) == "end 30\n"
    for lines in (8, 16):
        job = program(PROGRAM, f"{bucket}/run", str(log), "30", "{'pause': 0.02}")
        assert eventually(lambda: _steps(log) >= lines, 60)
        job.kill()
        job.communicate()
    last = program(PROGRAM, f"{bucket}/run", str(log), "30")
    began = time.monotonic()
    assert output(last) == "end 30\n"
    assert time.monotonic() - began < 60.0
    assert _table(log) == _table(tmp_path / "whole")


def _steps(log: Path) -> int:
    return max((int(n) for n in _table(log)), default=0)


def _table(log: Path) -> dict[str, str]:
    """Return what was recorded of each step. What was done twice must be the same."""
    found: dict[str, str] = {}
    text = log.read_text() if log.exists() else ""
    for line in text[: text.rfind("\n") + 1].splitlines():
        if not line.startswith("begin"):
            number, rest = line.split(" ", 1)
            assert found.setdefault(number, rest) == rest
    return found


def test_sigterm_commits_in_a_bucket(bucket: str, program: Program, tmp_path: Path) -> None:
    log = tmp_path / "log"
    options = "{'pause': 0.05, 'save_every': 100}"
    job = program(PROGRAM, f"{bucket}/run", str(log), "500", options)
    assert eventually(lambda: _steps(log) >= 3, 60)
    job.send_signal(signal.SIGTERM)
    _, err = job.communicate(timeout=60)
    assert job.returncode == bv.EXIT_PREEMPTED, err
    with Checkpointer(f"{bucket}/run") as steps:
        assert steps.latest is not None and steps.latest.step == _steps(log)


# Tiers.


def behind(bucket: str, **more: Any) -> list[Tier]:
    return [Tier(directory=f"{bucket}/far", name="far", **more)]


def far_steps(bucket: str) -> list[int]:
    with Checkpointer(f"{bucket}/far") as steps:
        return [c.step for c in steps.checkpoints]


def test_steps_are_copied_and_close_waits(bucket: str, tmp_path: Path) -> None:
    events: list[dict[str, Any]] = []
    tiers = behind(bucket, preservation_policy=preservation_policies.LatestN(2))
    with Checkpointer(
        tmp_path / "run",
        tiers=tiers,
        uploads=Uploads(rate=1 << 30, memory=32 << 20),
        preservation_policy=preservation_policies.LatestN(1),
        save_decision_policy=save_decision_policies.FixedIntervalPolicy(1),
        on_event=events.append,
    ) as steps:
        for step in range(3):
            steps.save(step, {"n": step, "w": np.full(1000, step)})
            assert eventually(lambda: step in steps.tiers()[1].steps, 30), steps.tiers()
        # The policy of the tier gives step 0 up after the copy of step 2.
        assert eventually(lambda: steps.tiers()[1].steps == (1, 2), 30), steps.tiers()
        near, far = steps.tiers()
        assert near == TierStatus(tier=str(tmp_path / "run"), known=True, steps=(2,), waiting=())
        assert far.tier == "far" and far.known and far.waiting == () and far.error is None
        found = {c.step: c.path for c in steps.checkpoints}
        assert found == {1: ocp.path.URL(f"{bucket}/far/1"), 2: tmp_path / "run" / "2"}
        assert steps.metadata(1).path == found[1] and steps.metadata(2).path == found[2]
        assert steps.load(1)["n"] == 1
        steps.save(3, {"n": 3, "w": np.full(1000, 3)})
    assert far_steps(bucket) == [2, 3]
    uploaded = [(e["step"], e["tier"]) for e in events if e["event"] == "uploaded"]
    assert uploaded == [(n, "far") for n in range(4)]
    (last,) = [e for e in events if e["event"] == "tier state"]
    assert last["step"] == 3 and last["tier"] == "far" and "error" not in last
    assert ocp.verify(f"{bucket}/far/3").sound


def test_a_tier_takes_what_its_policy_wants(bucket: str, tmp_path: Path) -> None:
    every = save_decision_policies.FixedIntervalPolicy(3)
    with Checkpointer(
        tmp_path / "run",
        tiers=behind(bucket, save_decision_policy=every, no_read_back=True, hold=2),
        save_decision_policy=save_decision_policies.FixedIntervalPolicy(1),
    ) as steps:
        for step in range(7):
            steps.save(step, {"n": step})
    assert far_steps(bucket) == [0, 3, 6]
    assert len(names(tmp_path / "run")) == 7


def test_an_empty_disk_continues_from_the_bucket(bucket: str, tmp_path: Path) -> None:
    whole, seen = run(tmp_path / "whole", 20)
    _, first = run(tmp_path / "one", 20, stop_at=10, tiers=behind(bucket))
    events: list[dict[str, Any]] = []
    state, rest = run(
        tmp_path / "two", 20, tiers=behind(bucket), on_event=events.append
    )
    assert equal(state, whole) and first[:8] + rest == seen
    assert ("resumed", 8) in [(e["event"], e["step"]) for e in events]
    assert far_steps(bucket)[-1] == 20


def test_a_damaged_copy_on_the_disk_is_read_from_the_bucket(bucket: str, tmp_path: Path) -> None:
    whole, _ = run(tmp_path / "whole", 20)
    run(tmp_path / "run", 20, stop_at=13, tiers=behind(bucket))
    damage(tmp_path / "run" / "12")
    events: list[dict[str, Any]] = []
    state, _ = run(tmp_path / "run", 20, tiers=behind(bucket), on_event=events.append)
    assert equal(state, whole)
    told = {e["event"]: e for e in events}
    assert told["resumed"]["step"] == 12 and told["fell back"]["tier"] == "far"


PREEMPTED = """
import sys, time
import numpy as np
import bivouac as bv
from bivouac.checkpoint.training import Tier, Uploads
sys.path.insert(0, sys.argv[3])
from jobs import Batches
every = bv.checkpoint.training.save_decision_policies.FixedIntervalPolicy(1000)
tier = Tier(directory=sys.argv[2], name="far", save_decision_policy=every)
state = {"n": 0, "w": np.random.default_rng(0).normal(size=1 << 18)}
events = []
try:
    with bv.Job(sys.argv[1], Batches(), state, steps=100000, save_every=1000, tiers=[tier],
                uploads=Uploads(rate=int(sys.argv[4])), grace=float(sys.argv[5]),
                on_event=events.append) as job:
        for _ in job:
            state["n"] += 1
            print(state["n"], flush=True)
            time.sleep(0.02)
except bv.Preempted as stop:
    print("stop", stop.step, stop.committed, repr(stop.tiers), flush=True)
    print([(e["event"], e["step"]) for e in events if e["event"] == "tier state"], flush=True)
    print(stop, flush=True)
"""


@pytest.mark.parametrize("rate, grace", [(0, 25.0), (1000, 3.0)])
def test_sigterm_copies_the_newest_step_within_the_grace_time(
    bucket: str, tmp_path: Path, program: Program, rate: int, grace: float
) -> None:
    here = str(Path(__file__).parent)
    job = program(PREEMPTED, str(tmp_path / "run"), f"{bucket}/far", here, str(rate), str(grace))
    assert job.stdout is not None
    for _ in range(3):
        assert job.stdout.readline()
    began = time.monotonic()
    job.send_signal(signal.SIGTERM)
    out, err = job.communicate(timeout=60)
    assert job.returncode == 0, err
    lines = [line for line in out.splitlines() if not line.isdigit()]
    _, step, committed, lacks = lines[0].split(" ", 3)
    assert step == committed
    assert names(tmp_path / "run")[-1] == step
    if rate == 0:
        assert lacks == "''" and lines[1] == f"[('tier state', {step})]"
        assert lines[2].endswith("committed")
        assert far_steps(bucket) == [int(step)]
    else:
        assert f"step {step} for far" in lacks and "not in all tiers" in lines[2]
        assert far_steps(bucket) == [] and time.monotonic() - began < grace + 10.0


def test_a_bucket_that_is_away_fails_no_save(
    bucket: str, tmp_path: Path, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    events: list[dict[str, Any]] = []
    door = Door(server)
    monkeypatch.setenv("AWS_ENDPOINT_URL", door.endpoint)
    run(tmp_path / "run", 4, tiers=behind(bucket))
    door.read_only = True
    with pytest.raises(errors.BivouacError, match="step 8 for far") as raised:
        run(
            tmp_path / "run",
            8,
            tiers=behind(bucket),
            uploads=Uploads(patience=1.0),
            on_event=events.append,
        )
    assert "bivouac sync" in raised.value.text
    assert names(tmp_path / "run")[-1] == "8"
    failed = [e for e in events if e["event"] == "upload failed"]
    assert failed and failed[0]["tier"] == "far" and failed[0]["error"]["kind"]
    door.read_only = False
    run(tmp_path / "run", 8, tiers=behind(bucket))
    assert far_steps(bucket)[-1] == 8
    door.shutdown()


def test_patience_and_interrupts_end_the_copies(bucket: str, tmp_path: Path) -> None:
    slow = Uploads(rate=1000, patience=0)
    big = {"w": np.random.default_rng(0).normal(size=1 << 18)}
    began = time.monotonic()
    steps = Checkpointer(tmp_path / "run", tiers=behind(bucket), uploads=slow)
    steps.save(0, big)
    with pytest.raises(errors.BivouacError, match="step 0 for far"):
        steps.close()
    steps.close()  # the second time does nothing
    assert time.monotonic() - began < 20.0
    timer = threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT))
    steps = Checkpointer(tmp_path / "run", tiers=behind(bucket), uploads=Uploads(rate=1000))
    steps.save(1, big, force=True)
    timer.start()
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        steps.close()
    assert time.monotonic() - began < 5.0
    # The lock is free soon: nothing goes on copying for ten minutes.
    assert eventually(lambda: _opens(tmp_path / "run"), 20)


def _opens(directory: Path) -> bool:
    try:
        with Checkpointer(directory) as steps:
            return steps.save(steps.latest.step + 1 if steps.latest else 0, {"n": 1}, force=True)
    except errors.Busy:
        return False


KILLED = """
import sys
import numpy as np
from bivouac.checkpoint.training import Checkpointer, Tier, Uploads
tier = Tier(directory=sys.argv[2], name="far")
steps = Checkpointer(sys.argv[1], tiers=[tier], uploads=Uploads(rate=1000))
steps.save(0, {"w": np.random.default_rng(0).normal(size=1 << 18)})
print("saved", flush=True)
sys.stdin.read()
"""


def test_a_killed_trainer_leaves_the_run_and_the_tier_free(
    bucket: str, tmp_path: Path, program: Program
) -> None:
    job = program(KILLED, str(tmp_path / "run"), f"{bucket}/far")
    assert job.stdout is not None and job.stdout.readline() == "saved\n", job.communicate()[1]
    job.kill()
    assert eventually(lambda: _opens(tmp_path / "run"), 20)
    with Checkpointer(tmp_path / "run", tiers=behind(bucket)) as steps:
        assert steps.save(100, {"n": 100}, force=True)
        assert eventually(lambda: {0, 100} <= set(steps.tiers()[1].steps), 60), steps.tiers()


def test_bad_tiers_are_refused(bucket: str, tmp_path: Path) -> None:
    with pytest.raises(errors.Invalid, match="objects Tier"):
        Checkpointer(tmp_path / "a", tiers=[f"{bucket}/far"])  # type: ignore[list-item]
    with pytest.raises(errors.Invalid, match="hold"):
        Checkpointer(tmp_path / "a", tiers=[Tier(directory="x", hold=0)])
    for bounds in (Uploads(rate=-1), Uploads(memory=-1), Uploads(patience=-0.5)):
        with pytest.raises(errors.Invalid, match="at least 0"):
            Checkpointer(tmp_path / "a", tiers=behind(bucket), uploads=bounds)

    class Own:
        def should_preserve(self, checkpoints: Any, *, context: Any) -> Any:
            return [True] * len(checkpoints)

    with pytest.raises(errors.Unsupported, match="Own"):
        Checkpointer(tmp_path / "a", tiers=behind(bucket, preservation_policy=Own()))
    with pytest.raises(errors.BivouacError, match="tier"):
        Checkpointer(tmp_path / "a", tiers=[Tier(directory=tmp_path / "a")])
    with pytest.raises(errors.Unsupported, match="scheme ftp"):
        Checkpointer(tmp_path / "a", tiers=[Tier(directory="ftp://host/x")])
    with Checkpointer(tmp_path / "a") as steps:
        assert [t.tier for t in steps.tiers()] == [str(tmp_path / "a")]
        steps.drain()


def test_an_interrupted_job_waits_for_no_copies(
    bucket: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    state = {"n": 0, "w": np.random.default_rng(0).normal(size=1 << 18)}
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        with bv.Job(
            tmp_path / "run",
            Batches(),
            state,
            save_every=1,
            tiers=behind(bucket),
            uploads=Uploads(rate=1000),
        ) as job:
            for _ in job:
                if job.step == 2:
                    job.wait()
                    raise KeyboardInterrupt
    assert time.monotonic() - began < 30.0
    assert "for far" in caplog.text and "bivouac sync" in caplog.text
    assert _opens(tmp_path / "run")


def test_an_exception_is_not_replaced_by_what_a_tier_lacks(bucket: str, tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError):
        with bv.Job(
            tmp_path / "run",
            Batches(),
            {"n": 0, "w": np.random.default_rng(0).normal(size=1 << 18)},
            save_every=1,
            tiers=behind(bucket),
            uploads=Uploads(rate=1000, patience=0.5),
        ) as job:
            for _ in job:
                if job.step == 2:
                    job.wait()
                    raise ZeroDivisionError
    assert _opens(tmp_path / "run")
