"""Leaf handlers in jobs of several processes: the primary's files are saved."""

from __future__ import annotations

from pathlib import Path

import pytest

from processes import Job, needs

HEAD = f"""
sys.path.insert(0, {str(Path(__file__).parent)!r})
""" + """
from bivouac.checkpoint import multihost, serialization
from leaf_points import AbstractPoint, Point, PointHandler, state

class Guarded(PointHandler):
    async def serialize(self, params, context):
        second = await super().serialize(params, context)
        async def write():
            if multihost.is_primary_host(self.context.multiprocessing.primary_host):
                await second
            else:
                second.close()
        return write()

def using(handler):
    leaves = serialization.StandardLeafHandlerRegistry()
    leaves.add(Point, AbstractPoint, handler, secondary_typestrs=["leaf_points.PointHandler"])
    tree = bv.options.PyTreeOptions(leaf_handler_registry=leaves)
    several = bv.options.MultiprocessingOptions(barrier_timeout_secs=20)
    return bv.Context(pytree_options=tree, multiprocessing_options=several)
"""

GOOD = HEAD + """
with using(Guarded):
    bv.save(directory + "/a", state())
    bv.save_async(directory + "/b", state()).result()
    for name in ("a", "b"):
        got = bv.load(directory + "/" + name)
        assert got["p"] == [Point(1, 20), {"q": Point(3, 400)}], got
        assert bv.verify(directory + "/" + name).sound
"""

BAD = HEAD + """
with using(PointHandler):
    try:
        bv.save(directory + "/a", state())
    except (errors.BivouacError, TimeoutError) as err:
        print("file 'points/p.0.json' on another process" in str(err), rank)
assert not os.path.exists(directory + "/a")
"""

LIBRARIES = [pytest.param("torch", marks=pytest.mark.torch), "jax"]


@pytest.mark.parametrize("library", LIBRARIES)
def test_the_primary_writes(tmp_path: Path, library: str) -> None:
    needs(library)
    Job(library, GOOD, 2, tmp_path).outputs()


@pytest.mark.parametrize("library", LIBRARIES)
def test_files_of_other_processes_are_refused(tmp_path: Path, library: str) -> None:
    """They are not lost silently: nothing is saved, and the error names a file."""
    needs(library)
    assert sorted(Job(library, BAD, 2, tmp_path).outputs()) == ["False 0", "True 1"]
