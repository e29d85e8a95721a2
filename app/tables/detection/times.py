"""Times of day and durations: 12:30, 12:30:45, 1:05 pm, 26:15:00, PT1H30M, 1h 30m, 2 days, 3:00:00.

They tell nobody apart by their form. They are kept as text, which their owner should know: a number of
minutes would have noise.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

NEARLY_ALL = 0.8
FRACTION = r"(?:[.,:]\d{1,9})?"
CLOCK = rf"\d{{1,5}}:[0-5]\d(?::[0-5]\d{FRACTION})?"
ZONE = r"(?: ?[AaPp]\.?[Mm]\.?)?(?: ?(?:Z|UTC|[+-]\d{2}:?\d{2}))?"
UNITS = r"(?:d|days?|h|hrs?|hours?|std|m|mins?|minutes?|s|secs?|seconds?|sek)\.?"
TIME = re.compile(
    rf"T?{CLOCK}{ZONE}"
    rf"|[+-]?\d{{1,6}} days?,? {CLOCK}"
    r"|P(?=[\dT])(?:\d{1,6}D)?(?:T(?=\d)(?:\d{1,6}H)?(?:\d{1,6}M)?(?:\d{1,6}(?:[.,]\d{1,9})?S)?)?"
    rf"|\d{{1,6}} ?{UNITS}(?:,? ?\d{{1,6}} ?{UNITS}){{1,3}}",
    re.IGNORECASE,
)

NOTE = (
    "It holds times of day or durations, kept as text: send them as numbers, such as minutes, to have"
    " noise added."
)


def holding_times(sample: Sequence[str]) -> bool:
    """Whether nearly all texts are times of day or durations."""
    found = sum(TIME.fullmatch(text.strip()) is not None for text in sample)
    return bool(sample) and found >= NEARLY_ALL * len(sample)
