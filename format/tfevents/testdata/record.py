"""record.py > tensorboard.txt: events as the classes of tensorboard serialize them."""

from tensorboard.compat.proto import event_pb2, summary_pb2

START = event_pb2.SessionLog(status=event_pb2.SessionLog.START)


def scalars(wall, step, values):
    summary = summary_pb2.Summary()
    for name, value in values:
        summary.value.add(tag=name, simple_value=value)
    return event_pb2.Event(wall_time=wall, step=step, summary=summary)


CASES = {
    "version": event_pb2.Event(wall_time=1790000000.25, file_version="brain.Event:2"),
    "start": event_pb2.Event(wall_time=1790000000.25, step=101, session_log=START),
    "scalars": scalars(
        1790000001.5,
        7,
        [("loss", 0.1), ("job/seconds", 1e300), ("größe", float("-inf")), ("n" * 200, -0.0)],
    ),
    "nan": scalars(0, 1 << 40, [("loss", float("nan"))]),
    "many": scalars(1, 1, [("x", 1)] * 2000),
}

for name, event in CASES.items():
    print(name, event.SerializeToString(deterministic=True).hex())
