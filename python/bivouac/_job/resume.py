"""What a job continues from: the newest whole step, or nothing at all."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping
from typing import Any

from bivouac import errors
from bivouac._job import state as states
from bivouac.checkpoint import _describe, _engine
from bivouac.checkpoint._engine import Wire
from bivouac.checkpoint.training import Checkpointer

__all__ = ["DATA", "PYTHON", "STATE", "Found", "find"]

STATE, DATA, PYTHON = "state", "data", "python"
"""Names of the items of a step. The first two are those of the job in Go."""

VERSION = 1  # of both documents
_NEW_DIRECTORY = "the step was not written by a job; use another directory"
_MOST = 8


@dataclasses.dataclass
class Found:
    """A step that was loaded.

    Attributes:
      step: its number.
      tree: the tree of the item state.
      document: the JSON of the item data.
      python: the JSON of the item python; {} if a job in Go wrote the step.
    """

    step: int
    tree: Any
    document: dict[str, Any]
    python: dict[str, Any]


def find(
    steps: Checkpointer, state: Any, identity: str, apply: Callable[[Found], None]
) -> Found | None:
    """Load the newest whole step and apply it. Return None if there is nothing to resume.

    Damaged steps that are newer are renamed after that, so that their numbers can be used again.

    Raises:
      Corrupt: there are steps, or remains of steps, and none is whole.
      Unsupported: a newer version wrote one of the steps.
      Mismatch: the step belongs to another run.
    """
    remains = steps._server.call("training.remains")["remains"]
    _refuse_newer(remains)
    damaged: list[tuple[Any, errors.BivouacError]] = []
    for listed in reversed(steps.checkpoints):
        try:
            found = _load(steps, listed.step, state, identity)
        except errors.Corrupt as err:
            damaged.append((listed, err))  # an older step is just as exact to continue from
            continue
        apply(found)
        if any(entry["error"]["kind"] == errors.Corrupt.kind for entry in remains):
            steps.reload()
        for bad, why in damaged:
            steps._server.call("training.quarantine", step=bad.step, why=str(why))
        return found
    _refuse_remains(damaged, remains)
    return None


def _load(steps: Checkpointer, step: int, state: Any, identity: str) -> Found:
    """Load a step."""
    items = _describe.items(steps._info(step))
    kinds = {name: item["kind"] for name, item in items.items()}
    for name, kind, want in (
        (DATA, "json", "the position of a loader"),
        (STATE, "tree", "the state of a trainer"),
    ):
        if kinds.get(name) != kind:
            raise errors.Mismatch(
                op="bivouac.Job",
                subject=f"step {step}: item {name}",
                want=want,
                got="no such item" if name not in kinds else f"an item of kind {kinds[name]}",
                remedy=_NEW_DIRECTORY,
            )
    asked: dict[str, Any] = {STATE: states.abstract(state), DATA: Wire({"json": True})}
    if PYTHON in items:
        asked[PYTHON] = Wire({"json": True})
    link, number = steps._server.link()
    report: list[Any] = []
    loaded = _engine.load_items(
        "training.load_items",
        {"checkpointer": number, "step": step},
        asked,
        connection=link,
        report=report,
    )
    _refuse_changed(step, report)
    document = json.loads(loaded[DATA]["json"])
    _check(step, document, identity)
    python = json.loads(loaded[PYTHON]["json"]) if PYTHON in items else {}
    if python and python.get("version") != VERSION:
        raise _newer(step, PYTHON, python.get("version"))
    return Found(step, loaded[STATE], document, python)


def _newer(step: int, item: str, version: Any) -> errors.BivouacError:
    return errors.Unsupported(
        op="bivouac.Job",
        subject=f"step {step}: {item}",
        want=f"version {VERSION}",
        got=str(version),
        remedy="use a newer Bivouac",
    )


def _check(step: int, document: Any, identity: str) -> None:
    """Raise an error unless the document belongs to this run and to this step."""
    subject = f"step {step}"
    if not isinstance(document, dict) or "version" not in document:
        raise errors.Mismatch(
            op="bivouac.Job", subject=f"{subject}: {DATA}", want="the document of a job",
            got="other JSON", remedy=_NEW_DIRECTORY,
        )  # fmt: skip
    if document["version"] != VERSION:
        raise _newer(step, DATA, document["version"])
    saved = document.get("identity", "")
    if saved != identity:
        raise errors.Mismatch(
            op="bivouac.Job",
            subject=f"{subject}: identity of the run",
            want=repr(identity),
            got=repr(saved),
            remedy="the directory holds another run: use another directory, or the options of "
            "that run",
        )
    if document.get("step") != step:
        raise errors.Mismatch(
            op="bivouac.Job",
            subject=f"{subject}: {DATA}",
            want=f"step {step}",
            got=str(document.get("step")),
            remedy="the directory was renamed: rename it back to its step number",
        )


def _refuse_changed(step: int, report: list[Mapping[str, Any]]) -> None:
    """Raise an error if a leaf did not come as it was saved: a resumed run would not be equal."""
    for entry in report:
        if entry.get("item") not in (STATE, None, ""):
            continue
        path = ".".join(part for part in (STATE, str(entry.get("path", ""))) if part)
        raise errors.Mismatch(
            op="bivouac.Job",
            subject=f"step {step}: {path}",
            want=_array_text(entry.get("given")),
            got=_array_text(entry.get("saved")),
            remedy="use the state of that run, or another directory",
        )


def _array_text(described: Any) -> str:
    if not isinstance(described, Mapping):
        return "no array"
    return f"{described.get('dtype')} of shape {described.get('shape')}"


def _refuse_newer(remains: list[dict[str, Any]]) -> None:
    """Raise an error if a newer version wrote a step: the run would have two histories."""
    newer = [e["name"] for e in remains if e["error"]["kind"] == errors.Unsupported.kind]
    if newer:
        raise errors.Unsupported(
            op="bivouac.Job",
            want="only steps that this version reads",
            got=f"{_listed(newer)}, written by a newer version",
            remedy="use that version, or set start_fresh=True, which moves all steps into "
            "aside-<time> and begins at step 0",
        )


def _refuse_remains(
    damaged: list[tuple[Any, errors.BivouacError]], remains: list[dict[str, Any]]
) -> None:
    """Raise an error if there are remains of steps and no step to continue from."""
    names = [listed.path.name for listed, _ in damaged] + [entry["name"] for entry in remains]
    if not names:
        return
    why = [str(err) for _, err in damaged] + [entry["error"]["text"] for entry in remains]
    raise errors.Corrupt(
        op="bivouac.Job",
        want="a whole step to continue from, or a directory without steps",
        got=f"{_listed(names)}, none of which is whole: {why[0]}",
        remedy="look with bivouac verify, mend with bivouac repair; start_fresh=True moves all of "
        "it into aside-<time> and begins at step 0",
    )


def _listed(names: list[str]) -> str:
    if len(names) > _MOST:
        return f"{', '.join(names[:_MOST])} and {len(names) - _MOST} more"
    return ", ".join(names)
