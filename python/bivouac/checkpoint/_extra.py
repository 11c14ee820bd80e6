"""Functions of `bivouac.checkpoint` that Orbax does not have."""

from __future__ import annotations

import dataclasses
import math
import os
from collections.abc import Callable, Sequence
from typing import Any

from bivouac import _client
from bivouac._tree import children, type_text
from bivouac.checkpoint import _describe, _engine, _items
from bivouac.checkpoint._api import PathLike, Progress, load_args, progress_hook
from bivouac.checkpoint._context import get_context
from bivouac.checkpoint._leaves import Leaves
from bivouac.checkpoint.errors import LAYOUT, translated
from bivouac.errors import Invalid


@dataclasses.dataclass(frozen=True)
class Verdict:
    """What `verify` found.

    Attributes:
      verdict: "sound", or a word for what is wrong.
      text: the findings, one a line.
    """

    verdict: str
    text: str

    @property
    def sound(self) -> bool:
        """True if every byte is as it was saved."""
        return self.verdict == "sound"


def verify(path: PathLike, *, progress: Progress | None = None) -> Verdict:
    """Compare every byte of a checkpoint with its checksums.

    Args:
      path: directory of the checkpoint.
      progress: called with the bytes that are read and their total, in a thread of Bivouac.

    Returns:
      The verdict. Damage is no exception.

    Raises:
      ValueError: the path holds no checkpoint (`InvalidLayoutError`).
    """
    call = _client.connection().start(
        "verify",
        on_event=progress_hook(progress),
        path=_engine.absolute(path),
        context=get_context().as_json() or None,
        progress=True if progress is not None else None,
    )
    call.cancel_on_interrupt = True
    with translated(LAYOUT):
        value = call.result()
    return Verdict(str(value["verdict"]), str(value.get("text") or ""))


@dataclasses.dataclass(frozen=True)
class SourceLeaf:
    """A leaf of a checkpoint that a transform places somewhere else.

    Attributes:
      source: number of the checkpoint, from 0.
      keys: path of the leaf in that checkpoint.
      description: its description, as `metadata` returns it.
    """

    source: int
    keys: tuple[str, ...]
    description: Any = None


def load_and_transform(
    paths: PathLike | Sequence[PathLike],
    transform: Callable[..., Any] | str,
    abstract_state: Any = None,
    *,
    checkpointable_name: str | None = _describe.AUTO,
    lossy_cast: bool = False,
    report: list[Any] | None = None,
) -> Any:
    """Load a tree that is made of the leaves of one or more checkpoints.

    Only the leaves that the transform keeps are read.

    Args:
      paths: directory of the checkpoint, or directories.
      transform: a function, or a text of surgery rules. The function gets the tree of each
        checkpoint, with a `SourceLeaf` for each leaf, and returns a tree of such leaves, numbers
        and strings.
      abstract_state: a tree that says what to load of the result; see `load`.
      checkpointable_name: name of the item; "AUTO" takes "state", or else the first tree.
      lossy_cast: True takes what a cast makes of values that the wanted dtype does not have.
      report: a list that receives the leaves that did not come as they were saved.

    Returns:
      The tree that the transform made, with its leaves loaded.

    Raises:
      ValueError: a path holds no checkpoint, or the tree does not fit.
      TypeError: the transform returned a leaf of another kind.
    """
    several = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    context = get_context().as_json() or None
    args: dict[str, Any] = {
        "paths": [_engine.absolute(p) for p in several],
        "item": None if checkpointable_name == _describe.AUTO else checkpointable_name,
        "context": context,
        **load_args(lossy_cast, False, False),
    }
    if isinstance(transform, str):
        args["rules"] = transform
    else:
        sources = []
        for i, path in enumerate(several):
            found = _describe.info(path, context)
            node = _describe.pick(found, checkpointable_name).get("tree")
            sources.append(_marked(_describe.tree(node), i, ()))
        args["leaves"] = _placed(transform(*sources))
    with translated(LAYOUT):
        return _engine.load(
            "load_transform",
            args,
            abstract=_items.wanted(abstract_state),
            report=report,
            leaves=Leaves.of(get_context()),
        )


def _marked(node: Any, source: int, keys: tuple[str, ...]) -> Any:
    """Return a tree of descriptions with a `SourceLeaf` for each leaf."""
    if isinstance(node, dict):
        return {k: _marked(v, source, (*keys, k)) for k, v in node.items()}
    if isinstance(node, (list, tuple)):
        return type(node)(_marked(v, source, (*keys, str(i))) for i, v in enumerate(node))
    return None if node is None else SourceLeaf(source, keys, node)


def _placed(value: Any) -> Any:
    """Return the node of what a transform returned."""
    if isinstance(value, SourceLeaf):
        return ["r", value.source, list(value.keys)]
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else ["f", str(value)]
    found = children(value)
    if found is None:
        raise TypeError(
            "load_and_transform: want a tree of SourceLeaf, numbers and strings,"
            f" got a leaf of type {type(value).__name__}"
        )
    kind, keys, values = found
    nodes = [_placed(v) for v in values]
    names = [str(k) for k in keys]
    if len(set(names)) < len(names):
        raise Invalid(op="load_and_transform", want="keys that differ as strings", got=repr(names))
    if kind == "d":
        return ["d", names, nodes]
    return ["n", type_text(value), names, nodes] if kind == "n" else [kind, nodes]
