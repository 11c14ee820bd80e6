"""bivouac.grain: iterators and states as Grain's checkpoint handlers use them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import bivouac
from bivouac import errors
from test_definition_loader import graph, texts, told

pytestmark = pytest.mark.usefixtures("sidecar")


def makes(tmp_path: Path) -> dict[str, Any]:
    settings = texts(tmp_path)
    return {
        "data": lambda: bivouac.grain.IterDataset(settings, epochs=3),
        "pipeline": lambda: bivouac.grain.IterDataset(
            graph(tmp_path), epochs=3, last_batch="partial"
        ),
    }


class Kept:
    """What Grain's CheckpointHandler does with an iterator that is not Grain's own."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def save(self, item: Any) -> None:
        self.file.write_text(item.get_state().decode())

    def restore(self, item: Any) -> Any:
        item.set_state(self.file.read_text().encode())
        item.start_prefetch()
        return item


@pytest.mark.parametrize("kind", ["data", "pipeline"])
def test_states_lead_to_the_same_batches(kind: str, tmp_path: Path) -> None:
    make = makes(tmp_path)[kind]
    kept = Kept(tmp_path / "state.json")
    iterator = iter(make())
    want, states = [], [iterator.get_state()]
    for batch in iterator:
        want.append(told(batch))
        states.append(iterator.get_state())
    assert len(want) in (9, 12) and len({str(batch) for batch in want}) == len(want)
    assert next(iterator, None) is None
    states.append(iterator.get_state())
    for i, state in enumerate(states):
        kept.file.write_bytes(state)
        again = kept.restore(iter(make()))
        assert [told(batch) for batch in again] == want[i:]
        again.close()
    again = iter(make())
    again.set_state(json.loads(states[2]))  # a dictionary
    assert told(next(again)) == want[2]
    kept.save(again)
    assert told(next(kept.restore(iterator))) == want[3]  # also one that has ended


def test_without_an_end(tmp_path: Path) -> None:
    iterator = iter(bivouac.grain.IterDataset(texts(tmp_path)))
    assert len([next(iterator) for _ in range(41)]) == 41


def test_mistakes(tmp_path: Path) -> None:
    with pytest.raises(errors.Invalid, match="epochs"):
        bivouac.grain.IterDataset(texts(tmp_path), epochs=0)
    iterator = iter(makes(tmp_path)["data"]())
    next(iterator)
    before = iterator.get_state()
    good = json.loads(before)
    for state in (b"", b"{}", "x", {}, {**good, "ended": "1"}, {**good, "loader": {}}):
        with pytest.raises(errors.Mismatch):
            iterator.set_state(state)
        assert iterator.get_state() == before


@pytest.mark.filterwarnings("ignore")
def test_with_grain_itself(tmp_path: Path) -> None:
    """Grain's handlers, and Orbax with them, save and restore an iterator."""
    grain = pytest.importorskip("grain.python", reason="grain is not installed")
    ocp = pytest.importorskip("orbax.checkpoint", reason="orbax is not installed")
    for kind, make in makes(tmp_path).items():
        iterator = iter(make())
        for _ in range(4):
            next(iterator)
        with ocp.CheckpointManager(tmp_path / "run" / kind) as manager:
            manager.save(4, args=ocp.args.Composite(data=grain.PyGrainCheckpointSave(iterator)))
            manager.wait_until_finished()
            want = [told(batch) for batch in iterator]
            again = iter(make())
            back = manager.restore(
                4, args=ocp.args.Composite(data=grain.PyGrainCheckpointRestore(again))
            )
            assert back["data"] is again
            assert [told(batch) for batch in again] == want


@pytest.mark.parametrize("kind", ["data", "pipeline"])
def test_in_a_job(kind: str, tmp_path: Path) -> None:
    """A job keeps the states of such an iterator."""
    make, seen = makes(tmp_path)[kind], []
    for steps in (3, 5):
        with bivouac.Job(tmp_path / "run", iter(make()), {"w": 0.0}, steps=steps) as job:
            seen += [told(batch) for batch in job]
    assert seen == [told(batch) for batch in iter(make())][:5]
