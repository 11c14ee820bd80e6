"""A program with a Trainer. The tests run it in their process, and in children that end."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import Trainer, TrainerCallback, TrainingArguments

from bivouac.integrations.transformers import BivouacTrainer, BivouacTrainerMixin


class Noisy(torch.utils.data.Dataset):  # type: ignore[misc]
    """A Noisy draws from the global generators for each sample, as augmentations do."""

    def __init__(self, samples: int = 14) -> None:
        self.samples = samples

    def __len__(self) -> int:
        return self.samples

    def __getitem__(self, i: int) -> Any:
        x = torch.full((3,), float(i)) + torch.rand(3) + np.random.rand()
        return {"ids": i, "x": x, "labels": x.sum()}


class Net(torch.nn.Module):  # type: ignore[misc]
    """A Net learns the sum of its inputs."""

    def __init__(self, width: int = 8) -> None:
        super().__init__()
        self.layers = torch.nn.Sequential(
            torch.nn.Linear(3, width),
            torch.nn.BatchNorm1d(width),
            torch.nn.Dropout(),
            torch.nn.Linear(width, 1),
        )
        self.seen: list[list[int]] = []

    def forward(self, x: Any, labels: Any, ids: Any) -> Any:
        out = self.layers(x).squeeze(1)
        if self.training:
            self.seen.append(ids.tolist())
            print(ids.tolist(), flush=True)
        return {"loss": (out - labels).square().mean() / 1e3, "logits": out}


class Dies(TrainerCallback):  # type: ignore[misc]
    """A Dies ends the program in a step: "raise 4", "exit 4", "kill 4" or "term 4"."""

    def __init__(self, dies: str) -> None:
        self.how, at = dies.split()
        self.at = int(at)

    def on_pre_optimizer_step(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """End."""
        if state.global_step + 1 != self.at:
            return
        if self.how == "exit":
            os._exit(9)
        if self.how == "raise":
            raise ZeroDivisionError
        os.kill(os.getpid(), signal.SIGKILL if self.how == "kill" else signal.SIGTERM)


class Mixed(BivouacTrainerMixin, Trainer):  # type: ignore[misc]
    """A Mixed is a user's subclass of Trainer."""


def made(
    directory: Path,
    *,
    dies: str = "never 0",
    width: int = 8,
    samples: int = 14,
    kind: Any = BivouacTrainer,
    identity: str | None = None,
    start_fresh: bool = False,
    callbacks: tuple[Any, ...] = (),
    evaluates: bool = False,
    **arguments: Any,
) -> Any:
    """Return the trainer of a new process."""
    options: dict[str, Any] = {
        "num_train_epochs": 3,
        "per_device_train_batch_size": 3,
        "save_steps": 2,
        "logging_steps": 1,
        "learning_rate": 1e-2,
        "report_to": [],
        "use_cpu": True,
        "disable_tqdm": True,
        "remove_unused_columns": False,
        "dataloader_pin_memory": False,
        "seed": 3,
        **arguments,
    }
    torch.manual_seed(11)
    np.random.seed(11)
    own: dict[str, Any] = {} if identity is None else {"identity": identity}
    if start_fresh:
        own["start_fresh"] = True
    return kind(
        model=Net(width),
        args=TrainingArguments(str(directory), **options),
        train_dataset=Noisy(samples),
        eval_dataset=Noisy(6) if evaluates else None,
        callbacks=[Dies(dies), *callbacks],
        **own,
    )


def train(directory: Path, resume: Any = True, **options: Any) -> tuple[bytes, list[Any], Any]:
    """Train. Return what was learned as bytes, the samples of each step, and the trainer."""
    trainer = made(directory, **options)
    trainer.train(resume_from_checkpoint=resume)
    values = [*trainer.model.state_dict().values(), torch.rand(2)]
    values.append(trainer.lr_scheduler.get_last_lr()[0])
    for state in trainer.optimizer.state_dict()["state"].values():
        values += state.values()
    return b"".join(np.asarray(v).tobytes() for v in values), trainer.model.seen, trainer


if __name__ == "__main__":
    train(Path(sys.argv[1]), dies=sys.argv[2], **eval(sys.argv[3]))
