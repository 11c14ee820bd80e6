"""MultiNodeWeightedSampler: several sources, drawn by their weights."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Any

from bivouac.torch import _generator
from bivouac.torch.nodes._document import member
from bivouac.torch.nodes.base_node import BaseNode, T
from bivouac.torch.nodes.samplers.stop_criteria import StopCriteria

__all__ = ["MultiNodeWeightedSampler"]

_BLOCK = 1000  # sources that are drawn at a time, as torchdata draws them
_SEEDS = 2**32 - 1


class MultiNodeWeightedSampler(BaseNode[T]):
    """A MultiNodeWeightedSampler yields items of sources that it draws by their weights.

    The draws are those of `torch.multinomial`. They depend on the seed, the rank, the world size
    and the epoch. An epoch counts if something was read of it, before a resume or after it.

    Args:
      source_nodes: the sources, by name.
      weights: the weight of each source, a float above 0.
      stop_criteria: a value of StopCriteria.
      rank: this rank. The default is the rank in torch.distributed, or the variable RANK, or 0.
      world_size: the ranks. The default is likewise the world size, or WORLD_SIZE, or 1.
      seed: the seed.
    """

    DATASET_NODE_STATES_KEY = "dataset_node_states"
    DATASETS_EXHAUSTED_KEY = "datasets_exhausted"
    EPOCH_KEY = "epoch"
    NUM_YIELDED_KEY = "num_yielded"
    WEIGHTED_SAMPLER_STATE_KEY = "weighted_sampler_state"

    def __init__(
        self,
        source_nodes: Mapping[str, BaseNode[T]],
        weights: dict[str, float],
        stop_criteria: str = StopCriteria.CYCLE_UNTIL_ALL_DATASETS_EXHAUSTED,
        rank: int | None = None,
        world_size: int | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__()
        self.source_nodes = source_nodes
        self.weights = weights
        self.stop_criteria = stop_criteria
        self.dataset_names = list(source_nodes.keys())
        self.seed = seed
        if rank is None or world_size is None:
            rank, world_size = _rank_and_world_size()
        self.rank, self.world_size = rank, world_size
        self._num_yielded = 0
        self._epoch = 0
        self._started = False
        self._exhausted: dict[str, bool] = {}
        self._draws: _Draws
        self._validate()

    def _validate(self) -> None:
        known = (
            StopCriteria.CYCLE_UNTIL_ALL_DATASETS_EXHAUSTED,
            StopCriteria.ALL_DATASETS_EXHAUSTED,
            StopCriteria.FIRST_DATASET_EXHAUSTED,
            StopCriteria.CYCLE_FOREVER,
        )
        if self.stop_criteria not in known:
            raise ValueError(
                f"Invalid {self.stop_criteria=}. stop_criteria must be one of: "
                "CYCLE_UNTIL_ALL_DATASETS_EXHAUSTED, FIRST_DATASET_EXHAUSTED, "
                "ALL_DATASETS_EXHAUSTED"
            )
        if set(self.dataset_names) != set(self.weights):
            raise ValueError(
                f"Invalid {self.weights=}. For multi-dataset weighted sampling, keys of "
                "source_nodes and weights must be the same"
            )
        for weight in self.weights.values():
            if not isinstance(weight, float) or weight <= 0:
                lines = (
                    f"Invalid {self.weights=}. For multi-dataset weighted sampling, weights must "
                    "be a 1d sequence, non-negative, and non-zero.",
                    "Weights are used to sample from source nodes. Zero weight means the source "
                    "node will never be sampled from, and can cause",
                    "unexpected behavior depending on the stop criteris. Weights are used as "
                    "inputs to torch.multinomial, please refer to",
                    "https://pytorch.org/docs/stable/generated/torch.multinomial.html on how to "
                    "use weights for sampling.",
                )
                raise ValueError(("\n" + " " * 20).join(lines))

    def reset(self, initial_state: dict[str, Any] | None = None) -> None:
        super().reset(initial_state)
        if initial_state is None:
            self._num_yielded = 0
            self._epoch += self._started
            self._started = False
            self._draws = self._new_draws(None)
            self._exhausted = dict.fromkeys(self.weights, False)
            for name in self.dataset_names:
                self.source_nodes[name].reset()
            return
        self._num_yielded = member(initial_state, self.NUM_YIELDED_KEY, self)
        self._epoch = member(initial_state, self.EPOCH_KEY, self)
        self._draws = self._new_draws(member(initial_state, self.WEIGHTED_SAMPLER_STATE_KEY, self))
        self._started = self._num_yielded > 0 or self._draws.offset > 0
        exhausted = member(initial_state, self.DATASETS_EXHAUSTED_KEY, self)
        states = member(initial_state, self.DATASET_NODE_STATES_KEY, self)
        self._exhausted = {name: member(exhausted, name, self) for name in self.weights}
        for name in self.dataset_names:
            self.source_nodes[name].reset(member(states, name, self))

    def _new_draws(self, state: dict[str, Any] | None) -> _Draws:
        """Return the draws of an epoch."""
        seed = _seed_of(self.seed, self.rank, self.world_size, self._epoch)
        return _Draws(self.weights, seed, state)

    def _check_end(self) -> None:
        """Raise StopIteration if the epoch is over."""
        ended = self._exhausted.values()
        if self.stop_criteria == StopCriteria.CYCLE_FOREVER:
            return
        if self.stop_criteria == StopCriteria.FIRST_DATASET_EXHAUSTED and any(ended):
            raise StopIteration
        if all(ended):
            raise StopIteration

    def next(self) -> T:
        self._started = True
        once = self.stop_criteria == StopCriteria.ALL_DATASETS_EXHAUSTED
        while True:
            self._check_end()
            name = self._draws.next()
            if once and self._exhausted[name]:
                continue
            source = self.source_nodes[name]
            try:
                item = next(source)
            except StopIteration:
                self._exhausted[name] = True
                self._check_end()
                if once:
                    continue
                source.reset()
                item = next(source)
            except KeyboardInterrupt:
                self._draws.offset -= 1  # the next call draws it again
                raise
            self._num_yielded += 1
            return item

    def get_state(self) -> dict[str, Any]:
        nodes = {name: self.source_nodes[name].state_dict() for name in self.dataset_names}
        return {
            self.DATASETS_EXHAUSTED_KEY: dict(self._exhausted),
            self.DATASET_NODE_STATES_KEY: nodes,
            self.EPOCH_KEY: self._epoch,
            self.NUM_YIELDED_KEY: self._num_yielded,
            self.WEIGHTED_SAMPLER_STATE_KEY: self._draws.state_dict(),
        }


class _Draws:
    """The _Draws are the sources that are drawn in an epoch.

    Their state is the state of the generator before a block of draws, and how many draws of the
    block were used.
    """

    def __init__(
        self, weights: Mapping[str, float], seed: int, state: dict[str, Any] | None
    ) -> None:
        self._names = list(weights)
        self._weights = list(weights.values())
        self._generator = _generator.new_generator(seed)
        self.offset = 0
        if state is not None:
            _generator.set_state(self._generator, member(state, "g_state", "Draws"))
            self.offset = member(state, "offset", "Draws")
        self._draw()

    def _draw(self) -> None:
        """Draw a block."""
        self._before = self._generator.get_state()
        self._block = _generator.multinomial(self._weights, _BLOCK, self._generator)

    def next(self) -> str:
        """Return the name of the next source."""
        if self.offset >= len(self._block):
            self._draw()
            self.offset = 0
        self.offset += 1
        return self._names[self._block[self.offset - 1]]

    def state_dict(self) -> dict[str, Any]:
        """Return the state."""
        return {"g_state": self._before, "offset": self.offset}


def _seed_of(seed: int, rank: int, world_size: int, epoch: int) -> int:
    """Return the seed of the draws of an epoch."""
    generator = _generator.new_generator(seed * world_size + rank)
    return _generator.randint(_SEEDS, epoch + 1, generator)[-1]


def _rank_and_world_size() -> tuple[int, int]:
    """Return the rank and the world size of torch.distributed, or of the environment."""
    module: Any = sys.modules.get("torch.distributed")
    if module is not None and module.is_available() and module.is_initialized():
        rank, world_size = module.get_rank(), module.get_world_size()
    else:
        try:
            rank = int(os.environ.get("RANK", "0"))
            world_size = int(os.environ.get("WORLD_SIZE", "1"))
        except ValueError:
            rank, world_size = 0, 1
    if rank >= world_size or rank < 0:
        raise ValueError(
            f"Invalid rank {rank}, rank should be in the interval [0, {world_size - 1}]"
        )
    return rank, world_size
