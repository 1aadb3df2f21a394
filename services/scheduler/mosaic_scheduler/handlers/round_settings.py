"""The times that rounds keep, and the policies they follow."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from mosaic_scheduler.domain.retry import RetrySettings
from mosaic_scheduler.domain.snapshot import PolicySettings


@dataclass(frozen=True, slots=True)
class RoundSettings:
    """The times that rounds keep."""

    #: An attempt that no agent renews for so long is lost.
    lease: timedelta = timedelta(seconds=30)
    #: An attempt that is not claimed for so long is dispatched again...
    dispatch_again: timedelta = timedelta(seconds=5)
    #: ...and given to somebody else after this.
    claim_within: timedelta = timedelta(seconds=60)
    #: How often recent use is written down.
    save_usage_every: timedelta = timedelta(seconds=10)
    #: Rounds come as fast as things happen; for the patience of who is overtaken, one in so long counts.
    count_overtaking_every: timedelta = timedelta(seconds=30)
    #: A reason to wait in which nothing but numbers is different is written again after this.
    retell_every: timedelta = timedelta(minutes=1)
    #: Between SIGTERM and SIGKILL.
    grace: timedelta = timedelta(seconds=20)
    #: Silence after which a worker is called hung, unless its run says otherwise.
    hang_limit: timedelta = timedelta(minutes=30)
    policy: PolicySettings = PolicySettings()
    retry: RetrySettings = RetrySettings()
