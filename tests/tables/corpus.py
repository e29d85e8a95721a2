"""Files after the dialects of real tools, each with its right reading; written before any of them was read here.

A table of typed columns and a tool's way to write one give a file. What a careful person does with it is said by the
tool: `READ` it at once, `CONFIRM` proposals (titles above the names, rows without names, totals, marks of missing cells,
NaN), or `ASK` which of two readings is meant.
"""

from __future__ import annotations

import datetime as dt
import io
import json
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import openpyxl

Value = float | str | bool | dt.date | dt.datetime | None


class Care(StrEnum):
    """What a careful person does with a file."""

    READ = "read"
    CONFIRM = "confirm"
    ASK = "ask"


@dataclass(frozen=True)
class Column:
    """A column of a table, and how many decimals its numbers are written with; `money` has thousands marks."""

    name: str
    values: Sequence[Value]
    decimals: int = 0
    money: bool = False


@dataclass(frozen=True)
class CorpusFile:
    """A file with the columns a right reading has; texts of truth values are compared without their case."""

    name: str
    body: bytes
    columns: Sequence[Column]
    care: Care = Care.READ
    content_type: str | None = None


@dataclass(frozen=True)
class Language:
    """Words as a country's files have them: names of columns, places and remarks."""

    names: dict[str, str]
    places: Sequence[str]
    remarks: Sequence[str]


def _names(text: str) -> dict[str, str]:
    keys = "place amount weight day moment member code remark price".split()
    return dict(zip(keys, text.split(","), strict=True))


LANGUAGES = {
    "en": Language(
        _names("city,visits,weight,visit_date,recorded_at,member,zip,comment,price"),
        ["London", "Leeds", "York", "Bath", "New York", "Bristol"],
        [
            "fine",
            "to be called back",
            'said "never again"',
            "late, but came",
            "two chairs; one table",
        ],
    ),
    "de": Language(
        _names("Stadt,Anzahl,Gewicht,Datum,Zeitpunkt,Mitglied,PLZ,Bemerkung,Preis"),
        ["Köln", "München", "Düsseldorf", "Lübeck", "Halle", "Weißenfels"],
        ["für später", "nächste Woche", "größer als gedacht", "schön, aber teuer", "ohne Gewähr"],
    ),
    "fr": Language(
        _names("Ville,Nombre,Poids,Date,Horodatage,Membre,CP,Remarque,Prix"),
        ["Orléans", "Besançon", "Paris", "Nîmes", "Saint-Étienne", "Angoulême"],
        ["très bien", "à rappeler", "déjà reçu", "où est-il ?", "ça va, merci"],
    ),
    "es": Language(
        _names("Ciudad,Número,Peso,Fecha,Momento,Socio,CP,Observación,Precio"),
        ["Málaga", "Cádiz", "León", "La Coruña", "Logroño", "Ávila"],
        ["mañana", "está pendiente", "¿cuándo?", "después, quizás", "más tarde"],
    ),
    "it": Language(
        _names("Città,Numero,Peso,Data,Momento,Membro,CAP,Nota,Prezzo"),
        ["Roma", "Forlì", "Cefalù", "Milano", "Pescara", "Bari"],
        ["perché no", "è già qui", "più tardi", "così così", "metà, forse"],
    ),
    "pt": Language(
        _names("Cidade,Número,Peso,Data,Momento,Membro,CEP,Observação,Preço"),
        ["São Paulo", "Brasília", "Maceió", "Goiânia", "Belém", "Vitória"],
        ["não atendeu", "amanhã", "é urgente", "já concluído", "três opções, talvez"],
    ),
    "sv": Language(
        _names("Ort,Antal,Vikt,Datum,Tidpunkt,Medlem,Postnr,Anmärkning,Pris"),
        ["Malmö", "Göteborg", "Västerås", "Örebro", "Umeå", "Växjö"],
        ["återkommer", "på väg", "för sent", "väntar, kanske", "också här"],
    ),
    "pl": Language(
        _names("Miasto,Liczba,Waga,Data,Chwila,Członek,Kod,Uwaga,Cena"),
        ["Łódź", "Kraków", "Gdańsk", "Poznań", "Białystok", "Częstochowa"],
        ["później", "już gotowe", "następny tydzień", "zadzwonić, proszę", "źle wpisane"],
    ),
    "ru": Language(
        _names("Город,Число,Вес,Дата,Момент,Член,Код,Замечание,Цена"),
        ["Москва", "Казань", "Тверь", "Нижний Новгород", "Пермь", "Омск"],
        ["всё хорошо", "перезвонить завтра", "не пришёл", "позже, наверное", "уже получено"],
    ),
    "el": Language(
        _names("Πόλη,Πλήθος,Βάρος,Ημερομηνία,Στιγμή,Μέλος,ΤΚ,Σχόλιο,Τιμή"),
        ["Αθήνα", "Θεσσαλονίκη", "Πάτρα", "Λάρισα", "Ηράκλειο", "Βόλος"],
        ["όλα καλά", "να ξαναπάρει", "δεν ήρθε", "αργότερα, ίσως", "ήδη έτοιμο"],
    ),
    "tr": Language(
        _names("Şehir,Sayı,Ağırlık,Tarih,Zaman,Üye,Kod,Açıklama,Fiyat"),
        ["İstanbul", "Muğla", "Eskişehir", "Diyarbakır", "Iğdır", "Çankırı"],
        ["çok iyi", "yarın aranacak", "değişti mi", "sonra, belki", "şimdi hazır"],
    ),
    "he": Language(
        _names("עיר,מספר,משקל,תאריך,מועד,חבר,מיקוד,הערה,מחיר"),
        ["ירושלים", "חיפה", "באר שבע", "אשדוד", "נתניה", "אילת"],
        ["הכול בסדר", "להתקשר מחר", "לא הגיע", "אחר כך, אולי", "כבר מוכן"],
    ),
    "ja": Language(
        _names("都市,件数,重量,日付,時刻,会員,番号,備考,価格"),
        ["東京", "大阪市", "京都", "札幌", "横浜市", "名古屋"],
        ["問題なし", "明日連絡する", "遅れて来た", "後で、たぶん", "準備できました"],
    ),
}


def table(kind: str, language: str, rows: int = 24) -> list[Column]:
    """Return the table of that kind in a language: visits, sales, sensors or regions."""
    draw = random.Random(f"{kind} {language}")
    words = LANGUAGES[language]
    name = words.names
    first = dt.date(2021, 1, 1)
    days = [first + dt.timedelta(days=draw.randrange(900)) for _ in range(rows - 1)]
    days.append(dt.date(2021, 8, 31))
    places = [draw.choice(words.places) for _ in range(rows)]
    whole = [float(draw.randrange(1, 400)) for _ in range(rows)]
    small = [round(draw.uniform(-5, 95), 2) for _ in range(rows)]
    prices = [round(draw.uniform(3, 9_000), 2) for _ in range(rows - 1)] + [1_234_567.5]
    gaps = [None if draw.random() < 0.15 else value for value in small]
    remarks = [draw.choice([*words.remarks, None]) for _ in range(rows)]
    codes = [f"{draw.randrange(100, 99_999):05d}" for _ in range(rows - 1)] + ["01069"]
    moments = [
        dt.datetime.combine(
            day, dt.time(draw.randrange(1, 24), draw.randrange(60), draw.randrange(60))
        )
        for day in days
    ]
    member: list[Value] = [draw.random() < 0.4 for _ in range(rows)]
    columns = {
        "place": Column(name["place"], places),
        "amount": Column(name["amount"], whole),
        "weight": Column(name["weight"], gaps, decimals=2),
        "day": Column(name["day"], days),
        "moment": Column(name["moment"], moments),
        "member": Column(name["member"], member),
        "code": Column(name["code"], codes),
        "remark": Column(name["remark"], remarks),
        "price": Column(name["price"], prices, decimals=2, money=True),
    }
    kinds = {
        "visits": "place amount weight day member remark",
        "sales": "day place price amount code",
        "sensors": "moment weight amount place",
        "regions": "code place price amount weight",
    }
    return [columns[one] for one in kinds[kind].split()]


Written = Callable[[dt.date], str]


def iso(day: dt.date) -> str:
    return day.isoformat()


def day_first(mark: str, *, padded: bool = True, short: bool = False) -> Written:
    pattern = "{0:%d}{1}{0:%m}{1}" if padded else "{0.day}{1}{0.month}{1}"
    return lambda day: pattern.format(day, mark) + day.strftime("%y" if short else "%Y")


def month_first(*, padded: bool = False, short: bool = False) -> Written:
    return lambda day: (
        (f"{day.month:02d}/{day.day:02d}/" if padded else f"{day.month}/{day.day}/")
        + (f"{day.year % 100:02d}" if short else f"{day.year}")
    )


def year_first(mark: str, *, padded: bool = True) -> Written:
    return lambda day: (
        f"{day.year}{mark}{day.month:02d}{mark}{day.day:02d}"
        if padded
        else f"{day.year}{mark}{day.month}{mark}{day.day}"
    )


def spelled(pattern: str, case: Callable[[str], str] = str) -> Written:
    return lambda day: case(day.strftime(pattern))


def with_clock(day: Written, pattern: str = "%H:%M:%S", between: str = " ") -> Written:
    return lambda moment: day(moment) + between + moment.strftime(pattern)


def half_day(day: Written, *, seconds: bool = True) -> Written:
    """A day and a time of twelve hours without a zero in front: 1/5/2024 8:05:00 AM."""
    return lambda moment: (
        f"{day(moment)} {int(moment.strftime('%I'))}"
        + moment.strftime(":%M:%S %p" if seconds else ":%M %p")
    )


ISO_MOMENT = with_clock(lambda moment: moment.strftime("%Y-%m-%d"))
STAMP_Z = spelled("%Y-%m-%dT%H:%M:%SZ")


@dataclass(frozen=True)
class Tool:
    """How a tool writes a table.

    where:
        quote       which cells have quotes: needed ones, texts, all, or none
        group       the mark of thousands in amounts of money
        money       what stands around such an amount
        index       whether rows are counted in a first column without a name, and from where
        short_head  whether the names have no cell above that column
        above       lines before the names; below: lines after the rows
        number      how a number is written, in place of its decimals
        tables      kinds of tables that it writes
    """

    name: str
    delimiter: str = ","
    decimal: str = "."
    group: str = ""
    money: str = "{}"
    quote: str = "needed"
    end: str = "\n"
    encoding: str = "utf-8"
    missing: str = ""
    missing_text: str | None = None
    day: Written = iso
    moment: Written = ISO_MOMENT
    truth: tuple[str, str] = ("true", "false")
    index: int | None = None
    short_head: bool = False
    header: bool = True
    language: str = "en"
    case: Callable[[str], str] = str
    ended: bool = True
    above: tuple[str, ...] = ()
    below: tuple[str, ...] = ()
    number: Callable[[float], str] | None = None
    escape: bool = False
    care: Care = Care.READ
    tables: tuple[str, ...] = ("visits", "sales", "sensors", "regions")


def cell(tool: Tool, column: Column, value: Value) -> str | None:
    """The text of a cell; None for a missing one."""
    if value is None:
        return None
    if isinstance(value, bool):
        return tool.truth[0] if value else tool.truth[1]
    if isinstance(value, float):
        if tool.number is not None:
            return tool.number(value)
        text = f"{value:,.{column.decimals}f}" if column.money else f"{value:.{column.decimals}f}"
        whole, _, fraction = text.partition(".")
        text = whole.replace(",", tool.group) + (tool.decimal + fraction if fraction else "")
        return tool.money.format(text) if column.money else text
    if isinstance(value, dt.datetime):
        return tool.moment(value)
    return tool.day(value) if isinstance(value, dt.date) else value


def is_text(column: Column) -> bool:
    return any(isinstance(value, str) for value in column.values)


def written(tool: Tool, columns: Sequence[Column]) -> bytes:
    """The file of the table by that tool."""
    lines: list[str] = list(tool.above)
    special = f'"\r\n{tool.delimiter}'

    def quoted(text: str, *, is_string: bool) -> str:
        needed = any(sign in text for sign in special)
        if (
            tool.quote == "all"
            or (tool.quote == "text" and is_string)
            or (needed and tool.quote != "none")
        ):
            inner = text.replace('"', '\\"' if tool.escape else '""')
            return f'"{inner}"'
        return text

    names = [quoted(tool.case(one.name), is_string=True) for one in columns]
    if tool.index is not None and not tool.short_head:
        names.insert(0, quoted("", is_string=True))
    if tool.header:
        lines.append(tool.delimiter.join(names))
    for row in range(len(columns[0].values)):
        cells = (
            []
            if tool.index is None
            else [quoted(str(row + tool.index), is_string=tool.quote == "text")]
        )
        for column in columns:
            text = cell(tool, column, column.values[row])
            if text is None:
                mark = tool.missing
                if is_text(column) and tool.missing_text is not None:
                    mark = tool.missing_text
                cells.append('""' if tool.quote == "all" and not mark else mark)
            else:
                cells.append(quoted(text, is_string=is_text(column)))
        lines.append(tool.delimiter.join(cells))
    lines.extend(tool.below)
    text = tool.end.join(lines) + (tool.end if tool.ended else "")
    return text.encode(tool.encoding)


def reading(tool: Tool, columns: Sequence[Column]) -> list[Column]:
    """The right reading of the table by that tool: names, and texts of truth values, as it writes them."""
    found = []
    if tool.index is not None:
        counted = [float(row + tool.index) for row in range(len(columns[0].values))]
        found.append(Column("column_1", counted))
    for place, column in enumerate(columns, start=len(found) + 1):
        values = [told(tool, value) for value in column.values]
        if any(isinstance(value, bool) for value in values):
            values = [cell(tool, column, value) for value in values]
            if set(tool.truth) == {"1", "0"} or set(tool.truth) == {"-1", "0"}:
                values = [float(str(value)) for value in values]
        found.append(
            replace(
                column,
                name=tool.case(column.name) if tool.header else f"column_{place}",
                values=values,
            )
        )
    return found


def told(tool: Tool, value: Value) -> Value:
    """What a cell still says: a moment without the seconds that the tool leaves out, a day with its clock."""
    if isinstance(value, dt.datetime):
        other = value.replace(second=(value.second + 1) % 60)
        return value.replace(second=0) if tool.moment(value) == tool.moment(other) else value
    if isinstance(value, dt.date) and ":00" in tool.day(value):
        return dt.datetime.combine(value, dt.time())
    return value


def _general(value: float) -> str:
    """A number as R and SAS write it: at most 15 digits, powers of ten where they are shorter."""
    text = f"{value:.15g}"
    power = f"{value:e}".replace(".000000", "")
    return power if len(power) < len(text) else text


R = Tool(
    "R write.csv", quote="text", missing="NA", truth=("TRUE", "FALSE"), index=1, number=_general
)
PANDAS = Tool("pandas to_csv", index=0, truth=("True", "False"), number=repr)
EXCEL = Tool("Excel", end="\r\n", truth=("TRUE", "FALSE"))
US_DAY = month_first()
SQL = Tool("PostgreSQL COPY", truth=("t", "f"))
SAS = Tool("SAS", missing=".", missing_text="", truth=("1", "0"), end="\r\n")
EUROPE = replace(EXCEL, delimiter=";", decimal=",")

TOOLS: list[Tool] = [
    # R
    R,
    replace(R, name="R write.csv, row.names = FALSE", index=None),
    replace(
        R,
        name="R write.csv2",
        delimiter=";",
        decimal=",",
        number=lambda x: _general(x).replace(".", ","),
    ),
    replace(R, name="R write.table", delimiter=" ", short_head=True, tables=("visits", "regions")),
    replace(
        R,
        name="R write.table, tabs, no quotes",
        delimiter="\t",
        quote="none",
        index=None,
        tables=("sales", "regions"),
    ),
    replace(R, name="R readr::write_csv", index=None, quote="needed", moment=STAMP_Z),
    replace(
        R,
        name="R data.table::fwrite",
        index=None,
        quote="needed",
        missing="",
        moment=STAMP_Z,
        number=repr,
    ),
    # Python and kin
    PANDAS,
    replace(PANDAS, name="pandas to_csv, index=False", index=None),
    replace(
        PANDAS,
        name="pandas to_csv, sep=';', decimal=','",
        index=None,
        delimiter=";",
        decimal=",",
        number=lambda x: repr(x).replace(".", ","),
    ),
    replace(
        PANDAS,
        name="pandas to_csv, tabs, na_rep='NaN'",
        index=None,
        delimiter="\t",
        missing="NaN",
        care=Care.CONFIRM,
    ),
    replace(
        PANDAS,
        name="pandas to_csv of a zone",
        moment=spelled("%Y-%m-%d %H:%M:%S+00:00"),
        tables=("sensors",),
    ),
    replace(
        PANDAS,
        name="pandas to_csv of float32",
        number=lambda x: f"{x:.6g}" if abs(x) < 1e5 else repr(x),
        tables=("visits", "sensors"),
    ),
    Tool("polars write_csv", moment=spelled("%Y-%m-%dT%H:%M:%S.000000")),
    Tool(
        "numpy savetxt",
        number=lambda x: f"{x:.18e}",
        missing="nan",
        care=Care.CONFIRM,
        tables=("regions",),
        delimiter=",",
    ),
    Tool("Python csv.QUOTE_ALL", quote="all", end="\r\n", truth=("True", "False")),
    Tool("Spark", escape=True, missing_text='""', moment=spelled("%Y-%m-%dT%H:%M:%S.000Z")),
    Tool("Julia CSV.write", moment=spelled("%Y-%m-%dT%H:%M:%S")),
    Tool(
        "MATLAB writetable",
        missing="NaN",
        missing_text="",
        day=spelled("%d-%b-%Y"),
        moment=spelled("%d-%b-%Y %H:%M:%S"),
        truth=("1", "0"),
        care=Care.CONFIRM,
    ),
    # Excel by locale
    replace(
        EXCEL,
        name="Excel en-US",
        day=US_DAY,
        moment=with_clock(US_DAY, "%H:%M"),
        encoding="windows-1252",
        group=",",
        money="${}",
    ),
    replace(
        EXCEL,
        name="Excel en-US, CSV UTF-8",
        day=US_DAY,
        moment=half_day(US_DAY),
        encoding="utf-8-sig",
        group=",",
        money=" ${} ",
    ),
    replace(
        EXCEL,
        name="Excel en-GB",
        day=day_first("/"),
        moment=with_clock(day_first("/"), "%H:%M"),
        encoding="windows-1252",
        group=",",
        money="£{}",
    ),
    replace(
        EUROPE,
        name="Excel de-DE",
        language="de",
        encoding="windows-1252",
        day=day_first("."),
        moment=with_clock(day_first("."), "%H:%M"),
        group=".",
        money="{} €",
        truth=("WAHR", "FALSCH"),
    ),
    replace(
        EUROPE,
        name="Excel de-DE, CSV UTF-8",
        language="de",
        encoding="utf-8-sig",
        day=day_first("."),
        moment=with_clock(day_first(".")),
        group=".",
        truth=("WAHR", "FALSCH"),
    ),
    replace(
        EXCEL,
        name="Excel de-CH",
        delimiter=";",
        language="de",
        encoding="windows-1252",
        day=day_first("."),
        moment=with_clock(day_first(".")),
        group="’",
        truth=("WAHR", "FALSCH"),
    ),
    replace(
        EUROPE,
        name="Excel fr-FR",
        language="fr",
        encoding="windows-1252",
        day=day_first("/"),
        moment=with_clock(day_first("/"), "%H:%M"),
        group="\xa0",
        money="{} €",
        truth=("VRAI", "FAUX"),
    ),
    replace(
        EUROPE,
        name="Excel fr-FR, CSV UTF-8",
        language="fr",
        encoding="utf-8-sig",
        day=day_first("/"),
        moment=with_clock(day_first("/"), "%H:%M"),
        group="\u202f",
        money="{} €",
        truth=("VRAI", "FAUX"),
    ),
    replace(
        EUROPE,
        name="Excel es-ES",
        language="es",
        encoding="windows-1252",
        day=day_first("/"),
        moment=with_clock(day_first("/", padded=False), "%H:%M"),
        group=".",
        money="{} €",
        truth=("VERDADERO", "FALSO"),
    ),
    replace(
        EUROPE,
        name="Excel it-IT",
        language="it",
        encoding="windows-1252",
        day=day_first("/"),
        moment=with_clock(day_first("/"), "%H:%M"),
        group=".",
        money="€ {}",
        truth=("VERO", "FALSO"),
    ),
    replace(
        EUROPE,
        name="Excel pt-BR",
        language="pt",
        encoding="windows-1252",
        day=day_first("/"),
        moment=with_clock(day_first("/"), "%H:%M"),
        group=".",
        money="R$ {}",
        truth=("VERDADEIRO", "FALSO"),
    ),
    replace(
        EUROPE,
        name="Excel sv-SE",
        language="sv",
        encoding="windows-1252",
        moment=spelled("%Y-%m-%d %H:%M"),
        group="\xa0",
        money="{} kr",
        truth=("SANT", "FALSKT"),
    ),
    replace(
        EUROPE,
        name="Excel pl-PL",
        language="pl",
        encoding="windows-1250",
        day=day_first("."),
        moment=with_clock(day_first("."), "%H:%M"),
        group="\xa0",
        money="{} zł",
        truth=("PRAWDA", "FAŁSZ"),
    ),
    replace(
        EUROPE,
        name="Excel ru-RU",
        language="ru",
        encoding="windows-1251",
        day=day_first("."),
        moment=with_clock(day_first("."), "%H:%M"),
        group="\xa0",
        truth=("ИСТИНА", "ЛОЖЬ"),
    ),
    replace(
        EUROPE,
        name="Excel el-GR",
        language="el",
        encoding="windows-1253",
        day=day_first("/", padded=False),
        moment=with_clock(day_first("/", padded=False), "%H:%M"),
        group=".",
        truth=("ΑΛΗΘΗΣ", "ΨΕΥΔΗΣ"),
    ),
    replace(
        EUROPE,
        name="Excel tr-TR",
        language="tr",
        encoding="windows-1254",
        day=day_first("."),
        moment=with_clock(day_first("."), "%H:%M"),
        group=".",
        truth=("DOĞRU", "YANLIŞ"),
    ),
    replace(
        EXCEL,
        name="Excel he-IL",
        language="he",
        encoding="windows-1255",
        day=day_first("/"),
        moment=with_clock(day_first("/"), "%H:%M"),
        group=",",
    ),
    replace(
        EXCEL,
        name="Excel ja-JP",
        language="ja",
        encoding="cp932",
        day=year_first("/", padded=False),
        moment=with_clock(year_first("/", padded=False), "%H:%M"),
        group=",",
    ),
    replace(
        EXCEL,
        name="Excel, Unicode text",
        delimiter="\t",
        encoding="utf-16",
        day=US_DAY,
        moment=with_clock(US_DAY, "%H:%M"),
        group=",",
        money="${}",
    ),
    replace(
        EXCEL,
        name="Excel, Unicode text, de-DE",
        delimiter="\t",
        decimal=",",
        language="de",
        encoding="utf-16",
        day=day_first("."),
        moment=with_clock(day_first("."), "%H:%M"),
        group=".",
    ),
    replace(
        EXCEL,
        name="Excel, Mac text",
        delimiter="\t",
        end="\r",
        encoding="mac_roman",
        day=month_first(short=True),
        moment=with_clock(month_first(short=True), "%H:%M"),
        tables=("visits", "regions"),
    ),
    # Spreadsheets of others
    Tool(
        "Google Sheets en-US",
        end="\r\n",
        ended=False,
        day=US_DAY,
        moment=with_clock(US_DAY),
        truth=("TRUE", "FALSE"),
        group=",",
        money="${}",
    ),
    Tool(
        "Google Sheets de",
        language="de",
        end="\r\n",
        ended=False,
        day=day_first("."),
        moment=with_clock(day_first(".")),
        truth=("TRUE", "FALSE"),
        decimal=",",
        group=".",
    ),
    Tool(
        "LibreOffice en-US",
        day=month_first(padded=True, short=True),
        moment=half_day(month_first(padded=True, short=True), seconds=False),
        truth=("TRUE", "FALSE"),
        group=",",
        money="${}",
    ),
    Tool(
        "LibreOffice de",
        delimiter=";",
        decimal=",",
        language="de",
        quote="text",
        day=day_first(".", short=True),
        moment=with_clock(day_first(".", short=True), "%H:%M"),
        truth=("WAHR", "FALSCH"),
        group=".",
    ),
    Tool("Apple Numbers", day=US_DAY, moment=half_day(US_DAY), truth=("TRUE", "FALSE"), end="\r\n"),
    # Statistics
    Tool(
        "SPSS SAVE TRANSLATE",
        encoding="utf-8-sig",
        end="\r\n",
        missing=" ",
        missing_text="",
        day=month_first(padded=True),
        moment=spelled("%d-%b-%Y %H:%M:%S", str.upper),
        truth=("1", "0"),
        number=lambda x: f"{x:.2f}".replace("0.", ".", 1) if 0 < x < 1 else f"{x:.2f}",
    ),
    Tool(
        "SPSS, semicolons and commas",
        delimiter=";",
        decimal=",",
        language="de",
        encoding="utf-8-sig",
        end="\r\n",
        missing=" ",
        missing_text="",
        day=day_first("."),
        moment=with_clock(day_first(".")),
        truth=("1", "0"),
    ),
    Tool(
        "SPSS, #NULL!",
        encoding="utf-8-sig",
        end="\r\n",
        missing="#NULL!",
        missing_text="",
        day=day_first("."),
        moment=with_clock(day_first(".")),
        truth=("1", "0"),
        tables=("visits", "regions"),
    ),
    replace(
        SAS,
        name="SAS PROC EXPORT",
        day=month_first(padded=True),
        moment=spelled("%d%b%Y:%H:%M:%S", str.upper),
    ),
    replace(
        SAS,
        name="SAS, DATE9.",
        day=spelled("%d%b%Y", str.upper),
        moment=spelled("%d%b%y:%H:%M:%S", str.upper),
    ),
    replace(
        SAS,
        name="SAS ODS CSV",
        quote="text",
        day=spelled("%d%b%y", str.upper),
        moment=spelled("%d%b%y:%H:%M:%S", str.upper),
        end="\n",
    ),
    Tool(
        "Stata export delimited",
        day=spelled("%d%b%Y", str.lower),
        moment=spelled("%d%b%Y %H:%M:%S", str.lower),
        truth=("1", "0"),
    ),
    Tool(
        "Stata outsheet",
        delimiter="\t",
        quote="text",
        missing=".",
        missing_text='""',
        day=spelled("%d%b%Y", str.lower),
        moment=spelled("%d%b%Y %H:%M:%S", str.lower),
        truth=("1", "0"),
    ),
    Tool(
        "JMP",
        delimiter=",",
        day=month_first(padded=True),
        moment=half_day(month_first(padded=True)),
        missing=".",
        missing_text="",
        truth=("1", "0"),
    ),
    # Databases
    replace(SQL, name="PostgreSQL COPY CSV HEADER"),
    replace(
        SQL,
        name="PostgreSQL COPY, time stamps of a zone",
        moment=spelled("%Y-%m-%d %H:%M:%S+00"),
        tables=("sensors",),
    ),
    replace(
        SQL,
        name="PostgreSQL COPY text",
        delimiter="\t",
        quote="none",
        missing="\\N",
        tables=("sales", "sensors", "regions"),
    ),
    replace(
        SQL,
        name="PostgreSQL COPY text, no header",
        delimiter="\t",
        quote="none",
        missing="\\N",
        header=False,
        care=Care.CONFIRM,
        tables=("sales", "sensors", "regions"),
    ),
    Tool("DuckDB COPY"),
    Tool("DuckDB COPY, pipes", delimiter="|"),
    Tool("SQLite .mode csv", quote="needed", truth=("1", "0"), end="\r\n"),
    Tool(
        "MySQL batch",
        delimiter="\t",
        quote="none",
        missing="NULL",
        truth=("1", "0"),
        tables=("sales", "sensors", "regions"),
    ),
    Tool("MySQL Workbench", missing="NULL", truth=("1", "0")),
    Tool(
        "SQL Server SSMS",
        missing="NULL",
        encoding="utf-8-sig",
        end="\r\n",
        moment=spelled("%Y-%m-%d %H:%M:%S.000"),
        truth=("1", "0"),
    ),
    Tool(
        "SQL Server bcp",
        delimiter="\t",
        header=False,
        care=Care.CONFIRM,
        quote="none",
        moment=spelled("%Y-%m-%d %H:%M:%S.000"),
        tables=("sales", "sensors"),
    ),
    Tool(
        "Oracle SQL Developer",
        quote="text",
        case=str.upper,
        day=spelled("%d-%b-%y", str.upper),
        moment=spelled("%d-%b-%y %I.%M.%S.000000000 %p", str.upper),
        truth=("1", "0"),
        tables=("visits", "sales", "regions"),
    ),
    Tool("BigQuery", moment=spelled("%Y-%m-%d %H:%M:%S UTC")),
    Tool("Snowflake", missing="\\N", moment=spelled("%Y-%m-%d %H:%M:%S.000")),
    Tool(
        "Hive",
        delimiter="\t",
        quote="none",
        missing="NULL",
        truth=("true", "false"),
        tables=("sensors", "regions"),
    ),
    Tool(
        "Access",
        day=with_clock(month_first(), "0:00:00"),
        moment=with_clock(month_first()),
        truth=("1", "0"),
        quote="text",
        end="\r\n",
        tables=("visits", "regions", "sensors"),
    ),
    # Business intelligence
    Tool(
        "Tableau crosstab",
        delimiter="\t",
        encoding="utf-16",
        end="\r\n",
        day=US_DAY,
        moment=half_day(US_DAY),
        group=",",
        money="${}",
        truth=("True", "False"),
    ),
    Tool(
        "Tableau data",
        encoding="utf-8-sig",
        end="\r\n",
        day=half_day(US_DAY),
        moment=half_day(US_DAY),
        truth=("true", "false"),
        missing="",
        tables=("sensors", "regions"),
    ),
    Tool(
        "Power BI",
        encoding="utf-8-sig",
        end="\r\n",
        day=with_clock(iso, "00:00:00"),
        moment=STAMP_Z,
        truth=("True", "False"),
        tables=("sensors", "regions"),
    ),
    Tool(
        "Salesforce",
        quote="all",
        encoding="windows-1252",
        day=US_DAY,
        moment=half_day(US_DAY, seconds=False),
        truth=("1", "0"),
    ),
    Tool("Looker", day=iso, group=",", money="${}", truth=("Yes", "No")),
    Tool(
        "SAP",
        delimiter=";",
        decimal=",",
        language="de",
        encoding="windows-1252",
        day=day_first("."),
        moment=with_clock(day_first(".")),
        group=".",
        truth=("X", ""),
        tables=("sales", "regions", "sensors"),
    ),
    # Surveys
    Tool("REDCap", truth=("1", "0"), moment=spelled("%Y-%m-%d %H:%M")),
    Tool("LimeSurvey", quote="all", truth=("Y", "N"), encoding="utf-8-sig"),
    Tool(
        "Google Forms",
        end="\r\n",
        ended=False,
        moment=half_day(year_first("/", padded=True)),
        day=US_DAY,
        truth=("Yes", "No"),
    ),
    # Portals of open data
    Tool(
        "Socrata",
        day=month_first(padded=True),
        moment=half_day(month_first(padded=True)),
        tables=("visits", "sales", "sensors", "regions"),
    ),
    Tool(
        "CKAN",
        end="\r\n",
        day=lambda day: f"{day.isoformat()}T00:00:00",
        moment=spelled("%Y-%m-%dT%H:%M:%S"),
        truth=("True", "False"),
        tables=("sensors", "regions"),
    ),
    Tool(
        "OpenDataSoft",
        delimiter=";",
        language="fr",
        encoding="utf-8-sig",
        end="\r\n",
        moment=spelled("%Y-%m-%dT%H:%M:%S+00:00"),
        truth=("True", "False"),
    ),
    Tool("INSEE", delimiter=";", quote="text", language="fr", day=iso, truth=("oui", "non")),
    Tool(
        "data.gouv.fr",
        delimiter=";",
        decimal=",",
        language="fr",
        encoding="iso-8859-15",
        day=day_first("/"),
        moment=with_clock(day_first("/"), "%H:%M"),
        truth=("VRAI", "FAUX"),
    ),
    Tool(
        "datos.gob.es",
        delimiter=";",
        decimal=",",
        language="es",
        encoding="iso-8859-1",
        day=day_first("/"),
        moment=with_clock(day_first("/"), "%H:%M"),
    ),
    Tool(
        "GovData",
        delimiter=";",
        decimal=",",
        language="de",
        day=day_first("."),
        moment=spelled("%d.%m.%Y %H:%M"),
        truth=("ja", "nein"),
    ),
    Tool(
        "data.gov.gr",
        delimiter=";",
        decimal=",",
        language="el",
        encoding="iso-8859-7",
        day=day_first("/"),
        moment=with_clock(day_first("/")),
    ),
    Tool(
        "data.gov.ru, KOI8-R",
        delimiter=";",
        decimal=",",
        language="ru",
        encoding="koi8-r",
        day=day_first("."),
        moment=with_clock(day_first(".")),
    ),
    Tool(
        "DOS, cp866",
        delimiter=";",
        decimal=",",
        language="ru",
        encoding="cp866",
        day=day_first("."),
        moment=with_clock(day_first(".")),
        tables=("visits",),
    ),
    Tool(
        "dane.gov.pl",
        delimiter=";",
        decimal=",",
        language="pl",
        encoding="iso-8859-2",
        moment=spelled("%Y-%m-%d %H:%M"),
    ),
    Tool(
        "data.gov.il",
        language="he",
        encoding="utf-8-sig",
        day=day_first("/"),
        moment=with_clock(day_first("/")),
    ),
    Tool(
        "e-Stat",
        language="ja",
        encoding="utf-8-sig",
        end="\r\n",
        day=year_first("/"),
        moment=with_clock(year_first("/")),
    ),
    # What one confirms: titles, notes, marks
    Tool(
        "Destatis",
        delimiter=";",
        decimal=",",
        language="de",
        encoding="windows-1252",
        day=day_first("."),
        above=("Besuche nach Orten", "Deutschland insgesamt", ""),
        care=Care.CONFIRM,
        tables=("visits", "regions"),
    ),
    Tool(
        "ONS",
        end="\r\n",
        above=('"Visits by city"', '"Source: Office"'),
        care=Care.CONFIRM,
        tables=("visits", "regions"),
    ),
    Tool(
        "a dash for missing",
        missing="-",
        missing_text="",
        care=Care.CONFIRM,
        tables=("visits", "regions"),
    ),
    Tool(
        "a note below",
        below=("Source: own figures",),
        care=Care.CONFIRM,
        tables=("visits", "regions"),
    ),
    # What one asks
    Tool(
        "days that may be months",
        day=lambda day: f"{day.day % 12 + 1:02d}/{day.month:02d}/{day.year}",
        care=Care.ASK,
        tables=("visits", "sales"),
    ),
    Tool(
        "days that may be months, points",
        delimiter=";",
        decimal=",",
        language="de",
        day=lambda day: f"{day.day % 12 + 1:02d}/{day.month:02d}/{day.year}",
        care=Care.ASK,
        tables=("visits",),
    ),
]


def _files() -> Iterator[CorpusFile]:
    for tool in TOOLS:
        for kind in tool.tables:
            columns = table(kind, tool.language)
            marked = (
                not tool.header or not tool.missing or any(None in one.values for one in columns)
            )
            care = tool.care if marked else Care.READ
            yield CorpusFile(
                f"{tool.name}: {kind}", written(tool, columns), reading(tool, columns), care
            )
    yield from _workbooks()
    yield from _json()
    yield from _portals()


def _workbooks() -> Iterator[CorpusFile]:
    formats = {"en": "m/d/yyyy", "de": "dd.mm.yyyy", "fr": "dd/mm/yyyy"}
    for language, day_format in formats.items():
        for kind in ("visits", "sales", "sensors", "regions"):
            columns = table(kind, language)
            book = openpyxl.Workbook()
            sheet = book.worksheets[0]
            sheet.append([one.name for one in columns])
            for row in zip(*(one.values for one in columns), strict=True):
                sheet.append(list(row))
            for cells in sheet.iter_rows(min_row=2):
                for one in cells:
                    if isinstance(one.value, dt.datetime):
                        one.number_format = f"{day_format} hh:mm:ss"
                    elif isinstance(one.value, dt.date):
                        one.number_format = day_format
            sink = io.BytesIO()
            book.save(sink)
            tool = Tool("xlsx", truth=("true", "false"))
            yield CorpusFile(
                f"Excel workbook {language}: {kind}", sink.getvalue(), reading(tool, columns)
            )


def _plain(value: Value) -> object:
    return value.isoformat() if isinstance(value, dt.date) else value


def _json() -> Iterator[CorpusFile]:
    tool = Tool("json")
    for kind in ("visits", "sales", "sensors", "regions"):
        columns = table(kind, "fr")
        rows = [
            {one.name: _plain(value) for one, value in zip(columns, row, strict=True)}
            for row in zip(*(one.values for one in columns), strict=True)
        ]
        right = reading(tool, columns)
        yield CorpusFile(
            f"JSON records: {kind}",
            json.dumps(rows).encode(),
            right,
            content_type="application/json",
        )
        yield CorpusFile(
            f"JSON records, no type: {kind}", json.dumps(rows, indent=1).encode(), right
        )
        lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        yield CorpusFile(f"JSON lines: {kind}", lines.encode(), right)


def _lines(*rows: str, end: str = "\n") -> bytes:
    return "".join(row + end for row in rows).encode()


def _numbers(*values: float | None) -> list[Value]:
    return [None if value is None else float(value) for value in values]


def _portals() -> Iterator[CorpusFile]:
    """Files of portals and tools whose form no table of others has."""
    countries: list[Value] = ["Aruba", "Angola", "Albania"]
    codes: list[Value] = ["ABW", "AGO", "ALB"]
    years = [
        Column("2010", _numbers(54211, None, 2913021)),
        Column("2011", _numbers(55438, 5643182, 2905195)),
    ]
    yield CorpusFile(
        "World Bank, names in row 5",
        _lines(
            '"Data Source","World Development Indicators",', "", '"Last Updated Date","2024-06-28",', "",
            '"Country Name","Country Code","2010","2011",', '"Aruba","ABW","54211","55438",',
            '"Angola","AGO","","5643182",', '"Albania","ALB","2913021","2905195",', end="\r\n",
        ),
        [Column("Country Name", countries), Column("Country Code", codes), *years, Column("column_5", [None] * 3)],
        Care.CONFIRM,
    )  # fmt: skip
    yield CorpusFile(
        "World Bank, without its titles",
        _lines(
            '"Country Name","Country Code","2010","2011"', '"Aruba","ABW","54211","55438"',
            '"Angola","AGO","","5643182"', '"Albania","ALB","2913021","2905195"',
        ),
        [Column("Country Name", countries), Column("Country Code", codes), *years],
    )  # fmt: skip
    yield CorpusFile(
        "Our World in Data",
        _lines("Entity,Code,Year,Life expectancy - Sex: all - Age: 0 - Variant: estimates", "Africa,,1950,37.6",
               "Africa,,1951,37.9", "Angola,AGO,1950,36.2", "Angola,AGO,1951,36.3"),
        [Column("Entity", ["Africa", "Africa", "Angola", "Angola"]), Column("Code", [None, None, "AGO", "AGO"]),
         Column("Year", _numbers(1950, 1951, 1950, 1951)),
         Column("Life expectancy - Sex: all - Age: 0 - Variant: estimates", _numbers(37.6, 37.9, 36.2, 36.3))],
    )  # fmt: skip
    yield CorpusFile(
        "FRED",
        _lines("DATE,UNRATE", *(f"2020-{month:02d}-01,{3.5 + month / 10:.1f}" for month in range(1, 13)), "2021-01-01,."),
        [Column("DATE", [dt.date(2020, month, 1) for month in range(1, 13)] + [dt.date(2021, 1, 1)]),
         Column("UNRATE", [round(3.5 + month / 10, 1) for month in range(1, 13)] + [None])],
    )  # fmt: skip
    yield CorpusFile(
        "Yahoo Finance",
        _lines("Date,Open,High,Volume", "2024-01-05,182.15,182.76,62303300", "2024-01-08,null,null,null",
               "2024-01-09,183.92,185.15,42841800"),
        [Column("Date", [dt.date(2024, 1, 5), dt.date(2024, 1, 8), dt.date(2024, 1, 9)]),
         Column("Open", _numbers(182.15, None, 183.92)), Column("High", _numbers(182.76, None, 185.15)),
         Column("Volume", _numbers(62303300, None, 42841800))],
    )  # fmt: skip
    yield CorpusFile(
        "seaborn's titanic",
        _lines("survived,pclass,sex,age,fare,deck,adult_male", "0,3,male,22.0,7.25,,True", "1,1,female,38.0,71.2833,C,False",
               "1,3,female,,7.925,,False", "1,1,female,35.0,53.1,C,False", "0,3,male,35.0,8.05,,True"),
        [Column("survived", _numbers(0, 1, 1, 1, 0)), Column("pclass", _numbers(3, 1, 3, 1, 3)),
         Column("sex", ["male", "female", "female", "female", "male"]), Column("age", _numbers(22, 38, None, 35, 35)),
         Column("fare", _numbers(7.25, 71.2833, 7.925, 53.1, 8.05)), Column("deck", [None, "C", None, "C", None]),
         Column("adult_male", ["True", "False", "False", "False", "True"])],
    )  # fmt: skip
    yield CorpusFile(
        "Vega's stocks", _lines("symbol,date,price", *(f"MSFT,{month} 1 20{year:02d},{30 + year + at / 10:.2f}"
        for year in range(3) for at, month in enumerate(["Jan", "Feb", "Mar"]))),
        [Column("symbol", ["MSFT"] * 9), Column("date", [dt.date(2000 + year, at + 1, 1) for year in range(3) for at in range(3)]),
         Column("price", [round(30 + year + at / 10, 2) for year in range(3) for at in range(3)])],
    )  # fmt: skip
    yield CorpusFile(
        "ggplot2's mpg", _lines('"","manufacturer","model","displ","year","cyl","trans"', '"1","audi","a4",1.8,1999,4,"auto(l5)"',
        '"2","audi","a4 quattro",2,2008,4,"manual(m6)"', '"3","ford","f150",4.6,1999,8,"auto(l4)"'),
        [Column("column_1", _numbers(1, 2, 3)), Column("manufacturer", ["audi", "audi", "ford"]),
         Column("model", ["a4", "a4 quattro", "f150"]), Column("displ", _numbers(1.8, 2, 4.6)),
         Column("year", _numbers(1999, 2008, 1999)), Column("cyl", _numbers(4, 4, 8)),
         Column("trans", ["auto(l5)", "manual(m6)", "auto(l4)"])],
    )  # fmt: skip
    yield CorpusFile(
        "R's mtcars with names of rows", _lines('"","mpg","cyl","hp"', '"Mazda RX4",21,6,110', '"Datsun 710",22.8,4,93', '"Valiant",18.1,6,105'),
        [Column("column_1", ["Mazda RX4", "Datsun 710", "Valiant"]), Column("mpg", _numbers(21, 22.8, 18.1)),
         Column("cyl", _numbers(6, 4, 6)), Column("hp", _numbers(110, 93, 105))],
    )  # fmt: skip
    yield CorpusFile(
        "R, missing texts beside quoted ones", _lines('"country","code","n"', '"Namibia","NA",1', '"Norway","NO",2', 'NA,NA,3', '"Nepal","NP",NA'),
        [Column("country", ["Namibia", "Norway", None, "Nepal"]), Column("code", ["NA", "NO", None, "NP"]), Column("n", _numbers(1, 2, 3, None))],
    )  # fmt: skip
    yield CorpusFile(
        "R, moments of which one is midnight", _lines('"at","x"', "2024-01-05,1.5", "2024-01-05 08:05:00,2.5", "2024-01-06 09:00:00,3.5"),
        [Column("at", [dt.datetime(2024, 1, 5), dt.datetime(2024, 1, 5, 8, 5), dt.datetime(2024, 1, 6, 9)]), Column("x", _numbers(1.5, 2.5, 3.5))],
    )  # fmt: skip
    yield CorpusFile(
        "names given twice", _lines("date,value,value", "2024-01-05,1.5,2", "2024-01-06,2.5,3"),
        [Column("date", [dt.date(2024, 1, 5), dt.date(2024, 1, 6)]), Column("value", _numbers(1.5, 2.5)), Column("value_2", _numbers(2, 3))],
    )  # fmt: skip
    yield CorpusFile(
        "CIA factbook ranks", _lines("name,slug,value,ranking", 'China,china,"1,416,043,270",1', 'India,india,"1,409,128,296",2', 'Malta,malta,"469,730",176'),
        [Column("name", ["China", "India", "Malta"]), Column("slug", ["china", "india", "malta"]),
         Column("value", _numbers(1416043270, 1409128296, 469730)), Column("ranking", _numbers(1, 2, 176))],
    )  # fmt: skip
    yield CorpusFile(
        "COVID by country and day", _lines("Province/State,Country/Region,Lat,Long,1/22/20,1/23/20,1/24/20", ",Italy,41.87,12.56,0,0,2", "Hubei,China,30.97,112.27,444,444,549"),
        [Column("Province/State", [None, "Hubei"]), Column("Country/Region", ["Italy", "China"]), Column("Lat", _numbers(41.87, 30.97)),
         Column("Long", _numbers(12.56, 112.27)), Column("1/22/20", _numbers(0, 444)), Column("1/23/20", _numbers(0, 444)), Column("1/24/20", _numbers(2, 549))],
    )  # fmt: skip
    yield CorpusFile(
        "congress terms", _lines("congress,chamber,party,session,district", "115th,house,D,1,09S", "115th,senate,R,2,10N", "116th,house,D,1,11E"),
        [Column("congress", ["115th", "115th", "116th"]), Column("chamber", ["house", "senate", "house"]), Column("party", ["D", "R", "D"]),
         Column("session", _numbers(1, 2, 1)), Column("district", ["09S", "10N", "11E"])],
    )  # fmt: skip
    yield CorpusFile(
        "a column of numbers with one blank cell", _lines("id,score,team", "1,10,a", "2,  ,b", "3,12,a", "4,13,b"),
        [Column("id", _numbers(1, 2, 3, 4)), Column("score", _numbers(10, None, 12, 13)), Column("team", ["a", "b", "a", "b"])],
    )  # fmt: skip
    yield CorpusFile(
        "totals below", _lines("city,visits", "London,10", "Leeds,20", "York,30", "Total,60"),
        [Column("city", ["London", "Leeds", "York"]), Column("visits", _numbers(10, 20, 30))], Care.CONFIRM,
    )  # fmt: skip
    yield CorpusFile(
        "small counts suppressed", _lines("ward,cases", *(f"w{n},{n * 7}" for n in range(1, 12)), "w12,<5", "w13,<5"),
        [Column("ward", [f"w{n}" for n in range(1, 14)]), Column("cases", [*_numbers(*(n * 7 for n in range(1, 12))), None, None])], Care.CONFIRM,
    )  # fmt: skip
    yield CorpusFile(
        "survey with lines in its names", b'"How old\nare you?","Where do you\r\nlive?"\n30,Rome\n41,Oslo\n',
        [Column("How old are you?", _numbers(30, 41)), Column("Where do you live?", ["Rome", "Oslo"])],
    )  # fmt: skip
    yield CorpusFile(
        "thousands or decimals", _lines("city;value", "Rome;1.234", "Oslo;5.678", "Bonn;9.012"), [Column("city", ["Rome", "Oslo", "Bonn"])], Care.ASK,
    )  # fmt: skip
    yield CorpusFile(
        "points among commas", _lines("city;value", "Rome;5,5", "Oslo;5.555", "Bonn;7,25"), [Column("city", ["Rome", "Oslo", "Bonn"])], Care.ASK,
    )  # fmt: skip
    geo = "AT BE BG CY CZ DE DK EE EL ES FI FR HR HU IE IT LT LU LV MT".split()
    flagged = [
        f"{at}\t{8_000 + 7 * n} \t{8_100 + 9 * n}{' p' if n == 11 else ' '}"
        for n, at in enumerate(geo)
    ]
    yield CorpusFile(
        "Eurostat's flags", _lines("geo\\time\t2010 \t2011 ", *flagged), [Column("geo\\time", geo)], Care.ASK,
    )  # fmt: skip
    yield CorpusFile(
        "two lists side by side", _lines("a,b;c,d", "x,y;z,w", "q,r;s,t"), [Column("a", ["x", "q"])], Care.ASK,
    )  # fmt: skip
    yield CorpusFile(
        "no names, texts only", _lines("Rome,red", "Oslo,blue", "Bonn,green"), [Column("column_1", ["Rome", "Oslo", "Bonn"])], Care.ASK,
    )  # fmt: skip


FILES: list[CorpusFile] = [*_files()]
