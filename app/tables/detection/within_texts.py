"""What is personal inside longer texts: a note that says whom to write to tells whose row it is.

Only forms that hardly anything else has are looked for, since one value that has one is told. No
pattern takes more than a bounded look from each character.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from app.tables.detection.check_digits import iban, without_marks

EMAIL = re.compile(r"[\w.+%-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){0,4}\.[^\W\d_]{2,24}")
PHONE = re.compile(r"(?<![\w+])\+[1-9](?:[ .()/-]{0,2}\d){7,14}(?!\d)")
IBAN = re.compile(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?\b")


def _has_email(text: str) -> bool:
    return "@" in text and EMAIL.search(text) is not None


def _has_phone(text: str) -> bool:
    return "+" in text and PHONE.search(text) is not None


def _has_iban(text: str) -> bool:
    return any(iban(without_marks(found)) for found in IBAN.findall(text))


FORMS: dict[str, Callable[[str], bool]] = {
    "e-mail addresses": _has_email,
    "phone numbers": _has_phone,
    "IBANs": _has_iban,
}


def personal_within(counts: Mapping[str, int]) -> dict[str, float]:
    """What the values hold, by its name in a sentence, with the share of cells that have it.

    `counts` says how often each value occurs.
    """
    cells = sum(counts.values())
    found = {
        what: sum(count for text, count in counts.items() if has(text))
        for what, has in FORMS.items()
    }
    return {what: count / cells for what, count in found.items() if count}
