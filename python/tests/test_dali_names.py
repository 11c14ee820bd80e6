"""Each public name of DALI's modules of pipelines is here, or the page says that it is not."""

from __future__ import annotations

import csv
import importlib
from pathlib import Path
from typing import Any

import pytest

import bivouac
from bivouac._pipeline.tensors import TensorCPU, TensorListCPU

HERE = Path(__file__).resolve().parent
PAGE = HERE.parents[1] / "docs" / "compat" / "python-dali.md"

CLASSES = {
    "Pipeline": bivouac.Pipeline,
    "TensorCPU": TensorCPU,
    "TensorListCPU": TensorListCPU,
}


def names() -> list[list[str]]:
    """Return the names, as DALI 2.4.0 has them: module, name, and why it is missing or ""."""
    with (HERE / "dali_names.tsv").open(newline="") as file:
        return list(csv.reader(file, delimiter="\t"))[1:]


def module(name: str) -> Any:
    """Return a module or a class."""
    if name in CLASSES:
        return CLASSES[name]
    first, *rest = name.split(".")
    found: Any = importlib.import_module(f"bivouac.{first}")
    for part in rest:
        found = getattr(found, part)
    return found


@pytest.mark.parametrize("name", sorted({row[0] for row in names()}))
def test_names_are_here(name: str) -> None:
    for where, what, missing in names():
        if where == name:
            try:
                here = hasattr(module(name), what)
            except AttributeError:
                here = False
            assert here == (missing == ""), f"{where}.{what}: {missing or 'not here'}"


@pytest.mark.skipif(not PAGE.is_file(), reason="the pages are not here")
def test_the_page_has_the_missing_names() -> None:
    text = PAGE.read_text()
    rows = names()
    here = sum(missing == "" for _, _, missing in rows)
    assert f"{here} of {len(rows)} names" in text
    for where, what, missing in rows:
        row = f"| `{where}.{what}` | {missing} |"
        assert (row in text) == (missing != ""), row
