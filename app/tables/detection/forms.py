"""Values that give a person away by their form: addresses of all sorts, phones, places, names."""

from __future__ import annotations

import re

EMAIL = re.compile(r"[^@\s<>]+@[^@\s<>]+\.[A-Za-z]{2,}")
URL = re.compile(r"(https?://|www\.)\S+", re.IGNORECASE)
IP4 = re.compile(r"(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)(?:\.|$)){4}(?::\d+)?")
GROUPS = r"[0-9a-fA-F]{1,4}(?::[0-9a-fA-F]{1,4}){0,6}"
IP6 = re.compile(
    r"(?:(?:[0-9a-fA-F]{1,4}:){7}[0-9a-fA-F]{1,4}"
    rf"|(?:{GROUPS})?::(?:{GROUPS})?(?::?(?:\d{{1,3}}\.){{3}}\d{{1,3}})?)(?:%\w+)?(?:/\d{{1,3}})?"
)
"""Eight groups, or fewer with :: for those left out. A time has two or three, and never ::."""

MAC = re.compile(r"[0-9A-Fa-f]{2}([:-][0-9A-Fa-f]{2}){5}")
UUID = re.compile(r"\{?[0-9a-fA-F]{8}-?([0-9a-fA-F]{4}-?){3}[0-9a-fA-F]{12}\}?")
DIGEST = re.compile(r"[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{64}", re.IGNORECASE)
SSN = re.compile(r"(?!000|666|9\d\d)\d{3}-(?!00)\d{2}-(?!0000)\d{4}")
PAIR = re.compile(
    r"\(?\s*-?\d{1,2}\.\d{2,}\s*°?\s*[NS]?\s*[,; ]\s*-?\d{1,3}\.\d{2,}\s*°?\s*[EW]?\s*\)?"
)
PHONE = re.compile(r"(\+|00)?[\d(][\d\s().\-/]{5,20}\d(\s*(x|ext\.?)\s*\d{1,5})?")
PHONE_SIGNS = re.compile(r"^\+|^00[1-9]|^\(?0\d|[\s().\-/]")
WORDS = r"[A-ZÀ-ÞŁŚŻŹĆŠČŽĐĞİŞŐŰŒ][\w’'ʼ\-]*\.?"
PERSON = re.compile(
    rf"((Dr|Prof|Mr|Mrs|Ms|Herr|Frau|Mme|Sr|Sra|Dott)\.?\s+)?{WORDS}"
    rf"(\s+(van|von|de|den|der|del|della|di|da|dos|du|la|le|el|ten|ter|y|e|af|zu|{WORDS}))*\s+{WORDS}"
    rf"|{WORDS}(\s+{WORDS})*,\s+{WORDS}(\s+{WORDS})*"
)
WORD = re.compile(WORDS)
STREET = re.compile(
    r"(straße|strasse|str\.|gasse|weg|platz|allee|ufer|ring|damm|steig|\bstreet|\bst\.?|\broad|\brd\.?|"
    r"\bavenue|\bave\.?|\blane|\bln\.?|\bdrive|\bdr\.?|\bcourt|\bboulevard|\bblvd\.?|\bclose|\bway|"
    r"\brue|\bchemin|\bimpasse|\bquai|\bplace|\ballée|\bvia|\bviale|\bpiazza|\bcorso|\bcalle|\bavenida|"
    r"\bpaseo|\bplaza|straat|laan|plein|gracht|\bulica|\bul\.|\baleja|\bal\.|gatan|vägen|gata|väg)"
    r"(?=\W|\d|$)",
    re.IGNORECASE,
)
HOUSE = re.compile(r"\b\d{1,5}\s?[A-Za-z]?\b")

FORMS: dict[str, re.Pattern[str]] = {
    "e-mail addresses": EMAIL,
    "web addresses": URL,
    "IP addresses": IP4,
    "IPv6 addresses": IP6,
    "addresses of network cards": MAC,
    "UUIDs": UUID,
    "digests, which stand for something else one to one": DIGEST,
    "US social security numbers": SSN,
    "coordinates": PAIR,
}
"""Forms that a value either has or not, by their name in a sentence."""


def is_phone(text: str) -> bool:
    """Seven to fifteen digits, with a sign that a plain number has not."""
    stripped = text.strip()
    number = sum(character.isdigit() for character in stripped)
    return (
        7 <= number <= 15
        and PHONE.fullmatch(stripped) is not None
        and PHONE_SIGNS.search(stripped) is not None
        and not re.fullmatch(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}.*", stripped)
        and not re.fullmatch(r"-?\d+\.\d+", stripped)
    )


def is_street(text: str) -> bool:
    """A street with the number of a house."""
    return HOUSE.search(text) is not None and STREET.search(text) is not None


def is_person(text: str) -> bool:
    """Two or more capitalised words, as a name has."""
    return PERSON.fullmatch(text.strip()) is not None


def is_capitalised(text: str) -> bool:
    """One capitalised word."""
    return WORD.fullmatch(text.strip()) is not None
