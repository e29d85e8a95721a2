"""Every `cornerwave …` line of the documentation is one that the command takes."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer

from cornerwave.command.application import app

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "client" / "README.md", *sorted(ROOT.glob("docs/**/*.md"))]
BLOCK = re.compile(r"^```(?:sh|bash|console)\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINE = re.compile(r"^\s*(?:\$ )?(?:\S*/)?cornerwave (.+)$", re.MULTILINE)
MENTION = re.compile(r"`cornerwave ([^`\n]+)`")
COMMAND: Any = typer.main.get_command(app)
REFUSED: Any = typer.BadParameter.__mro__[1]
"""What every wrong call is refused with: click's UsageError, which typer has under names of its own."""


def lines() -> list[tuple[str, str]]:
    """By page what stands after `cornerwave` in blocks for the shell: to be typed as it is."""
    return [
        (page.name, said)
        for page in PAGES
        for block in BLOCK.findall(page.read_text(encoding="utf-8"))
        for said in LINE.findall(block)
    ]


def mentions() -> list[tuple[str, str]]:
    """By page what stands after `cornerwave` within sentences: a command, perhaps without all that it needs."""
    return [
        (page.name, said)
        for page in PAGES
        for said in MENTION.findall(page.read_text(encoding="utf-8"))
    ]


def parsed(said: str, *, whole: bool) -> str:
    """The command that would run; typer's complaint where it is not one. Nothing is run."""
    command, name = COMMAND, "cornerwave"
    context, left = None, shlex.split(said, comments=True)
    while hasattr(command, "commands"):
        context = command.make_context(name, left, parent=context)
        left = [*context._protected_args, *context.args]
        name, command, left = command.resolve_command(context, left)
    if whole:
        command.make_context(name, left, parent=context)
    else:
        # Options that there are not are refused also where arguments are left out.
        own = command.context_class(command, info_name=name, parent=context)
        command.make_parser(own).parse_args(args=list(left))
    return str(name)


@pytest.mark.parametrize(("page", "said"), lines())
def test_a_line_for_the_shell_is_one_that_the_command_takes(
    page: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for word in shlex.split(said, comments=True):
        if re.fullmatch(r"[\w-]+\.\w+", word):
            (tmp_path / word).touch()
    assert parsed(said, whole=True), page


@pytest.mark.parametrize(("page", "said"), mentions())
def test_a_command_that_a_sentence_names_is_there(page: str, said: str) -> None:
    if said.startswith("--"):
        assert said.split(maxsplit=1)[0] in {*(n for each in COMMAND.params for n in each.opts)}, (
            page
        )
    else:
        assert parsed(said.replace("…", ""), whole=False), page


def test_lines_are_found_and_wrong_ones_are_refused() -> None:
    assert ("client.md", "register people.csv --name people") in lines()
    assert ("agreements.md", "verify-agreement agreement.json --keys keys.json") in mentions()
    for wrong in ("invite newspaper", "forget people", "copy fetch people", "datasets --all"):
        with pytest.raises(REFUSED, match=r"(?i)missing|no such"):
            parsed(wrong, whole=True)
    assert parsed("copy show", whole=False) == "show"
    for wrong in ("forget", "copy show people --layer partner"):
        with pytest.raises(REFUSED, match=r"(?i)no such"):
            parsed(wrong, whole=False)


def test_the_page_names_every_command() -> None:
    page = (ROOT / "docs" / "client.md").read_text(encoding="utf-8")
    (section,) = re.findall(r"## The command\n(.*?)\n## ", page, re.DOTALL)
    said = re.findall(r"`([a-z-]+)(?: …)?`", section)
    typed = [line.split()[0] for line in LINE.findall(section)]
    assert set(COMMAND.commands) - {*said, *typed} == set()
    (also,) = re.findall(r"^Also (.*?)\. Each takes", section, re.MULTILINE)
    assert {name.partition(" ")[0] for name in re.findall(r"`([^`]+)`", also)} <= {
        *COMMAND.commands
    }
