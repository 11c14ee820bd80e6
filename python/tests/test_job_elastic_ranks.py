"""The examples of several processes: trained, killed, resumed with other numbers of processes."""

from __future__ import annotations

import importlib.util
import os
import random
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

import bivouac as bv

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples" / "python"
STEPS = 60

pytestmark = [
    pytest.mark.usefixtures("sidecar"),
    pytest.mark.skipif(not EXAMPLES.is_dir(), reason="the examples are not here"),
]

LOOPS = [
    pytest.param("jax_elastic.py", "jax", id="jax"),
    pytest.param("torch_elastic.py", "torch", id="torch", marks=pytest.mark.torch),
]


class Processes:
    """Processes are those of a start of an example."""

    def __init__(self, name: str, directory: Path, size: int) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        path = os.pathsep.join([str(ROOT / "python"), os.environ.get("PYTHONPATH", "")])
        env = {
            **os.environ,
            "PYTHONPATH": path,
            "JAX_PLATFORMS": "cpu",
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": str(port),
            "COORDINATOR": f"127.0.0.1:{port}",
            "WORLD_SIZE": str(size),
        }
        command = [sys.executable, str(EXAMPLES / name), str(directory), str(STEPS)]
        self.all = [
            subprocess.Popen(
                command,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                env={**env, "RANK": str(rank)},
            )
            for rank in range(size)
        ]
        self.lines: list[str] = []

    def until(self, step: int) -> None:
        """Read until a step was printed."""
        assert self.all[0].stdout is not None
        for line in self.all[0].stdout:
            self.lines.append(line.rstrip("\n"))
            if line.startswith(f"samples {step} "):
                return
        raise AssertionError(self.all[0].communicate()[1])

    def end(self, sent: int = 0) -> list[int]:
        """Send a signal to all, wait, and return their exit statuses."""
        if sent:
            for process in random.sample(self.all, len(self.all)):
                process.send_signal(sent)
        outs = [process.communicate(timeout=240) for process in self.all]
        self.lines += outs[0][0].splitlines()
        if not sent:
            assert all(process.returncode == 0 for process in self.all), outs
        return [process.returncode for process in self.all]


def samples(lines: list[str]) -> dict[str, str]:
    """Return the samples of each step."""
    words = [line.split(" ", 2) for line in lines if line.startswith("samples ")]
    return {number: ids for _, number, ids in words}


@pytest.mark.parametrize(("name", "package"), LOOPS)
def test_killed_and_resumed_with_other_numbers(name: str, package: str, tmp_path: Path) -> None:
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    unbroken = Processes(name, tmp_path / "unbroken", 1)
    unbroken.end()
    seen: dict[str, str] = {}
    kill, term = signal.SIGKILL, signal.SIGTERM
    for size, step, sent in ((4, 8, kill), (2, 17, term), (3, 30, kill)):
        run = Processes(name, tmp_path / "run", size)
        run.until(step)
        statuses = run.end(sent)
        wanted = -9 if sent == signal.SIGKILL else bv.EXIT_PREEMPTED
        assert statuses == [wanted] * size
        seen.update(samples(run.lines))
    last = Processes(name, tmp_path / "run", 1)
    last.end()
    seen.update(samples(last.lines))
    assert seen == samples(unbroken.lines) and len(seen) == STEPS
    assert last.lines[-1] == unbroken.lines[-1] and last.lines[-1].startswith("weights ")
    if importlib.util.find_spec("orbax") is not None:
        from orbax.checkpoint import v1 as ocp

        loaded = ocp.training.Checkpointer(tmp_path / "run").load_checkpointables(STEPS)
        mine = bv.checkpoint.load_checkpointables(tmp_path / "run" / str(STEPS))
        assert str(loaded["state"]) == str(mine["state"])
