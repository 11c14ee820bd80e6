"""The protocol of leaf handlers, and what its methods receive."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Awaitable, Sequence
from typing import Any, Generic, Protocol, TypeVar, runtime_checkable

from bivouac.checkpoint._walk import key_text
from bivouac.checkpoint.path import Path, PathAwaitingCreation
from bivouac.checkpoint.tree import PyTreeKeyPath

LeafT = TypeVar("LeafT")
AbstractT = TypeVar("AbstractT")


def name_of(keypath: PyTreeKeyPath) -> str:
    """Return the name of a leaf: its keys with dots between."""
    return ".".join(key_text(key) for key in keypath)


class ByteLimiter:
    """A bound of the bytes that a handler works on at a time, in one event loop.

    Who wants more bytes than the bound gets them when nobody else has any.
    """

    def __init__(self, most: int | None = None) -> None:
        """Make a limiter.

        Args:
          most: the bound; None means no bound.
        """
        self._most = most
        self._held = 0
        self._changed = asyncio.Condition()

    async def wait_for_bytes(self, requested_bytes: int) -> None:
        """Wait until the bytes are free, and take them."""
        if self._most is None:
            return
        most = self._most
        async with self._changed:
            await self._changed.wait_for(
                lambda: not self._held or self._held + requested_bytes <= most
            )
            self._held += requested_bytes

    async def release_bytes(self, requested_bytes: int) -> None:
        """Give bytes back."""
        if self._most is None:
            return
        async with self._changed:
            self._held -= requested_bytes
            self._changed.notify_all()


@dataclasses.dataclass
class SerializationParam(Generic[LeafT]):
    """A leaf to save.

    Attributes:
      keypath: path of the leaf. If JAX is imported, its keys are those of `jax.tree_util`.
      value: the leaf.
    """

    keypath: PyTreeKeyPath
    value: LeafT

    @property
    def name(self) -> str:
        """The name of the leaf: its keys with dots between."""
        return name_of(self.keypath)


@dataclasses.dataclass
class DeserializationParam(Generic[AbstractT]):
    """A leaf to load.

    Attributes:
      keypath: path of the leaf.
      value: what the caller wants: a description of the leaf, the class of the description, or None
        for the leaf as it was saved.
    """

    keypath: PyTreeKeyPath
    value: AbstractT | type[AbstractT] | None = None

    @property
    def name(self) -> str:
        """The name of the leaf: its keys with dots between."""
        return name_of(self.keypath)


@dataclasses.dataclass
class SerializationContext:
    """Where and how leaves are saved.

    Attributes:
      parent_dir: a private directory. The server moves its files into the item.
      ts_context: None; Orbax has a context of TensorStore here.
      byte_limiter: bounds the bytes that are written at a time.
      device_host_byte_limiter: bounds the bytes that are copied from devices at a time.
    """

    parent_dir: PathAwaitingCreation
    ts_context: Any = None
    byte_limiter: ByteLimiter | None = None
    device_host_byte_limiter: ByteLimiter | None = None


@dataclasses.dataclass
class DeserializationContext:
    """Where and how leaves are loaded.

    Attributes:
      parent_dir: a private copy of the files that leaf handlers wrote. It is removed after the
        load. The files of arrays are not in it.
      ocdbt_checkpoint: the arrays of the tree are in a database.
      zarr3_checkpoint: the arrays of the tree are in zarr v3.
      ts_context: None; Orbax has a context of TensorStore here.
      byte_limiter: bounds the bytes that are read at a time.
    """

    parent_dir: Path
    ocdbt_checkpoint: bool
    zarr3_checkpoint: bool
    ts_context: Any = None
    byte_limiter: ByteLimiter | None = None


@runtime_checkable
class LeafHandler(Protocol[LeafT, AbstractT]):
    """A leaf handler saves and loads the leaves of one type in a tree.

    The class is made with the keyword argument `context`, the `Context` of the call. Its type
    string, the module and the qualified name of the class, is recorded with each leaf, unless the
    registry has other type strings for it.

    A method receives all leaves of the handler in a tree at once, in the order of `jax.tree`:
    dictionaries by their keys. Its files are named below `parent_dir`. They must not have the names
    of files of the tree.
    """

    async def serialize(
        self,
        params: Sequence[SerializationParam[LeafT]],
        serialization_context: SerializationContext,
    ) -> Awaitable[None]:
        """Copy what the caller may change, and return an awaitable that writes the files.

        `save_async` returns after the first phase, this coroutine. The awaitable runs in a thread
        of Bivouac, in the same event loop. The checkpoint is committed after it. If either raises,
        nothing is saved, and the caller of the save gets the exception.
        """
        ...

    async def deserialize(
        self,
        params: Sequence[DeserializationParam[AbstractT]],
        deserialization_context: DeserializationContext,
    ) -> Awaitable[Sequence[LeafT]]:
        """Return an awaitable of the leaves, in the order of `params`."""
        ...

    async def metadata(
        self,
        params: Sequence[DeserializationParam[None]],
        deserialization_context: DeserializationContext,
    ) -> Sequence[AbstractT]:
        """Return the descriptions of leaves, in the order of `params`."""
        ...
