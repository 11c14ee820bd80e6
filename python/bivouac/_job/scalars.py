"""The values of scalars: numbers, and arrays of one element that may still be on their way.

A device computes behind the program. To read a value waits for it. So an array of a device is kept,
and is read later, with many others at once.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

import numpy as np

from bivouac import errors
from bivouac._tree import type_text

__all__ = ["MOST", "check_name", "number", "read"]

MOST = 990
"""How many names of scalars a job may have. The job has some of its own."""

_OTHERS = (str, bytes, complex, np.complexfloating, np.datetime64, np.timedelta64)
_LONGEST = 200  # bytes of a name
_OP = "bivouac.Job.scalar"


def check_name(name: Any, known: int) -> None:
    """Raise an error for a new name that the journal does not take.

    Args:
      name: the name.
      known: how many names there are already.

    Raises:
      Invalid: it is no string, empty, too long, not Unicode, or begins with job/.
      Exhausted: there are too many names.
    """
    want = got = remedy = ""
    if not isinstance(name, str):
        want, got = "a string", f"type {type_text(name)}"
    elif name.startswith("job/"):
        want, got = "a name that does not begin with job/", repr(name)
        remedy = "choose another name: the job records scalars with such names"
    else:
        try:
            size = len(name.encode())
        except UnicodeEncodeError:
            want, got = "Unicode", ascii(name)
        else:
            if not 1 <= size <= _LONGEST:
                want, got = f"1 to {_LONGEST} bytes", f"{size} bytes"
                remedy = 'use a short name, such as "loss"'
    if want:
        raise errors.Invalid(
            op=_OP, subject="name of a scalar", want=want, got=got, remedy=remedy
        )
    if known >= MOST:
        raise errors.Exhausted(
            op=_OP,
            subject=f"scalar {name!r}",
            want=f"at most {MOST} names of scalars",
            got="one more",
            remedy="use the same names at each step: the number of the step is recorded anyway",
        )


def number(name: str, value: Any) -> Any:
    """Return a value as a float, or as an array of a device that `read` reads later.

    Raises:
      Invalid: the value is not a real number, nor an array of one.
    """
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        return _tensor(name, value)
    jax = sys.modules.get("jax")
    if jax is not None and isinstance(value, jax.Array):
        return _array(name, value, jax)
    if isinstance(value, np.ndarray):
        if value.size != 1 or value.dtype.kind in "cOSUMm":
            raise _refused(name, f"an array of {value.dtype} with shape {value.shape}")
        value = value.reshape(())[()]
    if isinstance(value, _OTHERS):
        raise _refused(name, f"type {type_text(value)}")
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError) as err:
        raise _refused(name, f"type {type_text(value)}: {err}") from err


def _tensor(name: str, value: Any) -> Any:
    """Return the value of a tensor of the CPU, or a copy of a tensor of a device."""
    if value.numel() != 1 or value.is_complex():
        raise _refused(name, f"a tensor of {value.dtype} with shape {tuple(value.shape)}")
    if hasattr(value, "full_tensor"):
        raise _refused(name, "a DTensor", "record value.full_tensor()")
    kind = value.device.type
    if kind == "meta":
        raise _refused(name, "a tensor without a value")
    value = value.detach()
    if kind == "cpu":
        return float(value)
    return value.reshape(()).clone()  # the program may change the tensor; nothing waits


def _array(name: str, value: Any, jax: Any) -> Any:
    """Return an array of jax. It cannot be changed, so it is kept as it is."""
    if isinstance(value, jax.core.Tracer):
        raise _refused(
            name, "a value that is traced", "return it from the function, and record it outside"
        )
    kinds = (jax.numpy.floating, jax.numpy.integer, jax.numpy.bool_)
    if value.size != 1 or not any(jax.numpy.issubdtype(value.dtype, kind) for kind in kinds):
        raise _refused(name, f"an array of {value.dtype} with shape {value.shape}")
    if not value.is_fully_addressable:
        if not value.is_fully_replicated:
            raise _refused(name, "an array that other processes have", "reduce it in the step")
        return value.addressable_data(0)
    return value


def _refused(name: str, got: str, remedy: str = "") -> errors.BivouacError:
    return errors.Invalid(
        op=_OP,
        subject=f"scalar {name!r}",
        want="a real number, or an array of one",
        got=got,
        remedy=remedy,
    )


def read(values: Iterable[Any]) -> list[float | Exception]:
    """Return the values of arrays of devices. This waits for the devices.

    An array that cannot be read, such as one that was donated, gives its exception.
    """
    pending = list(values)
    out: list[float | Exception] = [0.0] * len(pending)
    groups: dict[Any, list[int]] = {}
    for i, value in enumerate(pending):
        torch = hasattr(value, "detach")
        groups.setdefault((value.device, value.dtype) if torch else None, []).append(i)
    for key, places in groups.items():
        group = [pending[i] for i in places]
        try:
            found: list[Any] = _together(group, jax=key is None)
        except Exception:
            found = [_alone(value) for value in group]
        for i, value in zip(places, found):
            out[i] = value
    return out


def _together(group: list[Any], jax: bool) -> list[float]:
    """Read arrays of one device with one transfer."""
    if jax:
        return [float(np.asarray(v).reshape(())) for v in sys.modules["jax"].device_get(group)]
    numbers: list[float] = sys.modules["torch"].stack(group).cpu().double().tolist()
    return numbers


def _alone(value: Any) -> float | Exception:
    try:
        return float(value.reshape(()))
    except Exception as err:
        return err
