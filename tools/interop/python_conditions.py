"""Random definitions with conditions that DALI and Bivouac make the same bytes of.

    python_conditions.py FIRST COUNT

It needs nvidia.dali. Each number of a definition is a seed. A definition is a function with nested
`if`, `and`, `or`, `not`, loops, inner functions and returns. Both Pythons serialize it. An
error of one must be an error of the other.
"""

from __future__ import annotations

import importlib.util
import random
import sys
import tempfile
import warnings
from pathlib import Path
from types import ModuleType
from typing import Any

NAMES = ["a", "b", "c", "d", "zz", "Q"]

HEAD = """\
def f():
    flag = True
    def h0(v):
        if v > 0.5:
            v = v * 2
        return v
    def h1(v):
        if v > 0.3:
            return v + 1
        else:
            return v
"""


class Text:
    """A Text is the source of a random definition."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)

    def write(self) -> str:
        """Return the source."""
        lines = HEAD.splitlines()
        lines += [f"    {name} = fn.random.uniform(range=[0.0, 1.0])" for name in NAMES]
        lines += self.block(1, 0) + self.block(1, 0)
        if self.rng.random() < 0.3:
            lines += [f"    if {self.condition()}:", f"        return {self.name()}, {self.name()}"]
        lines.append("    return " + ", ".join(self.rng.sample(NAMES, 2)))
        return "\n".join(lines) + "\n"

    def name(self) -> str:
        return self.rng.choice(NAMES)

    def expression(self, depth: int = 0) -> str:
        k = self.rng.random()
        if k < 0.35 or depth > 2:
            return self.name()
        if k < 0.5:
            return str(self.rng.choice([1, 2, 0.5]))
        if k < 0.8:
            return f"({self.expression(depth + 1)} {self.rng.choice('+-*')} {self.name()})"
        if k < 0.88:
            return f"fn.cast({self.name()}, dtype=types.FLOAT)"
        if k < 0.94:
            return f"h{self.rng.randrange(2)}({self.name()})"
        return "fn.random.uniform(range=[0.0, 1.0])"

    def condition(self, depth: int = 0) -> str:
        k = self.rng.random()
        if k < 0.6 or depth > 1:
            other = self.rng.choice(["0.5", "0.2", self.name()])
            return f"({self.name()} {self.rng.choice(['>', '<', '>='])} {other})"
        if k < 0.7:
            return f"(not {self.condition(depth + 1)})"
        if k < 0.9:
            left, right = self.condition(depth + 1), self.condition(depth + 1)
            return f"({left} {self.rng.choice(['and', 'or'])} {right})"
        return "flag" if k < 0.95 else f"(flag and {self.condition(depth + 1)})"

    def block(self, indent: int, depth: int) -> list[str]:
        out: list[str] = []
        margin = "    " * indent
        for _ in range(self.rng.randint(1, 3)):
            k = self.rng.random()
            if k < 0.5 or depth > 2:
                out.append(margin + self.assignment())
            elif k < 0.9:
                out += [f"{margin}if {self.condition()}:", *self.block(indent + 1, depth + 1)]
                while self.rng.random() < 0.25:
                    out.append(f"{margin}elif {self.condition()}:")
                    out += self.block(indent + 1, depth + 1)
                if self.rng.random() < 0.6:
                    out += [f"{margin}else:", *self.block(indent + 1, depth + 1)]
            elif k < 0.96:
                out += [f"{margin}for i{depth} in range(2):", *self.block(indent + 1, depth + 1)]
            else:
                out.append(f"{margin}t{self.rng.randrange(2)} = {self.expression()}")
        return out

    def assignment(self) -> str:
        k = self.rng.random()
        if k < 0.15:
            return f"{self.name()} += {self.expression()}"
        if k < 0.25:
            return f"{self.name()}, {self.name()} = {self.expression()}, {self.expression()}"
        return f"{self.name()} = {self.expression()}"


def load(path: Path, package: Any) -> ModuleType:
    """Return the module of a file, with the modules of a package."""
    spec = importlib.util.spec_from_file_location(f"{path.stem}_{package.__name__}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    module.fn, module.types = package.fn, package.types  # type: ignore[attr-defined]
    return module


def serialized(path: Path, package: Any) -> bytes | Exception:
    """Return the bytes of the definition in a file, or its error."""
    settings = {"batch_size": 4, "num_threads": 1, "seed": 1, "enable_conditionals": True}
    try:
        made: bytes = package.pipeline_def(**settings)(load(path, package).f)().serialize()
        return made
    except Exception as err:
        return err


def main() -> None:
    warnings.simplefilter("ignore")
    import nvidia.dali as dali
    from nvidia.dali._utils import dali_trace

    import bivouac

    dali_trace.set_tracing(enabled=False)
    first, count = int(sys.argv[1]), int(sys.argv[2])
    size = errors = 0
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(first, first + count):
            path = Path(folder, f"definition{seed}.py")
            path.write_text(Text(seed).write())
            theirs, ours = (serialized(path, package) for package in (dali, bivouac))
            failed = isinstance(theirs, Exception)
            if failed != isinstance(ours, Exception) or not failed and theirs != ours:
                sys.exit(f"definition {seed}: DALI {theirs!r:.300}, Bivouac {ours!r:.300}")
            errors += failed
            size += 0 if isinstance(ours, Exception) else len(ours)
    print(f"{count} definitions with conditions are equal: {size} bytes, {errors} errors")


if __name__ == "__main__":
    main()
