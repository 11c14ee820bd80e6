"""The parts of `bivouac.Job`."""

from __future__ import annotations

from bivouac._job.job import Job
from bivouac._job.notice import EXIT_PREEMPTED, Preempted

__all__ = ["EXIT_PREEMPTED", "Job", "Preempted"]
