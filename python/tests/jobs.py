"""Helpers of the tests of jobs: a loader that resumes, and a loop that is easy to compare."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import bivouac as bv


class Batches:
    """A Batches yields shuffled ids. Its state is its position."""

    def __init__(self, samples: int = 20, batch_size: int = 3, seed: int = 1) -> None:
        self.samples, self.batch_size, self.seed = samples, batch_size, seed
        self.epoch = self.at = 0

    def __len__(self) -> int:
        return -(-self.samples // self.batch_size)

    def __iter__(self) -> Iterator[Any]:
        order = np.random.default_rng((self.seed, self.epoch)).permutation(self.samples)
        while self.at < self.samples:
            ids = order[self.at : self.at + self.batch_size]
            self.at += self.batch_size
            yield ids
        self.epoch, self.at = self.epoch + 1, 0

    def state_dict(self) -> dict[str, int]:
        return {"epoch": self.epoch, "at": self.at}

    def load_state_dict(self, state: dict[str, int]) -> None:
        self.epoch, self.at = state["epoch"], state["at"]


def new_state() -> dict[str, Any]:
    return {"w": np.zeros(5), "n": 0, "rng": np.random.default_rng(5)}


def train(state: dict[str, Any], ids: Any) -> None:
    """Do a step that depends on everything that must be restored."""
    state["n"] += 1
    state["w"] += ids.sum() * np.random.rand() + state["rng"].normal(size=5)


def run(
    directory: Path, steps: int, stop_at: int | None = None, **options: Any
) -> tuple[dict[str, Any], list[list[int]]]:
    """Train, and return the state and the ids of each step. Leave the loop within a step."""
    state, seen = new_state(), []
    np.random.seed(7)
    with bv.Job(directory, Batches(), state, steps=steps, **{"save_every": 4, **options}) as job:
        for ids in job:
            train(state, ids)
            seen.append(ids.tolist())
            if state["n"] == stop_at:
                break
    return state, seen


def equal(a: dict[str, Any], b: dict[str, Any]) -> bool:
    """Report whether two states are equal bit for bit."""
    same = a["w"].tobytes() == b["w"].tobytes() and a["n"] == b["n"]
    return same and a["rng"].bit_generator.state == b["rng"].bit_generator.state


def damage(step: Path) -> None:
    """Change a byte of a step."""
    path = next(p for p in sorted((step / "state").rglob("*")) if p.is_file() and p.stat().st_size)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 255
    path.write_bytes(data)


def names(directory: Path) -> list[str]:
    """Return what a directory has, sorted, without the journal."""
    hidden = (".", "journal")
    return sorted(p.name for p in directory.iterdir() if not p.name.startswith(hidden))


PROGRAM = f"""
import os, signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have it ignored
sys.path.insert(0, {str(Path(__file__).parent)!r})
import numpy as np
import bivouac as bv
from jobs import Batches, new_state, train

directory, log, steps = sys.argv[1], sys.argv[2], int(sys.argv[3])
options = eval(sys.argv[4]) if len(sys.argv) > 4 else {{}}
pause = options.pop("pause", 0.0)
state = new_state()
np.random.seed(7)
with bv.Job(directory, Batches(), state, steps=steps, **{{"save_every": 3, **options}}) as job:
    with open(log, "a") as file:
        print("begin", job.step, file=file, flush=True)
        for ids in job:
            train(state, ids)
            time.sleep(pause)
            print(state["n"], ids.tolist(), state["w"].tobytes().hex(), file=file, flush=True)
    print("end", job.step)
"""
