"""StatefulDistributedSampler: the part of an epoch that one rank reads."""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Iterator, Sized
from typing import Any

from bivouac.torch import _generator

__all__ = ["StatefulDistributedSampler"]


class StatefulDistributedSampler:
    """A StatefulDistributedSampler yields the samples of one rank, as torchdata's does.

    Call `set_epoch` before each epoch, also after a resume.

    Args:
      dataset: the data set.
      num_replicas: the ranks. The default is the world size of torch.distributed.
      rank: this rank. The default is the rank in torch.distributed.
      shuffle: draw a permutation from the seed and the epoch.
      seed: the seed, the same on all ranks.
      drop_last: leave out the samples that do not fill all ranks. Else some samples come twice.
    """

    def __init__(
        self,
        dataset: Sized,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ) -> None:
        if num_replicas is None:
            num_replicas = int(_distributed().get_world_size())
        if rank is None:
            rank = int(_distributed().get_rank())
        if rank >= num_replicas or rank < 0:
            raise ValueError(
                f"Invalid rank {rank}, rank should be in the interval [0, {num_replicas - 1}]"
            )
        self.dataset = dataset
        self.num_replicas = num_replicas
        self.rank = rank
        self.shuffle = shuffle
        self.seed = seed
        self.drop_last = drop_last
        self.epoch = 0
        self.yielded = 0
        self.next_yielded: int | None = None
        n = len(dataset)
        if drop_last and n % num_replicas != 0:
            n -= num_replicas
        self.num_samples = math.ceil(n / num_replicas)
        self.total_size = self.num_samples * num_replicas

    def set_epoch(self, epoch: int) -> None:
        """Set the epoch, which the permutation depends on."""
        self.epoch = epoch

    def __len__(self) -> int:
        return self.num_samples

    def _ids(self) -> list[int]:
        """Return the samples of the rank."""
        n = len(self.dataset)
        if self.shuffle:
            ids = _generator.randperm(n, _generator.new_generator(self.seed + self.epoch))
        else:
            ids = list(range(n))
        if self.drop_last:
            ids = ids[: self.total_size]
        else:
            missing = self.total_size - n
            ids += ids[:missing] if missing <= n else (ids * math.ceil(missing / n))[:missing]
        return ids[self.rank : self.total_size : self.num_replicas]

    def __iter__(self) -> Iterator[int]:
        self.yielded = self.next_yielded or 0
        self.next_yielded = None
        for index in itertools.islice(self._ids(), self.yielded, None):
            self.yielded += 1
            yield index

    def state_dict(self) -> dict[str, Any]:
        """Return the state: how many samples of the epoch were drawn."""
        return {"yielded": self.yielded}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Leave out the samples of a state in the next epoch."""
        if "yielded" not in state_dict:
            raise ValueError("Invalid state_dict")
        if state_dict["yielded"] < 0:
            raise ValueError("Cannot load state_dict with negative yielded value")
        self.next_yielded = state_dict["yielded"]


def _distributed() -> Any:
    """Return torch.distributed, or raise an error if it is not initialised."""
    module = sys.modules.get("torch.distributed")
    if module is None or not module.is_available():
        raise RuntimeError("Requires distributed package to be available")
    return module
