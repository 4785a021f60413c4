"""Seconds to wait before a retry: the Retry-After header of a response, or a doubled delay with jitter."""

from __future__ import annotations

import email.utils
import random
from collections.abc import Mapping

FIRST_BACKOFF = 0.2
_LONGEST_BACKOFF = 30.0


def backoff(call: int, seed: str, pause: float = 0.0) -> float:
    """Seconds to wait after the n-th call failed, with a seeded draw in them so that not all come back at once.

    What the endpoint asks for (``pause``) and up to a tenth more, half as long again each time; where it asks for
    nothing, 0.2 doubled each time, less up to a half. Beyond 30 seconds nothing grows.

    >>> 0.1 <= backoff(1, "a") <= 0.2, backoff(40, "a") <= 30.0, 2.0 <= backoff(1, "a", 2.0) <= 2.2
    (True, True, True)
    """
    draw = random.Random(f"{seed}/{call}").random()  # noqa: S311 - no secret hangs on it
    if pause > 0:
        return pause * min(1.5 ** min(call - 1, 20), max(1.0, _LONGEST_BACKOFF / pause)) * (1 + 0.1 * draw)
    return min(_LONGEST_BACKOFF, FIRST_BACKOFF * 2.0 ** min(call - 1, 20)) * (0.5 + 0.5 * draw)


def retry_after(headers: Mapping[str, str], now: float) -> float:
    """The seconds that a Retry-After header asks for: a number, a fraction, or a date; 0 where it says nothing.

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
