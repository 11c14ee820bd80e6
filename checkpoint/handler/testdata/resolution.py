"""Asks orbax.checkpoint.v1 which handler saves and loads what, and prints the answers as JSON.

python resolution.py > resolution.json

Registries are lists of [handler, name, secondary type strings]; "global" starts with those of the
global registry. Values and abstract values are named by kind, handlers by the last part of their
type string; an answer in capitals is an error.
"""

import json
import random

from google.protobuf import wrappers_pb2
import jax  # noqa: F401
import numpy as np
import orbax.checkpoint
from orbax.checkpoint.experimental.v1._src.handlers import (
    global_registration, json_handler, proto_handler, pytree_handler, registration, resolution,
    stateful_checkpointable_handler, types)  # noqa: F401


class Foo:
    pass


class AbstractFoo:
    pass


class Counter:
    async def save(self, directory):
        raise NotImplementedError

    async def load(self, directory):
        raise NotImplementedError


def handler(name, takes, abstract):
    async def none(self, *args, **kwargs):
        raise NotImplementedError

    cls = type(name, (), {"save": none, "load": none, "metadata": none,
                          "is_handleable": lambda self, v: takes(v),
                          "is_abstract_handleable": lambda self, a: abstract(a)})
    cls.__module__, cls.__qualname__ = "test", name
    return cls


HANDLERS = {
    "PyTreeHandler": pytree_handler.PyTreeHandler,
    "JsonHandler": json_handler.JsonHandler,
    "MetricsHandler": json_handler.MetricsHandler,
    "ProtoHandler": proto_handler.ProtoHandler,
    "StatefulCheckpointableHandler": stateful_checkpointable_handler.StatefulCheckpointableHandler,
    "FooHandler": handler("FooHandler", lambda v: isinstance(v, Foo), lambda a: isinstance(a, AbstractFoo)),
    "Greedy": handler("Greedy", lambda v: True, lambda a: True),
    "Asker": handler("Asker", lambda v: isinstance(v, dict), lambda a: None),
    "Shy": handler("Shy", lambda v: False, lambda a: False),
    "CounterHandler": handler("CounterHandler", lambda v: isinstance(v, Counter), lambda a: isinstance(a, Counter)),
}

OLD_JSON = "orbax.checkpoint._src.handlers.json_checkpoint_handler.JsonCheckpointHandler"
OLD_TREE = "orbax.checkpoint._src.handlers.standard_checkpoint_handler.StandardCheckpointHandler"

REGISTRIES = {
    "global": ["global"],
    "foo": ["global", ["FooHandler", "", []]],
    "foo for foo": ["global", ["FooHandler", "foo", []]],
    "foo twice": ["global", ["FooHandler", "", []], ["FooHandler", "foo", []]],
    "greedy": ["global", ["Greedy", "", []]],
    "greedy, foo": ["global", ["Greedy", "", []], ["FooHandler", "", []]],
    "foo, greedy": ["global", ["FooHandler", "", []], ["Greedy", "", []]],
    "greedy for foo": ["global", ["Greedy", "foo", []]],
    "asker": ["global", ["Asker", "", []]],
    "asker for config": ["global", ["Asker", "config", []]],
    "shy for config": ["global", ["Shy", "config", []]],
    "shy": ["global", ["Shy", "", []]],
    "json for config": ["global", ["JsonHandler", "config", []]],
    "tree for config": ["global", ["PyTreeHandler", "config", []]],
    "counter": ["global", ["CounterHandler", "", []]],
    "counter for foo": ["global", ["CounterHandler", "foo", []]],
    "empty": [],
    "only foo": [["FooHandler", "", []]],
    "tree, json": [["PyTreeHandler", "", []], ["JsonHandler", "", []]],
    "only state": [["PyTreeHandler", "state", []]],
    "only stateful": [["StatefulCheckpointableHandler", "", []]],
    "old foo": ["global", ["FooHandler", "", ["old.Foo", OLD_JSON]]],
    "old twice": ["global", ["FooHandler", "", ["old.Foo"]], ["Greedy", "", ["old.Foo"]]],
    "old by name": ["global", ["FooHandler", "", ["old.Foo"]], ["FooHandler", "foo", ["old.Bar"]]],
    "old kept": ["global", ["FooHandler", "", ["old.Foo"]], ["FooHandler", "foo", []]],
    # These cannot be built.
    "tree again": ["global", ["PyTreeHandler", "", []]],
    "state again": ["global", ["JsonHandler", "state", []]],
    "foo after its name": ["global", ["FooHandler", "foo", []], ["FooHandler", "", []]],
    "two for foo": ["global", ["FooHandler", "foo", []], ["Greedy", "foo", []]],
}

VALUES = {
    "json": {"a": 1, "b": [1.5, "x"]}, "arrays": {"w": np.zeros(2, np.float32)}, "text": "abc", "number": 7, "list": [1, 2],
    "bytes": b"ab", "empty": {}, "object": object(), "mixed": {"a": object()}, "counter": Counter(), "foo": Foo(),
    "message": wrappers_pb2.StringValue(),
}
ABSTRACT = {
    "none": None, "json": {"a": 1, "b": [1.5, "x"]}, "arrays": {"w": np.zeros(2, np.float32)}, "text": "abc", "object": object(),
    "counter": Counter(), "foo": AbstractFoo(), "message": wrappers_pb2.StringValue,
}
NAMES = ["state", "metrics", "foo", "config", "other"]
TYPES = [""] + [types.typestr(h) for n, h in HANDLERS.items()] + [OLD_JSON, OLD_TREE, "old.Foo", "old.Bar", "unknown.Handler"]


def build(spec):
    r = registration.local_registry(include_global_registry="global" in spec)
    for e in spec:
        if e != "global":
            r.add(HANDLERS[e[0]], checkpointable_name=e[1] or None, secondary_typestrs=e[2] or None)
    return r


def ask(f, *args, **kwargs):
    try:
        return type(f(*args, **kwargs)).__qualname__
    except Exception as e:  # pylint: disable=broad-exception-caught
        return type(e).__name__.upper()


def main():
    save, load, built = [], [], {}
    for name, spec in REGISTRIES.items():
        try:
            r = build(spec)
        except Exception as e:  # pylint: disable=broad-exception-caught
            built[name] = type(e).__name__.upper()
            continue
        built[name] = ""
        for item in NAMES:
            for kind, v in VALUES.items():
                save.append([name, item, kind, ask(registration.resolve_handler_for_save, r, v, name=item)])
            for kind, a in ABSTRACT.items():
                for t in TYPES:
                    load.append([name, item, kind, t, ask(
                        resolution._resolve_single_handler_for_load, item, r, a, t or None)])
    rng = random.Random(1)
    save = sorted(rng.sample(save, 600))
    load = sorted(rng.sample(load, 1500))

    def rows(x):
        return "[\n" + ",\n".join("  " + json.dumps(row) for row in x) + "\n ]"

    print("{\n" + f' "version": {json.dumps(orbax.checkpoint.__version__)},\n "registries": {json.dumps(REGISTRIES)},\n'
          f' "built": {json.dumps(built)},\n "save": {rows(save)},\n "load": {rows(load)}\n' + "}")


main()
