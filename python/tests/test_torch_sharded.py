"""Jobs of torch.distributed: DTensor leaves, other meshes, and processes that end."""

from __future__ import annotations

from pathlib import Path

import pytest

from processes import Job, needs

SAVE = """
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor

mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
full = {
    "grid": torch.arange(48, dtype=torch.float32).reshape(8, 6),
    "rows": torch.arange(20, dtype=torch.bfloat16).reshape(10, 2),
    "uneven": torch.arange(7, dtype=torch.int64),
    "all": torch.arange(5, dtype=torch.float64),
    "strided": torch.arange(32, dtype=torch.float16).reshape(16, 2),
    "tiny": torch.arange(1, dtype=torch.int32),
}
where = {
    "grid": [Shard(0), Shard(1)],
    "rows": [Replicate(), Shard(0)],
    "uneven": [Shard(0), Replicate()],
    "all": [Replicate(), Replicate()],
    "strided": [Shard(0), Shard(0)],
    "tiny": [Shard(0), Replicate()],
}
state = {k: distribute_tensor(v, mesh, where[k]) for k, v in full.items()}
state["plain"] = torch.full((3,), 1.5)
state["step"] = 7
bv.save(directory + "/ckpt", {"model": state, "lr": 0.5})
again = bv.save_async(directory + "/later", {"model": state, "lr": 0.5})
dist.barrier()  # a collective of the main thread, while the save goes on
again.result()
if rank == 0:
    wanted = {k: torch.Tensor for k in full} | {"plain": torch.Tensor, "step": 0}
    loaded = bv.load(directory + "/ckpt", {"model": wanted, "lr": 0.0})["model"]
    assert all(torch.equal(loaded[k], v) for k, v in full.items()), loaded
    assert loaded["step"] == 7 and loaded["plain"].tolist() == [1.5] * 3
    left = sorted(n for n in os.listdir(directory) if not n.startswith("program"))
    assert left == ["ckpt", "later"], left
    assert bv.verify(directory + "/later").sound
dist.barrier()
"""

LOAD = """
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor, zeros

full = {
    "grid": torch.arange(48, dtype=torch.float32).reshape(8, 6),
    "rows": torch.arange(20, dtype=torch.bfloat16).reshape(10, 2),
    "uneven": torch.arange(7, dtype=torch.int64),
    "all": torch.arange(5, dtype=torch.float64),
    "strided": torch.arange(32, dtype=torch.float16).reshape(16, 2),
    "tiny": torch.arange(1, dtype=torch.int32),
}
if size == 1:
    state = {k: torch.zeros_like(v) for k, v in full.items()}
else:
    mesh = init_device_mesh("cpu", (size, 1), mesh_dim_names=("dp", "tp"))
    state = {
        k: distribute_tensor(torch.zeros_like(v), mesh, [Shard(v.ndim - 1), Replicate()])
        for k, v in full.items()
    }
into = {"model": {**state, "plain": torch.zeros(3), "step": 0}, "lr": 0.0}
for how in ("into", "abstract"):
    if how == "into":
        got = bv.load(directory + "/ckpt", into=into)
    else:
        got = bv.load(directory + "/ckpt", into)
        assert size == 1 or isinstance(got["model"]["grid"], DTensor)
    for k, v in full.items():
        t = got["model"][k]
        t = t if size == 1 else t.full_tensor()
        assert t.dtype == v.dtype and torch.equal(t, v), (how, k, t)
    assert got["model"]["step"] == 7 and got["lr"] == 0.5
print("equal")
if size > 1:
    dist.barrier()
"""


def test_any_mesh_to_any_other(tmp_path: Path) -> None:
    """2x2 to 4x1 to one process: every element is the same, and replicas are written once."""
    needs("torch")
    Job("torch", SAVE, 4, tmp_path).outputs()
    assert Job("torch", LOAD, 4, tmp_path).outputs() == ["equal"] * 4
    assert Job("torch", LOAD, 1, tmp_path).outputs() == ["equal"]


KILLED = """
import signal
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Shard, distribute_tensor
mesh = init_device_mesh("cpu", (size,))
state = {"w": distribute_tensor(torch.arange(64.0), mesh, [Shard(0)])}
context = bv.Context()
context.multiprocessing.barrier_timeout_secs = 5
at = os.environ["KILL_AT"]
if rank == 2:
    from bivouac import _processes
    wait = _processes.World.barrier
    def barrier(self, key, members, seconds):
        if key.endswith(at):
            os.kill(os.getpid(), signal.SIGKILL)
        wait(self, key, members, seconds)
    _processes.World.barrier = barrier
try:
    with context:
        bv.save(directory + "/ckpt", state)
except errors.BivouacError as err:
    print("error:", err)
print(os.path.exists(directory + "/ckpt"))
sys.stdout.flush()
open(f"{directory}/ended{rank}", "w").close()
while rank == 0 and not all(os.path.exists(f"{directory}/ended{r}") for r in (1, 3)):
    pass  # the store of the job lives in process 0
os._exit(0)
"""


@pytest.mark.parametrize("at", [":begin", ":plan", ":written"])
def test_a_killed_process_is_named(
    at: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of four processes is killed in a save: no checkpoint, and the others say who it was."""
    needs("torch")
    monkeypatch.setenv("KILL_AT", at)
    results = Job("torch", KILLED, 4, tmp_path).results()
    assert results[2][0] == -9
    for rank in (0, 1, 3):
        status, text, errors = results[rank]
        assert status == 0, errors
        assert "error:" in text and text.strip().endswith("False"), text
        assert "process 2" in text, text
    assert not (tmp_path / "ckpt").exists()


REFUSED = """
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Partial
mesh = init_device_mesh("cpu", (size,))
t = DTensor.from_local(torch.ones(4), mesh, [Partial()])
for call in (
    lambda: bv.save(directory + "/ckpt", {"w": t}),
    lambda: bv.load(directory + "/ckpt", {"w": t}),
):
    try:
        call()
    except errors.Unsupported as err:
        print("Partial" in str(err) and err.subject == "w" or err)
from torch.distributed._shard import sharded_tensor
from torch.distributed._shard.sharding_spec import ChunkShardingSpec
spec = ChunkShardingSpec(dim=0, placements=["rank:0/cpu", "rank:1/cpu"])
try:
    bv.save(directory + "/ckpt", {"w": sharded_tensor.zeros(spec, 4)})
except errors.Unsupported as err:
    print("use DTensor" in err.remedy and err.subject == "w" or err)
context = bv.Context()
context.multiprocessing.active_processes = {0}
with context:
    bv.save(directory + "/alone", {"w": torch.full((2,), float(rank))})
dist.barrier()
print(bv.load(directory + "/alone")["w"][0])
context = bv.Context()
context.multiprocessing.primary_host = None
with context:
    bv.save(directory + f"/own{rank}", {"w": rank})
print(bv.load(directory + f"/own{rank}")["w"] == rank)
for step in (1, 2):
    with bv.training.Checkpointer(directory + "/run") as run:
        assert run.save(step, {"w": torch.full((2,), 1.0)})
        assert [c.step for c in run.checkpoints] == list(range(1, step + 1)), run.checkpoints
    dist.barrier()
print(bv.multihost.process_count(), bv.multihost.process_index() == rank)
dist.barrier()
"""


def test_what_is_refused_and_who_saves(tmp_path: Path) -> None:
    """Partial is refused by name; one process or each process can save alone; runs work."""
    needs("torch")
    for text in Job("torch", REFUSED, 2, tmp_path).outputs():
        assert text.split() == ["True"] * 3 + ["0.0", "True", "2", "True"]


FSDP = """
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor

def made(seed):
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Linear(6, 10), nn.ReLU(), nn.Linear(10, 3))
    if size > 1:
        mesh = init_device_mesh("cpu", (size,))
        for layer in model:
            if isinstance(layer, nn.Linear):
                fully_shard(layer, mesh=mesh)
        fully_shard(model, mesh=mesh)
    return model, torch.optim.AdamW(model.parameters(), lr=0.1)

def step(model, optimizer):
    model(torch.arange(12.0).reshape(2, 6) / 10).square().sum().backward()
    optimizer.step()
    optimizer.zero_grad()

def whole(tensor):
    return (tensor.full_tensor() if isinstance(tensor, DTensor) else tensor).detach().numpy()

def weights(model, optimizer):
    out = {k: whole(v) for k, v in model.state_dict().items()}
    for i, s in optimizer.state_dict()["state"].items():
        out |= {f"{i}.{k}": whole(v) for k, v in s.items()}
    return out

model, optimizer = made(1 if sys.argv[5] == "1" else 2)
step(model, optimizer)
state = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
if sys.argv[5] == "1":
    assert isinstance(state["model"]["0.weight"], DTensor)
    bv.save(directory + "/ckpt", state)
    want = weights(model, optimizer)
    if rank == 0:
        np.savez(directory + "/want.npz", **want)
else:
    got = bv.load(directory + "/ckpt", into=state)
    model.load_state_dict(got["model"])
    optimizer.load_state_dict(got["optimizer"])
    want = np.load(directory + "/want.npz")
    have = weights(model, optimizer)
    assert sorted(want) == sorted(have), (sorted(want), sorted(have))
    for k in want:
        assert np.array_equal(want[k], have[k]), k
    step(model, optimizer)
print("equal")
if size > 1:
    dist.barrier()
"""


def test_fsdp_with_its_optimizer(tmp_path: Path) -> None:
    """FSDP2 on four processes, to two, to one process without FSDP: the optimizer goes on."""
    needs("torch")
    assert Job("torch", FSDP, 4, tmp_path, devices=1).outputs() == ["equal"] * 4
    assert Job("torch", FSDP, 2, tmp_path, devices=2).outputs() == ["equal"] * 2
    assert Job("torch", FSDP, 1, tmp_path, devices=2).outputs() == ["equal"]
