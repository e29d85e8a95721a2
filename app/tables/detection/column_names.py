"""Words in names of columns by language: what identifies a person, and what is an amount, a time or a thing."""

from __future__ import annotations

import re
import unicodedata

WORD_OF_NAME = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


def _words(*lists: str) -> frozenset[str]:
    return frozenset(" ".join(lists).split())


NAMES = _words("name nom nombre nome naam namn navn nazwa")
"""Names of people as often as of things: believed unless few values recur that no person is called."""

IDENTIFYING = NAMES | _words(
    # English
    """id uuid guid key email mail phone telephone mobile cell fax ssn iban bic passport surname forename
    lastname firstname fullname username login userid customerid patientid personid employeeid nickname
    maidenname middlename initials signature licence license plate vin imei mac ip url website homepage street
    address nino nhs mrn npi payrollnumber studentid memberid""",
    # German
    """steuerid vorname nachname familienname zuname rufname geburtsname telefon handy mobil strasse anschrift
    adresse hausnummer ausweis svnr ahv ahvnr personalausweis kennzeichen aktenzeichen matrikel unterschrift""",
    # French
    """prenom nomdefamille portable courriel rue identifiant matricule numerosecu secu nir numen ine
    immatriculation siret""",
    # Spanish, Portuguese
    """apellido apellidos telefono movil correo direccion calle domicilio cedula dni nie nif nuss nss rut run curp rfc
    cuit cuil legajo expediente matricula pasaporte sobrenome apelido endereco morada telemovel cpf rg cns utente
    prontuario""",
    # Italian
    """cognome cellulare indirizzo codicefiscale matricola tesserasanitaria targa""",
    # Dutch
    """voornaam achternaam adres straat huisnummer bsn rijksregisternummer kenteken""",
    # Polish, Swedish, Danish, Norwegian
    """pesel imie nazwisko komorka ulica numerdowodu fornamn efternamn gatuadress epost fornavn etternavn
    fodselsnummer cpr""",
)
"""Last words of names such as customer_id, eMail, last_name, Telefon-Nr."""

TRAILING = _words(
    "complete complet completo completa vollstandig number no nr num numero address nummer 1 2"
)
"""Words that add nothing behind one of those: phone_number, email_address."""

NUMBERS = _words("n nummer number numero numer num nr nro no numéro código codigo code kod cod")
PERSONS = _words(
    """patient customer client member employee person student user staff respondent participant subject account policy
    document insured voter resident case file kunde kunden mitglied mitarbeiter versicherten versicherter
    versicherungs versicherung personal schueler schuler studenten akte fall konto vertrag vertrags renten steuer sozial
    ausweis pass adherent assure salarie dossier abonne eleve etudiant usager compte contrat cliente clientes paciente
    afiliado asegurado socio empleado alumno documento cuenta contrato funcionario aluno beneficiario processo
    paziente assistito dipendente studente utente tessera documento klant clienten medewerker lid leerling rekening polis
    dossier pacjent pacjenta klient klienta pracownik pracownika ucznia kund medlem anstalld"""
)
"""Whom a number beside the word is given to: id_cliente, nro_documento, Versichertennummer."""

NEUTRAL = _words(
    # times
    """age alter edad eta leeftijd wiek alder year years yr yearmonth month week day date quarter decade season period jahr jahre monat woche tag quartal
    annee mois semaine jour ano anio anos mes semana dia anno mese settimana giorno jaar maand rok miesiac ar manad""",
    # amounts
    """population amount price cost value total sum count revenue sales income salary area distance votes score rank
    einwohner bevolkerung betrag preis kosten wert summe anzahl umsatz flache montant prix cout somme nombrehabitants
    habitants importe precio costo valor suma cantidad poblacion prezzo importo valore somma popolazione bedrag prijs
    aantal inwoners kwota cena liczba ludnosc belopp pris antal""",
    # places and things
    """country state county region province district city town nation major title film movie episode species product
    brand model team club school station airport airline company land staat bundesland kreis stadt ort gemeinde pays ville
    departement commune pais ciudad provincia municipio cidade estado paese citta regione comune stad gemeente kraj miasto
    wojewodztwo stadt lan kommun common scientific file""",
)
"""Words by which a column is of amounts, times or things, however its values look."""

BIRTH = _words(
    """birth birthdate birthday dob dateofbirth born geburtsdatum geburtstag geboren geb naissance
    datenaissance nacimiento nascita nascimento geboortedatum geboorte urodzenia fodelsedatum fodd"""
)
PLACES = _words(
    """lat latitude lon lng long longitude breitengrad laengengrad langengrad breite laenge latitud longitud
    latitudine longitudine szerokosc dlugosc breddgrad langdgrad lengtegraad breedtegraad"""
)
SENSITIVE = _words(
    """diagnosis diagnose icd religion race ethnicity ethnic disability hiv pregnant pregnancy
    sexuality orientation union party political gesundheit konfession religione salary income
    gehalt einkommen salaire salario stipendio health disease medication ethnie ethnizitat ethnisch hautfarbe
    etnia raza raca razza origine behinderung handicap discapacidad disabilita enfermedad maladie krankheit"""
)
LOCATING = _words(
    """zip zipcode postcode postal plz postleitzahl cp codepostal cap codigopostal kodpocztowy
    postnummer"""
)


def words_of(name: str) -> list[str]:
    """Return the words of a column name in lower case, without accents."""
    plain = name.replace("ß", "ss").replace("ł", "l").replace("ø", "o").replace("æ", "ae")
    ascii_ = unicodedata.normalize("NFKD", plain).encode("ascii", "ignore").decode()
    return [word.lower() for word in WORD_OF_NAME.findall(ascii_)]


def identifying_word(name: str) -> str | None:
    """Return the word that makes a column name an identifier's."""
    words = words_of(name)
    joined = "".join(words)
    numbered = len(words) > 1 and any(word in NUMBERS or word == "id" for word in words)
    persons = [word for word in words if _is_compound(word) or (numbered and _is_person(word))]
    if joined in IDENTIFYING or persons:
        return [*persons, joined][0]
    if len(words) > 1 and words[0] == "id" and not any(word in NEUTRAL for word in words):
        return "id"
    while len(words) > 1 and words[-1] in TRAILING:
        words.pop()
    if not words or words[-1] not in IDENTIFYING:
        return None
    word, before = words[-1], words[-2] if len(words) > 1 else ""
    if before and (
        word in ("ip", "mac") or ((word in NAMES or word == "id") and before in NEUTRAL)
    ):
        return None
    return word


def _is_person(word: str) -> bool:
    return any(word.removesuffix(gap) in PERSONS for gap in ("", "s", "n", "en", "es"))


def _is_compound(word: str) -> bool:
    """Return whether a word is whom a number is given to and the number, in one: Patientennummer, klantnr."""
    for end in ("nummer", "nr", "number", "id", "numer"):
        stem = word.removesuffix(end)
        if stem != word and len(stem) > 2:
            return _is_person(stem)
    return False


def one_of(name: str, known: frozenset[str]) -> str | None:
    """Return the first known word of the name, or the whole name without gaps."""
    words = words_of(name)
    return next((word for word in [*words, "".join(words)] if word in known), None)
