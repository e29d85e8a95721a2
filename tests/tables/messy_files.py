"""Files as people have them, each with its right reading: a table, or a refusal that names the remedy."""

from __future__ import annotations

import datetime as dt
import gzip
import io
import re
import zipfile
from dataclasses import dataclass, field

import openpyxl

Columns = dict[str, list[object]]


@dataclass(frozen=True)
class Messy:
    """A file, and what it is.

    where:
        columns  the right reading; None where the file must be refused
        remedy   what the refusal must say
        said     parameters of the reading
        read_as  what the answer must say of the reading
    """

    name: str
    body: bytes
    columns: Columns | None = None
    remedy: str = ""
    said: dict[str, object] = field(default_factory=dict)
    read_as: dict[str, object] = field(default_factory=dict)


def workbook(*sheets: tuple[str, list[list[object]]]) -> bytes:
    """An xlsx file with these sheets."""
    book = openpyxl.Workbook()
    book.remove(book.worksheets[0])
    for title, rows in sheets:
        sheet = book.create_sheet(title)
        for row in rows:
            sheet.append(row)
    sink = io.BytesIO()
    book.save(sink)
    return sink.getvalue()


def with_cells(rows: list[bytes]) -> bytes:
    """A workbook of one sheet, with these cells in its rows."""
    sheet = b"".join(b"<row>%s</row>" % row for row in rows)
    source, sink = io.BytesIO(workbook(("s", [["a"]]))), io.BytesIO()
    with zipfile.ZipFile(source) as before, zipfile.ZipFile(sink, "w") as after:
        for name in before.namelist():
            content = before.read(name)
            if name == "xl/worksheets/sheet1.xml":
                content = re.sub(rb"(<sheetData>).*(</sheetData>)", rb"\1%s\2" % sheet, content)
            after.writestr(name, content)
    return sink.getvalue()


def zipped(**files: bytes) -> bytes:
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return sink.getvalue()


def with_back_slashes(*files: tuple[str, bytes]) -> bytes:
    """A zip archive as some programs for Windows write it."""
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as archive:
        for name, content in files:
            member = zipfile.ZipInfo("x")
            member.filename = name.replace("/", "\\")
            archive.writestr(member, content)
    return sink.getvalue()


def members(archive: bytes) -> list[tuple[str, bytes]]:
    with zipfile.ZipFile(io.BytesIO(archive)) as opened:
        return [(name, opened.read(name)) for name in opened.namelist()]


def lines(*rows: str) -> bytes:
    return ("\n".join(rows) + "\n").encode()


DAYS = [dt.date(2020, 1, 1) + dt.timedelta(days=one) for one in range(30)]
DAYS_AND_SERIALS: list[list[object]] = [
    [DAYS[one] if one % 3 else 43_831 + one, one] for one in range(30)
]
NUMBERS_AND_DAYS: list[list[object]] = [
    [one + 0.5 if one % 3 else DAYS[one], one] for one in range(30)
]
CITIES: Columns = {"age": [30.0, 41.0], "city": ["Rome", "Oslo"]}
GERMAN: Columns = {"Alter": [30.0, 41.0], "Größe": [1.85, 1.7], "Ort": ["Köln", "Zürich"]}
GERMAN_TEXT = "Alter;Größe;Ort\n30;1,85;Köln\n41;1,70;Zürich\n"
MANY = [str(n) for n in range(10, 40)]
SHEET_NUMBERS: list[list[object]] = [[n] for n in range(30)]

FILES: list[Messy] = [
    # What separates fields
    Messy("commas", lines("age,city", "30,Rome", "41,Oslo"), CITIES, read_as={"delimiter": ","}),
    Messy(
        "semicolons", lines("age;city", "30;Rome", "41;Oslo"), CITIES, read_as={"delimiter": ";"}
    ),
    Messy("tabs", lines("age\tcity", "30\tRome", "41\tOslo"), CITIES, read_as={"delimiter": "\t"}),
    Messy("pipes", lines("age|city", "30|Rome", "41|Oslo"), CITIES, read_as={"delimiter": "|"}),
    Messy("Excel's sep line", b"sep=;\r\nage;city\r\n30;Rome\r\n41;Oslo\r\n", CITIES),
    Messy(
        "semicolons between integers",
        lines("a;b;c", "1;2;3", "4;5;6"),
        {"a": [1.0, 4.0], "b": [2.0, 5.0], "c": [3.0, 6.0]},
    ),
    Messy(
        "semicolons between decimal commas",
        lines("a;b", "1,5;2,5", "3,25;4,75"),
        {"a": [1.5, 3.25], "b": [2.5, 4.75]},
        read_as={"delimiter": ";", "decimal": "comma"},
    ),
    Messy(
        "commas in quoted texts",
        lines("name,n", '"Smith, John",1', '"Meier, Eva",2'),
        {"name": ["Smith, John", "Meier, Eva"], "n": [1.0, 2.0]},
    ),
    Messy(
        "semicolons inside texts between commas",
        lines("n,tags", "1,a;b", "2,c;d", "3,e;f"),
        {"n": [1.0, 2.0, 3.0], "tags": ["a;b", "c;d", "e;f"]},
    ),
    Messy(
        "two delimiters that do equally well",
        lines("a,b;c,d", "x,y;z,w", "q,r;s,t"),
        remedy="delimiter",
    ),
    Messy(
        "the same, told",
        lines("a,b;c,d", "x,y;z,w", "q,r;s,t"),
        {"a,b": ["x,y", "q,r"], "c,d": ["z,w", "s,t"]},
        said={"delimiter": ";", "header": "present"},
    ),
    Messy("blanks between numbers", lines("a b c", "1 2 3", "4 5 6"), remedy="delimiter"),
    Messy("colons between numbers", lines("a:b:c", "1:22:333", "4:55:666"), remedy="delimiter"),
    Messy(
        "carets, told",
        lines("a^b", "1^x", "2^y"),
        {"a": [1.0, 2.0], "b": ["x", "y"]},
        said={"delimiter": "^"},
    ),
    Messy("a blank behind each comma", lines("age, city", "30, Rome", "41, Oslo"), CITIES),
    Messy(
        "a quote behind a blank",
        lines("n, name", '1, "Smith, John"', '2, "Meier, Eva"'),
        remedy="quote",
    ),
    Messy("single quotes", lines("n,name", "'1','Anna'", "'2','Eva'"), remedy="double quotes"),
    Messy(
        "a quote that is escaped by a backslash",
        lines("n,say", r'1,"a \"b\" c"', '2,"d"'),
        remedy="doubled",
    ),
    Messy(
        "line breaks inside quotes",
        b'n,say\r\n1,"a\nb"\r\n2,"c"\r\n',
        {"n": [1.0, 2.0], "say": ["a\nb", "c"]},
    ),
    Messy("a row that is too short", lines("a,b,c", "1,2,3", "4,5", "6,7,8"), remedy="Row 2"),
    Messy("a row that is too long", lines("a,b", "1,2", "3,4,5", "6,7"), remedy="Row 2"),
    Messy(
        "a delimiter at the end of each row",
        lines("a,b", "1,2,", "3,4,"),
        {"a": [1.0, 3.0], "b": [2.0, 4.0], "column_3": [None, None]},
    ),
    Messy(
        "a title above the names",
        lines("Report of 2024", "age;city;sex", "30;Rome;f", "41;Oslo;m"),
        remedy="header_row=2",
    ),
    Messy(
        "a title padded with delimiters",
        lines("Report;;", "age;city;sex", "30;Rome;f", "41;Oslo;m"),
        remedy="header_row=2",
    ),
    Messy("old Mac line ends", b"age,city\r30,Rome\r41,Oslo\r", CITIES),
    Messy("empty lines", lines("age,city", "", "30,Rome", "", "41,Oslo", ""), CITIES),
    # Encodings
    Messy("UTF-8 with a mark", b"\xef\xbb\xbfage,city\n30,Rome\n41,Oslo\n", CITIES),
    Messy(
        "UTF-16 with a mark",
        GERMAN_TEXT.encode("utf-16"),
        GERMAN,
        read_as={"encoding": "utf-16-le"},
    ),
    Messy("UTF-16, big end first", b"\xfe\xff" + GERMAN_TEXT.encode("utf-16-be"), GERMAN),
    Messy("UTF-16 without a mark", GERMAN_TEXT.encode("utf-16-le"), GERMAN),
    Messy(
        "Windows-1252",
        GERMAN_TEXT.encode("windows-1252"),
        GERMAN,
        read_as={"encoding": "windows-1252"},
    ),
    Messy(
        "Windows-1252 in French",
        "nom;n\nHélène Besançon;1\nZoë Noël;2\n".encode("windows-1252"),
        {"nom": ["Hélène Besançon", "Zoë Noël"], "n": [1.0, 2.0]},
    ),
    Messy(
        "Windows-1251",
        "город;n\nМосква;1\nТверь;2\n".encode("windows-1251"),
        {"город": ["Москва", "Тверь"], "n": [1.0, 2.0]},
    ),
    Messy(
        "Windows-1250",
        "miasto;n\nŁódź;1\nKraków;2\nGdańsk;3\nWąbrzeźno;4\n".encode("windows-1250"),
        {"miasto": ["Łódź", "Kraków", "Gdańsk", "Wąbrzeźno"], "n": [1.0, 2.0, 3.0, 4.0]},
    ),
    Messy(
        "letters of two encodings",
        "nom;n\nHélène;1\nThérèse;2\n".encode("windows-1252"),
        remedy="encoding",
    ),
    Messy(
        "the same, told",
        "nom;n\nHélène;1\nThérèse;2\n".encode("windows-1252"),
        {"nom": ["Hélène", "Thérèse"], "n": [1.0, 2.0]},
        said={"encoding": "latin-1"},
    ),
    Messy("bytes of no encoding", b"a;n\n\x81\x8d\xff\xfe;1\n", remedy="encoding"),
    # Header
    Messy("no header, numbers", lines("5.1,3.5,setosa", "4.9,3.0,setosa"), remedy="header=absent"),
    Messy(
        "no header, told",
        lines("5.1,3.5,setosa", "4.9,3.0,setosa"),
        {"column_1": [5.1, 4.9], "column_2": [3.5, 3.0], "column_3": ["setosa", "setosa"]},
        said={"header": "absent"},
        read_as={"header": "absent"},
    ),
    Messy("no header, a missing cell first", lines("?,Rome", "41,Oslo"), remedy="header=absent"),
    Messy(
        "no header, a date first",
        lines("2020-01-31;Rome", "2021-02-28;Oslo"),
        remedy="header=absent",
    ),
    Messy(
        "no header, e-mail first",
        lines("a@example.org,Rome", "b@example.org,Oslo"),
        remedy="header=absent",
    ),
    Messy(
        "no header, categories",
        lines("Rome,Italy", "Oslo,Norway", "Milan,Italy"),
        remedy="header=absent",
    ),
    Messy("no header, names only", lines("Anna,Rome", "Bob,Oslo", "Eva,Paris"), remedy="header"),
    Messy(
        "years for names",
        lines("country;2019;2020", "Italy;1;2", "Norway;3;4"),
        {"country": ["Italy", "Norway"], "2019": [1.0, 3.0], "2020": [2.0, 4.0]},
    ),
    Messy(
        "years for names, told",
        lines("country;2019;2020", "Italy;1;2", "Norway;3;4"),
        {"country": ["Italy", "Norway"], "2019": [1.0, 3.0], "2020": [2.0, 4.0]},
        said={"header": "present"},
    ),
    Messy(
        "a column without a name",
        lines(",age,city", "0,30,Rome", "1,41,Oslo"),
        {"column_1": [0.0, 1.0], **CITIES},
    ),
    Messy(
        "a name twice",
        lines("age,age", "30,31", "41,42"),
        {"age": [30.0, 41.0], "age_2": [31.0, 42.0]},
    ),
    Messy(
        "texts only, with usual names",
        lines("first_name,city", "Anna,Rome", "Bob,Oslo"),
        {"first_name": ["Anna", "Bob"], "city": ["Rome", "Oslo"]},
    ),
    Messy("names with blanks around", lines(" age ;city ", "30;Rome", "41;Oslo"), CITIES),
    # Numbers
    Messy(
        "thousands points that may be decimal",
        lines("n;t", "30.123;x", "12.500;y"),
        remedy="decimal",
    ),
    Messy(
        "thousands points, told",
        lines("n;t", "30.123;x", "12.500;y"),
        {"n": [30123.0, 12500.0], "t": ["x", "y"]},
        said={"decimal": "comma"},
    ),
    Messy(
        "thousands points beside decimal commas",
        lines("n;p", "30.123;1,5", "12.500;2,5"),
        {"n": [30123.0, 12500.0], "p": [1.5, 2.5]},
    ),
    Messy(
        "thousands and decimals",
        lines("n", "1.234,50", "12,75"),
        {"n": [1234.5, 12.75]},
        said={"delimiter": ";"},
    ),
    Messy(
        "American thousands",
        lines("n,t", '"1,234.50",x', '"12.75",y', '"1,000,000",z'),
        {"n": [1234.5, 12.75, 1e6], "t": ["x", "y", "z"]},
    ),
    Messy(
        "Swiss thousands",
        lines("n;t", "1'234.50;x", "12.75;y"),
        {"n": [1234.5, 12.75], "t": ["x", "y"]},
    ),
    Messy(
        "blanks between thousands",
        "n;t\n1 234,50;x\n12\u00a0500,75;y\n".encode(),
        {"n": [1234.5, 12500.75], "t": ["x", "y"]},
    ),
    Messy(
        "currency",
        "n;t\n€ 1.234,50;x\n12,75 €;y\n".encode(),
        {"n": [1234.5, 12.75], "t": ["x", "y"]},
    ),
    Messy(
        "minus signs of printers",
        "n;t\n−3;x\n4;y\n–12.5;z\n–1,234.5;w\n".encode(),
        {"n": [-3.0, 4.0, -12.5, -1234.5], "t": ["x", "y", "z", "w"]},
    ),
    Messy(
        "minus signs of printers with decimal commas, currencies and powers of ten",
        "n;p;e\n–1.234,5;–€ 2,5;1,5e−3\n−1,5;€−7,5;–2E–1\n".encode(),
        {"n": [-1234.5, -1.5], "p": [-2.5, -7.5], "e": [0.0015, -0.2]},
    ),
    Messy(
        "a dash alone beside minus signs",
        lines("n;t", *(f"–{one}.5;x" for one in range(1, 12)), "–;y"),
        remedy="missing=–",
    ),
    Messy(
        "the same dash, told",
        lines("n;m", "–1.5;1", "–;2", "−2.5;3"),
        {"n": [-1.5, None, -2.5], "m": [1.0, 2.0, 3.0]},
        said={"missing": ("–",)},
    ),
    Messy(
        "codes behind a dash",
        lines("code;n", "−007;1", "–012;2"),
        {"code": ["−007", "–012"], "n": [1.0, 2.0]},
    ),
    Messy(
        "bands with a dash",
        lines("band;n", "18–25;1", "26–35;2"),
        {"band": ["18–25", "26–35"], "n": [1.0, 2.0]},
    ),
    Messy(
        "two signs before a number, which is none",
        lines("n;t", *(f"{one};x" for one in MANY), "--5;y"),
        remedy="row 31",
    ),
    Messy(
        "two currencies",
        lines("n;t", "€ 12,50;x", "€ 1;y", ";z", "$ 12,75;w"),
        remedy="(€ in row 1, $ in row 4): an amount in one is not the same in the other",
    ),
    Messy(
        "a currency in some rows only",
        lines("n;t", "12,50;x", "NA;y", "€ 12,75;z"),
        remedy="(none in row 1, € in row 3)",
    ),
    Messy("percent", lines("n;t", "12 %;x", "7,5%;y"), {"n": [12.0, 7.5], "t": ["x", "y"]}),
    Messy("percent in some rows only", lines("n;t", "12%;x", "7;y"), remedy="none in row 2"),
    Messy(
        "bookkeepers' minus",
        lines("n,t", "(12.50),x", "12.75-,y", "1.25,z"),
        {"n": [-12.5, -12.75, 1.25], "t": ["x", "y", "z"]},
    ),
    Messy(
        "a typographer's minus",
        "n;t\n\u221212,5;x\n12,75;y\n".encode(),
        {"n": [-12.5, 12.75], "t": ["x", "y"]},
    ),
    Messy("points here and commas there", lines("a;b", "1.5;1,5", "2.5;2,5"), remedy="decimal"),
    Messy("one column with decimal commas", lines("price", "1,5", "2,25"), {"price": [1.5, 2.25]}),
    Messy("one column of pairs or decimals", lines("1,5", "2,25"), remedy="decimal=comma"),
    Messy(
        "leading zeros",
        lines("zip,n", "00123,1", "12345,2"),
        {"zip": ["00123", "12345"], "n": [1.0, 2.0]},
    ),
    Messy(
        "digits beyond a double",
        lines("id,n", "9007199254740993,1", "1,2"),
        {"id": ["9007199254740993", "1"], "n": [1.0, 2.0]},
    ),
    Messy(
        "grouped digits of phones",
        lines("tel;n", "171 234 567;1", "152 888 999;2"),
        {"tel": ["171 234 567", "152 888 999"], "n": [1.0, 2.0]},
    ),
    Messy(
        "dates with points",
        lines("day;n", "31.12.2020;1", "01.02.2021;2"),
        {"day": ["31.12.2020", "01.02.2021"], "n": [1.0, 2.0]},
    ),
    Messy("not a number", lines("n,t", "1.5,x", "nan,y"), remedy="leave the cell empty"),
    # Missing
    Messy(
        "dashes in a third of the numbers",
        lines("hours,age", *(["38,20", "-,31", "40.5,47"] * 40), "41,50"),
        remedy="missing=-",
    ),
    Messy(
        "more marks than numbers",
        lines("hours,age", *(["38,20", ".,31", ".,52", "40,47"] * 9), ".,28"),
        {
            "hours": [*[38.0, None, None, 40.0] * 9, None],
            "age": [*[20.0, 31.0, 52.0, 47.0] * 9, 28.0],
        },
    ),
    Messy("one dash among numbers", lines("hours", *MANY, "-"), remedy="missing=-"),
    Messy(
        "one dash, told",
        lines("hours", *MANY, "-"),
        {"hours": [*map(float, MANY), None]},
        said={"missing": ("-",)},
    ),
    Messy(
        "points for missing",
        lines("n;t", *(f"{n};x" for n in MANY), ".;y"),
        {"n": [*map(float, MANY), None], "t": [*["x"] * len(MANY), "y"]},
    ),
    Messy("a word among numbers", lines("hours", *MANY, "forty"), remedy="missing"),
    Messy(
        "a sentinel, told",
        lines("n,t", "1.5,x", "-999,y"),
        {"n": [1.5, None], "t": ["x", "y"]},
        said={"missing": ("-999",)},
    ),
    Messy(
        "usual missing",
        lines("n,t", "1.5,x", "NA,y", ",z", "?,w"),
        {"n": [1.5, None, None, None], "t": ["x", "y", "z", "w"]},
    ),
    Messy("a total in a text", lines("city,n", "Rome,1", "Oslo,2", "Total,3"), remedy="Row 3"),
    Messy("a total in German", lines("Ort;n", "Rom;1", "Oslo;2", "Summe:;3"), remedy="Row 3"),
    Messy(
        "a total among numbers",
        lines("id,n", *(f"{n},1" for n in MANY), "Total,30"),
        remedy="leave it out",
    ),
    Messy(
        "a category called total",
        lines("scope,n", "total,1", "part,2", "total,3"),
        {"scope": ["total", "part", "total"], "n": [1.0, 2.0, 3.0]},
    ),
    # Other formats
    Messy(
        "xlsx",
        workbook(("Data", [["age", "city"], [30, "Rome"], [41, "Oslo"]])),
        CITIES,
        read_as={"format": "xlsx", "sheet": "Data"},
    ),
    Messy(
        "xlsx without header",
        workbook(("Data", [[30, "Rome"], [41, "Oslo"]])),
        remedy="header=absent",
    ),
    Messy(
        "xlsx with two sheets", workbook(("A", [["a"], [1]]), ("B", [["b"], [2]])), remedy="sheet"
    ),
    Messy(
        "xlsx, the sheet told",
        workbook(("A", [["a"], [1]]), ("B", [["b"], [2]])),
        {"b": [2.0]},
        said={"sheet": "B"},
    ),
    Messy(
        "xlsx with a title",
        workbook(("D", [["Report"], ["age", "city", "n"], [30, "Rome", 1], [41, "Oslo", 2]])),
        remedy="header_row=2",
    ),
    Messy(
        "xlsx with a total",
        workbook(("D", [["city", "n"], ["Rome", 1], ["Oslo", 2], ["Total", 3]])),
        remedy="Row 3",
    ),
    Messy(
        "xlsx with a dash",
        workbook(("D", [["n"], *SHEET_NUMBERS, ["-"]])),
        remedy="missing=-",
    ),
    Messy(
        "gzip that nobody announced", gzip.compress(lines("age,city", "30,Rome", "41,Oslo")), CITIES
    ),
    Messy("one CSV in a zip", zipped(data=lines("age;city", "30;Rome", "41;Oslo")), CITIES),
    Messy("two files in a zip", zipped(a=b"a\n1\n", b=b"b\n2\n"), remedy="one table at a time"),
    Messy("PDF", b"%PDF-1.7 ...", remedy="PDF"),
    Messy("HTML", b"<!DOCTYPE html><table><tr><td>1</td></tr></table>", remedy="HTML"),
    # What once was misread in silence
    Messy("a quote never closed", b'n,say\n1,"abc\n2,def\n3,ghi\n', remedy="never closed"),
    Messy(
        "inches, which are quotes",
        lines("n,disc", '1,7" single', '2,12" maxi', '3,5" mini'),
        {"n": [1.0, 2.0, 3.0], "disc": ['7" single', '12" maxi', '5" mini']},
    ),
    Messy(
        "units below the names",
        lines("height,weight", "cm,kg", "180,75", "170,65"),
        remedy="row 1",
    ),
    Messy("a note below", lines("city,n", "Rome,1", "Oslo,2", "Source: x,"), remedy="leave it out"),
    Messy(
        "a last row of a name alone",
        lines("who,n", "anna,1", "bob,2", "eva,"),
        {"who": ["anna", "bob", "eva"], "n": [1.0, 2.0, None]},
    ),
    Messy("a total above", lines("city,n", "Total,3", "Rome,1", "Oslo,2"), remedy="Row 1"),
    Messy("kilograms", lines("w,n", "70 kg,1", "80 kg,2", "65 kg,3"), remedy="with a unit"),
    Messy("per mille", "r,n\n12‰,1\n7‰,2\n".encode(), remedy="plain numbers"),
    Messy("stars of significance", lines("v,n", "1.5*,1", "2.5**,2", "3.5,3"), remedy="marks"),
    Messy(
        "Indian groups", lines("p,n", '"1,23,456.50",1', '"12,34,567.00",2'), remedy="two digits"
    ),
    Messy("Arabic digits", "v,n\n١٢,1\n٣٤,2\n".encode(), remedy="other digits"),
    Messy(
        "sizes of shirts",
        lines("size,n", "2XL,1", "3XL,2", "S,3"),
        {"size": ["2XL", "3XL", "S"], "n": [1.0, 2.0, 3.0]},
    ),
    Messy("columns of fixed width", b"name      age\nAnna      30\nBob       41\n", remedy="width"),
    Messy("a sep line that is wrong", b"sep=,\nage;city\n30;Rome\n41;Oslo\n", remedy="delimiter"),
    Messy("bytes 0", b"a,b\n1,\x00x\n2,y\n", remedy="bytes 0"),
    Messy(
        "dates without marks",
        lines("visit,n", "20200131,1", "19991224,2", "20210815,3"),
        {"visit": ["20200131", "19991224", "20210815"], "n": [1.0, 2.0, 3.0]},
    ),
    Messy(
        "eight digits that are no dates",
        lines("count,n", "20201331,1", "19991224,2", "20210815,3"),
        {"count": [20201331.0, 19991224.0, 20210815.0], "n": [1.0, 2.0, 3.0]},
    ),
    Messy(
        "sums below without a word",
        lines("age,pay", "30,100.5", "41,200.25", "52,300", "33,50", "28,10", "184,660.75"),
        remedy="Row 6 seems to sum up",
    ),
    Messy(
        "a last row that is the sum in one column by chance",
        lines("a,b", "1,5", "2,5", "3,5", "4,5", "10,5", "20,6"),
        {"a": [1.0, 2.0, 3.0, 4.0, 10.0, 20.0], "b": [5.0, 5.0, 5.0, 5.0, 5.0, 6.0]},
    ),
    Messy(
        "a last one after zeros and a one",
        lines("smokes", "0", "0", "", "1", "1"),
        {"smokes": [0.0, 0.0, None, 1.0, 1.0]},
    ),
    Messy(
        "a last number that repeats a far larger one",
        lines("pay", "1000000000", "0.1", "0.2", "0.3", "1000000000"),
        {"pay": [1e9, 0.1, 0.2, 0.3, 1e9]},
    ),
    Messy(
        "two units",
        lines("w,n", *(f"{60 + one} {'kg' if one % 2 else 'lb'},{one}" for one in range(30))),
        remedy="all in one unit",
    ),
    Messy(
        "below the limit of detection",
        lines("crp,n", *("<5,1" if one % 4 == 0 else f"{one}.5,2" for one in range(40))),
        remedy="signs beside them",
    ),
    Messy(
        "rooms",
        lines("flat,n", *(f"{1 + one % 4} rooms{'!' * (one % 2)},{one}" for one in range(30))),
        {
            "flat": [f"{1 + one % 4} rooms{'!' * (one % 2)}" for one in range(30)],
            "n": [float(one) for one in range(30)],
        },
    ),
    Messy("one line without an end", b"age,city", remedy="no rows"),
    Messy(
        "a zip with back slashes",
        with_back_slashes(
            ("folder/", b""), ("folder/a.csv", lines("age,city", "30,Rome", "41,Oslo"))
        ),
        CITIES,
    ),
    Messy(
        "a workbook with back slashes",
        with_back_slashes(*members(workbook(("s", [["a", "b"], [1, "x"]])))),
        remedy="save it anew",
    ),
    Messy(
        "a workbook with a password",
        bytes.fromhex("d0cf11e0a1b11ae1") + bytes(504) + "EncryptedPackage".encode("utf-16-le"),
        remedy="password",
    ),
    Messy(
        "NA among numbers and among texts",
        lines("city,n", "Rome,1", "NA,2", "Oslo,NA"),
        remedy="missing=NA",
    ),
    Messy(
        "NA among texts alone",
        lines("code,n", "NA,1", "NO,2"),
        {"code": ["NA", "NO"], "n": [1.0, 2.0]},
    ),
    Messy("a member of a record twice", b'[{"a": 1, "a": 2}]', remedy="More than one column"),
    Messy("a record and a number", b'[{"a": 1}, 2]', remedy="list of records"),
    Messy(
        "JSON lines",
        lines('{"a": 1, "b": 2}', '{"a": 3, "b": 4}'),
        {"a": [1.0, 3.0], "b": [2.0, 4.0]},
        read_as={"format": "json"},
    ),
    Messy("rich text", b"{\\rtf1\\ansi a,b\\par 1,2}", remedy="RTF"),
    Messy(
        "formulas that failed",
        workbook(("s", [["a", "b"], [1, 2.5], [2, "#DIV/0!"], [3, 1.5], [4, "#REF!"]])),
        remedy="missing=#DIV/0!&missing=#REF!",
    ),
    Messy(
        "the same failures, told",
        workbook(("s", [["a", "b"], [1, 2.5], [2, "#DIV/0!"], [3, 1.5]])),
        {"a": [1.0, 2.0, 3.0], "b": [2.5, None, 1.5]},
        said={"missing": ("#DIV/0!",)},
    ),
    Messy(
        "formulas that nobody computed",
        workbook(("s", [["a", "b"], [1, 2.5], [2, "=A3*2"], [3, "=A4*2"]])),
        remedy="Column 'b' holds formulas without a value, first in row 2",
    ),
    Messy(
        "a column of nothing else",
        workbook(("s", [["a", "twice"], [1, "=A2*2"], [2, "=A3*2"], [3, "=A4*2"]])),
        remedy="Column 'twice' holds formulas without a value, first in row 1",
    ),
    Messy(
        "such formulas below other rows and beside other columns",
        workbook(("s", [[], [], [None, "a", "b"], [None, 1, 2], [], [None, 3, "=B4"]])),
        remedy="Column 'b' holds formulas without a value, first in row 2",
    ),
    Messy(
        "such formulas without names",
        workbook(("s", [[1, 2.5], [2, "=A2*2"]])),
        remedy="Column 'column_2' holds formulas without a value, first in row 2",
        said={"header": "absent"},
    ),
    Messy(
        "the same formulas, told",
        workbook(("s", [["a", "b"], [1, 2.5], [2, "=A3*2"], [3, 1.5]])),
        {"a": [1.0, 2.0, 3.0], "b": [2.5, None, 1.5]},
        said={"missing": ("#FORMULA!",)},
    ),
    Messy(
        "such formulas in another sheet",
        workbook(("s", [["a", "b"], [1, 2.5], [2, 1.5]]), ("t", [["c"], [1], ["=A2"]])),
        {"a": [1.0, 2.0], "b": [2.5, 1.5]},
        said={"sheet": "s"},
    ),
    Messy(
        "such formulas in the sheet that is asked for",
        workbook(("s", [["a", "b"], [1, 2.5], [2, 1.5]]), ("t", [["c", "d"], [1, 2], ["=A2", 3]])),
        remedy="Column 'c' holds formulas without a value, first in row 2",
        said={"sheet": "t"},
    ),
    Messy(
        "formulas that were computed, one of them an empty text",
        with_cells(
            [
                b'<c r="A1" t="inlineStr"><is><t>a</t></is></c>'
                b'<c r="B1" t="inlineStr"><is><t>b</t></is></c>',
                b'<c r="A2"><v>1</v></c><c r="B2"><f>A2*2</f><v>2</v></c>',
                b'<c r="A3"><v>2</v></c><c r="B3" t="str"><f>IF(A3&gt;1,"",A3)</f><v></v></c>',
            ]
        ),
        {"a": [1.0, 2.0], "b": [2.0, None]},
    ),
    Messy(
        "formulas of cells without an address",
        with_cells(
            [
                b'<c t="inlineStr"><is><t>a</t></is></c><c t="inlineStr"><is><t>b</t></is></c>',
                b"<c><v>1</v></c><c><f>A2*2</f><v>2</v></c>",
                b"<c><v>2</v></c><c><f>A3*2</f></c>",
            ]
        ),
        remedy="Column 'b' holds formulas without a value, first in row 2",
    ),
    Messy(
        "codes that look like powers of ten",
        lines("ward,n", "12e4,1", "70e1,2", "130e2,3", "44,4"),
        remedy='columns={"ward": "categorical"}',
    ),
    Messy(
        "numbers with powers of ten",
        lines("x,n", "1.5e4,1", "7e10,2", "1e2,3", "3e2,4"),
        {"x": [1.5e4, 7e10, 1e2, 3e2], "n": [1.0, 2.0, 3.0, 4.0]},
    ),
    Messy(
        "numbers of one digit and a power of ten",
        lines("x,n", "1e5,1", "7e10,2", "2e3,3"),
        {"x": [1e5, 7e10, 2e3], "n": [1.0, 2.0, 3.0]},
    ),
    Messy(
        "numbers with a few powers of ten",
        lines("x,n", "1e5,1", "99999,2", "42,3"),
        {"x": [1e5, 99999.0, 42.0], "n": [1.0, 2.0, 3.0]},
    ),
    Messy(
        "dates of which a third lost their format",
        workbook(("s", [["day", "n"], *DAYS_AND_SERIALS])),
        remedy="Column 'day' holds dates and numbers, numbers in row 1, 4, 7, 10, 13",
    ),
    Messy(
        "numbers of which a third got a date's format",
        workbook(("s", [["x", "n"], *NUMBERS_AND_DAYS])),
        remedy="Column 'x' holds dates and numbers, dates in row 1, 4, 7, 10, 13",
    ),
    Messy(
        "dates and gaps in a workbook",
        workbook(("s", [["day", "n"], [DAYS[0], 1], [None, 2], [DAYS[2], 3]])),
        {"day": ["2020-01-01", None, "2020-01-03"], "n": [1.0, 2.0, 3.0]},
    ),
]
