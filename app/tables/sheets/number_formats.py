"""In which unit a workbook (xlsx) shows a number: the sign or text that its number format adds.

A cell holds 0.123 and is shown as 12.3 %, or holds 5 and is shown as 5 € or 5 kg. The reader of
workbooks gives the number alone.
"""

from __future__ import annotations

import html
import re

from app.tables.dialect.spelling import CURRENCY
from app.tables.values.units import PLAIN

SHARE = "shown as %"
"""The unit of cells that hold 0.123 and show 12.3 %. A format that merely adds the sign is `PERCENT`."""

BUILT_IN = {
    **dict.fromkeys((5, 6, 7, 8, 42, 44), "$"),
    **dict.fromkeys((9, 10), SHARE),
}
"""Formats that a workbook need not spell out, by their numbers; those without a unit are left out."""

TOKEN = re.compile(
    r'"(?P<quoted>[^"]*)"?'
    r"|\\(?P<escaped>.)"
    r"|\[\$(?P<currency>[^\]-]*)[^\]]*\]"
    r"|\[[^\]]*\]|[_*]."
    r"|(?P<end>;)"
    r"|(?P<percent>%)"
    r"|(?P<scale>(?<=[0#?]),+(?![0#?]))"
    r"|(?P<bare>[$]|[^\x00-\x7f])"
    r"|.",
    re.DOTALL,
)
"""A piece of a format: texts, colours and conditions, blanks as wide as a sign, signs of digits."""

SIGN = re.compile(CURRENCY)
SAYS_SOMETHING = re.compile(r"[^\W\d_]|[^\x00-\x7f\s\u2010-\u2015\u2212]")
NUMBER_FORMAT = re.compile(rb"<(?:\w+:)?numFmt\b([^<>]*)>")
CELL_FORMATS = re.compile(rb"<(?:\w+:)?cellXfs\b[^<>]*>(.*?)</(?:\w+:)?cellXfs>", re.DOTALL)
CELL_FORMAT = re.compile(rb"<(?:\w+:)?xf\b([^<>]*)>")
NUMBER = re.compile(rb"""\bnumFmtId\s*=\s*["'](\d{1,9})["']""")
CODE = re.compile(rb"""\bformatCode\s*=\s*(?:"([^"]*)"|'([^']*)')""")


def shown_unit(code: str) -> str:
    """What a format code shows beside the digits of a positive number, `PLAIN` for nothing.

    Letters beside digits that are scaled, such as the M of millions, are no unit: the number is whole.
    """
    text, scaled = "", False
    for token in TOKEN.finditer(code):
        if token["end"]:
            break
        if token["percent"]:
            return SHARE
        scaled = scaled or bool(token["scale"])
        text += next(
            (token[name] for name in ("quoted", "escaped", "currency", "bare") if token[name]), ""
        )
    if scaled:
        found = SIGN.search(text)
        return PLAIN if found is None else found[0]
    unit = " ".join(text.split()).strip("()+-:,")
    return unit if "%" in unit or "$" in unit or SAYS_SOMETHING.search(unit) else PLAIN


def units_of_styles(styles: bytes) -> list[str]:
    """The unit of each style that cells refer to by its number, from the styles of a workbook."""
    units = dict(BUILT_IN)
    for (attributes,) in map(re.Match.groups, NUMBER_FORMAT.finditer(styles)):
        number, code = NUMBER.search(attributes), CODE.search(attributes)
        if number is not None and code is not None:
            told = (code[1] or code[2] or b"").decode(errors="replace")
            units[int(number[1])] = shown_unit(html.unescape(told))
    section = CELL_FORMATS.search(styles)
    if section is None:
        return []
    numbers = (NUMBER.search(one[1]) for one in CELL_FORMAT.finditer(section[1]))
    return [PLAIN if one is None else units.get(int(one[1]), PLAIN) for one in numbers]
