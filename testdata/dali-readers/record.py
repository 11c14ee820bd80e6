#!/usr/bin/env python3
"""Records what DALI's readers coco, caffe, caffe2 and nemo_asr deliver from small data sets.

    record.py DIR     writes the data sets and cases.json into DIR

Needs nvidia-dali-cuda120==2.4.0, lmdb and numpy. Two runs write the same bytes. A case that makes
DALI fail has its error instead of samples; one that ends its process is not recorded.
"""
import base64
import json
import os
import pickle
import shutil
import struct
import sys
import wave
import zlib

sys.modules.setdefault("torchdata", None)  # a folder of that name looks like the package to DALI

import lmdb  # noqa: E402
import numpy as np  # noqa: E402
import nvidia.dali as dali  # noqa: E402
import nvidia.dali.fn as fn  # noqa: E402
import nvidia.dali.types as types  # noqa: E402

CASES = []


def value(tensor, layout):
    a = np.array(tensor)
    b = np.ascontiguousarray(a).tobytes()
    v = {"dtype": str(a.dtype), "shape": list(a.shape), "layout": layout, "source": tensor.source_info()}
    v.update({"zlib": base64.b64encode(zlib.compress(b, 9)).decode()} if len(b) > 200 else {"hex": b.hex()})
    return v


def pipeline(op, args, batch, checkpointing, checkpoint=None):
    reader = fn
    for part in op.split("."):
        reader = getattr(reader, part)
    with dali.Pipeline(batch_size=batch, num_threads=1, device_id=None, seed=1, enable_checkpointing=checkpointing,
                       checkpoint=checkpoint) as p:
        given = {k: getattr(types, v["type"]) if isinstance(v, dict) else v for k, v in args.items()}
        out = reader(name="r", **given)
        p.set_outputs(*(out if isinstance(out, (list, tuple)) else [out]))
    p.build()
    return p


def run(p):
    out = p.run()
    return [[value(o[i], o.layout()) for i in range(len(o))] for o in out]


def record(op, args, batch, iterations, checkpoints):
    try:
        p = pipeline(op, args, batch, bool(checkpoints))
        case = {"meta": p.reader_meta("r"), "iterations": [], "pipeline": base64.b64encode(p.serialize()).decode()}
        n = iterations or -(-case["meta"]["epoch_size"] // batch)
        case["checkpoints"] = []
        for k in range(n):
            if k in checkpoints:
                case["checkpoints"].append({"k": k, "state": base64.b64encode(p.checkpoint()).decode()})
            case["iterations"].append(run(p))
        return case
    except Exception as e:
        return {"error": type(e).__name__}


def case(name, op, args, batch=3, iterations=None, checkpoints=()):
    """Records a case in a process of its own: DALI does not survive some data."""
    r, w = os.pipe()
    pid = os.fork()
    if pid == 0:
        with os.fdopen(w, "wb") as f:
            pickle.dump(record(op, args, batch, iterations, checkpoints), f)
        os._exit(0)
    os.close(w)
    with os.fdopen(r, "rb") as f:
        b = f.read()
    _, status = os.waitpid(pid, 0)
    if status or not b:
        print(name, "is not recorded: the process ended with", status)
        return
    CASES.append({"name": name, "op": op, "args": args, "batch": batch, **pickle.loads(b)})


# ------------------------------------------------------------------ COCO
def image(i, w=20, h=10):
    return {"id": i, "width": w, "height": h, "file_name": f"i{i:03d}.jpg"}


def annotation(i, img, box, cat, seg, crowd=0):
    return {"id": i, "image_id": img, "bbox": box, "category_id": cat, "area": 1, "iscrowd": crowd, "segmentation": seg}


def coco():
    os.makedirs("coco")
    rng = np.random.default_rng(7)
    images = [image(9), image(4, 33, 27), image(6, 16, 40), image(2), image(11, 50, 30), image(13, 7, 5), image(17, 29, 23)]
    square = [2, 2, 8, 2, 8, 6, 2, 6]
    triangle = [4.5, 1.2, 15.1, 3.3, 9.9, 8.7]
    runs = {"counts": [30, 5, 165], "size": [10, 20]}
    n, anns = 0, []

    def add(img, box, cat, seg, crowd=0):
        nonlocal n
        n += 1
        anns.append(annotation(n, img, box, cat, seg, crowd))

    # Polygons and runs that overlap, in both orders of labels and of annotations.
    add(9, [2, 2, 6, 4], 7, [square])
    add(9, [4.5, 1.2, 10.6, 7.5], 3, [triangle, [0, 0, 3, 0, 3, 3]])
    add(9, [3, 0, 1, 5], 3, runs, 1)
    add(2, [4.5, 1.2, 10.6, 7.5], 3, [triangle])
    add(2, [3, 0, 1, 5], 18, {"counts": "N51o0000000c4", "size": [10, 20]})
    add(2, [2, 2, 0.05, 4], 7, [square])
    anns[-2]["segmentation"]["counts"] = compress([30, 5, 1, 1, 3, 60, 100])
    # Polygons of many shapes: random, with fractions, degenerate, beyond the image, and with its edges.
    for k in range(12):
        corners = int(rng.integers(3, 12))
        poly = np.stack([rng.uniform(-8, 41, corners), rng.uniform(-8, 35, corners)], 1)
        if k % 3 == 0:
            poly = np.floor(poly)
        if k % 4 == 1:
            poly = np.round(poly, 1)
        add(4, [float(k), 1, 5, 5], [3, 7, 18, 44][k % 4], [[round(float(v), 4) for v in poly.ravel()]])
    for k, poly in enumerate([[0, 0, 16, 0, 16, 40, 0, 40], [0, 0, 0, 40, 3, 40, 3, 0], [5, 5, 5, 9, 5, 12], [1, 1, 9, 9], [-500, 20, 800, 21, 800, 22],
                              [8, -1000, 9, 1000, 9.5, 1000], [2.5, 2.5, 3.5, 2.5, 3.5, 3.5, 2.5, 3.5], [15.4, 39.4, 15.6, 39.4, 15.6, 39.6],
                              [0.5, 30, 4.49, 30.2, 4.51, 33.7, 0.49, 33.3]]):
        add(6, [1, float(k), 3, 3], [44, 3, 18][k % 3], [poly])
    # A crowd, an image without boxes, runs that begin at once and that are empty.
    add(11, [0, 0, 50, 30], 44, {"counts": [0, 30, 1440, 30], "size": [30, 50]}, 1)
    add(11, [1, 1, 0.09, 30], 44, {"counts": [1500], "size": [30, 50]})
    add(11, [10, 10, 5, 5], 3, [])
    # Corners at which the rounding of fractions matters, and labels without any mask.
    for k in range(14):
        poly = rng.integers(-2, 60, 8) / 2 + 0.5 * (k % 2) - 0.4 * (k % 3)
        add(17, [1, 1, 9, 9], [18, 3, 44, 7][k % 4], [[round(float(v), 1) for v in poly]])
    add(17, [1, 1, 9, 9], 7, [])
    doc = {"info": {"year": 2026}, "images": images, "licenses": [], "annotations": anns,
           "categories": [{"id": c, "name": f"c{c}"} for c in (18, 3, 44, 7)]}
    with open("coco/ann.json", "w") as f:
        json.dump(doc, f, indent=1)
    # The same without any segmentation.
    bare = dict(doc, annotations=[{k: v for k, v in a.items() if k != "segmentation"} for a in anns[:6]], images=images[:4])
    with open("coco/bare.json", "w") as f:
        json.dump(bare, f)
    for i in images:
        with open("coco/" + i["file_name"], "w") as f:
            f.write(f"image {i['id']}")
    base = {"file_root": "coco", "annotations_file": "coco/ann.json"}
    for name, args in {
        "plain": {}, "ltrb": {"ltrb": True}, "ratio": {"ratio": True}, "ltrb_ratio": {"ltrb": True, "ratio": True}, "skip_empty": {"skip_empty": True},
        "size_threshold": {"size_threshold": 0.01}, "size_threshold_4": {"size_threshold": 4.5, "skip_empty": True},
        "no_crowd": {"include_iscrowd": False}, "verbatim": {"avoid_class_remapping": True}, "image_ids": {"image_ids": True},
        "save_img_ids": {"save_img_ids": True}, "images": {"images": ["i013.jpg", "i004.jpg", "i009.jpg"], "image_ids": True},
        "images_twice": {"images": ["i002.jpg", "i004.jpg", "i002.jpg"], "image_ids": True}, "polygons": {"polygon_masks": True},
        "polygons_ratio": {"polygon_masks": True, "ratio": True, "ltrb": True}, "polygons_ids": {"polygon_masks": True, "image_ids": True},
        "masks": {"masks": True}, "masks_and_polygons": {"masks": True, "polygon_masks": True}, "pixelwise": {"pixelwise_masks": True},
        "pixelwise_ratio": {"pixelwise_masks": True, "ratio": True}, "pixelwise_verbatim": {"pixelwise_masks": True, "avoid_class_remapping": True},
        "pixelwise_ids": {"pixelwise_masks": True, "image_ids": True, "include_iscrowd": False}, "both_masks": {"pixelwise_masks": True, "polygon_masks": True},
        "save_without_dir": {"save_preprocessed_annotations": True}, "dir_without_save": {"save_preprocessed_annotations_dir": "coco"},
        "both_sources": {"preprocessed_annotations": "coco"},
    }.items():
        case("coco/" + name, "readers.coco", {**base, **args})
    case("coco/old_name", "coco_reader", {**base, "image_ids": True})
    case("coco/no_root", "readers.coco", {"annotations_file": "coco/ann.json"})
    case("coco/no_annotations", "readers.coco", {"file_root": "coco"})
    case("coco/shuffled", "readers.coco", {**base, "image_ids": True, "random_shuffle": True, "initial_fill": 2, "seed": 5}, 4, 5, (0, 2, 3))
    case("coco/shuffle_after_epoch", "readers.coco", {**base, "image_ids": True, "shuffle_after_epoch": True}, 4, 5, (1, 2))
    for name, args in {"plain": {}, "ids": {"image_ids": True}, "polygons": {"polygon_masks": True}, "pixelwise": {"pixelwise_masks": True},
                       "all": {"pixelwise_masks": True, "image_ids": True, "ltrb": True, "ratio": True}, "skip": {"skip_empty": True, "polygon_masks": True},
                       "bare": {"pixelwise_masks": True, "annotations_file": "coco/bare.json"}}.items():
        folder = "preprocessed/" + name
        os.makedirs(folder)
        case("coco/save_" + name, "readers.coco",
             {**base, **args, "save_preprocessed_annotations": True, "save_preprocessed_annotations_dir": folder})
        kept = {k: v for k, v in args.items() if k in ("image_ids", "polygon_masks", "pixelwise_masks")}
        case("coco/load_" + name, "readers.coco", {"file_root": "coco", "preprocessed_annotations": folder, **kept})
    os.makedirs("preprocessed/old")
    case("coco/save_old_names", "readers.coco", {**base, "dump_meta_files": True, "dump_meta_files_path": "preprocessed/old", "save_img_ids": True})
    case("coco/load_old_name", "readers.coco", {"file_root": "coco", "meta_files_path": "preprocessed/ids", "save_img_ids": True})
    for arg in ("ltrb", "ratio", "skip_empty"):
        case("coco/load_" + arg, "readers.coco", {"file_root": "coco", "preprocessed_annotations": "preprocessed/plain", arg: True})
    case("coco/load_images", "readers.coco", {"file_root": "coco", "preprocessed_annotations": "preprocessed/plain", "images": ["i002.jpg"]})


def overlaps():
    """Masks of several labels that overlap everywhere, also at the end of the image."""
    os.makedirs("overlap")
    rng = np.random.default_rng(11)
    images, anns = [], []
    for i in range(40):
        w, h = int(rng.integers(1, 24)), int(rng.integers(1, 24))
        images.append({"id": i, "width": w, "height": h, "file_name": f"{i}.jpg"})
        with open(f"overlap/{i}.jpg", "w") as f:
            f.write(str(i))
        for _ in range(int(rng.integers(2, 6))):
            if rng.integers(3) == 0:  # runs, some of which begin at once
                ends = np.unique(rng.integers(0, w * h, int(rng.integers(1, 8))))
                counts = np.diff(np.concatenate([[0], ends, [w * h]])).tolist()
                seg = {"counts": counts, "size": [h, w]}
            else:
                seg = [np.round(rng.uniform(-8, 34, 2 * int(rng.integers(3, 8))), int(rng.integers(0, 3))).tolist()]
            anns.append(annotation(len(anns) + 1, i, [0, 0, 1, 1], int(rng.integers(1, 5)), seg))
    with open("overlap/ann.json", "w") as f:
        json.dump({"images": images, "annotations": anns, "categories": [{"id": c, "name": str(c)} for c in (1, 2, 3, 4)]}, f)
    for name, args in (("pixelwise", {}), ("ratio", {"ratio": True})):
        case("overlap/" + name, "readers.coco", {"file_root": "overlap", "annotations_file": "overlap/ann.json", "pixelwise_masks": True, **args}, 8)


def compress(counts):
    """The text of run lengths, as COCO's tools write it."""
    out = ""
    for i, n in enumerate(counts):
        if i > 2:
            n -= counts[i - 2]
        while True:
            c = n & 31
            n >>= 5
            more = n != (-1 if c & 16 else 0)
            out += chr(48 + (c | 32 if more else c))
            if not more:
                break
    return out


# ------------------------------------------------------------------ LMDB
def varint(v):
    v &= (1 << 64) - 1
    out = b""
    while v > 127:
        out += bytes([v & 127 | 128])
        v >>= 7
    return out + bytes([v])


def chunk(field, b):
    return varint(field << 3 | 2) + varint(len(b)) + b


def number(field, v):
    return varint(field << 3) + varint(v)


def database(name, values, keys=None):
    os.makedirs("lmdb/" + name)
    env = lmdb.open("lmdb/" + name, map_size=1 << 20)
    with env.begin(write=True) as t:
        for i, v in enumerate(values):
            t.put(keys[i] if keys else b"%08d" % i, v)
    env.close()
    os.remove(f"lmdb/{name}/lock.mdb")
    return "lmdb/" + name


def datum(data, label=None, shape=None, encoded=None):
    b = b"".join(number(f, v) for f, v in zip((1, 2, 3), shape or ()))
    b += chunk(4, data)
    if label is not None:
        b += number(5, label)
    if encoded is not None:
        b += number(7, encoded)
    return b


def caffe():
    long = b"long " * 2000
    files = database("files", [datum(b"image %d" % i if i != 4 else long, 3 * i, encoded=1) for i in range(7)])
    keys = database("keys", [datum(b"k%d" % i, -i, encoded=1) for i in range(3)], [b"zz", b"a\0b", b"a"])
    pixels = database("pixels", [datum(bytes(range(i, i + 24)), i, (3, 2, 4), 0) for i in range(4)])
    unsaid = database("unsaid", [datum(bytes(range(24)), shape=(3, 2, 4)) for i in range(2)])
    short = database("short", [datum(bytes(20), 1, (3, 2, 4), 0) for i in range(2)])
    damaged = database("damaged", [b"\xff\xff\xff\xff\xff"] * 2)
    empty = database("empty", [])
    for name, path, args in (("files", files, {}), ("no_label", files, {"label_available": False}), ("no_image", files, {"image_available": False}),
                             ("neither", files, {"label_available": False, "image_available": False}), ("keys", keys, {}), ("pixels", pixels, {}),
                             ("unsaid", unsaid, {}), ("short", short, {}), ("damaged", damaged, {}), ("empty", empty, {}), ("missing", "lmdb/nothing", {}),
                             ("several", [keys, files], {}), ("shard", files, {"num_shards": 3, "shard_id": 1})):
        case("caffe/" + name, "readers.caffe", {"path": path, **args})
    case("caffe/old_name", "caffe_reader", {"path": files, "random_shuffle": True, "initial_fill": 3, "seed": 8})
    case("caffe/padded", "readers.caffe", {"path": files, "num_shards": 2, "shard_id": 1, "pad_last_batch": True}, 3, 5)
    case("caffe/shuffled", "readers.caffe", {"path": [keys, files], "random_shuffle": True, "initial_fill": 4, "seed": 9}, 4, 7, (0, 2, 5))


def tensor(dims, kind, floats=(), ints=(), data=None, strings=()):
    b = b"".join(number(1, d) for d in dims) + number(2, kind)
    if floats:
        b += chunk(3, struct.pack(f"<{len(floats)}f", *floats))
    if ints:
        b += chunk(4, b"".join(varint(x) for x in ints))
    if data is not None:
        b += chunk(5, data)
    return b + b"".join(chunk(6, s) for s in strings)


def protos(*tensors):
    return b"".join(chunk(1, t) for t in tensors)


def caffe2():
    def file(i):
        return tensor((1,), 4, strings=[b"image %d" % i])

    def ints(*v):
        return tensor((len(v),), 2, ints=v)

    def floats(*v):
        return tensor((len(v),), 1, floats=v)

    files = database("c2_files", [protos(file(i), ints(5 * i - 3)) for i in range(5)])
    pixels = database("c2_pixels", [protos(tensor((2, 4, 3), 3, data=bytes(range(i, i + 24))), floats(i + 0.5)) for i in range(3)])
    grey = database("c2_grey", [protos(tensor((2, 4), 3, data=bytes(range(8))), ints(i)) for i in range(2)])
    labels = database("c2_labels", [protos(ints(i), ints(1, 2, 3, 4)) for i in range(2)])
    many = database("c2_many", [protos(file(i), ints(1, 3, 4 + i), floats(1, 2 + i), ints(3, 4, 5), ints(i, 2, 3, 4)) for i in range(3)])
    plain = database("c2_plain", [protos(file(i)) for i in range(2)])
    for name, path, args in (
            ("files", files, {}), ("pixels", pixels, {}), ("grey", grey, {}), ("no_image", labels, {"image_available": False, "bbox": True}),
            ("image_as_label", files, {"image_available": False}), ("dense", many, {"label_type": 2, "additional_inputs": 2, "bbox": True}),
            ("dense_num_labels", many, {"label_type": 2, "num_labels": 7, "additional_inputs": 2, "bbox": True}),
            ("none", plain, {"label_type": 4}), ("no_label", plain, {}), ("single_of_many", many, {"additional_inputs": 2, "bbox": True}),
            ("box_of_floats", many, {"label_type": 2, "bbox": True}), ("label_type_5", files, {"label_type": 5}), ("damaged", "lmdb/damaged", {})):
        case("caffe2/" + name, "readers.caffe2", {"path": path, **args})
    case("caffe2/old_name", "caffe2_reader", {"path": files, "random_shuffle": True, "initial_fill": 3, "seed": 8})
    case("caffe2/shuffled", "readers.caffe2", {"path": files, "random_shuffle": True, "initial_fill": 3, "seed": 4}, 2, 6, (1, 4))


# ------------------------------------------------------------------ NeMo
def sound(name, a, channels=1, rate=8000):
    with wave.open("nemo/" + name, "wb") as w:
        w.setnchannels(channels)
        w.setsampwidth(a.dtype.itemsize)
        w.setframerate(rate)
        w.writeframes(a.tobytes())
    return "nemo/" + name


def manifest(name, *entries):
    with open("nemo/" + name, "w") as f:
        f.writelines(json.dumps(e) + "\n" for e in entries)
    return "nemo/" + name


def nemo():
    os.makedirs("nemo")
    wide = (np.arange(40) * 1997 % 65536 - 32768).astype(np.int16)
    a, b = sound("a.wav", wide[:9]), sound("b.wav", wide, rate=16000)
    stereo, three = sound("stereo.wav", wide[:24], 2), sound("three.wav", wide[:24], 3)
    byte, long = sound("byte.wav", np.arange(0, 256, 9).astype(np.uint8)), sound("long.wav", (np.arange(8) * 12345677 - 2**25).astype(np.int32))
    one = manifest("one.json", {"audio_filepath": a, "duration": 1.0, "text": "hello"}, {"audio_filepath": b, "duration": 2.5, "text": "w\u00f6rld"},
                   {"audio_filepath": byte, "duration": 3, "speaker": {"id": [1, 2]}}, {"audio_filepath": a, "duration": 0.5, "text": "", "offset": 0.001},
                   {"audio_filepath": long})
    two = manifest("two.json", {"audio_filepath": stereo, "duration": 1.25, "text": "two"}, {"audio_filepath": three, "duration": 4.0, "text": "three"})
    cut = manifest("cut.json", *[{"audio_filepath": b, "offset": o / 16000, **({} if d is None else {"duration": d / 16000})}
                                 for o, d in ((0, 0), (0, 1.9), (2, 3), (1.9, 3.9), (39.5, None), (40, 1), (0, 100), (3, None), (0.5, 0.5))])
    behind = manifest("behind.json", {"audio_filepath": b, "offset": 1.0})
    empty = manifest("empty.json")
    for name, path, args in (
            ("plain", one, {}), ("idxs", one, {"read_idxs": True}), ("no_text", one, {"read_text": False}), ("no_rate", one, {"read_sample_rate": False}),
            ("audio", one, {"read_text": False, "read_sample_rate": False}), ("min", one, {"min_duration": 1.0, "read_idxs": True}),
            ("max", one, {"max_duration": 2.5, "read_idxs": True}), ("between", one, {"min_duration": 0.9, "max_duration": 2.6, "read_idxs": True}),
            ("none_left", one, {"min_duration": 99.0}), ("two", [two, one], {"read_idxs": True}), ("channels", two, {"downmix": False}), ("mono", two, {}),
            ("int16", one, {"dtype": {"type": "INT16"}}), ("int32", one, {"dtype": {"type": "INT32"}}), ("uint8", one, {"dtype": {"type": "UINT8"}}),
            ("int16_channels", two, {"dtype": {"type": "INT16"}, "downmix": False}), ("rate", "nemo/two.json", {"sample_rate": 8000.0}),
            ("quality", two, {"quality": 10.0}), ("normalize_text", one, {"normalize_text": True}), ("cut", cut, {}), ("behind", behind, {}),
            ("empty", empty, {}), ("missing", "nemo/nothing.json", {})):
        case("nemo/" + name, "readers.nemo_asr", {"manifest_filepaths": path, **args})
    case("nemo/old_name", "nemo_asr_reader", {"manifest_filepaths": one, "random_shuffle": True, "initial_fill": 3, "seed": 8})
    case("nemo/shuffled", "readers.nemo_asr", {"manifest_filepaths": [one, two], "read_idxs": True, "random_shuffle": True, "initial_fill": 3, "seed": 2}, 3, 6,
         (0, 1, 4))
    case("nemo/shuffle_after_epoch", "readers.nemo_asr", {"manifest_filepaths": [one, two], "read_idxs": True, "shuffle_after_epoch": True}, 3, 6, (2,))
    resampled(one, two, cut)


def resampled(one, two, cut):
    for name, path, args in (
            ("resampled", one, {"sample_rate": 11025.0}), ("resampled_up", two, {"sample_rate": 12000.0}),
            ("resampled_lowest", one, {"sample_rate": 16000.0, "quality": 0.0}), ("resampled_highest", one, {"sample_rate": 9000.0, "quality": 100.0}),
            ("resampled_channels", two, {"sample_rate": 6000.0, "downmix": False}), ("resampled_int32", one, {"sample_rate": 9000.0, "dtype": {"type": "INT32"}}),
            ("resampled_int16_channels", two, {"sample_rate": 9000.0, "dtype": {"type": "INT16"}, "downmix": False}),
            ("resampled_parts", cut, {"sample_rate": 8000.0})):
        case("nemo/" + name, "readers.nemo_asr", {"manifest_filepaths": path, **args})


def main():
    out = os.path.abspath(sys.argv[1])
    os.makedirs(out, exist_ok=True)
    os.chdir(out)
    for d in ("coco", "lmdb", "nemo", "overlap", "preprocessed"):
        shutil.rmtree(d, ignore_errors=True)
    os.makedirs("lmdb")
    os.makedirs("preprocessed")
    coco()
    overlaps()
    caffe()
    caffe2()
    nemo()
    with open("cases.json", "w") as f:
        json.dump({"dali": dali.__version__, "cases": CASES}, f, indent=0, separators=(",", ":"))
        f.write("\n")
    print(len(CASES), "cases")


if __name__ == "__main__":
    # DALI writes the path of the program into serialized pipelines: give it a short one.
    with open(__file__) as f:
        space = {"__name__": "record", "__file__": "record.py"}
        exec(compile(f.read(), "record.py", "exec"), space)
    space["main"]()
