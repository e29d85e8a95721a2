"""Mutated tables given to the reader itself: thousands a minute, without HTTP.

Every body must be read or refused with a DomainError; anything else would be a 500. The reader runs in a process of its own with
limited memory, since a native library may crash. Each body is announced before it is read, which identifies the one that
crashed.

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

from trials.environment.installation import ROOT
from trials.fuzzing.formats import FORMATS, sample_tables

ADDRESS_SPACE = 4 * 2**30
BATCH = 500
AS_ARRAYS = 0.2
"""Probability of reading as a stateless route does, rather than as a registration."""

Report = Callable[[Counter[str]], None]


def read_mutated(kind: str, cases: int, seed: int, report: Report) -> list[str]:
    """Read mutated bodies of one format and describe each that was neither read nor refused."""
    wrong: list[str] = []
    first = 0
    while first < cases:
        counts = Counter[str]()
        reading = first
        for line in _readings(kind, first, cases, seed):
            reading = line["case"]
            if "outcome" not in line:
                continue
            counts["cases"] += 1
            counts[line["outcome"]] += 1
            if line["outcome"] == "failed":
                wrong.append(f"{kind}, seed {seed}, case {line['case']}: {line['why']}")
            if counts["cases"] >= BATCH:
                report(counts)
                counts = Counter()
            reading += 1
        if reading < cases:
            wrong.append(f"{kind}, seed {seed}, case {reading} ended the process")
            counts += Counter({"cases": 1, "ended the process": 1})
        report(counts)
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
    """Return the body of one case and its random generator."""
    rng = random.Random(f"{seed} {number}")
    return FORMATS[kind].mutate(rng.choice(seeds), rng, seeds), rng


def seeds_of(kind: str) -> list[bytes]:
    return [body for table in sample_tables() for body in FORMATS[kind].write(table)]


def main(kind: str, first: str, cases: str, seed: str) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    seeds = seeds_of(kind)
    with tempfile.TemporaryDirectory() as folder:
        for number in range(int(first), int(cases)):
            body, rng = case_of(kind, number, int(seed), seeds)
            print(json.dumps({"case": number}), flush=True)
            as_arrays = rng.random() < AS_ARRAYS
            result = outcome(body, FORMATS[kind].media_type, Path(folder), as_arrays=as_arrays)
            print(json.dumps({"case": number} | result), flush=True)


def outcome(body: bytes, media_type: str, folder: Path, *, as_arrays: bool) -> dict[str, str]:
    """Read one body and return the outcome."""
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
    """Read as a registration that stores nothing."""
    from app.model import Limits
    from app.service.datasets.registration.ingestion import ingest
    from app.service.datasets.registration.register import NullSink
    from app.service.datasets.registration.report import table_report
    from app.tables.pipeline import TableSource, infer_columns, open_table
    from app.tables.stream import AUTOMATIC

    limits = Limits()
    with open_table(TableSource(io.BytesIO(body), media_type), AUTOMATIC, limits, folder) as opened:
        stream = infer_columns(opened, {})
        table_report(ingest(stream, {}, NullSink(), limits), stream.read_as)


def whole(body: bytes, media_type: str, folder: Path) -> None:
    """Read as a stateless route."""
    from app.model import Limits
    from app.tables.pipeline import TableSource, read_table
    from app.tables.stream import AUTOMATIC

    read_table(TableSource(io.BytesIO(body), media_type), AUTOMATIC, Limits(), folder)


if __name__ == "__main__":
    main(*sys.argv[1:])
