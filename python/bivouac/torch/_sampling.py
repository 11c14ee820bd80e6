"""Samplers of the user in an elastic loader: what they need, and what they are called in states."""

from __future__ import annotations

from typing import Any

from bivouac import errors

__all__ = ["Ids", "fingerprint_of"]

_REMEDIES = {
    "RandomSampler": "leave it out and set shuffle=True and seed=",
    "SubsetRandomSampler": "give torch.utils.data.Subset(dataset, indices) and shuffle=True",
    "DistributedSampler": "leave it out: the loader gives each rank its part; rank and world are "
    "arguments, shuffle=True shuffles",
    "StatefulDistributedSampler": "leave it out: the loader gives each rank its part; rank and "
    "world are arguments, shuffle=True shuffles",
    "WeightedRandomSampler": "draw the ids of an epoch before, and give them as a list or an array",
}


class Ids:
    """Ids are the ids that a sampler of the user has at each position of an epoch.

    The sampler is read by position, so a resume passes over nothing. It may have `set_epoch`.
    """

    def __init__(self, sampler: Any) -> None:
        """Take a sampler.

        Raises:
          Invalid: it cannot be read by position.
        """
        if not (hasattr(sampler, "__getitem__") and hasattr(sampler, "__len__")):
            name = type(sampler).__name__
            raise errors.Invalid(
                op="StatefulDataLoader",
                subject="sampler",
                want="with elastic=True a sampler that is read by position: __getitem__ and "
                "__len__, and set_epoch if epochs differ",
                got=f"{name}, which can only be read from its beginning",
                remedy=_REMEDIES.get(name, "give the ids of an epoch as a list or an array"),
            )
        self._sampler = sampler
        kind = type(sampler)
        self.name = fingerprint_of(sampler) or f"{kind.__module__}.{kind.__qualname__}"

    def __len__(self) -> int:
        return len(self._sampler)

    def part(self, epoch: int, at: int, most: int) -> dict[str, Any]:
        """Return the ids of an epoch from a position on, as `loader.batches` takes them."""
        set_epoch = getattr(self._sampler, "set_epoch", None)
        if callable(set_epoch):
            set_epoch(epoch)
        n = len(self._sampler)
        at = min(at, n)
        ids = [int(self._sampler[i]) for i in range(at, min(n, at + most))]
        return {"name": self.name, "len": n, "at": at, "ids": ids}


def fingerprint_of(value: Any) -> str:
    """Return the `fingerprint` of a data set or sampler, an attribute or a method, or ""."""
    own = getattr(value, "fingerprint", None)
    if callable(own):
        try:
            own = own()
        except TypeError:
            pass
    if own is not None and not isinstance(own, str):
        raise errors.Invalid(
            op="StatefulDataLoader",
            subject="fingerprint",
            want=f"a text, or a method that returns one, of the {type(value).__name__}",
            got=type(own).__name__,
            remedy="give the attribute another name if it does not identify the contents",
        )
    return own or ""
