"""The options that Orbax does not have."""

from __future__ import annotations

import base64
import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from bivouac.checkpoint.options._array import ArrayOptions
from bivouac.checkpoint.options._base import Options, as_json, at_least, bad


@dataclasses.dataclass(kw_only=True)
class BivouacOptions(Options):
    """Options that Orbax does not have. None means the default.

    Attributes:
      layout: "ocdbt-zarr3", "ocdbt-zarr2", "zarr3", "zarr2" or "safetensors".
      compression: "none", "zstd" or "bytesplit".
      memory_budget: the most bytes of memory of a save beyond the state; -1 means no bound.
      parity: blocks of redundancy for 100 blocks of data, 1 to 50, so that `bivouac repair` can
        mend that share; -1 means none.
      annotations: texts by name that are kept with each checkpoint and covered by its manifest.
      label: what a signed checkpoint is, such as the name of the run.
      verification_key: 32 bytes of an Ed25519 public key. Loads refuse what it did not sign.
      pad: True fills an array that was saved smaller than it is wanted with zeros.
      truncate: True cuts an array that was saved larger than it is wanted.
      zarr_metadata_key: name of the metadata of Zarr 2 arrays.
      leaf_storage: storage of some leaves; the first entry that matches a leaf counts.
      save_timeout_secs: the most seconds of any save; -1 means no bound.
      load_timeout_secs: the most seconds of any load; -1 means no bound.
    """

    @dataclasses.dataclass(kw_only=True)
    class LeafStorage(Options):
        """Storage of the leaves that a pattern names.

        Attributes:
          match: pattern of paths, one element for each key, with "**" for any number of keys:
            "params/*/w", "opt/**".
          storage_options: dtype and chunks of these leaves.
          compression: "none", "zstd" or "bytesplit"; None means as all arrays.
        """

        match: str
        storage_options: ArrayOptions.Saving.StorageOptions = dataclasses.field(
            default_factory=ArrayOptions.Saving.StorageOptions
        )
        compression: str | None = None

        def wire(self) -> dict[str, Any]:
            """Return the entry as the server takes it."""
            out: dict[str, Any] = {"match": self.match}
            storage = self.storage_options.wire()
            if storage:
                out["storage_options"] = storage
            if self.compression is not None:
                out["compression"] = self.compression
            return out

    layout: str | None = None
    compression: str | None = None
    memory_budget: int | None = None
    parity: int | None = None
    annotations: Mapping[str, str] | None = None
    label: str | None = None
    verification_key: bytes | None = None
    pad: bool | None = None
    truncate: bool | None = None
    zarr_metadata_key: str | None = None
    leaf_storage: Sequence[LeafStorage] | None = None
    save_timeout_secs: float | None = None
    load_timeout_secs: float | None = None

    def _check(self) -> None:
        _one_of(
            "layout", self.layout, "ocdbt-zarr3", "ocdbt-zarr2", "zarr3", "zarr2", "safetensors"
        )
        _one_of("compression", self.compression, "none", "zstd", "bytesplit")
        if self.parity is not None and self.parity != -1 and not 1 <= self.parity <= 50:
            raise bad("parity", "1 to 50, or -1", self.parity)
        for name in ("memory_budget", "save_timeout_secs", "load_timeout_secs"):
            at_least(name, getattr(self, name), -1)
        if self.verification_key is not None and len(self.verification_key) != 32:
            raise bad("verification_key", "32 bytes", self.verification_key)

    def wire(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the group, and what belongs to group asynchronous, as the server takes them."""
        group = as_json(self)
        apart: dict[str, Any] = {
            name: group.pop(name)
            for name in ("save_timeout_secs", "load_timeout_secs")
            if name in group
        }
        if self.verification_key is not None:
            group["verification_key"] = base64.b64encode(self.verification_key).decode()
        if self.annotations is not None:
            group["annotations"] = dict(self.annotations)
        if self.leaf_storage is not None:
            group["leaf_storage"] = [entry.wire() for entry in self.leaf_storage]
        return group, apart


def _one_of(name: str, value: str | None, *names: str) -> None:
    if value is not None and value not in names:
        raise bad(name, "one of " + ", ".join(names), value)
