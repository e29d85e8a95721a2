"""Numbers that states and banks give to people and accounts, recognised by their check digits.

The checks are those of python-stdnum. One random number in ten, eleven, 23 or 97 passes, so a column holds such
numbers only when nearly all of its values pass.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from stdnum import iban, luhn
from stdnum.be import nn
from stdnum.br import cpf
from stdnum.ch import ssn
from stdnum.de import idnr
from stdnum.es import nif
from stdnum.fr import nir
from stdnum.gb import nhs
from stdnum.it import codicefiscale
from stdnum.nl import bsn
from stdnum.pl import pesel
from stdnum.se import personnummer

Check = Callable[[str], bool]

NINO = re.compile(r"[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z]\d{6}[A-D]")
PENSION = re.compile(r"\d{8}[A-Z]\d{3}")
PENSION_WEIGHTS = (2, 1, 2, 5, 7, 1, 2, 1, 2, 1, 2, 1)


def is_iban(text: str) -> bool:
    return bool(iban.is_valid(text, check_country=False))


def is_card(text: str) -> bool:
    """Payment cards: thirteen to nineteen digits of a known network."""
    return re.fullmatch(r"[3-6]\d{12,18}", text) is not None and luhn.is_valid(text)


def is_pension(text: str) -> bool:
    """Versicherungsnummer: area, birth date, letter of the name, serial number, check digit."""
    if not PENSION.fullmatch(text):
        return False
    plain = f"{text[:8]}{ord(text[8]) - 64:02d}{text[9:11]}"
    products = (int(a) * b for a, b in zip(plain, PENSION_WEIGHTS, strict=True))
    return sum(sum(divmod(product, 10)) for product in products) % 10 == int(text[11])


def is_nino(text: str) -> bool:
    """National insurance: two letters, six digits, A to D, without a check digit."""
    return NINO.fullmatch(text) is not None


CHECKS: dict[str, Check] = {
    "IBANs": is_iban,
    "payment card numbers": is_card,
    "German tax ids": idnr.is_valid,
    "German pension numbers": is_pension,
    "French social security numbers": nir.is_valid,
    "Italian fiscal codes": codicefiscale.is_valid,
    "Spanish identity numbers": nif.is_valid,
    "Dutch citizen numbers": bsn.is_valid,
    "Polish PESEL numbers": pesel.is_valid,
    "NHS numbers": nhs.is_valid,
    "national insurance numbers": is_nino,
    "Swedish person numbers": personnummer.is_valid,
    "Belgian national numbers": nn.is_valid,
    "Swiss AHV numbers": ssn.is_valid,
    "Brazilian CPF numbers": cpf.is_valid,
}
"""Checks of a number without blanks and hyphens, by what its column is said to hold."""

SHORTEST, LONGEST = 8, 34
NEARLY_ALL = 0.8


def national_numbers(values: Sequence[str], different: int) -> str | None:
    """Return what nearly all values are, if at least so many of them are different."""
    plain = [without_marks(text) if len(text) <= 2 * LONGEST else "" for text in values]
    allowed = (1 - NEARLY_ALL) * len(plain)
    likely = [text for text in plain if SHORTEST <= len(text) <= LONGEST and not text.isalpha()]
    if len(set(likely)) < different or len(plain) - len(likely) > allowed:
        return None
    for name, check in CHECKS.items():
        misses = len(plain) - len(likely)
        for text in likely:
            misses += not check(text)
            if misses > allowed:
                break
        else:
            return name
    return None


def without_marks(text: str) -> str:
    """The text without blanks, points, hyphens and slashes, in capitals."""
    return re.sub(r"[ .\-/\u00a0]", "", text).upper()
