"""Helpers of the tests of the lifecycle."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np

from bivouac import _client
from bivouac.checkpoint import _engine

Program = Callable[..., "subprocess.Popen[str]"]

PRELUDE = """
import os, signal, sys, threading, time
import numpy as np
from bivouac import _client, errors
from bivouac.checkpoint import _engine

def save(path, n=1 << 20, background=False, **args):
    tree = {"a": np.full(n, 7.0)}
    call = _engine.start_save(
        "save", {"state": tree}, background=background, args={"path": path, **args})
    return call if background else call.result()

def load(path):
    return _engine.load("load", {"path": path})["a"]
"""


def save(path: Path, n: int = 1 << 18, background: bool = False) -> _client.Call:
    tree = {"a": np.full(n, 7.0)}
    call = _engine.start_save(
        "save", {"state": tree}, background=background, args={"path": str(path)}
    )
    if not background:
        call.result()
    return call


def whole(path: Path) -> bool:
    return bool((_engine.load("load", {"path": str(path)})["a"] == 7.0).all())


def output(process: subprocess.Popen[str], seconds: float = 60) -> str:
    """Return what a program printed. It must have succeeded."""
    out, err = process.communicate(timeout=seconds)
    assert process.returncode == 0, err
    return out


def sidecar_pid() -> int:
    process = _client.connection()._process
    assert process is not None
    return process.pid
