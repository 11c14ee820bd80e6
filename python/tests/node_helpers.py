"""Helpers of the tests of nodes: sources, and what is left of them."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import threading
from pathlib import Path
from typing import Any

import node_data as data

import bivouac
from bivouac.torch.nodes import BaseNode, IterableWrapper


def numbers(n: int = 7, start: int = 0) -> IterableWrapper[int]:
    return IterableWrapper(range(start, start + n))


class Own(BaseNode[int]):
    """A node of the user."""

    def __init__(self, n: int) -> None:
        super().__init__()
        self.n = n

    def reset(self, initial_state: dict[str, Any] | None = None) -> None:
        super().reset(initial_state)
        self.i = initial_state["i"] if initial_state else 0

    def next(self) -> int:
        if self.i == self.n:
            raise StopIteration
        self.i += 1
        return self.i

    def get_state(self) -> dict[str, Any]:
        return {"i": self.i}


def own_threads() -> list[threading.Thread]:
    """Return the threads of nodes."""
    names = ("Prefetcher-", "ParallelMapper-", "PinMemory-")
    return [thread for thread in threading.enumerate() if thread.name.startswith(names)]


def program(code: str, tmp_path: Path) -> subprocess.Popen[str]:
    """Start a program in a session of its own."""
    script = tmp_path / "program.py"
    script.write_text(textwrap.dedent(code))
    path = [str(Path(bivouac.__file__).parents[1]), str(Path(data.__file__).parent)]
    return subprocess.Popen(
        [sys.executable, str(script)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path)},
        start_new_session=True,
    )
