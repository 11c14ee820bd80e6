"""A callback of Keras that commits model, optimizer and random state after epochs, and resumes.

    model.fit(x, y, epochs=20, callbacks=[BivouacCallback("runs/digits")])

Started again with the same directory, `fit` continues with the epoch after the last one that was
committed. It works with every backend of Keras 3.
"""

from __future__ import annotations

import importlib
import json
import os
from typing import Any

import numpy as np

from bivouac import _url, errors
from bivouac._job import generators, resume
from bivouac.checkpoint._engine import Wire
from bivouac.checkpoint.training import Checkpointer, preservation_policies

__all__ = ["BivouacCallback"]

_Callback: Any = importlib.import_module("keras").callbacks.Callback


class BivouacCallback(_Callback):  # type: ignore[misc]
    """A BivouacCallback commits each epoch as one step, and continues after the last one.

    A step has all variables of the model and of the optimizer, the states of its layers' seed
    generators among them, and the random generators of the process. An epoch that was interrupted
    is done again. The decisions on resume are those of `bivouac.Job`.
    """

    def __init__(
        self,
        directory: str | os.PathLike[str],
        *,
        save_every: int = 1,
        keep: int | None = 3,
        identity: str = "",
        start_fresh: bool = False,
    ) -> None:
        """Make a callback.

        Args:
          directory: directory of the run. It is made if it does not exist.
          save_every: epochs from one save to the next. The last epoch is always saved.
          keep: how many of the newest steps stay; None keeps all.
          identity: what must be equal for two runs to be the same run.
          start_fresh: True moves all steps into `aside-<time>` and begins at epoch 0.
        """
        super().__init__()
        if save_every < 1:
            raise errors.Invalid(
                op="BivouacCallback", subject="save_every", want="at least 1", got=str(save_every)
            )
        self._directory = directory
        self._save_every = save_every
        self._keep = keep
        self._identity = identity
        self._start_fresh = start_fresh
        self._run: Checkpointer | None = None
        self._pending: Any = None
        self._epoch = 0  # epochs that are done
        self._saved: int | None = None

    def _tree(self) -> dict[str, dict[str, Any]]:
        """Return the variables of model and optimizer by name."""
        optimizer = self.model.optimizer
        if not optimizer.built:
            optimizer.build(self.model.trainable_variables)
        return {
            "model": _named(self.model.variables),
            "optimizer": {str(i): variable for i, variable in enumerate(optimizer.variables)},
        }

    def on_train_begin(self, logs: Any = None) -> None:
        """Open the run and restore the last epoch.

        Raises:
          Mismatch: the step has other variables or another identity.
          Corrupt: there are steps, and none is whole.
          Busy: another process saves there.
        """
        del logs
        _url.make(self._directory)
        self._run = Checkpointer(
            self._directory,
            preservation_policy=preservation_policies.LatestN(self._keep),
            cleanup_tmp_directories=True,
            start_fresh=self._start_fresh,
            look_first=True,
        )
        self._start_fresh = False
        try:
            variables = self._tree()
            resume.find(self._run, _arrays(variables), self._identity, self._apply)
        except BaseException:
            self._run.close()
            raise

    def _apply(self, found: resume.Found) -> None:
        for name, variables in self._tree().items():
            for key, variable in variables.items():
                variable.assign(found.tree[name][key])
        if "random" in found.python:
            generators.restore(found.python["random"])
        self._epoch = self._saved = found.step
        self.model._initial_epoch = found.step  # as Keras' own BackupAndRestore does

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Save the epoch in the background, if it is to be saved."""
        self._epoch = epoch + 1
        if self._epoch % self._save_every == 0:
            self._save(logs)

    def on_train_end(self, logs: Any = None) -> None:
        """Save the last epoch, wait for the saves, and close the run."""
        assert self._run is not None
        try:
            if self._epoch > 0 and self._saved != self._epoch:
                self._save(logs)
            self._wait()
        finally:
            self._run.close()

    def _wait(self) -> None:
        pending, self._pending = self._pending, None
        if pending is not None:
            pending.result()

    def _save(self, logs: Any) -> None:
        assert self._run is not None
        self._wait()
        document: dict[str, Any] = {"version": resume.VERSION, "step": self._epoch, "stream": None}
        if self._identity:
            document["identity"] = self._identity
        python = {
            "version": resume.VERSION,
            "epoch": self._epoch,
            "random": generators.capture(),
        }
        items = {
            resume.STATE: _arrays(self._tree()),
            resume.DATA: Wire({"json": json.dumps(document)}),
            resume.PYTHON: Wire({"json": json.dumps(python)}),
        }
        metrics = {name: float(value) for name, value in (logs or {}).items()}
        step = self._epoch
        self._pending = self._run._save(
            step, lambda _: items, True, True, False, metrics or None, None, None
        )
        self._saved = step


def _named(variables: Any) -> dict[str, Any]:
    """Return variables by place and name.

    Paths would not do: they count the models of the process.
    """
    return {f"{i}-{variable.name}": variable for i, variable in enumerate(variables)}


def _arrays(tree: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the values of variables as arrays of numpy."""
    ops = importlib.import_module("keras").ops
    return {
        name: {key: np.asarray(ops.convert_to_numpy(v.value)) for key, v in variables.items()}
        for name, variables in tree.items()
    }
