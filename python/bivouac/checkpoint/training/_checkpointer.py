"""Checkpointer, which keeps the checkpoints of a run."""

from __future__ import annotations

import functools
import math
import os
import threading
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any

from bivouac import _url
from bivouac._client import Call
from bivouac.checkpoint import _api, _describe, _engine, _items, multihost
from bivouac.checkpoint._api import Progress
from bivouac.checkpoint._background import TranslatedResponse
from bivouac.checkpoint._context import Context, get_context
from bivouac.checkpoint._response import AsyncResponse, CallResponse
from bivouac.checkpoint.errors import translated
from bivouac.checkpoint.path.step import NameFormat, _Composite, _Standard
from bivouac.checkpoint.training import _tiers
from bivouac.checkpoint.training import preservation_policies as keep
from bivouac.checkpoint.training import save_decision_policies as decide
from bivouac.checkpoint.training._metadata import CheckpointMetadata, RootMetadata
from bivouac.checkpoint.training._reader import ERRORS, Reader, Step
from bivouac.checkpoint.training._server import Listener, Server
from bivouac.checkpoint.training._tiers import Tier, TierStatus, Uploads
from bivouac.checkpoint.training.errors import StepAlreadyExistsError
from bivouac.errors import BivouacError, Exists, Unsupported


_RUN = ("atomicity", "deletion", "file", "multiprocessing")


def _saved(call: Call) -> bool:
    return bool(call.result()["saved"])


def _deleted(call: Call) -> bool:
    return bool(call.result()["deleted"])


class Checkpointer(Reader):
    """A Checkpointer saves, lists, loads and deletes the checkpoints of a run.

    A run is a directory with one subdirectory for each step. Orbax reads it, and the reverse. One
    process at a time writes to a run. The object is a context manager; leaving it closes it.
    """

    _journal = False  # whether the side-car writes a journal, as for a job

    def __init__(
        self,
        directory: str | os.PathLike[str],
        *,
        context: Context | None = None,
        save_decision_policy: decide.SaveDecisionPolicy | None = None,
        preservation_policy: keep.PreservationPolicy | None = None,
        step_name_format: NameFormat | None = None,
        custom_metadata: Any = None,
        cleanup_tmp_directories: bool = False,
        lightweight_initialize: bool = False,
        logger: None = None,
        preempted: Callable[[], bool] | None = None,
        start_fresh: bool = False,
        dedup: bool = False,
        on_event: Listener | None = None,
        look_first: bool = False,
        tiers: Sequence[Tier] = (),
        uploads: Uploads | None = None,
    ) -> None:
        """Open the run of a directory. The directory is made if it does not exist.

        Args:
          directory: directory of the run, or its URL in a bucket.
          context: options of the calls for which no context is active; they are copied. None takes
            the context that is active now.
          save_decision_policy: decides whether a step is saved; None saves the first step, and then
            whenever no save is in progress.
          preservation_policy: decides what is kept; None keeps all. If a policy of the user raises
            an exception, everything is kept, and the exception is printed.
          step_name_format: spells steps as names; None takes plain numbers.
          custom_metadata: JSON object that describes the run. It is written once.
          cleanup_tmp_directories: True removes what interrupted saves have left.
          lightweight_initialize: no effect; steps are listed without reading their trees.
          logger: refused unless None; use on_event.
          preempted: tells the save policy that the process will be stopped; None never does.
          start_fresh: True first moves all steps into a new directory below the run.
          dedup: True links data files that did not change since the step before.
          on_event: called with what happens, as dictionaries with event, step and text.
          look_first: True renames no damaged step until `reload`, also if the leftovers of
            interrupted saves are removed.
          tiers: further places to which the steps are copied, from the nearest to the furthest. The
            newest step of all of them counts. Events about them have the member tier.
          uploads: bounds of the copies; None is `Uploads()`.

        Raises:
          ValueError: a policy or a format makes no sense.
          TypeError: custom_metadata is no JSON.
          RuntimeError: another process writes to the run (`bivouac.errors.Busy`).
        """
        del lightweight_initialize
        if logger is not None:
            raise Unsupported(
                op="Checkpointer", subject="logger", want="None", remedy="use on_event"
            )
        _items.check_json("custom_metadata", custom_metadata)
        further = _tiers.arguments(tiers, uploads)
        self._directory = _url.located(_engine.absolute(directory))
        self._context = Context(context if context is not None else get_context())
        self._policy = save_decision_policy or decide.default_policy()
        self._preservation = preservation_policy or keep.PreserveAll()
        keep.check(self._preservation)
        self._preempted = preempted
        spec = None if preempted is not None else decide.spec(self._policy)
        self._decides = spec is None
        kept = keep.spec(self._preservation)
        self._pending: list[tuple[int, Call]] = []
        self._lock = threading.Lock()
        arguments = {
            "dir": str(self._directory),
            "save_policy": {"ask": True} if spec is None else spec,
            "preservation_policy": {"ask": True} if kept is None else kept,
            "names": _names(step_name_format),
            "custom": custom_metadata,
            "clean": cleanup_tmp_directories or None,
            "start_fresh": start_fresh or None,
            "dedup": dedup or None,
            "look_first": look_first or None,
            "journal": self._journal or None,
            "foreground": True,
            "context": _of_the_run(self._context) or None,
            "processes": multihost.processes(self._context, f"run {self._directory}"),
            **further,
        }
        preserve = self._preserve if kept is None else None
        self._server = Server(self._directory, arguments, preserve, on_event)

    def __enter__(self) -> Checkpointer:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def reload(self) -> None:
        """Read the directory again, to see what others have saved or deleted."""
        self._server.call("training.reload")

    def is_saving_in_progress(self) -> bool:
        """Return True if a save in the background has not ended."""
        return bool(self._server.call("training.checkpoints")["saving"])

    def root_metadata(self) -> RootMetadata:
        """Return the description of the run."""
        value = self._server.call("training.root_metadata")
        return RootMetadata(directory=self._directory, custom_metadata=value.get("custom") or {})

    # Saving.

    def should_save(self, step: int) -> bool:
        """Return True if the policy saves the step, and it comes after the latest one."""
        if not self._decides:
            return bool(self._server.call("training.should_save", step=step)["save"])
        return self._decide(step, replaced=None)

    def _decide(self, step: int, replaced: int | None) -> bool:
        """Ask the policy about a step. The step that is replaced does not count as saved."""
        value = self._server.call("training.checkpoints")
        there = self._server.steps(value)
        steps = [c for c in there if c.step != replaced]
        if len(steps) == len(there) and steps and step <= steps[-1].step:
            return False
        context = decide.DecisionContext(
            is_saving_in_progress=bool(value["saving"]),
            reached_preemption=self._preempted is not None and bool(self._preempted()),
            multiprocessing_options=get_context(self._context).multiprocessing,
        )
        asked = CheckpointMetadata(step, self._directory / str(step), metadata=None)
        return bool(self._policy.should_save(asked, previous_steps=steps, context=context))

    def save(
        self,
        step: int,
        state: Any,
        *,
        checkpointable_name: str = _describe.STATE,
        force: bool = False,
        overwrite: bool = False,
        metrics: Any = None,
        custom_metadata: Any = None,
        progress: Progress | None = None,
    ) -> bool:
        """Save a tree as a step, if the policy wants it, and return when it is durable.

        Args:
          step: number of the step, at least 0.
          state: a tree of arrays, numbers and strings.
          checkpointable_name: name of the item.
          force: True saves whatever the policy says, also steps before the latest one.
          overwrite: True replaces the step if it exists.
          metrics: JSON object that is kept with the step; `BestN` ranks by it.
          custom_metadata: JSON that is kept with the step.
          progress: called with the bytes that are written and their total.

        Returns:
          True if the step was saved, False if the policy did not want it.

        Raises:
          StepAlreadyExistsError: the step exists; it is a FileExistsError.
          ValueError: the tree is empty, or a leaf cannot be saved.
          TypeError: metrics or custom_metadata are no JSON.
        """
        _items.check_state(state)
        call = self._save(
            step,
            lambda _: {checkpointable_name: state},
            False,
            force,
            overwrite,
            metrics,
            custom_metadata,
            progress,
        )
        return call is not None and _saved(call)

    def save_async(
        self,
        step: int,
        state: Any,
        *,
        checkpointable_name: str = _describe.STATE,
        force: bool = False,
        overwrite: bool = False,
        metrics: Any = None,
        custom_metadata: Any = None,
        progress: Progress | None = None,
    ) -> AsyncResponse[bool] | None:
        """Save a tree as a step in the background, if the policy wants it.

        The function waits for an earlier save of the run, and returns when the arrays are copied.

        Args:
          step: number of the step, at least 0.
          state: a tree of arrays, numbers and strings.
          checkpointable_name: name of the item.
          force: True saves whatever the policy says, also steps before the latest one.
          overwrite: True replaces the step if it exists.
          metrics: JSON object that is kept with the step; `BestN` ranks by it.
          custom_metadata: JSON that is kept with the step.
          progress: called with the bytes that are written and their total.

        Returns:
          A response whose result is True when the step is durable; None if the policy did not want
          it.

        Raises:
          StepAlreadyExistsError: the step exists; it is a FileExistsError.
          ValueError: the tree is empty, or a leaf cannot be saved.
          TypeError: metrics or custom_metadata are no JSON.
        """
        _items.check_state(state)
        call = self._save(
            step,
            lambda _: {checkpointable_name: state},
            True,
            force,
            overwrite,
            metrics,
            custom_metadata,
            progress,
        )
        return self._response(call)

    def save_checkpointables(
        self,
        step: int,
        checkpointables: dict[str, Any],
        *,
        force: bool = False,
        overwrite: bool = False,
        metrics: Any = None,
        custom_metadata: Any = None,
        progress: Progress | None = None,
    ) -> bool:
        """Save items as a step, if the policy wants it; see `save` and `save_checkpointables`.

        Args:
          step: number of the step, at least 0.
          checkpointables: the items by name. The dictionary is not changed.
          force: True saves whatever the policy says, also steps before the latest one.
          overwrite: True replaces the step if it exists.
          metrics: JSON object that is kept with the step.
          custom_metadata: JSON that is kept with the step.
          progress: called with the bytes that are written and their total.

        Returns:
          True if the step was saved, False if the policy did not want it.
        """
        call = self._save(
            step,
            functools.partial(_items.to_save, checkpointables),
            False,
            force,
            overwrite,
            metrics,
            custom_metadata,
            progress,
        )
        return call is not None and _saved(call)

    def save_checkpointables_async(
        self,
        step: int,
        checkpointables: dict[str, Any],
        *,
        force: bool = False,
        overwrite: bool = False,
        metrics: Any = None,
        custom_metadata: Any = None,
        progress: Progress | None = None,
    ) -> AsyncResponse[bool] | None:
        """Save items as a step in the background; see `save_async` and `save_checkpointables`.

        Args:
          step: number of the step, at least 0.
          checkpointables: the items by name. The dictionary is not changed.
          force: True saves whatever the policy says, also steps before the latest one.
          overwrite: True replaces the step if it exists.
          metrics: JSON object that is kept with the step.
          custom_metadata: JSON that is kept with the step.
          progress: called with the bytes that are written and their total.

        Returns:
          A response whose result is True when the step is durable; None if the policy did not want
          it.
        """
        call = self._save(
            step,
            functools.partial(_items.to_save, checkpointables),
            True,
            force,
            overwrite,
            metrics,
            custom_metadata,
            progress,
        )
        return self._response(call)

    def _save(
        self,
        step: int,
        items: Callable[[Context], dict[str, Any]],
        background: bool,
        force: bool,
        overwrite: bool,
        metrics: Any,
        custom: Any,
        progress: Progress | None,
    ) -> Call | None:
        _items.check_json("metrics", metrics)
        _items.check_json("custom_metadata", custom)
        context = get_context(self._context)
        if self._decides and not force:
            there = {c.step for c in self.checkpoints}
            if step in there and not overwrite:
                raise StepAlreadyExistsError(
                    op="Checkpointer.save", subject=f"step {step}", remedy="use overwrite=True"
                )
            if not self._decide(step, replaced=step):
                return None
        link, number = self._server.link()
        arguments = {
            "checkpointer": number,
            "step": int(step),
            "force": force or self._decides or None,
            "overwrite": overwrite or None,
            "metrics": _numbers(metrics),
            "custom": custom,
        }
        with translated({Exists: StepAlreadyExistsError}):
            call = _api.start(
                "training.save",
                items(context),
                arguments,
                context,
                background=background,
                progress=progress,
                connection=link,
            )
        with self._lock:
            self._pending = [(s, c) for s, c in self._pending if not c.done()]
            self._pending.append((int(step), call))
        return call

    def _response(self, call: Call | None) -> AsyncResponse[bool] | None:
        if call is None or (call.done() and call.succeeded() and not _saved(call)):
            return None
        return CallResponse(call, _saved)

    def _preserve(self, steps: list[CheckpointMetadata[None]]) -> list[bool]:
        context = keep.PreservationContext()
        return list(self._preservation.should_preserve(steps, context=context))

    def tiers(self) -> list[TierStatus]:
        """Return which tier has which step: first the directory of the run, then the others."""
        return [_tiers.status(t) for t in self._server.call("training.tiers")["tiers"]]

    def drain(self, timeout: float | None = None, *, newest: bool = False) -> None:
        """Copy the steps that the further tiers still want. Afterwards nothing is copied any more.

        Call it before a machine goes away. `close` does it too. Only the first call has an effect,
        and without further tiers there is none.

        Args:
          timeout: the most seconds to wait; None has no bound.
          newest: True copies the newest step to all tiers, whatever their policies say, and first.

        Raises:
          BivouacError: a tier lacks steps; the text names them.
        """
        self._server.call("training.drain", seconds=timeout, newest=newest or None)

    def wait(self) -> None:
        """Wait for the saves in the background. Their errors come from their responses."""
        self._server.call("training.wait")

    def cancel(self, step: Step = None) -> None:
        """End saves in the background. Nothing of them is visible.

        Args:
          step: the step whose save is ended; it is deleted if it is committed already. None ends
            all saves and deletes nothing.
        """
        number = step.step if isinstance(step, CheckpointMetadata) else step
        with self._lock:
            pending = [(s, c) for s, c in self._pending if not c.done()]
        for saving, call in pending:
            if number is None or number == saving:
                call.cancel()
        for saving, call in pending:
            if number is None or number == saving:
                try:
                    call.result()
                except BivouacError:
                    continue
        if number is not None:
            self._server.call(
                "training.delete", step=self._number(number), missing_ok=True, last=True
            )

    def close(self) -> None:
        """Wait for the saves in the background and close the run. Closing twice does nothing."""
        self._server.close()

    # Deleting.

    def delete(
        self,
        step: int | CheckpointMetadata[Any],
        *,
        checkpointable_name: str | None = None,
        missing_ok: bool = False,
        last: bool = False,
    ) -> bool:
        """Delete a step, or one item of it, whatever the preservation policy says.

        Args:
          step: number or description of the step.
          checkpointable_name: name of the item; None deletes the step.
          missing_ok: True returns False if there is nothing to delete.
          last: True also deletes the last step of the run, after which there is nothing to resume
            from.

        Returns:
          True if something was deleted.

        Raises:
          StepNotFoundError: there is no such step; it is a FileNotFoundError.
          FileNotFoundError: the step has no such item.
          ValueError: the step or the item is the last one.
        """
        call = self._start_delete(step, checkpointable_name, missing_ok, last)
        return TranslatedResponse(call, _deleted, ERRORS).result()

    def delete_async(
        self,
        step: int | CheckpointMetadata[Any],
        *,
        checkpointable_name: str | None = None,
        missing_ok: bool = False,
        last: bool = False,
    ) -> AsyncResponse[bool]:
        """Delete a step, or one item of it, in the background; see `delete`.

        Args:
          step: number or description of the step.
          checkpointable_name: name of the item; None deletes the step.
          missing_ok: True lets the result be False if there is nothing to delete.
          last: True also deletes the last step of the run.

        Returns:
          A response whose result is True if something was deleted.
        """
        call = self._start_delete(step, checkpointable_name, missing_ok, last)
        return TranslatedResponse(call, _deleted, ERRORS)

    def _start_delete(
        self, step: int | CheckpointMetadata[Any], item: str | None, missing_ok: bool, last: bool
    ) -> Any:
        return self._server.start(
            "training.delete",
            step=self._number(step),
            item=item,
            missing_ok=missing_ok or None,
            last=last or None,
        )

    # The names that Orbax had before it said "state". They are deprecated there.
    save_pytree = save
    save_pytree_async = save_async


def _of_the_run(context: Context) -> dict[str, Any]:
    """Return the options that hold for a run as a whole. The others come with each call."""
    options = context.as_json()
    whole = {k: options[k] for k in _RUN if k in options}
    ours = options.get("bivouac", {})
    signed = {k: ours[k] for k in ("verification_key", "label") if k in ours}
    if signed:
        whole["bivouac"] = signed
    return whole


def _numbers(metrics: Any) -> Any:
    """Return metrics as the server takes them: floats that JSON has no word for are marked."""
    if not isinstance(metrics, dict):
        return metrics
    return {
        name: ["f", str(value)] if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in metrics.items()
    }


def _names(form: NameFormat | None) -> dict[str, Any] | None:
    """Return a format of names as data; None for plain numbers."""
    if form is None:
        return None
    wire = form.wire() if isinstance(form, (_Standard, _Composite)) else None
    if wire is not None:
        return wire or None
    raise Unsupported(
        op="Checkpointer",
        subject="step_name_format",
        want="a format of standard_name_format or composite_name_format",
        got=repr(form),
        remedy="rename the directories, or use one format",
    )
