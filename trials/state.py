"""Progress of the trials: counts in a file, saved after every step.

The file is committed (`trials/counts.json`), so that any machine continues from there.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench.report import replace_file

WHOLE = Path(__file__).resolve().parents[1] / "var" / "trials"
SENTENCE = 500
"""Characters of a finding kept beside the counts."""


@dataclass
class State:
    """Counts and figures by trial, findings, and the commits that trials ran at; saved in `file`."""

    file: Path
    counts: dict[str, dict[str, int]] = field(default_factory=dict)
    figures: dict[str, dict[str, Any]] = field(default_factory=dict)
    findings: list[dict[str, str]] = field(default_factory=list)
    commits: dict[str, list[str]] = field(default_factory=dict)

    @classmethod
    def load(cls, file: Path) -> State:
        """Load the state, empty when there is no file."""
        if not file.exists():
            return cls(file)
        kept = json.loads(file.read_text(encoding="utf-8"))
        return cls(file, **kept)

    def begin(self, trial: str, commit: str) -> None:
        """Note that a trial runs at a commit."""
        known = self.commits.setdefault(trial, [])
        if commit not in known:
            known.append(commit)
        self.save()

    def add(self, trial: str, more: Mapping[str, int]) -> None:
        counts = self.counts.setdefault(trial, {})
        for name, number in more.items():
            counts[name] = counts.get(name, 0) + number
        self.save()

    def count(self, trial: str, name: str) -> int:
        return self.counts.get(trial, {}).get(name, 0)

    def measure(self, trial: str, figures: Mapping[str, Any]) -> None:
        self.figures[trial] = dict(figures)
        self.save()

    def add_finding(self, trial: str, sentence: str) -> None:
        """Save a finding: in full in a file of its own, its beginning with the counts."""
        at = datetime.now(UTC).isoformat(timespec="seconds")
        self.findings.append({"trial": trial, "at": at, "sentence": sentence[:SENTENCE]})
        self.save()
        WHOLE.mkdir(parents=True, exist_ok=True)
        (WHOLE / f"finding-{len(self.findings)}.txt").write_text(sentence, encoding="utf-8")

    def save(self) -> None:
        """Replace the file atomically."""
        kept = {name: value for name, value in vars(self).items() if name != "file"}
        replace_file(self.file, json.dumps(kept, indent=1).encode())
