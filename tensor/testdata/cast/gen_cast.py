#!/usr/bin/env python3
"""What numpy and ml_dtypes make of casts between all pairs of element types.

  gen_cast.py > cast.json

The elements of a source type are the same here and in cast_vectors_test.go: all of them for types of one or two bytes, else patterns of bits that a
formula gives (elements below). For each pair the file has the bytes of the first 24 results in hex and the first 16 digits of the SHA-256 of all.
Integers of less than a byte are compared by their low bits, since ml_dtypes leaves those above them zero. Pairs that numpy refuses are absent.
Left out, which is to say zero, are results that C leaves undefined and that depend on the vector unit (to uint32), NaN where numpy treats signalling
ones and payloads in two ways, and subnormal numbers of bfloat16 as e8m0, which ml_dtypes rounds otherwise than those of float32.
"""
import hashlib
import json
import sys
import warnings

import ml_dtypes
import numpy as np

NAMES = ("bool int2 int4 int8 int16 int32 int64 uint2 uint4 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 "
         "float8_e3m4 float8_e4m3 float8_e4m3fn float8_e4m3fnuz float8_e4m3b11fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu "
         "float4_e2m1fn float6_e2m3fn float6_e3m2fn").split()
BITS = {"bool": 1, "int2": 2, "uint2": 2, "int4": 4, "uint4": 4, "float4_e2m1fn": 4, "float6_e2m3fn": 6, "float6_e3m2fn": 6}
LEFT_OUT = {("float16", "float64"), ("float16", "complex128"), ("bfloat16", "float16"), ("bfloat16", "float8_e8m0fnu")}
MASK = (1 << 64) - 1
COUNT = 4096


def dtype(name):
    return np.dtype(getattr(ml_dtypes, name, None) or name)


def splitmix(i):
    z = (i + 1) * 0x9E3779B97F4A7C15 & MASK
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & MASK
    z = (z ^ z >> 27) * 0x94D049BB133111EB & MASK
    return z ^ z >> 31


def integer(i, bits):
    """A number about a power of two, of either sign."""
    r = splitmix(i)
    return ((1 << r % bits) + (r >> 8) % 5 - 2) * (1 if r >> 16 & 1 else -1) + ((r >> 20) % 3 == 0) * (r >> 24) & (1 << bits) - 1


def real(i, exponent, mantissa):
    """A float of a moderate exponent with few bits set, now and then of any bits."""
    r, m = splitmix(2 * i), splitmix(2 * i + 1)
    if i % 8 == 0:
        return r & (1 << exponent + mantissa + 1) - 1
    e = (1 << exponent - 1) - 1 + (r >> 1) % 96 - 48
    m = m & (1 << mantissa) - 1
    m = m >> (r >> 16) % mantissa << (r >> 16) % mantissa | (r >> 24 & 7 == 0)
    return (r & 1) << exponent + mantissa | e << mantissa | m


def elements(name):
    d = dtype(name)
    if d.itemsize == 1:
        return np.arange(1 << BITS.get(name, 8), dtype=np.uint8).view(d)
    if d.itemsize == 2:
        return np.arange(1 << 16, dtype=np.uint16).view(d)
    if name == "float32":
        return np.array([real(i, 8, 23) for i in range(COUNT)], np.uint32).view(d)
    if name == "float64":
        return np.array([real(i, 11, 52) for i in range(COUNT)], np.uint64).view(d)
    if name == "complex64":
        return np.array([real(i, 8, 23) for i in range(2 * COUNT)], np.uint32).view(d)
    if name == "complex128":
        return np.array([real(i, 11, 52) for i in range(2 * COUNT)], np.uint64).view(d)
    return np.array([integer(i, 8 * d.itemsize) for i in range(COUNT)], f"uint{8 * d.itemsize}").view(d)


def result(src, dst):
    x = elements(src)
    y = x.astype(dtype(dst))
    if dst == "uint32" and x.dtype.kind not in "biu" and not src.startswith(("int", "uint")):
        v = (x.real if x.dtype.kind == "c" else x).astype(np.float64)
        y = np.where((v > -2.0**31 - 1) & (v < 2.0**32), y, 0).astype(np.uint32)
    if (src, dst) in LEFT_OUT:
        v = np.abs(x.astype(np.float32))
        y = np.where(np.isnan(v) | ((dst == "float8_e8m0fnu") & (v < 2.0**-126)), np.zeros(1, y.dtype), y)
    b = np.ascontiguousarray(y).view(np.uint8)
    if dst in BITS:
        b = b & ((1 << BITS[dst]) - 1)
    return b.tobytes(), y.dtype.itemsize


def main():
    warnings.simplefilter("ignore")
    rows = []
    for src in NAMES:
        for dst in NAMES:
            try:
                b, size = result(src, dst)
            except TypeError:
                continue
            rows.append({"from": src, "to": dst, "first": b[:24 * size].hex(), "sum": hashlib.sha256(b).hexdigest()[:16]})
    head = json.dumps({"numpy": np.__version__, "ml_dtypes": ml_dtypes.__version__})[:-1]
    sys.stdout.write(head + ', "pairs": [\n' + ",\n".join(json.dumps(r) for r in rows) + "\n]}\n")


if __name__ == "__main__":
    main()
