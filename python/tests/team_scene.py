"""A loop of several processes of torch. The tests run it as it is, and kill it.

Each process appends to `log<rank>` a line for each step: number, samples, and checksums of the
random numbers and of the weights.
"""

from __future__ import annotations

import os
import signal
import time
import zlib
from typing import Any

import numpy as np
import torch
import torch.distributed as dist

import bivouac as bv
from bivouac.torch import StatefulDataLoader, StatefulDistributedSampler


class Noisy:
    """A Noisy draws from the global generators of the process for each sample."""

    def __len__(self) -> int:
        return 48

    def __getitem__(self, i: int) -> Any:
        return i, torch.full((4,), i / 48) + torch.rand(4) / 10 + np.random.rand()


def crc(values: Any) -> int:
    """Return a checksum of tensors and arrays."""
    return zlib.crc32(b"".join(np.ascontiguousarray(np.asarray(v)).tobytes() for v in values))


def whole(tensor: Any) -> Any:
    """Return a tensor, of all processes if it is a DTensor."""
    return tensor.full_tensor() if hasattr(tensor, "full_tensor") else tensor


def model_of(kind: str, size: int) -> Any:
    """Return a model that all processes have, or that is spread over them."""
    torch.manual_seed(5)
    model = torch.nn.Sequential(
        torch.nn.Linear(4, 12), torch.nn.Tanh(), torch.nn.Dropout(0.2), torch.nn.Linear(12, 1)
    )
    if kind == "ddp" and size > 1:
        return torch.nn.parallel.DistributedDataParallel(model)
    if kind == "fsdp" and size > 1:
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.fsdp import fully_shard

        mesh = init_device_mesh("cpu", (size,))
        for layer in (model[0], model[3]):
            fully_shard(layer, mesh=mesh)
        fully_shard(model, mesh=mesh)
    return model


def made(rank: int, size: int, kind: str, elastic: bool = False) -> Any:
    """Return loader and state of a new process."""
    model = model_of(kind, size)
    torch.manual_seed(100 + rank)
    np.random.seed(100 + rank)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    sampler = StatefulDistributedSampler(Noisy(), num_replicas=size, rank=rank, seed=3)
    loader: Any = StatefulDataLoader(Noisy(), batch_size=2, sampler=sampler)
    if elastic:
        loader = Elastic(rank, size)
    return loader, {
        "model": model,
        "optimizer": optimizer,
        "scheduler": torch.optim.lr_scheduler.StepLR(optimizer, 5, 0.5),
        "numpy": np.random.default_rng(rank),
        "torch": torch.Generator().manual_seed(rank),
        "steps": 0,
    }


class Elastic:
    """An Elastic is a loader whose state fits any number of processes."""

    elastic = True

    def __init__(self, rank: int, size: int) -> None:
        self.rank, self.size = rank, size
        self.place = 0  # samples that all processes together have delivered

    def __iter__(self) -> Any:
        data = Noisy()
        while self.place + 4 <= 480:
            ids = np.arange(self.place, self.place + 4)[self.rank :: self.size] % 48
            self.place += 4
            yield torch.from_numpy(ids), torch.stack([data[int(i)][1] for i in ids])
        self.place = 0

    def state_dict(self) -> dict[str, int]:
        return {"place": self.place, "rank": self.rank}

    def load_state_dict(self, state: dict[str, int]) -> None:
        self.place = state["place"]

    def merge_states(self, states: list[dict[str, int]]) -> dict[str, int]:
        """Return one state of those of all processes."""
        assert [state["rank"] for state in states] == list(range(len(states)))
        assert len({state["place"] for state in states}) == 1
        return states[0]


def average(model: Any, size: int) -> None:
    """Average the gradients of a model that all processes have."""
    for parameter in model.parameters():
        if size > 1 and not hasattr(parameter, "placements"):
            dist.all_reduce(parameter.grad)
            parameter.grad /= size


def run(rank: int, size: int, directory: str, **options: Any) -> None:
    """Train, and end as the options say.

    Args:
      rank: number of the process.
      size: how many there are.
      directory: of the run, in `run`, and of the logs.
      options: kind of the model, steps, pause, `at`: a step in which something happens, `what`:
        "kill", "term" or "raise", and `who`: the processes to which it happens. The others are
        arguments of the job.
    """
    kind = options.pop("kind", "fsdp")
    pause = options.pop("pause", 0.0)
    at, what, who = (options.pop(name, None) for name in ("at", "what", "who"))
    lonely = options.pop("lonely", False)
    wait = options.pop("wait", 60)
    loader, state = made(rank, size, kind, options.pop("elastic", False))
    model, optimizer = state["model"], state["optimizer"]
    context = bv.checkpoint.Context()
    context.multiprocessing.barrier_timeout_secs = wait
    job = bv.Job(
        directory + "/run",
        loader,
        state,
        context=context,
        **{"steps": 20, "save_every": 3, **options},
    )
    with job, open(f"{directory}/log{rank}", "a") as log:
        print("begin", job.step, file=log, flush=True)
        print("begin", job.step, flush=True)
        for ids, x in job:
            optimizer.zero_grad()
            loss = (model(x).squeeze(1) - x.sum(1)).square().mean()
            loss.backward()
            if not lonely:
                average(model, size)
            optimizer.step()
            state["scheduler"].step()
            state["steps"] += 1
            noise = [state["numpy"].normal(size=2), torch.rand(2, generator=state["torch"])]
            noise += [torch.rand(1), np.random.rand(1)]
            weights = [whole(p.detach()) for p in model.parameters()]
            time.sleep(pause)
            line = f"{state['steps']} {ids.tolist()} {crc(noise)} {crc(weights)}"
            if state["steps"] == at and rank in who:
                if what == "raise":
                    raise ZeroDivisionError("as the test wants")
                # Who still waits for a dead process would see an error of gloo instead of a signal.
                open(f"{directory}/ready{rank}", "w").close()
                while not all(os.path.exists(f"{directory}/ready{r}") for r in who):
                    time.sleep(0.001)
                os.kill(os.getpid(), signal.SIGKILL if what == "kill" else signal.SIGTERM)
            print(line, file=log, flush=True)
    moments = [whole(v) for s in optimizer.state_dict()["state"].values() for v in s.values()]
    print("end", job.step, crc(moments), state["scheduler"].get_last_lr(), flush=True)
