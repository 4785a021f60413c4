"""Words that carry no content of their own."""

from __future__ import annotations

_ENGLISH = """
    a about above after again against all also although am among an and any are aren as at
    be because been before being below between both but by
    can cannot could couldn did didn do does doesn doing don down during
    each else ever every few for from further
    had hadn has hasn have haven having he her here hers herself him himself his how however
    i if in into is isn it its itself just ll
    me more most much must my myself
    now of off on once one only onto or other our ours ourselves out over own
    per rather re same shall she should shouldn since so some such
    than that the their theirs them themselves then there these they this those through thus to too
    under until up upon ve very
    was wasn we were weren what when where whether which while who whom whose why will with within without won would
    wouldn yet you your yours yourself yourselves
"""

ENGLISH = frozenset(_ENGLISH.split())
"""English function words, as they stand between punctuation: ``don't`` leaves ``don``. Negations are content."""
