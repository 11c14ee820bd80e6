"""Checkpoints of Hugging Face Accelerate: one atomic directory, and an exact resume.

    from bivouac.integrations.accelerate import BivouacAccelerator
    from bivouac.torch import StatefulDataLoader

    accelerator = BivouacAccelerator()
    loader = StatefulDataLoader(data, batch_size=8, shuffle=True)
    model, optimizer, scheduler, loader = accelerator.prepare(model, optimizer, scheduler, loader)
    accelerator.resume("run/latest")
    for epoch in range(loader.epoch, epochs):
        for batch in loader:
            …
            accelerator.save_state("run/latest")

A checkpoint has models, optimizers, schedulers, the gradient scaler, the objects of
`register_for_checkpointing`, the random generators, and the positions of the loaders. It appears in
one instant, is verified when it is loaded, and is never unpickled.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import pathlib
import shutil
import tempfile
from collections.abc import Iterator
from typing import Any

from bivouac import _url, errors
from bivouac._job import resume
from bivouac._job.loader import Source
from bivouac._tree import type_text
from bivouac._url import URL, Location
from bivouac.checkpoint import _api, _engine
from bivouac.checkpoint._engine import Wire
from bivouac.checkpoint.path.step import standard_name_format
from bivouac.checkpoint.training import Checkpointer, preservation_policies
from bivouac.integrations import _steps
from bivouac.torch import StatefulDataLoader

__all__ = ["BivouacAccelerator", "PreparedLoader"]

_accelerate: Any = importlib.import_module("accelerate")
_data_loader: Any = importlib.import_module("accelerate.data_loader")
_operations: Any = importlib.import_module("accelerate.utils")
_Accelerator: Any = _accelerate.Accelerator
_StateMixin: Any = _data_loader.DataLoaderStateMixin

_HOOKS = "hooks"
_TEMPORARY = "bivouac-hooks-"
_HOOKS_TYPE = "bivouac.integrations.accelerate.Files"
_OP = "BivouacAccelerator"
_PREFIX = "checkpoint"


class PreparedLoader(_StateMixin):  # type: ignore[misc]
    """A PreparedLoader is a `bivouac.torch.StatefulDataLoader` that `prepare` has prepared.

    Its batches are on the device of the accelerator. It does not read ahead, so its position is
    exact at any batch. After a resume it goes on with the next batch of the same epoch.

    Attributes:
      loader: the loader that was prepared.
      epoch: the epochs that are done.
    """

    def __init__(self, loader: Any, device: Any) -> None:
        self.loader = loader
        self.dataset = loader.dataset
        self.gradient_state = _accelerate.state.GradientState()
        self.epoch = 0
        self._device = device
        self._source: Source[Any] = Source(loader)
        self._done = 0  # batches of the epoch that were delivered
        self._drop_last = loader.drop_last

    @property
    def total_batch_size(self) -> int:
        """The samples of a batch."""
        return self.loader.batch_size or 1

    def __len__(self) -> int:
        """Return how many batches an epoch has."""
        return len(self.loader)

    def set_epoch(self, epoch: int) -> None:
        """Set the epoch that begins next, of which a sampler with `set_epoch` is told."""
        self.epoch = epoch

    def __iter__(self) -> Iterator[Any]:
        """Yield the batches of an epoch, or the rest of the epoch that a resume is in."""
        self.begin()
        try:
            self._source.epoch = self.epoch
            self._source.begin()
            length = len(self)
            while True:
                try:
                    batch = self._source.next()
                except StopIteration:
                    break
                self._done += 1
                self.end_of_dataloader = self._done == length
                if self._device is not None:
                    batch = _operations.send_to_device(batch, self._device)
                yield batch
            self._done = 0
            self.epoch += 1
        finally:
            self.end()

    def _saved(self) -> dict[str, Any]:
        return {
            "definition": self._source.definition(),
            "stream": self._source.state(),
            "done": self._done,
            "epoch": self.epoch,
        }

    def _load(self, saved: dict[str, Any]) -> None:
        self._source.check(saved["definition"])
        self._source.load(saved["stream"])
        self._done, self.epoch = int(saved["done"]), int(saved["epoch"])
        self.loader.state_dict()  # makes the iterator, which may draw random numbers


class BivouacAccelerator(_Accelerator):  # type: ignore[misc]
    """A BivouacAccelerator is an Accelerator whose checkpoints are Bivouac's.

    `save_state` and `load_state` are called as before. It takes the arguments of `Accelerator`, and
    those below as keywords. One process trains; several are refused.
    """

    def __init__(
        self, *args: Any, background: bool = False, identity: str = "", **kwargs: Any
    ) -> None:
        """Make an accelerator.

        Args:
          args: positional arguments of `Accelerator`.
          background: True returns from a save when the arrays are copied. An error is raised by
            the next save, or by `end_training`.
          identity: what must be equal for two runs to be the same run, such as a hash of the
            configuration of the model.
          kwargs: other arguments of `Accelerator`.
        """
        super().__init__(*args, **kwargs)
        if self.num_processes > 1:
            raise errors.Unsupported(
                op=_OP,
                want="one process",
                got=f"{self.num_processes} processes",
                remedy="write the loop with bivouac.Job, which saves with several processes",
            )
        kind = self.distributed_type
        if kind in (_accelerate.DistributedType.DEEPSPEED, _accelerate.DistributedType.MEGATRON_LM):
            raise errors.Unsupported(op=_OP, want="no DeepSpeed and no Megatron-LM", got=str(kind))
        self._background = background
        self._identity = identity
        self._loaders: list[PreparedLoader] = []
        self._pending: Any = None
        self._run: Checkpointer | None = None
        self._continued = False  # a step of the run was loaded or saved

    # Loaders.

    def prepare(self, *args: Any, device_placement: Any = None) -> Any:
        """Prepare objects as Accelerate does. A loader of `bivouac.torch` keeps its position."""
        result = super().prepare(*args, device_placement=device_placement)
        several = isinstance(result, tuple)
        made = [self._prepared(item) for item in (result if several else (result,))]
        return tuple(made) if several else made[0]

    def _prepared(self, item: Any) -> Any:
        if not isinstance(item, StatefulDataLoader):
            return item
        made = PreparedLoader(item, self.device if self.device_placement else None)
        self._loaders.append(made)
        return made

    def _check_place(self) -> None:
        """Refuse to save where a resume would not be exact."""
        for loader in self.gradient_state.dataloader_references:
            if loader is not None and not isinstance(loader, PreparedLoader):
                raise errors.Unsupported(
                    op="save_state",
                    subject="data loader",
                    want="loaders whose position is exact, or a save between epochs",
                    got=f"{type_text(loader)} in the middle of an epoch",
                    remedy="prepare a bivouac.torch.StatefulDataLoader instead",
                )
        if not self.sync_gradients:
            raise errors.Unsupported(
                op="save_state",
                subject="gradients",
                want="a save after a step of the optimizer",
                got=f"a save after {self.step % self.gradient_accumulation_steps} of "
                f"{self.gradient_accumulation_steps} batches of a step",
                remedy="save if accelerator.sync_gradients is True",
            )

    # The state.

    def _state(self, models: dict[str, Any]) -> dict[str, Any]:
        """Return the tree of a checkpoint. Objects with a state_dict are its leaves."""
        lists = {
            "optimizers": self._optimizers,
            "schedulers": self._schedulers,
            "custom": [o for o in self._custom_objects if not isinstance(o, StatefulDataLoader)],
        }
        state: dict[str, Any] = {
            name: {str(i): item for i, item in enumerate(found)}
            for name, found in lists.items()
            if found
        }
        if models:
            state["models"] = models
        if self.scaler is not None:
            state["scaler"] = {"0": self.scaler}
        return state

    def _plain_loaders(self) -> list[Any]:
        return [o for o in self._custom_objects if isinstance(o, StatefulDataLoader)]

    def _items(self, number: int, private: str) -> dict[str, Any]:
        """Return the items of a checkpoint. `private` is a directory for the files of hooks."""
        self._check_place()
        models = [self.unwrap_model(model) for model in self._models]
        weights: list[Any] = [model.state_dict() for model in models]
        for hook in self._save_model_state_pre_hook.values():
            hook(self._models, weights, private)
        kept = {str(i): _Weights(w) for i, w in enumerate(weights)}
        more = {
            "step": self.step,
            "loaders": [loader._saved() for loader in self._loaders],
            "custom_loaders": [_saved(loader) for loader in self._plain_loaders()],
        }
        with _steps.named("save_state"):
            items = _steps.items(number, self._state(kept), self._identity, {"accelerate": more})
        if os.listdir(private):
            items[_HOOKS] = Wire({"files": private, "type": _HOOKS_TYPE})
        else:
            os.rmdir(private)
        return items

    def _apply(self, found: resume.Found, path: str) -> None:
        """Set everything to what was loaded: the loaders, the state, and the generators last."""
        saved = found.python.get("accelerate")
        if saved is None:
            raise errors.Mismatch(
                op="load_state",
                subject=path,
                want="a checkpoint that BivouacAccelerator saved",
                got="one of bivouac.Job or of another integration",
                remedy="load it with bivouac.load, or use another directory",
            )
        models = list(self._models)
        with _files_of_hooks(path, bool(self._load_model_state_pre_hook)) as directory:
            for hook in self._load_model_state_pre_hook.values():
                hook(models, directory)
        state = self._state({str(i): self.unwrap_model(model) for i, model in enumerate(models)})
        for name in sorted(state.keys() | found.tree.keys()):
            _same_number(path, name, found.tree.get(name, ()), state.get(name, ()))
        plain = self._plain_loaders()
        _same_number(path, "loaders that were prepared", saved["loaders"], self._loaders)
        _same_number(path, "loaders that were registered", saved["custom_loaders"], plain)
        for loader, one in zip(self._loaders, saved["loaders"]):
            loader._load(one)
        for own, one in zip(plain, saved["custom_loaders"]):
            source: Source[Any] = Source(own)
            source.check(one["definition"])
            source.load(one["stream"])
            own.state_dict()  # makes the iterator, which may draw random numbers
        self.step = int(saved["step"])
        _steps.fill(state, found)

    def _wait(self) -> None:
        pending, self._pending = self._pending, None
        if pending is not None:
            pending.result()

    # Accelerate's calls.

    def save_state(
        self, output_dir: str | os.PathLike[str] | None = None, *args: Any, **kwargs: Any
    ) -> str:
        """Save everything as one checkpoint, and return its path.

        With `automatic_checkpoint_naming` the checkpoints are the steps of a run,
        `checkpoints/checkpoint_<n>`, of which the newest `total_limit` stay.

        Args:
          output_dir: directory of the checkpoint. A checkpoint that is there is replaced.
          args: `safe_serialization`, which has no effect.
          kwargs: the same. Other arguments are refused.

        Raises:
          Unsupported: a loader without an exact position is in the middle of an epoch.
          ValueError: an object holds something that cannot be saved; the error names it.
          Exists: there are steps of an earlier run, and none of them was loaded.
        """
        del args
        kwargs.pop("safe_serialization", None)
        _refuse("save_state", kwargs)
        self._wait()
        automatic = self.project_configuration.automatic_checkpoint_naming
        if not automatic and output_dir is None:
            raise errors.Invalid(op="save_state", subject="output_dir", want="a path", got="None")
        number = int(self.save_iteration) if automatic else 0
        run = self._steps(continues=False) if automatic else None
        private = tempfile.mkdtemp(prefix=_TEMPORARY)
        try:
            items = self._items(number, private)
            if run is not None:
                path = str(run.directory / f"{_PREFIX}_{number}")
                call = _steps.save_step(run, number, items)
            else:
                assert output_dir is not None
                path = str(_place(output_dir))
                call = _steps.save(path, items, True)
        except BaseException:
            shutil.rmtree(private, ignore_errors=True)
            raise
        self._pending = call
        if not self._background:
            self._wait()
        self.project_configuration.iteration += 1
        return path

    def load_state(
        self, input_dir: str | os.PathLike[str] | None = None, *args: Any, **kwargs: Any
    ) -> None:
        """Load a checkpoint, and set the random generators and the loaders to where they were.

        Call it right before the loop: what draws random numbers between the two was not there when
        the checkpoint was saved.

        Args:
          input_dir: directory of the checkpoint. None takes the newest whole one of
            `automatic_checkpoint_naming`; damaged ones are renamed.
          args: `load_kwargs`, which must be None.
          kwargs: the same, and `map_location`, which has no effect. Others are refused.

        Raises:
          NotFound: there is no checkpoint.
          Mismatch: the checkpoint is of another model, optimizer, loader or identity.
          Corrupt: the checkpoint is damaged, and there is no whole one.
        """
        kwargs.pop("map_location", None)
        if args and args[0] is None:
            args = args[1:]
        if kwargs.get("load_kwargs", 0) is None:
            kwargs.pop("load_kwargs")
        _refuse("load_state", {**kwargs, **({"load_kwargs": args[0]} if args else {})})
        if not self._load(input_dir):
            raise errors.NotFound(
                op="load_state",
                subject=str(input_dir or self._directory()),
                want="a checkpoint",
                remedy="call resume, which begins anew if there is none",
            )

    def resume(self, input_dir: str | os.PathLike[str] | None = None) -> bool:
        """Load a checkpoint like `load_state`, if there is one.

        Args:
          input_dir: directory of the checkpoint; None as in `load_state`.

        Returns:
          True if a checkpoint was loaded, False if the run begins.
        """
        return self._load(input_dir)

    def _load(self, input_dir: str | os.PathLike[str] | None) -> bool:
        self._wait()
        if input_dir is None:
            return self._load_newest()
        path = _place(input_dir)
        there = _api.is_orbax_checkpoint(path) if isinstance(path, URL) else path.exists()
        if not there:
            return False
        with _steps.named("load_state"):
            self._apply(_steps.load(path, None, self._identity), str(path))
        return True

    def _load_newest(self) -> bool:
        if not self.project_configuration.automatic_checkpoint_naming:
            raise errors.Invalid(
                op="load_state",
                subject="input_dir",
                want="a path, or automatic_checkpoint_naming=True",
                got="None",
            )
        run = self._steps(continues=True)

        def apply(found: resume.Found) -> None:
            self._apply(found, str(run.directory / f"{_PREFIX}_{found.step}"))
            self.project_configuration.iteration = found.step + 1

        with _steps.named("load_state"):
            return resume.find(run, None, self._identity, apply) is not None

    # Runs.

    def _directory(self) -> str:
        if self.project_dir is None:
            raise errors.Invalid(
                op=_OP,
                subject="project_dir",
                want="a directory, for automatic_checkpoint_naming",
                got="None",
            )
        return os.path.join(self.project_dir, "checkpoints")

    def _steps(self, continues: bool) -> Checkpointer:
        """Return the run of automatic naming."""
        if self._run is None:
            limit = self.project_configuration.total_limit
            self._run = _steps.open_run(
                self._directory(),
                preservation_policies.LatestN(limit),
                step_name_format=standard_name_format(step_prefix=_PREFIX),
            )
        if not continues and not self._continued and self._run.latest is not None:
            raise errors.Exists(
                op="save_state",
                subject=str(self._run.directory),
                want="a run without steps",
                got=f"steps up to {self._run.latest.step}, none of which was loaded",
                remedy="call resume() before the loop, or use another project_dir",
            )
        self._continued = True
        return self._run

    def end_training(self) -> None:
        """Wait for the save in the background, close the run, and end the trackers."""
        try:
            self._wait()
        finally:
            run, self._run = self._run, None
            if run is not None:
                run.close()
            super().end_training()


class _Weights:
    """A _Weights is the state dictionary of a model as an object of a state."""

    def __init__(self, weights: Any) -> None:
        self._weights = weights

    def state_dict(self) -> Any:
        return self._weights

    def load_state_dict(self, state: Any) -> None:
        raise NotImplementedError


@contextlib.contextmanager
def _files_of_hooks(path: str, wanted: bool) -> Iterator[str | None]:
    """Give a directory with what hooks have saved. It is empty if they have saved nothing."""
    if not wanted:
        yield None
        return
    asked = {_HOOKS: Wire({"files": True})}
    try:
        loaded = _engine.load_items("load_items", {"path": _engine.absolute(path)}, asked)
        directory = str(loaded[_HOOKS]["files"])
    except errors.NotFound:
        directory = tempfile.mkdtemp(prefix=_TEMPORARY)
    try:
        yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _saved(loader: Any) -> dict[str, Any]:
    source: Source[Any] = Source(loader)
    return {"definition": source.definition(), "stream": source.state()}


def _same_number(path: str, what: str, saved: Any, now: Any) -> None:
    if len(saved) != len(now):
        raise errors.Mismatch(
            op="load_state",
            subject=f"{path}: {what}",
            want=str(len(now)),
            got=str(len(saved)),
            remedy="prepare and register what the program did that saved the checkpoint",
        )


def _place(path: str | os.PathLike[str]) -> Location:
    """Return the place of a checkpoint. `~` is the home directory."""
    if _url.is_url(path):
        return _url.located(_url.absolute(path))
    return pathlib.Path(path).expanduser()


def _refuse(op: str, kwargs: dict[str, Any]) -> None:
    if kwargs:
        raise errors.Unsupported(
            op=op,
            subject=", ".join(sorted(kwargs)),
            want="no arguments of torch.save, torch.load and DeepSpeed",
            remedy="leave them out",
        )
