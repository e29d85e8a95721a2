"""Whether the first record names the columns or is a row like the others.

A first row taken for names would leave with every copy, so names that look like values are refused.
A first row taken for a record would make every number column text. No message quotes the row.
"""

from __future__ import annotations

import re
from collections import Counter

from app.errors import InvalidTable
from app.tables.dialect.delimiter import NEARLY_ALL, Records
from app.tables.dialect.tokens import DATE, MISSING_NUMBERS, is_number, is_value
from app.tables.reading_as import Header

USUAL_NAMES = frozenset(
    """
    address age amount area birth birthdate category charge city class code color colour comment
    company consent country county currency customer date day department description diagnosis
    district education email employer ethnicity facility file first gender group height hour id
    income index job key kind label language last level location mail marital method month mother
    name nationality note number occupation order origin owner patient phone place plan position
    price product profession province qualification race rank rate reason region religion result
    role salary score school sex source species state station status store street subject surname
    target team tel text time title town type unit url use user value variety village visit week
    weight year zip zone alter beruf datum geschlecht kunde land nachname ort plz staat stadt
    straße vorname wohnort nom prénom prenom ville pays sexe âge date_naissance rue métier nombre
    apellido apellidos ciudad país pais sexo edad fecha calle nome cognome città citta paese sesso
    età indirizzo via naam voornaam achternaam stad geslacht leeftijd straat imię imie nazwisko
    miasto kraj płeć plec wiek ulica namn förnamn efternamn kön ålder
    """.split()
)
"""Words that name columns, in the languages that files here are likely to have."""

RECURRING_FROM = 10
"""Among fewer cells it is no sign that each value occurs again."""

WORD = re.compile(r"[^\W\d_]+")


def column_names(width: int) -> list[str]:
    """Names for columns that have none."""
    return [f"column_{position}" for position in range(1, width + 1)]


def found_header(records: Records, wished: Header | None) -> Header:
    """Whether the first record is a header; InvalidTable when its names look like values, or nobody can tell."""
    if wished is not None:
        return wished
    names, body = records[0], [record for record in records[1:] if len(record) == len(records[0])]
    for position, name in enumerate(names):
        if is_value(name):
            raise InvalidTable(
                f"The first row does not look like column names: field {position + 1} of it looks "
                "like a value. Say header=absent if it is a row like the others, header=present if "
                "it does hold the names.",
                parameter="header",
                position=position + 1,
            )
    if not body:
        return Header.PRESENT
    columns = [[record[j] for record in body] for j in range(len(names))]
    if any(_unlike(name, cells) for name, cells in zip(names, columns, strict=True)):
        return Header.PRESENT
    recurring = [j for j, name in enumerate(names) if name.strip() and name in columns[j]]
    if recurring:
        raise InvalidTable(
            f"The first row does not look like column names: field {recurring[0] + 1} of it occurs "
            "as a value further down. Say header=absent if it is a row like the others, "
            "header=present if it does hold the names.",
            parameter="header",
            position=recurring[0] + 1,
        )
    if any(map(_is_usual, names)) or any(map(_all_recur, columns)):
        return Header.PRESENT
    raise InvalidTable(
        "The first row may hold the column names or be a row like the others: the table has only "
        "text, and both look alike. Say header=present or header=absent.",
        parameter="header",
        plausible=["present", "absent"],
    )


def _unlike(name: str, cells: list[str]) -> bool:
    """Whether the cells are numbers or dates, which the name is not."""
    values = [cell for cell in cells if cell.strip() not in MISSING_NUMBERS]
    like = sum(is_number(cell) or DATE.match(cell.strip()) is not None for cell in values)
    return bool(name.strip()) and bool(values) and like >= NEARLY_ALL * len(values)


def _is_usual(name: str) -> bool:
    return "_" in name or any(word.lower() in USUAL_NAMES for word in WORD.findall(_spaced(name)))


def _spaced(name: str) -> str:
    """Words that capitals separate, apart: customerName."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)


def _all_recur(cells: list[str]) -> bool:
    """Whether every value occurs again, so that a first cell which does not is none of them."""
    counts = Counter(cell for cell in cells if cell.strip())
    return sum(counts.values()) >= RECURRING_FROM and min(counts.values()) > 1
