"""A job that is killed at any instant continues with the same samples and the same weights."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import time
from pathlib import Path

import pytest
from conftest import eventually
from jobs import PROGRAM
from lifecycle import Program, output

import bivouac as bv

STEPS = 60
KILLS = int(os.environ.get("BIVOUAC_KILLS", "12"))


def lines(log: Path) -> list[str]:
    """Return the whole lines of a log."""
    text = log.read_text() if log.exists() else ""
    return text[: text.rfind("\n") + 1].splitlines()


def steps(log: Path) -> dict[int, str]:
    """Return what was recorded of each step. Whatever was done twice must be the same."""
    found: dict[int, str] = {}
    for line in lines(log):
        if line.startswith("begin") or line.endswith("cut"):
            continue
        number, rest = line.split(" ", 1)
        assert found.setdefault(int(number), rest) == rest, f"step {number} differs"
    return found


def committed(directory: Path) -> int:
    """Return the newest step of a run, as the names tell."""
    there = directory.iterdir() if directory.exists() else ()
    return max((int(path.name) for path in there if path.name.isdigit()), default=0)


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory: pytest.TempPathFactory) -> dict[int, str]:
    """What a run without interruptions recorded."""
    return {}


def whole_run(program: Program, tmp_path: Path, unbroken: dict[int, str]) -> dict[int, str]:
    if not unbroken:
        run = program(PROGRAM, str(tmp_path / "u"), str(tmp_path / "u.log"), str(STEPS))
        assert output(run) == f"end {STEPS}\n"
        unbroken.update(steps(tmp_path / "u.log"))
        assert sorted(unbroken) == list(range(1, STEPS + 1))
    return unbroken


def start(program: Program, tmp_path: Path, pause: float) -> subprocess.Popen[str]:
    options = repr({"pause": pause})
    log = str(tmp_path / "log")
    return program(PROGRAM, str(tmp_path / "run"), log, str(STEPS), options)


def begun(tmp_path: Path, run: subprocess.Popen[str], times: int) -> bool:
    """Wait until the loop has begun so many times."""

    def holds() -> bool:
        count = sum(line.startswith("begin ") for line in lines(tmp_path / "log"))
        return count >= times or run.poll() is not None

    return eventually(holds, 60)


def test_kills_lose_nothing(program: Program, tmp_path: Path, unbroken: dict[int, str]) -> None:
    want = whole_run(program, tmp_path, unbroken)
    rng = random.Random(3)
    kills = round_ = 0
    while kills < KILLS:
        round_ += 1
        place = tmp_path / str(round_)
        place.mkdir()
        lives = 0
        while kills < KILLS and committed(place / "run") < STEPS:
            run = start(program, place, rng.choice((0.002, 0.01)))
            if rng.random() < 0.8:
                assert begun(place, run, lives + 1)
            time.sleep(rng.random() * 0.15)
            children = Path(f"/proc/{run.pid}/task/{run.pid}/children")
            pids = children.read_text().split() if children.exists() else []
            run.kill()
            if rng.random() < 0.5:
                for pid in pids:  # the side-car too, perhaps in the middle of a save
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(int(pid), signal.SIGKILL)
            run.communicate()
            kills += run.returncode == -signal.SIGKILL
            with open(place / "log", "a") as file:
                file.write("cut\n")  # ends a line that the kill has cut
            lives = sum(line.startswith("begin ") for line in lines(place / "log"))
        assert output(start(program, place, 0.0)) == f"end {STEPS}\n"
        assert steps(place / "log") == want


def test_sigterm_loses_no_done_step(
    program: Program, tmp_path: Path, unbroken: dict[int, str]
) -> None:
    want = whole_run(program, tmp_path, unbroken)
    rng = random.Random(4)
    log = tmp_path / "log"
    ended = 0
    for kill in range(1, KILLS + 1):
        run = start(program, tmp_path, rng.choice((0.001, 0.005)))
        assert begun(tmp_path, run, kill)
        time.sleep(rng.random() * 0.08)
        run.send_signal(signal.SIGTERM)
        _, err = run.communicate(timeout=60)
        done = int([line for line in lines(log) if not line.startswith("begin")][-1].split()[0])
        assert committed(tmp_path / "run") == done
        # After the last step the job no longer takes the signal.
        if run.returncode == 0 or (run.returncode == -signal.SIGTERM and done == STEPS):
            ended = done
            break
        assert run.returncode == bv.EXIT_PREEMPTED, err
        assert f"preempted at step {done}, committed" in err
    if not ended:
        assert output(start(program, tmp_path, 0.0)) == f"end {STEPS}\n"
    assert steps(log) == want
    # Nothing was done twice.
    numbers = [line.split()[0] for line in lines(log) if not line.startswith("begin")]
    assert numbers == [str(n) for n in range(1, STEPS + 1)]


def test_ctrl_c_ends_the_loop_and_resumes(
    program: Program, tmp_path: Path, unbroken: dict[int, str]
) -> None:
    want = whole_run(program, tmp_path, unbroken)
    run = start(program, tmp_path, 0.1)
    assert begun(tmp_path, run, 1)
    time.sleep(0.5)
    run.send_signal(signal.SIGINT)
    _, err = run.communicate(timeout=60)
    assert run.returncode == -signal.SIGINT, err
    assert "KeyboardInterrupt" in err
    assert output(start(program, tmp_path, 0.0)) == f"end {STEPS}\n"
    assert steps(tmp_path / "log") == want


def test_side_car_dies_and_the_run_resumes(
    program: Program, tmp_path: Path, unbroken: dict[int, str]
) -> None:
    want = whole_run(program, tmp_path, unbroken)
    run = start(program, tmp_path, 0.1)
    assert begun(tmp_path, run, 1)
    children = Path(f"/proc/{run.pid}/task/{run.pid}/children").read_text().split()
    os.kill(int(children[0]), signal.SIGKILL)
    _, err = run.communicate(timeout=60)
    assert run.returncode in (0, 1), err
    if run.returncode:
        assert "bivouac.errors.Died" in err
    assert output(start(program, tmp_path, 0.0)) == f"end {STEPS}\n"
    assert steps(tmp_path / "log") == want
