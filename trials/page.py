"""docs/trials.md: the template `trials/page.md` with the counts filled in."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from string import Template
from typing import Any

from bench.report import cores_and_memory, markdown_table, write_page
from trials.faults import FAULTS
from trials.fuzzing.formats import FORMATS, HTTP_FORMATS
from trials.state import State

TEMPLATE = Path(__file__).with_suffix(".md")


def write_trials_page(state: State, page: Path) -> None:
    """Write the page from the counts so far."""
    requests = state.counts.get("requests", {})
    filled = Template(TEMPLATE.read_text(encoding="utf-8")).substitute(
        machine=cores_and_memory(),
        kills=kills_table(state),
        faults=faults_table(state),
        proxies=proxies_table(state),
        fuzzing=fuzzing_table(state),
        drawn=f"{requests.get('drawn by schemathesis', 0):,}",
        different=f"{requests.get('different', 0):,}",
        operations=sum(1 for what in requests if what.startswith("of ")),
        readers=readers_table(state),
        load=load_section(state),
        health=health_table(state),
        slow_tier=slow_tier(state),
        commits=table(
            "trial | commits", {name: [", ".join(at)] for name, at in state.commits.items()}
        ),
        findings="\n".join(
            f"- Reported by the trial {one['trial']} at {one['at']}: {one['sentence'][:160]}"
            for one in state.findings
        ),
    )
    write_page(page, [filled])


def table(header: str, rows: Mapping[str, list[int | str]]) -> str:
    """A Markdown table of one row per name; the header is separated by bars."""
    cells = [
        [name, *(f"{one:,}" if isinstance(one, int) else one for one in row)]
        for name, row in rows.items()
    ]
    return "\n".join(markdown_table(header.split(" | "), cells))


def kills_table(state: State) -> str:
    columns = ("kills", "kills while starting", "rounds", "copies compared")
    rows: dict[str, list[int | str]] = {}
    for name, where in (
        ("kills on SQLite", "SQLite, one process"),
        ("kills on PostgreSQL", "PostgreSQL, three processes"),
    ):
        counts = state.counts.get(name, {})
        rows[where] = [counts.get(column, 0) for column in columns]
        rows[where] += [*outcomes(counts), counts.get("uploads set aside", 0)]
    return table(
        "database | kills | of them while starting | rounds | copies compared | answers"
        " | requests cut off | uploads quarantined",
        rows,
    )


def faults_table(state: State) -> str:
    rows: dict[str, list[int | str]] = {}
    for name in FAULTS:
        counts = state.counts.get(name, {})
        answers, cut = outcomes(counts)
        outages = sum(n for outcome, n in counts.items() if outcome.endswith((" 503", " 507")))
        compared = counts.get("copies compared", 0)
        rows[name] = [counts.get("times", 0), answers, outages, cut, compared]
    return table(
        "fault | times | answers | of them 503 or 507 | requests cut off | copies compared", rows
    )


def proxies_table(state: State) -> str:
    rows: dict[str, list[int | str]] = {}
    for name in ("nginx", "caddy"):
        counts = state.counts.get(f"proxy {name}", {})
        version = state.figures.get(f"proxy {name}", {}).get("version", "not run")
        columns = ("times", "promises", "broken and ended as whole")
        rows[name] = [version, *(counts.get(column, 0) for column in columns)]
    return table(
        "proxy | version | times | requirements met | broken downloads that ended as complete", rows
    )


def fuzzing_table(state: State) -> str:
    rows: dict[str, list[int | str]] = {}
    for name in ("requests", *(f"{kind} bodies" for kind in HTTP_FORMATS)):
        counts = state.counts.get(name, {})
        by_class = [
            sum(n for what, n in counts.items() if what.startswith(classes))
            for classes in (("status 2", "status 3"), "status 4")
        ]
        label = f"{name}, all operations" if name == "requests" else name
        rows[label] = [counts.get("cases", 0), *by_class, counts.get("wrong answers", 0)]
    return table(
        "input | cases | answered 2xx or 3xx | refused 4xx | 5xx, undocumented or none", rows
    )


def readers_table(state: State) -> str:
    columns = ("cases", "read", "refused", "failed", "ended the process")
    rows: dict[str, list[int | str]] = {
        kind: [state.count(f"{kind} read", column) for column in columns] for kind in FORMATS
    }
    return table(
        "format | bodies | read | refused | failed (would be a 500) | crashed the process", rows
    )


def load_section(state: State) -> str:
    figures: dict[str, Any] = state.figures.get("load", {})
    if not figures:
        return "Not run yet."
    shed = sum(n for what, n in state.counts["load"].items() if what.endswith(" 503"))
    routes: dict[str, list[int | str]] = {
        f"`{route}`": [one["answers"], f"{one['p50_ms']:,.0f} ms", f"{one['p99_ms']:,.0f} ms"]
        for route, one in figures["routes"].items()
    }
    quarters = ", ".join(f"{mib:.0f}" for mib in figures["resident_mib"])
    return (
        f"{figures['clients']} clients for {figures['seconds'] / 60:g} minutes, each pausing for"
        f" about a second between requests. {shed:,} requests were shed with 503.\n\n"
        f"{table('route | answers | p50 | p99', routes)}\n\n"
        f"Resident memory in the quarters of the run: {quarters} MiB."
    )


def health_table(state: State) -> str:
    rows: dict[str, list[int | str]] = {}
    for trial in ("requests", "bodies", "load"):
        figures = state.figures.get(f"health, {trial}", {})
        if not figures:
            continue
        probes = ("asked", "over_250_ms", "over_250_ms_of_its_own")
        rows[trial] = [state.count(trial, f"health {name}") for name in probes]
        rows[trial] += [f"{figures[name]:,.0f} ms" for name in ("p50_ms", "p99_ms", "worst_ms")]
        rows[trial] += [f"{figures['resident_mib']:,.0f} MiB"]
    return table(
        "trial | probes | over 250 ms by the clock | over 250 ms of its own processor time | p50"
        " | p99 | worst | peak memory",
        rows,
    )


def slow_tier(state: State) -> str:
    """The last full run of `make test-slow`: `figures["slow tier"]`, entered by hand."""
    last = state.figures.get("slow tier")
    if last is None:
        return "`make test-slow` has not been run in full yet."
    return f"`make test-slow` was last run in full at commit {last['commit']}: {last['result']}."


def outcomes(counts: Mapping[str, int]) -> tuple[int, int]:
    """Return the answered and the interrupted requests of the workload."""
    answered = sum(n for what, n in counts.items() if what.rpartition(" ")[2].isdecimal())
    return answered, sum(n for what, n in counts.items() if what.endswith(" cut"))
