"""Tables with changed bytes, given to the reader itself: thousands a minute, without HTTP.

Every body must be read, or refused with a DomainError: anything else would be a 500. The reader runs in
a process of its own that may have only so much memory, since a library that is not Python may also
take its process with it; each body is named before it is read, so that it is known which one did.

    python -m trials.fuzzing.readers KIND FIRST CASES SEED      lines of JSON for each body
"""

from __future__ import annotations

import io
import json
import random
import resource
import subprocess
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from trials.fuzzing.written import FORMATS, tables
from trials.stage.installation import ROOT

ADDRESS_SPACE = 4 * 2**30
BATCH = 500
AS_ARRAYS = 0.2
"""How often a table is read as a whole, as the stateless routes do, and not as a registration does."""

Tell = Callable[[Counter[str]], None]


def read_mutated(kind: str, cases: int, seed: int, tell: Tell) -> list[str]:
    """So many bodies of one format; a sentence for each that was neither read nor refused."""
    wrong: list[str] = []
    first = 0
    while first < cases:
        told = Counter[str]()
        reading = first
        for line in _readings(kind, first, cases, seed):
            reading = line["case"]
            if "outcome" not in line:
                continue
            told["cases"] += 1
            told[line["outcome"]] += 1
            if line["outcome"] == "failed":
                wrong.append(f"{kind}, seed {seed}, case {line['case']}: {line['why']}")
            if told["cases"] >= BATCH:
                tell(told)
                told = Counter()
            reading += 1
        if reading < cases:
            wrong.append(f"{kind}, seed {seed}, case {reading} ended the process")
            told += Counter({"cases": 1, "ended the process": 1})
        tell(told)
        first = reading + 1
    return wrong


def _readings(kind: str, first: int, cases: int, seed: int) -> Iterator[dict[str, Any]]:
    asked = (kind, str(first), str(cases), str(seed))
    command = [sys.executable, "-m", "trials.fuzzing.readers", *asked]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as reader:
        assert reader.stdout is not None
        for line in reader.stdout:
            yield json.loads(line)


def case_of(kind: str, number: int, seed: int, seeds: list[bytes]) -> tuple[bytes, random.Random]:
    """The body of one case, and the chance that made it."""
    chance = random.Random(f"{seed} {number}")
    return FORMATS[kind].mutate(chance.choice(seeds), chance, seeds), chance


def seeds_of(kind: str) -> list[bytes]:
    return [body for table in tables() for body in FORMATS[kind].written(table)]


def main(kind: str, first: str, cases: str, seed: str) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    seeds = seeds_of(kind)
    with tempfile.TemporaryDirectory() as folder:
        for number in range(int(first), int(cases)):
            body, chance = case_of(kind, number, int(seed), seeds)
            print(json.dumps({"case": number}), flush=True)
            as_arrays = chance.random() < AS_ARRAYS
            told = outcome(body, FORMATS[kind].media_type, Path(folder), as_arrays=as_arrays)
            print(json.dumps({"case": number} | told), flush=True)


def outcome(body: bytes, media_type: str, folder: Path, *, as_arrays: bool) -> dict[str, str]:
    """What becomes of one body."""
    from app.errors import DomainError

    try:
        (whole if as_arrays else registered)(body, media_type, folder)
    except DomainError:
        return {"outcome": "refused"}
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        places = [
            f"{Path(place.filename).name}:{place.lineno}"
            for place in traceback.extract_tb(error.__traceback__)[-6:]
        ]
        return {"outcome": "failed", "why": f"{type(error).__name__} at {' > '.join(places)}"}
    return {"outcome": "read"}


def registered(body: bytes, media_type: str, folder: Path) -> None:
    """As a registration that stores nothing."""
    from app.model import Limits
    from app.service.datasets.registration.ingestion import ingest
    from app.service.datasets.registration.register import Nowhere, dated
    from app.service.datasets.registration.report import table_report
    from app.tables.reading import read_batches

    limits = Limits()
    with read_batches(io.BytesIO(body), media_type, None, limits, folder) as opened:
        stream = dated(opened, {}, None)
        table_report(ingest(stream, {}, Nowhere(), limits), stream.read_as)


def whole(body: bytes, media_type: str, folder: Path) -> None:
    """As the routes that keep nothing."""
    from app.model import Limits
    from app.tables.reading import read_table

    read_table(io.BytesIO(body), media_type, None, Limits(), folder)


if __name__ == "__main__":
    main(*sys.argv[1:])
