"""The recorded scenarios of torchdata's loader and nodes come out the same here.

BIVOUAC_VECTORS names the directory of all scenarios. Without it, `../shared/vectors/torchdata` is
used if it is there, else the excerpt in `testdata/torchdata`.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is not installed")

from loader_judge import Judge

pytestmark = pytest.mark.torch

ROOT = Path(__file__).resolve().parents[2]


def folder() -> Path:
    """Return the directory of the scenarios."""
    named = os.environ.get("BIVOUAC_VECTORS")
    if named:
        return Path(named)
    for parent in (ROOT, *ROOT.resolve().parents):
        shared = parent.parent / "shared" / "vectors" / "torchdata"
        if shared.is_dir():
            return shared
    return ROOT / "testdata" / "torchdata"


FOLDER = folder()


def names() -> list[str]:
    """Return the scenarios. Those of family S27 are of torchdata.nodes."""
    return sorted(path.stem for path in FOLDER.glob("S[0-9]*.json"))


def test_torch_the_judge_finds_what_is_wrong() -> None:
    """torchdata's loader fails where torchdata is wrong."""
    module = pytest.importorskip("torchdata.stateful_dataloader", reason="torchdata is missing")
    name = "S13-iter-w0-k19"
    if name not in names():
        pytest.skip("the excerpt has no such scenario")
    failures = "\n".join(Judge(FOLDER, name).run(module.StatefulDataLoader))
    assert "StopIteration" in failures or "batches" in failures


@pytest.mark.parametrize("name", names())
def test_torch_scenario(name: str) -> None:
    failures = Judge(FOLDER, name).run()
    assert not failures, "\n".join(failures[:20])
