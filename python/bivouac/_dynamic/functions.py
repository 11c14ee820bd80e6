"""The modules of `bivouac.dynamic`, filled with functions of operators and classes of readers."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
import types
from typing import Any

from bivouac._pipeline import functions, schemas
from bivouac._pipeline.schemas import Schema

__all__ = ["fill"]

_ROOT = "bivouac.dynamic"
_LEFT_OUT = ("_augment", "_conditional", "hidden")  # modules
_NOT_CALLS = ("external_source", "python_function", "constant", "experimental.inputs.video")
_OWN_FILES = ("random",)  # modules that have a file


def fill() -> None:
    """Fill the package with its modules. A function or class is made at its first use."""
    _equip(sys.modules[_ROOT], "")
    for path in schemas.modules():
        if path.split(".")[0] in _LEFT_OUT:
            continue
        full = f"{_ROOT}.{path}"
        if path in _OWN_FILES:
            module = importlib.import_module(full)
        else:
            module = types.ModuleType(full, f"Operators of `{path}`; see `{_ROOT}`.")
            module.__package__ = full
            module.__path__ = []
            sys.modules[full] = module
        parent, _, last = full.rpartition(".")
        setattr(sys.modules[parent], last, module)
        _equip(module, path)


def _name(schema: Schema) -> str | None:
    """Return the name of an operator in its module, or None if dynamic mode does not have it."""
    if schema.reader:
        return schema.class_name
    if schema.name in _NOT_CALLS:
        return None
    return schema.function


def _equip(module: types.ModuleType, path: str) -> None:
    """Give a module its functions and classes."""
    found: dict[str, str] = {}

    def names() -> dict[str, str]:
        if not found:
            for full in schemas.members(path).values():
                name = _name(schemas.lookup(full))
                if name is not None:
                    found[name] = full
        return found

    def getattr_(name: str) -> Any:
        full = names().get(name)
        if full is None:
            from bivouac._pipeline.refusals import nearest

            said = f"module {module.__name__!r} has no attribute {name!r}"
            remedy = nearest(name, names()) if not name.startswith("__") else ""
            raise AttributeError(f"{said}; {remedy}" if remedy else said)
        made = _make(full)
        setattr(module, name, made)
        return made

    def dir_() -> list[str]:
        return sorted({*module.__dict__, *(n for n in names() if not n.startswith("_"))})

    module.__getattr__ = getattr_  # type: ignore[method-assign]
    module.__dir__ = dir_  # type: ignore[method-assign]


def _make(full: str) -> Any:
    """Return the function of an operator, or the class of a reader."""
    from bivouac._dynamic import calls

    schema = schemas.lookup(full)
    if schema.reader:
        from bivouac._dynamic import readers

        return readers.reader_class(full)
    found = calls.operator(full)

    def function(*inputs: Any, **kwargs: Any) -> Any:
        return found(*inputs, **kwargs)

    function.__name__ = function.__qualname__ = schema.function
    function.__module__ = ".".join((_ROOT, *schema.module))
    function.__doc__ = functions.documentation(schema)
    setattr(function, "__signature__", _signature(schema))  # noqa: B010
    setattr(function, "_schema_name", schema.schema)  # noqa: B010
    return function


def _signature(schema: Schema) -> inspect.Signature:
    """Return the signature of the function of an operator."""
    kinds = inspect.Parameter
    params = []
    for param in functions.signature(schema).parameters.values():
        if param.name in ("name", "preserve", "bytes_per_sample_hint"):
            continue
        if param.name == "seed" and schema.random:
            continue
        if param.kind is kinds.KEYWORD_ONLY and param.default is not kinds.empty:
            param = param.replace(default=None)
        params.append(param)
    params.append(kinds("batch_size", kinds.KEYWORD_ONLY, default=None))
    if schema.random:
        params.append(kinds("rng", kinds.KEYWORD_ONLY, default=None))
    return inspect.Signature(params)
