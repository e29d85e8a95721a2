"""What the name of a column says of its values, in English and in a few other languages."""

from __future__ import annotations

import re
import unicodedata

WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")

IDENTIFYING = frozenset(
    """
    id uuid guid key email mail phone telephone mobile cell fax ssn iban bic passport name surname
    forename lastname firstname fullname username login userid customerid patientid personid
    employeeid nickname maidenname middlename initials signature licence license plate vin imei
    mac ip url website homepage street address nino nhs bsn pesel dni nie nif nir cpf steuerid
    sozialversicherungsnummer vorname nachname familienname zuname rufname geburtsname
    kundennummer personalnummer kundennr personalnr patientennummer versicherungsnummer
    rentenversicherungsnummer telefon handy mobil telefonnummer handynummer mobilnummer
    kontonummer strasse anschrift adresse hausnummer ausweis nom prenom nomdefamille portable
    courriel rue identifiant matricule numerosecu secu nombre apellido apellidos telefono movil
    correo direccion calle domicilio cedula nome cognome cellulare indirizzo codicefiscale
    sobrenome apelido endereco morada telemovel naam voornaam achternaam telefoonnummer adres
    straat huisnummer burgerservicenummer imie nazwisko komorka ulica numerdowodu namn fornamn
    efternamn personnummer gatuadress epost navn fornavn etternavn
    """.split()
)
"""Last words of names such as customer_id, eMail, last_name, Telefon-Nr."""

TRAILING = frozenset(["number", "no", "nr", "num", "numero", "address", "nummer", "1", "2"])
"""Words that add nothing behind one of those: phone_number, email_address."""

BIRTH = frozenset(
    """
    birth birthdate birthday dob dateofbirth born geburtsdatum geburtstag geboren geb naissance
    datenaissance nacimiento nascita nascimento geboortedatum geboorte urodzenia fodelsedatum fodd
    """.split()
)
PLACES = frozenset(
    """
    lat latitude lon lng long longitude breitengrad laengengrad latitud longitud
    """.split()
)
SENSITIVE = frozenset(
    """
    diagnosis diagnose icd religion race ethnicity ethnic disability hiv pregnant pregnancy
    sexuality orientation union party political gesundheit konfession religione salary income
    gehalt einkommen salaire salario stipendio health disease medication
    """.split()
)
LOCATING = frozenset(
    """
    zip zipcode postcode postal plz postleitzahl cp codepostal cap codigopostal kodpocztowy
    postnummer
    """.split()
)


def words_of(name: str) -> list[str]:
    """The words of a column name, small and without accents."""
    plain = name.replace("ß", "ss").replace("ł", "l").replace("ø", "o").replace("æ", "ae")
    ascii_ = unicodedata.normalize("NFKD", plain).encode("ascii", "ignore").decode()
    return [word.lower() for word in WORD.findall(ascii_)]


def identifying_word(name: str) -> str | None:
    """The word by which a name says that its column tells people apart."""
    words = words_of(name)
    joined = "".join(words)
    if joined in IDENTIFYING:
        return joined
    while len(words) > 1 and words[-1] in TRAILING:
        words.pop()
    return words[-1] if words and words[-1] in IDENTIFYING else None


def one_of(name: str, known: frozenset[str]) -> str | None:
    """The first word of the name that is known, or the whole name without gaps."""
    words = words_of(name)
    return next((word for word in [*words, "".join(words)] if word in known), None)
