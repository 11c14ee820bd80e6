"""Context, the options of a scope, and configure, the options of the process."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any, TypeVar

from bivouac.checkpoint import _engine
from bivouac.checkpoint import options as opts
from bivouac.checkpoint.options import _base

__all__ = ["Context", "configure", "get_context"]

_current: contextvars.ContextVar[Context | None] = contextvars.ContextVar(
    "bivouac.checkpoint.context", default=None
)
_process: Context | None = None
G = TypeVar("G")

_GROUPS: dict[str, tuple[str, Callable[[], Any]]] = {
    "pytree_options": ("pytree", opts.PyTreeOptions),
    "array_options": ("array", opts.ArrayOptions),
    "async_options": ("asynchronous", opts.AsyncOptions),
    "multiprocessing_options": ("multiprocessing", opts.MultiprocessingOptions),
    "file_options": ("file", opts.FileOptions),
    "checkpointables_options": ("checkpointables", opts.CheckpointablesOptions),
    "pathways_options": ("pathways", opts.PathwaysOptions),
    "deletion_options": ("deletion", opts.DeletionOptions),
    "memory_options": ("memory", opts.MemoryOptions),
    "safetensors_options": ("safetensors", opts.SafetensorsOptions),
    "atomicity_options": ("atomicity", opts.AtomicityOptions),
    "bivouac_options": ("bivouac", opts.BivouacOptions),
}


class Context:
    """The options of a scope.

    A context is a context manager. Calls inside the with statement use its options:

        ctx = Context()
        ctx.array.saving.use_zarr3 = False
        with ctx:
            save(path, state)

    A new context starts with the options of the context that is given, else with those of
    `configure`, else with the defaults. It does not inherit from the active context. It has copies,
    so later changes of the parent or of the arguments do not reach it. While a context is active,
    its options cannot be changed: RuntimeError. The active context belongs to the thread, or to the
    asyncio task; a new thread has none.
    """

    def __init__(
        self,
        context: Context | None = None,
        *,
        pytree_options: opts.PyTreeOptions | None = None,
        array_options: opts.ArrayOptions | None = None,
        async_options: opts.AsyncOptions | None = None,
        multiprocessing_options: opts.MultiprocessingOptions | None = None,
        file_options: opts.FileOptions | None = None,
        checkpointables_options: opts.CheckpointablesOptions | None = None,
        pathways_options: opts.PathwaysOptions | None = None,
        checkpoint_layout: opts.CheckpointLayout | str | None = None,
        deletion_options: opts.DeletionOptions | None = None,
        memory_options: opts.MemoryOptions | None = None,
        safetensors_options: opts.SafetensorsOptions | None = None,
        atomicity_options: opts.AtomicityOptions | None = None,
        bivouac_options: opts.BivouacOptions | None = None,
    ) -> None:
        """Make a context. A group that is not given is the parent's.

        Args:
          context: the parent; None takes the options of `configure`, or the defaults.
          pytree_options: structure of trees.
          array_options: storage of arrays.
          async_options: saves in the background.
          multiprocessing_options: jobs of several processes.
          file_options: directories and files.
          checkpointables_options: handlers of items.
          pathways_options: Pathways clusters.
          checkpoint_layout: family of formats, or its name.
          deletion_options: deletions.
          memory_options: bounds of memory.
          safetensors_options: reading of safetensors files.
          atomicity_options: how a save becomes visible.
          bivouac_options: options that Orbax does not have.
        """
        given = dict(locals())
        parent = context or _process
        self._depth = 0
        self._lock = threading.Lock()
        self._groups: dict[str, Any] = {}
        for name, (attribute, make) in _GROUPS.items():
            group = given[name]
            if group is None:
                group = make() if parent is None else parent._groups[attribute]
            elif not isinstance(group, type(make())):
                raise TypeError(f"Context: {name}: want {type(make()).__name__}, got {group!r}")
            self._groups[attribute] = _base.clone(group, self._is_active)
        self._layout: opts.CheckpointLayout
        inherited = opts.CheckpointLayout.ORBAX if parent is None else parent._layout
        self._layout = inherited if checkpoint_layout is None else _layout(checkpoint_layout)

    def _is_active(self) -> bool:
        return self._depth > 0

    def __enter__(self) -> Context:
        """Make this the active context of the thread or task."""
        token = _current.set(self)
        with self._lock:
            self._depth += 1
        _tokens.set((*_tokens.get(), token))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Make the context before this one active again."""
        *rest, token = _tokens.get()
        _tokens.set(tuple(rest))
        _current.reset(token)
        with self._lock:
            self._depth -= 1

    @property
    def pytree(self) -> opts.PyTreeOptions:
        """The structure of trees."""
        return self._group("pytree", opts.PyTreeOptions)

    @property
    def array(self) -> opts.ArrayOptions:
        """The storage of arrays."""
        return self._group("array", opts.ArrayOptions)

    @property
    def asynchronous(self) -> opts.AsyncOptions:
        """Saves in the background."""
        return self._group("asynchronous", opts.AsyncOptions)

    @property
    def multiprocessing(self) -> opts.MultiprocessingOptions:
        """Jobs of several processes."""
        return self._group("multiprocessing", opts.MultiprocessingOptions)

    @property
    def file(self) -> opts.FileOptions:
        """Directories and files."""
        return self._group("file", opts.FileOptions)

    @property
    def checkpointables(self) -> opts.CheckpointablesOptions:
        """Handlers of items."""
        return self._group("checkpointables", opts.CheckpointablesOptions)

    @property
    def pathways(self) -> opts.PathwaysOptions:
        """Pathways clusters."""
        return self._group("pathways", opts.PathwaysOptions)

    @property
    def deletion(self) -> opts.DeletionOptions:
        """Deletions."""
        return self._group("deletion", opts.DeletionOptions)

    @property
    def memory(self) -> opts.MemoryOptions:
        """Bounds of memory."""
        return self._group("memory", opts.MemoryOptions)

    @property
    def safetensors(self) -> opts.SafetensorsOptions:
        """Reading of safetensors files."""
        return self._group("safetensors", opts.SafetensorsOptions)

    @property
    def atomicity(self) -> opts.AtomicityOptions:
        """How a save becomes visible."""
        return self._group("atomicity", opts.AtomicityOptions)

    @property
    def bivouac(self) -> opts.BivouacOptions:
        """Options that Orbax does not have."""
        return self._group("bivouac", opts.BivouacOptions)

    @property
    def checkpoint_layout(self) -> opts.CheckpointLayout:
        """The family of formats. It can be set to a member or to its name."""
        return self._layout

    @checkpoint_layout.setter
    def checkpoint_layout(self, value: opts.CheckpointLayout | str) -> None:
        if self._is_active():
            raise RuntimeError(
                "Context.checkpoint_layout: the options of an active Context cannot change"
                " (set them before the with statement)"
            )
        self._layout = _layout(value)

    # The names of the arguments, which Orbax also has as properties.
    pytree_options = pytree
    array_options = array
    async_options = asynchronous
    multiprocessing_options = multiprocessing
    file_options = file
    checkpointables_options = checkpointables
    pathways_options = pathways
    deletion_options = deletion
    memory_options = memory
    safetensors_options = safetensors

    def _group(self, name: str, kind: type[G]) -> G:
        group = self._groups[name]
        assert isinstance(group, kind)
        return group

    def as_json(self) -> dict[str, Any]:
        """Return the options that differ from the defaults, as `docs/guide/options.md` spells them.

        Functions and registries have no text form and are left out.
        """
        out: dict[str, Any] = {}
        if self._layout is not opts.CheckpointLayout.ORBAX:
            out["checkpoint_layout"] = self._layout.value
        for name, group in self._groups.items():
            fields = _base.as_json(group)
            if name == "array":
                storage = group.saving.storage_options.wire()
                if storage:
                    fields.setdefault("saving", {})["storage_options"] = storage
            elif name == "bivouac":
                fields, apart = group.wire()
                if apart:
                    out.setdefault("asynchronous", {}).update(apart)
            if fields:
                out.setdefault(name, {}).update(fields)
        return out


_tokens: contextvars.ContextVar[tuple[contextvars.Token[Context | None], ...]] = (
    contextvars.ContextVar("bivouac.checkpoint.tokens", default=())
)


def _layout(value: opts.CheckpointLayout | str) -> opts.CheckpointLayout:
    return opts.CheckpointLayout(value)


def get_context(default: Context | None = None) -> Context:
    """Return the active context: of the thread or task, else default, else of `configure`."""
    return _current.get() or default or _process or Context()


def configure(context: Context | None) -> Callable[[], None]:
    """Make a context what calls of this process use when no other context is active.

    Args:
      context: the options; they are copied. None takes back what was configured.

    Returns:
      A function that puts back what was configured before.
    """
    global _process
    before = _process
    _process = None if context is None else Context(context)

    def restore() -> None:
        global _process
        _process = before

    return restore


def _hook() -> dict[str, Any] | None:
    return get_context().as_json() or None


_engine.current_context = _hook
