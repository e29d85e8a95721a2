"""Sentence lengths of the documentation, retired words and names: `python -m tests.prose [--quiet] [--long]`.

Prose is paragraphs and list items. Code blocks, tables, headings and bold labels that open a paragraph are left out;
a code span counts as one word. Exits with 1 when a page's mean is too long, or a retired word or a bad name is found.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from markdown_it import MarkdownIt

from tests import naming, retired_words

ROOT = Path(__file__).resolve().parents[1]
LONG = 25
"""Words beyond which `--long` lists a sentence."""
MEAN = 20.0
STRICT_MEAN = 18.0
STRICT = {"README.md", "docs/privacy.md"}
SENTENCE_END = re.compile(
    r"(?<=[.?!])(?<!\beq[.])(?<!\beqs[.])(?<!\be[.]g[.])(?<!\bi[.]e[.])[)\"”]?\s+"
)
LABEL = re.compile(r"^\*\*[^*]+[.:]\*\*")
IMAGE = re.compile(r"!\[[^]]*]\([^)]*\)")
LINK = re.compile(r"\[([^]]*)]\([^)]*\)")
CODE = re.compile(r"`[^`]+`")


def pages() -> list[Path]:
    """Return every page of the documentation except the changelog, which is made of fragments."""
    top = [page for page in sorted(ROOT.glob("*.md")) if page.name != "CHANGELOG.md"]
    return [*top, ROOT / "client" / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def paragraphs(text: str) -> Iterator[str]:
    """Yield paragraphs and list items, code spans as a single word each."""
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    for before, token in pairwise(tokens):
        if before.type == "paragraph_open":
            prose = LINK.sub(r"\1", IMAGE.sub("", LABEL.sub("", token.content)))
            yield CODE.sub(lambda span: re.sub(r"\s+", "_", span[0]), prose)


def sentences(text: str) -> list[str]:
    """Split a page's prose into sentences."""
    split = [part for each in paragraphs(text) for part in SENTENCE_END.split(each)]
    return [" ".join(sentence.split()) for sentence in split if words(sentence)]


def words(sentence: str) -> int:
    """Count the words that have a letter or a digit."""
    return sum(any(sign.isalnum() for sign in word) for word in sentence.split())


def main(*arguments: str) -> int:
    """Print words, sentences and mean length of every page, then retired words and bad names."""
    failed = False
    for page in pages():
        name = page.relative_to(ROOT).as_posix()
        text = page.read_text(encoding="utf-8")
        lengths = [(words(sentence), sentence) for sentence in sentences(text)]
        mean = sum(length for length, _ in lengths) / max(len(lengths), 1)
        over = mean > (STRICT_MEAN if name in STRICT else MEAN)
        failed |= over
        mark = " <-" if over else ""
        if over or "--quiet" not in arguments:
            print(f"{name:48}{len(text.split()):7}{len(lengths):6}{mean:7.1f}{mark}")
        if "--long" in arguments:
            for length, sentence in lengths:
                if length > LONG:
                    print(f"    {length}: {sentence}")
    for hit in (*retired_words.hits(ROOT), *naming.hits(ROOT)):
        failed = True
        print(hit)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
