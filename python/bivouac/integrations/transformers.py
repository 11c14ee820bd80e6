"""Trainer of Hugging Face transformers: one atomic checkpoint, and an exact resume.

    from bivouac.integrations.transformers import BivouacTrainer

    trainer = BivouacTrainer(model, TrainingArguments("run", save_steps=100), train_dataset=data)
    trainer.train(resume_from_checkpoint=True)

The second line continues after the newest whole step of `run`, and begins anew if there is none. So
a killed job is started again with the same command. A step has the model, optimizer, scheduler,
gradient scaler, the state of the trainer, the random generators, and the position in the data. It
appears in one instant, is verified when it is loaded, and is never unpickled.

A subclass of Trainer takes `BivouacTrainerMixin` in front: `class T(BivouacTrainerMixin, Seq2Seq)`.
"""

from __future__ import annotations

import contextlib
import importlib
import logging
import os
import pathlib
import signal
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from bivouac import errors
from bivouac._job import generators, resume
from bivouac._job import state as states
from bivouac._job.loader import Source
from bivouac._job.notice import Notice, Preempted
from bivouac._tree import type_text
from bivouac.checkpoint.training import (
    Checkpointer,
    CheckpointMetadata,
    preservation_policies,
)
from bivouac.integrations import _steps
from bivouac.torch import BatchSampler, RandomSampler, StatefulDataLoader
from bivouac.torch._state import is_stateful

__all__ = ["BivouacTrainer", "BivouacTrainerMixin"]

_transformers: Any = importlib.import_module("transformers")
_callbacks: Any = importlib.import_module("transformers.trainer_callback")
_data: Any = importlib.import_module("torch.utils.data")
_Callback: Any = _transformers.TrainerCallback

_log = logging.getLogger("bivouac")
_OP = "BivouacTrainer"
_STATE_FILE = "trainer_state.json"
_TEMPORARY = "bivouac-trainer-"
_RESTORES = "restore_callback_states_from_checkpoint"


class _Loader:
    """A _Loader gives the batches of a Trainer, and knows its position.

    Trainer skips batches after a resume. This loader is where it was, so `_skip` returns it as it
    is. It has no attribute `sampler`: whatever else would skip batches fails, and does not take
    others.

    Attributes:
      length: batches of an epoch.
      done: batches of the epoch that were delivered.
      over: all steps are done, and there is nothing to deliver.
    """

    def __init__(self, loader: StatefulDataLoader, length: int) -> None:
        self.dataset = loader.dataset
        self.batch_size = loader.batch_size
        self.length = length
        self.done = 0
        self.over = False
        source: Any = loader
        self._source: Source[Any] = Source(source)
        self._samplers = _chain(loader.batch_sampler)
        self._epoch = 0
        self._random: Any = None  # the generators at which the resumed epoch goes on

    def __len__(self) -> int:
        return self.length

    def begin(self, over: bool) -> None:
        """Note that the loop of Trainer begins, and whether all its steps are done."""
        self.over = over
        if over and self._random is not None:
            generators.restore(self._random)

    def set_epoch(self, epoch: int) -> None:
        """Set the epoch that begins next."""
        self._epoch = epoch

    def _begin(self) -> None:
        """Make the iterator of the epoch, unless there is one."""
        for sampler in self._samplers:
            if hasattr(sampler, "set_epoch"):
                sampler.set_epoch(self._epoch)
        self._source.begin()

    def __iter__(self) -> Iterator[Any]:
        # Not a generator: the epoch begins here, not with its first batch.
        if self.over:
            return iter(())
        saved, self._random = self._random, None
        if saved is not None:
            self._begin()  # it may draw random numbers
            generators.restore(saved)
        self._end()  # a sampler may count its epochs when it ends
        self._begin()
        return self._batches()

    def _batches(self) -> Iterator[Any]:
        while self.done < self.length:
            try:
                batch = self._source.next()
            except StopIteration:
                return
            self.done += 1
            yield batch

    def _end(self) -> None:
        """End the epoch if all of it was delivered. Trainer does not ask for the end."""
        if self.done < self.length:
            return
        try:
            self._source.next()
        except StopIteration:
            self.done = 0
            return
        raise errors.Invalid(
            op=_OP,
            subject="train_dataset",
            want=f"{self.length} batches an epoch, as the loader announces",
            got="more",
        )

    def saved(self) -> dict[str, Any]:
        """Return the position as JSON."""
        return {
            "definition": self._source.definition(),
            "stream": self._source.state(),
            "done": self.done,
        }

    def load(self, saved: dict[str, Any], random: Any) -> None:
        """Go on from a position, with the random generators of that moment."""
        self._source.check(saved["definition"])
        self._source.load(saved["stream"])
        self.done = int(saved["done"])
        self._random = random


class _Watch(_Callback):  # type: ignore[misc]
    """A _Watch tells Trainer when to save and when to end."""

    def __init__(self, trainer: Any) -> None:
        self._trainer = trainer

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Catch the signals. Deliver nothing if all steps are done."""
        self._trainer._notice.start()
        loader = self._trainer._train_loader
        loader.begin(over=state.global_step >= state.max_steps > 0)

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Save and end after a signal."""
        if self._trainer._notice.given:
            control.should_save = True
            control.should_training_stop = True

    def on_epoch_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Save what was due at the last step. A signal in the middle is not the end of an epoch."""
        if self._trainer._due:
            control.should_save = True
        elif self._trainer._notice.given:
            control.should_save = control.should_evaluate = False


class _Keep(preservation_policies.PreservationPolicy):
    """A _Keep keeps the newest steps, and the best one if Trainer loads it at the end."""

    def __init__(self, limit: int | None, trainer: Any) -> None:
        self._latest = preservation_policies.LatestN(limit)
        self._trainer = trainer

    def should_preserve(
        self,
        checkpoints: Sequence[CheckpointMetadata[Any]],
        *,
        context: preservation_policies.PreservationContext,
    ) -> Sequence[bool]:
        """Return True for the steps that stay."""
        best = getattr(self._trainer.state, "best_global_step", None)
        latest = self._latest.should_preserve(checkpoints, context=context)
        return [keep or c.step == best for c, keep in zip(checkpoints, latest)]


class BivouacTrainerMixin:
    """A BivouacTrainerMixin makes a Trainer save and resume with Bivouac.

    The arguments of Trainer decide what they always do: `save_strategy`, `save_steps`,
    `save_total_limit` and `load_best_model_at_end`. The steps are directories of `output_dir`.

    After SIGTERM the trainer finishes the step, commits it, and raises `bivouac.Preempted`, which
    ends the program with status 75 (`bivouac.EXIT_PREEMPTED`).
    """

    args: Any
    model: Any
    optimizer: Any
    lr_scheduler: Any
    state: Any
    control: Any
    accelerator: Any
    callback_handler: Any
    is_in_train: bool

    def __init__(
        self,
        *args: Any,
        identity: str = "",
        start_fresh: bool = False,
        signals: Iterable[int] = (signal.SIGTERM,),
        grace: float = 25.0,
        **kwargs: Any,
    ) -> None:
        """Make a trainer.

        Args:
          args: positional arguments of the trainer.
          identity: what must be equal for two runs to be the same run, such as a hash of the
            configuration of the model.
          start_fresh: True moves all steps into `aside-<time>` and begins at step 0. Set it for one
            start only.
          signals: signals that end the training after a commit. They are caught if `train` runs in
            the main thread.
          grace: seconds that a commit may take after a signal.
          kwargs: other arguments of the trainer.

        Raises:
          Unsupported: the arguments ask for what would not resume exactly.
        """
        super().__init__(*args, **kwargs)
        self._check_arguments()
        self._identity = identity
        self._start_fresh = start_fresh
        self._signals = tuple(signals)
        self._grace = grace
        self._notice = Notice((), grace)
        self._run: Checkpointer | None = None
        self._found: resume.Found | None = None
        self._train_loader: _Loader | None = None
        self._pending: Any = None
        self._last: int | None = None  # the last step that was saved
        self._due = False  # the last step of an epoch is to be saved when the epoch has ended
        self.callback_handler.add_callback(_Watch(self))

    def _check_arguments(self) -> None:
        args = self.args
        refused = {
            "deepspeed": (getattr(args, "deepspeed", None), "leave it out"),
            "fsdp": (getattr(args, "fsdp", None), "leave it out"),
            "save_only_model": (args.save_only_model, "set it to False"),
            "auto_find_batch_size": (args.auto_find_batch_size, "choose a batch size"),
            "push_to_hub": (args.push_to_hub, "call push_to_hub after train"),
            "ignore_data_skip": (args.ignore_data_skip, "set it to False; nothing is read to skip"),
        }
        for name, (value, remedy) in refused.items():
            if value:
                raise errors.Unsupported(
                    op=_OP,
                    subject=name,
                    want="training that resumes exactly",
                    got=f"{name}={value!r}",
                    remedy=remedy,
                )
        if args.world_size > 1 or getattr(args, "n_gpu", 1) > 1:
            raise errors.Unsupported(
                op=_OP,
                want="one process with one device",
                got=f"{args.world_size} processes, {getattr(args, 'n_gpu', 1)} GPUs",
                remedy="write the loop with bivouac.Job, which saves with several processes",
            )

    # The data.

    def get_train_dataloader(self) -> Any:
        """Return a loader of the trainer's data that knows its position.

        It gives the batches that Trainer's own loader gives, in the same order.

        Raises:
          Unsupported: a resume could not find the position in the data.
        """
        theirs: Any = super().get_train_dataloader()  # type: ignore[misc]
        if isinstance(theirs.dataset, _data.IterableDataset) or theirs.batch_sampler is None:
            raise errors.Unsupported(
                op=_OP,
                subject="train_dataset",
                want="a data set with __getitem__ and __len__, in batches",
                got=type_text(theirs.dataset),
                remedy="read it into a list, or write the loop with bivouac.Job",
            )
        batches = _position(theirs.batch_sampler)
        loader = StatefulDataLoader(
            theirs.dataset,
            batch_sampler=batches,
            num_workers=theirs.num_workers,
            collate_fn=theirs.collate_fn,
            pin_memory=theirs.pin_memory,
            timeout=theirs.timeout,
            worker_init_fn=theirs.worker_init_fn,
            multiprocessing_context=theirs.multiprocessing_context,
            prefetch_factor=theirs.prefetch_factor,
            persistent_workers=theirs.persistent_workers,
        )
        self._train_loader = made = _Loader(loader, len(theirs))
        if self._found is not None:
            with _steps.named("train"):
                trainer = self._found.python["trainer"]
                made.load(trainer["position"], self._found.python["random"])
        return made

    # Training.

    def train(self, resume_from_checkpoint: Any = None, *args: Any, **kwargs: Any) -> Any:
        """Train, and continue where an earlier run was interrupted.

        Args:
          resume_from_checkpoint: True continues after the newest whole step, and begins anew if
            `output_dir` has no steps. A path is the directory of the newest step. None begins
            anew, and is refused if there are steps.
          args: other arguments of Trainer's `train`.
          kwargs: the same.

        Raises:
          Preempted: a signal came; the step was committed.
          Exists: there are steps, and nothing says to continue.
          Mismatch: the step has another model, other data or another identity.
          Corrupt: there are steps, and none is whole.
        """
        if "model_path" in kwargs:
            resume_from_checkpoint = kwargs.pop("model_path")
        run = self._open()
        restores = getattr(self.args, _RESTORES, False)
        try:
            with _steps.named("train"):
                self._found = self._find(run, resume_from_checkpoint)
            with tempfile.TemporaryDirectory(prefix=_TEMPORARY) as directory:
                if self._found is not None:
                    text = self._found.python["trainer"]["state"]
                    (pathlib.Path(directory) / _STATE_FILE).write_text(text)
                    setattr(self.args, _RESTORES, True)
                resumed = None if self._found is None else directory
                with _skipping():
                    result = super().train(resumed, *args, **kwargs)  # type: ignore[misc]
            self._wait()
            if self._notice.given and self.state.global_step < self.state.max_steps:
                committed = None if run.latest is None else run.latest.step
                error = Preempted(self.state.global_step, committed)
                _log.warning("%s", error)
                raise self._notice.error or error
            return result
        finally:
            setattr(self.args, _RESTORES, restores)
            self._notice.stop()
            self._found = self._train_loader = self._run = None
            run.close()

    def _open(self) -> Checkpointer:
        if self._run is not None:
            raise errors.Sequence(op="train", got="a call of train while another one runs")
        self._last = self._pending = None
        self._due = False
        self._notice = Notice(self._signals, self._grace)
        _steps.refuse_processes("train")
        fresh, self._start_fresh = self._start_fresh, False
        policy = _Keep(self.args.save_total_limit, self)
        path = _steps.on_disk(self.args.output_dir, "train", "output_dir")
        self._run = _steps.open_run(path, policy, start_fresh=fresh)
        return self._run

    def _find(self, run: Checkpointer, wanted: Any) -> resume.Found | None:
        """Return the step to continue from, or None."""
        latest = run.latest
        if wanted is None or wanted is False:
            if latest is not None:
                raise errors.Exists(
                    op="train",
                    subject=str(run.directory),
                    want="an output_dir without steps",
                    got=f"steps up to {latest.step}",
                    remedy="call train(resume_from_checkpoint=True), or set start_fresh=True, which"
                    " moves all steps into aside-<time>",
                )
        elif wanted is not True:
            newest = None if latest is None else pathlib.Path(latest.path)
            if newest is None or pathlib.Path(wanted).resolve() != newest.resolve():
                raise errors.Unsupported(
                    op="train",
                    subject=str(wanted),
                    want=f"the newest step of {run.directory}",
                    got="another path" if newest is None else f"the newest step {newest}",
                    remedy="call train(resume_from_checkpoint=True), after the newer steps are "
                    "deleted or moved",
                )
        found: list[resume.Found] = []

        def take(step: resume.Found) -> None:
            if "trainer" not in step.python:
                raise errors.Mismatch(
                    op="train",
                    subject=f"step {step.step}",
                    want="a step that BivouacTrainer saved",
                    got="one of bivouac.Job or of another integration",
                    remedy="use another output_dir",
                )
            if self.model is not None:
                self._fill("model", self.model, step)
            found.append(step)

        resume.find(run, None, self._identity, take)
        if found:
            self._last = found[0].step
        return found[0] if found else None

    def _fill(self, name: str, target: Any, found: resume.Found) -> None:
        """Fill an object with what was loaded of it."""
        there = name in found.tree
        if target is None and not there:
            return
        if target is None or not there:
            raise errors.Mismatch(
                op="train",
                subject=f"step {found.step}: {name}",
                want="none" if target is None else type_text(target),
                got="one" if there else "none",
                remedy="train as that run did, or use another output_dir",
            )
        with _steps.named("train"):
            tree, forms = {name: found.tree[name]}, found.python["forms"]
            states.fill({name: target}, tree, forms, [])

    # What Trainer calls to load.

    def _load_from_checkpoint(self, resume_from_checkpoint: Any, model: Any = None) -> None:
        del resume_from_checkpoint
        if self._found is not None:
            self._fill("model", self.model if model is None else model, self._found)

    def _load_optimizer_and_scheduler(self, checkpoint: Any) -> None:
        if checkpoint is not None and self._found is not None:
            self._fill("optimizer", self.optimizer, self._found)
            self._fill("scheduler", self.lr_scheduler, self._found)
            self._fill("scaler", self.accelerator.scaler, self._found)

    def _load_scaler(self, checkpoint: Any) -> None:
        """Do nothing: the scaler is loaded with the optimizer."""

    def _load_rng_state(self, checkpoint: Any) -> None:
        """Do nothing: the loader sets the generators when it begins."""

    def _load_best_model(self) -> None:
        assert self._run is not None
        self._wait()
        with _steps.named("train"):
            found = resume.load(self._run, self.state.best_global_step, None, self._identity)
        self._fill("model", self.model, found)

    # Saving.

    def _save_checkpoint(self, model: Any, trial: Any) -> None:
        del model
        if trial is not None:
            raise errors.Unsupported(op="train", subject="trial", want="no search", got="one")
        assert self._run is not None and self._train_loader is not None
        step = int(self.state.global_step)
        if self._last == step:
            return  # the end of the training, after a save of its last step
        if self._train_loader.done == self._train_loader.length and not self._due:
            self._due = True  # what Trainer does at the end of an epoch is a part of the step
            return
        self._due = False
        self._wait()
        self.store_flos()  # type: ignore[attr-defined]
        if self.state.best_global_step:
            best = pathlib.Path(self._run.directory) / str(self.state.best_global_step)
            if best.exists() or self.state.best_global_step == step:
                self.state.best_model_checkpoint = str(best)
        state = {
            "model": self.model,
            "optimizer": self.optimizer,
            "scheduler": self.lr_scheduler,
            "scaler": self.accelerator.scaler,
        }
        more = {
            "position": self._train_loader.saved(),
            "state": self._trainer_state(),
        }
        kept = {name: value for name, value in state.items() if value is not None}
        with _steps.named("train"):
            items = _steps.items(step, kept, self._identity, {"trainer": more})
        self._pending = _steps.save_step(self._run, step, items)
        self._last = step
        if self._notice.given:
            self._wait()

    def _trainer_state(self) -> str:
        """Return the state of the trainer and of its callbacks as JSON."""
        exported: dict[str, list[Any]] = {}
        for callback in [*self.callback_handler.callbacks, self.control]:
            if isinstance(callback, _callbacks.ExportableState):
                exported.setdefault(type(callback).__name__, []).append(callback.state())
        self.state.stateful_callbacks = {
            name: found if len(found) > 1 else found[0] for name, found in exported.items()
        }
        with tempfile.TemporaryDirectory(prefix=_TEMPORARY) as directory:
            path = os.path.join(directory, _STATE_FILE)
            self.state.save_to_json(path)
            return pathlib.Path(path).read_text()

    def _wait(self) -> None:
        pending, self._pending = self._pending, None
        if pending is None:
            return
        try:
            pending.result(self._notice.left())
        except BaseException:
            self._last = None
            raise


class BivouacTrainer(BivouacTrainerMixin, _transformers.Trainer):  # type: ignore[misc]
    """A BivouacTrainer is a Trainer that saves and resumes with Bivouac."""


@contextlib.contextmanager
def _skipping() -> Iterator[None]:
    """Let Trainer take a _Loader as it is, instead of a loader that skips batches."""
    module: Any = importlib.import_module("transformers.trainer")
    theirs = module.skip_first_batches

    def skip(loader: Any, *args: Any, **kwargs: Any) -> Any:
        return loader if isinstance(loader, _Loader) else theirs(loader, *args, **kwargs)

    module.skip_first_batches = skip
    try:
        yield
    finally:
        module.skip_first_batches = theirs


def _chain(sampler: Any) -> list[Any]:
    """Return a sampler of batches, and the samplers that it reads."""
    found: list[Any] = []
    while sampler is not None and sampler not in found:
        found.append(sampler)
        below = getattr(sampler, "batch_sampler", None)
        sampler = getattr(sampler, "sampler", None) if below is None else below
    return found


def _position(batches: Any) -> Any:
    """Return a sampler of batches whose position can be found again.

    Raises:
      Unsupported: the order is drawn from generators whose states nobody keeps.
    """
    chain = _chain(batches)
    inner = chain[-1]
    if any(is_stateful(sampler) for sampler in chain) or hasattr(inner, "set_epoch"):
        return batches  # a state, or an order that the epoch alone decides
    kind = type(inner)
    if kind is _data.SequentialSampler:
        return batches
    if kind is _data.RandomSampler and type(batches) is _data.BatchSampler:
        if not inner.replacement and inner.num_samples == len(inner.data_source):
            own = RandomSampler(inner.data_source, generator=inner.generator)
            return BatchSampler(own, batches.batch_size, batches.drop_last)
    raise errors.Unsupported(
        op=_OP,
        subject="sampler",
        want="a sampler with state_dict, or with set_epoch and an order that follows from it",
        got=type_text(inner),
        remedy="return another sampler from _get_train_sampler; group_by_length has none",
    )
