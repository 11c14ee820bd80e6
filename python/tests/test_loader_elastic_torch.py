"""Elastic loaders in programs that use torch: tensors, torch's generator, torch.distributed."""

from __future__ import annotations

import io
import json
import os
import random
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch: Any = pytest.importorskip("torch", reason="torch is not installed")

import loader_data as data

from bivouac import errors
from bivouac.torch import StatefulDataLoader

pytestmark = [
    pytest.mark.torch,
    pytest.mark.usefixtures("sidecar"),
    pytest.mark.filterwarnings("ignore"),
]


def make(dataset: Any, **args: Any) -> StatefulDataLoader:
    args = {"batch_size": 3, "shuffle": True, "seed": 7, "collate_fn": data.keep, **args}
    return StatefulDataLoader(dataset, elastic=True, **args)


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_torch_draws_the_same_in_workers_and_trainer(method: str) -> None:
    want = [sample for batch in make(data.Augmented(20)) for sample in batch]
    assert len(want[0]) == 5 and len({sample[4] for sample in want}) == 20
    loader = make(data.Augmented(20), num_workers=2, batch_size=7, multiprocessing_context=method)
    assert [sample for batch in loader for sample in batch] == want
    for i, seed, one, two, three in want:
        random.seed(seed)
        np.random.seed(seed >> 32)
        torch.manual_seed(seed)
        assert (one, two, three) == (random.random(), np.random.random(), torch.rand(()).item())


def test_torch_generator_of_the_trainer_is_left_alone() -> None:
    torch.manual_seed(3)
    before = torch.get_rng_state()
    for workers in (0, 2):
        loader = make(data.Augmented(20), num_workers=workers)
        list(loader)
        assert torch.equal(torch.get_rng_state(), before)


def test_torch_batches_are_tensors_and_states_save() -> None:
    loader = make(data.Numbers(20), collate_fn=None, num_workers=2)
    iterator = iter(loader)
    first = next(iterator)
    assert isinstance(first, torch.Tensor)
    file = io.BytesIO()
    torch.save({"loader": loader.state_dict()}, file)
    file.seek(0)
    rest = make(data.Numbers(20), collate_fn=None)
    rest.load_state_dict(torch.load(file, weights_only=True)["loader"])
    left = torch.cat([*iterator])
    assert torch.equal(torch.cat([*rest]), left)
    assert sorted(first.tolist() + left.tolist()) == list(range(20))


@pytest.mark.parametrize("kind", ["Random", "SubsetRandom", "WeightedRandom", "Distributed"])
def test_torch_samplers_that_draw_are_refused_with_a_remedy(kind: str) -> None:
    dataset = data.Numbers(9)
    given: dict[str, Any] = {
        "Random": lambda: torch.utils.data.RandomSampler(dataset),
        "SubsetRandom": lambda: torch.utils.data.SubsetRandomSampler([1, 2]),
        "WeightedRandom": lambda: torch.utils.data.WeightedRandomSampler([1.0] * 9, 9),
        "Distributed": lambda: torch.utils.data.DistributedSampler(dataset, 2, 0),
    }
    with pytest.raises(errors.Invalid, match=f"sampler: invalid.*{kind}Sampler.*\\(") as raised:
        make(dataset, shuffle=False, sampler=given[kind]())
    assert "list or an array" not in raised.value.remedy or kind == "WeightedRandom"


def test_torch_distributed_gives_rank_and_world(tmp_path: Path) -> None:
    """Two processes of torch.distributed have the slices of one loader, and one state."""
    code = """
        import json, sys
        import torch
        import torch.distributed as dist
        import loader_data as data
        from bivouac.torch import StatefulDataLoader
        rank, store = int(sys.argv[1]), sys.argv[2]
        dist.init_process_group("gloo", init_method="file://" + store, rank=rank, world_size=2)
        loader = StatefulDataLoader(data.Numbers(20), 3, True, elastic=True, seed=7)
        iterator = iter(loader)
        got = [next(iterator).tolist() for _ in range(2)]
        print(json.dumps([got, loader.state_dict()]))
        dist.barrier()
        dist.destroy_process_group()
    """
    script = tmp_path / "rank.py"
    script.write_text(textwrap.dedent(code))
    here = Path(__file__).parent
    path = os.pathsep.join([str(here.parent), str(here), os.environ.get("PYTHONPATH", "")])
    started = [
        subprocess.Popen(
            [sys.executable, str(script), str(rank), str(tmp_path / "store")],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": path},
        )
        for rank in range(2)
    ]
    said = [json.loads(one.communicate(timeout=120)[0].splitlines()[-1]) for one in started]
    (zero, state), (one, same) = said
    assert state == same and state["extra"]["world"] == 2
    whole = [i for batch in make(data.Numbers(20)) for i in batch]
    assert [i for step in zip(zero, one, strict=True) for part in step for i in part] == whole[:12]
    rest = make(data.Numbers(20), batch_size=5)
    rest.load_state_dict(state)
    assert [i for batch in rest for i in batch] == whole[12:]
