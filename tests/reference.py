"""Generator of docs/reference from the code: `python -m tests.reference` (part of `make docs`).

With `--picture` it also draws docs/pooled-copies.png: the demonstration, issued and attacked in a folder that goes.
"""

from __future__ import annotations

import inspect
import sys
import tempfile
from argparse import ArgumentParser, _SubParsersAction
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import typer.main

import cornerwave
from app.api.transport.problems import problem_types
from app.cli import build_parser
from app.main import open_resources, openapi_document
from app.settings import PREFIX, SECRETS, Settings, settings_from
from app.tables.media import CONTENT_TYPES, OFFERED, FileFormat
from cornerwave import analysis
from cornerwave.command.application import app as client_command

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs" / "reference"
METHODS = ("get", "put", "post", "patch", "delete")


def cell(text: str) -> str:
    """Return a text as it stands in a cell of a Markdown table."""
    return " ".join(text.split()).replace("|", "\\|")


def table(head: list[str], rows: list[list[str]]) -> list[str]:
    """Return the lines of a Markdown table."""
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    return [*lines, *(f"| {' | '.join(map(cell, row))} |" for row in rows)]


def problems() -> list[str]:
    """Every type of problem with status, meaning and remedy."""
    rows = [
        [f"`{slug}`", str(status), title, meaning, remedy]
        for slug, (status, title, meaning, remedy) in problem_types().items()
    ]
    return [
        "# Problems",
        "",
        "An error is a problem document (RFC 9457). Its `type` is `/problems/` and the slug below. Its `detail` says what is wrong and where.",
        "",
        *table(["slug", "status", "title", "meaning", "what to do"], rows),
    ]


def size(value: int) -> str:
    """Return a number of bytes in binary units."""
    for unit, factor in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if value % factor == 0 and value:
            return f"{value} ({value // factor} {unit})"
    return str(value)


def settings() -> list[str]:
    """Every setting with its default and meaning."""
    rows = []
    for name, field in Settings.model_fields.items():
        default = field.default
        shown = f"`{default}`" if default not in (None, "", ()) and default != {} else "none"
        if field.default_factory is not None:
            shown = "none" if name.endswith("_roles") else "see meaning"
        elif isinstance(default, bool):
            shown = "yes" if default else "no"
        elif isinstance(default, int):
            shown = size(default) if name.endswith("_bytes") else f"{default:,}"
        rows.append([f"`{PREFIX}{name.upper()}`", shown, field.description or ""])
    files = ", ".join(f"`{PREFIX}{name}`" for name in SECRETS)
    return [
        "# Settings",
        "",
        "Settings are environment variables. An invalid value stops the start with one line.",
        "",
        *table(["variable", "default", "meaning"], rows),
        "",
        f"A secret can be read from a mounted file, named by the variable with `_FILE` at its end: {files}.",
        "",
        "An unknown variable with the prefix stops the start, and the message suggests the nearest setting. Variables that Kubernetes sets for"
        " a Service named `cornerwave` or `cornerwave-…` are ignored.",
    ]


def api() -> list[str]:
    """Every operation by tag."""
    document = openapi_document()
    by_tag = defaultdict(list)
    for path, methods in document["paths"].items():
        for method in METHODS:
            if operation := methods.get(method):
                by_tag[operation["tags"][0]].append(
                    [
                        f"`{method.upper()} {path}`",
                        operation["summary"],
                        f"`{operation['operationId']}`",
                    ]
                )
    lines = [
        "# API",
        "",
        "Every operation of the HTTP API. `/docs` of a running service has parameters, bodies and examples; `/openapi.json` is the document."
        " Requests carry `Authorization: Bearer <key>`.",
    ]
    for tag in document["tags"]:
        guide = tag["externalDocs"]["url"].removeprefix("/guides/")
        lines += ["", f"## {tag['name'].capitalize()}", ""]
        lines += [f"{tag['description']} See [the guide](../{guide}.md).", ""]
        lines += table(["request", "purpose", "operation id"], by_tag[tag["name"]])
    return lines


def first_line(thing: Any) -> str:
    """Return the first line of a docstring."""
    return (inspect.getdoc(thing) or "").split("\n")[0]


def signature(name: str, function: Callable[..., Any]) -> str:
    """Return a call as it is written, without annotations."""
    shown = []
    for one in inspect.signature(function).parameters.values():
        if one.name == "self":
            continue
        if one.kind is one.KEYWORD_ONLY and "*" not in shown:
            shown.append("*")
        prefix = "*" if one.kind is one.VAR_POSITIONAL else "**" * (one.kind is one.VAR_KEYWORD)
        shown.append(prefix + one.name + ("=…" if one.default is not one.empty else ""))
    return f"`{name}({', '.join(shown)})`"


def members(kind: type) -> Iterator[list[str]]:
    """Yield the public methods and properties of a class."""
    for name, member in inspect.getmembers(kind):
        if name.startswith("_"):
            continue
        if inspect.isfunction(member):
            yield [signature(name, member), first_line(member)]
        elif isinstance(member, property):
            yield [f"`{name}`", first_line(member)]


def client() -> list[str]:
    """Public functions and classes of the client."""
    lines = [
        "# Client",
        "",
        "The public names of the package `cornerwave`. The awaited classes (`AsyncClient`, `AsyncDataset`, `AsyncCopy`) have the same members.",
    ]
    names = [name for name in cornerwave.__all__ if not name.startswith(("_", "Async"))]
    functions = [name for name in names if inspect.isfunction(getattr(cornerwave, name))]
    rows = [
        [signature(n, getattr(cornerwave, n)), first_line(getattr(cornerwave, n))]
        for n in functions
    ]
    lines += ["", "## Functions", "", *table(["call", "purpose"], rows)]
    estimates = [
        [signature(n, getattr(analysis, n)), first_line(getattr(analysis, n))]
        for n in analysis.__all__
    ]
    lines += ["", "## Estimates", "", "Functions of `cornerwave.analysis`.", ""]
    lines += table(["call", "purpose"], estimates)
    errors = []
    for name in names:
        kind = getattr(cornerwave, name)
        if inspect.isclass(kind) and issubclass(kind, Exception):
            errors.append([f"`{name}`", first_line(kind)])
        elif inspect.isclass(kind):
            lines += ["", f"## {name}", "", first_line(kind), ""]
            lines += table(["member", "purpose"], list(members(kind)))
    return [*lines, "", "## Errors", "", *table(["class", "meaning"], errors)]


def commands() -> list[str]:
    """Both commands with their subcommands."""
    group: Any = typer.main.get_command(client_command)
    rows = []
    for name, command in sorted(group.commands.items()):
        for sub, inner in sorted(getattr(command, "commands", {"": command}).items()):
            options = [
                option.opts[-1] for option in inner.params if option.opts[-1].startswith("--")
            ]
            told = (inner.help or "").split("\n")[0]
            rows.append(
                [
                    f"`cornerwave {name} {sub}".rstrip() + "`",
                    told,
                    " ".join(f"`{o}`" for o in options),
                ]
            )
    parser: ArgumentParser = build_parser()
    (found,) = [one for one in parser._actions if isinstance(one, _SubParsersAction)]
    helps = {one.dest: one.help or "" for one in found._choices_actions}
    server = [
        [f"`cornerwave-server {name}`", sentence(told)]
        for name, told in ((name.split(" ")[0], told) for name, told in helps.items())
    ]
    return [
        "# Commands",
        "",
        "`cornerwave` comes with the client and talks to a service. `cornerwave-server` comes with the service and is for its operator.",
        "",
        "## cornerwave",
        "",
        *table(["command", "purpose", "options"], rows),
        "",
        "## cornerwave-server",
        "",
        *table(["command", "purpose"], server),
    ]


def sentence(text: str) -> str:
    """Return a text with a capital and a full stop."""
    return f"{text[:1].upper()}{text[1:]}".rstrip(".") + "."


def formats() -> list[str]:
    """Formats that are read and written."""
    kinds: dict[str, list[str]] = defaultdict(list)
    for content_type, found in CONTENT_TYPES.items():
        if found is not None:
            kinds[found].append(f"`{content_type}`")
    written = {CONTENT_TYPES[media_type] for media_type in OFFERED}
    rows = [
        [
            one.value,
            ", ".join(kinds[one]) or "recognised by its first bytes",
            "yes" if one in written else "no",
        ]
        for one in FileFormat
    ]
    return [
        "# File formats",
        "",
        "Every format below is read. The format of a body follows from its first bytes, else from `Content-Type`; `Accept` chooses the format"
        " of an answer. [Tables](../tables.md) has limits and options.",
        "",
        *table(["format", "`Content-Type`", "written"], rows),
    ]


PAGES = {one.__name__: one for one in (api, client, commands, formats, problems, settings)}


def text_of(name: str) -> str:
    """Return the text of a page of docs/reference."""
    note = "<!-- Written by `make docs` from the code: change the code, not this page. -->"
    heading, *rest = PAGES[name]()
    return "\n".join([heading, "", note, *rest]) + "\n"


def draw_pooled_copies() -> None:
    """Issue the demonstration's copies, attack 1 to 8 of them together, and draw what is left."""
    import matplotlib as mpl

    mpl.use("agg")
    from matplotlib import pyplot as plt

    from app.model import Role
    from app.service.context import RequestContext
    from app.service.demonstration.pooled_copies import pool_copies
    from app.service.demonstration.setup import ensure_demonstration, the_demonstration
    from app.service.startup.installation import ensure_administrator
    from app.store.database.engine import reading
    from app.store.database.sharing import principals

    with tempfile.TemporaryDirectory() as home:
        resources = open_resources(settings_from({"CORNERWAVE_HOME": home}))
        ensure_administrator(resources, None)
        ensure_demonstration(resources)
        with reading(resources.engine) as connection:
            context = RequestContext(principals.with_role(connection, Role.ADMIN)[0], "picture")
        copies = the_demonstration(resources, context).copies
        pooled = pool_copies(resources, context, [one.id for one in copies])
        resources.executor.close()
        resources.engine.dispose()
    counts = range(1, len(copies) + 1)
    figure, axes = plt.subplots(figsize=(8, 3.2), layout="constrained")
    axes.plot(counts, pooled.independent.left, "o-", color="#b3402a", label="independent noise")
    axes.plot(counts, pooled.together.left, "o-", color="#0b6274", label="Cornerwave")
    axes.axhline(pooled.alone[0], ls=":", color="#566372", label="the best copy alone")
    axes.set(
        xlabel="copies that recipients pool", ylabel="variance left to an attacker", ylim=(0, None)
    )
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(ROOT / "docs" / "pooled-copies.png", dpi=110, metadata={"Software": None})


def main(*arguments: str) -> None:
    """Write every page, and the picture where asked."""
    FOLDER.mkdir(exist_ok=True)
    for name in PAGES:
        (FOLDER / f"{name}.md").write_text(text_of(name), encoding="utf-8")
    if "--picture" in arguments:
        draw_pooled_copies()


if __name__ == "__main__":
    main(*sys.argv[1:])
