"""Trainers and side-cars that are killed while functions are called: what follows is the same.

BIVOUAC_LONG=1 makes 300 kills.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import pipeline_scenes
from conftest import eventually, running

PROGRAM = """
import hashlib, os, sys, time
import numpy as np
import bivouac
from bivouac import _client, errors, fn, types

root, folder, steps = sys.argv[1], sys.argv[2], int(sys.argv[3])

def slow(data):
    # It lets a kill come during a call, and decides nothing.
    time.sleep(0.002)
    return (data.astype(np.int64) * 3, np.asarray(data.sum()))

def batch(data, number):
    if data[0][0] % 2:
        return [np.full(len(data), x[0], np.float32) + y for x, y in zip(data, number)]
    return [np.full((2, len(data)), x[0], np.int32) for x in data]

@bivouac.pipeline_def(
    batch_size=3, num_threads=2, device_id=None, seed=3, enable_checkpointing=True,
    prefetch_queue_depth=3,
)
def graph():
    data, label = fn.readers.file(file_root=root, file_filters="*.bin", random_shuffle=True)
    number = fn.random.uniform(range=[0, 1])
    tripled, total = fn.python_function(data, function=slow, num_outputs=2)
    mixed = fn.python_function(data, number, function=batch, batch_processing=True)
    return tripled, total + label, fn.cast(mixed, dtype=types.FLOAT) * 2, number

def begin():
    state = None
    if os.path.exists(folder + "/state"):
        with open(folder + "/state", "rb") as file:
            state = file.read()
    pipe = graph(checkpoint=state)
    pipe.build()
    number = _client.connection()._process.pid
    with open(folder + "/sidecars", "a") as file:
        file.write(f"{number}\\n")
    return pipe

pipe = begin()
while True:
    try:
        outputs = pipe.run()
        digest = hashlib.sha256()
        for output in outputs:
            digest.update(f"{output.dtype} {output.shape()}".encode())
            for i in range(len(output)):
                digest.update(np.asarray(output.at(i)).tobytes())
        state = pipe.checkpoint()
    except errors.Died:
        pipe = begin()
        continue
    step = int(state.split(b'{"iter": ')[1].split(b",")[0])
    with open(folder + "/log", "a") as file:
        file.write(f"{step} {digest.hexdigest()}\\n")
    with open(folder + "/state.new", "wb") as file:
        file.write(state)
    os.replace(folder + "/state.new", folder + "/state")
    print(step, flush=True)
    if step >= steps:
        break
"""

KILLS = 300 if os.environ.get("BIVOUAC_LONG") else 30

Program = Callable[..., "subprocess.Popen[str]"]


def made(folder: Path) -> dict[int, set[str]]:
    """Return what each step has made, over all attempts."""
    found: dict[int, set[str]] = {}
    for line in (folder / "log").read_text().splitlines():
        step, digest = line.split()
        found.setdefault(int(step), set()).add(digest)
    return found


@pytest.mark.usefixtures("sidecar")
def test_random_kills(tmp_path: Path, program: Program) -> None:
    root = pipeline_scenes.files(tmp_path / "data")
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    whole.mkdir()
    killed.mkdir()
    steps = 8 * KILLS  # most of them before the last kill
    process = program(PROGRAM, str(root), str(whole), str(steps))
    out, err = process.communicate()
    assert process.returncode == 0, err
    want = made(whole)
    assert sorted(want) == list(range(1, steps + 1))

    order = random.Random(5)
    trainers: list[int] = []
    of_trainers = of_sidecars = 0
    while of_trainers + of_sidecars < KILLS:
        process = program(PROGRAM, str(root), str(killed), str(steps))
        trainers.append(process.pid)
        assert process.stdout is not None
        for _ in range(order.randrange(6)):
            if not process.stdout.readline():
                break
            time.sleep(order.random() * 0.02)
            pid = int((killed / "sidecars").read_text().split()[-1])
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
                of_sidecars += 1
        process.stdout.readline()
        time.sleep(order.random() * 0.02)
        process.kill()
        process.communicate()
        of_trainers += 1
    process = program(PROGRAM, str(root), str(killed), str(steps))
    out, err = process.communicate()
    assert process.returncode == 0, err
    seen = made(killed)
    assert {step: seen[step] for step in want} == want
    assert of_trainers > 3 and of_sidecars > 3
    pids = [int(pid) for pid in (killed / "sidecars").read_text().split()]
    assert eventually(lambda: not any(running(pid) for pid in [*pids, *trainers]))
