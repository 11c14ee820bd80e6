"""The built-in handlers.

The server does their work in saves and loads. Their methods are for handlers that are made of them,
and write the same files.
"""

from __future__ import annotations

import importlib
import json
import pathlib
import shutil
import sys
import tempfile
from collections.abc import Awaitable, Iterator
from typing import TYPE_CHECKING, Any

from bivouac.checkpoint import _engine, _walk
from bivouac.checkpoint._leaves import Leaves
from bivouac.checkpoint.errors import UnregisteredTypeError
from bivouac.checkpoint.handlers import _types
from bivouac.checkpoint.path import Path, PathAwaitingCreation
from bivouac.errors import Invalid, NotFound

if TYPE_CHECKING:
    from bivouac.checkpoint.serialization import LeafHandlerRegistry

_CONTEXT = "bivouac.checkpoint._context"
_HANDLERS = "orbax.checkpoint.experimental.v1._src.handlers."


async def _of(value: Any) -> Any:
    return value


def is_message(value: Any) -> bool:
    """Return True for a message of protocol buffers."""
    message = sys.modules.get("google.protobuf.message")
    return message is not None and isinstance(value, message.Message)


def is_message_type(value: Any) -> bool:
    """Return True for a class of messages of protocol buffers."""
    message = sys.modules.get("google.protobuf.message")
    return message is not None and isinstance(value, type) and issubclass(value, message.Message)


class PyTreeHandler:
    """A handler of trees of arrays, numbers and strings."""

    _orbax_typestr = _HANDLERS + "pytree_handler.PyTreeHandler"

    def __init__(
        self,
        *,
        context: Any = None,
        array_metadata_validator: None = None,
        leaf_handler_registry: LeafHandlerRegistry | None = None,
        partial_save_mode: bool = False,
    ) -> None:
        """Make a handler.

        Args:
          context: a `Context` with options; None takes the active one.
          array_metadata_validator: refused unless None; the server validates.
          leaf_handler_registry: the leaf handlers; None takes those of the options.
          partial_save_mode: refused unless False; use module `partial`.
        """
        given = {
            "array_metadata_validator": array_metadata_validator,
            "partial_save_mode": partial_save_mode or None,
        }
        for name, value in given.items():
            if value is not None:
                raise Invalid(op="PyTreeHandler", subject=name, want="the default", got=repr(value))
        self._context = context
        self._registry = leaf_handler_registry

    def _leaves(self) -> Leaves | None:
        """Return the leaf handlers of a call."""
        context = self._context or importlib.import_module(_CONTEXT).get_context()
        return Leaves.of(context, self._registry)

    def _args(self) -> dict[str, Any]:
        return {} if self._context is None else {"context": self._context.as_json()}

    async def save(self, directory: PathAwaitingCreation, checkpointable: Any) -> Awaitable[None]:
        """Save a tree, and return an awaitable that moves its files into the directory."""
        self.validate_leaves_handleable(checkpointable)
        private = pathlib.Path(tempfile.mkdtemp(prefix="bivouac-tree-"))
        args = {"path": str(private / "tree"), **self._args()}
        call = _engine.start_save(
            "save",
            {"state": checkpointable},
            background=False,
            args=args,
            leaves=self._leaves(),
        )

        async def finish() -> None:
            try:
                call.result()
                there = await directory.await_creation()
                for entry in (private / "tree" / "state").iterdir():
                    shutil.move(str(entry), str(there / entry.name))
            finally:
                shutil.rmtree(private, ignore_errors=True)

        return finish()

    async def load(self, directory: Path, abstract_checkpointable: Any = None) -> Awaitable[Any]:
        """Return an awaitable that loads the tree of a directory."""
        args = {"path": str(directory), "item": None, "allow_no_manifest": True, **self._args()}
        leaves = self._leaves()
        return _of(_engine.load("load", args, abstract=abstract_checkpointable, leaves=leaves))

    async def metadata(self, directory: Path) -> Any:
        """Return the tree of a directory with descriptions as leaves."""
        from bivouac.checkpoint import _describe

        context = self._args().get("context")
        found = _describe.info(directory, context, allow_no_manifest=True)
        args = {"path": str(directory), "context": context, "allow_no_manifest": True}
        return _describe.item_tree(_describe.pick(found, None), args, self._leaves())

    def is_handleable(self, checkpointable: Any) -> bool:
        """Return True for a tree whose leaves can all be saved."""
        if _types.saves_itself(checkpointable) or is_message(checkpointable):
            return False
        return next(self._strange(checkpointable), None) is None

    def is_abstract_handleable(self, abstract_checkpointable: Any) -> bool:
        """Return True for a tree whose leaves describe arrays, numbers and strings."""
        a = abstract_checkpointable
        if _types.saves_itself(a) or is_message(a) or is_message_type(a):
            return False
        return next(self._strange_wishes(a), None) is None

    def validate_leaves_handleable(self, checkpointable: Any) -> None:
        """Raise `UnregisteredTypeError`, a ValueError, if a leaf cannot be saved."""
        self._refuse(self._strange(checkpointable))

    def validate_abstract_leaves_handleable(self, abstract_checkpointable: Any) -> None:
        """Raise `UnregisteredTypeError`, a ValueError, if a leaf describes nothing."""
        self._refuse(self._strange_wishes(abstract_checkpointable))

    def _strange(self, tree: Any) -> Iterator[tuple[Any, Any]]:
        """Yield path and value of each leaf that cannot be saved."""
        leaves = self._leaves()
        takes = None if leaves is None else leaves.takes
        for at, leaf in _walk.leaves(tree, takes):
            if not (_walk.is_leaf_value(leaf) or (takes is not None and takes(leaf))):
                yield at, leaf

    def _strange_wishes(self, tree: Any) -> Iterator[tuple[Any, Any]]:
        """Yield path and value of each leaf that describes nothing."""
        leaves = self._leaves()
        takes = None if leaves is None else leaves.describes
        for at, leaf in _walk.leaves(tree, takes):
            if not (_walk.is_abstract_leaf(leaf) or (takes is not None and takes(leaf))):
                yield at, leaf

    def _refuse(self, strange: Iterator[tuple[Any, Any]]) -> None:
        """Raise an error for the first of some leaves."""
        for at, leaf in strange:
            raise UnregisteredTypeError(
                op="PyTreeHandler",
                subject=".".join(_walk.key_text(k) for k in at),
                want="an array, a number or a string, or a type with a leaf handler",
                got=type(leaf).__name__,
                remedy="add a leaf handler to the leaf_handler_registry of PyTreeOptions",
            )


class JsonHandler:
    """A handler of JSON: dictionaries, lists, strings, numbers, booleans and None."""

    _orbax_typestr = _HANDLERS + "json_handler.JsonHandler"
    _files: tuple[str, ...] = ("data.json", "metadata")

    def __init__(self, filename: str | None = None) -> None:
        """Make a handler.

        Args:
          filename: name of the file; None means data.json.
        """
        if filename is not None:
            self._files = (filename,)

    async def save(self, directory: PathAwaitingCreation, checkpointable: Any) -> Awaitable[None]:
        """Encode the value, and return an awaitable that writes it."""
        text = json.dumps(checkpointable)

        async def write() -> None:
            there = await directory.await_creation()
            (there / self._files[0]).write_text(text, encoding="utf-8")

        return write()

    async def load(self, directory: Path, abstract_checkpointable: None = None) -> Awaitable[Any]:
        """Return an awaitable that reads the value."""
        del abstract_checkpointable
        for name in self._files:
            if (directory / name).exists():
                return _of(json.loads((directory / name).read_text(encoding="utf-8")))
        raise NotFound(op="JsonHandler.load", subject=str(directory), want=" or ".join(self._files))

    async def metadata(self, directory: Path) -> None:
        """Return None: JSON has no description."""

    def is_handleable(self, checkpointable: Any) -> bool:
        """Return True for a value that is JSON."""
        try:
            json.dumps(checkpointable)
        except (TypeError, ValueError, RecursionError):
            return False
        return True

    def is_abstract_handleable(self, abstract_checkpointable: Any) -> bool | None:
        """Return None: the type string decides."""
        return None


class MetricsHandler(JsonHandler):
    """The handler of the item "metrics" of a step."""

    _orbax_typestr = _HANDLERS + "json_handler.MetricsHandler"
    _files = ("metrics",)


class ProtoHandler:
    """A handler of messages of protocol buffers. The file has the message in text form."""

    _orbax_typestr = _HANDLERS + "proto_handler.ProtoHandler"

    def __init__(self, filename: str = "proto.pbtxt") -> None:
        """Make a handler.

        Args:
          filename: name of the file.
        """
        self._file = filename

    async def save(self, directory: PathAwaitingCreation, checkpointable: Any) -> Awaitable[None]:
        """Encode the message, and return an awaitable that writes it."""
        text = proto_text(checkpointable)

        async def write() -> None:
            there = await directory.await_creation()
            (there / self._file).write_text(text, encoding="utf-8")

        return write()

    async def load(
        self, directory: Path, abstract_checkpointable: type[Any] | None = None
    ) -> Awaitable[Any]:
        """Return an awaitable that reads the message.

        Args:
          directory: directory of the file.
          abstract_checkpointable: class of the message; ValueError if it is None.
        """
        text = (directory / self._file).read_text(encoding="utf-8")
        return _of(parse_proto(text, abstract_checkpointable))

    async def metadata(self, directory: Path) -> type[Any]:
        """Raise NotImplementedError: the file does not name the class of its message."""
        raise NotImplementedError("ProtoHandler.metadata: the file does not name its message")

    def is_handleable(self, checkpointable: Any) -> bool:
        """Return True for a message."""
        return is_message(checkpointable)

    def is_abstract_handleable(self, abstract_checkpointable: Any) -> bool:
        """Return True for a class of messages."""
        return is_message_type(abstract_checkpointable)


class StatefulCheckpointableHandler:
    """The handler of objects that save and load themselves."""

    _orbax_typestr = _HANDLERS + "stateful_checkpointable_handler.StatefulCheckpointableHandler"

    async def save(self, directory: PathAwaitingCreation, checkpointable: Any) -> Awaitable[None]:
        """Have the object save itself."""
        result: Awaitable[None] = await checkpointable.save(directory)
        return result

    async def load(self, directory: Path, abstract_checkpointable: Any = None) -> Awaitable[Any]:
        """Have the object load itself, and return an awaitable of the object."""
        if abstract_checkpointable is None:
            raise Invalid(
                op="load_checkpointables",
                subject=directory.name,
                want="the object that loads itself",
                got="None",
                remedy="pass an object as the abstract value of the item",
            )

        async def finish() -> Any:
            second = await abstract_checkpointable.load(directory)
            if second is not None:
                await second
            return abstract_checkpointable

        return finish()

    async def metadata(self, directory: Path) -> None:
        """Raise NotImplementedError: such an object has no description."""
        raise NotImplementedError("a StatefulCheckpointable has no metadata")

    def is_handleable(self, checkpointable: Any) -> bool:
        """Return True for an object that saves itself."""
        return _types.saves_itself(checkpointable)

    def is_abstract_handleable(self, abstract_checkpointable: Any) -> bool:
        """Return True for an object that loads itself."""
        return _types.saves_itself(abstract_checkpointable)


def _text_format() -> Any:
    return importlib.import_module("google.protobuf.text_format")


def proto_text(message: Any) -> str:
    """Return a message in text form."""
    return str(_text_format().MessageToString(message))


def parse_proto(text: str, message_type: type[Any] | None) -> Any:
    """Return the message of a text; ValueError if there is no class of the message."""
    if message_type is None:
        raise Invalid(
            op="load_checkpointables",
            want="the class of the message",
            got="None",
            remedy="pass the class as the abstract value of the item",
        )
    return _text_format().Parse(text, message_type())
