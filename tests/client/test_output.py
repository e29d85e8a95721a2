"""What the command prints for people: values within values as lines, never as JSON."""

from __future__ import annotations

import pytest

from cornerwave.command.output import print_value
from cornerwave.values import Level, Report

LEVEL = Level(
    name="partner",
    noise_variance=0.25,
    privacy=0.2,
    issued=False,
    advice=Report(
        {
            "applied_variance": 0.7,
            "driven_by": [
                {"column": "age", "applied_variance": 0.7, "applied_variance_without": 0.3},
                {"column": "[income]", "applied_variance": 0.5, "applied_variance_without": 0.4},
            ],
            "weakly_protected": [],
        }
    ),
)


def test_advice_is_lines_that_a_person_reads(capsys: pytest.CaptureFixture[str]) -> None:
    print_value(LEVEL, as_json=False)
    lines = [line.strip("│ \n") for line in capsys.readouterr().out.splitlines()]
    printed = " ".join(" ".join(lines).replace("│", " ").split())
    assert "{" not in printed
    assert "applied_variance: 0.7 driven_by: column: age, applied_variance: 0.7," in printed
    assert "column: [income], applied_variance: 0.5, applied_variance_without: 0.4" in printed
    assert "weakly_protected" not in printed


def test_lists_of_words_stay_in_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    print_value({"columns": ["age", "income"], "nothing": [], "share": 0.123456789}, as_json=False)
    printed = capsys.readouterr().out
    assert "age, income" in printed
    assert "0.123457" in printed


def test_programs_get_all_of_it(capsys: pytest.CaptureFixture[str]) -> None:
    print_value(LEVEL, as_json=True)
    assert '"weakly_protected": []' in capsys.readouterr().out
