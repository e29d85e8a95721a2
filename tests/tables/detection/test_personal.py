"""Direct identifiers of people in six countries are found, by their values and inside longer texts, and little else is: times are no addresses."""

from __future__ import annotations

import csv
import datetime as dt
import io
import random
from collections import Counter
from ipaddress import IPv6Address
from pathlib import Path

import openpyxl
import pytest

from app.model import Column, Kind, Limits
from app.service.datasets.registration.ingestion import ingest
from app.service.datasets.registration.register import NullSink
from app.tables.detection.column_names import identifying_word
from app.tables.detection.personal import IP6, MAC, are_times, personal_within, warnings_about
from app.tables.pipeline import TableSource, infer_columns, open_table
from app.tables.stream import AUTOMATIC, Header, ReadOptions
from tests.example_tables import EXAMPLES, as_csv, example
from tests.shared_data import published_tables, reads
from tests.tables.detection.people import GIVEN, columns_of

NOT_PERSONAL = {
    "colour": ["red", "green", "blue"],
    "Stadt": ["Köln", "Berlin", "Rom", "Oslo"],
    "grade": ["A", "B", "C", "D"],
    "product": ["Iris setosa", "Table large", "Chair small"],
    "version": ["1.2.3", "1.2.4", "2.0.0"],
    "band": ["18-25", "26-35", "36-50"],
    "amount": ["12.50", "13.75", "99.00", "12.5"],
    "year": ["2019", "2020", "2021"],
}


def kinds_of(columns: dict[str, list[str]], folder: Path) -> dict[str, Column]:
    sink = io.StringIO(newline="")
    writer = csv.writer(sink)
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return registered(sink.getvalue().encode(), folder, ReadOptions(header=Header.PRESENT))


def registered(body: bytes, folder: Path, params: ReadOptions) -> dict[str, Column]:
    with open_table(TableSource(io.BytesIO(body), "text/csv"), params, Limits(), folder) as stream:
        found = ingest(infer_columns(stream, {}), {}, NullSink(), Limits())
    return {column.name: column for column in found.columns}


@pytest.mark.parametrize("rows", [12, 400])
def test_at_least_99_of_100_direct_identifiers_are_found(rows: int, tmp_path: Path) -> None:
    found = total = 0
    missed = []
    for seed in range(4):
        for country in GIVEN:
            columns = columns_of(country, rows, random.Random(seed))
            for name, column in kinds_of(columns, tmp_path).items():
                total += 1
                found += column.kind is Kind.IDENTIFIER
                if column.kind is not Kind.IDENTIFIER:
                    missed.append((country, name, seed))
    assert found >= 0.99 * total, missed


def test_what_is_not_personal_raises_no_alarm(tmp_path: Path) -> None:
    rng = random.Random(7)
    columns = {
        name: [rng.choice(cells) for _ in range(200)] for name, cells in NOT_PERSONAL.items()
    }
    alarms = [
        (column.name, column.reason)
        for column in kinds_of(columns, tmp_path).values()
        if column.kind is Kind.IDENTIFIER
    ]
    assert alarms == []


@pytest.mark.parametrize("name", EXAMPLES)
def test_tables_of_measurements_raise_no_false_alarm(name: str, tmp_path: Path) -> None:
    require_no_alarm(as_csv(example(name)), tmp_path)


@reads("data/adult.csv")
def test_the_public_data_sets_raise_no_false_alarm(tmp_path: Path) -> None:
    for path in published_tables():
        require_no_alarm(path.read_bytes(), tmp_path)


def require_no_alarm(body: bytes, folder: Path) -> None:
    """No column is an identifier, and no cell holds something personal."""
    columns = registered(body, folder, ReadOptions())
    alarms = [
        (column.name, column.reason)
        for column in columns.values()
        if column.kind is Kind.IDENTIFIER
    ]
    assert alarms == []
    for name, *cells in zip(*csv.reader(io.StringIO(body.decode())), strict=True):
        assert personal_within(Counter(cells)) == {}, name


TIMES = {
    "minutes": "{0:d}:{1:02d}",
    "seconds": "{0:02d}:{1:02d}:{2:02d}",
    "fractions": "{0:02d}:{1:02d}:{2:02d}.25",
    "milliseconds": "{0:02d}:{1:02d}:{2:02d}:250",
    "twelve hours": "{3:d}:{1:02d} pm",
    "zones": "{0:02d}:{1:02d}:{2:02d}+02:00",
    "more than a day": "{4:d}:{1:02d}:{2:02d}",
    "days before them": "{3:d} days, {0:d}:{1:02d}:{2:02d}",
    "iso durations": "PT{0:d}H{1:d}M",
    "words": "{0:d} h {1:d} min",
}


def times(form: str, rows: int, different: int) -> list[str]:
    rng = random.Random(3)
    drawn = [
        form.format(*map(rng.randrange, (24, 60, 60)), rng.randrange(1, 12), rng.randrange(24, 900))
        for _ in range(different)
    ]
    return [drawn[row % different] for row in range(rows)]


@pytest.mark.parametrize("form", TIMES.values(), ids=TIMES)
def test_times_that_recur_are_categories_with_a_word_on_numbers(form: str, tmp_path: Path) -> None:
    column = kinds_of({"begins": times(form, 200, 15), "n": ["1"] * 200}, tmp_path)["begins"]
    assert column.kind is Kind.CATEGORICAL
    assert "times of day or durations" in column.reason
    assert "such as minutes" in column.reason


@pytest.mark.parametrize("form", TIMES.values(), ids=TIMES)
def test_times_that_all_differ_tell_people_apart_by_that_and_not_as_addresses(
    form: str, tmp_path: Path
) -> None:
    column = kinds_of({"begins": times(form, 40, 40), "n": ["1"] * 40}, tmp_path)["begins"]
    assert column.kind is Kind.IDENTIFIER
    assert "Nearly all its values are different" in column.reason
    assert "such as minutes" in column.reason


def workbook_of_times() -> bytes:
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.append(["begins", "lasts", "n"])
    for one in range(60):
        sheet.append([dt.time(8, one % 6, 30), dt.timedelta(hours=25 + one % 5), one * one])
        sheet.cell(sheet.max_row, 2).number_format = "[h]:mm:ss"
    sink = io.BytesIO()
    book.save(sink)
    return sink.getvalue()


def test_times_and_durations_of_a_workbook_are_categories(tmp_path: Path) -> None:
    found: dict[str, Column] = registered(workbook_of_times(), tmp_path, AUTOMATIC)
    for name, different in (("begins", 6), ("lasts", 5)):
        assert found[name].kind is Kind.CATEGORICAL
        assert f"{different} different values. It holds times" in found[name].reason


ADDRESSES = [
    "2001:db8:85a3:0:0:8a2e:370:7334",
    "2001:0db8:85a3:0000:0000:8a2e:0370:7334",
    "2001:db8::1",
    "::1",
    "::",
    "fe80::1%eth0",
    "::ffff:192.168.0.1",
    "64:ff9b::192.0.2.33",
    "2001:db8::",
]


@pytest.mark.parametrize("address", ADDRESSES)
def test_addresses_are_still_addresses(address: str) -> None:
    IPv6Address(address)
    assert IP6.fullmatch(address)
    assert not are_times([address])


def test_random_addresses_are_found_and_random_times_are_not(tmp_path: Path) -> None:
    rng = random.Random(5)
    addresses = [IPv6Address(rng.getrandbits(rng.choice([16, 60, 128]))) for _ in range(300)]
    for one in addresses:
        assert IP6.fullmatch(one.compressed)
        assert IP6.fullmatch(one.exploded)
    column = kinds_of({"host": [one.compressed for one in addresses]}, tmp_path)["host"]
    assert (column.kind, "IPv6" in column.reason) == (Kind.IDENTIFIER, True)


def test_a_network_card_is_called_one() -> None:
    assert MAC.fullmatch("00:1a:2b:3c:4d:5e")
    assert not IP6.fullmatch("00:1a:2b:3c:4d:5e")


@pytest.mark.parametrize(
    "cells", [["1:2", "3:1"], ["16:9", "4:3"], ["12", "30"], ["5 m", "6 m"], ["May", "June"], []]
)
def test_ratios_numbers_and_words_are_no_times(cells: list[str]) -> None:
    assert not are_times(cells)


HOLDING = {
    "e-mail addresses": [
        "write to anna0@example.org",
        "<Jörg.Müller+shop@mail.example.co.uk>, please",
        "x@y.de",
    ],
    "phone numbers": ["call +49 170 1234567 after six", "tel.: +1 (212) 555-0123", "+447911123456"],
    "IBANs": ["pay to DE89 3704 0044 0532 0130 00.", "GB82WEST12345698765432 (Smith)"],
}
HOLDING_NOTHING = [
    "met @noon, see you",
    "anna@home",
    "2 @ 3.50",
    "+5 points, then +12345",
    "3 + 123456789",
    "born 2020-01-31, size 40-49",
    "DE88 3704 0044 0532 0130 00",
    "AB12 CDEF 3456 IJKL",
    "Married-civ-spouse",
]


@pytest.mark.parametrize(
    ("what", "text"), [(what, text) for what, texts in HOLDING.items() for text in texts]
)
def test_what_is_personal_inside_a_text_is_found_with_its_share(what: str, text: str) -> None:
    assert personal_within({text: 1, "nothing": 3}) == {what: 0.25}


def test_other_texts_hold_nothing_personal() -> None:
    assert personal_within(dict.fromkeys(HOLDING_NOTHING, 1)) == {}
    assert personal_within({}) == {}


IDENTIFYING_NAMES = """
id_patient idPatient patient_id PatientID id_client num_client numero_secu N° dossier|matricule nom_complet prénom
Versichertennummer Patienten-Nr. Kundennummer kunden_id Mitgliedsnummer Personalnummer Steuer-ID Kontonummer
Vertragsnummer Geburtsname idCliente id_cliente nro_documento numero_documento matricula DNI curp expediente
numero_cliente id_paziente codice_fiscale matricola numero_tessera cognome klantnummer patiëntnummer bsn nr_klienta
pesel nazwisko nr_pacjenta personnummer kundnummer fødselsnummer CPR epost efternamn employee_no account_number
policy_number MRN company_phone customerEmail user_name id_usuario id_utente numéro_adhérent
""".replace("N° dossier|", "N°_dossier ").split()

NEUTRAL_NAMES = """
year yearmonth population amount sorted_price state_name country_name Jahr Einwohner année habitants año población
anno popolazione jaar aantal_inwoners rok liczba_mieszkancow team_name common_name file_name rank score votes month
""".split()


def test_names_of_identifiers_in_six_languages_are_told_from_names_of_amounts() -> None:
    missed = [name for name in IDENTIFYING_NAMES if identifying_word(name) is None]
    alarms = [name for name in NEUTRAL_NAMES if identifying_word(name) is not None]
    assert len(missed) <= 0.01 * len(IDENTIFYING_NAMES), missed
    assert alarms == []


def test_amounts_and_years_in_order_are_no_ids(tmp_path: Path) -> None:
    rng = random.Random(5)
    columns = {
        "year": [str(1900 + i) for i in range(100)],
        "population": [str(n) for n in sorted(rng.sample(range(10**6, 10**8), 100))],
        "tons": [str(n) for n in sorted(rng.sample(range(10_000, 10**7), 100), reverse=True)],
        "span": [f"{1900 + i % 40}-{1950 + i % 30}" for i in range(100)],
        "Name": [("Iris-setosa", "Iris-versicolor", "Iris-virginica")[i % 3] for i in range(100)],
        "nr": [str(i) for i in range(100)],
    }
    kinds = {name: one.kind for name, one in kinds_of(columns, tmp_path).items()}
    assert {name for name, kind in kinds.items() if kind is Kind.IDENTIFIER} <= {"span", "nr"}
    assert kinds["nr"] is Kind.IDENTIFIER
    assert kinds["year"] is Kind.NUMERIC


@pytest.mark.parametrize("name", ["Längengrad", "latitude", "breedtegraad", "Ethnie", "ethnicity"])
def test_coordinates_and_ethnicity_cause_a_warning(name: str) -> None:
    assert warnings_about(name, date=False)


def test_names_in_short_tables_are_found(tmp_path: Path) -> None:
    columns = {"wer": ["Anna Kern", "Peter Holz", "Lucia Roth", "Jan Berg"], "n": list("1234")}
    assert kinds_of(columns, tmp_path)["wer"].kind is Kind.IDENTIFIER
