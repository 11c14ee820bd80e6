"""What each process of a job saves for itself: its random generators and the state of its loader.

The item `ranks` has an array of bytes, `rows`, with a row for each process. A row is JSON, filled
up with spaces. Each process writes its own row, and reads it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from bivouac import errors
from bivouac._job.loader import Source
from bivouac._job.team import Team
from bivouac._mesh import Part

__all__ = ["RANKS", "abstract", "choose", "item", "read"]

RANKS = "ranks"
"""The name of the item."""

_ROWS = "rows"
_ALIGNED = 64  # bytes; a row has a multiple of them
_OP = "bivouac.Job"


def item(team: Team, step: int, row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the tree of the item. All processes call this for the same step.

    Raises:
      Mismatch: processes have done different numbers of steps.
    """
    text = json.dumps(row).encode()
    mine = {"step": step, "bytes": len(text)}
    size = team.decide(f"the save of step {step}", mine, _judge)
    if isinstance(size, list):
        raise errors.Mismatch(
            op=_OP,
            subject="processes",
            want="the same number of steps on all processes",
            got=", ".join(f"process {m} after step {s}" for m, s in enumerate(size)),
            remedy="give all processes loaders with the same number of batches",
        )
    data = np.full((1, size), ord(" "), np.uint8)
    data[0, : len(text)] = np.frombuffer(text, np.uint8)
    return {_ROWS: Part((team.count, size), (team.index, 0), data)}


def _judge(values: list[Any]) -> int | list[int]:
    """Return the bytes of a row, or the steps of the processes if they differ."""
    steps = [int(value["step"]) for value in values]
    if len(set(steps)) > 1:
        return steps
    return -(-max(int(value["bytes"]) for value in values) // _ALIGNED) * _ALIGNED


def _shape(described: Any) -> tuple[int, int] | None:
    """Return the shape of the rows, from the description of the item."""
    try:
        node = dict(zip(described[1], described[2]))[_ROWS]
        processes, size = node[2]
        return int(processes), int(size)
    except (KeyError, IndexError, TypeError, ValueError):
        return None


def abstract(described: Any, team: Team | None, subject: str) -> Any:
    """Return what a load asks for: the own row, or all rows if the number of processes differs."""
    shape = _shape(described)
    if shape is None:
        raise errors.Mismatch(
            op=_OP,
            subject=f"{subject}: item {RANKS}",
            want="the rows of the processes",
            got="another tree",
            remedy="the step was not written by a job; use another directory",
        )
    if team is not None and team.count == shape[0]:
        return {_ROWS: Part(shape, (team.index, 0), np.empty((1, shape[1]), np.uint8))}
    return {_ROWS: np.empty(shape, np.uint8)}


def read(loaded: Any) -> list[dict[str, Any]]:
    """Return the rows that were loaded."""
    rows = loaded[_ROWS]
    data = rows.data if isinstance(rows, Part) else rows
    return [dict(json.loads(bytes(row))) for row in data]


def choose(
    rows: list[dict[str, Any]], processes: int, team: Team | None, source: Source[Any]
) -> dict[str, Any]:
    """Return the row that this process continues from.

    With another number of processes than before, the generators of the processes beyond that number
    are seeded anew: the row has a text "seed". The loader continues only if it is elastic.

    Args:
      rows: what was loaded.
      processes: how many processes have saved.
      team: the processes now.
      source: the loader.

    Raises:
      Mismatch: the loader cannot continue on this number of processes.
    """
    index, count = (0, 1) if team is None else (team.index, team.count)
    if processes == count:
        return rows[0]  # only the own row was loaded
    row = dict(rows[index] if index < processes else rows[0])
    if not source.elastic:
        raise errors.Mismatch(
            op=_OP,
            subject="loader",
            want=f"{processes} processes, which saved the step",
            got=f"{count} processes",
            remedy=f"start {processes} processes, or use a loader whose state fits any number of "
            "them and says so by elastic = True",
        )
    row["stream"] = source.merged([row["stream"] for row in rows])
    if index >= processes:
        text = json.dumps([rows[0].get("random"), index, count], sort_keys=True)
        row["seed"] = hashlib.sha256(text.encode()).hexdigest()
    return row
