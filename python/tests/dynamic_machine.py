"""The recorded programs of DALI's dynamic mode: a machine that runs their steps."""

from __future__ import annotations

import copy
import os
from pathlib import Path
from typing import Any

import numpy as np

import bivouac.dynamic as dyn


class Duck:
    """An object with a state that is no reader and no generator."""

    def __init__(self, state: Any) -> None:
        self.state = state

    def get_state(self, cuda_stream: Any = None) -> Any:
        del cuda_stream
        return self.state

    def set_state(self, state: Any) -> None:
        if state == "refuse":
            raise ValueError("refused")
        self.state = state


class Plain:
    """An object without a state."""


def tree(root: Path, n: int) -> str:
    """Make a data set: file i has the number i as text, and is in class 3·i/n."""
    for i in range(n):
        folder = root / f"c{i * 3 // n}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"f{i:05d}.jpg").write_text(str(i))
    return str(root)


def indices(files: Any) -> list[int]:
    """Return the numbers in the files of a batch."""
    return [int(np.asarray(file).tobytes()) for file in files]


class Machine:
    """A Machine runs the steps of a program in the current directory."""

    def __init__(self, data: Path) -> None:
        self.data = data
        self.objects: dict[str, Any] = {}
        self.iterators: dict[str, Any] = {}
        self.contexts: list[Any] = []
        self.text: Any = None
        self.checkpoint = dyn.checkpoint.Checkpoint()
        self.checkpoints = {"c": self.checkpoint}

    def value(self, given: Any) -> Any:
        """Return the value that a step names."""
        if given == "@json":
            return self.text
        if isinstance(given, dict) and "state_of" in given:
            return self.objects[given["state_of"]].get_state()
        if isinstance(given, dict) and "bytes" in given:
            return given["bytes"].encode()
        return copy.deepcopy(given)

    def step(self, verb: str, *args: Any) -> Any:
        """Run a step and return its value."""
        method = getattr(self, f"do_{verb}", None)
        if method is not None:
            return method(*args)
        return getattr(self.checkpoint, verb)(*args)

    def do_rng(self, name: str, seed: int) -> str:
        self.objects[name] = dyn.random.RNG(seed=seed)
        return str(self.objects[name].get_state())

    def do_file(self, name: str, n: int, args: dict[str, Any] | None = None) -> None:
        root = tree(self.data / f"f{n}", n)
        self.objects[name] = dyn.readers.File(file_root=root, **(args or {}))

    def do_duck(self, name: str, state: Any) -> None:
        self.objects[name] = Duck(state)

    def do_plain(self, name: str) -> None:
        self.objects[name] = Plain()

    def do_state(self, name: str) -> str:
        return str(self.objects[name].get_state())

    def do_set(self, name: str, value: Any) -> None:
        self.objects[name].set_state(self.value(value))

    def do_draw(self, name: str, n: int) -> list[int]:
        return [self.objects[name]() for _ in range(n)]

    def do_advance(self, name: str, n: int) -> None:
        self.objects[name].advance(n)

    def do_epoch(self, name: str, size: int | None, args: dict[str, Any] | None = None) -> None:
        self.iterators.pop(name, None)
        iterator = self.objects[name].next_epoch(batch_size=size, **(args or {}))
        self.iterators[name] = iterator

    def do_next(self, name: str, n: int) -> Any:
        if name not in self.iterators:
            return "no iterator"
        found: list[Any] = []
        for _ in range(n):
            try:
                files, _ = next(self.iterators[name])
            except StopIteration:
                return [*found, "end"]
            found.append(indices(files.cpu()))
        return found

    def do_use(self, name: str) -> None:
        if name == "@current":
            self.checkpoint = dyn.checkpoint.current()
            return
        made = self.checkpoints.get(name) or dyn.checkpoint.Checkpoint()
        self.checkpoint = self.checkpoints[name] = made

    def do_same(self, name: str) -> bool:
        other = dyn.checkpoint.current() if name == "@current" else self.checkpoints[name]
        return self.checkpoint is other

    def do_context(self) -> None:
        self.contexts.append(dyn.EvalContext())
        self.contexts[-1].__enter__()

    def do_endcontext(self) -> None:
        self.contexts.pop().__exit__(None, None, None)

    def do_register(self, name: str, key: str | None) -> str:
        return self.checkpoint.register(self.objects[name], key)

    def do_get(self, key: str) -> Any:
        state = self.checkpoint.get_state(key)
        return None if state is None else [type(state).__name__, str(state)]

    def do_put(self, key: str, value: Any, kind: Any = None) -> None:
        if isinstance(kind, dict):
            classes = {"RNG": dyn.random.RNG, "File": dyn.readers.File, "Duck": Duck}
            kind = classes[kind["class"]] if "class" in kind else kind["value"]
        self.checkpoint.set_state(key, self.value(value), kind)

    def do_serialize(self) -> str:
        self.text = self.checkpoint.serialize()
        return self.text

    def do_deserialize(self, text: Any) -> None:
        self.checkpoint.deserialize(self.value(text))

    def do_names(self) -> list[str]:
        return list(self.checkpoint.names)

    def do_len(self) -> int:
        return len(self.checkpoint)

    def do_has(self, key: str) -> bool:
        return key in self.checkpoint

    def do_complete(self) -> bool:
        return self.checkpoint.is_complete

    def do_loaded(self) -> bool:
        return self.checkpoint.is_loaded

    def do_write(self, path: str, text: Any) -> None:
        file = Path(path)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(self.value(text))

    def do_read(self, path: str) -> str:
        return Path(path).read_text()

    def do_files(self) -> list[str]:
        walked = os.walk(".")
        return sorted(
            os.path.relpath(os.path.join(d, f), ".") for d, _, files in walked for f in files
        )

    def end(self) -> dict[str, Any]:
        """Return what is left of the checkpoint in use."""
        try:
            text = self.checkpoint.serialize()
        except RuntimeError:
            text = None
        c = self.checkpoint
        found = {
            "complete": c.is_complete,
            "loaded": c.is_loaded,
            "names": list(c.names),
            "json": text,
        }
        while self.contexts:
            self.do_endcontext()
        return found
