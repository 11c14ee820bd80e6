"""The errors of Bivouac.

Every error is a :class:`BivouacError` with the fields of the library's one error type: what was
being done (`op`), to what (`subject`), what was expected (`want`), what was found (`got`) and what
to do about it (`remedy`). There is a subclass for each kind. A subclass is also the built-in
exception that Orbax and the standard library raise in the same case, so existing handlers work.
"""

from __future__ import annotations

import errno as _errno
import re
from collections.abc import Mapping
from typing import Any

__all__ = [
    "BivouacError",
    "Busy",
    "Canceled",
    "Closed",
    "Corrupt",
    "DeadlineExceeded",
    "Died",
    "Exhausted",
    "Exists",
    "IOError_",
    "Invalid",
    "Mismatch",
    "NotFound",
    "Permission",
    "Sequence",
    "Unsupported",
]


class BivouacError(Exception):
    """An error of Bivouac. `str(error)` is the whole message on one line.

    Attributes:
      kind: the kind in words, such as "not found".
      op: what was being done, such as "checkpoint.Load".
      subject: what it was done to: a path, a leaf, an option.
      want: what was expected, or "".
      got: what was found, or "".
      remedy: what the caller can do, or "".
      text: the whole message.
      tags: more about the cause: "removed", "replaced", "uncertain", "deadline".
    """

    kind: str = "error"
    _code: int | None = None

    def __init__(
        self,
        text: str = "",
        *,
        kind: str | None = None,
        op: str = "",
        subject: str = "",
        want: str = "",
        got: str = "",
        remedy: str = "",
        tags: tuple[str, ...] = (),
    ) -> None:
        if kind is not None:
            self.kind = kind
        self.op = op
        self.subject = subject
        self.want = want
        self.got = got
        self.remedy = remedy
        self.tags = tags
        self.text = text or self._compose()
        super().__init__(self.text)
        if isinstance(self, OSError):
            setattr(self, "errno", self._code)  # noqa: B010

    def _compose(self) -> str:
        """Return the message in the form `op: subject: kind: want …, got … (remedy)`."""
        parts = [part for part in (self.op, self.subject, self.kind) if part]
        expected = ""
        if self.want and self.got:
            expected = f"want {self.want}, got {self.got}"
        elif self.want:
            expected = f"want {self.want}"
        elif self.got:
            expected = self.got
        if expected:
            parts.append(expected)
        text = ": ".join(parts)
        return f"{text} ({self.remedy})" if self.remedy else text

    def _fields(self) -> dict[str, Any]:
        """Return the arguments that make an equal error."""
        names = ("kind", "op", "subject", "want", "got", "remedy", "tags")
        return {name: getattr(self, name) for name in names}

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.text!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        state = {k: v for k, v in self.__dict__.items() if k not in self._fields() and k != "text"}
        return _rebuild, (type(self), self.text, self._fields()), state


def _rebuild(cls: type[BivouacError], text: str, fields: dict[str, Any]) -> BivouacError:
    """Make an error again from its pickle."""
    return cls(text, **fields)


class NotFound(BivouacError, FileNotFoundError, KeyError, ValueError):
    """The named thing does not exist.

    Orbax raises ValueError for a path, FileNotFoundError for a step and KeyError for an item.
    """

    kind = "not found"
    _code = _errno.ENOENT


class Exists(BivouacError, FileExistsError, ValueError):
    """The target exists and was not to be replaced."""

    kind = "already exists"
    _code = _errno.EEXIST


class Invalid(BivouacError, ValueError):
    """An argument, an option or a name is malformed."""

    kind = "invalid"


class Mismatch(BivouacError, ValueError):
    """Two things that must agree do not agree: shape, dtype, fingerprint or structure."""

    kind = "mismatch"


class Corrupt(BivouacError, ValueError):
    """Stored bytes are damaged."""

    kind = "corrupt"


class Unsupported(BivouacError, NotImplementedError):
    """The request is legal, but this version cannot fulfil it."""

    kind = "unsupported"


class Exhausted(BivouacError, MemoryError):
    """A limit was reached: disk, memory budget or quota."""

    kind = "exhausted"


class Canceled(BivouacError):
    """The operation was cancelled."""

    kind = "canceled"


class DeadlineExceeded(Canceled, TimeoutError):
    """The operation took longer than its timeout allows."""

    _code = _errno.ETIMEDOUT


class Permission(BivouacError, PermissionError):
    """The system refused access."""

    kind = "permission denied"
    _code = _errno.EACCES


class IOError_(BivouacError, OSError):
    """The system failed for another reason."""

    kind = "i/o error"
    _code = _errno.EIO


class Closed(BivouacError, RuntimeError):
    """The object was used after it was closed, or in another process than its own."""

    kind = "closed"


class Busy(BivouacError, RuntimeError):
    """Another operation or process holds the resource."""

    kind = "busy"


class Sequence(BivouacError, RuntimeError):
    """The call does not fit the state of the object: it came too early, too late, or twice."""

    kind = "out of sequence"


class Died(BivouacError, RuntimeError):
    """The side-car, or a worker process, ended while it was needed. The next use starts a new one.

    Attributes:
      exit_code: the exit status, negative for a signal, or None if it is not known.
      log: the last lines that the side-car wrote.
    """

    kind = "died"

    def __init__(
        self, text: str = "", *, exit_code: int | None = None, log: str = "", **fields: Any
    ) -> None:
        self.exit_code = exit_code
        self.log = log
        super().__init__(text, **fields)


_kinds: dict[str, type[BivouacError]] = {
    cls.kind: cls
    for cls in (
        NotFound,
        Exists,
        Invalid,
        Mismatch,
        Corrupt,
        Unsupported,
        Exhausted,
        Canceled,
        Permission,
        IOError_,
        Closed,
        Busy,
        Sequence,
    )
}


# The side-car's remedies name the options of the Go library.
_spellings = {
    "loader.Merge": "bivouac.torch.merge_states",
    "SaveOptions.PartialUpdate": "partial_update=True",
    "Options.Multiprocessing": "MultiprocessingOptions",
    "Options.AcceptMissing": "accept_missing=True",
    "Options.PyTree.LeafHandlers": "the leaf_handler_registry of PyTreeOptions",
    "DeleteOptions.Last": "last=True",
    "LoadOptions.Abstract": "the abstract tree",
    "LoadOptions.Want": "the abstract tree",
    "partial.Finalize": "partial.finalize",
    "partial.Save": "partial.save",
    "training.Open": "training.Checkpointer",
    "set Overwrite": "set overwrite=True",
    "set Replace": "set replace=True",
    "StartFresh": "start_fresh=True",
    "Placeholder, Want.Skip": "PLACEHOLDER",
    "Placeholder": "PLACEHOLDER",
}
_spelled = re.compile("|".join(rf"\b{re.escape(name)}\b" for name in _spellings))


def _python(text: str) -> str:
    """Return a remedy with options named as in Python."""
    return _spelled.sub(lambda found: _spellings[found[0]], text)


def _from_wire(error: Mapping[str, Any]) -> BivouacError:
    """Return the exception of an error frame's "error" object."""
    kind = str(error.get("kind", "error"))
    tags = tuple(str(tag) for tag in error.get("tags") or ())
    cls = _kinds.get(kind, BivouacError)
    if "deadline" in tags:
        cls = DeadlineExceeded
    fields = {k: str(error.get(k) or "") for k in ("op", "subject", "want", "got", "remedy")}
    text = str(error.get("text") or "")
    remedy = fields["remedy"]
    fields["remedy"] = _python(remedy)
    if remedy and text.endswith(f"({remedy})"):
        text = f"{text[: -len(remedy) - 1]}{fields['remedy']})"
    return cls(text, kind=kind, tags=tags, **fields)
