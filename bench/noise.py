"""The noise: compiled against its definition, against multiple precision, and against the normal."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator

import mpmath
import numpy as np
from mpmath import mpf
from numpy.typing import NDArray
from scipy.special import log_ndtr
from scipy.stats import norm

from app.numerics.copies.noise import definition, normal_table
from app.numerics.copies.noise.keystream import keystream_words
from app.numerics.copies.noise.normal_table import SEGMENTS, segment_bounds
from app.numerics.copies.noise.steps import CompiledSteps, border_words
from bench.measure import Ratio, record
from bench.normal_table import DIGITS, compute_table, density, tail

FloatArray = NDArray[np.float64]
WordArray = NDArray[np.uint64]

WORDS = 10**8
KEY = hashlib.sha256(b"bench/noise.py").digest()
PER_SEGMENT = 40


def main() -> None:
    values = normals()
    record(
        "noise",
        [*exactness(), *distribution(values)],
        notes=[
            f"{WORDS:.0e} words of one keystream, and the smallest and largest q of every segment.",
            "Standard errors are those of a standard normal.",
        ],
    )


def pieces() -> Iterator[WordArray]:
    """Yield the words in pieces of 10⁶."""
    for block in range(WORDS // 10**6):
        yield keystream_words(KEY, block, 0, 10**6)


def kernel_normals(words: WordArray) -> FloatArray:
    """Return standard normals as the compiled functions make them."""
    out = np.empty((1, len(words)))
    CompiledSteps().path_tile(words.reshape(1, -1), 1.0, None, 0.0, None, 0.0, out)
    made_of_words: FloatArray = out[0]
    return made_of_words


def normals() -> FloatArray:
    return np.concatenate([kernel_normals(words) for words in pieces()])


def exactness() -> list[Ratio]:
    """Differing words, the recomputed table, and the largest error."""
    differing = sum(differences(words) for words in [*pieces(), border_words()])
    print(f"{differing} of {WORDS:.0e} words differ", flush=True)
    table = hashlib.sha256(compute_table().astype("<f8").tobytes()).hexdigest()
    error = max(map(error_of, *q_and_normal()))
    print(f"largest error {error:.3g}", flush=True)
    return [
        Ratio(
            "normals of 10⁸ words and all segment borders that differ from the definition",
            differing,
            0,
        ),
        Ratio(
            "recomputed tables that differ from the committed one", table != normal_table.SHA256, 0
        ),
        Ratio("largest error of a normal, in units of 10⁻¹⁴", error * 1e14, 5),
    ]


def differences(words: WordArray) -> int:
    defined = definition.normals_from_words(words)
    return int(np.count_nonzero(kernel_normals(words).view(np.uint64) != defined.view(np.uint64)))


def q_and_normal() -> tuple[list[float], list[float]]:
    """Return 40 points in every segment, its borders among them."""
    shares = np.linspace(0, 1, PER_SEGMENT)
    q = [low + (high - low) * shares for low, high in map(segment_bounds, range(SEGMENTS))]
    odd = np.floor(np.concatenate(q) * 2.0**54).astype(np.uint64)
    odd = np.unique(np.minimum(odd, np.uint64(2**53 - 1)) | np.uint64(1))
    words = np.concatenate([odd << np.uint64(11), border_words()[: len(border_words()) // 2]])
    return definition.tails_from_words(words).tolist(), kernel_normals(words).tolist()


def error_of(q: float, x: float) -> float:
    """|x - x(q)|, by one Newton step in 50 digits."""
    with mpmath.workdps(DIGITS):
        return float(abs((tail(mpf(x)) - mpf(q)) / density(mpf(x))))


def distribution(values: FloatArray) -> list[Ratio]:
    """Moments, tails to six sigma and Anderson-Darling, with no estimated parameter."""
    n = len(values)
    moments = {1: (0, 1), 2: (1, 2), 3: (0, 15), 4: (3, 96), 5: (0, 945), 6: (15, 10_170)}
    off = [
        abs(float(np.mean(values**power)) - mean) / math.sqrt(variance / n)
        for power, (mean, variance) in moments.items()
    ]
    tails = []
    for sigma in range(1, 7):
        expected = n * norm.sf(sigma)
        for count in (np.count_nonzero(values > sigma), np.count_nonzero(values < -sigma)):
            tails.append(float(abs(count - expected) / math.sqrt(expected)))
            print(f"beyond {sigma} sigma: {count} of {expected:.2f} expected")
    values.sort()
    return [
        Ratio("largest deviation of six moments, in standard errors", max(off), 4),
        Ratio(
            "largest deviation of twelve tail counts to 6 sigma, in standard errors", max(tails), 4
        ),
        Ratio(
            "Anderson-Darling statistic of 10⁸ values (6 is exceeded once in 1,000 times)",
            anderson_darling(values),
            6,
        ),
    ]


def anderson_darling(ordered: FloatArray) -> float:
    """The statistic for the standard normal, in pieces."""
    n, total = len(ordered), 0.0
    for start in range(0, n, 10**6):
        stop = min(start + 10**6, n)
        weights = 2.0 * np.arange(start + 1, stop + 1) - 1
        mirrored = ordered[n - stop : n - start][::-1]
        total += float(np.sum(weights * (log_ndtr(ordered[start:stop]) + log_ndtr(-mirrored))))
    return -n - total / n


if __name__ == "__main__":
    main()
