"""Several processes save one checkpoint to a bucket. They meet in the store of their launcher."""

from __future__ import annotations

from pathlib import Path

import pytest

import bivouac.checkpoint as ocp
from buckets import Server
from processes import Job, needs

TORCH = """
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Shard, distribute_tensor, zeros
from bivouac.checkpoint.training import Checkpointer
url = open(directory + "/url").read()
mesh = init_device_mesh("cpu", (size,))
full = torch.arange(70, dtype=torch.float32).reshape(10, 7)
state = {"w": distribute_tensor(full, mesh, [Shard(0)]), "n": 7}
bv.save(url + "/a", state)
bv.save_async(url + "/b", state).result()
with Checkpointer(url + "/run") as run:
    for step in range(3):
        assert run.save(step, {**state, "n": step}, force=True)
    dist.barrier()
    into = {"w": zeros(10, 7, device_mesh=mesh, placements=[Shard(1)]), "n": 0}
    got = run.load(2, into=into)
    assert got["n"] == 2 and torch.equal(got["w"].full_tensor(), full)
dist.barrier()
got = bv.load(url + "/b", into={"w": zeros(10, 7, device_mesh=mesh, placements=[Shard(0)]), "n": 0})
assert torch.equal(got["w"].full_tensor(), full)
print(rank, "whole", flush=True)
dist.barrier()
"""

JAX = """
import jax.numpy as jnp
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
from bivouac.checkpoint.training import Checkpointer
url = open(directory + "/url").read()
mesh = Mesh(np.array(jax.devices()), ("x",))
cut = NamedSharding(mesh, P("x"))
full = np.arange(64, dtype=np.float32).reshape(8, 8)
w = jax.make_array_from_callback(full.shape, cut, lambda box: full[box])
bv.save(url + "/a", {"w": w, "n": 7})
with Checkpointer(url + "/run") as run:
    for step in range(2):
        assert run.save(step, {"w": w, "n": step}, force=True)
wanted = jax.ShapeDtypeStruct(full.shape, full.dtype, sharding=cut)
got = bv.load(url + "/run/1", {"w": wanted, "n": 0})
for part in got["w"].addressable_shards:
    assert np.array_equal(part.data, full[part.index])
print(rank, "whole", flush=True)
"""

DIES = """
import signal
from bivouac.checkpoint.training import Checkpointer
url = open(directory + "/url").read()
run = Checkpointer(url + "/run")
assert run.save(0, {"n": 0}, force=True)
dist.barrier()
if rank == 1:
    os.kill(os.getpid(), signal.SIGKILL)
context = bv.Context(multiprocessing_options=bv.options.MultiprocessingOptions(
    barrier_timeout_secs=3))
try:
    with context:
        run.save(1, {"n": 1}, force=True)
except errors.BivouacError as err:
    print("missing", "process 1" in str(err), "call" in str(err), flush=True)
os._exit(0)
"""


def place(directory: Path, bucket: str) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "url").write_text(bucket)


@pytest.mark.parametrize(
    "library, code",
    [pytest.param("torch", TORCH, marks=pytest.mark.torch), ("jax", JAX)],
    ids=["torch", "jax"],
)
def test_processes_save_one_checkpoint(
    library: str, code: str, bucket: str, server: Server, tmp_path: Path
) -> None:
    needs(library)
    place(tmp_path / "job", bucket)
    assert Job(library, code, 2, tmp_path / "job").outputs() == ["0 whole", "1 whole"]
    assert ocp.verify(f"{bucket}/a").sound and ocp.verify(f"{bucket}/run/1").sound
    below = bucket.split("/", 3)[3]
    assert not [key for key in server.keys(below) if "/live/" in key]
    with ocp.training.Checkpointer(f"{bucket}/run") as run:  # its lock is free
        assert run.save(9, {"n": 9}, force=True)


@pytest.mark.torch
def test_a_process_that_died_is_named(bucket: str, tmp_path: Path) -> None:
    needs("torch")
    place(tmp_path / "job", bucket)
    results = Job("torch", DIES, 2, tmp_path / "job").results()
    assert results[0][1].strip() == "missing True True", results[0]
    with ocp.training.Checkpointer(f"{bucket}/run") as run:
        assert [c.step for c in run.checkpoints] == [0]


JOB = """
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Shard, distribute_tensor
from pathlib import Path
import bivouac
from bivouac.checkpoint.training import Tier
sys.path.insert(0, open(directory + "/tests").read())
from jobs import Batches
url = open(directory + "/url").read()
mesh = init_device_mesh("cpu", (size,))

def new():
    full = torch.arange(12, dtype=torch.float64).reshape(4, 3)
    return {"w": distribute_tensor(full, mesh, [Shard(0)]), "n": 0}

def go(where, until, **options):
    state = new()
    with bivouac.Job(where, Batches(seed=rank), state, save_every=2, steps=8, **options) as job:
        for ids in job:
            state["n"] += 1
            state["w"] += float(state["n"])
            if state["n"] == until:
                break
    return state, job

whole, _ = go(directory + "/whole", 9)
go(url + "/run", 5)
dist.barrier()
state, job = go(url + "/run", 9)
assert job.resumed == 4 and torch.equal(state["w"].full_tensor(), whole["w"].full_tensor())
far = [Tier(directory=url + "/far", name="far")]
go(directory + "/one", 5, tiers=far)
dist.barrier()
state, job = go(directory + "/two", 9, tiers=far)
assert job.resumed == 4, job.resumed
assert torch.equal(state["w"].full_tensor(), whole["w"].full_tensor())
print(rank, "whole", flush=True)
dist.barrier()
"""


@pytest.mark.torch
def test_jobs_of_several_processes(bucket: str, tmp_path: Path) -> None:
    needs("torch")
    place(tmp_path / "job", bucket)
    (tmp_path / "job" / "tests").write_text(str(Path(__file__).parent))
    assert Job("torch", JOB, 2, tmp_path / "job").outputs() == ["0 whole", "1 whole"]
    for name in ("run", "far"):
        with ocp.training.Checkpointer(f"{bucket}/{name}") as run:
            assert run.latest is not None and run.latest.step == 8
