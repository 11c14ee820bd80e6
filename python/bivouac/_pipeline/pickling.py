"""How sources reach worker processes that do not inherit them: pickled, functions also by value."""

from __future__ import annotations

import importlib.util
import inspect
import io
import marshal
import pickle
import sys
import types
from collections.abc import Callable
from typing import Any

from bivouac.errors import Invalid

__all__ = ["Pickler", "pickle_by_value", "pickler_of"]

_BY_VALUE = "_bivouac_pickle_by_value"

Pickler = tuple[Callable[..., Any], dict[str, Any], Callable[..., Any], dict[str, Any]]
"""A function that pickles and its options, and a function that unpickles and its options."""


def pickle_by_value(function: Any) -> Any:
    """Have a function of a module travel to workers as its code, not as its name."""
    if not inspect.isfunction(function):
        raise TypeError(f"pickle_by_value: want a function, got {type(function).__name__}")
    setattr(function, _BY_VALUE, True)
    return function


def pickler_of(given: Any) -> Pickler:
    """Return the pickler of `py_callback_pickler`.

    Args:
      given: an object with `dumps` and `loads`, or a tuple of it, the options of `dumps` and the
        options of `loads`. None is the pickler of this module.
    """
    if given is None:
        return dumps, {}, pickle.loads, {}
    parts = list(given) if isinstance(given, (tuple, list)) else [given]
    parts += [None] * (3 - len(parts))
    if len(parts) > 3 or not hasattr(parts[0], "dumps") or not hasattr(parts[0], "loads"):
        raise Invalid(
            subject="py_callback_pickler",
            want="an object with dumps and loads, or a tuple of it and the options of both",
            got=repr(given),
        )
    return parts[0].dumps, parts[1] or {}, parts[0].loads, parts[2] or {}


def dumps(value: Any) -> bytes:
    """Pickle a value. Lambdas, local functions and modules in it are pickled too."""
    file = io.BytesIO()
    _ByValue(file, pickle.HIGHEST_PROTOCOL).dump(value)
    return file.getvalue()


class _ByValue(pickle.Pickler):
    """A pickler that knows functions without a name in a module."""

    def reducer_override(self, value: Any) -> Any:
        """Implement Pickler."""
        if inspect.ismodule(value):
            spec = value.__spec__
            if spec is None:
                return NotImplemented
            return _module, (spec.name, spec.origin, spec.submodule_search_locations)
        if isinstance(value, types.CellType):
            try:
                return _cell, (), value.cell_contents, None, None, _fill_cell
            except ValueError:  # nothing is in it yet
                return _cell, ()
        if inspect.isfunction(value) and not _has_name(value):
            return _reduced(value)
        return NotImplemented


def _has_name(function: types.FunctionType) -> bool:
    """Report whether a worker finds a function by its name."""
    if getattr(function, _BY_VALUE, False) or function.__name__ == "<lambda>":
        return False
    try:
        pickle.dumps(function)
    except (AttributeError, pickle.PicklingError):
        return False
    return True


def _reduced(function: types.FunctionType) -> Any:
    """Return what makes a function again: its code, and the globals that the code names."""
    made = marshal.dumps(function.__code__), function.__name__, function.__closure__
    module = function.__module__
    names = _globals(function.__code__)
    state = {
        "globals": {n: function.__globals__[n] for n in names if n in function.__globals__},
        "attributes": {
            "__qualname__": function.__qualname__,
            "__defaults__": function.__defaults__,
            "__kwdefaults__": function.__kwdefaults__,
            "__module__": module,
        },
    }
    return _function, made, state, None, None, _fill_function


def _globals(code: types.CodeType) -> set[str]:
    """Return the names that a function and the functions in it may look up in the module."""
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names |= _globals(constant)
    return names


def _function(code: bytes, name: str, closure: Any) -> types.FunctionType:
    """Make a function that knows no globals yet, so that it may name itself."""
    found = {"__builtins__": __builtins__}
    return types.FunctionType(marshal.loads(code), found, name, None, closure)


def _fill_function(function: types.FunctionType, state: dict[str, Any]) -> None:
    """Give a function what it names."""
    function.__globals__.update(state["globals"])
    for name, value in state["attributes"].items():
        setattr(function, name, value)


def _cell() -> types.CellType:
    return types.CellType()


def _fill_cell(cell: types.CellType, value: Any) -> None:
    cell.cell_contents = value


def _module(name: str, origin: str | None, places: Any) -> Any:
    """Return a module, imported from where the trainer has imported it."""
    if name in sys.modules:
        return sys.modules[name]
    spec = None
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        pass
    if spec is None and origin is not None:
        spec = importlib.util.spec_from_file_location(
            name, origin, submodule_search_locations=places
        )
    if spec is None or spec.loader is None:
        raise ModuleNotFoundError(f"no module {name!r} in the worker process", name=name)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module
