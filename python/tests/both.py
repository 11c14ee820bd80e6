"""Runs the same program with Orbax and with Bivouac, and compares what comes of it.

A program is a function of the package (`orbax.checkpoint.v1` or `bivouac.checkpoint`), a directory
and a `Record`. It calls the record for each step; the record keeps the value or the error.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

Program = Callable[[Any, str, "Record"], None]


class Failed:
    """The error of a step."""

    def __init__(self, error: BaseException) -> None:
        self.error = error

    def __repr__(self) -> str:
        return f"{type(self.error).__name__}: {str(self.error)[:200]}"

    def builtin(self) -> type[BaseException]:
        """Return the nearest built-in class of the error."""
        return next(c for c in type(self.error).__mro__ if c.__module__ == "builtins")


class Record:
    """The outcomes of the steps of a program, by label."""

    def __init__(self) -> None:
        self.outcomes: dict[str, Any] = {}

    def __call__(self, label: str, step: Callable[[], Any]) -> Any:
        """Run a step and keep its outcome. Return its value, or None."""
        assert label not in self.outcomes, label
        try:
            value = step()
        except Exception as err:
            self.outcomes[label] = Failed(err)
            return None
        self.outcomes[label] = normal(value)
        return value


def normal(value: Any) -> Any:
    """Return a value in a form that is equal for both packages."""
    if isinstance(value, dict):
        return {str(k): normal(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [type(value).__name__, *[normal(v) for v in value]]
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        if isinstance(value, np.ndarray) or hasattr(value, "__array__"):
            plain = np.asarray(value)
            return ("array", plain.dtype.name, plain.shape, plain.tobytes())
        return ("described", np.dtype(value.dtype).name, tuple(value.shape))
    if isinstance(value, (str, int, float, bool, type(None))):
        return value
    return type(value).__name__


def orbax() -> Any:
    """Return Orbax's package, or skip the test."""
    return pytest.importorskip("orbax.checkpoint").v1


def run(package: Any, program: Program, directory: Path) -> dict[str, Any]:
    """Run a program in a new directory and return its outcomes."""
    directory.mkdir(parents=True)
    record = Record()
    level = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            program(package, str(directory), record)
    finally:
        logging.disable(level)
    return record.outcomes


def differences(program: Program, directory: Path) -> list[str]:
    """Return where the outcomes of a program differ. Built-in classes of errors must agree."""
    import bivouac.checkpoint as ours

    want = run(orbax(), program, directory / "orbax")
    got = run(ours, program, directory / "bivouac")
    out = [] if list(want) == list(got) else [f"steps: {list(want)} and {list(got)}"]
    for label in want:
        a, b = want[label], got.get(label)
        if isinstance(a, Failed):
            if not isinstance(b, Failed) or not isinstance(b.error, a.builtin()):
                out.append(f"{label}: Orbax {a!r}, Bivouac {b!r}")
        elif isinstance(b, Failed) or a != b:
            out.append(f"{label}: Orbax {a!r}, Bivouac {b!r}")
    return out
