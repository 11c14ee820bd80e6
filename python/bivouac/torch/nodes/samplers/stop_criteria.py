"""StopCriteria: when the epoch of several sources ends."""

__all__ = ["StopCriteria"]


class StopCriteria:
    """A StopCriteria says when a MultiNodeWeightedSampler ends its epoch.

    Attributes:
      CYCLE_UNTIL_ALL_DATASETS_EXHAUSTED: when each source has ended at least once. A source that
        ends earlier begins again.
      ALL_DATASETS_EXHAUSTED: when all sources have ended. A source that ends gives no more.
      FIRST_DATASET_EXHAUSTED: when a source ends.
      CYCLE_FOREVER: never. A source that ends begins again.
    """

    CYCLE_UNTIL_ALL_DATASETS_EXHAUSTED = "CYCLE_UNTIL_ALL_DATASETS_EXHAUSTED"
    ALL_DATASETS_EXHAUSTED = "ALL_DATASETS_EXHAUSTED"
    FIRST_DATASET_EXHAUSTED = "FIRST_DATASET_EXHAUSTED"
    CYCLE_FOREVER = "CYCLE_FOREVER"
