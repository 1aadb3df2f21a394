"""How well settings do over several seeds: definitions of Agarwal et al. (2021), over plain arrays.

Scores are one number for each run, ``(seeds,)`` for one task or ``(seeds, tasks)`` for several; a seed without a score
is NaN, is left out, and is missing from the ``n`` that every answer tells. The seed is what is repeated, never the
episode: episodes of one run have the same policy behind them, and intervals over them would be far too narrow.
"""

from mosaic.errors import needs_extra

try:
    from mosaic.statistics.bootstrap import Estimate, bootstrap
    from mosaic.statistics.curves import Aligned, Band, align, band
    from mosaic.statistics.improvement import probability_of_improvement
    from mosaic.statistics.iqm import iqm
    from mosaic.statistics.profile import Profile, performance_profile
except ModuleNotFoundError as error:
    raise needs_extra("statistics", error) from None

__all__ = [
    "Aligned",
    "Band",
    "Estimate",
    "Profile",
    "align",
    "band",
    "bootstrap",
    "iqm",
    "performance_profile",
    "probability_of_improvement",
]
