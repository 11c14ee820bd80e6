"""The engine of checkpoints: trees in, calls to the side-car out, and back.

Modules of this package build on these functions. They are not part of the public API.

    start_save(op, items, background=…, args=…) -> Call
    load(op, args, abstract=…, into=…) -> tree
    load_items(op, args, items) -> dict
    context_json() -> dict or None

`op` is an operation of docs/format/serve.md, such as "save" or "training.save". `args` are its
arguments other than the trees: path, overwrite, custom, checkpointer, step… The engine adds
`context` from `current_context` unless `args` has it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

from bivouac import _client, _exit, _processes, _rooms, errors
from bivouac._arena import Arenas, Lease, map_memory
from bivouac._client import Call, Connection
from bivouac._restore import Mapped, Memory, Restorer, check_targets
from bivouac._tree import PLACEHOLDER, Abstract, Flattener

__all__ = [
    "PLACEHOLDER",
    "Wire",
    "absolute",
    "context_json",
    "current_context",
    "load",
    "load_items",
    "start_save",
]


class Wire(dict[str, Any]):
    """A Wire is an item that has the form of the protocol already.

    Examples are `Wire({"json": text})`, `Wire({"proto": text})` and
    `Wire({"files": directory, "type": "a.b.C"})`. Every other value of `items` is a tree.
    """


current_context: Callable[[], Mapping[str, Any] | None] | None = None
"""The hook that module options sets. It returns the JSON of the active options, or None."""


def context_json() -> dict[str, Any] | None:
    """Return the JSON of the active options, or None if there are none."""
    if current_context is None:
        return None
    value = current_context()
    return None if value is None else dict(value)


def absolute(path: str | os.PathLike[str]) -> str:
    """Return a path as the protocol wants it: a string that is absolute."""
    return os.path.abspath(os.fspath(path))


def _arguments(args: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments with the context, and with absolute paths."""
    out = dict(args)
    if "context" not in out:
        out["context"] = context_json()
    if isinstance(out.get("path"), os.PathLike):
        out["path"] = absolute(out["path"])
    return out


def start_save(
    op: str,
    items: Mapping[str, Any],
    *,
    background: bool,
    args: Mapping[str, Any],
    connection: Connection | None = None,
    on_event: Callable[[dict[str, Any]], None] | None = None,
) -> Call:
    """Start a save and return its call after the side-car has accepted it.

    The function copies the arrays of all trees into shared memory, so the caller may change them
    as soon as it returns. It raises what speaks against the save (the target exists, a leaf is not
    supported). A save that a policy declines is a call that has ended with `{"saved": False}`.

    Args:
      op: "save", "partial.save" or "training.save".
      items: trees, or `Wire` values, by name.
      background: the caller returns before the save ends. Such a save is waited for at exit. If it
        is false, the caller waits with `.result()`, and an interrupt there cancels the save.
      args: other arguments of the operation.
      connection: the connection of a checkpointer; None takes that of the process.
      on_event: is called with each event of the save, such as its progress.
    """
    job = args.get("processes")
    flattener = Flattener(follows=job is not None and job["index"] != job.get("primary", 0))
    several = len(items) > 1
    sent: dict[str, Any] = {}
    for name, item in items.items():
        if isinstance(item, Wire):
            sent[name] = dict(item)
        else:
            sent[name] = {"tree": flattener.flatten(item, name if several else "")}
    out = _arguments(args)
    out["items"] = sent
    link = connection or _client.connection()
    if job is not None:
        _processes.attend(link)
    lease: Lease | None = None
    try:
        if flattener.size > 0:
            lease = arenas(link).filled(flattener.size, flattener.copies)
            flattener.copies.clear()
            out["arena"] = lease.number
        hook = None if lease is None else lease.hook
        call = link.start(op, on_event=on_event, hook=hook, **out)
    except BaseException:
        # If the call was sent, the side-car reads the arena until the hook releases it.
        if lease is not None and not link.has_hook(lease.hook):
            lease.release()
        raise
    call.cancel_on_interrupt = True
    call.wait_accepted()
    if background:
        call.cancel_on_interrupt = False
        what = str(out.get("path") or f"step {out.get('step')}")
        _exit.track(call, what)
    return call


def arenas(link: Connection) -> Arenas:
    """Return the arenas of a connection."""
    if link.arenas is None:
        link.arenas = Arenas(link)
    return link.arenas


def _abstract_node(abstract: Any, into: Any, name: str = "") -> Any:
    """Return the node of what a load asks for, or None for all."""
    if abstract is not None and into is not None:
        raise errors.Invalid(op="load", want="abstract or into", got="both")
    if into is not None:
        check_targets(into)
        return Abstract().flatten(into, name)
    return None if abstract is None else Abstract().flatten(abstract, name)


def _run(
    op: str, args: Mapping[str, Any], connection: Connection | None
) -> tuple[dict[str, Any], Restorer]:
    """Call a load and return its value, and the restorer of its memory."""
    link = connection or _client.connection()
    call = link.start(op, memory=_rooms.argument(link), **_arguments(args))
    call.cancel_on_interrupt = True
    value = call.result()
    memory: Memory | None = call.rooms
    if call.fds:
        memory = Mapped(map_memory(call.fds, value["bytes"]))
    return value, Restorer(memory)


def load(
    op: str,
    args: Mapping[str, Any],
    *,
    abstract: Any = None,
    into: Any = None,
    connection: Connection | None = None,
    report: list[Any] | None = None,
) -> Any:
    """Load a tree and return it.

    Args:
      op: "load", "training.load" or "load_transform".
      args: other arguments of the operation.
      abstract: a tree that says what to load and as which types; None loads all as saved.
      into: a tree whose arrays and tensors are filled in place. All shapes and dtypes are checked
        before anything is written. If the load fails later, what was written stays.
      connection: the connection of a checkpointer; None takes that of the process.
      report: a list that takes the entries of the load's report.
    """
    out = dict(args)
    node = _abstract_node(abstract, into)
    if node is not None:
        out["abstract"] = node
    value, restorer = _run(op, out, connection)
    if report is not None:
        report.extend(value.get("report") or [])
    if into is not None:
        return restorer.into(value["tree"], into)
    if abstract is not None:
        return restorer.like(value["tree"], abstract)
    return restorer.plain(value["tree"])


def load_items(
    op: str,
    args: Mapping[str, Any],
    items: Mapping[str, Any] | None = None,
    *,
    connection: Connection | None = None,
    report: list[Any] | None = None,
) -> dict[str, Any]:
    """Load items and return them by name.

    Args:
      op: "load_items" or "training.load_items".
      args: other arguments of the operation.
      items: what to load, by name: an abstract tree, None (as the stored type says), or a `Wire`
        such as `Wire({"json": True})`. None loads every item. A result that is not a tree comes
        back as the `Wire` that the side-car sent.
      connection: the connection of a checkpointer; None takes that of the process.
      report: a list that takes the entries of the load's report.
    """
    out = dict(args)
    if items is not None:
        asked: dict[str, Any] = {}
        for name, item in items.items():
            if item is None or isinstance(item, Wire):
                asked[name] = item
            else:
                asked[name] = {"tree": _abstract_node(item, None, name)}
        out["items"] = asked
    value, restorer = _run(op, out, connection)
    if report is not None:
        report.extend(value.get("report") or [])
    loaded: dict[str, Any] = {}
    for name, item in value["items"].items():
        wanted = None if items is None else items.get(name)
        if "tree" not in item:
            loaded[name] = Wire(item)
        elif wanted is None or isinstance(wanted, Wire):
            loaded[name] = restorer.plain(item["tree"])
        else:
            loaded[name] = restorer.like(item["tree"], wanted)
    return loaded
