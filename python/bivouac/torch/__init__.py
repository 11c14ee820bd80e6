"""bivouac.torch: torchdata's StatefulDataLoader, with the same arguments, batches and states.

    from bivouac.torch import StatefulDataLoader

The loader needs neither torchdata nor torch's DataLoader, and imports neither. It uses torch if the
program has imported it. Without torch, batches are arrays of numpy, and `Generator` draws the
numbers of torch's generator.

The order and the state are decided in the trainer, not in the side-car. Samplers, generators and
data sets are objects of the program, and a state consists of their states. A second copy of them
elsewhere would have to be kept equal to them with a call for each batch, and could not be: a
sampler of the program may do anything. So this module starts no side-car, unless a loader is
elastic: with `elastic=True` order and state are Bivouac's own, and the side-car makes them for some
hundred batches at a time.

Workers write batches into shared memory, and the trainer's tensors and arrays are views of it. The
memory of a batch is used again when its last view is gone. Do not keep the address of a tensor
without the tensor.
"""

from __future__ import annotations

from bivouac.torch._collate import default_collate, default_convert
from bivouac.torch._distributed import StatefulDistributedSampler
from bivouac.torch._generator import Generator
from bivouac.torch._loader import StatefulDataLoader
from bivouac.torch._samplers import BatchSampler, RandomSampler, SequentialSampler
from bivouac.torch._seeds import get_sample_seed
from bivouac.torch._state import Stateful
from bivouac.torch._streams import merge_states
from bivouac.torch._worker_info import WorkerInfo, get_worker_info

__all__ = [
    "BatchSampler",
    "Generator",
    "RandomSampler",
    "SequentialSampler",
    "Stateful",
    "StatefulDataLoader",
    "StatefulDistributedSampler",
    "WorkerInfo",
    "default_collate",
    "default_convert",
    "get_sample_seed",
    "get_worker_info",
    "merge_states",
]
