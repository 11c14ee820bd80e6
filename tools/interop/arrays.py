"""Single arrays with every codec of zarr, written by TensorStore and zarr-python."""

import os

import numpy as np

import limits
import truth
import values


def chunks_of(rng, shape):
    return [int(rng.integers(1, n + 2)) if n else 1 for n in shape]


def pick(rng, options):
    return options[int(rng.integers(0, len(options)))]


def blosc_v3(rng, itemsize):
    return {"name": "blosc", "configuration": {
        "cname": pick(rng, ["lz4", "lz4hc", "blosclz", "zstd", "zlib"]), "clevel": int(rng.integers(1, 9)),
        "shuffle": pick(rng, ["noshuffle", "shuffle", "bitshuffle"]), "typesize": itemsize, "blocksize": 0}}


def bytes_codecs(rng, itemsize):
    """array → bytes → compressed."""
    chain = [{"name": "bytes", "configuration": {"endian": pick(rng, ["little", "big"])}} if itemsize > 1 else {"name": "bytes"}]
    compressor = pick(rng, [
        None, blosc_v3(rng, itemsize), {"name": "gzip", "configuration": {"level": 5}}, {"name": "zstd", "configuration": {"level": 3}},
    ])
    chain += [compressor] if compressor else []
    return chain + ([{"name": "crc32c"}] if rng.integers(0, 3) == 0 else [])


def metadata_v3(rng, a):
    shape, itemsize = list(a.shape), a.dtype.itemsize
    transpose = [{"name": "transpose", "configuration": {"order": [int(i) for i in rng.permutation(a.ndim)]}}] if a.ndim and rng.integers(0, 3) == 0 else []
    chunk = chunks_of(rng, shape)
    codecs = transpose + bytes_codecs(rng, itemsize)
    if rng.integers(0, 2):
        inner = chunk
        chunk = [n * int(rng.integers(1, 4)) for n in inner]
        if transpose:  # the sub-chunk is transposed, the shard is not
            transpose = []
        codecs = [{"name": "sharding_indexed", "configuration": {
            "chunk_shape": inner, "codecs": codecs,
            "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}] + ([{"name": "crc32c"}] if rng.integers(0, 4) else []),
            "index_location": pick(rng, ["start", "end"])}}]
    return {
        "shape": shape, "data_type": a.dtype.name, "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunk}},
        "chunk_key_encoding": {"name": pick(rng, ["default", "v2"]), "configuration": {"separator": pick(rng, ["/", "."])}},
        "codecs": codecs,
    }


def metadata_v2(rng, a):
    compressor = pick(rng, [
        None, {"id": "blosc", "cname": pick(rng, ["lz4", "zstd", "zlib", "blosclz", "lz4hc"]), "clevel": 5, "shuffle": pick(rng, [-1, 0, 1, 2]), "blocksize": 0},
        {"id": "zlib", "level": 3}, {"id": "gzip", "level": 3}, {"id": "bz2", "level": 1}, {"id": "zstd", "level": 3},
    ])
    order = "C" if a.ndim < 2 else pick(rng, ["C", "F"])
    dtype = a.dtype.name
    if a.dtype.isbuiltin == 1:
        dtype = a.dtype.str if a.dtype.itemsize == 1 else pick(rng, ["<", ">"]) + a.dtype.str[1:]
    return {"shape": list(a.shape), "chunks": chunks_of(rng, a.shape), "dtype": dtype, "compressor": compressor,
            "order": order, "dimension_separator": pick(rng, ["/", "."])}


class TensorStore:
    """zarr and zarr3 arrays, in a directory or an OCDBT database."""

    def __init__(self, rng, layout):
        self.rng, self.layout = rng, layout
        self.dtypes, self.ranks = values.Deck(rng, limits.ZARR), values.Deck(rng, range(6))
        self.names = values.Deck(rng, limits.ORBAX_FILES.names)

    def write(self, folder):
        import tensorstore as ts

        rng = self.rng
        a = values.random_array(rng, self.dtypes.deal(), values.random_shape(rng, self.ranks.deal(), empty=rng.integers(0, 8) == 0))
        kv = {"driver": "file", "path": folder + "/array/"}
        if self.layout.startswith("ocdbt"):
            kv = {"driver": "ocdbt", "base": kv, "config": {"max_inline_value_bytes": int(pick(rng, [0, 100, 1024])), "compression": pick(rng, [None, {"id": "zstd"}])}}
        name = self.names.deal()
        v3 = self.layout.endswith("zarr3")
        spec = {"driver": "zarr3" if v3 else "zarr", "kvstore": kv | {"path": name + "/"} if "base" in kv else {"driver": "file", "path": kv["path"] + name + "/"},
                "metadata": (metadata_v3 if v3 else metadata_v2)(rng, a), "create": True}
        ts.open(spec).result().write(a).result()
        return case_of(a, name, folder)


class ZarrPython:
    """Arrays of format 2 and 3 in a directory or an archive."""

    def __init__(self, rng, layout):
        self.rng, self.layout = rng, layout
        self.dtypes, self.ranks = values.Deck(rng, limits.NUMPY), values.Deck(rng, range(6))
        self.names = values.Deck(rng, limits.ORBAX_FILES.names)

    def options(self, a):
        """Codecs, drawn anew."""
        import numcodecs
        import zarr.codecs as zc

        rng = self.rng
        shape = tuple(chunks_of(rng, a.shape))
        if self.layout.endswith("zarr2"):
            return {"zarr_format": 2, "chunks": shape, "order": pick(rng, "CF"),
                    "compressors": pick(rng, [None, numcodecs.Blosc("lz4", 5, 2), numcodecs.Blosc("zstd", 3, 1), numcodecs.Zlib(3), numcodecs.GZip(3), numcodecs.BZ2(1), numcodecs.Zstd(3), numcodecs.LZ4()]),
                    "chunk_key_encoding": {"name": "v2", "separator": pick(rng, "/.")}}
        o = {"zarr_format": 3, "chunks": shape,
             "compressors": pick(rng, [None, [zc.BloscCodec(cname="lz4", shuffle="bitshuffle")], [zc.BloscCodec(cname="zstd")], [zc.GzipCodec()], [zc.ZstdCodec()], [zc.ZstdCodec(checksum=True), zc.Crc32cCodec()]]),
             "chunk_key_encoding": {"name": pick(rng, ["default", "v2"]), "separator": pick(rng, "/.")}}
        if a.dtype.itemsize > 1:
            o["serializer"] = zc.BytesCodec(endian=pick(rng, ["little", "big"]))
        if a.ndim and rng.integers(0, 2):
            o["filters"] = [zc.TransposeCodec(order=tuple(int(i) for i in rng.permutation(a.ndim)))]
        if a.ndim and rng.integers(0, 2):
            o["shards"] = tuple(n * int(rng.integers(1, 4)) for n in shape)
        return o

    def write(self, folder):
        import zarr

        rng = self.rng
        a = values.random_array(rng, self.dtypes.deal(), values.random_shape(rng, self.ranks.deal(), empty=rng.integers(0, 8) == 0))
        name = self.names.deal()
        z = zarr.create_array(store=os.path.join(folder, "array", name), shape=a.shape, dtype=a.dtype, fill_value=0, **self.options(a))
        z[...] = a
        return case_of(a, name, folder)


def case_of(a, name, folder):
    return {"kind": "array", "path": "array", "leaves": [{"keys": [name], "kinds": ["dict"]} | truth.describe(a)]}


ROWS = [("tensorstore", TensorStore, layout) for layout in ("ocdbt-zarr3", "ocdbt-zarr2", "zarr3", "zarr2")]
ROWS += [("zarr-python", ZarrPython, layout) for layout in ("zarr3", "zarr2")]


def write(root, seed, trees):
    """Writes ten arrays for every tree that the other writers write."""
    for row, (library, kind, layout) in enumerate(ROWS):
        writer = kind(np.random.default_rng([seed, 1000 + row]), layout)
        for i in range(10 * trees):
            folder = os.path.join(root, f"a{row}-{i:03}")
            os.makedirs(folder)
            truth.store(folder, {"library": library, "layout": layout} | writer.write(folder))
