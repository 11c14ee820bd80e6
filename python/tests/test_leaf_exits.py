"""Leaf handlers whose program ends while they write."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

import bivouac.checkpoint as ocp
from conftest import eventually
from leaf_points import Point
from test_leaf_handlers import nothing_left, private, registry, using

__all__ = ["nothing_left"]  # the fixture

pytestmark = pytest.mark.usefixtures("sidecar")

EXITS = """
import asyncio, sys
import bivouac.checkpoint as ocp
from bivouac.checkpoint import serialization
sys.path.insert(0, sys.argv[2])
from leaf_points import AbstractPoint, Point, PointHandler

class Threads(PointHandler):
    async def serialize(self, params, context):
        second = await super().serialize(params, context)
        async def write():
            await asyncio.sleep(0.3)
            assert await asyncio.to_thread(lambda: 7) == 7
            await second
        return write()

leaves = serialization.StandardLeafHandlerRegistry()
leaves.add(Point, AbstractPoint, Threads, secondary_typestrs=["leaf_points.PointHandler"])
with ocp.Context(pytree_options=ocp.options.PyTreeOptions(leaf_handler_registry=leaves)):
    ocp.save_async(sys.argv[1], {"p": Point(1, 2)})
assert "jax" not in sys.modules and "torch" not in sys.modules
if len(sys.argv) > 3:
    import os, signal
    print("saving", flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_the_interpreter_waits_for_handlers(program: Any, tmp_path: Path) -> None:
    process = program(EXITS, str(tmp_path / "a"), str(Path(__file__).parent))
    _, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    with using(registry()):
        assert ocp.load(tmp_path / "a") == {"p": Point(1, 2)}


def test_a_trainer_that_is_killed_saves_nothing(program: Any, tmp_path: Path) -> None:
    """A save whose handlers had not ended is not committed."""
    process = program(EXITS, str(tmp_path / "a"), str(Path(__file__).parent), "kill")
    process.communicate(timeout=60)
    assert process.returncode == -9
    # The server removes what it was given.
    assert eventually(lambda: not private())
    assert [name for name in os.listdir(tmp_path) if not name.startswith("program")] == []
