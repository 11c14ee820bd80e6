"""Record checkpoints of torch.distributed.checkpoint, files of torch.save, and what torch loads.

    python gen.py

writes all cases beside this file, and expect.json. It needs torch, safetensors, zstandard and torch_checkpointing. The
values in expect.json are what torch's own readers return, not what this project returns.
"""

import collections
import json
import os
import pickle
import shutil
import warnings
from pathlib import Path

import numpy as np
import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
import torch.multiprocessing as mp
from torch.distributed.checkpoint import FileSystemWriter, HuggingFaceStorageWriter
from torch.distributed.checkpoint._extension import ZStandard
from torch.distributed.checkpoint.default_planner import (
    DefaultSavePlanner,
    _EmptyStateDictLoadPlanner,
)
from torch.distributed.checkpoint.state_dict import get_state_dict
from torch.distributed.checkpoint.state_dict_loader import _load_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor, Replicate, Shard
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    RowwiseParallel,
    parallelize_module,
)
from torch.distributed.tensor._utils import compute_local_shape_and_global_offset

warnings.filterwarnings("ignore")
os.chdir(Path(__file__).resolve().parent)  # metadata holds the path as it was given
HERE = Path()
RANKS = 4
TYPES = (
    "bool uint8 int8 int16 int32 int64 uint16 uint32 uint64 float16 bfloat16 float32 float64 "
    "complex64 complex128 float8_e4m3fn float8_e5m2"
).split()


def numbers(name, *shape):
    """Return a tensor of a type with different elements."""
    count = int(np.prod(shape, dtype=int))
    base = torch.arange(count, dtype=torch.float32).reshape(shape) - 2
    if name.startswith("uint") or name == "bool":
        base = base.abs()
    return base.to(getattr(torch, name))


def single():
    base = torch.arange(12.0)
    shared = torch.arange(6.0).reshape(2, 3)
    return {
        "types": {name: numbers(name, 2, 3) for name in TYPES},
        "shapes": {
            "scalar": torch.tensor(3.5),
            "empty": torch.empty(0, 4),
            "one": torch.ones(1, 1, 1),
            "deep": numbers("int16", 2, 1, 3, 2),
        },
        "views": {
            "transposed": numbers("float32", 3, 5).t(),
            "channels_last": numbers("float32", 1, 2, 3, 4).to(memory_format=torch.channels_last),
            "part": base[3:7],
            "rows": numbers("float32", 6, 4)[1:5:2],
        },
        "tied": {"a": shared, "b": shared},
        "optim": {
            "state": {0: {"step": torch.tensor(3.0), "exp_avg": numbers("float32", 2, 3)}},
            "param_groups": [
                {"lr": 0.1, "betas": (0.9, 0.99), "params": [0, 1], "foreach": None, "fused": True}
            ],
        },
        "values": {
            "int": -7,
            "large": 2**63 + 1,
            "float": float("inf"),
            "true": True,
            "text": "run é 1",
            "bytes": b"\x00\xff data",
            "no_bytes": b"",
            "none": None,
            "complex": 1 - 2j,
            "list": [1, [2.5, "x"]],
            "tuple": (1, (torch.arange(3), "y")),
            "numpy": np.arange(6, dtype="<i4").reshape(2, 3),
            "fortran": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
            "number": np.float32(0.25),
            "random": np.random.RandomState(7).get_state(),
            "ordered": (collections.OrderedDict(b=1, a=2), collections.defaultdict(int, c=3)),
            "size": torch.Size([2, 3]),
        },
        "lists": [torch.ones(2), {"x": torch.zeros(1)}, 4],
        "empty": {},
        "dotted.key": {"a.b": 5},
    }


def distribute(tensor, mesh, *placements):
    """Return the DTensor of a tensor that each rank has. gloo does not scatter all types."""
    shape, origin = compute_local_shape_and_global_offset(tensor.shape, mesh, placements)
    local = tensor[tuple(slice(o, o + n) for o, n in zip(origin, shape))].clone()
    return DTensor.from_local(
        local, mesh, placements, shape=tensor.shape, stride=tensor.stride(), run_check=False
    )


def on_mesh(mesh):
    def place(tensor, *placements):
        return distribute(tensor, mesh, *placements)

    return {
        "model": {
            "both": place(numbers("float32", 6, 8), Shard(0), Shard(1)),
            "other": place(numbers("bfloat16", 6, 8), Shard(1), Shard(0)),
            "rows": place(numbers("float16", 5, 3), Shard(0), Replicate()),
            "columns": place(numbers("float32", 3, 5), Replicate(), Shard(1)),
            "twice": place(numbers("int32", 10, 2), Shard(0), Shard(0)),
            "copies": place(numbers("float64", 3), Replicate(), Replicate()),
            "tiny": place(numbers("float32", 1, 4), Shard(0), Replicate()),
            "uneven": distribute(numbers("int8", 7), mesh["dp"], Shard(0)),
            "fp8": place(numbers("float8_e4m3fn", 4, 4), Shard(0), Shard(1)),
            "scalar": place(torch.tensor(2.5), Replicate(), Replicate()),
        },
        "plain": torch.arange(4),
        "step": 11,
    }


def fsdp(mesh):
    """Return the state of a model of FSDP2 after a step."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(5, 6), torch.nn.ReLU(), torch.nn.Linear(6, 3))
    line = init_device_mesh("cpu", (RANKS,))
    fully_shard(model[0], mesh=line)
    fully_shard(model, mesh=line)
    optim = torch.optim.AdamW(model.parameters(), lr=0.1)
    model(torch.ones(2, 5)).sum().backward()
    optim.step()
    of_model, of_optim = get_state_dict(model, optim)
    return {"model": of_model, "optim": of_optim}


def two_ways(mesh):
    """Return the model of FSDP2 over tensor parallelism, whose placements are strided."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(5, 10), torch.nn.ReLU(), torch.nn.Linear(10, 3))
    parallelize_module(model, mesh["tp"], {"0": ColwiseParallel(), "2": RowwiseParallel()})
    fully_shard(model[0], mesh=mesh["dp"])
    fully_shard(model, mesh=mesh["dp"])
    return {"model": get_state_dict(model, ())[0]}


def rank(index, port):
    os.environ.update(
        MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), RANK=str(index), WORLD_SIZE=str(RANKS)
    )
    dist.init_process_group("gloo", rank=index, world_size=RANKS)
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
    state = on_mesh(mesh)
    dcp.save(state, checkpoint_id=HERE / "mesh")
    dcp.save(fsdp(mesh), checkpoint_id=HERE / "fsdp")
    tensors = {k: v for k, v in state["model"].items() if k != "uneven"}
    writer = HuggingFaceStorageWriter(str(HERE / "hf-sharded"), save_distributed=True)
    dcp.save(tensors, storage_writer=writer)
    by_rank("ranks", state)
    by_rank("ranks-metadata", state, resharder=True)
    state = two_ways(mesh)
    dcp.save(state, checkpoint_id=HERE / "strided")
    by_rank("ranks-strided", state)
    dist.destroy_process_group()


def by_rank(name, state, resharder=False):
    """Save with torch_checkpointing: without metadata, or with what its resharder needs."""
    from torch_checkpointing import CheckpointManager
    from torch_checkpointing.config import SyncCheckpointSaverConfig
    from torch_checkpointing.default_resharder import DefaultResharder
    from torch_checkpointing.metadata_manager import DefaultMetadataManager
    from torch_checkpointing.schema import ItemSpec
    from torch_checkpointing.storage.filesystem import LocalFileSystemStorageConfig

    def gather(self, data, group=None):  # the library's own needs CUDA; what it returns is the same
        every = [None] * RANKS
        dist.all_gather_object(every, data)
        return dict(enumerate(every))

    DefaultMetadataManager._all_gather_pickled_data = gather
    items = {"model": ItemSpec(resharder=DefaultResharder())} if resharder else {}
    config = CheckpointManager.Config(
        items=items,
        save=SyncCheckpointSaverConfig(),
        storage_config=LocalFileSystemStorageConfig(use_direct_io=False),
    )
    manager = CheckpointManager(config)
    manager.save(str(HERE / name), dict(state))
    manager.close()
    dist.barrier()


def small():
    return {"w": numbers("float32", 4, 3), "z": torch.zeros(64, 64), "lr": 0.5, "m": {"b": (1, 2)}}


def old_metadata():
    """Write metadata as torch before 2.3 did, with the classes that are still there."""
    from torch.distributed._shard.sharded_tensor.metadata import TensorProperties

    shutil.copytree(HERE / "small", HERE / "old")
    metadata = pickle.loads((HERE / "old" / ".metadata").read_bytes())
    for entry in metadata.state_dict_metadata.values():
        if hasattr(entry, "properties"):
            entry.properties = TensorProperties(dtype=entry.properties.dtype)
    metadata.planner_data = None
    metadata.storage_meta = None
    metadata.version = None
    (HERE / "old" / ".metadata").write_bytes(pickle.dumps(metadata, protocol=2))


class Attack:
    """A value whose pickle calls a function of the system."""

    def __reduce__(self):
        return os.system, ("touch /tmp/bivouac-attack",)


def files():
    folder = HERE / "files"
    folder.mkdir()
    base = torch.arange(20.0)
    value = {
        "model": collections.OrderedDict(
            head=base[:10].view(2, 5),
            tail=base[10:],
            turned=base.view(4, 5).t(),
            column=base.view(4, 5)[:, 1],
            half=torch.ones(3, dtype=torch.bfloat16),
            weight=torch.nn.Parameter(torch.arange(4.0)),
        ),
        "epoch": 3,
        "empty": {},
        "none": [],
    }
    torch.save(value, folder / "views.pt")
    torch.save(torch.nn.Linear(2, 3).state_dict(), folder / "linear.pth")
    torch.save(torch.arange(3), folder / "tensor.pt")
    torch.save(small(), folder / "protocol5.pt", pickle_protocol=5)
    torch.serialization.set_crc32_options(False)
    torch.save(small(), folder / "unchecked.pt")
    torch.serialization.set_crc32_options(True)
    refused = HERE / "refused"
    refused.mkdir()
    torch.save(small(), refused / "legacy.pt", _use_new_zipfile_serialization=False)
    torch.save({"a": Attack()}, refused / "attack.pt")
    torch.save(torch.nn.Linear(2, 3), refused / "module.pt")
    torch.save({"s": torch.eye(2).to_sparse()}, refused / "sparse.pt")
    torch.save({"s": {1, 2}}, refused / "set.pt")
    torch.save({"c": torch.ones(2, dtype=torch.complex64).conj()}, refused / "conjugate.pt")
    torch.save({"e": torch.ones(1).expand(1 << 22)}, refused / "expanded.pt")


def describe(value):
    """Return a value as JSON: containers by kind, tensors by their bytes."""
    if isinstance(value, np.ndarray | np.generic):
        value = torch.from_numpy(np.ascontiguousarray(value).reshape(np.shape(value)).copy())
    if isinstance(value, torch.Tensor):
        value = value.detach().contiguous()
        raw = value.reshape(-1).view(torch.uint8).numpy().tobytes() if value.numel() else b""
        name = str(value.dtype).removeprefix("torch.")
        return {"tensor": name, "shape": list(value.shape), "hex": raw.hex()}
    if isinstance(value, complex):
        return describe(np.complex128(value))
    if isinstance(value, bytes):
        return {"bytes": value.hex()}
    if isinstance(value, dict):
        return {"dict": [[str(k), describe(v)] for k, v in value.items()]}
    if isinstance(value, list):
        return {"list": [describe(v) for v in value]}
    if isinstance(value, tuple):
        return {"tuple": [describe(v) for v in value]}
    if isinstance(value, float):
        return {"float": repr(value)}
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return {"value": value}
    return {"int": str(int(value))}


def loaded(name):
    """Return what torch loads of a directory."""
    state = {}
    _load_state_dict(
        state,
        storage_reader=dcp.FileSystemReader(HERE / name),
        planner=_EmptyStateDictLoadPlanner(),
        no_dist=True,
    )
    return state


def main():
    for old in HERE.iterdir():
        if old.is_dir() and old.name != "__pycache__":
            shutil.rmtree(old)
    dcp.save(single(), checkpoint_id=HERE / "single")
    dcp.save(small(), checkpoint_id=HERE / "small")
    planner = DefaultSavePlanner(flatten_state_dict=False, flatten_sharded_tensors=False)
    dcp.save({"w": torch.ones(2), "n": {"a": 1}}, checkpoint_id=HERE / "flat", planner=planner)
    writer = FileSystemWriter(HERE / "many", single_file_per_rank=False, thread_count=2)
    dcp.save(small(), storage_writer=writer)
    writer = FileSystemWriter(HERE / "zstd", _extensions=[ZStandard()])
    dcp.save(small(), storage_writer=writer)
    torch.serialization.set_crc32_options(False)
    dcp.save(small(), checkpoint_id=HERE / "unchecked")
    torch.serialization.set_crc32_options(True)
    dcp.save({"w": torch.ones(2), "x": Attack(), "big": 2**70}, checkpoint_id=HERE / "attack")
    old_metadata()
    mp.spawn(rank, (29517,), RANKS)
    files()

    expect = {}
    for name in "single small flat many zstd unchecked old mesh fsdp strided".split():
        expect[name] = describe(loaded(name))
    from torch.distributed.checkpoint import HuggingFaceStorageReader

    state = {}
    _load_state_dict(
        state,
        storage_reader=HuggingFaceStorageReader(str(HERE / "hf-sharded")),
        planner=_EmptyStateDictLoadPlanner(),
        no_dist=True,
    )
    expect["hf-sharded"] = describe(state)
    expect["ranks"] = expect["ranks-metadata"] = expect["mesh"]
    expect["ranks-strided"] = expect["strided"]
    for file in sorted((HERE / "files").iterdir()):
        value = torch.load(file, weights_only=False)
        if isinstance(value, torch.Tensor):
            value = {file.stem: value}
        expect[f"files/{file.name}"] = describe(value)
    (HERE / "expect.json").write_text(json.dumps(expect, indent=0) + "\n")


if __name__ == "__main__":
    main()
