"""The table of names is complete, true and shown by docs/compat/python.md."""

from __future__ import annotations

import ast
import inspect
import re
from typing import Any


import compat_table
from compat_table import ours, parameters, resolve, rows
from both import orbax

NAMES = compat_table.ROOT / "testdata" / "orbax-v1-names.txt"


def test_every_name_of_orbax_has_a_row() -> None:
    names = NAMES.read_text().split()
    assert [r.orbax for r in rows()] == names


def test_rows_are_whole() -> None:
    wrong = []
    for r in rows():
        good = {
            "yes": bool(r.bivouac and r.test) and not r.difference,
            "differs": bool(r.bivouac and r.test and r.difference),
            "no": bool(r.difference) and not r.bivouac and not r.test,
        }
        if not good.get(r.verdict, False):
            wrong.append(r)
    assert not wrong


def test_every_name_here_exists() -> None:
    wrong = []
    for r in rows():
        if r.bivouac:
            try:
                ours(r)
            except AttributeError as err:
                wrong.append((r.orbax, str(err)))
    assert not wrong


def test_every_test_exists() -> None:
    functions: dict[str, set[str]] = {}
    wrong = []
    for test in sorted({r.test for r in rows() if r.test}):
        file, name = test.split("::")
        if file not in functions:
            tree = ast.parse((compat_table.HERE / file).read_text())
            functions[file] = {n.name for n in tree.body if isinstance(n, ast.FunctionDef)}
        plain, _, case = name.partition("[")
        if plain not in functions[file] or (case and case.rstrip("]") not in functions[file]):
            wrong.append(test)
    assert not wrong


def value(default: Any) -> str:
    """Return a default in a form that is equal for both packages."""
    if default is inspect.Parameter.empty:
        return "required"
    text = str(getattr(default, "value", default))
    return "factory" if "factory" in text else re.sub(r" at 0x\w+", "", text)


def test_signatures_are_orbaxs() -> None:
    """Arguments have Orbax's names, order, kinds and defaults; ours are keyword-only and last."""
    theirs = orbax()
    wrong = []
    for r in rows():
        if not r.bivouac:
            continue
        found = resolve(r.orbax.removeprefix("v1").lstrip("."), theirs.__name__)
        if not str(getattr(found, "__module__", "orbax")).startswith("orbax"):
            continue  # an alias of a class of another package
        want = parameters(found)
        got = parameters(ours(r))
        if want is None or any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in want[:2]):
            continue
        if got is None:
            wrong.append((r.orbax, "no signature"))
            continue
        for i, p in enumerate(want):
            q = got[i] if i < len(got) else None
            if q is None or q.name != p.name or q.kind != p.kind:
                wrong.append((r.orbax, f"argument {i}: want {p}, got {q}"))
                break
            if value(p.default) != value(q.default) and p.name not in r.difference:
                wrong.append(
                    (r.orbax, f"{p.name}: want {value(p.default)}, got {value(q.default)}")
                )
        for q in got[len(want) :]:
            if q.kind is not q.KEYWORD_ONLY or q.default is q.empty:
                wrong.append((r.orbax, f"our argument {q.name}: want a keyword with a default"))
    assert not wrong, "\n".join(map(str, wrong))


def test_bases_of_errors_are_orbaxs() -> None:
    theirs = orbax()
    for r in rows():
        if r.bivouac and r.orbax.endswith("Error"):
            want = resolve(r.orbax.removeprefix("v1."), theirs.__name__)
            base = next(c for c in want.__mro__ if c.__module__ == "builtins")
            assert issubclass(ours(r), base), r.orbax


def test_members_of_enums_are_orbaxs() -> None:
    theirs = orbax()
    import bivouac.checkpoint as mine

    for name in ("AtomicityMode", "CheckpointLayout"):
        want = {m.name: m.value for m in getattr(theirs.options, name)}
        assert want == {m.name: m.value for m in getattr(mine.options, name)}


def test_page_shows_the_table() -> None:
    assert compat_table.PAGE.exists(), "run compat_table.py"
    assert compat_table.PAGE.read_text() == compat_table.page(), "run compat_table.py again"


def test_modules_have_orbaxs_public_names() -> None:
    """`__all__` of each module has every name that Orbax's module has in the table."""
    import importlib

    for r in rows():
        parts = r.bivouac.split(".")
        if not r.bivouac or not all(p.islower() for p in parts[:-1]):
            continue
        module: Any = importlib.import_module(".".join(parts[:-1]))
        names = getattr(module, "__all__", None)
        if names is not None:
            assert parts[-1] in names, r.orbax
