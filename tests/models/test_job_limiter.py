"""The limiter of a job as a plain object: what it grants, hears and tells, and what a restart leaves of it."""

from __future__ import annotations

import time

from steelyard.core.progress import Count, PartProgress
from steelyard.core.records import Usage
from steelyard.runs.ray_job import ClusterRateLimiter


def test_a_restarted_limiter_begins_without_permits() -> None:
    """What its forerunner granted a moment ago still counts: permits come in at the rate and not at once."""
    limiter = ClusterRateLimiter({"u": 50.0})
    first = limiter.lease(0, "u", 8, None)
    assert (first.granted, first.stop) == (0, False)
    assert 0 < first.delay <= 1.0
    start = time.monotonic()
    granted = 0
    while granted < 5:
        lease = limiter.lease(0, "u", 8, None)
        granted += lease.granted
        time.sleep(0.005)
    assert granted <= 50 * (time.monotonic() - start) + 5 + 1


def test_the_driver_says_when_to_stop_and_hears_of_progress() -> None:
    """Counts are those of the last word of each part; stopping holds until the driver says otherwise."""
    limiter = ClusterRateLimiter({"u": 1000.0})
    limiter.lease(3, None, 0, Count(done=2, usage=Usage(calls=2)))
    limiter.lease(3, None, 0, Count(done=5, usage=Usage(calls=6)))
    limiter.lease(4, None, 0, Count(done=1))
    assert limiter.look(False) == {3: Count(done=5, usage=Usage(calls=6)), 4: Count(done=1)}
    limiter.look(True)
    assert limiter.lease(3, "u", 4, None) == (0, 0.0, True)
    assert limiter.lease(4, None, 0, None).stop
    limiter.look(False)
    assert not limiter.lease(4, None, 0, None).stop


def test_parts_add_up() -> None:
    """Progress of parts, one after the other, is that of one run; a cost that nobody knows stays unknown."""
    told: list[Count] = []
    progress = PartProgress(told.append)
    progress(Count(3, 1, 0, Usage(calls=3, prompt_tokens=30)))
    progress.next_part()
    progress(Count(2, 0, 1, Usage(calls=2, cached=1, prompt_tokens=20, cost=0.5)))
    assert told == [
        Count(3, 1, 0, Usage(calls=3, prompt_tokens=30)),
        Count(5, 1, 1, Usage(calls=5, cached=1, prompt_tokens=50, cost=0.5)),
    ]
