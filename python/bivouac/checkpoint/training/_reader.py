"""The part of a Checkpointer that lists, loads and describes steps."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from bivouac._url import Location
from bivouac.checkpoint import _api, _describe, _engine, _items
from bivouac.checkpoint._background import ThreadResponse
from bivouac.checkpoint._context import Context, get_context
from bivouac.checkpoint._leaves import Leaves
from bivouac.checkpoint._response import AsyncResponse
from bivouac.checkpoint.errors import translated
from bivouac.checkpoint.training._metadata import CheckpointMetadata
from bivouac.checkpoint.training._server import Server
from bivouac.checkpoint.training.errors import StepAlreadyExistsError, StepNotFoundError
from bivouac.errors import BivouacError, Exists, NotFound

Step = int | CheckpointMetadata[Any] | None

ERRORS: dict[type[BivouacError], type[BivouacError]] = {
    NotFound: StepNotFoundError,
    Exists: StepAlreadyExistsError,
}


class Reader:
    """What a Checkpointer does without saving."""

    _directory: Location
    _context: Context | None
    _server: Server

    @property
    def directory(self) -> Location:
        """The directory of the run: a path, or a URL of `bivouac.checkpoint.path`."""
        return self._directory

    @property
    def checkpoints(self) -> Sequence[CheckpointMetadata[None]]:
        """The committed steps, ascending."""
        return self._server.steps(self._server.call("training.checkpoints"))

    @property
    def latest(self) -> CheckpointMetadata[None] | None:
        """The newest step, or None if there is none."""
        steps = self.checkpoints
        return steps[-1] if steps else None

    def _number(self, step: Step) -> int:
        if step is None:
            return -1
        number = step.step if isinstance(step, CheckpointMetadata) else int(step)
        if number < 0:
            raise StepNotFoundError(op="Checkpointer", subject=f"step {number}")
        return number

    def load(
        self,
        step: Step = None,
        abstract_state: Any = None,
        *,
        checkpointable_name: str = _describe.STATE,
        into: Any = None,
        lossy_cast: bool = False,
        salvage: bool = False,
        report: list[Any] | None = None,
    ) -> Any:
        """Load the tree of a step.

        Args:
          step: number or description of the step; None takes the latest one.
          abstract_state: a tree that says what to load; see `bivouac.checkpoint.load`.
          checkpointable_name: name of the item.
          into: a tree whose arrays and tensors are filled in place.
          lossy_cast: True takes what a cast makes of values that the wanted dtype does not have.
          salvage: True loads the whole leaves of a damaged step.
          report: a list that receives the leaves that did not come as they were saved.

        Returns:
          The tree.

        Raises:
          StepNotFoundError: there is no such step; it is a FileNotFoundError.
          KeyError: the step has no such item.
          ValueError: the step does not fit what is wanted.
        """
        link, number = self._server.link()
        args = {
            "checkpointer": number,
            "step": self._number(step),
            "item": checkpointable_name,
            "context": get_context(self._context).as_json() or None,
            **_api.load_args(lossy_cast, salvage, False),
        }
        with translated(ERRORS):
            return _engine.load(
                "training.load",
                args,
                abstract=_items.wanted(abstract_state),
                into=into,
                connection=link,
                report=[] if report is None and salvage else report,
                leaves=Leaves.of(get_context(self._context)),
            )

    def load_async(self, step: Step = None, abstract_state: Any = None) -> AsyncResponse[Any]:
        """Load the tree of a step in the background. Orbax does not implement this yet.

        Args:
          step: number or description of the step; None takes the latest one.
          abstract_state: a tree that says what to load.

        Returns:
          A response whose result is the tree.
        """
        return ThreadResponse(functools.partial(self.load, step, abstract_state))

    def load_checkpointables(
        self, step: Step = None, abstract_checkpointables: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """Load items of a step; see `bivouac.checkpoint.load_checkpointables`.

        Args:
          step: number or description of the step; None takes the latest one.
          abstract_checkpointables: what to load by name; None loads all.

        Returns:
          The items by name.

        Raises:
          StepNotFoundError: there is no such step; it is a FileNotFoundError.
          KeyError: an item does not exist, or no handler takes it.
          ValueError: an item does not fit what is wanted.
        """
        context = get_context(self._context)
        abstract = _items.wanted(abstract_checkpointables)
        link, number = self._server.link()
        args = {
            "checkpointer": number,
            "step": self._number(step),
            "context": context.as_json() or None,
        }
        found = None
        with translated(ERRORS):
            if _api.needs_handlers(abstract, context):
                found = self._info(step)
            return _items.load(
                "training.load_items", args, found, abstract, context, {"connection": link}
            )

    def load_checkpointables_async(
        self, step: Step = None, abstract_checkpointables: dict[str, Any] | None = None
    ) -> AsyncResponse[dict[str, Any]]:
        """Load items of a step in the background. Orbax does not implement this yet.

        Args:
          step: number or description of the step; None takes the latest one.
          abstract_checkpointables: what to load by name; None loads all.

        Returns:
          A response whose result has the items by name.
        """
        return ThreadResponse(
            functools.partial(self.load_checkpointables, step, abstract_checkpointables)
        )

    def _info(self, step: Step) -> dict[str, Any]:
        value = self._server.call(
            "training.metadata",
            step=self._number(step),
            context=get_context(self._context).as_json() or None,
        )
        return {**value["info"], "step": value["step"]}

    def _described(self, step: Step, describe: Callable[[dict[str, Any]], Any]) -> Any:
        with translated(ERRORS):
            found = self._info(step)
        listed = {c.step: c for c in self.checkpoints}.get(found["step"])
        return CheckpointMetadata(
            found["step"],
            metadata=describe(found),
            metrics=None if listed is None else listed.metrics,
            **_describe.fields(found),
        )

    def metadata(self, step: Step = None) -> CheckpointMetadata[Any]:
        """Describe the tree of a step without reading its arrays.

        Args:
          step: number or description of the step; None takes the latest one.

        Returns:
          A description whose metadata is the tree; see `bivouac.checkpoint.metadata`.

        Raises:
          StepNotFoundError: there is no such step; it is a FileNotFoundError.
        """
        context = get_context(self._context)

        def describe(info: dict[str, Any]) -> Any:
            args = {"path": info["path"], "context": context.as_json() or None}
            item = _describe.pick(info, _describe.AUTO)
            return _describe.item_tree(item, args, Leaves.of(context))

        found: CheckpointMetadata[Any] = self._described(step, describe)
        return found

    def checkpointables_metadata(self, step: Step = None) -> CheckpointMetadata[dict[str, Any]]:
        """Describe all items of a step without reading arrays.

        Args:
          step: number or description of the step; None takes the latest one.

        Returns:
          A description whose metadata has the description of each item by name.

        Raises:
          StepNotFoundError: there is no such step; it is a FileNotFoundError.
        """
        context = get_context(self._context)

        def describe(info: dict[str, Any]) -> dict[str, Any]:
            args = {"path": info["path"], "context": context.as_json() or None}
            return _items.describe(info, "load_items", args, context)

        found: CheckpointMetadata[dict[str, Any]] = self._described(step, describe)
        return found

    # The names that Orbax had before it said "state". They are deprecated there.
    load_pytree = load
    load_pytree_async = load_async
    pytree_metadata = metadata
