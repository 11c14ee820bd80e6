"""Errors of pipelines and of dynamic mode. Each is also a RuntimeError, as in DALI.

DALI raises RuntimeError for nearly all that its operators refuse. So a program that handles it
handles these errors too, next to what their kind is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bivouac import errors

if TYPE_CHECKING:
    from bivouac._client import Connection

__all__ = ["ask", "of_call"]

_classes: dict[type[errors.BivouacError], type[errors.BivouacError]] = {}


def ask(link: Connection, op: str, /, **args: Any) -> dict[str, Any]:
    """Make a call and return its value. Its error is a RuntimeError too."""
    try:
        return link.call(op, **args)
    except errors.BivouacError as err:
        raise of_call(err) from None


def of_call(err: errors.BivouacError) -> errors.BivouacError:
    """Return the error of a call in the side-car as a RuntimeError too."""
    kind = type(err)
    if isinstance(err, (RuntimeError, errors.Canceled)):
        return err
    found = _classes.get(kind)
    if found is None:
        found = type(kind.__name__, (kind, RuntimeError), {"__module__": kind.__module__})
        found.__reduce__ = _reduce  # type: ignore[method-assign]
        found = _classes.setdefault(kind, found)
    return found(err.text, **err._fields())


def _reduce(self: errors.BivouacError) -> tuple[object, ...]:
    """Pickle the error by its kind: the class is made here."""
    base = type(self).__bases__[0]
    return _rebuild, (base, self.text, self._fields())


def _rebuild(
    base: type[errors.BivouacError], text: str, fields: dict[str, object]
) -> errors.BivouacError:
    return of_call(base(text, **fields))  # type: ignore[arg-type]
