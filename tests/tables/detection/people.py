"""Synthetic people of six countries, with what identifies them written as it is there."""

from __future__ import annotations

import random
from collections.abc import Callable

GIVEN = {
    "de": "Anna Peter Sabine Thomas Ursula Stefan Monika Klaus Julia Lukas".split(),
    "fr": "Marie Pierre Camille Julien Isabelle Nicolas Chloe Laurent Sophie Louis".split(),
    "it": "Giulia Marco Chiara Luca Francesca Andrea Paolo Elena Matteo Sara".split(),
    "es": "Carmen Javier Lucia Miguel Ana Pablo Maria Carlos Laura Diego".split(),
    "pl": "Anna Piotr Katarzyna Tomasz Agnieszka Marek Zofia Jan Ewa Pawel".split(),
    "gb": "Emily James Charlotte William Sarah Thomas Grace Oliver Lucy Harry".split(),
}
PARTS = {
    "de": (
        "Schmidt Müller Weber Fischer Becker Wolf Krüger Hartmann Vogel Lang".split(),
        "+49 171",
    ),
    "fr": (
        "Martin Durand Lefèvre Moreau Girard Dubois Fournier Lambert Roux Petit".split(),
        "+33 6",
    ),
    "it": (
        "Rossi Bianchi Ferrari Russo Gallo Conti Greco Bruno Marino Rizzo".split(),
        "+39 333",
    ),
    "es": (
        "García López Martínez Sánchez Pérez Gómez Ruiz Díaz Moreno Muñoz".split(),
        "+34 612",
    ),
    "pl": (
        "Nowak Kowalski Wiśniewska Wójcik Lewandowski Zieliński Mazur Krawczyk".split(),
        "+48 601",
    ),
    "gb": (
        "Smith Jones Taylor Brown Wilson Evans Walker Wright Green Hall".split(),
        "+44 7700",
    ),
}
STREETS: dict[str, Callable[[random.Random], str]] = {
    "de": lambda r: f"{r.choice(['Haupt', 'Garten', 'Berg', 'Schul'])}straße {r.randint(1, 150)}",
    "fr": lambda r: (
        f"{r.randint(1, 150)} rue {r.choice(['Victor Hugo', 'de la Paix', 'des Lilas'])}"
    ),
    "it": lambda r: f"Via {r.choice(['Roma', 'Garibaldi', 'Dante'])} {r.randint(1, 150)}",
    "es": lambda r: f"Calle {r.choice(['Mayor', 'de Alcalá', 'Real'])} {r.randint(1, 150)}",
    "pl": lambda r: f"ul. {r.choice(['Długa', 'Polna', 'Leśna'])} {r.randint(1, 150)}",
    "gb": lambda r: f"{r.randint(1, 150)} {r.choice(['High Street', 'Station Road', 'Mill Lane'])}",
}
BANKS = {"it": "X", "gb": "WEST"}
IBANS = {"de": 18, "fr": 23, "it": 22, "es": 20, "pl": 24, "gb": 14}


def iban(country: str, rng: random.Random) -> str:
    body = BANKS.get(country, "") + "".join(str(rng.randint(0, 9)) for _ in range(IBANS[country]))
    number = int("".join(str(int(sign, 36)) for sign in body + country.upper()) + "00")
    return f"{country.upper()}{98 - number % 97:02d}{body}"


def german_tax(rng: random.Random) -> str:
    """One of the first ten digits occurs twice, and no other does."""
    digits = [*rng.sample("123456789", 8), "0"]
    body = "".join([digits[0], *rng.sample([*digits[1:], digits[1]], 9)])
    product = 10
    for digit in map(int, body):
        product = ((digit + product) % 10 or 10) * 2 % 11
    return f"{body}{(11 - product) % 10}"


def french_nir(rng: random.Random) -> str:
    body = (
        f"{rng.randint(1, 2)}{rng.randint(0, 99):02d}{rng.randint(1, 12):02d}{rng.randint(10, 95)}"
    )
    body += f"{rng.randint(1, 990):03d}{rng.randint(1, 999):03d}"
    return f"{body}{97 - int(body) % 97:02d}"


ODD_VALUES = [
    1,
    0,
    5,
    7,
    9,
    13,
    15,
    17,
    19,
    21,
    2,
    4,
    18,
    20,
    11,
    3,
    6,
    8,
    12,
    14,
    16,
    10,
    22,
    25,
    24,
    23,
]


def italian_fiscal(rng: random.Random) -> str:
    letters = "".join(rng.choice("BCDFGLMNPRSTV") for _ in range(6))
    body = f"{letters}{rng.randint(0, 99):02d}{rng.choice('ABCDEHLMPRST')}{rng.randint(1, 31):02d}"
    body += f"{rng.choice('ABCDEFGHIL')}{rng.randint(100, 999)}"

    def rank(sign: str) -> int:
        return int(sign) if sign.isdigit() else ord(sign) - ord("A")

    total = sum(
        ODD_VALUES[rank(sign)] if position % 2 == 0 else rank(sign)
        for position, sign in enumerate(body)
    )
    return body + chr(ord("A") + total % 26)


def spanish_dni(rng: random.Random) -> str:
    number = rng.randint(10**7, 10**8 - 1)
    return f"{number}{'TRWAGMYFPDXBNJZSQVHLCKE'[number % 23]}"


def polish_pesel(rng: random.Random) -> str:
    body = f"{rng.randint(40, 99)}{rng.randint(1, 12):02d}{rng.randint(1, 28):02d}{rng.randint(0, 9999):04d}"
    total = sum(int(a) * b for a, b in zip(body, (1, 3, 7, 9) * 3, strict=False))
    return f"{body}{(10 - total % 10) % 10}"


def british_nino(rng: random.Random) -> str:
    return f"{rng.choice('ABCEGHJ')}{rng.choice('ABCEGHJ')} {rng.randint(10, 99)} {rng.randint(10, 99)} {rng.randint(10, 99)} {rng.choice('ABCD')}"


NATIONAL: dict[str, Callable[[random.Random], str]] = {
    "de": german_tax,
    "fr": french_nir,
    "it": italian_fiscal,
    "es": spanish_dni,
    "pl": polish_pesel,
    "gb": british_nino,
}


def columns_of(country: str, rows: int, rng: random.Random) -> dict[str, list[str]]:
    """Direct identifiers under names that say nothing, each a column."""
    surnames, prefix = PARTS[country]
    given = [rng.choice(GIVEN[country]) for _ in range(rows)]
    last = [rng.choice(surnames) for _ in range(rows)]
    return {
        "c_mail": [f"{a.lower()}.{i}@example.{country}" for i, a in enumerate(given)],
        "c_tel": [f"{prefix} {rng.randint(1000000, 9999999)}" for _ in range(rows)],
        "c_local": [f"0{rng.randint(20, 99)}/{rng.randint(100000, 9999999)}" for _ in range(rows)],
        "c_bank": [iban(country, rng) for _ in range(rows)],
        "c_national": [NATIONAL[country](rng) for _ in range(rows)],
        "c_person": [f"{a} {b}" for a, b in zip(given, last, strict=True)],
        "c_sorted": [f"{b}, {a}" for a, b in zip(given, last, strict=True)],
        "c_given": given,
        "c_home": [STREETS[country](rng) for _ in range(rows)],
        "c_ip": [".".join(str(rng.randint(1, 254)) for _ in range(4)) for _ in range(rows)],
        "c_site": [f"https://example.{country}/u/{rng.randint(1, 10**6)}" for _ in range(rows)],
        "c_place": [f"{rng.uniform(40, 55):.5f}, {rng.uniform(-5, 20):.5f}" for _ in range(rows)],
        "c_number": [str(i) for i in rng.sample(range(1000, 1000 + rows), rows)],
    }
