"""docs/trials.md, from the counts."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from trials.faults import FAULTS
from trials.fuzzing.written import FORMATS, SENT
from trials.state import State

INTRODUCTION = """# Trials

What becomes of the service when it is killed, starved, cut off and fuzzed, tried from outside over HTTP by `make trials`. Everything
runs on loopback, and only processes that the trials started are ended. The numbers below are what was run so far, on {machine};
`make trials` goes on from there to the full numbers, `ARGS="--share 0.2"` to a fifth of them. `make test` runs a few seconds of each
(`tests/trials`). The counts are kept in `trials/counts.json`.

After every round, a crowd of principals having registered, appended, issued, downloaded and rotated keys until the fault:

- nothing acknowledged is lost: data sets, rows, copies, keys;
- what was not acknowledged is there as a whole or not at all;
- no byte of a copy left whose entry the history lacks;
- copies come out bit for bit: all that were touched and three others after every round, all of them in every fifth round and in the last;
- `verify` is content; blobs are read to their end in every fifth round and in the last;
- after the sweep of a start no orphan is left, and no process has more threads, files or database connections than it may.
"""

MENDED = {
    "The first request after a start held up the event loop, and /health with it, until FastAPI had made every route.": (
        "Routes are made before the service listens; `tests/api/transport/test_first_request.py`."
    ),
    "An xlsx of a few kilobytes with cells at opposite corners of a sheet ended the process: its reader asked for a rectangle of over a hundred gigabytes.": (
        "Such a sheet is refused before it is opened, and an ods or xlsb is tried in a process of its own; `tests/tables/test_damaged_workbooks.py`."
    ),
    "A zip archive with an empty name, or one that is not UTF-8, was a 500.": (
        "A 422 that says so; `tests/tables/test_damaged_workbooks.py`."
    ),
    "An xlsx whose list of contents says that its sheet is patched or strongly encrypted was a 500: most likely the one wrong answer to an xlsx above, whose body was lost.": (
        "A 415 that says so; `tests/tables/test_damaged_workbooks.py`."
    ),
    "What an archive calls a folder was not counted when it was looked at how much an xlsx unpacks to, and its reader unpacked it: memory without bound.": (
        "Folders are counted too; `tests/tables/test_damaged_workbooks.py`."
    ),
    "An xls of six kilobytes with a cell in the last row and column that two bytes can name ended the process: 128 gigabytes were asked for. One that was cut off in its directory was a 500, and its reader's panic was printed.": (
        "An xls too is tried in a process of its own first; `tests/tables/test_damaged_workbooks.py`."
    ),
    "An SPSS file of a kilobyte that says it has half a billion rows took gigabytes: its reader makes room for them first.": (
        "A file is refused that says it has more cells than its bytes could hold; `tests/tables/test_optional_formats.py`."
    ),
    "Under 200 clients, who were let in waited in the queue for a thread several times, behind up to 80 others: 15 seconds (p50) for a look at a copy, in the first ten minutes that were run.": (
        "Load is shed by how long that queue takes; `tests/api/serving/test_shedding.py`. Before and after, two runs of 40 seconds on a busy machine in which the service had as much processor time (26 s, 25 s): 1,035 and 1,273 answers, for a look at a copy p50 5.2 s and 4.1 s, p99 15.4 s and 7.4 s, for /health p99 0.69 s and 0.50 s. Of two runs more, in which processor time differed, the one before had 36.9 s, 1,320 answers, p50 5.4 s and p99 9.3 s, and the one after (an earlier draft) 16.1 s, 568, 6.7 s and 16.4 s: a gain is likely, and weakly shown. The ten minutes above are from after it: 11.5 seconds, and for /health 23 ms where 135 stood."
    ),
    "Caddy 2.6, as Debian has it, ends a download whose service was killed as if it were whole; a silent sender gets its 408 from Caddy only when it says something again.": (
        "The example asks for Caddy 2.8 or newer, which breaks it off; the service itself lets go of a silent sender in time behind both."
    ),
    "The examples let through bodies up to 4 GB (Caddy) and 4 GiB (nginx), the service up to 4 GiB.": (
        "Both say 4 GiB; `tests/trials/test_proxies.py`."
    ),
    "Half of the variants (18,344 of 36,160, measured over all operations) said word for word what another one of the same turn had said, and agreements, transfers, jobs, surveys, webhooks, rules, audits, reports, keys and files were asked for that did not exist.": (
        "Of one turn no two requests are the same, and one of everything is made for each turn; `tests/trials/test_load_and_fuzzing.py`. The counts from before stay as they were."
    ),
    "That a dry run of a registration, and a batch of copies that had all been issued before, are answered with 200 was not in the document.": (
        "It is; `tests/test_openapi.py`."
    ),
    "That an address or headers that are too long are answered with 431 was not in the document (126 of the wrong answers above; two more are such a 200, and one that was not written down).": (
        "It is, for every operation; `tests/test_openapi.py`."
    ),
    "Memory grew with every blob that was opened, so with parts times downloads: 519 and 585 MiB in two quarters of the first ten minutes of load, 472, 506, 536 and 562 in those above. Arrow never lets go of a client for keys, and each opening made one: 20,000 openings took 13 MiB, for good.": (
        "Clients are lent and used again: 20,000 openings take 1 MiB; `tests/store/blobs/test_store.py`. Readings of a data set that stays as it is were flat (448 MiB after 100 rounds, 451 after 800). The ten minutes above are from before it."
    ),
    "Memory of what is kept of copies was bounded by the bytes of their values alone: a kept batch of two rows and five columns is 80 bytes of values and takes 4,600, and its name said every part of the data set in full, so that each append and download left more.": (
        "Both are counted, and a name is a hash; `tests/store/caches/test_hot_blocks.py`, `tests/api/copies/test_kept_copies.py`."
    ),
    "A list of files of a copy with no column chosen (`columns: []`) was a 500 (24 of the wrong answers above).": (
        "A 422 that says so; `tests/api/copies/test_files.py`."
    ),
    "A job that was quicker than the first look at it was answered with 200 and its result, where `Prefer: respond-async` promises 202 and an address.": (
        "202 always; `tests/api/jobs/test_later.py`."
    ),
    "Files of Stata, SPSS and SAS with names or texts in no encoding were a 500.": (
        "A 422; `tests/tables/test_optional_formats.py`."
    ),
}
"""What the trials found, and what became of it."""

KILLED = """
A start takes seconds, nearly all of it imports and the making of routes. So the processes are forked from one that has done both and
opened nothing; one start of fifty is made from nothing.
"""

FAULTY = """
A fault lasts up to a second and a half. Meanwhile an outage may be answered with 503 or 507 and never with 500; a Redis that fails must
not show at all. A full disk and a moved clock are brought about by a small library that is compiled when the trial runs
(`trials/stage/faults.c`) and preloaded.
"""

PROXIED = """
The examples of docs/operations, in front of a service on loopback, with TLS (`trials/proxies.py`): a body goes through as it comes and a
download as it is taken, with nothing of either in a file of the proxy's; a service that is killed meanwhile breaks the download off, for
the reader too; events of a job come one by one; 413 and 408 arrive; nobody chooses an address by X-Forwarded-For; metrics are not for the world.
"""

FUZZED = """
The service may have 4 GiB of address space. No answer may be a 5xx or unknown to the document, and `/health`, asked ten times a second
from another process, must not stall. Of each drawn case 119 variants are sent (19 to 79 in earlier runs): parts crossed with those of
other cases, odd values and headers, bytes changed, most of them about things that exist, some by a recipient.
"""

READ = """
The same kind of bodies, in every format that is read, given to the reader of tables itself, in a process with 4 GiB of address space:
faster than over HTTP, and what would end the service ends that process.
"""

STALLED = """
By the clock, a stall may be the machine's: it had other work at the time. A stall is the service's own when the service had itself used
more than 250 ms of processor time, in all of its threads, while `/health` waited.
"""


def write_page(state: State, page: Path) -> None:
    """The page, from what is there."""
    lines = [INTRODUCTION.format(machine=machine())]
    lines += ["## Kills", KILLED, *killed(state), ""]
    lines += ["## Faults", FAULTY, *faulty(state), ""]
    lines += ["## Proxies", PROXIED, *proxied(state), ""]
    lines += ["## Fuzzing", FUZZED, *fuzzed(state), ""]
    lines += ["## Readers", READ, *read(state), ""]
    lines += ["## Load", "", *loaded(state), ""]
    lines += ["## Does /health stall?", STALLED, *stalled(state), ""]
    lines += ["## The slow tier", "", slow_tier(state), ""]
    lines += ["## Found on the way", "", *found(state)]
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")


def slow_tier(state: State) -> str:
    """The last whole run of `make test-slow`: `figures["slow tier"]` of the counts, by whoever ran it."""
    last = state.figures.get("slow tier")
    if last is None:
        return "`make test-slow` has not been run as a whole yet."
    return f"`make test-slow` was last run as a whole at commit {last['commit']}: {last['result']}."


def killed(state: State) -> Iterator[str]:
    yield "| where | kills | of them while starting | rounds | copies compared | answers | requests cut off | uploads set aside |"
    yield "|---|---|---|---|---|---|---|---|"
    for name, where in (
        ("kills on SQLite", "SQLite, one process"),
        ("kills on PostgreSQL", "PostgreSQL, three processes"),
    ):
        counts = state.counts.get(name, {})
        answers, cut = deeds(counts)
        columns = ("kills", "kills while starting", "rounds", "copies compared")
        numbers = [counts.get(column, 0) for column in columns]
        numbers += [answers, cut, counts.get("uploads set aside", 0)]
        yield f"| {where} | " + " | ".join(f"{number:,}" for number in numbers) + " |"


def faulty(state: State) -> Iterator[str]:
    yield "| fault | times | answers | of them 503 or 507 | requests cut off | copies compared |"
    yield "|---|---|---|---|---|---|"
    for name in FAULTS:
        counts = state.counts.get(name, {})
        answers, cut = deeds(counts)
        outages = sum(n for deed, n in counts.items() if deed.endswith((" 503", " 507")))
        numbers = [counts.get("times", 0), answers, outages, cut, counts.get("copies compared", 0)]
        yield f"| {name} | " + " | ".join(f"{number:,}" for number in numbers) + " |"


def proxied(state: State) -> Iterator[str]:
    yield "| proxy | version | times | promises kept | broken downloads that ended as if whole |"
    yield "|---|---|---|---|---|"
    for name in ("nginx", "caddy"):
        counts = state.counts.get(f"proxy {name}", {})
        version = state.figures.get(f"proxy {name}", {}).get("version", "not run")
        columns = ("times", "promises", "broken and ended as whole")
        numbers = [f"{counts.get(column, 0):,}" for column in columns]
        yield f"| {name} | {version} | {' | '.join(numbers)} |"


def fuzzed(state: State) -> Iterator[str]:
    yield "| what | cases | answered 2xx or 3xx | refused 4xx | 5xx, undocumented or none |"
    yield "|---|---|---|---|---|"
    for name in ("requests", *(f"{kind} bodies" for kind in SENT)):
        counts = state.counts.get(name, {})
        by_class = [
            sum(n for what, n in counts.items() if what.startswith(classes))
            for classes in (("status 2", "status 3"), "status 4")
        ]
        said = f"{name}, all operations" if name == "requests" else name
        numbers = [counts.get("cases", 0), *by_class, counts.get("wrong answers", 0)]
        yield f"| {said} | " + " | ".join(f"{number:,}" for number in numbers) + " |"
    counts = state.counts.get("requests", {})
    operations = sum(1 for what in counts if what.startswith("of "))
    yield ""
    yield f"Of the requests {counts.get('drawn by schemathesis', 0):,} were drawn by schemathesis, the others are their variants. {counts.get('different', 0):,} were sent"
    yield f"since no two of a turn are the same (before, half were repeats). {operations} operations had their turn since that is counted."


def read(state: State) -> Iterator[str]:
    yield "| format | bodies | read | refused | failed (would be a 500) | ended the process |"
    yield "|---|---|---|---|---|---|"
    for kind in FORMATS:
        counts = state.counts.get(f"{kind} read", {})
        columns = ("cases", "read", "refused", "failed", "ended the process")
        numbers = [counts.get(column, 0) for column in columns]
        yield f"| {kind} | " + " | ".join(f"{number:,}" for number in numbers) + " |"


def loaded(state: State) -> Iterator[str]:
    figures: dict[str, Any] = state.figures.get("load", {})
    if not figures:
        yield "Not run yet."
        return
    counts = state.counts["load"]
    shed = sum(n for what, n in counts.items() if what.endswith(" 503"))
    yield f"{figures['clients']} clients for {figures['seconds'] / 60:g} minutes, each thinking for about a second between two"
    yield f"requests; {shed:,} requests were shed with 503."
    yield ""
    yield "| route | answers | p50 | p99 |"
    yield "|---|---|---|---|"
    for route, one in figures["routes"].items():
        yield f"| `{route}` | {one['answers']:,} | {one['p50_ms']:,.0f} ms | {one['p99_ms']:,.0f} ms |"
    yield ""
    quarters = ", ".join(f"{mib:.0f}" for mib in figures["resident_mib"])
    yield f"Resident memory in the quarters of the time: {quarters} MiB."


def stalled(state: State) -> Iterator[str]:
    yield "| while | asked | over 250 ms by the clock | over 250 ms of its own | p50 | p99 | worst | peak memory |"
    yield "|---|---|---|---|---|---|---|---|"
    for trial in ("requests", "bodies", "load"):
        counts, figures = state.counts.get(trial, {}), state.figures.get(f"health, {trial}", {})
        if not figures:
            continue
        asked = ("asked", "over_250_ms", "over_250_ms_of_its_own")
        numbers = [f"{counts.get(f'health {name}', 0):,}" for name in asked]
        numbers += [f"{figures[name]:,.0f} ms" for name in ("p50_ms", "p99_ms", "worst_ms")]
        yield f"| {trial} | {' | '.join(numbers)} | {figures['resident_mib']:,.0f} MiB |"
    yield ""
    yield "p50, p99 and worst are those of the worst run of each."


def found(state: State) -> Iterator[str]:
    for sentence, mending in MENDED.items():
        yield f"- {sentence} Mended: {mending}"
    for one in state.found:
        yield f"- Told by the trial itself ({one['trial']}, {one['at']}): {one['sentence'][:160]}"


def deeds(counts: dict[str, int]) -> tuple[int, int]:
    """Answers to the crowd, and requests that were cut off."""
    answered = sum(n for what, n in counts.items() if what.rpartition(" ")[2].isdecimal())
    return answered, sum(n for what, n in counts.items() if what.endswith(" cut"))


def machine() -> str:
    """Cores and memory, and how busy they were."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"{os.cpu_count()} cores with {memory:.0f} GiB, shared with other work"
