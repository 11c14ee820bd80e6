"""Write the compressed files of this directory with zlib, zopfli, ISA-L, gzip and zstd.

    pip install zopfli isal zstandard
    python make.py        # needs the programs gzip and zstd
"""

import gzip
import pathlib
import random
import struct
import subprocess
import zlib

import isal.isal_zlib
import zopfli.gzip
import zstandard

HERE = pathlib.Path(__file__).parent
random.seed(5)
TEXT = b"".join(b"line %d of some text, %d\n" % (n, random.randrange(1000)) for n in range(1500))


def put(name: str, data: bytes) -> None:
    (HERE / name).write_bytes(data)


def deflate(strategy: int, flush: int) -> bytes:
    z = zlib.compressobj(6, zlib.DEFLATED, 31, 8, strategy)
    out = b""
    for at in range(0, len(TEXT), 9000):
        out += z.compress(TEXT[at:at + 9000])
        if flush:
            out += z.flush(flush)
    return out + z.flush()


def main() -> None:
    strategies = {"default": zlib.Z_DEFAULT_STRATEGY, "filtered": zlib.Z_FILTERED, "huffman": zlib.Z_HUFFMAN_ONLY,
                  "rle": zlib.Z_RLE, "fixed": zlib.Z_FIXED}
    for name, strategy in strategies.items():
        put(f"zlib-{name}.gz", deflate(strategy, 0))
    for name, flush in {"partial": 1, "sync": zlib.Z_SYNC_FLUSH, "full": zlib.Z_FULL_FLUSH, "block": 5}.items():
        put(f"zlib-flush-{name}.gz", deflate(zlib.Z_DEFAULT_STRATEGY, flush))
    put("program.gz", subprocess.run(["gzip", "-9"], input=TEXT, capture_output=True, check=True).stdout)
    put("zopfli.gz", zopfli.gzip.compress(TEXT))
    for level in range(4):
        z = isal.isal_zlib.compressobj(level, isal.isal_zlib.DEFLATED, 31)
        put(f"isal-{level}.gz", z.compress(TEXT[:20_000]) + z.flush())
    # bgzip writes members of at most 64 KiB, with their size in an extra field.
    blocks = []
    for at in [*range(0, len(TEXT), 8000), len(TEXT)]:
        z = zlib.compressobj(6, zlib.DEFLATED, -15)
        body = z.compress(TEXT[at:at + 8000]) + z.flush()
        head = b"\x1f\x8b\x08\x04" + bytes(5) + b"\xff\x06\0BC\x02\0" + struct.pack("<H", len(body) + 25)
        blocks.append(head + body + struct.pack("<II", zlib.crc32(TEXT[at:at + 8000]), len(TEXT[at:at + 8000])))
    put("bgzip.gz", b"".join(blocks))
    put("members.gz", b"".join(gzip.compress(TEXT[at:at + 500], at % 10) for at in range(0, len(TEXT), 500)))
    put("program.zst", subprocess.run(["zstd", "-c"], input=TEXT, capture_output=True, check=True).stdout)
    put("checked.zst", subprocess.run(["zstd", "-19", "-c", "--check"], input=TEXT, capture_output=True, check=True).stdout)
    frames = [zstandard.ZstdCompressor(level=3).compress(TEXT[at:at + 4000]) for at in range(0, len(TEXT), 4000)]
    put("frames.zst", b"".join(frames))
    # pzstd puts a skippable frame with the size before each frame.
    put("pzstd.zst", b"".join(struct.pack("<III", 0x184D2A50, 4, len(f)) + f for f in frames))
    # The seekable format ends with a table of sizes in a skippable frame.
    table = b"".join(struct.pack("<II", len(f), len(TEXT[4000 * n:4000 * n + 4000])) for n, f in enumerate(frames))
    table += struct.pack("<IBI", len(frames), 0, 0x8F92EAB1)
    put("seekable.zst", b"".join(frames) + struct.pack("<II", 0x184D2A5E, len(table)) + table)


if __name__ == "__main__":
    main()
