"""Checkpoints of Accelerate and of Trainer: the items of `bivouac.Job`.

`state/` is a tree of arrays. `data/` and `python/` are JSON. So the command `bivouac`, Orbax and
`bivouac.load` read them, and nothing is pickled.
"""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
from collections.abc import Iterator, Mapping
from typing import Any

from bivouac import _client, _processes, _url, errors
from bivouac._client import Call
from bivouac._job import generators, resume
from bivouac._job import state as states
from bivouac._job.resume import Found
from bivouac.checkpoint import _api, _describe, _engine
from bivouac.checkpoint._context import get_context
from bivouac.checkpoint._engine import Wire
from bivouac.checkpoint.training import Checkpointer, preservation_policies

__all__ = ["fill", "items", "load", "named", "open_run", "refuse_processes", "save", "save_step"]


@contextlib.contextmanager
def named(op: str) -> Iterator[None]:
    """Give errors of the functions that integrations share with `bivouac.Job` another op."""
    try:
        yield
    except errors.BivouacError as err:
        if err.op != "bivouac.Job":
            raise
        raise type(err)(**{**err._fields(), "op": op}) from err.__cause__


def refuse_processes(op: str) -> None:
    """Raise Unsupported in a job of several processes."""
    job = _processes.world()
    if job is not None:
        raise errors.Unsupported(
            op=op,
            want="one process",
            got=f"a job of {job.count} processes in {job.source}",
            remedy="write the loop with bivouac.Job, which saves with several processes",
        )


def items(step: int, state: Any, identity: str, more: Mapping[str, Any]) -> dict[str, Any]:
    """Return the items of a checkpoint. The random generators of the process are in it.

    Args:
      step: the number of the checkpoint.
      state: the tree, in which objects with `state_dict` are leaves.
      identity: what must be equal for two runs to be the same run.
      more: JSON that belongs to the integration.
    """
    document: dict[str, Any] = {"version": resume.VERSION, "step": step, "stream": None}
    if identity:
        document["identity"] = identity
    tree, forms = states.capture(state)
    python = {
        "version": resume.VERSION,
        "forms": forms,
        "random": generators.capture(),
        **more,
    }
    return {
        resume.STATE: tree,
        resume.DATA: Wire({"json": json.dumps(document)}),
        resume.PYTHON: Wire({"json": json.dumps(python)}),
    }


def save(path: str | os.PathLike[str], parts: Mapping[str, Any], background: bool) -> Call:
    """Save items as a checkpoint, and replace a checkpoint that is there."""
    arguments = {"path": _engine.absolute(path), "overwrite": True}
    call = _api.start("save", parts, arguments, get_context(), background=background)
    if not background:
        call.result()
    return call


def load(path: str | os.PathLike[str], state: Any, identity: str) -> Found:
    """Load a checkpoint.

    Raises:
      NotFound: there is no checkpoint.
      Mismatch: the checkpoint does not fit the state, or was saved by something else.
    """
    at = _engine.absolute(path)
    found = _describe.items(_client.connection().call("metadata", path=at)["info"])
    return resume.read("load_items", {"path": at}, found, state, identity, subject=at)


def fill(state: Any, found: Found) -> Any:
    """Fill a state with what was loaded, and set the random generators."""
    again: states.Again = []
    state = states.fill(state, found.tree, found.python.get("forms", {}), again)
    if "random" in found.python:
        generators.restore(found.python["random"])
    for put in again:
        put()
    return state


def open_run(
    directory: str | os.PathLike[str],
    policy: preservation_policies.PreservationPolicy,
    *,
    start_fresh: bool = False,
    **options: Any,
) -> Checkpointer:
    """Open the run of a directory. The directory is made if it does not exist."""
    _url.make(directory)
    return Checkpointer(
        directory,
        preservation_policy=policy,
        cleanup_tmp_directories=True,
        start_fresh=start_fresh,
        look_first=True,
        **options,
    )


def on_disk(place: str | os.PathLike[str], op: str, what: str) -> pathlib.Path:
    """Return the path of a directory, or raise Unsupported for the URL of a bucket."""
    path = _url.located(_url.absolute(place))
    if isinstance(path, pathlib.Path):
        return path
    raise errors.Unsupported(
        op=op,
        subject=what,
        want="a directory of a disk, in which other files are written too",
        got="the URL of a bucket",
        remedy="train on a disk, and copy the run: bivouac sync DIRECTORY URL",
    )


def save_step(run: Checkpointer, step: int, parts: dict[str, Any], metrics: Any = None) -> Call:
    """Save items as a step in the background. The arrays are copied when this returns."""
    call = run._save(step, lambda _: parts, True, True, False, metrics, None, None)
    assert call is not None  # a save that is forced is not declined
    return call
