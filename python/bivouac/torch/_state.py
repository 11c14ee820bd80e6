"""States: of values of the user, and the parts of the loader's state by torchdata's names."""

from __future__ import annotations

import pickle
from typing import Any, Protocol, runtime_checkable

from bivouac import errors

__all__ = [
    "Lane",
    "Stateful",
    "is_stateful",
    "lane_document",
    "load_into",
    "refuse_elastic",
    "state_of",
]

# The members of a state.
INDEX_SAMPLER = "_index_sampler_state"
SAMPLER_ITER = "_sampler_iter_state"
DRAWN = "_sampler_iter_yielded"
LEN_CALLED = "_IterableDataset_len_called"
SHARED_SEED = "_shared_seed"
FINISHED = "_iterator_finished"
YIELDED = "_num_yielded"
FETCHER = "fetcher_state"
DATASET = "dataset_state"
DATASET_ITER = "dataset_iter_state"
ENDED = "fetcher_ended"
SNAPSHOT = "_snapshot"
STEP = "_snapshot_step"
SINCE = "_steps_since_snapshot"
MAIN = "_main_snapshot"
WORKERS = "_worker_snapshots"
LAST_WORKER = "_last_yielded_worker_id"
NUM_WORKERS = "_num_workers"
BASE_SEED = "_base_seed"
OUT_OF_ORDER = "_out_of_order"
AHEAD = "delivered_ahead"
ITEMS = "items"

Lane = tuple[Any, Any, bool, int]
"""The state of a worker: data set, iterator, whether the iterator has ended, items it gave."""


@runtime_checkable
class Stateful(Protocol):
    """A Stateful value has a state that can be saved and loaded."""

    def state_dict(self) -> dict[str, Any]:
        """Return the state."""

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on from a state."""


def is_stateful(value: Any) -> bool:
    """Report whether a value has `state_dict` and `load_state_dict`."""
    return hasattr(value, "state_dict") and hasattr(value, "load_state_dict")


def state_of(value: Any) -> Any:
    """Return the state of a value, or None if it has none."""
    return value.state_dict() if is_stateful(value) else None


def load_into(value: Any, state: Any) -> None:
    """Load a state into a value that has states."""
    if is_stateful(value):
        value.load_state_dict(state)


def refuse_elastic(state: Any) -> None:
    """Refuse the state of an elastic loader, which another loader does not take."""
    if isinstance(state, dict) and state.get("kind") == "loader":
        raise errors.Mismatch(
            op="load_state_dict",
            subject="elastic",
            want="a state in torchdata's form",
            got="a state of a loader with elastic=True",
            remedy="set elastic=True",
        )


def sampler_states(sampler: Any, iterator: Any, drawn: int, length: int | None) -> dict[str, Any]:
    """Return the members of a state that tell of the samplers."""
    return {
        SAMPLER_ITER: state_of(iterator),
        INDEX_SAMPLER: state_of(sampler),
        DRAWN: drawn,
        LEN_CALLED: length,
        SHARED_SEED: None,
    }


def lane_document(worker: int, raw: bytes, iterable: bool) -> dict[str, Any]:
    """Return the state of a worker as torchdata writes it."""
    dataset, iterator, ended, _ = pickle.loads(raw)
    fetcher = {ENDED: ended, DATASET_ITER: iterator} if iterable else None
    return {"worker_id": worker, DATASET: dataset, FETCHER: fetcher}


def lane_of(document: dict[str, Any]) -> Lane:
    """Return the state of a worker from what torchdata wrote."""
    fetcher = document.get(FETCHER) or {}
    return document.get(DATASET), fetcher.get(DATASET_ITER), bool(fetcher.get(ENDED)), 0


def items_of(raw: bytes) -> int:
    """Return how many items a worker gave."""
    items: int = pickle.loads(raw)[3]
    return items
