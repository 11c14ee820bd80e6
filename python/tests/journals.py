"""Helpers of the tests of the journal: they read what the side-car wrote."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

Row = dict[str, Any]


def attempts(run: Path) -> list[list[Row]]:
    """Return the rows of each attempt. A start row is there once."""
    found: dict[str, list[Row]] = {}
    for path in sorted((run / "journal").glob("*.jsonl")):
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        rows = found.setdefault(path.name.split(".")[0], [])
        rows += lines if not rows else lines[1:]
    return list(found.values())


def steps(rows: list[Row]) -> list[Row]:
    """Return the rows of steps."""
    return [row for row in rows if row["kind"] == "step"]


def current(run: Path) -> list[Row]:
    """Return the rows of steps that count: no later attempt began before them."""
    out: list[Row] = []
    for rows in attempts(run):
        begin = rows[0]["start"]["from"]
        out = [row for row in out if row["step"] <= begin]
        out += [row for row in steps(rows) if row["step"] > begin]
    return out


def events(rows: list[Row]) -> list[str]:
    """Return the names of events."""
    return [row["event"]["name"] for row in rows if row["kind"] == "event"]


def end(rows: list[Row]) -> str | None:
    """Return how an attempt ended."""
    return rows[-1]["end"]["outcome"] if rows[-1]["kind"] == "end" else None
