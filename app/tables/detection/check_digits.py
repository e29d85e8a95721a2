"""Numbers that states and banks give to people and accounts, told by their check digits.

A test returns whether a text, without blanks and hyphens, is such a number. One random number in
ten, eleven, 23 or 97 passes, so a column holds them only when nearly all of its values pass.
"""

from __future__ import annotations

import re
from collections.abc import Callable

Check = Callable[[str], bool]


def digits(text: str) -> list[int]:
    return [int(character) for character in text]


def weighted(text: str, weights: tuple[int, ...]) -> int:
    return sum(a * b for a, b in zip(digits(text), weights, strict=False))


def luhn(text: str) -> bool:
    """The check of payment cards and of Swedish person numbers."""
    total = 0
    for position, digit in enumerate(reversed(digits(text))):
        doubled = digit * (1 + position % 2)
        total += doubled - 9 * (doubled > 9)
    return total % 10 == 0


def iban(text: str) -> bool:
    """An account: country, two check digits, up to 30 signs; modulo 97 it is 1."""
    if not re.fullmatch(r"[A-Z]{2}\d{2}[A-Z0-9]{11,30}", text):
        return False
    return int("".join(str(int(sign, 36)) for sign in text[4:] + text[:4])) % 97 == 1


def card(text: str) -> bool:
    return re.fullmatch(r"[3-6]\d{12,18}", text) is not None and luhn(text)


def german_tax(text: str) -> bool:
    """Steuer-ID: eleven digits, the last by ISO 7064 mod 11, 10."""
    if not re.fullmatch(r"[1-9]\d{10}", text):
        return False
    product = 10
    for digit in digits(text[:10]):
        total = (digit + product) % 10 or 10
        product = total * 2 % 11
    return (11 - product) % 10 == int(text[10])


def german_pension(text: str) -> bool:
    """Versicherungsnummer: area, birth date, letter of the name, serial number, check digit."""
    if not re.fullmatch(r"\d{8}[A-Z]\d{3}", text):
        return False
    plain = text[:8] + f"{ord(text[8]) - 64:02d}" + text[9:11]
    weights = (2, 1, 2, 5, 7, 1, 2, 1, 2, 1, 2, 1)
    total = sum(sum(divmod(a * b, 10)) for a, b in zip(digits(plain), weights, strict=True))
    return total % 10 == int(text[11])


def french_nir(text: str) -> bool:
    """Numéro de sécurité sociale: 13 digits (Corsica has a letter) and 97 minus them modulo 97."""
    if not re.fullmatch(r"[1-478]\d{4}(\d{2}|2[AB])\d{8}", text):
        return False
    number = int(text[:13].replace("2A", "19").replace("2B", "18"))
    return 97 - number % 97 == int(text[13:])


ODD = dict(
    zip(
        "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ",
        (
            1, 0, 5, 7, 9, 13, 15, 17, 19, 21,
            1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18,
            20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23,
        ),
        strict=True,
    )
)  # fmt: skip
"""What a sign in an odd place of a codice fiscale counts."""


def italian_fiscal(text: str) -> bool:
    """Codice fiscale: letters of the name, birth date, place, check letter."""
    if not re.fullmatch(r"[A-Z]{6}[0-9L-V]{2}[A-EHLMPRST][0-9L-V]{2}[A-Z][0-9L-V]{3}[A-Z]", text):
        return False
    total = sum(ODD[sign] for sign in text[0:15:2])
    total += sum(int(s) if s.isdigit() else ord(s) - ord("A") for s in text[1:15:2])
    return chr(ord("A") + total % 26) == text[15]


def spanish_dni(text: str) -> bool:
    """DNI and NIE: eight digits, or X, Y, Z and seven, and a letter by modulo 23."""
    if not re.fullmatch(r"[XYZ\d]\d{7}[A-Z]", text):
        return False
    number = int(text[:8].replace("X", "0").replace("Y", "1").replace("Z", "2"))
    return "TRWAGMYFPDXBNJZSQVHLCKE"[number % 23] == text[8]


def dutch_bsn(text: str) -> bool:
    if not re.fullmatch(r"\d{9}", text) or text == "0" * 9:
        return False
    return weighted(text, (9, 8, 7, 6, 5, 4, 3, 2, -1)) % 11 == 0


def polish_pesel(text: str) -> bool:
    """Birth date with the century in the month, serial number, check digit."""
    if not re.fullmatch(r"\d{2}([02468][1-9]|[13579][0-2])([0-2]\d|3[01])\d{5}", text):
        return False
    return (10 - weighted(text, (1, 3, 7, 9, 1, 3, 7, 9, 1, 3)) % 10) % 10 == int(text[10])


def british_nhs(text: str) -> bool:
    if not re.fullmatch(r"\d{10}", text):
        return False
    return (11 - weighted(text, tuple(range(10, 1, -1))) % 11) % 11 == int(text[9])


def british_nino(text: str) -> bool:
    """National insurance: two letters, six digits, A to D. It has no check digit."""
    return re.fullmatch(r"[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z]\d{6}[A-D]", text) is not None


def swedish_person(text: str) -> bool:
    """Birth date, with or without the century, and four digits, the last by Luhn."""
    if not re.fullmatch(
        r"(\d{2})?\d{2}(0[1-9]|1[0-2])([0-2]\d|3[01]|[6-8]\d|9[01])[+]?\d{4}", text
    ):
        return False
    return luhn(text.replace("+", "")[-10:])


def belgian_national(text: str) -> bool:
    if not re.fullmatch(r"\d{2}(0\d|1[0-2])([0-2]\d|3[01])\d{5}", text):
        return False
    rest = int(text[9:])
    return rest in (97 - int(text[:9]) % 97, 97 - int("2" + text[:9]) % 97)


def swiss_ahv(text: str) -> bool:
    if not re.fullmatch(r"756\d{10}", text):
        return False
    return (10 - weighted(text, (1, 3) * 6) % 10) % 10 == int(text[12])


def brazilian_cpf(text: str) -> bool:
    if not re.fullmatch(r"\d{11}", text) or len(set(text)) == 1:
        return False
    for length in (9, 10):
        rest = weighted(text[:length], tuple(range(length + 1, 1, -1))) * 10 % 11 % 10
        if rest != int(text[length]):
            return False
    return True


CHECKS: dict[str, Check] = {
    "IBANs": iban,
    "payment card numbers": card,
    "German tax ids": german_tax,
    "German pension numbers": german_pension,
    "French social security numbers": french_nir,
    "Italian fiscal codes": italian_fiscal,
    "Spanish identity numbers": spanish_dni,
    "Dutch citizen numbers": dutch_bsn,
    "Polish PESEL numbers": polish_pesel,
    "NHS numbers": british_nhs,
    "national insurance numbers": british_nino,
    "Swedish person numbers": swedish_person,
    "Belgian national numbers": belgian_national,
    "Swiss AHV numbers": swiss_ahv,
    "Brazilian CPF numbers": brazilian_cpf,
}
"""What is told by check digits or a strict form, by its name in a sentence."""

LONGEST = 34


def without_marks(text: str) -> str:
    return re.sub(r"[ .\-/\u00a0]", "", text).upper()
