"""Where the epochs of an iterator end."""

from __future__ import annotations

import json
from typing import Any

from bivouac._pipeline.refusals import Unmet

__all__ = ["EpochCount"]

FILL, DROP, PARTIAL = 0, 1, 2


class EpochCount:
    """An EpochCount counts the samples that an iterator took, and knows where its epochs end.

    If a reader tells the sizes, `counter` counts one shard, and all shards advance together. Shards
    without padding may differ in size by one. If the last batch was filled with samples of the next
    epoch, each shard begins that epoch with some samples already read.
    """

    def __init__(self, batch: int, pipes: int, last: int, padded: bool, size: int) -> None:
        self.batch = batch
        self.pipes = pipes
        self.last = last
        self.padded = padded
        self.counter = 0
        self.size = size  # where the epoch ends; -1 if it does not end by count
        self.stick = False
        self.ids: list[int] = []  # shard of each pipeline in this epoch
        self.sizes: list[int] = []  # of the shards, as they come in this epoch
        self.initial: list[int] = []  # and in the first
        self.ahead: list[int] = []  # samples of each shard that were read before the epoch began

    def shard(self, metas: list[dict[str, Any]]) -> None:
        """Take the sizes from the reader of all pipelines."""
        first = metas[0]
        for meta in metas:
            for name in ("epoch_size", "number_of_shards", "pad_last_batch", "stick_to_shard"):
                if meta[name] != first[name]:
                    raise Unmet(
                        f"iterator: the readers of the pipelines differ in {name}: want "
                        f"{first[name]}, as in the first pipeline, got {meta[name]}"
                    )
        n, shards = first["epoch_size"], first["number_of_shards"]
        self.ids = [meta["shard_id"] for meta in metas]
        self.stick = first["stick_to_shard"] == 1
        self.padded = first["pad_last_batch"] == 1
        self.sizes = [(i + 1) * n // shards - i * n // shards for i in range(shards)]
        self.initial = list(self.sizes)
        self.ahead = [0] * shards
        if self.last == DROP:
            self.size = n // shards
        elif self.padded:
            self.size = first["epoch_size_padded"] // shards
        else:
            self.size = self._whole(-(-n // shards))

    def sharded(self) -> bool:
        """Report whether a reader tells the size."""
        return bool(self.sizes)

    def _whole(self, n: int) -> int:
        """Round up to full batches."""
        return -(-n // self.batch) * self.batch

    def over(self) -> bool:
        """Report whether the epoch has ended."""
        return self.size > 0 and self.counter >= self.size

    def _after(self) -> int:
        """Return the counter after one more batch of every pipeline."""
        return self.counter + (self.batch if self.sharded() else self.pipes * self.batch)

    def drops_next(self) -> bool:
        """Report whether the next batch is dropped because it would not be full."""
        if self.last != DROP or self.size < 0:
            return False
        after = self._after()
        if not self.sharded():
            return after > self.size
        return any(ahead + after > n for ahead, n in zip(self.ahead, self.sizes))

    def advance(self) -> bool:
        """Count a batch of every pipeline, and report whether it is dropped."""
        dropped = self.drops_next()
        self.counter = self._after()
        return dropped

    def kept(self) -> list[int] | None:
        """Return how many samples of each last batch belong to the epoch, or None for all."""
        if self.last != PARTIAL or (self.counter <= self.size and not self.sharded()):
            return None
        kept = []
        for i in range(self.pipes):
            if self.sharded():
                n = self.batch - (self.counter - self.initial[self.ids[i]])
            else:
                n = self.pipes * self.batch - (self.counter - self.size) - i * self.batch
            kept.append(min(max(0, n), self.batch))
        return kept

    def reset(self) -> None:
        """Begin the next epoch."""
        carries = self.last == FILL and not self.padded  # samples of it came already
        if not carries:
            self.counter = 0
        elif self.sharded():
            read = self.counter - min(self.ahead)
            self.ahead = [a + read - n for a, n in zip(self.ahead, self.sizes)]
            self.counter = min(self.ahead)
        elif self.size > 0:
            self.counter %= self.size
        else:
            self.counter = 0
        if not self.sharded():
            return
        if not self.stick:
            self.ids = [(i + 1) % len(self.sizes) for i in self.ids]
        if carries:
            self._carry()

    def _carry(self) -> None:
        """Find the end of an epoch from which some samples were read already."""
        if not self.stick:
            self._roll()
        left = max(0, *[n - a for n, a in zip(self.sizes, self.ahead)])
        self.size = self._whole(left)
        if self.size == 0:  # all of it was read: it is skipped
            self.ahead = [0] * len(self.ahead)
            self.counter = 0
            self._roll()
            self.size = self._whole(max(self.sizes))

    def _roll(self) -> None:
        """Let the shards come in the order of the next epoch."""
        self.sizes = self.sizes[-1:] + self.sizes[:-1]

    def length(self) -> int:
        """Return the number of batches of the epoch."""
        per_batch = self.batch if self.sharded() else self.pipes * self.batch
        if self.last != DROP:
            return -(-self.size // per_batch)
        return self.size // per_batch

    def text(self) -> str:
        """Return the counters as they are kept in states."""
        return json.dumps(
            {
                "_counter": self.counter,
                "_counter_per_gpu": self.ahead if self.sharded() else None,
                "_shard_sizes_per_gpu": self.sizes if self.sharded() else None,
                "_shards_id": self.ids if self.sharded() else None,
                "_size": self.size,
            }
        )

    def parse(self, text: str) -> None:
        """Read counters that `text` wrote."""
        data = json.loads(text)
        ahead, sizes = data.get("_counter_per_gpu") or [], data.get("_shard_sizes_per_gpu") or []
        ids = data.get("_shards_id") or []
        same = [len(ahead), len(sizes), len(ids)] == [
            len(self.ahead),
            len(self.sizes),
            len(self.ids),
        ]
        if not same or any(not 0 <= i < len(sizes) for i in ids):
            raise ValueError(
                f"iterator: the state is of another iterator: want counters as {self.text()}, got "
                f"{text}"
            )
        self.ahead, self.sizes, self.ids = ahead, sizes, ids
        self.counter, self.size = data["_counter"], data["_size"]
