"""The page about buckets shows examples in Python that run here."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from jobs import Batches, new_state, train
from test_pages import EXAMPLES, GUIDE, ROOT, example, region

from bivouac.checkpoint.training import Checkpointer

pytestmark = pytest.mark.skipif(not EXAMPLES.is_dir(), reason="the examples are not here")


def test_blocks_are_regions_of_the_example() -> None:
    text = (GUIDE / "many-machines.md").read_text()
    comment = r"(?:<!-- example: (\S+)#([^>\n]+) -->\n)?"
    blocks = re.findall(comment + r"```python\n(.*?)^```$", text, re.M | re.S)
    assert [name for _, name, _ in blocks] == ["checkpoints", "tiers"]
    for file, name, block in blocks:
        assert block == region((ROOT / file).read_text(), name), f"{file}#{name}"


def test_checkpoints(bucket: str) -> None:
    state: Any = {"w": np.arange(6.0), "step": 100}
    loaded = example("in_bucket").checkpoints(bucket, state)
    assert np.array_equal(loaded["w"], state["w"]) and loaded["step"] == 100
    with Checkpointer(f"{bucket}/steps") as run:
        assert np.array_equal(run.load(100)["w"], state["w"])


def test_tiers(bucket: str, tmp_path: Path) -> None:
    job = example("in_bucket").tiers(
        str(tmp_path / "run"), f"{bucket}/far", Batches(3000, 1), new_state(), train
    )
    assert job.step == 3000
    with Checkpointer(tmp_path / "run") as run:
        assert [c.step for c in run.checkpoints] == [2800, 2900, 3000]
    with Checkpointer(f"{bucket}/far") as run:
        assert [c.step for c in run.checkpoints][-1] == 3000
