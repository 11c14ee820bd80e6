"""Readers of dynamic mode: data sets, batch by batch or sample by sample, with DALI's states."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator
from typing import Any, ClassVar

from bivouac import errors
from bivouac._call import Call
from bivouac._dynamic import arrays, context, dtypes
from bivouac._dynamic import device as _device
from bivouac._dynamic import session as _session
from bivouac._dynamic.batches import Batch
from bivouac._dynamic.session import Handle, Session
from bivouac._dynamic.values import Tensor
from bivouac._failures import of_call
from bivouac._pipeline import arguments, asked, functions, message, schemas
from bivouac._pipeline.refusals import BrokenGraph, WrongType, nearest
from bivouac._pipeline.schemas import Schema

__all__ = ["Reader", "ReaderState", "reader_class"]

_LEFT_OUT = ("bytes_per_sample_hint", "preserve")


class ReaderState:
    """A ReaderState is the state of a reader. `str` is its text, which `set_state` takes too."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"ReaderState({self._text!r})"

    def __eq__(self, other: object) -> bool:
        if isinstance(other, (ReaderState, str)):
            return str(other) == self._text
        return NotImplemented

    def __hash__(self) -> int:
        return hash(self._text)


class _Open:
    """An _Open is a reader in the side-car. It is closed with the last reference to it."""

    __slots__ = ("number", "session")

    def __init__(self, session: Session, number: int) -> None:
        self.session = session
        self.number = number

    def __del__(self) -> None:
        # It only appends, so that it never blocks in a collection.
        self.session.dropped_readers.append(self.number)


class Reader:
    """A Reader reads a data set. Classes of `bivouac.dynamic.readers` derive from it.

    It is read in one way: batches of one size, samples, or calls.

    Args:
      batch_size: the size of batches, if `next_epoch` does not say it.
      name: a name for errors.
      device: the CPU.
      shard_id, num_shards, stick_to_shard: which part of the data set is read; see the operator.
      enable_checkpointing: the reader has states. `Checkpoint.register` does the same.
      kwargs: arguments of the operator.
    """

    schema: ClassVar[Schema]

    def __init__(
        self,
        batch_size: int | None = None,
        name: str | None = None,
        device: Any = "cpu",
        *,
        enable_checkpointing: bool = False,
        **kwargs: Any,
    ) -> None:
        _device.device(device)
        kwargs.pop("num_inputs", None)
        most = kwargs.pop("max_batch_size", None)
        schema = type(self).schema
        self._display = f"bivouac.dynamic.{schema.name.rpartition('.')[0]}.{schema.class_name}"
        self._name = name or self._display
        self._batch_size = batch_size
        self._most = most
        self._checkpointing = bool(enable_checkpointing)
        self._check_shards(kwargs)
        self._message, self._outputs, self._keys = self._encode(kwargs)
        self._open: _Open | None = None
        self._begun = False  # an iteration has begun
        self._way: str | None = None
        self._capture: bool | None = None
        self._size: int | None = None  # of the batches
        self._state: str | None = None  # that the next iteration begins at
        self._call: Call | None = None  # the next batch, whose wait was interrupted
        self._first = 0  # number of its first output
        self._ahead = 0  # calls of a captured loop that were made before the program made them
        self._taken = 0  # number of the last call whose batch was delivered
        self._epochs = itertools.count(1)
        self._calls: Iterator[Any] | None = None  # what `__call__` takes from

    def _check_shards(self, given: dict[str, Any]) -> None:
        number, shard = given.get("num_shards"), given.get("shard_id")
        number, shard = 1 if number is None else number, 0 if shard is None else shard
        if number < 1:
            raise errors.Invalid(subject="num_shards", want="at least 1", got=str(number))
        if not 0 <= shard < number:
            raise errors.Invalid(subject="shard_id", want=f"0 to {number - 1}", got=str(shard))

    def _encode(self, given: dict[str, Any]) -> tuple[str, int, list[str] | None]:
        """Return the serialized reader, the number of its outputs, and their names if they have."""
        schema, keys = type(self).schema, None
        fixed: dict[str, Any] = {}
        if "TFRecord" in schema.schema:
            features = given.get("features")
            if not isinstance(features, dict):
                raise WrongType(
                    subject="features", want="a dictionary of features", got=repr(features)
                )
            keys = list(features)
            given = {**given, "feature_names": keys, "features": list(features.values())}
            for name in ("path", "index_path"):
                if isinstance(given.get(name), str):
                    given[name] = [given[name]]
        for name, value in given.items():
            if value is None:
                continue
            known = name in schema.params and name not in _LEFT_OUT or name == "feature_names"
            if not known:
                raise WrongType(
                    subject=f"argument {name!r} of {self._display}",
                    got="an argument that the reader does not have",
                    remedy=nearest(name, schema.params),
                )
            if isinstance(value, Batch):
                raise errors.Invalid(
                    subject=f"argument {name!r} of {self._display}",
                    want="a constant",
                    got="a Batch",
                )
            if isinstance(value, (dtypes.DType, type)):
                value = dtypes.dtype(value).type_id
            elif isinstance(value, Tensor) or arrays.is_array(value):
                value = Tensor(value)._elements().tolist()
            fixed[name] = value
        for param in schema.params.values():
            if param.required and param.name not in fixed:
                raise WrongType(
                    subject=f"argument {param.name!r} of {self._display}",
                    want="a value",
                    got="none",
                )
        resolved = arguments.resolve(schema, self._display, fixed)
        args = arguments.encode(schema, self._display, resolved)

        def made() -> message.Operator:
            return message.Operator(schema.written, [], [], args, "reader")

        outputs = len(schema.outputs)
        if schema.asked:
            outputs = asked.number(schema, args, 0, made)
        return asked.alone(made()), outputs, keys

    # The reader in the side-car.

    def _opened(self) -> _Open:
        """Return the reader in the side-car. It is made at the first use."""
        held = self._open
        if held is not None:
            held.session._check()
            if held.session is not _session.current():
                raise errors.Closed(
                    op=self._name,
                    subject="reader",
                    got="a side-car that has ended",
                    remedy="make the reader again, and set the state that was saved last",
                )
            return held
        session = _session.current()
        try:
            value = session.link.call(
                "dynamic.reader", graph=self._message, checkpointing=self._checkpointing or None
            )
        except errors.BivouacError as err:
            raise of_call(err) from None
        self._open = _Open(session, value["reader"])
        return self._open

    def _ask(self, op: str, **args: Any) -> dict[str, Any]:
        """Make a call about the reader. The batch of an interrupted wait comes first."""
        held = self._opened()
        call = self._call
        if call is not None:
            call._until(lambda: call._outcome is not None, None)
        try:
            return held.session.link.call(f"dynamic.{op}", reader=held.number, **args)
        except errors.BivouacError as err:
            raise of_call(err) from None

    # Checkpoints.

    def _enable_checkpointing(self) -> None:
        """Have states. It is too late after the first batch."""
        if self._checkpointing:
            return
        if self._capture:
            raise errors.Unsupported(
                op=self._name, subject="checkpointing", got="a reader that is captured"
            )
        if self._begun:
            raise self._not_enabled()
        self._checkpointing = True

    def _not_enabled(self) -> BrokenGraph:
        return BrokenGraph(
            op=self._name,
            want="a reader with enable_checkpointing=True",
            got="one that began without it",
        )

    def get_state(self, *, cuda_stream: Any = None) -> ReaderState:
        """Return the state after the last batch, or sample, that was delivered.

        Raises:
          RuntimeError: nothing was read yet, or the reader has no states.
        """
        del cuda_stream
        if not self._begun:
            raise BrokenGraph(
                op=self._name, want="a reader that has begun", got="none", remedy="call next_epoch"
            )
        if not self._checkpointing:
            raise self._not_enabled()
        return ReaderState(self._ask("state")["state"])

    def set_state(self, state: Any) -> None:
        """Begin at a state, which is a ReaderState or its text.

        Raises:
          RuntimeError: the reader has begun.
          ValueError: a text is no state.
          TypeError: the state is of another type.
        """
        if isinstance(state, bytes):
            state = state.decode("ascii")
        if not isinstance(state, (ReaderState, str)):
            raise WrongType(
                subject="state of a reader", want="a ReaderState or str", got=type(state).__name__
            )
        if self._begun:
            raise BrokenGraph(
                op=self._name,
                want="a reader that has not begun",
                got="one that has delivered batches",
                remedy="set the state of a new reader, before next_epoch",
            )
        self._ask("restore", state=str(state))
        self._checkpointing = True

    def get_metadata(self, batch_size: int | None = None) -> dict[str, int]:
        """Return the sizes of the data set and its shards."""
        del batch_size
        return self._ask("metadata")

    # Iteration.

    def _use(self, way: str) -> None:
        """Note how the reader is read. It is read in one way."""
        if self._way is None:
            self._way = way
        elif self._way != way:
            raise BrokenGraph(
                op=self._name,
                want=f"{self._way}, as before",
                got=way,
                remedy="make another reader for it",
            )

    def next_epoch(
        self,
        batch_size: int | None = None,
        ctx: context.EvalContext | None = None,
        capture: bool = False,
    ) -> Iterator[Any]:
        """Return an iterator over the next epoch: of batches, or of samples without a batch size.

        An epoch is the shard of the reader. The last batch is full: it has the first samples of the
        next epoch. One iterator is in use at a time.

        Args:
          batch_size: the size of batches; by default that of the reader.
          ctx: the context in which the body of the loop makes its calls.
          capture: the batches are the same. While the loop uses a batch, the side-car reads the
            next one and makes the calls of the last step for it. A call that differs is made anew.
            The reader has no states, and a batch that was read ahead is lost when the loop is left.
        """
        size = self._batch_size if batch_size is None else batch_size
        if capture:
            if self._checkpointing:
                raise errors.Unsupported(
                    op=self._name, subject="capture", got="a reader with checkpointing"
                )
            if size is None:
                raise errors.Invalid(
                    op=self._name, subject="capture", want="a batch_size", got="none"
                )
        if self._capture not in (None, capture):
            raise BrokenGraph(
                op=self._name, want=f"capture={self._capture}, as before", got=f"capture={capture}"
            )
        self._capture = capture
        return self._epoch(size, ctx)

    def _epoch(self, size: int | None, ctx: context.EvalContext | None) -> Iterator[Any]:
        self._use("samples" if size is None else "batches")
        if ctx is None:
            ctx = context.EvalContext.current()
        with ctx:
            yield from self._read(size)

    def _read(self, size: int | None) -> Iterator[Any]:
        """Yield what the reader delivers up to the end of the epoch."""
        self._begin(size)
        epoch = next(self._epochs)
        while True:
            outputs = self._next(epoch, size)
            if outputs is None:
                return
            yield outputs

    def _begin(self, size: int | None) -> None:
        """Check the size of batches, and make the reader if there is none."""
        if size is not None:
            if not isinstance(size, int) or size < 1:
                raise errors.Invalid(
                    op=self._name, subject="batch_size", want="at least 1", got=str(size)
                )
            if self._size is not None and size != self._size:
                raise errors.Invalid(
                    op=self._name,
                    subject="batch_size",
                    want=f"{self._size}, as before",
                    got=str(size),
                )
            if self._most is not None and size > self._most:
                raise errors.Invalid(
                    op=self._name, subject="batch_size", want=f"at most {self._most}", got=str(size)
                )
            self._size = size
        self._opened()
        if self._checkpointing and not self._begun:
            self._ask("enable")

    def _next(self, epoch: int, size: int | None) -> Any:
        """Return the outputs of the next batch or sample, or None at the end of the epoch.

        If the wait is interrupted, the next call returns the batch.
        """
        held = self._opened()
        session = held.session
        under_way = self._call or self._sent(session)
        if under_way is None:
            self._first = session.number(max(1, self._outputs))
            after = session.sent() if self._capture else None
            under_way = session.link.start(
                "dynamic.next",
                hook=self._hook,
                reader=held.number,
                epoch=epoch,
                first=self._first,
                batch=size,
                after=after,
            )
            self._call = under_way
        call = under_way
        call._until(lambda: call._outcome is not None, None)
        # No signal handler can run between these two lines.
        self._taken = call.number
        self._call = None
        try:
            value = call.result()
        except errors.BivouacError as err:
            self._begun = self._begun or self._ask("begun")["begun"]
            raise of_call(err) from None
        self._begun = True
        self._ahead += value.get("ahead", 0)
        if value.get("ended"):
            return None
        handles = [Handle(session, self._first + i) for i in range(value["outputs"])]
        outputs: list[Any]
        if size is None:
            outputs = [Tensor._remote(handle) for handle in handles]
        else:
            outputs = [Batch._remote(handle, size) for handle in handles]
        if self._keys is not None:
            return dict(zip(self._keys, outputs))
        return tuple(outputs)

    def _hook(self, call: Call, event: str) -> None:
        """Keep a batch that came. It is the hook of its call."""
        if event == "end" and call.number > self._taken:
            self._call = call

    def _sent(self, session: Session) -> Call | None:
        """Return the call for a batch that an interrupt has left under way."""
        for call in list(session.link._calls.values()):
            if call._hook == self._hook:
                return call
        return None

    def __call__(self, *, batch_size: int | None = None) -> Any:
        """Return the next batch, or the next sample without a batch size, of any epoch."""
        self._use("calls")
        size = self._batch_size if batch_size is None else batch_size
        if self._calls is None:
            self._calls = itertools.chain.from_iterable(self._read(size) for _ in itertools.count())
        elif size != self._size:
            raise errors.Invalid(
                op=self._name, subject="batch_size", want=f"{self._size}, as before", got=str(size)
            )
        return next(self._calls)

    def __repr__(self) -> str:
        return f"<{self._display}>"


@functools.lru_cache(maxsize=None)
def reader_class(name: str) -> type[Reader]:
    """Return the class of a reader by its full name, such as "readers.file"."""
    schema = schemas.lookup(name)
    body = {
        "schema": schema,
        "__doc__": functions.documentation(schema),
        "__module__": ".".join(("bivouac.dynamic", *schema.module)),
    }
    return type(schema.class_name, (Reader,), body)
