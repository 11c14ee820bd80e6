"""Graphs that ask for a GPU. Bivouac computes on the CPU."""

from __future__ import annotations

import os

from bivouac._pipeline.refusals import BrokenGraph
from bivouac.errors import Invalid

__all__ = ["VARIABLE", "check", "on_cpu"]

VARIABLE = "BIVOUAC_ON_GPU"


def on_cpu() -> bool:
    """Report whether operators of a GPU run on the CPU, as the environment variable says."""
    value = os.environ.get(VARIABLE, "")
    if value not in ("", "cpu"):
        raise Invalid(subject=VARIABLE, want="cpu, or nothing", got=repr(value))
    return value == "cpu"


def check(what: str) -> None:
    """Raise an error for something on a GPU, unless it runs on the CPU."""
    if on_cpu():
        return
    raise BrokenGraph(
        subject=what,
        want="a CPU pipeline, because there is no CUDA-capable GPU that Bivouac computes on",
        got="a part of it on a GPU",
        remedy=f"set {VARIABLE}=cpu to run it on the CPU, or leave out device and device_id",
    )
