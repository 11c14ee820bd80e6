"""The handler that saves and loads an item is the one that Orbax 0.12.8 chooses."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bivouac.checkpoint import errors, handlers
from bivouac.checkpoint.handlers import _builtin, _registry

ANSWERS = (
    Path(__file__).resolve().parents[2] / "checkpoint" / "handler" / "testdata" / "resolution.json"
)


class Foo:
    pass


class AbstractFoo:
    pass


class Counter:
    async def save(self, directory: Any) -> Any: ...

    async def load(self, directory: Any) -> Any: ...


class Message:
    """It stands for a message of protocol buffers."""


def handler(
    name: str, takes: Callable[[Any], bool], abstract: Callable[[Any], bool | None]
) -> type[Any]:
    async def none(self: Any, *args: Any) -> None: ...

    members = {
        "save": none,
        "load": none,
        "metadata": none,
        "is_handleable": lambda self, v: takes(v),
        "is_abstract_handleable": lambda self, a: abstract(a),
        "__module__": "test",
        "__qualname__": name,
    }
    return type(name, (), members)


HANDLERS = {
    "PyTreeHandler": _builtin.PyTreeHandler,
    "JsonHandler": _builtin.JsonHandler,
    "MetricsHandler": _builtin.MetricsHandler,
    "ProtoHandler": _builtin.ProtoHandler,
    "StatefulCheckpointableHandler": _builtin.StatefulCheckpointableHandler,
    "FooHandler": handler(
        "FooHandler", lambda v: isinstance(v, Foo), lambda a: isinstance(a, AbstractFoo)
    ),
    "Greedy": handler("Greedy", lambda v: True, lambda a: True),
    "Asker": handler("Asker", lambda v: isinstance(v, dict), lambda a: None),
    "Shy": handler("Shy", lambda v: False, lambda a: False),
    "CounterHandler": handler(
        "CounterHandler", lambda v: isinstance(v, Counter), lambda a: isinstance(a, Counter)
    ),
}

VALUES: dict[str, Any] = {
    "none": None,
    "json": {"a": 1, "b": [1.5, "x"]},
    "arrays": {"w": np.zeros(2, np.float32)},
    "text": "abc",
    "number": 7,
    "list": [1, 2],
    "bytes": b"ab",
    "empty": {},
    "object": object(),
    "mixed": {"a": object()},
    "counter": Counter(),
    "foo": Foo(),
    "message": Message(),
}
ABSTRACT = {**VALUES, "foo": AbstractFoo(), "message": Message}


@pytest.fixture(autouse=True)
def messages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_builtin, "is_message", lambda v: isinstance(v, Message))
    monkeypatch.setattr(_builtin, "is_message_type", lambda v: v is Message)


def build(spec: list[Any]) -> Any:
    registry = handlers.local_registry(include_global_registry="global" in spec)
    for entry in spec:
        if entry != "global":
            name, item, secondary = entry
            registry.add(
                HANDLERS[name], checkpointable_name=item or None, secondary_typestrs=secondary
            )
    return registry


def ask(choose: Callable[..., type[Any]], *args: Any) -> str:
    try:
        return choose(*args).__name__
    except errors.NoEntryError:
        return "NOENTRYERROR"


def test_resolution_is_orbaxs() -> None:
    answers = json.loads(ANSWERS.read_text())
    registries: dict[str, Any] = {}
    for name, want in answers["built"].items():
        try:
            registries[name] = build(answers["registries"][name])
            got = ""
        except errors.AlreadyExistsError:
            got = "ALREADYEXISTSERROR"
        assert got == want, name
    wrong: list[tuple[Any, ...]] = []
    for registry, item, kind, want in answers["save"]:
        got = ask(_registry.for_save, registries[registry], item, VALUES[kind])
        if got != want:
            wrong.append(("save", registry, item, kind, got, want))
    for registry, item, kind, recorded, want in answers["load"]:
        got = ask(_registry.for_load, registries[registry], item, ABSTRACT[kind], recorded)
        if got != want:
            wrong.append(("load", registry, item, kind, recorded, got, want))
    assert not wrong, (len(wrong), wrong[:6])


def test_registry() -> None:
    registry = handlers.local_registry()
    assert registry.has("state") and not registry.has("other")
    assert registry.get("state") is handlers.PyTreeHandler
    with pytest.raises(KeyError):
        registry.get("other")
    with pytest.raises(ValueError):
        registry.add(handlers.JsonHandler)
    with pytest.raises(ValueError):
        registry.add(handlers.JsonHandler(), checkpointable_name="a")  # type: ignore[arg-type]
    assert registry.add(handlers.JsonHandler, checkpointable_name="a") is registry
    copied = handlers.local_registry(registry, include_global_registry=False)
    assert copied.has("a") and not handlers.global_registry().has("a")
    assert isinstance(registry, handlers.CheckpointableHandlerRegistry)
    with pytest.raises(ValueError):
        handlers.local_registry(registry)


def test_register_handler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_registry, "_global", _registry.Registry())
    assert handlers.register_handler(HANDLERS["FooHandler"]) is HANDLERS["FooHandler"]
    assert _registry.for_save(handlers.global_registry(), "x", Foo()) is HANDLERS["FooHandler"]
