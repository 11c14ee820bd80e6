"""Each library writes what it can; Bivouac reads it afterwards."""

import json
import math
import os
import zlib

import numpy as np

import limits
import truth
import values

LAYOUTS = {"ocdbt-zarr3": (True, True), "ocdbt-zarr2": (True, False), "zarr3": (False, True), "zarr2": (False, False)}

MESHES = [(8,), (4,), (1,), (2, 4), (4, 2), (1, 8), (2, 2), (2, 2, 2)]


def random_sharding(rng, shape):
    """One device, or a mesh of fake devices over which axes are cut, replicated along what is left."""
    import jax
    from jax.sharding import Mesh, NamedSharding, PartitionSpec, SingleDeviceSharding

    if rng.integers(0, 4) == 0:
        return SingleDeviceSharding(jax.devices()[int(rng.integers(0, 8))])
    extents = MESHES[int(rng.integers(0, len(MESHES)))]
    names = [f"m{i}" for i in range(len(extents))]
    mesh = Mesh(np.array(jax.devices()[: math.prod(extents)]).reshape(extents), names)
    spec = [[] for _ in shape]
    cut = [1] * len(shape)
    for name, extent in zip(names, extents):
        axes = [i for i in range(len(shape)) if shape[i] % (cut[i] * extent) == 0]
        if axes and rng.integers(0, 4):
            i = axes[int(rng.integers(0, len(axes)))]
            spec[i].append(name)
            cut[i] *= extent
    spec = [None if not s else s[0] if len(s) == 1 else tuple(s) for s in spec]
    return NamedSharding(mesh, PartitionSpec(*spec))


def jax_array(rng, a):
    import jax

    return jax.device_put(a, random_sharding(rng, a.shape))


def numpy_array(rng, a):
    """The array as numpy may hold it: column by column, with gaps, big-endian."""
    how = int(rng.integers(0, 6))
    if how == 0 and a.ndim > 1:
        return np.asfortranarray(a)
    if how == 1 and a.ndim and a.size:
        return np.repeat(a, 2, axis=0)[::2]
    if how == 2 and a.dtype.kind in "iufc" and a.dtype.itemsize > 1 and a.dtype.isbuiltin == 1:
        return a.astype(a.dtype.newbyteorder(">"))
    return a


def orbax_array(rng, dtype, shape):
    if rng.integers(0, 2):
        if rng.integers(0, 2):  # an extent that meshes divide
            shape = tuple(n * int(rng.choice([1, 2, 4, 8])) if n < 20 else n for n in shape)
        return jax_array(rng, values.random_array(rng, dtype, shape))
    return numpy_array(rng, values.random_array(rng, dtype, shape))


class Orbax:
    """The writers of orbax-checkpoint in one layout."""

    def __init__(self, rng, layout):
        import orbax.checkpoint as v0
        from orbax.checkpoint import v1

        self.v0, self.v1, self.rng, self.layout = v0, v1, rng, layout
        self.ocdbt, self.zarr3 = LAYOUTS[layout]
        self.trees = values.Trees(rng, limits.ORBAX if self.ocdbt else limits.ORBAX_FILES, orbax_array)

    def context(self, **more):
        """Options of v1, drawn anew."""
        options, rng = self.v1.options, self.rng
        saving = {"use_ocdbt": self.ocdbt, "use_zarr3": self.zarr3, "use_compression": bool(rng.integers(0, 3))}
        if rng.integers(0, 3) == 0:
            saving["storage_options"] = options.ArrayOptions.Saving.StorageOptions(chunk_byte_size=int(rng.choice([64, 1024, 65536])))
        if self.ocdbt and rng.integers(0, 3) == 0:
            saving["ocdbt_target_data_file_size"] = int(rng.choice([0, 4096, 1 << 20]))
        if rng.integers(0, 3) == 0:
            saving["use_replica_parallel"] = False
        return self.v1.Context(array_options=options.ArrayOptions(saving=options.ArrayOptions.Saving(**saving)), **more)

    def v1_save(self, folder):
        import jax

        tree = self.trees.tree()
        tree["typed key"] = jax.random.key(int(self.rng.integers(0, 2**31)))
        # As Orbax commits to an object store: in place, and with commit_success.txt last.
        mode = self.v1.options.AtomicityMode.COMMIT_FILE
        in_place = zlib.crc32(os.path.basename(folder).encode()) & 1
        more = {"atomicity_options": self.v1.options.AtomicityOptions(mode=mode)} if in_place else {}
        with self.context(**more):
            self.v1.save(os.path.join(folder, "checkpoint"), tree)
        return {"path": "checkpoint", "leaves": truth.leaves(tree)}

    def v1_checkpointer(self, folder):
        """Two steps; the last is compared."""
        root = os.path.join(folder, "run")
        with self.context(), self.v1.training.Checkpointer(root) as steps:
            for step in (1, 2):
                tree = self.trees.tree()
                steps.save_checkpointables(step, {"state": tree}, metrics={"loss": 0.5})
        return {"path": "run/2", "leaves": truth.leaves(tree)}

    def v0_pytree(self, folder):
        tree = self.trees.tree()
        handler = self.v0.PyTreeCheckpointHandler(use_ocdbt=self.ocdbt, use_zarr3=self.zarr3)
        with self.v0.Checkpointer(handler) as k:
            k.save(os.path.join(folder, "checkpoint"), args=self.v0.args.PyTreeSave(tree))
        return {"path": "checkpoint", "leaves": truth.leaves(tree)}

    def v0_manager(self, folder):
        root = os.path.join(folder, "run")
        handler = self.v0.PyTreeCheckpointHandler(use_ocdbt=self.ocdbt, use_zarr3=self.zarr3)
        with self.v0.CheckpointManager(root, item_names=("state", "other"), item_handlers={"state": handler, "other": self.v0.JsonCheckpointHandler()}) as k:
            for step in (10, 20):
                tree = self.trees.tree()
                k.save(step, args=self.v0.args.Composite(state=self.v0.args.PyTreeSave(tree), other=self.v0.args.JsonSave({"a": [1, None, "x"]})))
            k.wait_until_finished()
        return {"path": "run/20", "leaves": truth.leaves(tree)}


class Safetensors:
    """One file, several with an index, several without."""

    def __init__(self, rng, layout):
        self.rng, self.layout = rng, layout
        self.trees = values.Trees(rng, limits.ARRAYS)

    @staticmethod
    def file(path, tensors, metadata):
        from safetensors import TensorSpec, serialize_file

        kept, specs = [], {}
        for name, a in tensors.items():
            data, dtype, shape = values.canonical(a), a.dtype.name, list(a.shape)
            if dtype == "float4_e2m1fn":  # two elements a byte, the first in the low bits
                raw = np.frombuffer(data, np.uint8)
                data, dtype, shape = (raw[0::2] | raw[1::2] << 4).tobytes(), "float4_e2m1fn_x2", shape[:-1] + [shape[-1] // 2]
            kept.append(np.frombuffer(data, np.uint8))
            specs[name] = TensorSpec(dtype=dtype, shape=shape, data_ptr=kept[-1].ctypes.data, data_len=len(data))
        serialize_file(specs, path, metadata=metadata)

    def tensors(self):
        def even(a):  # F4 is written by the pair
            if a.dtype.name != "float4_e2m1fn":
                return a
            return np.resize(a, a.shape[:-1] + (a.shape[-1] + a.shape[-1] % 2,)) if a.ndim else a.view(np.int8)

        return {name: even(a) for name, a in self.trees.tree().items()}

    def single(self, folder):
        tensors = self.tensors()
        self.file(os.path.join(folder, "model.safetensors"), tensors, {"format": "pt", "note": "ü"})
        return {"path": "model.safetensors", "leaves": truth.leaves(tensors)}

    def numpy(self, folder):
        from safetensors.numpy import save_file

        tensors = {k: v for k, v in self.tensors().items() if v.dtype.name != "float4_e2m1fn"}
        save_file(tensors, os.path.join(folder, "model.safetensors"))
        return {"path": "model.safetensors", "leaves": truth.leaves(tensors)}

    def sharded(self, folder, index=True):
        tensors = self.tensors()
        root = os.path.join(folder, "model")
        os.makedirs(root)
        count = min(3, len(tensors))
        weight_map, size = {}, 0
        for i in range(count):
            name = f"model-{i + 1:05}-of-{count:05}.safetensors"
            part = {k: v for j, (k, v) in enumerate(tensors.items()) if j % count == i}
            self.file(os.path.join(root, name), part, {"format": "np"})
            weight_map |= {k: name for k in part}
            size += sum(v.nbytes for v in part.values())
        if index:
            with open(os.path.join(root, "model.safetensors.index.json"), "w", encoding="utf-8") as f:
                json.dump({"metadata": {"total_size": size}, "weight_map": weight_map}, f, indent=2)
        return {"path": "model", "leaves": truth.leaves(tensors)}

    def unindexed(self, folder):
        return self.sharded(folder, index=False)


ORBAX_WRITERS = {
    "v1.save": Orbax.v1_save, "v1 Checkpointer": Orbax.v1_checkpointer,
    "v0 PyTree": Orbax.v0_pytree, "v0 CheckpointManager": Orbax.v0_manager,
}
SAFETENSORS_WRITERS = {"": Safetensors.single, ".numpy": Safetensors.numpy, " with index": Safetensors.sharded, " without index": Safetensors.unindexed}


def plan():
    """(library, layout, class, method) of everything that is written as a tree."""
    for layout in LAYOUTS:
        for name, method in ORBAX_WRITERS.items():
            yield "orbax " + name, layout, Orbax, method
    for name, method in SAFETENSORS_WRITERS.items():
        yield "safetensors" + name, "safetensors", Safetensors, method


def write(root, seed, trees):
    """Writes trees checkpoints for each library and layout below root."""
    import arrays
    import processes

    for row, (library, layout, kind, method) in enumerate(plan()):
        writer = kind(np.random.default_rng([seed, row]), layout)
        for i in range(trees):
            folder = os.path.join(root, f"{row:02}-{i:03}")
            os.makedirs(folder)
            case = method(writer, folder)
            truth.store(folder, {"library": library, "layout": layout, "kind": "tree"} | case)
    arrays.write(root, seed, trees)
    processes.write(root, seed, trees)
