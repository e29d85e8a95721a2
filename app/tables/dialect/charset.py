"""Encoding of a text: by its byte order mark, by being valid UTF-8, or by the letters that it would have.

Eight-bit encodings give every byte some letter. Which of them a text is in shows by whether its letters beyond ASCII
are those of one language that is written in that encoding, in words as that alphabet has them. Where two encodings pass
and their texts differ, the sender has to say which it is.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Mapping
from dataclasses import dataclass

from app.errors import InvalidParameter, InvalidTable, UnsupportedMediaType

UTF8 = "utf-8"
NO_CHARSETS = ("idna", "punycode", "raw-unicode-escape", "undefined", "unicode-escape")
"""What Python calls encodings too: no file is in one, and they take time without bound."""

MARKS = (
    (codecs.BOM_UTF8, UTF8),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
"""UTF-32 before UTF-16: the mark of one begins with that of the other."""

SIGNS = "€£¥§°²³½¼´`’‘“”„–—…«»¿¡·×±µ©®™º¨\u00a0"
APOSTROPHES = "´`’‘"
WESTERN = (
    "àâæçèéêëîïôœùûü",  # French
    "äöüß",
    "áéíñóúü",  # Spanish
    "àáâãçéêíóôõúü",  # Portuguese
    "àèéìíîòóùú",  # Italian
    "àèéêëïöü",  # Dutch and Catalan loans
    "åäöé",
    "æøåéü",
    "áðéíóúýþæö",  # Icelandic
    "àçèéíïòóúü",  # Catalan
)
CENTRAL = (
    "ąćęłńóśźż",
    "áčďéěíňóřšťúůýž",
    "áäčďéíľňóôšťúýž",  # Slovak, but for two rare letters
    "áéíóöőúüű",
    "ăâîșțşţ",
    "čćđšž",
    "äöüß",
)
CYRILLIC = ("абвгдеёжзийклмнопрстуфхцчшщъыьэюяіїєґ",)
GREEK = ("αβγδεζηθικλμνξοπρσςτυφχψωάέήίόύώϊϋΐΰ",)
HEBREW = ("אבגדהוזחטיךכלםמןנסעףפץצקרשת",)
ALPHABETS = (CYRILLIC, GREEK, HEBREW)
LANGUAGES = {
    "windows-1252": WESTERN,
    "windows-1250": CENTRAL,
    "iso8859-2": CENTRAL,
    "windows-1251": CYRILLIC,
    "koi8-r": CYRILLIC,
    "windows-1253": GREEK,
    "iso8859-7": GREEK,
    "windows-1254": ("çğıöşüâî",),
    "windows-1255": HEBREW,
}
"""The encodings tried, the most usual first, and the letters beyond ASCII of their languages."""

OLD_LANGUAGES = {"cp850": WESTERN, "mac-roman": WESTERN, "cp866": CYRILLIC}
"""Encodings of DOS and of old Macs: tried only when none of the others will do."""


FINAL = re.compile(r"[ךםןףץς]([^\W\d_]?)")
"""Letters that stand at the ends of words only."""

FINALS = 5
"""So many in Hebrew are no chance. Read as Cyrillic ones they are К, Н, П, У, Х or Й, М, О, С, У, of which in Russian about
one in six ends a word: five of five by a chance of 1e-4."""


@dataclass(frozen=True)
class Charset:
    """An encoding, and how many bytes at the beginning are its mark."""

    name: str
    mark: int = 0


def detect_charset(head: bytes, chosen: str | None) -> Charset:
    """Return the encoding of a text that begins with `head`; InvalidTable where two are plausible."""
    marked = next((Charset(name, len(mark)) for mark, name in MARKS if head.startswith(mark)), None)
    if chosen is not None:
        name = known_charset(chosen)
        if marked is not None and marked.name.startswith(name):
            return marked
        return Charset(name)
    if marked is not None:
        return marked
    if (wide := _without_mark(head)) is not None:
        return Charset(wide)
    beyond = _invalid_utf8(head)
    return Charset(UTF8) if beyond is None else Charset(_eight_bit(head))


def known_charset(name: str) -> str:
    """Return Python's name of an encoding, or InvalidParameter."""
    try:
        codec = codecs.lookup(name.strip())
    except (LookupError, ValueError):
        codec = None
    if codec is None or not codec._is_text_encoding or codec.name in NO_CHARSETS:
        raise InvalidParameter(
            "The encoding is not one that is known here; utf-8, utf-16 and windows-1252 are.",
            parameter="encoding",
        )
    if codec.name == "ascii":
        return UTF8
    return "windows-1252" if codec.name in ("iso8859-1", "cp1252") else codec.name


def _without_mark(head: bytes) -> str | None:
    """Return UTF-16 without a mark, which has a zero beside every character of ASCII."""
    piece = head[:4096]
    if piece.count(0) < len(piece) // 4 or len(piece) < 4:
        return None
    even, odd = piece[0::2].count(0), piece[1::2].count(0)
    if odd > 8 * even:
        return "utf-16-le"
    if even > 8 * odd:
        return "utf-16-be"
    raise UnsupportedMediaType(
        "The body is neither text nor a format that is read here.", supported=["text/csv"]
    )


def _invalid_utf8(head: bytes) -> int | None:
    try:
        codecs.getincrementaldecoder(UTF8)().decode(head)
    except UnicodeDecodeError as error:
        return error.start
    return None


def _eight_bit(head: bytes) -> str:
    texts = _readings(head, LANGUAGES) or {
        charset: text
        for charset, text in _readings(head, OLD_LANGUAGES).items()
        if any(ord(character) > 127 and character.isalpha() for character in text)
    }
    if (found := _certain(texts)) is not None:
        return found
    if texts:
        raise InvalidTable(
            f"The text is not UTF-8 and may be {' or '.join(texts)}; say which with the parameter "
            "`encoding`.",
            parameter="encoding",
            plausible=list(texts),
        )
    # Letters of several languages: only windows-1252 is usual for such, where its words hold.
    text = _decoded(head, "windows-1252")
    if text is not None and _written_in(text, ("".join(WESTERN) + "šžýðþãõ",)):
        return "windows-1252"
    raise InvalidTable(
        "The text is neither UTF-8 nor in an encoding that can be told for sure; name it with the "
        "parameter `encoding`, such as encoding=windows-1252.",
        parameter="encoding",
    )


def _certain(texts: Mapping[str, str]) -> str | None:
    """Return the one plausible encoding, or that of Hebrew if its final letters, which end words, are no chance."""
    if len(texts) == 1:
        return next(iter(texts))
    return "windows-1255" if len(FINAL.findall(texts.get("windows-1255", ""))) >= FINALS else None


def _readings(head: bytes, tried: Mapping[str, tuple[str, ...]]) -> dict[str, str]:
    """The plausible encodings with the text under each, one for each different text."""
    texts: dict[str, str] = {}
    for charset, languages in tried.items():
        text = _decoded(head, charset)
        if text is not None and _written_in(text, languages) and text not in texts.values():
            texts[charset] = text
    return texts


def _decoded(head: bytes, charset: str) -> str | None:
    try:
        return head.decode(charset)
    except UnicodeDecodeError:
        return None


def _written_in(text: str, languages: tuple[str, ...]) -> bool:
    """Return whether the letters beyond ASCII are of one language, with no sign or capital inside a word, nor a capital before a digit."""
    beyond = {character for character in text if ord(character) > 127}
    # The small letter of the Turkish capital with a dot is two characters, one of ASCII.
    letters = {character.lower()[0] for character in beyond if character not in SIGNS}
    letters = {letter for letter in letters if ord(letter) > 127}
    if not any(letters <= set(language) for language in languages):
        return False
    if languages in ALPHABETS and not _in_words_of_its_own(text, letters):
        return False
    capitals = [character for character in beyond if character.isupper()]
    if any(
        before.isalpha() and after.isalpha()
        for sign in beyond & set(SIGNS) - set(APOSTROPHES)
        for before, after in _around(text, sign)
    ):
        return False
    return not any(
        (before.islower() and (after.islower() or not after.isalpha())) or after.isdigit()
        for capital in capitals
        for before, after in _around(text, capital)
    )


def _in_words_of_its_own(text: str, letters: set[str]) -> bool:
    """Return whether another alphabet is used for words: three letters at least, none beside one of ASCII, no capital behind a
    small one, no final letter before another."""
    used = sum(text.lower().count(letter) for letter in letters)
    sides = [around for letter in letters for around in _around(text, letter)]
    of_capitals = [around for letter in letters for around in _around(text, letter.upper())]
    return (
        used >= 3
        and not any(
            side.isascii() and side.isalpha()
            for around in (*sides, *of_capitals)
            for side in around
        )
        and not any(after.isupper() for _, after in sides)
        and not any(FINAL.findall(text))
    )


def _around(text: str, character: str) -> list[tuple[str, str]]:
    places: list[tuple[str, str]] = []
    at = text.find(character)
    while at >= 0 and len(places) < 100:
        places.append((text[at - 1 : at] or " ", text[at + 1 : at + 2] or " "))
        at = text.find(character, at + 1)
    return places
