"""Orbax reads items of the handlers that both sides have, and meets those that it does not know.

What it says of a leaf of a leaf handler, and of an item of a handler of our own, is part of the check:
it has to name them, and must not give anything in their place.
"""

import json
import os

import truth

NOTE = "interop.Note"


class Counter:
    """A StatefulCheckpointable that reads what ours wrote."""

    count = None

    async def save(self, directory):
        raise NotImplementedError

    async def load(self, directory):
        async def read():
            self.count = int((directory / "count").read_text())

        return read()


def items_v1(folder, case):
    from google.protobuf import duration_pb2
    from orbax.checkpoint import v1

    path = os.path.join(folder, case["path"])
    wrong = []

    def same(what, got, want):
        if got != want:
            wrong.append(f"{what}: read {got!r}, want {want!r}")

    def refused(what, texts, read):
        try:
            got = read()
        except Exception as e:  # noqa: BLE001 - what it says is checked
            wrong.extend(f"{what}: {t!r} is not in {type(e).__name__}: {e}" for t in texts if t not in f"{type(e).__name__}: {e}")
        else:
            wrong.append(f"{what}: not refused, read {got!r}")

    def only(name, abstract=None):
        return v1.load_checkpointables(path, {name: abstract})[name]

    same("array", only("array").tolist(), [[[1.5], [-2]]])
    same("data", only("data"), case["data"])
    with open(os.path.join(path, "pipeline", "data.json"), encoding="utf-8") as f:
        same("pipeline", only("pipeline"), json.load(f))
    text = only("text", duration_pb2.Duration)
    same("text", (text.seconds, text.nanos), (5, 7))
    same("count", only("count", Counter()).count, 7)
    refused("count without an object", ["ValueError", "you must pass an instance"], lambda: only("count"))
    refused("own", ["NoEntryError", "own", "incompatible handler"], lambda: only("own"))

    refused("note", ["ValueError", "TypeHandler lookup failed", NOTE, "'note'"], lambda: v1.load(path))
    found = v1.checkpointables_metadata(path).metadata
    same("metadata of what it cannot describe", [found[n] for n in ("state", "own", "count")], [None] * 3)
    same("metadata of array", found["array"].shape, (1, 2, 1))

    abstract = truth.tree(case["leaves"], truth.value)
    passed = v1.load(path, abstract | {"note": v1.PLACEHOLDER})
    same("note, as a placeholder", passed.pop("note"), v1.PLACEHOLDER)
    with v1.Context(pytree_options=v1.options.PyTreeOptions(loading=v1.options.PyTreeOptions.Loading(partial_load=True))):
        partial = v1.load(path, abstract)
    same("note, in a partial load", "note" in partial, False)
    return truth.leaves(partial), wrong + [f"passed over: {d}" for d in truth.differences(case["leaves"], truth.leaves(passed), (("empty_tuple", "empty_list"),))]
