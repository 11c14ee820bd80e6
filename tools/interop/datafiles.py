"""Data sets that MosaicML Streaming, ArrayRecord and pyarrow write, with the values that are in them.

    datafiles.py DIR SEED [mds,array_record,parquet,arrow]

Below DIR each case is a folder with the files and a case.json: the reader, its arguments, and for
each column the value of each row, as {"dtype", "shape", "hex"}, or null. The matrix is printed.
"""

import io
import itertools
import json
import os
import random
import sys
from decimal import Decimal

import numpy as np


def value(v):
    """A value as case.json has it."""
    if v is None:
        return None
    if isinstance(v, str):
        v = v.encode()
    if isinstance(v, (bytes, bytearray)):
        return {"dtype": "uint8", "shape": [len(v)], "hex": bytes(v).hex()}
    a = np.asarray(v)
    return {"dtype": str(a.dtype), "shape": list(a.shape), "hex": a.tobytes().hex()}


class Cases:
    def __init__(self, root):
        self.root, self.n, self.rows = root, 0, []

    def folder(self):
        path = os.path.join(self.root, f"{self.n:04d}")
        os.makedirs(path)
        self.n += 1
        return path

    def add(self, path, reader, paths, columns, label):
        """columns: name (or "" for a reader without columns) → list of values."""
        with open(os.path.join(path, "case.json"), "w") as f:
            json.dump({"label": label, "reader": reader, "paths": paths,
                       "columns": [{"name": k, "values": [value(v) for v in vs]} for k, vs in columns.items()]}, f)
        self.rows.append(label)


# --- MDS

SCALARS = {n: getattr(np, n) for n in ("uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64", "float16", "float32", "float64")}


def mds_sample(rng, i, size):
    """A value of every encoding, as it is written, and as the reader gives it."""
    from PIL import Image
    data, want = {}, {}
    for name, t in SCALARS.items():
        info = np.iinfo(t) if np.issubdtype(t, np.integer) else None
        v = t(rng.choice([0, 1, info.min, info.max])) if info else t(rng.choice([0, -1.5, np.inf, -np.inf, 65504]))
        data[name], want[name] = v, v
    data["int"] = rng.choice([0, -1, 2**63 - 1, -2**63, i])
    want["int"] = np.int64(data["int"])
    text = "é中🙂x"[: rng.randrange(5)] * size
    data["str"], want["str"] = text, text
    data["bytes"] = want["bytes"] = rng.randbytes(size)
    data["json"] = {"id": i, "l": [1, 2.5, None, {"t": text[:3]}]}
    want["json"] = json.dumps(data["json"])
    data["str_int"] = rng.choice([0, -5, 2**63 - 1, -2**63])
    want["str_int"] = np.int64(data["str_int"])
    data["str_float"] = rng.choice([0.0, -1e300, 5e-324, float("inf"), i / 7])
    want["str_float"] = np.float64(data["str_float"])
    data["str_decimal"] = Decimal(rng.choice(["0", "-1.50", "1E+30", "3.14159265358979323846264338327950288"]))
    want["str_decimal"] = str(data["str_decimal"])
    for name, t in SCALARS.items():
        shape = tuple(rng.randrange(1, 4) for _ in range(2))
        a = np.frombuffer(rng.randbytes(int(np.prod(shape)) * t().nbytes), t).reshape(shape)
        key = "nd_" + name
        data[key], want[key] = a, a
    long = np.arange(300 + i % 3, dtype=np.int32).reshape(1, -1)
    data["nd_free"], want["nd_free"] = long, long
    fixed = np.full((2, 3), i, np.int16)
    data["nd_fixed"], want["nd_fixed"] = fixed, fixed
    mode = "RGB" if i % 2 == 0 else "RGBA"
    image = Image.frombytes(mode, (5, 3), rng.randbytes(15 * len(mode)))
    data["pil"], want["pil"] = image, np.asarray(image)
    for kind in ("jpeg", "png"):
        b = io.BytesIO()
        image.convert("RGB").save(b, format=kind.upper(), **({"quality": 75} if kind == "jpeg" else {}))
        data[kind], want[kind] = image.convert("RGB"), b.getvalue()
    return data, want


MDS_COLUMNS = dict(**{n: n for n in SCALARS}, int="int", str="str", bytes="bytes", json="json", str_int="str_int", str_float="str_float",
                   str_decimal="str_decimal", **{"nd_" + n: "ndarray:" + n for n in SCALARS}, nd_free="ndarray", nd_fixed="ndarray:int16:2,3",
                   pil="pil", jpeg="jpeg", png="png")


def mds(cases, rng):
    from streaming import MDSWriter
    from streaming.base.hashing import get_hashes
    hashes = sorted(get_hashes())
    compressions = [None, "gz", "gz:1", "zstd", "zstd:19", "br", "br:3", "bz2", "bz2:1", "snappy"]
    matrix = [(c, ["sha1", "xxh64"], limit, size) for c in compressions for limit in (3000, 1 << 26) for size in (0, 1, 300)]
    matrix += [(c, hashes, 1 << 20, 10) for c in (None, "zstd")] + [(None, [h], 4000, 10) for h in hashes]
    matrix += [(c, [], 1 << 22, 100_000) for c in (None, "zstd", "gz")]
    for compression, used, limit, size in matrix:
        path, columns = cases.folder(), {k: [] for k in sorted(MDS_COLUMNS)}
        with MDSWriter(out=path + "/data", columns=MDS_COLUMNS, compression=compression, hashes=used, size_limit=limit) as w:
            for i in range(7):
                data, want = mds_sample(rng, i, size)
                w.write(data)
                for k in columns:
                    columns[k].append(want[k])
        cases.add(path, "readers.mds", ["data"], columns,
                  f"mds compression={compression} hashes={','.join(used) or 'none'} size_limit={limit} size={size}")


# --- ArrayRecord

def varint(v):
    v &= 2**64 - 1
    out = b""
    while v >= 0x80:
        out += bytes([v & 0x7F | 0x80])
        v >>= 7
    return out + bytes([v])


def proto(rng, depth=0):
    """The bytes of a random protocol buffer."""
    out = b""
    for _ in range(rng.randrange(6)):
        field, kind = rng.choice([1, 2, 3, 15, 16, 500, 2**29 - 1]), rng.randrange(6 if depth < 4 else 4)
        key = lambda wire: varint(field << 3 | wire)
        if kind == 0:
            out += key(0) + varint(rng.choice([0, 1, 127, 128, 300, 2**31, 2**63, -1, rng.randrange(2**64)]))
        elif kind == 1:
            out += key(5) + rng.randbytes(4)
        elif kind == 2:
            out += key(1) + rng.randbytes(8)
        elif kind == 3:
            b = rng.randbytes(rng.choice([0, 1, 5, 200]))
            out += key(2) + varint(len(b)) + b
        elif kind == 4:
            b = proto(rng, depth + 1)
            out += key(2) + varint(len(b)) + b
        else:
            out += key(3) + proto(rng, depth + 1) + key(4)
    return out


def array_record(cases, rng):
    from array_record.python.array_record_module import ArrayRecordWriter
    records = {
        "none": [],
        "text": [f"record {i} ".encode() * (i % 7) for i in range(40)],
        "proto": [proto(rng) for _ in range(60)],
        "mixed": [proto(rng) if i % 3 else rng.randbytes(i) for i in range(40)],
        "large": [rng.randbytes(n) for n in (0, 1, 65_000, 65_536, 200_000, 1, 70_000)],
        "same": [b"the same record again and again " * 50] * 300,
    }
    for (kind, list_), group, codec, transpose, pad in itertools.product(
            records.items(), (1, 4, 1000), ("uncompressed", "snappy", "brotli:5", "zstd:3", "zstd:15"), (False, True), (False, True)):
        if pad and (codec not in ("uncompressed", "zstd:3") or group == 4) or transpose and kind == "large":
            continue
        options = f"group_size:{group},{codec}" + (",transpose:true" if transpose else "") + (",pad_to_block_boundary:true" if pad else "")
        path = cases.folder()
        w = ArrayRecordWriter(path + "/data.array_record", options)
        for r in list_:
            w.write(r)
        w.close()
        cases.add(path, "readers.array_record", ["data.array_record"], {"": list_}, f"array_record {options} records={kind}")


# --- Parquet and Arrow

def tables(rng, n, size):
    """Columns with their types and what the reader gives."""
    import pyarrow as pa
    cols = {}
    def add(name, array, want):
        cols[name] = (array, want)
    for t, d in [(pa.int8(), np.int8), (pa.int16(), np.int16), (pa.int32(), np.int32), (pa.int64(), np.int64), (pa.uint8(), np.uint8),
                 (pa.uint16(), np.uint16), (pa.uint32(), np.uint32), (pa.uint64(), np.uint64), (pa.float32(), np.float32), (pa.float64(), np.float64)]:
        v = np.frombuffer(rng.randbytes(n * d().nbytes), d)
        v = np.nan_to_num(v) if np.issubdtype(d, np.floating) else v
        add(str(t), pa.array(v, t), [d(x) for x in v])
        add(str(t) + "_null", pa.array([None if i % 3 == 0 else x for i, x in enumerate(v.tolist())], t), [None if i % 3 == 0 else d(x) for i, x in enumerate(v)])
        lists = [v[: rng.randrange(n + 1)] for _ in range(n)]
        add("list_" + str(t), pa.array([x.tolist() for x in lists], pa.list_(t)), [x.copy() for x in lists])
    add("float16", pa.array(np.arange(n, dtype=np.float16)), list(np.arange(n, dtype=np.float16)))
    add("bool", pa.array([i % 3 == 0 for i in range(n)]), [np.bool_(i % 3 == 0) for i in range(n)])
    add("bool_null", pa.array([None if i % 4 == 1 else i % 3 == 0 for i in range(n)]), [None if i % 4 == 1 else np.bool_(i % 3 == 0) for i in range(n)])
    add("list_bool", pa.array([[j % 3 == 0 for j in range(i % 11)] for i in range(n)], pa.list_(pa.bool_())), [np.array([j % 3 == 0 for j in range(i % 11)], bool) for i in range(n)])
    texts = ["é中🙂x"[: rng.randrange(5)] * rng.randrange(size + 1) for _ in range(n)]
    add("string", pa.array(texts), texts)
    add("large_string", pa.array(texts, pa.large_string()), texts)
    add("string_null", pa.array([None if i % 2 else x for i, x in enumerate(texts)], pa.string()), [None if i % 2 else x for i, x in enumerate(texts)])
    blobs = [rng.randbytes(rng.randrange(size + 1)) for _ in range(n)]
    add("binary", pa.array(blobs, pa.binary()), blobs)
    add("large_binary", pa.array(blobs, pa.large_binary()), blobs)
    same = [["red", "green", "", "blue"][rng.randrange(4)] for _ in range(n)]
    add("dictionary", pa.array(same).dictionary_encode(), same)
    add("dictionary_null", pa.array([None if i % 5 == 0 else x for i, x in enumerate(same)], pa.string()).dictionary_encode(), [None if i % 5 == 0 else x for i, x in enumerate(same)])
    add("few", pa.array([rng.choice([5, 7, -1]) for _ in range(n)], pa.int64()), None)
    cols["few"] = (cols["few"][0], [np.int64(x) for x in cols["few"][0].to_pylist()])
    add("fixed_binary", pa.array([x.ljust(6, b"\0")[:6] for x in blobs], pa.binary(6)), [x.ljust(6, b"\0")[:6] for x in blobs])
    add("date", pa.array(range(n), pa.date32()), [np.int32(i) for i in range(n)])
    add("timestamp", pa.array(range(n), pa.timestamp("us")), [np.int64(i) for i in range(n)])
    add("list_null", pa.array([None if i % 3 == 0 else [i] * (i % 4) for i in range(n)], pa.list_(pa.int32())), [None if i % 3 == 0 else np.full(i % 4, i, np.int32) for i in range(n)])
    add("list_element_null", pa.array([[None, i] if i % 3 == 0 else [i] * (i % 4) for i in range(n)], pa.list_(pa.int32())), [None if i % 3 == 0 else np.full(i % 4, i, np.int32) for i in range(n)])
    add("large_list", pa.array([[i] * (i % 4) for i in range(n)], pa.large_list(pa.int64())), [np.full(i % 4, i, np.int64) for i in range(n)])
    add("nested", pa.array([[[i, j, i + j]] * (i % 3) for i, j in zip(range(n), range(n))], pa.list_(pa.list_(pa.int32()))),
        [np.array([[i, i, 2 * i]] * (i % 3), np.int32).reshape(i % 3, 3 if i % 3 else 0) for i in range(n)])
    add("deep", pa.array([[[[i]] * 2] * 3 for i in range(n)], pa.list_(pa.list_(pa.list_(pa.int8())))), [np.full((3, 2, 1), i, np.int8) for i in range(n)])
    add("struct", pa.array([{"bytes": b, "path": t} for b, t in zip(blobs, texts)], pa.struct([("bytes", pa.binary()), ("path", pa.string())])), None)
    add("struct_list", pa.array([{"a": [i] * (i % 3), "b": {"c": float(i)}} for i in range(n)], pa.struct([("a", pa.list_(pa.int16())), ("b", pa.struct([("c", pa.float64())]))])), None)
    want = {k: w for k, (_, w) in cols.items() if w is not None}
    want.update({"struct.bytes": blobs, "struct.path": texts, "struct_list.a": [np.full(i % 3, i, np.int16) for i in range(n)], "struct_list.b.c": [np.float64(i) for i in range(n)]})
    return pa.table({k: a for k, (a, _) in cols.items()}), want


def parquet(cases, rng):
    import pyarrow as pa
    import pyarrow.parquet as pq
    matrix = [dict(compression=c, version=v, data_page_version=p, use_dictionary=d, write_page_index=x, rows=n, size=s)
              for c in ("none", "snappy", "gzip", "zstd", "lz4", "brotli") for v, p, d, x in (("2.6", "1.0", True, False), ("1.0", "2.0", False, True), ("2.6", "2.0", True, True), ("2.4", "1.0", False, False))
              for n, s in ((1, 0), (40, 20))]
    matrix += [dict(compression=c, version="2.6", data_page_version=p, use_dictionary=d, write_page_index=x, rows=3000, size=200, data_page_size=4096)
               for c in ("none", "zstd") for p in ("1.0", "2.0") for d in (True, False) for x in (True, False)]
    for o in matrix:
        n, size = o["rows"], o["size"]
        table, want = tables(rng, min(n, 40), size)
        if n > 40:
            table, want = pa.concat_tables([table] * (n // 40)), {k: v * (n // 40) for k, v in want.items()}
        if o["version"] == "1.0":  # which has no uint32: the column is of int64
            want.update({k: [None if x is None else x.astype(np.int64) for x in v] for k, v in want.items() if "uint32" in k})
        path = cases.folder()
        options = {k: v for k, v in o.items() if k not in ("rows", "size")}
        pq.write_table(table, path + "/data.parquet", row_group_size=max(1, n // 3), write_page_checksum=True, **options)
        cases.add(path, "readers.parquet", ["data.parquet"], want, "parquet " + " ".join(f"{k}={v}" for k, v in o.items()))
    for encoding, names in (("DELTA_BINARY_PACKED", ["int32", "int64", "list_int32", "uint32"]), ("DELTA_BYTE_ARRAY", ["string", "binary", "string_null"]),
                            ("DELTA_LENGTH_BYTE_ARRAY", ["string", "binary", "string_null"]), ("BYTE_STREAM_SPLIT", ["float", "double", "int32", "list_float", "float_null"]), ("PLAIN", ["int8", "string", "list_int64"])):
        for page in ("1.0", "2.0"):
            table, want = tables(rng, 40, 30)
            path = cases.folder()
            pq.write_table(table.select(names), path + "/data.parquet", use_dictionary=False, data_page_version=page, row_group_size=17,
                           column_encoding={k + (".list.element" if k.startswith("list") else ""): encoding for k in names})
            cases.add(path, "readers.parquet", ["data.parquet"], {k: want[k] for k in names}, f"parquet encoding={encoding} page={page}")
    table, want = tables(rng, 40, 10)
    path = cases.folder()
    stamps = pa.table({"t": pa.array([0, 1, -1, 10**18], pa.timestamp("ns"))})
    pq.write_table(stamps, path + "/data.parquet", use_deprecated_int96_timestamps=True)
    cases.add(path, "readers.parquet", ["data.parquet"], {"t": [np.int64(x) for x in (0, 1, -1, 10**18)]}, "parquet int96")
    path = cases.folder()
    for i in range(3):
        pq.write_table(table.slice(i * 13, 13), f"{path}/{i}.parquet")
    cases.add(path, "readers.parquet", [f"{i}.parquet" for i in range(3)], {k: v[:39] for k, v in want.items()}, "parquet three files")


def arrow(cases, rng):
    import pyarrow as pa
    import pyarrow.ipc as ipc
    for kind, codec, chunk, (n, size), version in itertools.product(("file", "stream"), (None, "lz4", "zstd"), (1, 7, 1000), ((1, 0), (40, 20), (40, 30000)), ("V4", "V5")):
        if version == "V4" and codec:
            continue
        table, want = tables(rng, n, size)
        extra = {"fixed_list": (pa.FixedSizeListArray.from_arrays(pa.array(range(2 * n), pa.int16()), 2), [np.array([2 * i, 2 * i + 1], np.int16) for i in range(n)]),
                 "fixed_nested": (pa.array([[[i, 1]] * (i % 3) for i in range(n)], pa.list_(pa.list_(pa.int8(), 2))), [np.array([[i, 1]] * (i % 3), np.int8).reshape(-1, 2) for i in range(n)])}
        if version == "V5":
            texts = [b"v" * rng.randrange(size + 20) for _ in range(n)]
            extra["view"] = (pa.array(texts, pa.binary_view()), texts)
        for k, (a, w) in extra.items():
            table, want[k] = table.append_column(k, a), w
        path = cases.folder()
        options = ipc.IpcWriteOptions(compression=codec, metadata_version=getattr(ipc.MetadataVersion, version), emit_dictionary_deltas=True)
        with pa.OSFile(path + "/data.arrow", "wb") as s, (ipc.new_file if kind == "file" else ipc.new_stream)(s, table.schema, options=options) as w:
            for b in table.to_batches(max_chunksize=chunk):
                w.write_batch(b)
        cases.add(path, "readers.arrow", ["data.arrow"], want, f"arrow {kind} codec={codec} chunk={chunk} rows={n} size={size} metadata={version}")
    # Dictionaries that grow and that are replaced.
    for deltas in (True, False):
        path = cases.folder()
        parts = [pa.array(["a", "b", "a"]).dictionary_encode(), pa.array(["a", "b", "c", "c"]).dictionary_encode(), pa.array(["a", "b", "c", "d"]).dictionary_encode()]
        if not deltas:
            parts[1] = pa.array(["z", "y", "z"]).dictionary_encode()
        schema = pa.schema([("d", parts[0].type)])
        with pa.OSFile(path + "/data.arrow", "wb") as s, ipc.new_stream(s, schema, options=ipc.IpcWriteOptions(emit_dictionary_deltas=deltas)) as w:
            for p in parts:
                w.write_batch(pa.record_batch([p], schema=schema))
        cases.add(path, "readers.arrow", ["data.arrow"], {"d": [x for p in parts for x in p.to_pylist()]}, f"arrow stream dictionaries deltas={deltas}")


def main():
    root, seed = sys.argv[1], int(sys.argv[2])
    kinds = sys.argv[3].split(",") if len(sys.argv) > 3 else ["mds", "array_record", "parquet", "arrow"]
    cases = Cases(root)
    for kind in kinds:
        before = cases.n
        globals()[kind](cases, random.Random(f"{seed} {kind}"))
        print(f"datafiles: {kind}: {cases.n - before} data sets")
    with open(os.path.join(root, "matrix.txt"), "w") as f:
        f.write("\n".join(cases.rows) + "\n")


if __name__ == "__main__":
    main()
