"""Records what experimental.inputs.video of DALI 2.4.0 gives: inputs.py FOLDER_OF_VIDEOS > inputs.json.

A batch has a shape and the mean of each frame for every sequence.
"""

import json
import os
import sys

import numpy as np
import nvidia.dali as dali
import nvidia.dali.fn as fn

VIDEOS = [["vp9.webm"], ["odd.webm", "vp9.webm"], ["vp8.webm", "odd.webm", "odd.webm"], ["motion.avi"]]
SETTINGS = [(5, "partial", 3), (7, "pad", 2), (7, None, 4), (1, "partial", 5), (50, "pad", 1), (50, "partial", 2),
            (6, "pad", 3)]


def record(files, length, policy, size, no_copy=False):
    pipe = dali.Pipeline(size, 2, None, prefetch_queue_depth=1, exec_dynamic=False)
    with pipe:
        more = {} if policy is None else {"last_sequence_policy": policy}
        pipe.set_outputs(fn.experimental.inputs.video(name="v", sequence_length=length, no_copy=no_copy, **more))
    pipe.build()
    data = [np.fromfile(os.path.join(sys.argv[1], f), np.uint8)[None] for f in files]
    for d in data:
        pipe.feed_input("v", d)
    batches = []
    while True:
        try:
            out = pipe.run()[0]
        except RuntimeError as e:
            assert "No data was provided" in str(e)
            break
        assert out.layout() == "FHWC"
        frames = [np.array(out.at(i)) for i in range(len(out))]
        batches.append([{"shape": list(a.shape), "means": [round(float(f.mean()), 2) for f in a]} for a in frames])
    case = {"files": files, "sequence_length": length, "last_sequence_policy": policy or "partial", "batch_size": size,
            "batches": batches}
    return {**case, "no_copy": True} if no_copy else case


cases = [record(v, *s) for v in VIDEOS for s in SETTINGS] + [record(["vp9.webm"], 6, "pad", 4, no_copy=True)]
print("[\n" + ",\n".join(json.dumps(c, separators=(",", ":")) for c in cases) + "\n]")
