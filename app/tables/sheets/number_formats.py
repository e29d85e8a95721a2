"""In which unit a workbook (xlsx) shows a number: the sign or text that its number format adds.

A cell holds 0.123 and is shown as 12.3 %, or holds 5 and is shown as 5 € or 5 kg. The reader of
workbooks gives the number alone.
"""

from __future__ import annotations

import re
from typing import IO

from app.tables.sheets.xml_walk import Attributes, walk
from app.tables.values.units import CURRENCY, PLAIN

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
LONGEST_CODE = 255
"""What a spreadsheet program allows; each piece of it may look to its end."""


def shown_unit(code: str) -> str:
    """What a format code shows beside the digits of a positive number, `PLAIN` for nothing.

    Letters beside digits that are scaled, such as the M of millions, are no unit: the number is whole.
    """
    text, scaled = "", False
    for token in TOKEN.finditer(code[:LONGEST_CODE]):
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


def units_of_styles(styles: IO[bytes]) -> list[str]:
    """The unit of each style that cells refer to by its number, from the styles of a workbook."""
    units = dict(BUILT_IN)
    found: list[str] = []
    inside: list[str] = []

    def opened(tag: str, said: Attributes) -> None:
        inside.append(tag)
        if tag == "numFmt":
            units[int(said["numFmtId"])] = shown_unit(said["formatCode"])
        elif tag == "xf" and inside[-2:-1] == ["cellXfs"]:
            found.append(units.get(int(said.get("numFmtId", "0")), PLAIN))

    walk(styles, opened, lambda _: inside.pop())
    return found
