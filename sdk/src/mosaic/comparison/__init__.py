"""Runs made arms, arms made numbers: what `mosaic compare` prints, for whoever asks from Python.

::

    with Mosaic.connect() as fleet:
        told = compare(fleet, fleet.runs(labels={"study": "rate"}), by=["learning_rate"])
        for arm in told.arms:
            print(arm.label, arm.score.value, arm.score.low, arm.score.high, arm.score.n)
"""

from mosaic.errors import needs_extra

try:
    from mosaic.comparison.arms import Arm
    from mosaic.comparison.choosing import of_environment, of_name
    from mosaic.comparison.compare import Comparison, compare
    from mosaic.comparison.members import Member
    from mosaic.comparison.scores import MEASURES
except ModuleNotFoundError as error:
    raise needs_extra("client,statistics", error) from None

__all__ = ["MEASURES", "Arm", "Comparison", "Member", "compare", "of_environment", "of_name"]
