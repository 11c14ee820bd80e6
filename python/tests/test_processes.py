"""What saves do in a job of several processes without starting one."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import bivouac.checkpoint as ocp
from bivouac import errors


@pytest.mark.usefixtures("sidecar")
def test_jobs_without_a_store_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = SimpleNamespace(num_processes=2, process_id=0, client=None)
    job = SimpleNamespace(global_state=state)
    monkeypatch.setitem(sys.modules, "jax._src.distributed", job)
    with pytest.raises(errors.BivouacError, match="key-value store"):
        ocp.save(tmp_path / "a", {"x": 1})
    alone = ocp.Context()
    alone.multiprocessing.primary_host = None
    with alone:
        ocp.save(tmp_path / "a", {"x": 1})
    assert ocp.load(tmp_path / "a") == {"x": 1}
