"""Records what DALI's readers deliver: python gen.py DIR writes DIR/data and DIR/expect.json.

Needs nvidia-dali-cuda120, numpy, astropy, pillow and webdataset (versions: README.md). It prints a line for each case.
Each case runs in a process of its own, because some of them end it.
"""
import io
import json
import os
import shutil
import signal
import sys
import tarfile

os.environ["DALI_RESTRICT_PINNED_MEM"] = "1"  # readers.fits wants a GPU without it
import numpy as np

CASES = []


def samples(outs, batch=1):
    """All samples of one epoch, with the source_info of the first output."""
    import nvidia.dali as dali
    import nvidia.dali.fn as fn
    with dali.Pipeline(batch_size=batch, num_threads=1, device_id=None, seed=1, prefetch_queue_depth=1) as p:
        o = outs(fn)
        o = list(o) if isinstance(o, (list, tuple)) else [o]
        p.set_outputs(*o, fn.get_property(o[0], key="source_info"))
    p.build()
    rows = []
    for _ in range(list(p.reader_meta().values())[0]["epoch_size"]):
        out = p.run()
        row = [{"dtype": str(np.asarray(x[0]).dtype), "shape": list(np.asarray(x[0]).shape), "hex": np.ascontiguousarray(np.asarray(x[0])).tobytes().hex(),
                "layout": x.layout() or ""} for x in out[:-1]]
        rows.append({"outputs": row, "source_info": bytes(np.asarray(out[-1][0])).decode()})
    return rows


def case(name, op, **args):
    """Runs one case and records it. Arguments named TYPE are names of types."""
    import nvidia.dali.types as types

    def value(k, v):
        if k in ("dtypes",):
            return [getattr(types, x) for x in v]
        return getattr(types, v) if k == "image_type" else v

    def outs(fn):
        f = fn
        for part in op.split("."):
            f = getattr(f, part)
        return f(**{k: value(k, v) for k, v in args.items()})

    r, w = os.pipe()
    pid = os.fork()
    if pid == 0:
        signal.alarm(20)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        try:
            text = json.dumps({"samples": samples(outs)})
        except BaseException as e:
            text = json.dumps({"error": str(e).split("encountered:")[-1].split("C++ context")[0].strip()[:300].replace(os.getcwd(), "<DIR>")})
        with os.fdopen(w, "w") as f:
            f.write(text)
        os._exit(0)
    os.close(w)
    with os.fdopen(r) as f:
        text = f.read()
    os.waitpid(pid, 0)
    c = {"name": f"{len(CASES):03d} {name}", "op": op, "args": args}
    c.update(json.loads(text) if text else {"error": "CRASH"})
    CASES.append(c)
    print(c["name"], op, args, "->", c.get("error") or f'{len(c["samples"])} samples')


# ---------------------------------------------------------------- webdataset
def tar(path, members, fmt=tarfile.GNU_FORMAT):
    with tarfile.open(path, "w", format=fmt) as t:
        for name, data, *kind in members:
            ti = tarfile.TarInfo(name)
            if kind:
                ti.type, ti.linkname = kind[0], "a.jpg"
            else:
                ti.size = len(data)
            t.addfile(ti, io.BytesIO(data))


def webdataset():
    os.makedirs("wds")
    op = "readers.webdataset"
    tar("wds/odd.tar", [("__meta__", b"m"), ("x.y/b", b"nb"), ("README", b"readme"), ("a.jpg", b"1"), ("README2", b"x"), ("a.cls", b"2"),
                        ("d/.hidden.jpg", b"h"), (".h.jpg", b"h"), ("d/c.jpg", b"3"), ("d/c.png", b"4"), ("e.JPG", b"5"), ("z.", b"6")])
    for ext in (["jpg"], ["cls"], ["__meta__"], ["x.y/b", "b"], ["README"], ["jpg;png"], ["png;jpg"], ["jpg", "jpg"], ["jpg;jpg"], [" jpg"],
                [".jpg"], ["jpg; cls"], [""], ["jpg;"], [";jpg"], "jpg", ["hidden.jpg"]):
        case("odd", op, paths=["wds/odd.tar"], ext=ext)
    case("lower and upper", op, paths=["wds/odd.tar"], ext=["jpg"], case_sensitive_extensions=False)
    case("upper", op, paths=["wds/odd.tar"], ext=["JPG;CLS"], case_sensitive_extensions=False)
    for b in ("empty", "skip", "error", "EMPTY", "Skip", "bogus", ""):
        case("missing", op, paths=["wds/odd.tar"], ext=["jpg", "png"], missing_component_behavior=b)
    case("links", op, paths=["wds/links.tar"], ext=["jpg", "cls"]) if tar("wds/links.tar", [
        ("b.jpg", b"2"), ("l.jpg", b"", tarfile.SYMTYPE), ("b.cls", b"4"), ("c.jpg", b"", tarfile.LNKTYPE), ("d", b"", tarfile.DIRTYPE)]) is None else None
    tar("wds/types.tar", [("a.bin", bytes(range(8))), ("a.x", b"123"), ("b.bin", bytes(range(4)))])
    for d in ("FLOAT", "INT64", "BOOL", "FLOAT16", "INT16", "UINT16", "INT32", "UINT32", "INT8", "UINT8", "STRING"):
        case("types", op, paths=["wds/types.tar"], ext=["bin"], dtypes=[d])
        case("types of 3 bytes", op, paths=["wds/types.tar"], ext=["x"], dtypes=[d])
    case("two types", op, paths=["wds/types.tar"], ext=["bin"], dtypes=["UINT8", "UINT8"])
    tar("wds/good.tar", [("a.jpg", b"1"), ("a.cls", b"2"), ("b.jpg", b"3"), ("b.cls", b"4")])
    good = open("wds/good.tar", "rb").read()
    for name, data in (("zero", b""), ("cut-member", good[:2560]), ("cut-header", good[:1124]), ("cut-data", good[:512]), ("bad-sum", good[:1024] + b"zzz" + good[1027:])):
        with open(f"wds/{name}.tar", "wb") as f:
            f.write(data)
        case(name, op, paths=[f"wds/{name}.tar"], ext=["jpg", "cls"])
    case("no archive", op, paths=["wds/none.tar"], ext=["jpg"])
    case("no path", op, paths=[], ext=["jpg"])
    case("a folder", op, paths=["wds"], ext=["jpg"])
    case("twice", op, paths=["wds/good.tar", "wds/good.tar"], ext=["jpg", "cls"])
    tar("wds/long.tar", [("d" * 90 + "/" + "e" * 120 + ".jpg", b"1"), ("d" * 90 + "/" + "e" * 120 + ".cls", b"2")])
    case("long names", op, paths=["wds/long.tar"], ext=["jpg", "cls"])
    two = "jpg 512 1 a.jpg cls 1536 1 a.cls\njpg 2560 1 b.jpg cls 3584 1 b.cls\n"
    for name, text in {
        "v12": "v1.2 2\n" + two, "v11": "v1.1 2\njpg 512 1 cls 1536 1\njpg 2560 1 cls 3584 1\n", "v10": "v1.0 2\njpg 512 1 cls 1536 1\n",
        "v13": "v1.3 2\n" + two, "no-version": "2\n" + two, "fewer": "v1.2 3\n" + two, "zero": "v1.2 0\n", "empty": "", "empty-line": "v1.2 1\n\n",
        "offset": "v1.2 1\njpg 513 1 a.jpg\n", "outside": "v1.2 1\njpg 51200 1 a.jpg\n", "size": "v1.2 1\njpg 512 100000 a.jpg\n",
        "negative": "v1.2 1\njpg 512 -1 a.jpg\n", "three": "v1.2 1\njpg 512 1\n", "tabs": "v1.2\t1\njpg\t512  1 a.jpg\n",
        "crlf": "v1.2 1\r\njpg 512 1 a.jpg\r\n", "words": "v1.2 1\njpg x 1 a.jpg\n", "blank": "v1.2 1\njpg 512 1 a b.jpg\n",
        "header": "v1.2 1 extra\njpg 512 1 a.jpg\n", "no-number": "v1.2 x\njpg 512 1 a.jpg\n"}.items():
        with open(f"wds/{name}.idx", "w", newline="") as f:
            f.write(text)
        case("index " + name, op, paths=["wds/good.tar"], index_paths=[f"wds/{name}.idx"], ext=["jpg", "cls"])
    case("two indexes", op, paths=["wds/good.tar"], index_paths=["wds/v12.idx", "wds/v12.idx"], ext=["jpg"])
    case("no index", op, paths=["wds/good.tar"], index_paths=["wds/none.idx"], ext=["jpg"])
    case("empty list of indexes", op, paths=["wds/good.tar"], index_paths=[], ext=["jpg"])


# ---------------------------------------------------------------- numpy
def numpy():
    op = "readers.numpy"
    a = np.arange(12, dtype=np.float32).reshape(3, 4)
    for i, p in enumerate(["c", "a", "B", "s/x", "s/d/y", "z/q", ".hid", "a10", "a2", "s.d/e"]):
        os.makedirs(os.path.dirname(f"npy/t/{p}"), exist_ok=True)
        np.save(f"npy/t/{p}.npy", a[:1] + 100 * i)
    os.rename("npy/t/a10.npy", "npy/t/a10.NPY")
    open("npy/t/no.txt", "w").write("x")
    root = "npy/t"
    case("root", op, file_root=root)
    case("slash", op, file_root=root + "/")
    for f in ("[ac]*.npy", "*.NPY", "*.foo", "*.npy;*.NPY", "s/*.npy", "[!a]*.npy"):
        case("filter", op, file_root=root, file_filter=f)
    case("files", op, files=["npy/t/c.npy", "npy/t/a.npy"])
    case("files and root", op, files=["c.npy", "a.npy"], file_root=root)
    case("no files", op, files=[])
    case("missing", op, files=["npy/t/none.npy"])
    case("nothing", op)
    case("no root", op, file_root="npy/none")
    for name, text in {"list": "c.npy\na.npy\n\n", "no-end": "c.npy\na.npy", "empty": "", "label": "c.npy 1\n"}.items():
        open(f"npy/t/{name}.txt", "w").write(text)
        case("list", op, file_list=f"npy/t/{name}.txt")
    case("list and root", op, file_list="npy/t/list.txt", file_root=root)
    case("no list", op, file_list="npy/t/none.txt")
    case("list and files", op, file_list="npy/t/list.txt", files=["npy/t/c.npy"])
    for t in ("?", "u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f2", "f4", "f8", "c8", "S3", "U3", "M8[s]", ">f4", ">u2"):
        name = "npy/dt-" + "".join(c if c.isalnum() else f"{ord(c):x}" for c in t) + ".npy"
        np.save(name, np.arange(6).reshape(2, 3).astype(t))
        case("type " + t, op, files=[name])
    np.save("npy/record.npy", np.zeros(2, dtype=[("a", "i4")]))
    np.save("npy/scalar.npy", np.float32(3))
    np.save("npy/empty.npy", np.zeros((0, 3), np.float32))
    for f in ("record", "scalar", "empty"):
        case(f, op, files=[f"npy/{f}.npy"])
    for v in ((2, 0), (3, 0)):
        with open(f"npy/v{v[0]}.npy", "wb") as f:
            np.lib.format.write_array(f, a, version=v)
        case("version", op, files=[f"npy/v{v[0]}.npy"])
    b = open("npy/dt-f4.npy", "rb").read()
    for name, data in (("cut", b[:-3]), ("cut-header", b[:60]), ("zero", b""), ("long", b + b"xyz")):
        open(f"npy/{name}.npy", "wb").write(data)
        case(name, op, files=[f"npy/{name}.npy"])
    case("cache", op, files=["npy/dt-f4.npy", "npy/dt-f4.npy"], cache_header_information=True)
    np.save("npy/A.npy", a)
    np.save("npy/F.npy", np.asfortranarray(a))
    v = np.arange(24, dtype=np.int16).reshape(2, 3, 4)
    np.save("npy/B.npy", v)
    np.save("npy/BF.npy", np.asfortranarray(v))
    np.save("npy/U.npy", a.astype(np.uint8))
    np.save("npy/H.npy", a.astype(np.float16))
    np.save("npy/T.npy", a > 5)
    pad, trim = {"out_of_bounds_policy": "pad"}, {"out_of_bounds_policy": "trim_to_shape"}
    for f in ("A", "F"):
        for k in [dict(roi_start=[1, 1]), dict(roi_start=[1]), dict(roi_end=[2, 3]), dict(roi_shape=[2, 2]), dict(roi_start=[1, 1], roi_end=[1, 3]),
                  dict(roi_start=[2, 1], roi_end=[1, 3]), dict(roi_start=[1, 1], roi_end=[2, 2], roi_shape=[1, 1]), dict(roi_start=[1, 1], rel_roi_start=[.5, .5]),
                  dict(rel_roi_start=[.5, .5]), dict(rel_roi_start=[.5, .4], rel_roi_end=[.9, .9]), dict(rel_roi_start=[.5, .5], roi_shape=[1, 2]),
                  dict(roi_start=[1, 1], rel_roi_shape=[.5, .5]), dict(roi_start=[1, 1], rel_roi_end=[.99, .99]), dict(roi_start=[0], roi_axes=[1], roi_end=[2]),
                  dict(roi_start=[1], roi_axes=[-1]), dict(roi_start=[1], roi_axes=[0]), dict(roi_start=[1, 0], roi_axes=[1, 0], roi_shape=[2, 3]),
                  dict(roi_start=[1, 1], roi_axes=[1, 1]), dict(roi_start=[1], roi_axes=[5]), dict(roi_start=[-1, 0], roi_shape=[2, 2]),
                  dict(roi_start=[-1, 0], roi_shape=[2, 2], **pad), dict(roi_start=[-1, 0], roi_shape=[2, 2], **trim),
                  dict(roi_start=[2, 2], roi_shape=[4, 4], fill_value=7.6, **pad), dict(roi_start=[5, 5], roi_shape=[2, 2], **pad),
                  dict(roi_start=[5, 5], roi_shape=[2, 2], **trim), dict(out_of_bounds_policy="bogus"), dict(roi_axes=[0]), dict(fill_value=3.),
                  dict(roi_start=1), dict(roi_shape=[0, 0]), dict(roi_start=[3, 0]), dict(roi_end=[4, 4]), dict(roi_end=[-1, -1]), dict(roi_shape=[-1, 2]),
                  dict(rel_roi_start=[.1, .1], rel_roi_shape=[.5, .7]), dict(rel_roi_start=[-.5, 0.], rel_roi_shape=[1., 1.5], **pad), dict(roi_start=[1, 1, 1])]:
            case("region", op, files=[f"npy/{f}.npy"], **k)
    for f in ("B", "BF"):
        for k in ({}, dict(roi_start=[1, 1, 1]), dict(roi_start=[1], roi_axes=[2], roi_shape=[2]), dict(roi_start=[-1, 1, 2], roi_shape=[4, 3, 4], fill_value=-3., **pad)):
            case("volume", op, files=[f"npy/{f}.npy"], **k)
    for f, n in (("U", 2), ("H", 2), ("T", 2), ("B", 3)):
        for v in (7.6, -1., 300., 1e9):
            case("fill", op, files=[f"npy/{f}.npy"], roi_start=[2] * n, roi_shape=[2] * n, fill_value=v, **pad)


# ---------------------------------------------------------------- sequence
def sequence():
    from PIL import Image
    op = "readers.sequence"

    def im(path, v, size=(4, 3), mode="RGB", fmt=None):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        a = np.full((size[1], size[0], 3), v, np.uint8)
        a[0, 0] = [v, v + 1, v + 2]
        Image.fromarray(a).convert(mode).save(path, format=fmt)

    for d, n in (("b", 5), ("a", 3), ("c", 1), (".h", 2)):
        for i in range(n):
            im(f"seq/t/{d}/{i:03d}.png", ord(d[-1]) + 10 * i)
    im("seq/t/a/sub/9.png", 1)
    im("seq/t/root.png", 2)
    im("seq/t/a/.hid.png", 2)
    open("seq/t/b/zz.txt", "w").write("no image")
    root = "seq/t"
    for k in [dict(sequence_length=2), dict(sequence_length=1), dict(sequence_length=3), dict(sequence_length=2, step=2), dict(sequence_length=2, stride=2),
              dict(sequence_length=2, step=3, stride=2), dict(sequence_length=9), dict(sequence_length=0), dict(sequence_length=-1),
              dict(sequence_length=2, stride=0), dict(sequence_length=2, image_type="GRAY"), dict(sequence_length=2, image_type="BGR"),
              dict(sequence_length=2, image_type="YCbCr"), dict(sequence_length=2, image_type="ANY_DATA")]:
        case("frames", op, file_root=root, **k)
    case("no root", op, file_root="seq/none", sequence_length=2)
    os.makedirs("seq/empty")
    open("seq/empty/README", "w").write("no folder")
    case("empty", op, file_root="seq/empty", sequence_length=2)
    for name, size, fmt in (("1.png", (4, 3), None), ("2.png", (5, 5), None), ("B.PNG", (4, 3), None), ("x.bmp", (4, 3), "BMP"), ("y.ppm", (4, 3), None),
                            ("noext", (4, 3), "PNG"), ("w.gif", (4, 3), None)):
        im(f"seq/m/a/{name}", 7, size, fmt=fmt)
    case("formats", op, file_root="seq/m", sequence_length=1)
    case("sizes", op, file_root="seq/m", sequence_length=2)
    im("seq/g/a/1.png", 3, mode="L")
    im("seq/g/a/2.png", 4, mode="RGBA")
    case("gray and alpha", op, file_root="seq/g", sequence_length=2)
    case("any data", op, file_root="seq/g", sequence_length=1, image_type="ANY_DATA")
    im("seq/x/a/1.png", 3)
    open("seq/x/a/2.png", "wb").write(b"bad")
    case("damaged", op, file_root="seq/x", sequence_length=2)
    im("seq/l/1.png", 3)
    case("flat", op, file_root="seq/l", sequence_length=1)
    os.makedirs("seq/e/a")
    i = Image.fromarray(np.full((5, 3, 3), 30, np.uint8))
    e = i.getexif()
    e[274] = 6
    i.save("seq/e/a/1.png", exif=e)
    case("orientation", op, file_root="seq/e", sequence_length=1)


# ---------------------------------------------------------------- fits
def fits():
    from astropy.io import fits as F
    op = "experimental.readers.fits"
    os.makedirs("fits/t/s")
    a = np.arange(12).reshape(3, 4)

    def write(path, *hdus):
        F.HDUList(([] if isinstance(hdus[0], F.PrimaryHDU) else [F.PrimaryHDU()]) + list(hdus)).writeto(f"fits/{path}.fits", overwrite=True)

    def raw(path, bitpix, data, cards):
        def block(lines):
            s = "".join(c.ljust(80) for c in lines + ["END"])
            return s.ljust(-(-len(s) // 2880) * 2880).encode()

        lines = ["XTENSION= 'IMAGE   '", f"BITPIX  = {bitpix:20d}", "NAXIS   =                    2", "NAXIS1  =                    4",
                 "NAXIS2  =                    3", "PCOUNT  =                    0", "GCOUNT  =                    1"] + cards
        first = ["SIMPLE  =                    T", "BITPIX  =                    8", "NAXIS   =                    0", "EXTEND  =                    T"]
        open(f"fits/{path}.fits", "wb").write(block(first) + block(lines) + data + b"\0" * (-len(data) % 2880))
        return [f"fits/{path}.fits"]

    for t in ("u1", "i2", "i4", "i8", "f4", "f8", "i1", "u2", "u4", "u8"):
        write("i-" + t, F.ImageHDU((a - (0 if t[0] == "u" else 5)).astype(t)))
        case("type " + t, op, files=[f"fits/i-{t}.fits"])
    write("primary", F.PrimaryHDU(a.astype("i2")))
    case("primary", op, files=["fits/primary.fits"])
    case("primary 1", op, files=["fits/primary.fits"], hdu_indices=[1])
    for name, cards in (("half", ["BSCALE  =                  0.5", "BZERO   =                 10.0"]), ("zero", ["BZERO   =                32768"]),
                        ("int", ["BSCALE  =                    2", "BZERO   =                  100"]), ("big", ["BSCALE  =                 1000"]),
                        ("down", ["BSCALE  =                   -1", "BZERO   =               -1.5D0"]), ("tiny", ["BSCALE  =               1.0E-3"])):
        for bitpix, t in ((8, ">u1"), (16, ">i2"), (32, ">i4"), (64, ">i8"), (-32, ">f4"), (-64, ">f8")):
            case(f"scale {bitpix}", op, files=raw(f"raw-{name}{bitpix}", bitpix, a.astype(t).tobytes(), cards))
    case("dtypes", op, files=["fits/raw-half16.fits"], dtypes=["INT16"])
    case("dtypes bool", op, files=["fits/raw-half16.fits"], dtypes=["BOOL"])
    write("multi", F.ImageHDU(a.astype("i2")), F.ImageHDU(np.arange(24).reshape(2, 3, 4).astype("f4")), F.ImageHDU(np.arange(5).astype("u1")))
    for k in ({}, dict(hdu_indices=[2, 3]), dict(hdu_indices=[3, 2, 2]), dict(hdu_indices=[4]), dict(hdu_indices=[5]), dict(hdu_indices=[0]), dict(hdu_indices=[-1]),
              dict(hdu_indices=[2, 3], dtypes=["FLOAT", "UINT8"]), dict(hdu_indices=[2, 3], dtypes=["FLOAT"])):
        case("multi", op, files=["fits/multi.fits"], **k)
    write("no-data", F.ImageHDU())
    case("no data", op, files=["fits/no-data.fits"])
    write("table", F.BinTableHDU.from_columns([F.Column("a", "J", array=[1, 2])]))
    case("table", op, files=["fits/table.fits"])
    write("nan", F.ImageHDU(np.array([[np.nan, np.inf, 1]], "f4")))
    case("nan", op, files=["fits/nan.fits"])
    x = F.ImageHDU(a.astype("i4"))
    x.header["BLANK"] = 5
    write("blank", x)
    case("blank", op, files=["fits/blank.fits"])
    b = open("fits/i-i2.fits", "rb").read()
    for name, data in (("cut", b[:-2880]), ("cut-pad", b[:-100]), ("zero", b""), ("junk", b"x" * 2880)):
        open(f"fits/{name}.fits", "wb").write(data)
        case(name, op, files=[f"fits/{name}.fits"])
    case("missing", op, files=["fits/none.fits"])
    for p in ("a.fits", "s/b.fits", "s/c.fit"):
        shutil.copy("fits/i-i2.fits", "fits/t/" + p)
    case("root", op, file_root="fits/t")
    case("filter", op, file_root="fits/t", file_filter="*.fit")
    g = (np.arange(20 * 18) * 7919 % 97 - 3).reshape(18, 20)
    for kind in ("RICE_1", "GZIP_1", "GZIP_2", "PLIO_1", "HCOMPRESS_1", "NOCOMPRESS"):
        for t in ("u1", "i2", "i4", "f4", "f8", "u2"):
            for q in ((16., 0.) if t[0] == "f" else (16.,)):
                name = f"c-{kind}-{t}-{int(q)}"
                try:
                    write(name, F.CompImageHDU(abs(g).astype(t) if t[0] == "u" or kind == "PLIO_1" else g.astype(t) * (1 if t[0] == "i" else 1.25),
                                               compression_type=kind, quantize_level=q, tile_shape=(6, 7) if kind != "HCOMPRESS_1" else (6, 10)))
                except Exception as e:
                    print("not written", name, e)
                    if os.path.exists(f"fits/{name}.fits"):
                        os.remove(f"fits/{name}.fits")
                    continue
                case("tiles", op, files=[f"fits/{name}.fits"])
    for m in (0, 1, 2, -1):
        x = g.astype("f4") * 1.25
        x[3, :5] = 0
        try:
            write(f"c-dither{m}", F.CompImageHDU(x, compression_type="RICE_1", quantize_level=4., quantize_method=m, dither_seed=37))
        except Exception as e:
            print("not written", m, e)
            continue
        case("dither", op, files=[f"fits/c-dither{m}.fits"])
    x = (np.random.default_rng(1).integers(-2**31, 2**31, (40, 33))).astype("i4")
    write("c-noise", F.CompImageHDU(x, compression_type="RICE_1"))
    case("noise", op, files=["fits/c-noise.fits"])


# ---------------------------------------------------------------- the package webdataset
def package():
    """Archives as the package webdataset writes them, and the samples that it reads out of them."""
    import webdataset as wds
    os.makedirs("package")
    list_ = []
    for kind in ("bytes", "types", "nested", "names", "sizes"):
        for opener in ("writer", "shards"):
            name = f"package/{kind}-{opener}"
            rows = []
            for i in range(7):
                row = {"__key__": f"{i:06d}", "txt": f"text {i}", "cls": i}
                if kind == "bytes":
                    row = {"__key__": f"{i:06d}", "bin": bytes(range(i)), "empty": b""}
                elif kind == "types":
                    row.update({"json": {"i": i}, "npy": np.arange(i + 1, dtype=np.int16), "pyd": (i, "x")})
                elif kind == "nested":
                    row["__key__"] = f"a.b/c{i // 3}/{i:03d}"
                    row["left.png"] = row.pop("txt").encode()
                elif kind == "names":
                    row["__key__"] = ["ä", "日本", "x" * 120, "a b", "UPPER", "d/" * 60 + "k", "q-+=~"][i]
                elif kind == "sizes":
                    row = {"__key__": f"{i:06d}", "bin": b"q" * [0, 1, 511, 512, 513, 1024, 3000][i], "cls": i}
                rows.append(row)
            if opener == "writer":
                with wds.TarWriter(name + ".tar") as w:
                    for r in rows:
                        w.write(dict(r))
                paths = [name + ".tar"]
            else:
                with wds.ShardWriter(name + "-%02d.tar", maxcount=3, verbose=0) as w:
                    for r in rows:
                        w.write(dict(r))
                paths = sorted("package/" + f for f in os.listdir("package") if f.startswith(f"{kind}-{opener}-"))
            got = []
            for s in wds.WebDataset(paths, shardshuffle=False, empty_check=False):
                got.append({k: (v.hex() if isinstance(v, bytes) else v) for k, v in s.items() if k == "__key__" or not k.startswith("__")})
            list_.append({"name": f"{kind} {opener}", "paths": paths, "samples": got})
            print("webdataset", kind, opener, "->", len(got), "samples of", sorted(set(k for s in got for k in s)))
    return list_


def main():
    out = os.path.abspath(sys.argv[1])
    shutil.rmtree(out + "/data", ignore_errors=True)
    os.makedirs(out + "/data")
    os.chdir(out + "/data")
    packages = package()
    for make in (webdataset, numpy, sequence, fits):
        make()
    with open(out + "/expect.json", "w") as f:
        f.write('{"cases": [\n' + ",\n".join(json.dumps(c) for c in CASES) + '\n], "webdataset": [\n' + ",\n".join(json.dumps(c) for c in packages) + "\n]}\n")


if __name__ == "__main__":
    main()
