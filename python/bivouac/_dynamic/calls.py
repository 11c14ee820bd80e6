"""Calls of operators: what a program gives becomes numbers of values and of operators."""

from __future__ import annotations

import functools
import os
import sys
import warnings
from typing import Any

import numpy as np

from bivouac import errors
from bivouac._dynamic import context, dtypes, random
from bivouac._dynamic import device as _device
from bivouac._dynamic import session as _session
from bivouac._dynamic.batches import Batch
from bivouac._dynamic.session import Handle, Scope, Session
from bivouac._dynamic.values import Tensor
from bivouac._pipeline import arguments, asked, message, schemas
from bivouac._pipeline.refusals import WrongType, nearest
from bivouac._pipeline.schemas import Parameter
from bivouac._pipeline.tensors import TensorListCPU

__all__ = ["Operator", "call", "handle_of", "invoke", "operator", "place"]

_ARGUMENT_TYPES = {"bool": dtypes.bool, "int": dtypes.int32, "float": dtypes.float32}
_LEFT_OUT = frozenset(("bytes_per_sample_hint", "preserve", "name"))
_PACKAGE = "bivouac."
_RANDOM_TYPES = {
    "random.uniform": dtypes.float32,
    "random.normal": dtypes.float32,
    "random.beta": dtypes.float32,
    "random.coin_flip": dtypes.int32,
}
"""Types of random numbers where the call has no dtype."""


class Operator:
    """An Operator knows how to call an operator of dynamic mode."""

    def __init__(self, name: str) -> None:
        self.schema = schema = schemas.lookup(name)
        self.name = name
        self.display = ".".join(("bivouac.dynamic", *schema.module, schema.function))
        self.params: dict[str, Parameter] = {
            key: param for key, param in schema.params.items() if key not in _LEFT_OUT
        }
        if schema.random:
            self.params.pop("seed", None)
        self.required = [p.name for p in self.params.values() if p.required]

    def __call__(self, *inputs: Any, **kwargs: Any) -> Any:
        """Call the operator. See the function in `bivouac.dynamic`."""
        batch_size = kwargs.pop("batch_size", None)
        device = kwargs.pop("device", None)
        if device is not None and device != "cpu":
            _device.device(device)
        rng = kwargs.pop("rng", None) if self.schema.random else None
        kwargs.pop("max_batch_size", None)
        for key in kwargs:
            if key not in self.params:
                raise self._unknown(key)
        batch_size = _agree(batch_size, inputs, kwargs)
        schema = self.schema
        if schema.schema == "BatchPermutation" and batch_size is None:
            raise errors.Invalid(op=self.display, want="batch_size", got="none")
        values = [value for value in inputs if value is not None]
        if not schema.min <= len(values) <= schema.max:
            most = f"{schema.min} to {schema.max}" if schema.max > schema.min else f"{schema.min}"
            raise WrongType(subject=f"inputs of {self.display}", want=most, got=str(len(values)))
        fixed: dict[str, Any] = {}
        fed: dict[str, Any] = {}
        for key, value in kwargs.items():
            if value is None:
                continue
            kind = type(value)
            if kind in _plain:
                fixed[key] = value
            elif kind in _values:
                fed[key] = value
            else:
                self._separate(key, value, fixed, fed)
        session = _session.current()
        scope = context.scope()
        given: list[Handle] = [handle_of(value, session, scope) for value in values]
        names = tuple(fed)
        for key in names:
            given.append(self._argument(key, fed[key], session, scope))
        draw = random.draw(rng) if schema.random else None
        found = self._find(session, fixed, len(values), names)
        return invoke(session, scope, found, given, batch_size, draw, self._hint(fixed))

    def _unknown(self, key: str) -> WrongType:
        return WrongType(
            subject=f"argument {key!r} of {self.display}",
            got="an argument that the operator does not have",
            remedy=nearest(key, [*self.params, "batch_size", "device"]),
        )

    def _separate(self, key: str, value: Any, fixed: dict[str, Any], fed: dict[str, Any]) -> None:
        """Put an argument to the constants, or to those that may differ per sample."""
        if isinstance(value, (dtypes.DType, _device.Device)) or isinstance(value, type):
            fixed[key] = _plain_type(key, self.display, value)
        elif isinstance(value, (Tensor, Batch, TensorListCPU)) or arguments._is_fed(value):
            param = self.params[key]
            if param.sample:
                fed[key] = value
            elif isinstance(value, (Tensor, Batch, TensorListCPU)):
                arguments.check_input(self.schema, self.display, key)
            else:
                fixed[key] = np.asarray(value).tolist()
        else:
            fixed[key] = value

    def _argument(self, key: str, value: Any, session: Session, scope: Scope) -> Handle:
        """Return an argument that may differ per sample, in the type that it has."""
        arguments.check_input(self.schema, self.display, key)
        dtype = _ARGUMENT_TYPES.get(self.params[key].type.removesuffix("s"))
        if not isinstance(value, (Tensor, Batch, TensorListCPU)):
            return handle_of(Tensor(value, dtype=dtype), session, scope)
        if dtype is not None and not isinstance(value, TensorListCPU) and value._dtype != dtype:
            value = call("cast", value, dtype=dtype)
        return handle_of(value, session, scope)

    def _find(
        self, session: Session, fixed: dict[str, Any], positional: int, names: tuple[str, ...]
    ) -> tuple[int, int]:
        """Return the number and the outputs of the operator with these constants."""
        key: Any = (self.name, positional, names, *fixed, *map(_frozen, fixed.values()))
        try:
            found = session.operator(key)
        except TypeError:  # of a value that cannot be a key
            key = found = None
        if found is not None:
            return found
        return self._add(session, key, fixed, positional, names)

    def _add(
        self,
        session: Session,
        key: Any,
        fixed: dict[str, Any],
        positional: int,
        names: tuple[str, ...],
    ) -> tuple[int, int]:
        """Add the operator with these constants."""
        for name in self.required:
            if name not in fixed and name not in names:
                raise WrongType(
                    subject=f"argument {name!r} of {self.display}", want="a value", got="none"
                )
        given = arguments.resolve(self.schema, self.display, fixed)
        args = arguments.encode(self.schema, self.display, given)
        edges = [message.Edge(f"input {i}", "cpu") for i in range(positional)]
        renamed = {n: self.schema.params[n].renamed or n for n in names}
        edges += [message.Edge(f"argument {n}", "cpu", renamed[n]) for n in names]

        def made() -> message.Operator:
            return message.Operator(self.schema.written, edges, [], args, "call")

        outputs = len(self.schema.outputs)
        if self.schema.asked:
            outputs = asked.number(self.schema, args, positional, made)
        if self.schema.deprecated:
            with warnings.catch_warnings():
                warnings.simplefilter("default")
                text = f"`{self.display}` is deprecated: {self.schema.deprecated}."
                warnings.warn(text, DeprecationWarning, stacklevel=4)
        return session.add_operator(key, asked.alone(made()), outputs)

    def _hint(self, fixed: dict[str, Any]) -> dtypes.DType | None:
        """Return the type of the outputs if it is known without computing them."""
        given = fixed.get("dtype")
        if given is None:
            return _RANDOM_TYPES.get(self.name)
        if self.name == "cast" or self.name in _RANDOM_TYPES:
            return dtypes.dtype(given)
        return None


_plain = frozenset((bool, int, float, str))
_values = frozenset((Tensor, Batch))
_builtins = {bool: dtypes.bool.type_id}


def _plain_type(key: str, display: str, value: Any) -> Any:
    """Return a type or device as operators take them."""
    if isinstance(value, _device.Device):
        return value.device_type
    if isinstance(value, dtypes.DType):
        if value.type_id is None:
            raise errors.Invalid(
                subject=f"argument {key} of {display}", want="a type of operators", got=str(value)
            )
        return value.type_id
    if value in (int, float, str):
        raise errors.Invalid(
            subject=f"argument {key} of {display}",
            want="a type such as int32 or float32",
            got=f"Python's {value.__name__}",
        )
    return _builtins.get(value) or dtypes.dtype(value).type_id


def _frozen(value: Any) -> Any:
    """Return what tells a constant from others."""
    kind = type(value)
    if kind is float:
        return value if value and value == value else repr(value)
    if kind is list or kind is tuple:
        return tuple(map(_frozen, value))
    return value


def _agree(batch_size: Any, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> int | None:
    """Return the size of the batches of a call, or None for Tensors."""
    found: int | None = None if batch_size is None else int(batch_size)
    if found is not None and found < 1:
        raise errors.Invalid(subject="batch_size", want="at least 1", got=str(found))
    for value in (*inputs, *kwargs.values()):
        size = None
        if isinstance(value, Batch):
            size = value._n
        elif isinstance(value, TensorListCPU):
            size = len(value)
        if size is None or size == found:
            continue
        if found is not None:
            raise errors.Invalid(
                subject="batches of a call", want=f"{found} samples each", got=str(size)
            )
        found = size
    return found


def invoke(
    session: Session,
    scope: Scope,
    operator: tuple[int, int],
    inputs: list[Handle],
    batch_size: int | None,
    draw: str | None = None,
    hint: dtypes.DType | None = None,
) -> Any:
    """Note a call, and return its value, or a tuple of its values.

    Args:
      session: where the call is noted.
      scope: how it is computed.
      operator: the number and the outputs of the operator with its constants.
      inputs: the inputs, and then the arguments that may differ per sample.
      batch_size: of the outputs; None for Tensors.
      draw: the state of the generator before the call.
      hint: the type of the outputs, if it is known.
    """
    number, outputs = operator
    first = session.number(outputs)
    note: list[Any] = [
        0, number, first, batch_size or 0, [h.number for h in inputs], session.site(place()),
    ]  # fmt: skip
    if draw is not None:
        note.append(draw)
    if outputs == 1 and scope.mode != "sync":  # most calls
        handle = Handle(session, first)
        session.note(note, scope)
        if batch_size is None:
            return Tensor._remote(handle, hint)
        return Batch._remote(handle, batch_size, hint)
    made = [Handle(session, first + i) for i in range(outputs)]
    session.note(note, scope)
    results: list[Any]
    if batch_size is None:
        results = [Tensor._remote(handle, hint) for handle in made]
    else:
        results = [Batch._remote(handle, batch_size, hint) for handle in made]
    if scope.mode == "sync":
        for result in results:
            result.evaluate()
    return results[0] if outputs == 1 else tuple(results)


def handle_of(value: Any, session: Session, scope: Scope) -> Handle:
    """Return the number of a value in the side-car. What is no value becomes one."""
    if isinstance(value, (Tensor, Batch)):
        return value._in(session, scope)
    if isinstance(value, TensorListCPU):
        return Batch(value)._in(session, scope)
    return Tensor(value)._in(session, scope)


def place() -> tuple[str, int]:
    """Return the file and line of the program that makes a call.

    Its caller, and the caller's caller, are functions of this package.
    """
    frame = sys._getframe(3)
    while True:
        name = frame.f_code.co_filename
        own = _own.get(name)
        if own is None:
            inside = frame.f_globals.get("__name__", "").startswith(_PACKAGE)
            own = _own[name] = inside and os.path.isfile(name)
        back = frame.f_back if own else None
        if back is None:
            return name, frame.f_lineno
        frame = back


_own: dict[str, bool] = {}
"""Whether files, by their names, are of this package."""


@functools.lru_cache(maxsize=None)
def operator(name: str) -> Operator:
    """Return an operator by its full name. An unknown name is a KeyError."""
    return Operator(name)


def call(name: str, *inputs: Any, **kwargs: Any) -> Any:
    """Call an operator by its full name."""
    return operator(name)(*inputs, **kwargs)
