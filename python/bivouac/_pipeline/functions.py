"""The modules of `bivouac.fn` and `bivouac.ops`, filled from what the client knows of operators.

A function or class is made at its first use.
"""

from __future__ import annotations

import inspect
import sys
import types
from collections.abc import Callable
from typing import Any

from bivouac._pipeline import operators, schemas
from bivouac._pipeline.enums import DALIDataType, DALIImageType, DALIInterpType
from bivouac._pipeline.schemas import Parameter, Schema

__all__ = ["fill", "make_class", "make_function"]

Maker = Callable[[str], Any]


def fill(root: str, make: Maker, name_of: Callable[[Schema], str]) -> None:
    """Fill a package with the modules of operators.

    Args:
      root: the name of the package.
      make: makes a function or class from the full name of an operator.
      name_of: returns the name of the function or class in its module.
    """
    _equip(sys.modules[root], "", make, name_of)
    for module in schemas.modules():
        full = f"{root}.{module}"
        made = types.ModuleType(full, f"Operators of `{module}`; see `{root}`.")
        made.__package__ = full
        made.__path__ = []
        sys.modules[full] = made
        parent, _, last = full.rpartition(".")
        setattr(sys.modules[parent], last, made)
        _equip(made, module, make, name_of)


def _equip(
    module: types.ModuleType, path: str, make: Maker, name_of: Callable[[Schema], str]
) -> None:
    """Give a module its functions or classes."""
    found: dict[str, str] = {}

    def names() -> dict[str, str]:
        if not found:
            full = schemas.members(path).values()
            found.update({name_of(schemas.lookup(name)): name for name in full})
        return found

    def getattr_(name: str) -> Any:
        full = names().get(name)
        if full is None:
            from bivouac._pipeline.refusals import nearest

            text = f"module {module.__name__!r} has no attribute {name!r}"
            remedy = nearest(name, names()) if not name.startswith("__") else ""
            raise AttributeError(f"{text}; {remedy}" if remedy else text)
        made = make(full)
        setattr(module, name, made)
        return made

    def dir_() -> list[str]:
        return sorted({*module.__dict__, *(n for n in names() if not n.startswith("_"))})

    module.__getattr__ = getattr_  # type: ignore[method-assign]
    module.__dir__ = dir_  # type: ignore[method-assign]


def make_function(name: str) -> Any:
    """Return the function of an operator."""
    schema = schemas.lookup(name)

    def function(*inputs: Any, **kwargs: Any) -> Any:
        return operators.function(name, inputs, kwargs)

    function.__name__ = function.__qualname__ = schema.function
    function.__module__ = ".".join(("bivouac.fn", *schema.module))
    function.__doc__ = documentation(schema)
    setattr(function, "__signature__", signature(schema))  # noqa: B010
    setattr(function, "_schema_name", schema.schema)  # noqa: B010
    return function


def make_class(name: str) -> Any:
    """Return the class of an operator."""
    made = operators.operator_class(name)
    made.__doc__ = documentation(made.schema)
    return made


def signature(schema: Schema) -> inspect.Signature:
    """Return the signature of the function of an operator."""
    kinds = inspect.Parameter
    params = []
    for i, port in enumerate(schema.inputs):
        optional = i >= schema.min
        if i == len(schema.inputs) - 1 and schema.max > len(schema.inputs):
            params.append(kinds(port.name, kinds.VAR_POSITIONAL))
            continue
        default = None if optional else kinds.empty
        params.append(kinds(f"__{port.name}", kinds.POSITIONAL_ONLY, default=default))
    for extra in ("device", "name"):
        params.append(kinds(extra, kinds.KEYWORD_ONLY, default=None))
    for param in sorted(schema.params.values(), key=lambda p: p.name):
        if param.name not in ("device", "name"):
            default = kinds.empty if param.required else default_of(param)
            params.append(kinds(param.name, kinds.KEYWORD_ONLY, default=default))
    return inspect.Signature(params)


def default_of(param: Parameter) -> Any:
    """Return the default of an argument as the program gives it."""
    kinds = {"dtype": DALIDataType, "image": DALIImageType, "interp": DALIInterpType}
    kind = kinds.get(param.type.removesuffix("s"))
    if param.type == "floats" and param.default is not None:
        return [float(x) for x in param.default]
    if param.type == "float" and param.default is not None:
        return float(param.default)
    if kind is None or param.default is None:
        return param.default
    if isinstance(param.default, list):
        return [kind[name] for name in param.default]
    return kind[param.default]


def documentation(schema: Schema) -> str:
    """Return the documentation of an operator."""
    lines = [schema.doc]
    if schema.deprecated:
        lines += ["", f"Deprecated: {schema.deprecated}."]
    for title, ports in (("Inputs:", schema.inputs), ("Outputs:", schema.outputs)):
        if ports:
            lines += ["", title, *(f"  {port.name}: {port.doc}." for port in ports)]
    if schema.params:
        lines += ["", "Arguments:"]
        lines += [f"  {p.name}: {p.doc}" for p in schema.params.values()]
    return "\n".join(lines)
