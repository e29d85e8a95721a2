"""The unit that a number format shows, by its code and by the styles of a workbook."""

from __future__ import annotations

import io

import pytest

from app.tables.sheets.number_formats import SHARE, shown_unit, units_of_styles

CODES = {
    "General": "",
    "0": "",
    "0.00": "",
    "#,##0.00": "",
    "#,##0.00_ ;[Red]\\-#,##0.00\\ ": "",
    '_(* #,##0.00_);_(* (#,##0.00);_(* "-"??_);_(@_)': "",
    "0.00E+00": "",
    "# ?/?": "",
    '"("0")"': "",
    "@": "",
    "0%": SHARE,
    "0.0\\ %": SHARE,
    "[Blue]0.00%;[Red]-0.00%": SHARE,
    '0.0"%"': "%",
    "$#,##0_);($#,##0)": "$",
    '_("$"* #,##0.00_)': "$",
    "[$$-409]#,##0.00": "$",
    "[$€-407]#,##0.00": "€",
    '#,##0.00\\ "€"': "€",
    "#,##0.00 €": "€",
    "#,##0.00 [$€-2]": "€",
    "[$EUR] #,##0.00": "EUR",
    '"£"#,##0': "£",
    "[$CHF-807] #,##0.00": "CHF",
    "#,##0\\ [$kr-41D]": "kr",
    '0.0" kg"': "kg",
    "0.0 \\k\\g": "kg",
    '0.0"°C"': "°C",
    '0"‰"': "‰",
    '0.0,,"M"': "",
    '0.0,,"M €"': "€",
    "#,##0": "",
    '[>=1000]0,"k";0': "",
    "": "",
    '"': "",
    "[$": "$",
}


@pytest.mark.parametrize("code", CODES)
def test_a_format_shows_its_unit(code: str) -> None:
    assert shown_unit(code) == CODES[code]


def test_styles_name_formats_that_are_spelled_out_or_built_in() -> None:
    styles = (
        "<styleSheet><numFmts count='3'><numFmt numFmtId='164' formatCode='0.0&quot; kg&quot;'/>"
        '<numFmt formatCode="#,##0\\ &#8364;" numFmtId="44"/><numFmt numFmtId="165" formatCode="0.0"/>'
        '</numFmts><cellStyleXfs><xf numFmtId="9"/></cellStyleXfs><cellXfs count="6"><xf numFmtId="0"/>'
        '<xf numFmtId="164"><alignment/></xf><xf numFmtId="44"/><xf numFmtId="9"/><xf/>'
        '<xf numFmtId="165"/><xf numFmtId="7"/></cellXfs></styleSheet>'
    )
    assert units_of_styles(io.BytesIO(styles.encode())) == ["", "kg", "€", SHARE, "", "", "$"]
