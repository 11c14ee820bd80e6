"""bivouac.torch.nodes: torchdata's nodes, with the same arguments, items and states.

    from bivouac.torch.nodes import Loader, ParallelMapper, SamplerWrapper

The modules of this package have the names of those of torchdata.nodes. The nodes need neither
torchdata nor torch, and import neither. PinMemory needs torch.

An uninterrupted run does what it does with torchdata. A run that goes on from a state does what it
would have done without the interruption.
"""

from __future__ import annotations

from bivouac.torch.nodes.adapters import IterableWrapper, MapStyleWrapper, SamplerWrapper
from bivouac.torch.nodes.base_node import BaseNode, T
from bivouac.torch.nodes.batch import Batcher, Unbatcher
from bivouac.torch.nodes.loader import Loader
from bivouac.torch.nodes.map import Mapper, ParallelMapper
from bivouac.torch.nodes.pin_memory import PinMemory
from bivouac.torch.nodes.prefetch import Prefetcher
from bivouac.torch.nodes.samplers.multi_node_weighted_sampler import MultiNodeWeightedSampler
from bivouac.torch.nodes.samplers.stop_criteria import StopCriteria
from bivouac.torch.nodes.types import Stateful

__all__ = [
    "BaseNode",
    "Batcher",
    "IterableWrapper",
    "Loader",
    "MapStyleWrapper",
    "Mapper",
    "MultiNodeWeightedSampler",
    "ParallelMapper",
    "PinMemory",
    "Prefetcher",
    "SamplerWrapper",
    "Stateful",
    "StopCriteria",
    "T",
    "Unbatcher",
]
