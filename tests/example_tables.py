"""Tables that every checkout has: scikit-learn's, and a generated census with the traits of a public one.

The census has six numbers and nine categories: weights of a heavy tail, gains that are mostly 0, a number that a category
determines, hours of which half are 40, rare categories, three columns with gaps, and an income that follows from the rest.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

SCHOOLS = (
    *("Preschool", "1st-4th", "5th-6th", "7th-8th", "9th", "10th", "11th", "12th", "HS-grad"),
    *(
        "Some-college",
        "Assoc-voc",
        "Assoc-acdm",
        "Bachelors",
        "Masters",
        "Prof-school",
        "Doctorate",
    ),
)
SCHOOL_SHARES = (2, 5, 10, 20, 15, 28, 37, 13, 323, 223, 42, 33, 164, 54, 17, 12)
MARITAL = ("Never-married", "Married-civ-spouse", "Divorced", "Widowed", "Separated")
WORK = ("Private", "Self-emp-not-inc", "Local-gov", "State-gov", "Federal-gov", "Without-pay")
JOBS = (
    "Prof-specialty",
    "Craft-repair",
    "Exec-managerial",
    "Adm-clerical",
    "Sales",
    "Armed-Forces",
)
RACES = ("White", "Black", "Asian-Pac-Islander", "Amer-Indian-Eskimo", "Other")
COUNTRIES = ("United-States", "Mexico", "Philippines", "Germany", "Canada", "Holand-Netherlands")
MISSING = "?"

Records = Sequence[Sequence[str]]


def _drawn(
    rng: np.random.Generator, values: Sequence[str], shares: Sequence[float], rows: int
) -> NDArray[np.str_]:
    return rng.choice(np.array(values), rows, p=np.array(shares) / sum(shares))


def _with_gaps(
    rng: np.random.Generator, values: NDArray[np.str_], share: float
) -> NDArray[np.str_]:
    return np.where(rng.random(values.size) < share, MISSING, values)


@cache
def census(rows: int, seed: int = 1994) -> Records:
    """The header and the records of a generated census, as texts; a gap is a `?`."""
    rng = np.random.default_rng(seed)
    age = np.clip(17 + rng.gamma(3.0, 7.3, rows), 17, 90).astype(int)
    school = rng.choice(len(SCHOOLS), rows, p=np.array(SCHOOL_SHARES) / sum(SCHOOL_SHARES))
    single = 1 / (1 + np.exp((age - 27) / 4))
    married = np.where(
        rng.random(rows) < single, 0, rng.choice([1, 2, 3, 4], rows, p=[0.7, 0.2, 0.05, 0.05])
    )
    sex = _drawn(rng, ("Male", "Female"), (2, 1), rows)
    spouse = np.where(sex == "Male", "Husband", "Wife")
    alone = _drawn(
        rng, ("Not-in-family", "Own-child", "Unmarried", "Other-relative"), (5, 3, 2, 1), rows
    )
    hours = np.where(rng.random(rows) < 0.47, 40, np.clip(rng.normal(41, 14, rows), 1, 99)).astype(
        int
    )
    score = 0.05 * (age - 40) + 0.45 * (school - 9) + 1.8 * (married == 1) + 0.03 * (hours - 40)
    rich = rng.random(rows) < 1 / (1 + np.exp(2.6 - score))
    gain = np.where(rng.random(rows) < 0.04 + 0.15 * rich, rng.lognormal(8.4, 0.9, rows), 0)
    loss = np.where(rng.random(rows) < 0.04 + 0.06 * rich, rng.normal(1_870, 370, rows), 0)
    work = _drawn(rng, WORK, (75, 9, 7, 5, 3, 0.05), rows)
    job = _drawn(rng, JOBS, (20, 19, 19, 18, 17, 0.05), rows)
    idle = rng.random(rows) < 0.057
    columns: dict[str, NDArray[np.generic]] = {
        "age": age,
        "workclass": np.where(idle, MISSING, work),
        "fnlwgt": rng.lognormal(12.0, 0.55, rows).astype(int),
        "education": np.array(SCHOOLS)[school],
        "education_num": school + 1,
        "marital_status": np.array(MARITAL)[married],
        "occupation": np.where(idle, MISSING, job),
        "relationship": np.where(married == 1, spouse, alone),
        "race": _drawn(rng, RACES, (85, 10, 3, 1, 1), rows),
        "sex": sex,
        "capital_gain": np.clip(gain, 0, 99_999).astype(int),
        "capital_loss": np.clip(loss, 0, 4_356).astype(int),
        "hours_per_week": hours,
        "native_country": _with_gaps(
            rng, _drawn(rng, COUNTRIES, (90, 5, 2, 1.5, 1.4, 0.02), rows), 0.018
        ),
        "income": np.where(rich, ">50K", "<=50K"),
    }
    cells = zip(*(column.astype(str).tolist() for column in columns.values()), strict=True)
    return [list(columns), *(list(record) for record in cells)]


@cache
def scikit_learn(name: str) -> Records:
    """The header and the records of a table that comes with scikit-learn: iris, wine, breast_cancer or diabetes."""
    from sklearn import datasets

    load = getattr(datasets, f"load_{name}")
    loaded = load(scaled=False) if name == "diabetes" else load()
    names = [
        "_".join(one.replace("(", "").replace(")", "").split()) for one in loaded.feature_names
    ]
    labels = getattr(loaded, "target_names", None)
    last = loaded.target if labels is None else np.array(labels)[loaded.target]
    numbers = ([repr(float(cell)) for cell in row] for row in loaded.data)
    records = [[*row, str(label)] for row, label in zip(numbers, last, strict=True)]
    return [[*names, "class"], *records]


EXAMPLES = ("iris", "wine", "breast_cancer", "diabetes", "census")


def example(name: str) -> Records:
    """One of EXAMPLES: the header and the records; of the census 2,000."""
    return census(2_000) if name == "census" else scikit_learn(name)


def as_csv(records: Records) -> bytes:
    """The records as a CSV file."""
    sink = io.StringIO(newline="")
    csv.writer(sink, lineterminator="\n").writerows(records)
    return sink.getvalue().encode()
