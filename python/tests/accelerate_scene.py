"""A loop of Accelerate. The tests run it in their process, and in children that end themselves."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch
from accelerate.utils import ProjectConfiguration

from bivouac.integrations.accelerate import BivouacAccelerator
from bivouac.torch import StatefulDataLoader


class Noisy(torch.utils.data.Dataset):  # type: ignore[misc]
    """A Noisy draws from the global generators for each sample, as augmentations do."""

    def __len__(self) -> int:
        return 14

    def __getitem__(self, i: int) -> Any:
        return i, torch.full((3,), float(i)) + torch.rand(3) + np.random.rand()


class Counter:
    """A Counter is an object of the program, for register_for_checkpointing."""

    def __init__(self) -> None:
        self.steps = self.epoch = 0

    def state_dict(self) -> dict[str, int]:
        return {"steps": self.steps, "epoch": self.epoch}

    def load_state_dict(self, state: dict[str, int]) -> None:
        self.steps, self.epoch = state["steps"], state["epoch"]


def made(
    directory: Path,
    *,
    named: bool = False,
    limit: int | None = None,
    registered: bool = False,
    accumulate: int = 1,
    width: int = 8,
    batch_size: int = 3,
    **options: Any,
) -> Any:
    """Return accelerator, model, optimizer, scheduler, loader and counter of a new process."""
    torch.manual_seed(11)
    np.random.seed(11)
    project = ProjectConfiguration(
        project_dir=str(directory), automatic_checkpoint_naming=named, total_limit=limit
    )
    accelerator = BivouacAccelerator(
        cpu=True,
        project_config=project,
        gradient_accumulation_steps=accumulate,
        **options,
    )
    model = torch.nn.Sequential(
        torch.nn.Linear(3, width),
        torch.nn.BatchNorm1d(width),
        torch.nn.Dropout(),
        torch.nn.Linear(width, 1),
    )
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 20)
    loader: Any = StatefulDataLoader(Noisy(), batch_size=batch_size, shuffle=True)
    counter = Counter()
    accelerator.register_for_checkpointing(counter)
    model, optimizer, scheduler = accelerator.prepare(model, optimizer, scheduler)
    if registered:
        accelerator.register_for_checkpointing(loader)
    else:
        loader = accelerator.prepare(loader)
    return accelerator, model, optimizer, scheduler, loader, counter


def train(
    directory: Path,
    epochs: int,
    dies: int | str = -1,
    every: int = 2,
    careful: bool = False,
    between: bool = False,
    **options: Any,
) -> tuple[bytes, list[list[int]]]:
    """Train, and return what was learned as bytes, and the samples of each step.

    Args:
      directory: of the checkpoints.
      epochs: how many.
      dies: the step in which the program ends: an exception, or "exit 4", or "kill 4".
      every: steps from one save to the next.
      careful: save only after a step of the optimizer.
      between: save after each epoch too. "between 0" ends the program after the second.
      options: of `made`.
    """
    accelerator, model, optimizer, scheduler, loader, counter = made(directory, **options)
    path = None if options.get("named") else directory / "latest"
    accelerator.resume(path)
    how, at = dies.split() if isinstance(dies, str) else ("raise", dies)
    seen = []
    per_epoch = len(loader)
    for epoch in range(getattr(loader, "epoch", counter.epoch), epochs):
        for ids, x in loader:
            with accelerator.accumulate(model):
                loss = model(x).square().mean() / 1e3
                accelerator.backward(loss)
                optimizer.step()
                scheduler.step()
                optimizer.zero_grad()
            counter.steps += 1
            seen.append(ids.tolist())
            print(ids.tolist(), flush=True)
            if counter.steps == int(at):
                if how == "exit":
                    os._exit(9)
                if how == "kill":
                    os.kill(os.getpid(), signal.SIGKILL)
                raise ZeroDivisionError
            due = counter.steps % every == 0 or counter.steps == per_epoch * epochs
            if due and (accelerator.sync_gradients or not careful):
                accelerator.save_state(path)
        counter.epoch = epoch + 1
        if between:
            accelerator.save_state(path)
            if epoch == 1 and how == "between":
                raise ZeroDivisionError
    accelerator.end_training()
    values = [*model.state_dict().values(), torch.rand(2), scheduler.get_last_lr()[0]]
    for state in optimizer.state_dict()["state"].values():
        values += state.values()
    blob = b"".join(np.asarray(v).tobytes() for v in values)
    return blob, seen


if __name__ == "__main__":
    train(Path(sys.argv[1]), 3, sys.argv[2], **eval(sys.argv[3]))
