"""Loader: the batches of a definition."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

from bivouac import errors
from bivouac._loader import definition as definitions
from bivouac._loader.batch import Batch
from bivouac._loader.engines import DataSet, Piped
from bivouac._pipeline.turns import Turns, in_turn

__all__ = ["Batch", "Loader"]

_KIND = "bivouac.Loader"


class Loader(Turns):
    """A Loader reads the batches of a definition in the side-car, ahead of the loop.

    A batch is a dictionary of arrays. `for batch in loader` is the rest of an epoch: a whole one,
    or what a state or an earlier loop has left. Threads that use one loader take turns.
    """

    def __init__(
        self,
        definition: Any,
        *,
        names: Any = None,
        reader: str | None = None,
        last_batch: str = "fill",
        rank: int | None = None,
        world: int | None = None,
        base: str | os.PathLike[str] | None = None,
        most_held: int | None = None,
    ) -> None:
        """Open a definition.

        Args:
          definition: the path, the text or the dictionary of a data.yaml; a Pipeline, built or not;
            or what `serialize` wrote, here or in DALI: bytes, or the path of a file.
          names: of the outputs of a pipeline. The default is output0, output1 and so on. A data set
            has names.
          reader: the reader of a pipeline that tells where epochs end, if there are several.
          last_batch: what the last batch of an epoch of a pipeline has if the samples do not fill
            it: "fill" takes further samples, "drop" leaves the batch out, "partial" cuts it. A
            data.yaml says it itself.
          rank, world: the part of each batch that this process reads, in place of rank and world in
            a data.yaml. The reader of a pipeline has shard_id and num_shards.
          base: the directory to which paths of a data.yaml are relative: by default that of the
            file, or the working directory.
          most_held: how many batches the program may hold at a time. None is 64.

        Raises:
          Invalid: the definition has a mistake. The error has the line.
        """
        super().__init__()
        found = definitions.read(definition, base)
        self._engine: DataSet | Piped
        if isinstance(found, definitions.Text):
            _unused("a data.yaml", names=names, reader=reader)
            self._engine = DataSet(found, rank, world, most_held)
        else:
            _unused("a pipeline", rank=rank, world=world, base=base)
            self._engine = Piped(found, names, reader, last_batch, most_held)

    @property
    def elastic(self) -> bool:
        """True if a state fits any number of processes: for a data.yaml."""
        return self._engine.elastic

    @property
    @in_turn
    def epoch(self) -> int:
        """The number of the epoch, from 0."""
        return self._engine.epoch()

    def __iter__(self) -> Iterator[Batch]:
        return self

    @in_turn
    def __next__(self) -> Batch:
        return self._engine.next()

    @in_turn
    def __len__(self) -> int:
        length = self._engine.length()
        if length is None:
            raise TypeError("bivouac.Loader: the number of batches of an epoch is not known")
        return length

    @in_turn
    def reset(self) -> None:
        """Leave the rest of the epoch out, and begin the next one."""
        self._engine.reset()

    @in_turn
    def state_dict(self) -> dict[str, Any]:
        """Return the state after the batch that the loop has. It is JSON."""
        return {"kind": _KIND, "engine": self._engine.kind, "state": self._engine.state()}

    @in_turn
    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on after the batch that a state describes.

        Raises:
          Mismatch: the state is of other data, or of another definition. The loader stays where it
            was.
        """
        given = dict(state) if isinstance(state, Mapping) else {}
        text = given.get("state")
        if (
            given.get("kind") != _KIND
            or given.get("engine") != self._engine.kind
            or not isinstance(text, str)
        ):
            raise errors.Mismatch(
                op="bivouac.Loader",
                subject="state",
                want=f"a state_dict() of a Loader of kind {self._engine.kind!r}",
                got=f"{given.get('engine', 'none')!r}" if given else type(state).__name__,
            )
        self._engine.restore(text)

    @in_turn
    def close(self) -> None:
        """End the loader. Batches that the program has stay readable."""
        self._engine.close()

    def __enter__(self) -> Loader:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def _unused(of: str, **given: Any) -> None:
    """Raise an error for arguments that a definition does not take."""
    names = [name for name, value in given.items() if value is not None]
    if names:
        raise errors.Invalid(
            op="bivouac.Loader",
            subject=", ".join(names),
            want=f"nothing for {of}",
            got=", ".join(str(given[name]) for name in names),
            remedy="say it in the definition",
        )
