"""pipeline_def with the arguments of DALI's experimental one."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from bivouac._pipeline import definition, rewrite
from bivouac._pipeline.debug import PipelineDebug
from bivouac._pipeline.pipeline import Pipeline

__all__ = ["pipeline_def"]


def pipeline_def(
    fn: Callable[..., Any] | None = None,
    *,
    debug: bool = False,
    enable_conditionals: bool = False,
    **pipeline_kwargs: Any,
) -> Any:
    """Make a function that defines a graph into one that returns a pipeline.

    It is `bivouac.pipeline_def` with one more argument.

    Args:
      fn: the function.
      debug: run the function for each batch. Operators compute when they are called, and nodes have
        data: `node.get()`. The call of the function may have it too.
      enable_conditionals: as for `bivouac.pipeline_def`. In debug mode an operator in a branch
        computes for the samples of the branch.
      pipeline_kwargs: settings of the pipeline.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Pipeline]:
        made = definition.pipeline_def(enable_conditionals=enable_conditionals, **pipeline_kwargs)
        create = made(function)

        @functools.wraps(function)
        def create_pipeline(*args: Any, **kwargs: Any) -> Pipeline:
            if not kwargs.get("debug", debug):
                return create(*args, **kwargs)
            conditional = kwargs.get("enable_conditionals", enable_conditionals)
            settings, given = definition.split(function, kwargs)
            defines = rewrite.converted(function) if conditional else function
            define = functools.partial(defines, *args, **given)
            settings = {**pipeline_kwargs, **settings}
            return PipelineDebug(define, conditionals=conditional, **settings)

        setattr(create_pipeline, "_is_pipeline_def", True)  # noqa: B010
        return create_pipeline

    return decorate if fn is None else decorate(fn)
