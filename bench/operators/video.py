"""DALI's side of the case on videos: the graph of video.go. Nothing is decoded ahead of its round."""
import os

import numpy as np

CASES = {"decode-video"}
BATCH, FRAMES = 2, 120


def pipe(threads, data):
    import nvidia.dali as dali
    from nvidia.dali import fn

    video = np.fromfile(os.path.join(data, "video.webm"), np.uint8)
    p = dali.Pipeline(batch_size=BATCH, num_threads=threads, device_id=None, seed=1, prefetch_queue_depth=1,
                      exec_async=False, exec_pipelined=False)
    with p:
        encoded = fn.external_source(source=lambda: [video] * BATCH, batch=True, no_copy=True)
        p.set_outputs(fn.experimental.decoders.video(encoded))
    return p
