"""Replicas of DTensors and Parts write a share each, and loads read for themselves."""

from __future__ import annotations

from pathlib import Path

from processes import Job, needs

SHARES = """
import bivouac
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Replicate, Shard, distribute_tensor
from bivouac._tree import Flattener

mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
torch.manual_seed(5)
KIB = 1 << 10
full = {
    "all": torch.randn(512, 256),
    "rows": torch.randn(512, 256),
    "columns": torch.randn(511, 512),
    "later": torch.randn(512, 256).to(torch.bfloat16),
    "uneven": torch.randn(515, 256),
    "odd": torch.randn(511, 255),
    "tiny": torch.arange(1, dtype=torch.int32),
    "empty": torch.empty(0, 4),
    "scalar": torch.tensor(2.5),
    "grid": torch.randn(512, 256),
}
where = {
    "rows": [Replicate(), Shard(0)],
    "columns": [Replicate(), Shard(1)],
    "later": [Shard(0), Replicate()],
    "uneven": [Replicate(), Shard(0)],
    "tiny": [Replicate(), Shard(0)],
    "grid": [Shard(0), Shard(1)],
}
spread = {
    k: distribute_tensor(v, mesh, where.get(k, [Replicate()] * 2)) for k, v in full.items()
}
layout = bivouac.Layout(bivouac.Mesh(("dp", "tp"), (2, 2)), [("part", ("tp",))])
part = torch.arange(512 * 256, dtype=torch.float32).reshape(512, 256)
state = {**spread, **layout.cut({"part": part}), "plain": torch.full((3,), float(rank)), "step": 7}

def written(name):
    # Bytes of the data files, the largest first. Each process writes one; the database is small.
    at = f"{directory}/{name}/state/d"
    sizes = (os.path.getsize(f"{at}/{file}") for file in os.listdir(at))
    return sorted((n for n in sizes if n > 24 * KIB), reverse=True)

on = bv.Context()
on.array.saving.use_replica_parallel = True
bv.save(directory + "/off", state)
with on:
    bv.save(directory + "/on", state)
    bv.save_async(directory + "/later", state).result()
    with bv.training.Checkpointer(directory + "/run") as run:
        assert run.save(1, state)
small = bv.Context(on)
small.array.saving.min_slice_bytes_for_replica_parallel = 1
small.bivouac.layout = "ocdbt-zarr2"
with small:
    bv.save(directory + "/small", state)
dist.barrier()

nbytes = {k: v.nbytes for k, v in full.items()} | {"part": part.nbytes}
everything = sum(nbytes.values())
off = written("off")
# Without the option process 0 has all replicas, and process 3 only its box of "grid".
assert off[0] > everything * 0.5 and off[-1] < nbytes["grid"] / 4 + 24 * KIB, off
for name in ("on", "later", "small", "run/1"):
    sizes = written(name)
    assert abs(sum(sizes) - everything) < everything / 16 + 96 * KIB, (name, sizes, everything)
    # "odd" has no axis that divides, so that process 0 writes it.
    least = sum(nbytes[k] / 4 for k in ("all", "rows", "columns", "later", "grid", "part"))
    assert len(sizes) == 4 and sizes[-1] >= least, (name, sizes, least)
    assert sizes[0] < least + nbytes["odd"] + nbytes["uneven"] / 2 + 64 * KIB, (name, sizes)

handed = []
for replicas in (False, True):
    flattener = Flattener(follows=rank > 0, replicas=replicas)
    flattener.flatten({k: v for k, v in state.items() if k not in ("plain", "part")})
    handed.append(sum(array.nbytes for _, array, _, _ in flattener.copies))
local = sum(v.to_local().nbytes for v in spread.values())
assert handed[1] == local and (rank == 0 or handed[0] < local), (handed, local)

wanted = {k: torch.Tensor for k in full} | {"part": torch.Tensor, "plain": torch.Tensor, "step": 0}
for name in ("off", "on", "later", "small", "run/1"):
    got = bv.load(f"{directory}/{name}", wanted)
    for k, v in {**full, "part": part}.items():
        assert got[k].dtype == v.dtype and torch.equal(got[k], v), (name, k)
    assert got["plain"].tolist() == [0.0] * 3 and got["step"] == 7, (name, got["plain"])
    other = init_device_mesh("cpu", (4,))
    into = {"rows": distribute_tensor(torch.zeros(512, 256), other, [Shard(1)])}
    bv.load(f"{directory}/{name}", into={**got, **into})
    assert torch.equal(into["rows"].full_tensor(), full["rows"]), name
    if rank == 0:
        assert bv.verify(f"{directory}/{name}").sound, name
dist.barrier()
print("equal")
"""


def test_each_process_writes_a_share_of_torch(tmp_path: Path) -> None:
    """Four processes on a 2x2 mesh: shards of one axis, replicas on the other, and uneven ones."""
    needs("torch")
    assert Job("torch", SHARES, 4, tmp_path).outputs() == ["equal"] * 4


DIFFERS = """
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Replicate, distribute_tensor
mesh = init_device_mesh("cpu", (size,))
state = {"w": distribute_tensor(torch.ones(256, 256), mesh, [Replicate()])}
on = bv.Context()
on.array.saving.use_replica_parallel = True
with on if rank == 1 else bv.Context():
    try:
        bv.save(directory + "/c", state)
    except errors.Mismatch as err:
        print(str(err))
print(os.path.exists(directory + "/c"))
dist.barrier()
alone = bv.Context(on)
alone.multiprocessing.active_processes, alone.multiprocessing.primary_host = {1}, 1
if rank == 1:
    with alone:
        bv.save(directory + "/alone", state)
dist.barrier()
print(bv.load(directory + "/alone")["w"].sum())
dist.barrier()
"""


def test_one_process_of_torch_differs_or_saves_alone(tmp_path: Path) -> None:
    """The option of one process is an error on both. A process alone saves what it holds."""
    needs("torch")
    for text in Job("torch", DIFFERS, 2, tmp_path).outputs():
        error, there, total = text.splitlines()
        assert "Array.Saving.UseReplicaParallel" in error and "process 1" in error, error
        assert (there, total) == ("False", "65536.0")


BROADCAST = """
state = {"w": torch.ones(4)}
ask = bv.Context()
ask.array.loading.use_load_and_broadcast = True
with ask:  # saves do not care
    bv.save(directory + "/c", state)
    with bv.training.Checkpointer(directory + "/run") as run:
        assert run.save(1, state)
        for load in (
            lambda: bv.load(directory + "/c"),
            lambda: bv.load(directory + "/c", into={"w": torch.zeros(4)}),
            lambda: bv.load_async(directory + "/c").result(),
            lambda: bv.load_checkpointables(directory + "/c"),
            lambda: run.load(1),
            lambda: run.load_checkpointables(1),
        ):
            try:
                load()
            except errors.Unsupported as err:
                print(err)
print(float(bv.load(directory + "/c")["w"].sum()))
dist.barrier()
"""


def test_broadcasts_are_refused_by_name_in_torch(tmp_path: Path) -> None:
    """Each load of several processes says which option cannot act, and what to do."""
    needs("torch")
    for text in Job("torch", BROADCAST, 2, tmp_path).outputs():
        *refusals, total = text.splitlines()
        assert len(refusals) == 6 and total == "4.0", text
        for refusal in refusals:
            assert "array.loading.use_load_and_broadcast" in refusal, refusal
            assert "each of the 2 processes reads" in refusal, refusal
            assert "leave it False" in refusal and "got True" in refusal, refusal
