"""names.py: prints every public name of orbax.checkpoint.v1, one a line, sorted.

A name is a member of a public module that Orbax itself defines or re-exports, or a
public attribute that a class of the API defines below object: v1.options.ArrayOptions,
v1.options.ArrayOptions.Saving.use_ocdbt, v1.training.Checkpointer.save. Parameters of
functions are not names. The output is testdata/orbax-v1-names.txt.
"""

import dataclasses
import enum
import inspect
import os
import types

os.environ.setdefault("JAX_PLATFORMS", "cpu")

PUBLIC = "orbax.checkpoint.experimental.v1."


def ours(value):
    return getattr(value, "__module__", "").startswith("orbax.")


def members(cls):
    """The public names that a class and its bases in Orbax define."""
    if issubclass(cls, enum.Enum):
        return list(cls.__members__)
    if issubclass(cls, BaseException):
        return []
    names = {f.name for f in dataclasses.fields(cls)} if dataclasses.is_dataclass(cls) else set()
    for base in cls.__mro__:
        if ours(base):
            names |= {n for n in vars(base) if not n.startswith("_")}
    return sorted(n for n in names if not n.startswith("_"))


def of_class(path, cls):
    for name in members(cls):
        at = f"{path}.{name}"
        yield at
        nested = vars(cls).get(name)
        if inspect.isclass(nested) and ours(nested) and nested.__qualname__.startswith(cls.__qualname__ + "."):
            yield from of_class(at, nested)


def is_internal(module):
    return "._src." in module.__name__


def of_module(path, module):
    """Of a module below _src that is public under another name, only what Orbax defines is public."""
    for name, value in vars(module).items():
        is_module = isinstance(value, types.ModuleType)
        if name.startswith("_") or is_module and (is_internal(module) or not value.__name__.startswith(PUBLIC)):
            continue
        if is_internal(module) and not ours(value):
            continue
        at = f"{path}.{name}"
        yield at
        if is_module:
            yield from of_module(at, value)
        elif inspect.isclass(value) and ours(value):
            yield from of_class(at, value)


if __name__ == "__main__":
    from orbax.checkpoint import v1

    print("\n".join(sorted(set(of_module("v1", v1)))))
