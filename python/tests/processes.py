"""Runs programs in jobs of several processes.

A program is Python source. It finds `rank`, `size` and `directory` as variables, and the job is
initialised. What it prints is what the test compares.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[1]

# Gloo writes to the standard output too, from threads and in pieces. It gets the other one.
_HEAD = """
import os, sys
sys.stdout = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)
import numpy as np
rank, size, port, directory = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4]
"""

_TORCH = """
import datetime, torch, torch.distributed as dist
torch.set_num_threads(1)
if size > 1:
    dist.init_process_group(
        "gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=size,
        timeout=datetime.timedelta(seconds=120),
    )
"""

# Without it, threads of torch may abort a process that has ended well.
_TORCH_END = """
if size > 1:
    dist.destroy_process_group()
"""

_JAX = """
os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=" + sys.argv[5]
import jax
if size > 1:
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    jax.distributed.initialize(f"127.0.0.1:{port}", size, rank)
"""

_BODY = """
import bivouac.checkpoint as bv
from bivouac import errors
"""


def needs(library: str) -> None:
    """Skip the test without a library or a side-car."""
    pytest.importorskip(library, reason=f"needs {library}")
    if not (os.environ.get("BIVOUAC_BINARY") or (SOURCE / "bivouac/bin/bivouac").is_file()):
        pytest.skip("no binary: set BIVOUAC_BINARY, or build bivouac/bin/bivouac")


class Job:
    """A Job is a program that runs in several processes.

    Args:
      library: "torch" or "jax".
      code: the program.
      size: how many processes there are.
      directory: for the files of the program.
      devices: how many devices each process of jax has.
    """

    def __init__(
        self, library: str, code: str, size: int, directory: Path, devices: int = 1
    ) -> None:
        head = _HEAD + (_TORCH if library == "torch" else _JAX) + _BODY
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        directory.mkdir(parents=True, exist_ok=True)
        script = directory / f"program{len(list(directory.glob('program*')))}.py"
        end = _TORCH_END if library == "torch" else ""
        script.write_text(head + textwrap.dedent(code) + end)
        path = os.pathsep.join([str(SOURCE), os.environ.get("PYTHONPATH", "")])
        env = {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}
        self.processes = [
            subprocess.Popen(
                [sys.executable, str(script), str(rank), str(size), str(port), str(directory)]
                + [str(devices)],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                env=env,
                start_new_session=True,
            )
            for rank in range(size)
        ]

    def results(self, seconds: float = 90) -> list[tuple[int, str, str]]:
        """Wait, and return exit status, output and errors of each process."""
        out = []
        try:
            for process in self.processes:
                text, errors = process.communicate(timeout=seconds)
                out.append((process.returncode, text, errors))
        finally:
            for process in self.processes:
                if process.poll() is None:
                    process.kill()
                    process.communicate()
        return out

    def outputs(self) -> list[str]:
        """Wait, and return the output of each process. All must succeed."""
        results = self.results()
        failed = [f"process {i}: {r[2][-3000:]}" for i, r in enumerate(results) if r[0]]
        assert not failed, "\n".join(failed)
        return [text.rstrip("\n") for _, text, _ in results]
