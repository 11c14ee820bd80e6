"""Trainers and side-cars that are killed at random: what was committed is whole, nothing is left.

BIVOUAC_LONG=1 runs 500 kills, half an hour of them on a slow machine.
"""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import bivouac as bv

PROGRAM = """
import sys
import numpy as np
import bivouac as bv
from bivouac import errors
from bivouac.torch import StatefulDataLoader

class Data:
    def __len__(self):
        return 10**6

    def __getitem__(self, i):
        return np.full(5000, i, np.float32)

if __name__ == "__main__":
    run, step = sys.argv[1], int(sys.argv[2])
    weights = np.zeros(1 << 18)
    for i, batch in enumerate(StatefulDataLoader(Data(), batch_size=4, num_workers=2)):
        assert batch[2][0] == 4 * i + 2
        step += 1
        weights[:] = step
        try:
            response = bv.checkpoint.save_async(f"{run}/{step}", {"w": weights, "step": step})
            if step % 3 == 0:
                response.result()
                loaded = bv.load(f"{run}/{step}")
                assert loaded["step"] == step and (loaded["w"] == step).all()
        except errors.Died:
            pass
        print(step, flush=True)
"""

KILLS = 500 if os.environ.get("BIVOUAC_LONG") else 10


class Trainer:
    """A Trainer is a program that saves and loads, with its side-car and its workers."""

    def __init__(self, program: Path, run: Path, step: int) -> None:
        self.mark = uuid.uuid4().hex
        env = {**os.environ, "BIVOUAC_TEST_MARK": self.mark}
        command = [sys.executable, program, run, str(step)]
        self.process = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True)
        self.step = step
        self.read()

    def read(self) -> None:
        """Wait for the next step."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, f"the trainer ended with {self.process.wait()}"
        self.step = int(line)

    def processes(self) -> dict[int, bytes]:
        """Return the command lines of the trainer and of all that it has started."""
        found = {}
        for entry in Path("/proc").iterdir():
            try:
                if entry.name.isdigit() and self.mark.encode() in (entry / "environ").read_bytes():
                    found[int(entry.name)] = (entry / "cmdline").read_bytes()
            except OSError:
                pass  # it has ended
        return found

    def sidecars(self) -> list[int]:
        """Return the side-cars that have not ended."""
        return [pid for pid, line in self.processes().items() if b"\0serve\0" in line]


def wait(ready: Callable[[], bool], seconds: float) -> bool:
    """Wait until something is true."""
    deadline = time.monotonic() + seconds
    while not ready():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.002)
    return True


@pytest.fixture
def trainers(tmp_path: Path) -> Iterator[Callable[[Path, int], Trainer]]:
    """Return a function that starts trainers. The end of the test ends them."""
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    started: list[Trainer] = []

    def start(run: Path, step: int) -> Trainer:
        started.append(Trainer(program, run, step))
        return started[-1]

    yield start
    for trainer in started:
        trainer.process.kill()
        trainer.process.wait()


def figures() -> tuple[int, list[str]]:
    """Return how many descriptors this process has, and what is in shared memory."""
    return len(os.listdir("/proc/self/fd")), sorted(os.listdir("/dev/shm"))


def check(run: Path) -> int:
    """Load what a run has committed, remove it, and return how many checkpoints there were."""
    whole = 0
    for path in sorted(run.iterdir()):
        if path.name.isdigit():
            loaded = bv.load(path)
            assert loaded["step"] == int(path.name) and (loaded["w"] == loaded["step"]).all()
            whole += 1
    shutil.rmtree(run)
    return whole


def test_random_kills(tmp_path: Path, trainers: Callable[[Path, int], Trainer]) -> None:
    order = random.Random(11)
    bv.checkpoint.is_orbax_checkpoint(tmp_path)  # our own side-car runs from here on
    before = figures()
    whole = of_trainers = of_sidecars = rounds = 0
    while of_trainers + of_sidecars < KILLS:
        rounds += 1
        run = tmp_path / f"run{rounds}"
        trainer = trainers(run, 0)
        for _ in range(order.randrange(4)):
            pids = trainer.sidecars()
            time.sleep(order.random() * 0.06)
            for pid in pids:
                with contextlib.suppress(ProcessLookupError):  # an older one may have ended
                    os.kill(pid, signal.SIGKILL)
                    of_sidecars += 1
            began = trainer.step
            while trainer.step < began + 4:  # it goes on, with a new side-car
                trainer.read()
        time.sleep(order.random() * 0.06)
        trainer.process.kill()
        trainer.process.wait()
        of_trainers += 1
        # The side-car finishes the saves that it has accepted; the workers end at once.
        assert wait(lambda: not trainer.processes(), 10), trainer.processes()
        assert trainer.process.stdout is not None
        trainer.process.stdout.close()
        whole += check(run)
    assert whole > rounds and of_sidecars > 0
    assert figures() == before
