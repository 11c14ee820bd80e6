"""pipeline_def with the arguments of DALI's experimental one."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from bivouac._pipeline import definition
from bivouac._pipeline.pipeline import Pipeline
from bivouac.errors import Unsupported

__all__ = ["pipeline_def"]


def pipeline_def(
    fn: Callable[..., Any] | None = None,
    *,
    debug: bool = False,
    enable_conditionals: bool = False,
    **pipeline_kwargs: Any,
) -> Any:
    """Make a function that defines a graph into one that returns a pipeline.

    It is `bivouac.pipeline_def` with an argument for debug mode, which is not there.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Pipeline]:
        made = definition.pipeline_def(enable_conditionals=enable_conditionals, **pipeline_kwargs)
        create = made(function)

        @functools.wraps(function)
        def create_pipeline(*args: Any, **kwargs: Any) -> Pipeline:
            if kwargs.pop("debug", debug):
                raise Unsupported(
                    op="pipeline_def",
                    subject="debug",
                    want="False",
                    got="True",
                    remedy="run the pipeline and look at its outputs",
                )
            return create(*args, **kwargs)

        setattr(create_pipeline, "_is_pipeline_def", True)  # noqa: B010
        return create_pipeline

    return decorate if fn is None else decorate(fn)
