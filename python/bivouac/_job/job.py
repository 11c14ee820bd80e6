"""Job, a training loop that continues where it was interrupted."""

from __future__ import annotations

import functools
import logging
import os
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import TracebackType
from typing import Any, TypeVar

from bivouac import _url, errors
from bivouac._job import arguments, resume
from bivouac._job import state as states
from bivouac._job.commits import Commits
from bivouac._job.journal import Run
from bivouac._job.loader import Source
from bivouac._job.notice import Notice, Preempted
from bivouac._job.team import team_of
from bivouac.checkpoint._context import Context
from bivouac.checkpoint.training import Checkpointer, Tier, Uploads, preservation_policies
from bivouac.checkpoint.training.save_decision_policies import SaveDecisionPolicy

__all__ = ["Job"]

B = TypeVar("B")
S = TypeVar("S")
Event = dict[str, Any]

_log = logging.getLogger("bivouac")
_LOUD = (
    *("quarantined", "save failed", "preempted", "moved aside"),
    *("upload failed", "given up", "fell back", "tier failed", "journal failed"),
)


class Job(Commits[B, S]):
    """A Job is a training loop that saves, and that continues after any interruption.

        with bv.Job("runs/digits", loader, state, save_every=100, keep=3) as job:
            for batch in job:
                train(state, batch)

    Each save commits the state, the position of the loader and the state of the random generators
    as one step of a directory. Either all of it is there after a crash or nothing. A step is done
    when the loop asks for the next batch. A step that ends by break, by an exception or by the
    death of the process is done again, with the same batch and the same random numbers.

    The random generators are the module `random`, the global generator of numpy and those of torch.
    Other generators belong into the state: `numpy.random.Generator`, `random.Random`,
    `torch.Generator` and keys of jax are saved and restored there.

    In a job of torch.distributed or jax.distributed all processes make the same Job and step
    together. They save one checkpoint. Each has its own loader and its own random generators.

    SIGTERM does not end the process while the loop runs. The job finishes the step, commits it and
    raises `bivouac.Preempted`, which ends the program with status 75 unless somebody catches it.

    Attributes:
      state: the current state. It is the object that was given if that object can be changed. A
        loop with an immutable state, such as a TrainState of flax, assigns it: `job.state =
        train(job.state, batch)`.
      metrics: numbers that are saved with the next steps, for the policy BestN.
    """

    def __init__(
        self,
        directory: str | os.PathLike[str],
        loader: Iterable[B],
        state: S,
        *,
        save_every: int | None = 100,
        keep: int | None = 3,
        steps: int | None = None,
        epochs: int | None = None,
        save_decision_policy: SaveDecisionPolicy | None = None,
        preservation_policy: preservation_policies.PreservationPolicy | None = None,
        context: Context | None = None,
        identity: str = "",
        start_fresh: bool = False,
        signals: Iterable[int] = (signal.SIGTERM,),
        grace: float = 25.0,
        custom_metadata: Any = None,
        on_event: Callable[[Event], None] | None = None,
        tiers: Sequence[Tier] = (),
        uploads: Uploads | None = None,
        journal: bool = True,
        tensorboard: str | os.PathLike[str] | None = None,
        batch_size: int | None = None,
    ) -> None:
        """Open the run of a directory, or begin a new one. Restore state and loader.

        A run begins at step 0 only if the directory has neither steps nor remains of steps. If a
        step is damaged, the job continues from the step before it.

        Args:
          directory: directory of the run, or its URL in a bucket. It is made if it does not exist.
          loader: yields the batches of an epoch each time that it is iterated. It, or its iterator,
            has `state_dict()` and `load_state_dict(state)`, or `get_state()` and
            `set_state(state)`.
          state: what is saved and restored: arrays, tensors, numbers and strings in containers;
            objects with `state_dict` and `load_state_dict`, such as modules and optimizers of
            torch; random generators. Arrays and tensors are filled in place. Entries of
            dictionaries and lists, and attributes of an object, are assigned.
          save_every: steps from one save to the next. None saves only the last step.
          keep: how many of the newest steps stay; None keeps all.
          steps: steps in total, including those before a resumption, over as many epochs as needed.
          epochs: epochs in total. Without steps and epochs the job ends after one epoch.
          save_decision_policy: decides after each step whether it is saved, in place of save_every.
          preservation_policy: decides which steps stay, in place of keep.
          context: options of the saves.
          identity: what must be equal for two runs to be the same run, such as a hash of the
            configuration of the model.
          start_fresh: True moves all steps into a new directory `aside-<time>` and begins at step
            0. Nothing is deleted. Set it for one start only.
          signals: signals that end the loop after a commit, such as SIGTERM and Slurm's SIGUSR1.
            They are caught from the beginning of the loop on, if it runs in the main thread.
          grace: seconds that a commit may take after a signal.
          custom_metadata: JSON object that describes the run. It is written once.
          on_event: called with what happens, as dictionaries with event, step and text.
          tiers: further places to which the steps are copied in the background, such as a bucket;
            see `bivouac.checkpoint.training.Tier`. The job continues from the newest step of all.
          uploads: bounds of the copies, and how long the end of the job waits for them.
          journal: False turns off the journal, the record of each step; see `scalar`.
          tensorboard: a directory of this machine that gets an event file of each attempt.
          batch_size: samples of one step, of all processes. The journal then has the samples a
            second.

        Raises:
          Mismatch: the step has another shape of state, another loader or another identity.
          Corrupt: there are steps, and none is whole.
          Unsupported: a newer version wrote one of the steps.
          Busy: another process saves there.
          ValueError: an argument makes no sense, or a leaf of the state cannot be saved.
        """
        numbers = {"save_every": save_every, "keep": keep, "steps": steps, "epochs": epochs}
        arguments.check(grace, **numbers, batch_size=batch_size)
        arguments.board(tensorboard, journal)
        super().__init__()
        self._team = team = team_of(_url.absolute(directory), context)
        self.state = state
        self.metrics: dict[str, Any] = {}

        def take() -> Source[B]:
            states.check(state)
            return Source(loader)

        try:
            self._source = take() if team is None else team.together("the arguments", take)
        except BaseException:
            self._part()
            raise
        self._save_every = save_every
        self._policy = save_decision_policy
        self._steps = steps
        self._epochs = 1 if steps is None and epochs is None else epochs
        self._identity = identity
        self._on_event = on_event
        self._telling = threading.RLock()
        self._notice = Notice(signals, grace)
        self._undone: list[B] = []  # the batch of a step that is not done
        self._running = False
        self._told = False
        self._closed = False
        kept = preservation_policy
        if kept is None:
            kept = preservation_policies.LatestN(keep)
        elif team is not None and not team.leads:
            kept = preservation_policies.PreserveAll()  # the primary decides
        open_ = functools.partial(
            _open,
            directory,
            context=context,
            save_decision_policy=save_decision_policy,
            preservation_policy=kept,
            custom_metadata=custom_metadata,
            cleanup_tmp_directories=True,
            on_event=self._emit,
            look_first=True,
            tiers=tiers,
            uploads=uploads,
        )
        self._tiered = bool(tiers)
        self._run = self._open(open_, start_fresh)
        try:
            found = resume.find(self._run, state, identity, self._apply, team)
            self._open_journal(journal, tensorboard, batch_size, start_fresh, loader)
        except BaseException:
            self._closed = True
            self._run.close()
            self._part()
            raise
        if found is not None:
            self._emit({"event": "resumed", "step": found.step, "text": ""})

    def _open(self, open_: Callable[..., Checkpointer], start_fresh: bool) -> Checkpointer:
        """Open the run. The primary does it first, because it moves and cleans up."""
        team = self._team
        if team is None:
            return open_(start_fresh=start_fresh)
        run: Checkpointer | None = None

        def first() -> None:
            nonlocal run
            run = open_(start_fresh=start_fresh)

        try:
            team.tell("the beginning of the run", first)
            if not team.leads:
                run = team.together("the opening of the run", open_)
            else:
                team.agree("the opening of the run", None)
        except BaseException:
            if run is not None:
                run.close()
            self._part()
            raise
        assert run is not None
        return run

    # What the loop can ask.

    @property
    def step(self) -> int:
        """The steps that are done, including those before a resumption."""
        return self._step

    @property
    def epoch(self) -> int:
        """The epochs that are done."""
        return self._epoch

    @property
    def resumed(self) -> int | None:
        """The step that the job continued from; None for a new run."""
        return self._resumed

    @property
    def latest(self) -> int | None:
        """The newest committed step; None if there is none."""
        last = self._run.latest
        return None if last is None else last.step

    @property
    def preempted(self) -> bool:
        """True after a signal has come. The loop ends after this step."""
        return self._notice.given

    @property
    def checkpointer(self) -> Checkpointer:
        """The checkpointer of the run, for listing and loading its steps."""
        return self._run

    # The loop.

    def __iter__(self) -> Iterator[B]:
        """Yield the batches after the last step that was done, and save between the steps.

        The last step is saved and the save is waited for. A failed save raises its error at the
        next save. Iterating again continues.

        Raises:
          Preempted: a signal came; the step was committed if the grace time sufficed.
          Invalid: the loader has ended before the last step.
          Sequence: the loader has failed before.
        """
        self._check_open()
        if self._running:
            raise errors.Sequence(op="bivouac.Job", got="another loop over the job is running")
        self._check_position()
        return self._loop()

    def _loop(self) -> Iterator[B]:
        self._running = True
        self._failure, self._done = None, False
        self._notice.start()
        journal = self._journal
        assert journal is not None
        try:
            self._begin()
            journal.begin()
            while not self._finished():
                if self._ends():
                    self._leave()
                since = time.perf_counter()
                if not self._undone and not self._ask():
                    break
                journal.waited(since)
                yield self._undone[0]
                self._undone.clear()
                self._step += 1
                self._in_epoch += 1
                journal.step(self._step)
                self._save_if_due()
            self._save_last()
            self._notice.stop()
            self._done = True
        except Exception as err:
            self._failure = err
            raise
        finally:
            self._running = False
        if self._steps is not None and self._step < self._steps and self._epochs is None:
            raise self._too_short(f"{self._steps} steps")
        if self._epochs is not None and self._epoch < self._epochs and not self._finished():
            raise self._too_short(f"{self._epochs} epochs")

    def _ends(self) -> bool:
        """Report whether the loop ends before the next step.

        A process of several ends when all do. One that got no signal learns it here.
        """
        if self._team is None:
            return self._notice.given
        ends = self._team.ends(self._step, self._notice.given)
        if self._team.ending:
            self._notice.learn()
        return ends

    def _begin(self) -> None:
        """Make the iterator, and set the random generators to where they were.

        A loader may draw from them when an iterator is made. If the step was saved after that, the
        generators are set after that, otherwise before.
        """
        before = not self._begun
        if before:
            self._restore_random()
        if not self._undone and not self._finished():
            self._source.epoch = self._epoch
            self._source.begin()
        if not before:
            self._restore_random()

    def _finished(self) -> bool:
        """Report whether all steps are done."""
        if self._steps is not None and self._step >= self._steps:
            return True
        return self._epochs is not None and self._epoch >= self._epochs

    def _ask(self) -> bool:
        """Ask for the next batch. Return False if there is none.

        A signal may end the workers of the loader too. The loader then fails, and the steps that
        are done are committed. After any other failure nothing is saved any more: the loader may
        have moved on without delivering the batch.
        """
        try:
            return self._pull()
        except Exception:
            if self._notice.given and self._source.has_workers and self._team is None:
                self._leave()
            self._failed = True
            raise
        except BaseException:
            self._failed = True
            raise

    def _pull(self) -> bool:
        """Ask for the next batch, across the end of an epoch. Return False if there is none."""
        while True:
            try:
                batch = self._source.next()
            except StopIteration:
                if self._in_epoch == 0 and not self._fresh:
                    return False
                if self._in_epoch > 0:
                    self._epoch += 1
                    self._in_epoch = 0
                    text = f"epoch {self._epoch} is done"
                    self._emit({"event": "pass ended", "step": self._step, "text": text})
                self._fresh = False
                if self._finished():
                    return False
                self._source.epoch = self._epoch
                self._source.again()
                continue
            self._fresh = False
            self._undone.append(batch)
            return True

    def _too_short(self, want: str) -> errors.BivouacError:
        return errors.Invalid(
            op="bivouac.Job",
            subject="loader",
            want=want,
            got=f"the end of the loader after {self._step} steps, which are committed",
            remedy="give a loader that can be iterated once an epoch, or ask for less",
        )

    # Saving.

    def save(self) -> None:
        """Commit the current step and wait for the commit, unless the step is saved already.

        In the body of the loop the step is not done yet: it is then saved when it is done, in the
        background.

        Raises:
          Sequence: the loop was left in the middle of a step.
        """
        self._check_open()
        if self._undone and self._running:
            self._asked = True
            return
        if self._undone and self._saved != self._step:
            raise errors.Sequence(
                op="bivouac.Job",
                subject=f"step {self._step + 1}",
                got="a step that is not done",
                remedy="call save in the loop, or after its end",
            )
        self._commit()

    def wait(self) -> None:
        """Wait for the save in the background, and raise its error."""
        self._wait()

    def _save_if_due(self) -> None:
        """Save in the background if this step is to be saved."""
        if not self._due():
            return
        since = time.perf_counter()
        try:
            self._start()
        except errors.BivouacError:
            if self._notice.given:
                self._leave()
            raise
        assert self._journal is not None
        self._journal.blocked(since)

    def _save_last(self) -> None:
        """Commit the last step."""
        if self._step == 0:
            return
        try:
            self._commit()
        except errors.BivouacError:
            if self._notice.given:
                self._leave()
            raise

    def _leave(self) -> None:
        """Commit the step after a signal, within the grace time, and raise the exception."""
        why: BaseException | None = None
        for _ in range(2):  # the first may have failed because of the save before
            if self._notice.left() == 0:
                why = why or TimeoutError("the grace time is over")
                break
            try:
                self._commit()
                why = None
                break
            except Exception as err:
                why = err
        raise self._preemption(why) from why

    def _preemption(self, why: BaseException | None) -> BaseException:
        """Return the exception for the end of the loop after a signal, and report it."""
        try:
            committed = self.latest
        except errors.BivouacError as err:
            committed, why = None, why or err
        lacks = self._drain()
        error = Preempted(self._step, committed, "" if why is None else str(why), lacks)
        if not self._told:
            self._emit({"event": "preempted", "step": self._step, "text": str(error)})
        self._told = True
        self._end_journal(True, error)
        # A handler that was there before may have raised an exception of its own.
        return self._notice.error or error

    def _drain(self) -> str:
        """Copy the newest step to all tiers within the grace time. Return what they lack."""
        if not self._tiered:
            return ""
        try:
            self._run.drain(self._notice.left(), newest=True)
        except errors.BivouacError as err:
            return str(err)
        return ""

    def _emit(self, event: Event) -> None:
        """Report an event."""
        self._record(event)
        name = event.get("event")
        level = logging.WARNING if name in _LOUD else logging.DEBUG
        _log.log(level, "%s", _sentence(event))
        if self._on_event is not None:
            told = {key: value for key, value in event.items() if key != "checkpointer"}
            with self._telling:
                self._on_event(told)

    # The end.

    def _check_open(self) -> None:
        if self._closed:
            raise errors.Closed(op="bivouac.Job", got="it is closed", remedy="make a new Job")

    def _part(self) -> None:
        """End the use of the store of the processes."""
        if self._team is not None:
            self._team.part()

    def __enter__(self) -> Job[B, S]:
        self._check_open()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._close(error is None, error)

    def close(self) -> None:
        """Wait for the save in the background, raise its error, and close the run.

        The current step is not saved, because a loop that ended early may not have finished it.
        Closing twice does nothing.
        """
        self._close(True)

    def _close(self, tell: bool, error: BaseException | None = None) -> None:
        """Close. If `tell` is false, another exception is on its way and is not replaced.

        The error of a save that nobody has seen is then printed at the exit of the interpreter.
        """
        if self._closed:
            return
        self._closed = True
        self._notice.stop()
        if self._team is not None and not self._told and not self._finished():
            self._team.leave(_reason(error, self._step))
        try:
            if tell:
                self._wait()
        finally:
            preemption: BaseException | None = None
            if tell and self._notice.given and not self._told and not self._finished():
                preemption = self._preemption(errors.Canceled("the loop ended before"))
            self._end_journal(False, error)
            self._close_run(tell, error)
            self._part()
        if preemption is not None:
            raise preemption


    def _close_run(self, tell: bool, error: BaseException | None) -> None:
        """Close the run. If `tell` is false, print what the further tiers lack instead of raising.

        After an interrupt nothing more is copied.
        """
        try:
            try:
                if self._tiered and isinstance(error, KeyboardInterrupt):
                    self._run.drain(0.0)
            finally:
                self._run.close()
        except errors.BivouacError as err:
            if tell or not self._tiered:
                raise
            _log.warning("%s", err)


def _reason(error: BaseException | None, step: int) -> str:
    """Return why a process leaves its job."""
    if error is None:
        return f"its loop has ended after step {step}"
    text = " ".join(str(error).split())
    return f"{type(error).__name__} after step {step}: {text}".rstrip(": ")


def _open(directory: str | os.PathLike[str], **options: Any) -> Checkpointer:
    _make(directory)
    return Run(directory, **options)


def _make(directory: str | os.PathLike[str]) -> None:
    """Make a directory, so that the run is locked from the beginning, not from the first save."""
    try:
        _url.make(directory)
    except FileExistsError:
        pass  # a file: opening it says so


def _sentence(event: Event) -> str:
    """Return an event as a line of the log."""
    text = str(event.get("text") or event.get("name") or "")
    head = f"step {event.get('step', 0)}: {event.get('event')}"
    return text if event.get("event") == "preempted" else f"{head}: {text}" if text else head
