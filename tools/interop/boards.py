"""boards.py DIR: TensorBoard reads the event files of runs that Bivouac wrote below DIR.

Both of its readers must show the steps and values that count, and no others: the one in Python, and
the data server, which its page uses by default. The data server does not know starts: of what a job
wrote, it may show superseded values of a scalar that is not recorded at each step ("rare"), so these
are not compared. Exit status 1 after any difference.
"""

import json
import logging
import math
import os
import struct
import sys
import time

logging.disable(logging.WARNING)  # TensorBoard tells what it purges


def bits(value):
    """A value as float32. All NaN are alike."""
    return "nan" if math.isnan(value) else struct.unpack("<I", struct.pack("<f", value))[0]


def by_accumulator(board):
    from tensorboard.backend.event_processing import event_accumulator

    a = event_accumulator.EventAccumulator(board, size_guidance={event_accumulator.SCALARS: 0})
    a.Reload()
    found = {tag: [(e.step, e.value, e.wall_time) for e in a.Scalars(tag)] for tag in a.Tags()["scalars"]}
    return {tag: points for tag, points in found.items() if points}


def by_data_server(root):
    """What the data server shows, by the directory of the board below root."""
    from tensorboard import context
    from tensorboard.data import server_ingester
    from tensorboard.util import grpc_util

    ingester = server_ingester.SubprocessServerDataIngester(
        server_binary=server_ingester.get_server_binary(),
        logdir=root,
        reload_interval=3600,
        channel_creds_type=grpc_util.ChannelCredsType.LOCAL,
        samples_per_plugin={"scalars": 0},
    )
    ingester.start()
    provider, ctx = ingester.data_provider, context.RequestContext()
    before = None
    for _ in range(600):  # it reads in the background, and does not say when it has ended
        found = provider.read_scalars(ctx, experiment_id="", plugin_name="scalars", downsample=1 << 30)
        count = sum(len(points) for tags in found.values() for points in tags.values())
        if count and count == before:
            break
        before = count
        time.sleep(0.5)
    return {
        run: {tag: [(p.step, p.value, p.wall_time) for p in points] for tag, points in tags.items()}
        for run, tags in found.items()
    }


def differences(want, got):
    now = time.time()
    for tag in sorted(set(want) | set(got)):
        points = [[step, bits(struct.unpack("<f", struct.pack("<I", b))[0])] for step, b in want.get(tag, [])]
        shown = [[step, bits(value)] for step, value, _ in got.get(tag, [])]
        if points != shown:
            yield f"{tag}: {len(shown)} points {shown[:3]}, want {len(points)} {points[:3]}"
        if any(not now - 86400 < wall <= now + 1 for _, _, wall in got.get(tag, [])):
            yield f"{tag}: wall times of another day"


def main(root):
    cases = sorted(e.path for e in os.scandir(root) if os.path.exists(os.path.join(e.path, "case.json")))
    served = by_data_server(root)
    failed = points = superseded = 0
    for case in cases:
        with open(os.path.join(case, "case.json")) as f:
            want = json.load(f)
        superseded += want["superseded"]
        points += sum(map(len, want["scalars"].values()))
        for board in "job", "export":
            name = os.path.join(os.path.basename(case), board)
            for reader, got in ("accumulator", by_accumulator(os.path.join(root, name))), ("data server", served.get(name, {})):
                known = want["scalars"]
                if (board, reader) == ("job", "data server"):
                    known, got = ({tag: d[tag] for tag in d if tag != "rare"} for d in (known, got))
                for text in differences(known, got):
                    failed += 1
                    print(f"DIFFERENCE {name}, {reader}: {text}")
    print(f"event files: {len(cases)} runs, {points} values, {superseded} superseded steps, {failed} differences")
    return 1 if failed or not cases or not superseded else 0


if __name__ == "__main__":
    sys.exit(main(os.path.abspath(sys.argv[1])))
