"""The examples of loops: trained, killed, resumed; and the page that shows them."""

from __future__ import annotations

import importlib.util
import os
import re
import signal
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bivouac as bv

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples" / "python"
GUIDE = ROOT / "docs" / "guide"
STEPS = 150

pytestmark = [
    pytest.mark.usefixtures("sidecar"),
    pytest.mark.skipif(not EXAMPLES.is_dir(), reason="the examples are not here"),
]

LOOPS = [
    pytest.param("jax_loop.py", ("flax", "optax"), id="jax"),
    pytest.param("torch_loop.py", ("torch", "torchdata"), id="torch", marks=pytest.mark.torch),
]


def start(name: str, directory: Path) -> subprocess.Popen[str]:
    path = os.pathsep.join([str(ROOT / "python"), os.environ.get("PYTHONPATH", "")])
    return subprocess.Popen(
        [sys.executable, str(EXAMPLES / name), str(directory), str(STEPS)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
    )


def finish(run: subprocess.Popen[str]) -> list[str]:
    out, err = run.communicate(timeout=240)
    assert run.returncode == 0, err
    return out.splitlines()


def samples(lines: list[str]) -> dict[str, str]:
    """Return the samples of each step."""
    words = [line.split(" ", 2) for line in lines if line.startswith("samples ")]
    return {number: ids for _, number, ids in words}


@pytest.mark.parametrize(("name", "needs"), LOOPS)
def test_killed_and_resumed(name: str, needs: tuple[str, ...], tmp_path: Path) -> None:
    for package in needs:
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"{package} is not installed")
    want = finish(start(name, tmp_path / "unbroken"))
    seen: dict[str, str] = {}
    for number, sent in (("27", signal.SIGKILL), ("45", signal.SIGTERM)):
        run = start(name, tmp_path / "run")
        assert run.stdout is not None
        lines = []
        for line in run.stdout:
            lines.append(line.rstrip("\n"))
            if line.startswith(f"samples {number} "):
                run.send_signal(sent)
                break
        lines += run.stdout.read().splitlines()
        _, err = run.communicate(timeout=240)
        assert run.returncode == (-9 if sent == signal.SIGKILL else bv.EXIT_PREEMPTED), err
        seen.update(samples(lines))
    last = finish(start(name, tmp_path / "run"))
    seen.update(samples(last))
    done = int(last[0].rsplit(" ", 1)[1])
    assert 45 <= done < STEPS  # the signal lost no step
    assert seen == samples(want) and len(seen) == STEPS
    assert last[-1] == want[-1] and last[-1].startswith("weights ")
    check_steps(tmp_path / "run", name, last[-1])


def check_steps(directory: Path, name: str, weights: str) -> None:
    """Read the steps with Orbax where it is installed, and compare the last weights."""
    with bv.checkpoint.training.Checkpointer(directory) as steps:
        state = steps.load()
    tree = state["params"] if name == "jax_loop.py" else state["model"]
    assert weights == f"weights {checksum(tree)}"
    if importlib.util.find_spec("orbax") is not None:
        from orbax.checkpoint import v1 as ocp

        loaded = ocp.training.Checkpointer(directory).load_checkpointables(STEPS)
        tree = loaded["state"]["params" if name == "jax_loop.py" else "model"]
        assert weights == f"weights {checksum(tree)}"


def checksum(tree: Any) -> int:
    """Return the checksum that the examples print."""

    def leaves(node: Any) -> list[Any]:
        if isinstance(node, dict):
            return [leaf for value in node.values() for leaf in leaves(value)]
        return [np.ravel(np.asarray(node))]

    return zlib.crc32(np.concatenate(leaves(tree)).tobytes())


@pytest.mark.parametrize(("page", "least"), [("python-resume.md", 3), ("elastic.md", 2)])
def test_the_page_shows_the_examples(page: str, least: int) -> None:
    sources = [path.read_text() for path in sorted(EXAMPLES.glob("*.py"))]
    blocks = re.findall(r"^```python\n(.*?)^```$", (GUIDE / page).read_text(), re.M | re.S)
    assert len(blocks) >= least
    for block in blocks:
        assert any(block in source for source in sources), f"no example has:\n{block}"
