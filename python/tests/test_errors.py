"""An error has a class of its kind, which is the built-in that the peers raise, and pickles."""

from __future__ import annotations

import errno
import pickle

import pytest

from bivouac import errors

BUILT_INS = {
    errors.NotFound: (FileNotFoundError, KeyError, ValueError),
    errors.Exists: (FileExistsError, ValueError),
    errors.Invalid: (ValueError,),
    errors.Mismatch: (ValueError,),
    errors.Corrupt: (ValueError,),
    errors.Unsupported: (NotImplementedError,),
    errors.Exhausted: (MemoryError,),
    errors.Canceled: (),
    errors.DeadlineExceeded: (TimeoutError, errors.Canceled),
    errors.Permission: (PermissionError,),
    errors.IOError_: (OSError,),
    errors.Closed: (RuntimeError,),
    errors.Busy: (RuntimeError,),
    errors.Sequence: (RuntimeError,),
    errors.Died: (RuntimeError,),
    errors.BivouacError: (),
}
FIELDS = {
    "op": "checkpoint.Load",
    "subject": "runs/7",
    "want": "2",
    "got": "3",
    "remedy": "do that",
    "tags": ("removed",),
}


@pytest.mark.parametrize("cls", BUILT_INS, ids=lambda cls: cls.__name__)
def test_error_is_its_built_ins_and_pickles(cls: type[errors.BivouacError]) -> None:
    text = "checkpoint.Load: runs/7: want 2, got 3 (do that)"
    error = cls(text, **FIELDS)  # type: ignore[arg-type]
    for built_in in BUILT_INS[cls]:
        assert isinstance(error, built_in)
    assert str(error) == text
    assert error.args == (text,)
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is cls
    assert str(again) == text
    for name, value in FIELDS.items():
        assert getattr(again, name) == getattr(error, name) == value
    assert again.kind == error.kind
    if isinstance(error, OSError):
        assert again.errno == error.errno
        assert error.strerror is None


def test_all_classes_are_tested() -> None:
    assert {cls.__name__ for cls in BUILT_INS} == set(errors.__all__)


def test_died_keeps_exit_status_and_log() -> None:
    error = pickle.loads(pickle.dumps(errors.Died("x", exit_code=-9, log="panic")))
    assert (error.exit_code, error.log, str(error)) == (-9, "panic", "x")


def test_errno_is_that_of_the_built_in() -> None:
    assert errors.NotFound("x").errno == errno.ENOENT
    assert errors.Exists("x").errno == errno.EEXIST


def test_wire_kinds_have_classes() -> None:
    for cls in set(BUILT_INS) - {errors.BivouacError, errors.Died, errors.DeadlineExceeded}:
        made = errors._from_wire({"kind": cls.kind, "text": "t", "want": None})
        assert type(made) is cls and str(made) == "t"
    assert type(errors._from_wire({"kind": "new kind", "text": "t"})) is errors.BivouacError
    late = errors._from_wire({"kind": "canceled", "text": "t", "tags": ["deadline"]})
    assert type(late) is errors.DeadlineExceeded


def test_an_error_without_text_composes_one() -> None:
    fields = {key: value for key, value in FIELDS.items() if key != "tags"}
    error = errors.Mismatch(**fields)  # type: ignore[arg-type]
    assert str(error) == "checkpoint.Load: runs/7: mismatch: want 2, got 3 (do that)"


def test_remedies_name_options_as_in_python() -> None:
    remedy = "choose another path, or set Overwrite"
    error = errors._from_wire(
        {"kind": "already exists", "remedy": remedy, "text": f"set Overwrite: exists ({remedy})"}
    )
    assert error.remedy == "choose another path, or set overwrite=True"
    assert str(error) == f"set Overwrite: exists ({error.remedy})"
