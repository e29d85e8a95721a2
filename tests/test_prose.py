"""Sentences of a page, retired words and names of a tree of files."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import naming
from tests.prose import sentences, words
from tests.retired_words import hits

PAGE = """# A heading of several words

**A label.** Two sentences, of [four words](https://example.org/a.b). One has `code with spaces` (eqs. 5
and 6)!

- an item; still the same sentence

| a table | is left out. Really |
|---|---|

```sh
echo "Not prose. Not at all."
```
"""


def test_sentences_leave_out_headings_labels_tables_and_code() -> None:
    assert sentences(PAGE) == [
        "Two sentences, of four words.",
        "One has `code_with_spaces` (eqs. 5 and 6)!",
        "an item; still the same sentence",
    ]
    assert [words(sentence) for sentence in sentences(PAGE)] == [5, 7, 6]


@pytest.mark.parametrize(
    ("path", "text", "found"),
    [
        ("docs/a.md", "Every caller has a key.", ["caller"]),
        ("app/a.py", "# the caller of this function", []),
        ("app/a.py", "def work(ask: AskHere, caller: Caller) -> None:", ["AskHere", "Caller"]),
        ("docs/a.md", "no hit here, therefore, nor because of this", []),
        ("openapi/openapi.json", '{"because": 1}', ['"because"']),
        ("elsewhere/a.md", "rows-again", []),
    ],
)
def test_retired_words_are_found_where_they_apply(
    path: str, text: str, found: list[str], tmp_path: Path
) -> None:
    file = tmp_path / path
    file.parent.mkdir(parents=True)
    file.write_text(f"\n{text}\n", encoding="utf-8")
    all_hits = list(hits(tmp_path))
    assert len(all_hits) == len(found)
    for hit, word in zip(sorted(all_hits), sorted(found), strict=True):
        assert hit.startswith(f"{path}:2: {word!r}: write ")


def test_names_that_break_the_rules_are_found(tmp_path: Path) -> None:
    package = tmp_path / "app"
    for folder in ("asking", "sharing"):
        (package / folder).mkdir(parents=True)
        (package / folder / "__init__.py").touch()
    (package / "one.py").write_text("class Receipt: ...\nclass Other:\n    class Receipt: ...\n")
    (package / "two.py").write_text("class Receipt: ...\n")
    (package / "telling.py").write_text("def asking() -> None: ...\n")
    assert [hit.partition(":")[0] for hit in naming.hits(tmp_path)] == [
        "app/asking",
        "app/telling.py",
        "class Receipt",
    ]
    told = list(
        naming.bad_subjects(["tables: report unclosed quotes", "Fix it", "tables:", "A: b"])
    )
    assert len(told) == 3
