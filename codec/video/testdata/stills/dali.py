"""Prints what DALI 2.4.0 decodes of the JPEG 2000 images: file, colour, type, shape and SHA-256."""

import glob
import hashlib
import os

import numpy as np
import nvidia.dali as dali
import nvidia.dali.fn as fn
import nvidia.dali.types as types

os.chdir(os.path.dirname(os.path.abspath(__file__)))
for name in sorted(glob.glob("*.j*2*")):
    if name.endswith(".raw") or name in ("la.jp2", "lossy.jp2"):
        continue
    data = np.fromfile(name, np.uint8)
    for colour in ("RGB", "BGR", "GRAY", "YCbCr", "ANY_DATA"):
        for dtype in ("uint8", "uint16", "float32"):
            pipe = dali.Pipeline(1, 1, None)
            with pipe:
                e = fn.external_source(source=lambda: [data], batch=True)
                kinds = {"uint8": types.UINT8, "uint16": types.UINT16, "float32": types.FLOAT}
                pipe.set_outputs(fn.decoders.image(e, output_type=getattr(types, colour), dtype=kinds[dtype]))
            pipe.build()
            a = np.array(pipe.run()[0].at(0))
            shape = "x".join(map(str, a.shape))
            print(name, colour, dtype, shape, hashlib.sha256(a.tobytes()).hexdigest())
