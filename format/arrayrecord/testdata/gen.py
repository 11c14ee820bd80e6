"""Files of array_record 0.8.6 with the same 60 records: random protocol buffers and records that are
none, which are written as simple and as transposed chunks. Run in this folder:

    PYTHONPATH=../../../tools/interop python gen.py
"""

import gzip
import os
import random
import tempfile

from array_record.python.array_record_module import ArrayRecordWriter
from datafiles import proto

rng = random.Random(7)
records = [proto(rng) if i % 4 else rng.randbytes(i) for i in range(60)]
for name, options in (("plain", "group_size:1,uncompressed"), ("none", "group_size:60,uncompressed,transpose:true"), ("zstd", "group_size:7,zstd:3,transpose:true"),
                      ("brotli", "group_size:60,brotli:6,transpose:true"), ("snappy", "group_size:20,snappy,transpose:true")):
    with tempfile.TemporaryDirectory() as d:
        w = ArrayRecordWriter(d + "/x", options)
        for r in records:
            w.write(r)
        w.close()
        with open(d + "/x", "rb") as f, open(name + ".array_record.gz", "wb") as out:
            out.write(gzip.compress(f.read(), mtime=0))
