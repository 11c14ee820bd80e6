"""Each public name of DALI's dynamic mode is here, or the page says that it is not."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest

import bivouac.dynamic as dyn

HERE = Path(__file__).resolve().parent
PAGE = HERE.parents[1] / "docs" / "compat" / "python-dali-dynamic.md"


def names() -> list[list[str]]:
    """Return the names, as DALI 2.4.0 has them: module or class, name, and why it is missing."""
    with (HERE / "dynamic_names.tsv").open(newline="") as file:
        return list(csv.reader(file, delimiter="\t"))[1:]


def found(where: str) -> Any:
    """Return a module or a class."""
    value: Any = dyn
    for part in filter(None, where.split(".")):
        value = getattr(value, part)
    return value


@pytest.mark.parametrize("where", sorted({row[0] for row in names()}))
def test_names_are_here(where: str) -> None:
    if where == "pytorch.nodes":
        pytest.importorskip("torchdata.nodes", reason="torchdata is not installed")
    owner = found(where)
    for place, name, missing in names():
        if place == where:
            here = name in dir(owner) or hasattr(owner, name)
            assert here == (missing == ""), f"{where}.{name}: {missing or 'not here'}"


@pytest.mark.skipif(not PAGE.is_file(), reason="the pages are not here")
def test_the_page_has_the_missing_names() -> None:
    text = PAGE.read_text()
    rows = names()
    here = sum(missing == "" for _, _, missing in rows)
    assert f"{here} of {len(rows)} names" in text
    for where, name, missing in rows:
        full = f"{where}.{name}" if where else name
        row = f"| `ndd.{full}` | {missing} |"
        assert (row in text) == (missing != ""), row
