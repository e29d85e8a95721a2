"""How far the trials have come: counts in a file, added to after every step and taken up again.

The file is committed (`trials/counts.json`), so that a new machine goes on from there. Its counts called
"earlier runs" are those of the page, from before it was: how they were made up is not known any more.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

WHOLE = Path(__file__).resolve().parents[1] / "var" / "trials"
SENTENCE = 500
"""Characters of what was found that stand beside the counts; a body that broke something is long."""


@dataclass
class State:
    """Counts by trial, measured figures by trial, and what was found; kept in `file`."""

    file: Path
    counts: dict[str, dict[str, int]] = field(default_factory=dict)
    figures: dict[str, dict[str, Any]] = field(default_factory=dict)
    found: list[dict[str, str]] = field(default_factory=list)

    @classmethod
    def kept_in(cls, file: Path) -> State:
        """As it was left, or nothing done yet."""
        if not file.exists():
            return cls(file)
        kept = json.loads(file.read_text(encoding="utf-8"))
        return cls(file, kept["counts"], kept["figures"], kept["found"])

    def add(self, trial: str, more: Mapping[str, int]) -> None:
        counts = self.counts.setdefault(trial, {})
        for name, number in more.items():
            counts[name] = counts.get(name, 0) + number
        self.save()

    def of(self, trial: str, name: str) -> int:
        return self.counts.get(trial, {}).get(name, 0)

    def measure(self, trial: str, figures: Mapping[str, Any]) -> None:
        self.figures[trial] = dict(figures)
        self.save()

    def find(self, trial: str, sentence: str) -> None:
        """Keep what was found: whole in a file of its own, its beginning with the counts."""
        at = datetime.now(UTC).isoformat(timespec="seconds")
        self.found.append({"trial": trial, "at": at, "sentence": sentence[:SENTENCE]})
        self.save()
        WHOLE.mkdir(parents=True, exist_ok=True)
        (WHOLE / f"found-{len(self.found)}.txt").write_text(sentence, encoding="utf-8")

    def save(self) -> None:
        """Whole or not at all: the trials themselves may be killed."""
        self.file.parent.mkdir(parents=True, exist_ok=True)
        draft = self.file.with_suffix(".new")
        kept = {"counts": self.counts, "figures": self.figures, "found": self.found}
        draft.write_text(json.dumps(kept, indent=1), encoding="utf-8")
        os.replace(draft, self.file)
