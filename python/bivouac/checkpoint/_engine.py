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
from bivouac._abstract import Abstract
from bivouac._arena import Arenas, Lease, map_memory
from bivouac._client import Call, Connection
from bivouac._restore import Mapped, Memory, Restorer, check_targets
from bivouac._tree import PLACEHOLDER, Flattener
from bivouac._url import absolute
from bivouac.checkpoint import _leaves, _phases
from bivouac.checkpoint._leaves import Leaves

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


def _arguments(args: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments with the context, and with absolute paths."""
    out = dict(args)
    if "context" not in out:
        out["context"] = context_json()
    if isinstance(out.get("path"), os.PathLike):
        out["path"] = absolute(out["path"])
    return out


def _is_on(args: Mapping[str, Any], direction: str, name: str) -> bool:
    """Report whether an option of arrays is set in arguments that have a context."""
    return bool(((args["context"] or {}).get("array") or {}).get(direction, {}).get(name))


def start_save(
    op: str,
    items: Mapping[str, Any],
    *,
    background: bool,
    args: Mapping[str, Any],
    connection: Connection | None = None,
    on_event: Callable[[dict[str, Any]], None] | None = None,
    leaves: Leaves | None = None,
) -> Call:
    """Start a save and return its call after the side-car has accepted it.

    The function copies the arrays of all trees, and runs the first phase of leaf handlers, so the
    caller may change the trees as soon as it returns. It raises what speaks against the save (the
    target exists, a leaf is not supported). A save that a policy declines is a call that has ended
    with `{"saved": False}`.

    Args:
      op: "save", "partial.save" or "training.save".
      items: trees, or `Wire` values, by name.
      background: the caller returns before the save ends. Such a save is waited for at exit. If it
        is false, the caller waits with `.result()`, and an interrupt there cancels the save.
      args: other arguments of the operation.
      connection: the connection of a checkpointer; None takes that of the process.
      on_event: is called with each event of the save, such as its progress.
      leaves: the leaf handlers; None if there are none.
    """
    job = args.get("processes")
    follows = job is not None and job["index"] != job.get("primary", 0)
    writings: list[_phases.Writing] = []
    try:
        call = _send_save(op, items, args, connection, on_event, leaves, follows, writings)
        call.cancel_on_interrupt = True
        call.wait_accepted()
    except BaseException:
        for writing in writings:
            writing.over()
        raise
    for writing in writings:
        if not call.done():  # a policy may have declined the save
            writing.go()
    if background:
        call.cancel_on_interrupt = False
        what = str(args.get("path") or f"step {args.get('step')}")
        _exit.track(call, what)
    return call


def _send_save(
    op: str,
    items: Mapping[str, Any],
    args: Mapping[str, Any],
    connection: Connection | None,
    on_event: Callable[[dict[str, Any]], None] | None,
    leaves: Leaves | None,
    follows: bool,
    writings: list[_phases.Writing],
) -> Call:
    """Copy the trees and send the call of a save. `writings` takes the saves of leaf handlers."""
    out = _arguments(args)
    flattener = Flattener(
        follows=follows,
        leaf_type=None if leaves is None else leaves.type_of,
        stages=True,
        replicas=args.get("processes") is not None
        and _is_on(out, "saving", "use_replica_parallel"),
    )
    several = len(items) > 1
    sent: dict[str, Any] = {}
    for name, item in items.items():
        if isinstance(item, Wire):
            sent[name] = dict(item)
        else:
            sent[name] = {"tree": flattener.flatten(item, name if several else "")}
    if leaves is not None:
        for name, item in items.items():
            writing = None if isinstance(item, Wire) else leaves.write(item)
            if writing is not None:
                writings.append(writing)
                sent[name]["files"] = str(writing.directory)
                if follows:
                    writing.follow()
    out["items"] = sent
    link = connection or _client.connection()
    if args.get("processes") is not None:
        _processes.attend(link)
    if writings:
        _phases.register(link)
    lease: Lease | None = None
    try:
        if flattener.size > 0:
            moves = flattener.moves
            lease = arenas(link).filled(flattener.size, flattener.copies, moves)
            flattener.copies.clear()
            flattener.moves.clear()
            out["arena"] = lease.number
        hook = None if lease is None else lease.hook
        call = link.start(op, on_event=on_event, hook=hook, **out)
        if writings:
            call.origin = lambda: _phases.first_error(writings)
        for writing in writings:
            call.add_done_callback(writing.over)
        return call
    except BaseException:
        # If the call was sent, the side-car reads the arena until the hook releases it.
        if lease is not None and link.call_with(lease.hook) is None:
            lease.release()
        raise


def arenas(link: Connection) -> Arenas:
    """Return the arenas of a connection."""
    if link.arenas is None:
        link.arenas = Arenas(link)
    return link.arenas


def _asked(
    abstract: Any, into: Any, leaves: Leaves | None, known: _leaves.Recorded | None, name: str = ""
) -> tuple[Any, bool]:
    """Return the node of what a load asks for, or None for all, and whether it is for devices."""
    if abstract is not None and into is not None:
        raise errors.Invalid(op="load", want="abstract or into", got="both")
    wanted = abstract
    if into is not None:
        check_targets(into, describes=None if leaves is None else leaves.describes)
        wanted = into
    handled = None if leaves is None else leaves.handled(known)
    if wanted is None:
        return None, False
    walk = Abstract(handled)
    return walk.flatten(wanted, name), walk.devices


def _recorded(
    op: str, args: dict[str, Any], connection: Connection | None
) -> dict[str, _leaves.Recorded]:
    """Return which leaves of the items of a checkpoint leaf handlers have saved.

    The step in the arguments of a checkpointer's load becomes the number of the step.
    """
    same = ("path", "checkpointer", "step", "item", "salvage", "allow_no_manifest", "context")
    given = {name: value for name, value in _arguments(args).items() if name in same}
    link = connection or _client.connection()
    op = "training.metadata" if op.startswith("training.") else "metadata"
    value = link.call(op, **given)
    if "step" in value:
        args["step"] = value["step"]
    trees = [item for item in value["info"]["items"] if item["kind"] == "tree"]
    return {item["name"]: _leaves.recorded(item.get("tree")) for item in trees}


def _refuse_broadcast(op: str) -> None:
    """Raise an error if there are other processes, to which one would have to send arrays."""
    job = _processes.world()
    if job is not None:
        raise errors.Unsupported(
            op=op,
            subject="array.loading.use_load_and_broadcast",
            want=f"a load in which each of the {job.count} processes reads what it asks for",
            got="True",
            remedy="leave it False; a Go program can broadcast, with package cluster/peer",
        )


def _run(
    op: str,
    args: dict[str, Any],
    connection: Connection | None,
    leaves: Leaves | None,
    devices: bool,
) -> tuple[dict[str, Any], Restorer]:
    """Call a load and return its value, and the restorer of its memory.

    A load for devices comes in shared memory, which is registered with them.
    """
    if leaves is not None:
        args["leaf_types"] = leaves.types() or None
    full = _arguments(args)
    if op != "load_transform" and _is_on(full, "loading", "use_load_and_broadcast"):
        _refuse_broadcast(op)
    link = connection or _client.connection()
    memory_of_ours = None if devices else _rooms.argument(link)
    call = link.start(op, memory=memory_of_ours, **full)
    call.cancel_on_interrupt = True
    value = call.result()
    memory: Memory | None = call.rooms
    if call.fds:
        memory = Mapped(map_memory(call.fds, value["bytes"]))
    describes = None if leaves is None else leaves.describes
    return value, Restorer(memory, describes, value.get("layout", ""))


def load(
    op: str,
    args: Mapping[str, Any],
    *,
    abstract: Any = None,
    into: Any = None,
    connection: Connection | None = None,
    report: list[Any] | None = None,
    leaves: Leaves | None = None,
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
      leaves: the leaf handlers; None if there are none.
    """
    out = dict(args)
    wanted = abstract if into is None else into
    known = None
    if leaves is not None and wanted is not None and op != "load_transform":
        items = _recorded(op, out, connection)
        names = [out.get("item") or "state", *sorted(items)]
        trees = [items[name] for name in names if name in items]
        known = trees[0] if trees else {}
    node, devices = _asked(abstract, into, leaves, known)
    if node is not None:
        out["abstract"] = node
    value, restorer = _run(op, out, connection, leaves, devices)
    if report is not None:
        report.extend(value.get("report") or [])
    if leaves is not None:
        with _leaves.private(value) as directories:
            leaves.fill(value["tree"], wanted, directories)
    with restorer:
        if into is not None:
            return restorer.into(value["tree"], into)
        return restorer.like(value["tree"], abstract)


def load_items(
    op: str,
    args: Mapping[str, Any],
    items: Mapping[str, Any] | None = None,
    *,
    connection: Connection | None = None,
    report: list[Any] | None = None,
    leaves: Leaves | None = None,
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
      leaves: the leaf handlers; None if there are none.
    """
    out = dict(args)
    known: dict[str, _leaves.Recorded] = {}
    devices = False
    if items is not None:
        if leaves is not None:
            known = _recorded(op, out, connection)
        asked: dict[str, Any] = {}
        for name, item in items.items():
            if item is None or isinstance(item, Wire):
                asked[name] = item
            else:
                node, some = _asked(item, None, leaves, known.get(name, {}), name)
                asked[name] = {"tree": node}
                devices = devices or some
        out["items"] = asked
    value, restorer = _run(op, out, connection, leaves, devices)
    if report is not None:
        report.extend(value.get("report") or [])
    loaded: dict[str, Any] = {}
    with restorer, _leaves.private(value) as directories:
        for name, item in value["items"].items():
            wanted = None if items is None else items.get(name)
            if "tree" not in item:
                loaded[name] = Wire(item)
                continue
            wanted = None if isinstance(wanted, Wire) else wanted
            if leaves is not None:
                leaves.fill(item["tree"], wanted, directories)
            loaded[name] = restorer.like(item["tree"], wanted)
    return loaded


def describe_leaves(
    args: Mapping[str, Any], item: str | None, node: Any, leaves: Leaves | None
) -> dict[tuple[str, ...], Any]:
    """Return the descriptions that leaf handlers make of their leaves, by path.

    Args:
      args: arguments of "load", other than the item.
      item: name of the item; None for a checkpoint that is one tree.
      node: the tree of the item's metadata.
      leaves: the leaf handlers; None if there are none.
    """
    types = set() if leaves is None else set(leaves.types())
    if leaves is None or types.isdisjoint(_leaves.recorded(node).values()):
        return {}
    out = {**args, "item": item, "abstract": _leaves.only(node, types)}
    value, _ = _run("load", out, None, leaves, False)
    with _leaves.private(value) as directories:
        return leaves.describe(value["tree"], directories)
