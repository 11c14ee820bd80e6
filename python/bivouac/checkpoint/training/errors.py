"""Errors of runs, under the names that Orbax gives them."""

from __future__ import annotations

from bivouac.errors import Exists, NotFound

__all__ = ["StepAlreadyExistsError", "StepNotFoundError"]


class StepNotFoundError(NotFound):
    """The run has no such step."""


class StepAlreadyExistsError(Exists):
    """The run has that step already, and it was not to be replaced."""
