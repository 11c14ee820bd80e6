"""What a job continues from: the newest whole step, or nothing at all."""

from __future__ import annotations

import dataclasses
import functools
import json
from collections.abc import Callable, Mapping
from typing import Any

from bivouac import errors
from bivouac._client import Connection
from bivouac._job import ranks
from bivouac._job import state as states
from bivouac._job.team import Team
from bivouac.checkpoint import _describe, _engine
from bivouac.checkpoint._engine import Wire
from bivouac.checkpoint.training import Checkpointer

__all__ = ["DATA", "PYTHON", "STATE", "Found", "find", "load", "read"]

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
      rows: what processes have saved for themselves: of this process, or of all processes if their
        number differs now. One row if one process has saved.
      processes: how many processes have saved.
    """

    step: int
    tree: Any
    document: dict[str, Any]
    python: dict[str, Any]
    rows: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    processes: int = 1


def find(
    steps: Checkpointer,
    state: Any,
    identity: str,
    apply: Callable[[Found], None],
    team: Team | None = None,
) -> Found | None:
    """Load the newest whole step and apply it. Return None if there is nothing to resume.

    Damaged steps that are newer are renamed after that, so that their numbers can be used again.
    Several processes continue from the same step: the newest that is whole for all of them.

    Raises:
      Corrupt: there are steps, or remains of steps, and none is whole.
      Unsupported: a newer version wrote one of the steps.
      Mismatch: the step belongs to another run.
    """
    if team is not None:
        return _find_together(team, steps, state, identity, apply)
    remains = _remains(steps)
    damaged: list[tuple[int, errors.BivouacError]] = []
    listed = steps.checkpoints
    for one in reversed(listed):
        try:
            found = load(steps, one.step, state, identity)
        except errors.Corrupt as err:
            damaged.append((one.step, err))  # an older step is just as exact to continue from
            continue
        apply(found)
        _quarantine(steps, damaged, remains)
        return found
    _refuse_remains([one.path.name for one in reversed(listed)], damaged, remains)
    return None


def _find_together(
    team: Team, steps: Checkpointer, state: Any, identity: str, apply: Callable[[Found], None]
) -> Found | None:
    """Do what `find` does, on all processes of a team alike."""
    remains: list[dict[str, Any]] = []
    names: list[str] = []

    def look() -> list[int]:
        remains.extend(_remains(steps))
        listed = steps.checkpoints
        names.extend(one.path.name for one in reversed(listed))
        return [one.step for one in reversed(listed)]

    numbers = team.tell("the list of steps", look)
    damaged: list[tuple[int, errors.BivouacError]] = []
    for step in numbers:
        found, why = None, None
        try:
            if not team.leads and all(one.step != step for one in steps.checkpoints):
                steps.reload()
            found = load(steps, step, state, identity, team)
        except errors.Corrupt as err:
            why = err
        except Exception as err:
            team.agree(f"the load of step {step}", err)
        team.agree(f"the load of step {step}", None)
        texts = team.decide(
            f"whether step {step} is whole",
            None if why is None else why.text,
            lambda said: [text for text in said if text is not None],
        )
        if texts:
            damaged.append((step, why or errors.Corrupt(texts[0])))
            continue
        assert found is not None
        whole: Found = found
        team.together(f"the state of step {step}", functools.partial(apply, whole))
        team.tell(
            "the names of damaged steps", lambda: _quarantine(steps, damaged, remains)
        )
        if damaged and not team.leads:
            steps.reload()
        return whole
    team.tell("what is left of steps", lambda: _refuse_remains(names, damaged, remains))
    return None


def _remains(steps: Checkpointer) -> list[dict[str, Any]]:
    """Return what is left of steps. Raise an error if a newer version wrote one of them."""
    remains: list[dict[str, Any]] = steps._server.call("training.remains")["remains"]
    _refuse_newer(remains)
    return remains


def _quarantine(
    steps: Checkpointer,
    damaged: list[tuple[int, errors.BivouacError]],
    remains: list[dict[str, Any]],
) -> None:
    """Rename damaged steps."""
    if any(entry["error"]["kind"] == errors.Corrupt.kind for entry in remains):
        steps.reload()
    for step, why in damaged:
        steps._server.call("training.quarantine", step=step, why=str(why))


def load(
    steps: Checkpointer, step: int, state: Any, identity: str, team: Team | None = None
) -> Found:
    """Load a step."""
    link, number = steps._server.link()
    return read(
        "training.load_items",
        {"checkpointer": number, "step": step},
        _describe.items(steps._info(step)),
        state,
        identity,
        subject=f"step {step}",
        step=step,
        connection=link,
        team=team,
    )


def read(
    op: str,
    args: Mapping[str, Any],
    items: Mapping[str, Mapping[str, Any]],
    state: Any,
    identity: str,
    *,
    subject: str,
    step: int | None = None,
    connection: Connection | None = None,
    team: Team | None = None,
) -> Found:
    """Load a checkpoint that a job, or an integration, has saved.

    Args:
      op: "load_items" or "training.load_items".
      args: other arguments of the operation.
      items: what the server says of the items, by name.
      state: the state that is loaded, or a part of it.
      identity: of the run.
      subject: the name of the checkpoint in errors.
      step: the number that the document must have; None takes any.
      connection: the connection of a checkpointer; None takes that of the process.
      team: the processes of the job; None if this process trains alone.

    Raises:
      Mismatch: the checkpoint belongs to another run, or was not saved by a job.
    """
    kinds = {name: item["kind"] for name, item in items.items()}
    for name, kind, want in (
        (DATA, "json", "the position of a loader"),
        (STATE, "tree", "the state of a trainer"),
    ):
        if kinds.get(name) != kind:
            raise errors.Mismatch(
                op="bivouac.Job",
                subject=f"{subject}: item {name}",
                want=want,
                got="no such item" if name not in kinds else f"an item of kind {kinds[name]}",
                remedy=_NEW_DIRECTORY,
            )
    described = items[STATE].get("tree")
    asked: dict[str, Any] = {STATE: states.abstract(state, described), DATA: Wire({"json": True})}
    if PYTHON in items:
        asked[PYTHON] = Wire({"json": True})
    if ranks.RANKS in items:
        asked[ranks.RANKS] = ranks.abstract(items[ranks.RANKS].get("tree"), team, subject)
    report: list[Any] = []
    loaded = _engine.load_items(op, args, asked, connection=connection, report=report)
    _refuse_changed(subject, report)
    document = json.loads(loaded[DATA]["json"])
    _check(subject, step, document, identity)
    python = json.loads(loaded[PYTHON]["json"]) if PYTHON in items else {}
    if python and python.get("version") != VERSION:
        raise _newer(subject, PYTHON, python.get("version"))
    found = Found(int(document["step"]), loaded[STATE], document, python)
    if ranks.RANKS in items:
        found.rows = ranks.read(loaded[ranks.RANKS])
        found.processes = int(python.get("processes", len(found.rows)))
    else:
        found.rows = [{**python, "stream": document.get("stream")}]
    return found


def _newer(subject: str, item: str, version: Any) -> errors.BivouacError:
    return errors.Unsupported(
        op="bivouac.Job",
        subject=f"{subject}: {item}",
        want=f"version {VERSION}",
        got=str(version),
        remedy="use a newer Bivouac",
    )


def _check(subject: str, step: int | None, document: Any, identity: str) -> None:
    """Raise an error unless the document belongs to this run and to this step."""
    if not isinstance(document, dict) or "version" not in document:
        raise errors.Mismatch(
            op="bivouac.Job", subject=f"{subject}: {DATA}", want="the document of a job",
            got="other JSON", remedy=_NEW_DIRECTORY,
        )  # fmt: skip
    if document["version"] != VERSION:
        raise _newer(subject, DATA, document["version"])
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
    number = document.get("step")
    if type(number) is not int or (step is not None and number != step):
        raise errors.Mismatch(
            op="bivouac.Job",
            subject=f"{subject}: {DATA}",
            want="the number of a step" if step is None else f"step {step}",
            got=str(number),
            remedy="the directory was renamed: rename it back to its step number",
        )


def _refuse_changed(subject: str, report: list[Mapping[str, Any]]) -> None:
    """Raise an error if a leaf did not come as it was saved: a resumed run would not be equal."""
    for entry in report:
        if entry.get("item") not in (STATE, None, ""):
            continue
        path = ".".join(part for part in (STATE, str(entry.get("path", ""))) if part)
        raise errors.Mismatch(
            op="bivouac.Job",
            subject=f"{subject}: {path}",
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
    steps: list[str],
    damaged: list[tuple[int, errors.BivouacError]],
    remains: list[dict[str, Any]],
) -> None:
    """Raise an error if there are remains of steps and no step to continue from."""
    names = steps + [entry["name"] for entry in remains]
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
