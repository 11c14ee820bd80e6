"""Folders as Hugging Face's datasets lays them out, with the rows that it reads out of them.

    huggingface.py DIR      # versions: testdata/huggingface/README.md

Below DIR each case is a folder. DIR/expect.json has for each case and split the columns and rows:
a value is {"text"}, {"number"}, {"numbers"} or, for an image or sound, {"file"} with the path below
the case, or {"hex"} with its bytes. A line for each case is printed.
"""

import io
import json
import os
import shutil
import sys
import wave

import numpy as np
import PIL.Image

os.environ["HF_HUB_OFFLINE"] = "1"
sys.path.remove(os.path.dirname(os.path.abspath(__file__)))  # where another file has the name datasets.py
import datasets
import pyarrow as pa
import pyarrow.parquet as pq

datasets.disable_progress_bars()
ROOT = sys.argv[1]
EXPECT = []


def image(v):
    b = io.BytesIO()
    PIL.Image.fromarray(np.full((2, 3), v, np.uint8)).save(b, "png")
    return b.getvalue()


def sound(v):
    b = io.BytesIO()
    with wave.open(b, "wb") as w:
        w.setnchannels(1), w.setsampwidth(2), w.setframerate(8000)
        w.writeframes(np.full(3, v, np.int16).tobytes())
    return b.getvalue()


def put(path, b):
    path = os.path.join(ROOT, path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as f:
        f.write(b if isinstance(b, bytes) else b.encode())


def value(case, v):
    if isinstance(v, dict):  # of an image or sound
        if v["bytes"] is not None:
            return {"hex": v["bytes"].hex()}
        return {"file": os.path.relpath(v["path"], os.path.join(ROOT, case))}
    if isinstance(v, str):
        return {"text": v}
    if isinstance(v, list):
        return {"numbers": v}
    return {"number": float(v)}


def raw(d):
    """The data set without decoding: images and sounds as they are stored."""
    for name, f in d.features.items():
        if isinstance(f, (datasets.Image, datasets.Audio)):
            d = d.cast_column(name, type(f)(decode=False))
    return d


def record(case, splits):
    out = {}
    for split, d in splits.items():
        d = raw(d)
        out[split] = {"columns": d.column_names, "rows": [[value(case, v) for v in row.values()] for row in d]}
    EXPECT.append({"name": case, "splits": out})
    print(case, {s: len(x["rows"]) for s, x in out.items()})


def folder(case, builder="imagefolder"):
    record(case, datasets.load_dataset(builder, data_dir=os.path.join(ROOT, case), cache_dir=os.path.join(ROOT, ".cache")))


def main():
    shutil.rmtree(ROOT, ignore_errors=True)
    for s, n in (("train", 5), ("test", 2)):
        for i in range(n):
            put(f"classes/{s}/{['cat', 'dog'][i % 2]}/{i}.png", image(i))
    folder("classes")
    for name in ("a-b/1", "a/10", "a/2", "a.c/3", "B/4", "a/é"):
        put(f"order/training/{name}.png", image(len(name)))
    folder("order")
    for i in range(4):
        put(f"nested/train/{'ab'[i % 2]}/{'xy'[i // 2]}/{i}.png", image(i))
    folder("nested")
    for name in ("my-train-data/a/0", "my-train-data/b/0", "train2/b/0", "training/b/0", "trains/b/0"):
        put(f"names/{name}.png", image(len(name)))
    folder("names")
    for s in ("train", "dev", "eval"):
        for i in range(2):
            put(f"files/{s}-{i}.png", image(i))
    folder("files")
    for s in ("train", "validation"):
        for i in range(3):
            put(f"csv/{s}/{i}.png", image(i))
    put("csv/train/metadata.csv", 'file_name,text,label,score,good\n2.png,two,2,0.5,True\n0.png,"ze,ro",0,1,False\n1.png,"o ""n"" e",-1,2.5,True\n')
    put("csv/validation/metadata.csv", "file_name,text,label,score,good\n1.png,one,1,1e3,False\n")
    folder("csv")
    for i in range(3):
        put(f"jsonl/imgs/{i}.png", image(i))
    put("jsonl/metadata.jsonl", "".join(json.dumps({"file_name": f"imgs/{2 - i}.png", "text": f"t{i}ü", "n": i, "ids": list(range(i + 1))}) + "\n"
                                        for i in range(3)))
    folder("jsonl")
    for i in range(2):
        put(f"parquet/{i}.png", image(i))
    pq.write_table(pa.table({"file_name": ["1.png", "0.png"], "text": ["u", "v"], "n": [1.5, 2.5]}), os.path.join(ROOT, "parquet/metadata.parquet"))
    folder("parquet")
    for name in ("x/0", "x/1", "y/0"):
        put(f"two/{name}.png", image(len(name)))
    put("two/x/metadata.csv", "file_name,text\n1.png,a\n0.png,b\n")
    put("two/y/metadata.csv", "file_name,text\n0.png,c\n")
    folder("two")
    for s in ("train", "test"):
        for i in range(2):
            put(f"sounds/{s}/{'ab'[i]}/{i}.wav", sound(i))
    folder("sounds", "audiofolder")
    for i in range(2):
        put(f"spoken/{i}.wav", sound(i))
    put("spoken/metadata.csv", "file_name,text\n1.wav,one\n0.wav,zero\n")
    folder("spoken", "audiofolder")
    rows = datasets.Dataset.from_dict({"i": list(range(12)), "t": [f"t{i}" for i in range(12)], "l": [[i] * (i % 3) for i in range(12)]})
    rows.save_to_disk(os.path.join(ROOT, "saved"), num_shards=11)
    record("saved", {"": datasets.load_from_disk(os.path.join(ROOT, "saved"))})
    pictures = datasets.Dataset.from_dict({"image": [{"bytes": image(i), "path": None} for i in range(3)], "label": [0, 1, 0]}, features=datasets.Features(
        {"image": datasets.Image(), "label": datasets.ClassLabel(names=["a", "b"])}))
    datasets.DatasetDict(train=pictures, test=pictures.select([2, 1])).save_to_disk(os.path.join(ROOT, "savedsplits"))
    record("savedsplits", datasets.load_from_disk(os.path.join(ROOT, "savedsplits")))
    for split, n in (("train", 3), ("validation", 1), ("extra", 1)):
        for k in range(n):
            part = rows.shard(n, k) if split == "train" else rows.select([3, k])
            os.makedirs(os.path.join(ROOT, "repo/data"), exist_ok=True)
            part.to_parquet(os.path.join(ROOT, f"repo/data/{split}-{k:05d}-of-{n:05d}.parquet"))
    record("repo", datasets.load_dataset(os.path.join(ROOT, "repo"), cache_dir=os.path.join(ROOT, ".cache")))
    shutil.rmtree(os.path.join(ROOT, ".cache"))
    with open(os.path.join(ROOT, "expect.json"), "w") as f:
        f.write("[\n" + ",\n".join(json.dumps(e, ensure_ascii=False) for e in EXPECT) + "\n]\n")


main()
