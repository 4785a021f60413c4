"""Seconds to wait before a retry: the Retry-After header of a response, or a doubled delay with jitter."""

from __future__ import annotations

import email.utils
import random
from collections.abc import Mapping

FIRST_BACKOFF = 0.2
_LONGEST_BACKOFF = 30.0


def backoff(call: int, seed: str, pause: float = 0.0) -> float:
    """The seconds to wait after the n-th call failed, with seeded jitter so that calls are not retried all at once.

    The pause that the endpoint requests (``pause``) plus up to a tenth, growing by half with each call. Without a
    pause, 0.2 seconds doubled with each call, minus up to a half. The wait does not grow beyond 30 seconds.

    >>> 0.1 <= backoff(1, "a") <= 0.2, backoff(40, "a") <= 30.0, 2.0 <= backoff(1, "a", 2.0) <= 2.2
    (True, True, True)
    """
    draw = random.Random(f"{seed}/{call}").random()  # noqa: S311 - not used for security
    if pause > 0:
        return pause * min(1.5 ** min(call - 1, 20), max(1.0, _LONGEST_BACKOFF / pause)) * (1 + 0.1 * draw)
    return min(_LONGEST_BACKOFF, FIRST_BACKOFF * 2.0 ** min(call - 1, 20)) * (0.5 + 0.5 * draw)


def retry_after(headers: Mapping[str, str], now: float) -> float:
    """Read the seconds to wait from a Retry-After header: a number, a fraction, or a date; 0 if absent or invalid.

    >>> retry_after({"Retry-After": "1.5"}, 0.0)
    1.5
    >>> retry_after({"Retry-After": "Thu, 01 Jan 1970 00:00:07 GMT"}, 2.0)
    5.0
    """
    if (milliseconds := headers.get("retry-after-ms") or headers.get("Retry-After-Ms")) is not None:
        try:
            return max(0.0, float(milliseconds) / 1000)
        except ValueError:
            return 0.0
    text = (headers.get("Retry-After") or headers.get("retry-after") or "").strip()
    try:
        seconds = float(text)
    except ValueError:
        when = email.utils.parsedate_tz(text)
        seconds = email.utils.mktime_tz(when) - now if when is not None else 0.0
    return max(0.0, seconds) if seconds < float("inf") else 0.0
