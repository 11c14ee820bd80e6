"""Errors of calls. Each is also a RuntimeError, as in DALI, next to what its kind is."""

from __future__ import annotations

from bivouac import errors

__all__ = ["of_call"]

_classes: dict[type[errors.BivouacError], type[errors.BivouacError]] = {}


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
