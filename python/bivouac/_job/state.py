"""The state of a job: what is saved of it, and how it is filled on resume.

Objects with `state_dict` and `load_state_dict`, such as modules and optimizers of torch, are saved
as their state dictionary. Arrays and tensors are filled in place. Entries of dictionaries, elements
of lists and attributes are assigned again. Everything else is made anew.
"""

from __future__ import annotations

import dataclasses
import functools
import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from bivouac import errors
from bivouac._abstract import Abstract
from bivouac._job import generators, sharded, values
from bivouac._restore import rebuild
from bivouac._tree import (
    _jax_children,
    children,
    is_jax_array,
    is_jax_key,
    is_torch_tensor,
    type_text,
)

__all__ = [
    "abstract",
    "capture",
    "check",
    "fill",
    "generators_of",
    "set_state",
    "state_of",
]

Again = list[Callable[[], Any]]
"""Functions that set generators to where they were."""

Keys = tuple[str, ...]
Forms = dict[str, list[list[str]]]
"""Paths of what an item of arrays cannot tell, by what is there: "tensor", "tuple", "int keys"…"""


def is_stateful(value: Any) -> bool:
    """Report whether an object has `state_dict` and `load_state_dict`."""
    return not isinstance(value, type) and all(
        callable(getattr(value, name, None)) for name in ("state_dict", "load_state_dict")
    )


def _is_torch_generator(value: Any) -> bool:
    cls = getattr(sys.modules.get("torch"), "Generator", None)
    return cls is not None and isinstance(value, cls)


def _nnx(value: Any) -> Any:
    """Return flax.nnx if a value is an object of it, such as a module or an optimizer."""
    nnx = sys.modules.get("flax.nnx")
    cls = getattr(nnx, "Pytree", None) or getattr(nnx, "Object", None)
    return nnx if cls is not None and isinstance(value, cls) else None


def _is_array(value: Any) -> bool:
    return (
        isinstance(value, np.ndarray | np.generic) or is_torch_tensor(value) or is_jax_array(value)
    )


def _parts(value: Any, root: bool) -> tuple[str, list[Any], list[Any]] | None:
    """Return kind, keys and children of a container; None for a leaf. Kind "o" has attributes."""
    if value is None or isinstance(value, str | int | float | type) or _is_array(value):
        return None
    found = children(value)
    if found is not None:
        return found
    if isinstance(value, types.SimpleNamespace) or (root and hasattr(value, "__dict__")):
        attributes = {k: v for k, v in vars(value).items() if not k.startswith("_")}
        return "o", list(attributes), list(attributes.values())
    return None


def _name(key: Any, i: int) -> str:
    return str(i) if key is None else str(key)


def _convert(value: Any, leaf: Any, keys: Keys = ()) -> Any:
    """Return a tree in which special leaves are what `leaf(value, keys)` returns.

    The tree has the states of objects of flax.nnx in place of them.
    """
    nnx = _nnx(value)
    value = sharded.unwrapped(value) if nnx is None else nnx.state(value)
    special = is_stateful(value) or generators.is_generator(value) or _is_torch_generator(value)
    if special or isinstance(value, bool | int | float | str):
        return leaf(value, keys)
    if is_jax_array(value) and value.ndim == 0 and not is_jax_key(value):
        return leaf(value, keys)
    found = _parts(value, not keys)
    if found is None:
        return value
    kind, names, parts = found
    items = [
        _convert(part, leaf, (*keys, _name(names[i] if names else None, i)))
        for i, part in enumerate(parts)
    ]
    if kind == "o":
        return dict(zip(names, items))
    if all(new is old for new, old in zip(items, parts)):
        return value
    return rebuild(value, kind, names, items)


def capture(state: Any) -> tuple[Any, Forms]:
    """Return the tree of a state that is saved, and the forms of its state dictionaries."""
    forms: Forms = {}

    def leaf(value: Any, keys: Keys) -> Any:
        if isinstance(value, bool | int | float | str):
            return value
        if is_jax_array(value):
            forms.setdefault("jax", []).append(list(keys))
            return value
        if _is_torch_generator(value):
            return value.get_state()
        if not is_stateful(value):
            return generators.text_of(value)
        tree = value.state_dict()
        _note(tree, keys, forms)
        return tree

    return _convert(state, leaf), forms


def abstract(state: Any, described: Any = None) -> Any:
    """Return the tree that a load asks for.

    State dictionaries are loaded as they were saved, and numbers too: a counter that begins as a
    number may be an array of jax after the first step.

    Args:
      state: the state.
      described: the description of what was saved; it is needed for state dictionaries with
        DTensors.
    """

    def leaf(value: Any, keys: Keys) -> Any:
        if is_jax_array(value):
            return value
        if is_stateful(value):
            return sharded.wanted(value, sharded.at(described, keys))
        return "" if generators.is_generator(value) else None

    return _convert(state, leaf)


def generators_of(state: Any) -> list[tuple[Keys, Any]]:
    """Return the random generators in a state, with their paths."""
    found: list[tuple[Keys, Any]] = []

    def leaf(value: Any, keys: Keys) -> Any:
        if generators.is_generator(value) or _is_torch_generator(value):
            found.append((keys, value))
        return value

    _convert(state, leaf)
    return found


def state_of(generator: Any) -> Any:
    """Return the state of a random generator as JSON."""
    if _is_torch_generator(generator):
        return values.encode(generator.get_state(), "a random generator")
    return generators.text_of(generator)


def set_state(generator: Any, saved: Any) -> None:
    """Set a random generator to what `state_of` returned."""
    if _is_torch_generator(generator):
        generator.set_state(values.decode(saved))
    else:
        generators.set_text(generator, saved)


def check(state: Any) -> None:
    """Raise ValueError for a state that could not be saved. The error names the leaf."""
    tree, _ = capture(state)
    if tree is None or (isinstance(tree, dict | list | tuple) and not tree):
        raise errors.Invalid(
            op="bivouac.Job",
            subject="state",
            want="at least one leaf to save and restore",
            got="None" if tree is None else "an empty tree",
        )
    Abstract().flatten(tree, "state")


def _note(value: Any, keys: Keys, forms: Forms) -> None:
    """Record the forms of a state dictionary."""
    form = None
    if is_torch_tensor(value):
        form = "tensor"
    elif is_jax_array(value):
        form = "jax"
    elif isinstance(value, np.generic):
        form = "scalar"
    elif isinstance(value, tuple):
        form = "tuple"
    elif isinstance(value, dict) and value and all(type(key) is int for key in value):
        form = "int keys"
    if form is not None:
        forms.setdefault(form, []).append(list(keys))
    if value is None or isinstance(value, str | int | float) or _is_array(value):
        return
    if isinstance(value, dict | list) or type(value) is tuple:
        pairs = value.items() if isinstance(value, dict) else enumerate(value)
        for key, part in pairs:
            _note(part, (*keys, str(key)), forms)
        return
    raise errors.Invalid(
        op="bivouac.Job",
        subject=".".join(("state", *keys)),
        want="arrays, tensors, numbers, strings, None and dictionaries, lists and tuples of them",
        got=f"type {type_text(value)}",
        remedy="leave it out of state_dict()",
    )


class _Former:
    """A Former gives a state dictionary that was loaded its types back."""

    def __init__(self, forms: Forms, view: bool) -> None:
        self._forms = {tuple(keys): form for form, all_ in forms.items() for keys in all_}
        self._view = view

    def form(self, value: Any, keys: Keys) -> Any:
        """Return a value as it was before it was saved."""
        form = self._forms.get(keys)
        if isinstance(value, dict):
            items = {k: self.form(v, (*keys, k)) for k, v in value.items()}
            return {int(k): v for k, v in items.items()} if form == "int keys" else items
        if isinstance(value, list):
            parts = [self.form(v, (*keys, str(i))) for i, v in enumerate(value)]
            return tuple(parts) if form == "tuple" else parts
        if not isinstance(value, np.ndarray):
            return value
        if form == "tensor":
            return _tensor(value, self._view)
        if form == "jax":
            return sys.modules["jax"].numpy.asarray(value)
        if form == "scalar":
            return value[()]
        return value if self._view else value.copy()


def _tensor(array: np.ndarray[Any, Any], view: bool) -> Any:
    """Return a tensor of the elements of an array."""
    torch = sys.modules["torch"]
    name = array.dtype.name
    array = array if view else array.copy()
    try:
        return torch.from_numpy(array)
    except TypeError:  # bfloat16 and the like
        raw = array.view(np.int16 if array.dtype.itemsize == 2 else np.uint8)
        return torch.from_numpy(raw).view(getattr(torch, name))


def fill(target: Any, got: Any, forms: Forms, again: Again, keys: Keys = ()) -> Any:
    """Fill a state with what was loaded, and return it.

    Args:
      target: the state, or a part of it.
      got: a tree like `abstract(target)`.
      forms: what `capture` returned with the tree.
      again: takes functions that set the generators of the state once more.
      keys: path of the part.

    Raises:
      Mismatch: a state dictionary does not fit its object, or a leaf is of another kind.
    """
    if _is_torch_generator(target) or generators.is_generator(target):
        torch_state = _is_torch_generator(target)
        put = target.set_state if torch_state else functools.partial(generators.set_text, target)
        again.append(functools.partial(put, _tensor(got, view=False) if torch_state else got))
        again[-1]()
        return target
    if is_stateful(target):
        _load(sharded.unwrapped(target), got, forms, keys)
        return target
    if isinstance(target, bool | int | float | str):
        return _scalar(target, got, forms, keys)
    if is_torch_tensor(target):
        target.detach().copy_(got)
        return target
    if isinstance(target, np.ndarray) and target.flags.writeable:
        np.copyto(target, got, casting="equiv")
        return target
    nnx = _nnx(target)
    if nnx is not None:
        nnx.update(target, fill(nnx.state(target), got, forms, again, keys))
        return target
    found = _parts(target, not keys)
    if found is None:
        return got
    kind, names, olds = found
    got_parts = _parts(got, not keys)
    news = [] if got_parts is None else got_parts[2]
    items = [
        fill(old, new, forms, again, (*keys, _name(names[i] if names else None, i)))
        for i, (old, new) in enumerate(zip(olds, news))
    ]
    if all(new is old for new, old in zip(items, olds)):
        return target
    return _assign(target, kind, names, items)


def _scalar(target: Any, got: Any, forms: Forms, keys: Keys) -> Any:
    """Return a number or a string that was loaded where there is one already."""
    number = isinstance(got, bool | int | float) or (
        isinstance(got, np.ndarray) and got.ndim == 0 and got.dtype.kind in "biuf"
    )
    fits = isinstance(got, str) if isinstance(target, str) else number
    if got is None or (fits and not isinstance(got, np.ndarray)):
        return got
    if not fits:
        raise errors.Mismatch(
            op="bivouac.Job",
            subject=".".join(("state", *keys)),
            want=f"a value of type {type_text(target)}",
            got=f"a value of type {type_text(got)}",
            remedy="use the state of that run, or another directory",
        )
    jax = sys.modules.get("jax")
    if jax is not None and list(keys) in forms.get("jax", ()):
        return jax.numpy.asarray(got)
    return got[()]


def _assign(target: Any, kind: str, names: list[Any], items: list[Any]) -> Any:
    """Return a container with other children: the same container if it can be changed."""
    if isinstance(target, dict):
        target.update(zip(names, items))
        return target
    if isinstance(target, list):
        target[:] = items
        return target
    made: Any = getattr(target, "__dataclass_params__", None)
    settable = kind == "o" or (
        dataclasses.is_dataclass(target) and not made.frozen and _jax_children(target) is None
    )
    if settable:
        for name, item in zip(names, items):
            setattr(target, name, item)
        return target
    return rebuild(target, kind, names, items)


def _load(target: Any, got: Any, forms: Forms, keys: Keys) -> None:
    """Give an object its state dictionary."""
    module = getattr(sys.modules.get("torch.nn"), "Module", None)
    copies = module is not None and isinstance(target, module)
    state = _Former(forms, view=copies).form(got, keys)
    subject = ".".join(("state", *keys))
    if copies and isinstance(state, dict):
        own = target.state_dict()
        made = type(own)(state)
        if hasattr(own, "_metadata"):
            made._metadata = own._metadata
        state = made
    try:
        target.load_state_dict(state)
    except errors.BivouacError:
        raise
    except (RuntimeError, ValueError, KeyError, TypeError, AttributeError) as err:
        text = " ".join(str(err).split())
        raise errors.Mismatch(
            op="bivouac.Job",
            subject=subject,
            want=f"the state of {type_text(target)}",
            got=f"a state that it refuses: {type(err).__name__}: {text}",
            remedy="build the model of that run, or use another directory",
        ) from err
