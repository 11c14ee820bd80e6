"""The table of docs/compat/python.md: every public name of Orbax v1 and its name here.

    python compat_table.py > ../../docs/compat/python.md

writes the page from orbax_names.tsv, compat_intro.md and the signatures of the package.
"""

from __future__ import annotations

import csv
import dataclasses
import importlib
import inspect
import sys
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PAGE = ROOT / "docs" / "compat" / "python.md"


class Row(NamedTuple):
    """A name of Orbax, and what is here for it."""

    orbax: str
    bivouac: str
    verdict: str
    difference: str
    test: str


def rows() -> list[Row]:
    """Return the rows of the table."""
    with (HERE / "orbax_names.tsv").open(newline="") as file:
        found = list(csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    assert found[0] == list(Row._fields)
    return [Row(*row) for row in found[1:]]


def resolve(name: str, root: str) -> Any:
    """Return the object of a dotted name below a module, or None for a field without a value.

    Raises:
      AttributeError: there is no such name.
    """
    value: Any = importlib.import_module(root)
    for part in name.split("."):
        fields = {f.name for f in dataclasses.fields(value)} if is_dataclass(value) else set()
        if hasattr(value, part):
            value = getattr(value, part)
        elif part in fields or part in getattr(value, "__annotations__", {}):
            value = None
        else:
            try:
                value = importlib.import_module(f"{value.__name__}.{part}")
            except ImportError:
                raise AttributeError(f"{root}.{name}") from None
    return value


def is_dataclass(value: Any) -> bool:
    """Return True for a class of dataclasses."""
    return isinstance(value, type) and dataclasses.is_dataclass(value)


def ours(row: Row) -> Any:
    """Return the object of a row here."""
    return resolve(row.bivouac.removeprefix("bivouac.checkpoint").lstrip("."), "bivouac.checkpoint")


def parameters(value: Any) -> list[inspect.Parameter] | None:
    """Return the parameters of a function or class, or None if it has none to speak of."""
    if isinstance(value, type) and (
        getattr(value, "_is_protocol", False) or issubclass(value, Exception)
    ):
        return None
    if not callable(value) or type(value).__module__ == "typing":
        return None
    try:
        found = list(inspect.signature(value).parameters.values())
    except (TypeError, ValueError):
        return None
    return [p for p in found if p.name != "self"]


def arguments(row: Row) -> str:
    """Return the names of the arguments of a row as the page shows them: the first of many."""
    found = parameters(ours(row)) if row.bivouac else None
    if not found or not (inspect.isfunction(ours(row)) or is_dataclass(ours(row))):
        return ""
    names, star = [], False
    for p in found:
        if p.kind is p.KEYWORD_ONLY and not star:
            names.append("*")
            star = True
        star = star or p.kind is p.VAR_POSITIONAL
        names.append(("*" if p.kind is p.VAR_POSITIONAL else "") + p.name)
    shown = names[:5] if len(", ".join(names)) > 140 else names
    rest = f" and {len(names) - len(shown)} more" if len(shown) < len(names) else ""
    return "`" + ", ".join(shown) + "`" + rest


def page() -> str:
    """Return the text of the page."""
    table = rows()
    count = {v: sum(r.verdict == v for r in table) for v in ("yes", "differs", "no")}
    text = (HERE / "compat_intro.md").read_text()
    for verdict, n in count.items():
        text = text.replace("{" + verdict + "}", str(n))
    lines = [text.rstrip(), ""]
    section = ""
    for row in table:
        parts = row.orbax.split(".")
        lower = [p for p in parts[1:-1] if p[:1].islower()] or (
            [parts[1]] if len(parts) > 1 and parts[1] in SECTIONS else []
        )
        heading = ".".join(["v1", *lower])
        if heading != section:
            section = heading
            lines += [f"## `{heading}`", "", "| Orbax | Bivouac | arguments | verdict | held by |"]
            lines += ["|---|---|---|---|---|"]
        verdict = row.verdict + (f": {row.difference}" if row.difference else "")
        test = ""
        if row.test:
            file, name = row.test.split("::")
            test = f"[{name}](../../python/tests/{file})"
        here = "`ocp" + row.bivouac.removeprefix("bivouac.checkpoint") + "`" if row.bivouac else ""
        lines.append(f"| `{row.orbax}` | {here} | {arguments(row)} | {verdict} | {test} |")
        if row is table[-1] or not table[table.index(row) + 1].orbax.startswith(section):
            lines.append("")
    return "\n".join(lines).rstrip() + "\n"


SECTIONS = "arrays errors handlers multihost options partial path training tree".split()


if __name__ == "__main__":
    sys.path.insert(0, str(HERE.parent))
    sys.stdout.write(page())
