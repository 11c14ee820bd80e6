"""fn.experimental.inputs.video: the batches of DALI, and what a program feeds."""

from __future__ import annotations

import json
import os
import shutil
import signal
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bivouac
import pipeline_videos as given
from bivouac import errors, fn, ops

RECORDED: dict[str, Any] = json.loads(Path(__file__).with_name("pipeline_videos.json").read_text())
LEVELS = 0.6  # by which the conversions of colours differ

pytestmark = pytest.mark.skipif(shutil.which("ffmpeg") is None, reason="ffmpeg is not installed")


def compare(got: list[Any], want: list[Any]) -> None:
    """Compare what runs give."""
    assert len(got) == len(want)
    for g, w in zip(got, want):
        if isinstance(w, str):
            assert g == w
            continue
        assert [x["shape"] for x in g] == [x["shape"] for x in w]
        for a, b in zip(g, w):
            np.testing.assert_allclose(a["means"], b["means"], rtol=0, atol=LEVELS)
            assert [m == 0 for m in a["means"]] == [m == 0 for m in b["means"]]


@pytest.mark.parametrize("name", sorted(given.SCENES))
def test_as_dali(name: str) -> None:
    """A scene gives the batches and errors of DALI 2.4.0."""
    assert sorted(RECORDED) == sorted(given.SCENES)
    compare(given.play(bivouac, name), RECORDED[name])


def runs(pipe: Any, number: int) -> list[Any]:
    return [given.told(pipe.run()[0]) for _ in range(number)]


def test_forms_of_data() -> None:
    """Bytes, arrays with an axis of samples, lists, names and nodes are one video."""
    video = given.read("m")
    want = RECORDED["one"]
    for data in (video[None], [video], video.tobytes(), [bytearray(video)], (video,)):
        pipe = given.define(bivouac, "one")
        pipe.feed_input("v", data)
        compare(runs(pipe, 2), want)
    pipe = given.define(bivouac, "one")
    compare([given.told(pipe.run(v=[video])[0])], want[:1])
    pipe = bivouac.Pipeline(2, 1, None, prefetch_queue_depth=1)
    with pipe:
        node = ops.experimental.inputs.Video(sequence_length=5)()
        pipe.set_outputs(node, fn.reductions.mean(node, axes=[1, 2]))
    pipe.feed_input(node, [video])
    sequences, means = pipe.run()
    compare([given.told(sequences)], want[:1])
    assert means.at(0).shape == (5, 3)


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_batches_come_before_the_error(depth: int) -> None:
    """What was fed is delivered to its end, and then there is an error until more is fed."""
    pipe = bivouac.Pipeline(2, 1, None, prefetch_queue_depth=depth)
    with pipe:
        pipe.set_outputs(fn.experimental.inputs.video(name="v", sequence_length=5))
    for _ in range(2):
        pipe.feed_input("v", [given.read("m")])
        compare(runs(pipe, 2), RECORDED["one"])
        for _ in range(2):
            with pytest.raises(RuntimeError, match="want a batch that was fed"):
                pipe.run()


def test_what_was_fed_may_change() -> None:
    for options in ({}, {"no_copy": True}):
        pipe = bivouac.Pipeline(2, 1, None, prefetch_queue_depth=1)
        with pipe:
            pipe.set_outputs(fn.experimental.inputs.video(name="v", sequence_length=5, **options))
        video = given.read("m")
        pipe.feed_input("v", [video])
        video[:] = 0
        compare(runs(pipe, 2), RECORDED["one"])


def test_serialized(tmp_path: Path) -> None:
    text = given.define(bivouac, "many").serialize()
    pipe = bivouac.Pipeline.deserialize(text, prefetch_queue_depth=1)
    for act in "mopq":
        pipe.feed_input("v", [given.read(act)])
    compare(runs(pipe, 3), RECORDED["many"][:3])


def test_mistakes() -> None:
    video = given.read("m")
    pipe = given.define(bivouac, "one")
    for data, want in (
        (video, "one video, got 23406 samples"),
        ([video, video], "one video, got 2 samples"),
        ([video.astype(np.int32)], "uint8"),
        ([video[:0]], "the bytes of a video"),
    ):
        with pytest.raises(RuntimeError, match=want):
            pipe.feed_input("v", data)
    pipe.feed_input("v", [given.read("x")])
    pipe.feed_input("v", [video])
    with pytest.raises(errors.Corrupt):  # it is left out
        pipe.run()
    compare(runs(pipe, 2), RECORDED["one"])
    for options in ({"sequence_length": 0}, {"sequence_length": 5, "last_sequence_policy": "x"}):
        pipe = bivouac.Pipeline(2, 1, None)
        with pipe:
            pipe.set_outputs(fn.experimental.inputs.video(**options))
        with pytest.raises(errors.Invalid, match="argument (sequence_length|last_seq)"):
            pipe.build()
    pipe = bivouac.Pipeline(2, 1, None, enable_checkpointing=True)
    with pipe:
        pipe.set_outputs(fn.experimental.inputs.video(sequence_length=5))
    with pytest.raises(errors.Unsupported, match="EnableCheckpointing"):
        pipe.build()
    with pytest.raises((TypeError, RuntimeError), match="sequence_length"):
        given_nothing = bivouac.Pipeline(2, 1, None)
        with given_nothing:
            given_nothing.set_outputs(fn.experimental.inputs.video())
        given_nothing.build()


@pytest.mark.parametrize("how", ["run", "share_outputs"])
def test_blocking_waits_for_another_thread(how: str) -> None:
    """A batch comes when another thread feeds. The batches of two consumers are all that come."""
    pipe = given.define(bivouac, "blocking")
    pipe.build()
    got: list[Any] = []

    def consume() -> None:
        for _ in range(2):
            if how == "run":
                got.append(given.told(pipe.run()[0]))
            else:
                pipe.schedule_run()
                got.append(given.told(pipe.share_outputs()[0]))

    threads = [threading.Thread(target=consume) for _ in range(2 if how == "run" else 1)]
    for thread in threads:
        thread.start()
    for _ in threads:
        pipe.feed_input("v", [given.read("m")])
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    shapes = sorted(len(batch) for batch in got)
    assert shapes == sorted([1, 2] * len(threads))


def test_blocking_external_source_waits_too() -> None:
    pipe = bivouac.Pipeline(2, 1, None, prefetch_queue_depth=2)
    with pipe:
        pipe.set_outputs(fn.external_source(name="e", blocking=True))
    pipe.build()
    got: list[int] = []
    consumer = threading.Thread(
        target=lambda: got.extend(int(pipe.run()[0].as_array()[0]) for _ in range(5))
    )
    consumer.start()
    for i in range(6):
        pipe.feed_input("e", np.full(2, i))
    consumer.join(60)
    assert got == [0, 1, 2, 3, 4]


def test_an_interrupt_ends_the_wait() -> None:
    pipe = given.define(bivouac, "blocking")
    pipe.build()

    def interrupt() -> None:
        while pipe._fed_one is None or not pipe._fed_one[1]._waiters:
            time.sleep(0.005)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt, daemon=True)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        pipe.run()
    thread.join()
    pipe.feed_input("v", [given.read("m")])
    compare(runs(pipe, 2), RECORDED["one"])
