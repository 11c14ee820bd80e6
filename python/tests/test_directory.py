"""Relative paths in graphs begin in the working directory of the program, also after a change."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bivouac
import bivouac.dynamic as dyn
from bivouac import _client, errors, fn

pytestmark = pytest.mark.usefixtures("sidecar")


@pytest.fixture
def folders(tmp_path: Path) -> list[Path]:
    """Folders with a file of one name, and other contents."""
    made = []
    for i in range(3):
        folder = tmp_path / f"folder{i} é"
        folder.mkdir()
        (folder / "file").write_bytes(bytes([i] * (i + 1)))
        made.append(folder)
    return made


def read() -> Any:
    """Read the file by a pipeline."""

    @bivouac.pipeline_def(batch_size=1, num_threads=1, device_id=None)
    def graph() -> Any:
        return fn.readers.file(files=["file"])[0]

    return np.asarray(graph().run()[0].at(0))


def test_pipelines(folders: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    for i in (0, 1, 2, 2, 0):
        monkeypatch.chdir(folders[i])
        assert read().tolist() == [i] * (i + 1)


def test_dynamic_mode(folders: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    for i in (1, 0, 2):
        monkeypatch.chdir(folders[i])
        reader = dyn.readers.File(files=["file"])
        data, _ = next(reader.next_epoch(batch_size=1))
        assert np.asarray(next(iter(data))).tolist() == [i] * (i + 1)
        name = np.frombuffer(b"file", np.uint8)
        assert np.asarray(dyn.io.file.read(name)).tolist() == [i] * (i + 1)


def test_a_new_sidecar(folders: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folders[1])
    read()
    _client._close()
    monkeypatch.chdir(folders[2])
    assert read().tolist() == [2] * 3


def test_a_directory_that_is_gone(folders: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """A relative path is an error there. What needs none works."""
    gone = folders[0] / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    with pytest.raises(errors.NotFound):
        read()
    gone.rmdir()
    with pytest.raises(FileNotFoundError):
        os.getcwd()

    @bivouac.pipeline_def(batch_size=1, num_threads=1, device_id=None)
    def graph() -> Any:
        return fn.readers.file(files=[str(folders[2] / "file")])[0]

    assert np.asarray(graph().run()[0].at(0)).tolist() == [2] * 3
