"""Graphs built in Python: the bytes are those of DALI, and errors say what is wrong."""

from __future__ import annotations

import base64
import json
import zlib
from pathlib import Path

import pytest

import bivouac
import pipeline_graphs

RECORDED: dict[str, str] = json.loads(
    Path(__file__).with_name("pipeline_graphs.json").read_text()
)


@pytest.fixture(scope="module")
def made() -> dict[str, bytes]:
    with pytest.warns(DeprecationWarning):
        return pipeline_graphs.graphs(bivouac)


@pytest.mark.parametrize("name", sorted(RECORDED))
def test_bytes_of_dali(name: str, made: dict[str, bytes]) -> None:
    """The serialized pipeline is the one that DALI 2.4.0 writes, byte by byte."""
    assert made[name] == zlib.decompress(base64.b64decode(RECORDED[name]))


def test_all_graphs_are_recorded(made: dict[str, bytes]) -> None:
    assert sorted(made) == sorted(RECORDED)
