"""Estimate of the distribution behind perturbed values with known noise.

[wu2003, section 3.] Nothing is kept.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from app.errors import InvalidParameter, InvalidTable
from app.numerics.arrays import FloatArray
from app.numerics.cancellation import cancellable
from app.numerics.deconvolution.bins import (
    Histogram,
    cells_per_bin,
    checked_edges,
    checked_histogram,
    checked_values,
    histogram_on,
    summed_over,
    support_behind,
    uniform_edges,
    width_if_uniform,
)
from app.numerics.deconvolution.em import (
    LEVEL,
    EstimateWithBand,
    em_on_bins,
    em_on_records,
    em_with_band,
    goes_by_fft,
)
from app.numerics.deconvolution.fourier import DirectEstimate, Taper, clear_period, direct_estimate
from app.numerics.deconvolution.iteration import IterativeEstimate, Stopping
from app.numerics.deconvolution.noise import Noise
from app.service.progress import Progress

MOST_BINS = 10_000
FINE_BINS = 200
MOST_ENTRIES = 1 << 25
"""Records or cells times bins: a likelihood matrix of 256 MiB, which is kept between iterations."""
MOST_WORK = 20_000_000_000
"""Entries times iterations: about half a minute of one core."""
FFT_WORK = 60
"""Entries of a matrix that take as long as one place of a transform."""


__all__ = [
    "LEVEL",
    "FloatArray",
    "Histogram",
    "Stopping",
]  # what its functions take, and the share in a band


class EstimationMethod(StrEnum):
    """Method of estimating the distribution."""

    EM_ON_BINS = "em_on_bins"
    EM_ON_RECORDS = "em_on_records"
    DIRECT = "direct"


@dataclass(frozen=True)
class Bins:
    """Bins of the estimate: given edges, or equal bins on a given or inferred support.

    where:
        fine  so many equal bins to estimate on first, which are then summed over the bins asked for
    """

    count: int = 100
    support: tuple[float, float] | None = None
    edges: tuple[float, ...] | None = None
    fine: int | None = None

    def working(self, edges: FloatArray) -> FloatArray:
        """The bins on which the estimate is made before it is summed over `edges`.

        A density that is constant over a wide bin fits z badly, and the misfit goes into its
        neighbours; unequal bins are therefore estimated on equal fine ones unless `fine` says else.
        """
        if self.fine is None and width_if_uniform(edges) is not None:
            return edges
        count = max(self.fine or FINE_BINS, edges.size - 1)
        return uniform_edges(float(edges[0]), float(edges[-1]), count)


@dataclass(frozen=True)
class DirectParams:
    """The direct estimate's choices; `keep_clear` looks for a period without zeros of the noise."""

    harmonics: int = 12
    period: float | None = None
    keep_clear: bool = False
    amplification_limit: float | None = None
    taper: Taper = "none"


@dataclass(frozen=True)
class EstimateParams:
    """Parameters of an estimate."""

    noise: Noise
    method: EstimationMethod = EstimationMethod.EM_ON_BINS
    bins: Bins = field(default_factory=Bins)
    stopping: Stopping = field(default_factory=Stopping)
    start_from_direct: bool = False
    smoothing_bins: float = 0.0
    series: DirectParams = field(default_factory=DirectParams)


@dataclass(frozen=True)
class DistributionEstimate:
    """The estimate on its bins; `iterative` and `direct` say how it came about, either or both."""

    method: EstimationMethod
    records: float
    edges: FloatArray
    probabilities: FloatArray
    iterative: IterativeEstimate | None = None
    direct: DirectEstimate | None = None


def estimate_distribution(
    data: npt.ArrayLike | Histogram, params: EstimateParams
) -> DistributionEstimate:
    """Estimate the distribution of X from values of X + Y, or from their histogram."""
    known = checked_histogram(data) if isinstance(data, Histogram) else checked_values(data)
    points = known.centres[known.counts > 0] if isinstance(known, Histogram) else known
    if points.min() == points.max():
        raise InvalidTable("All values are equal: there is no distribution to estimate.")
    records = known.total if isinstance(known, Histogram) else float(known.size)
    edges = chosen_edges(params, points)
    working = params.bins.working(edges)
    direct = iterative = None
    if params.method is EstimationMethod.DIRECT or params.start_from_direct:
        direct = _direct(known, params, working)
    if params.method is not EstimationMethod.DIRECT:
        iterative = _iterative(known, params, working, direct)
    made = iterative or direct
    assert made is not None
    return DistributionEstimate(
        method=params.method,
        records=records,
        edges=edges,
        probabilities=summed_over(made.probabilities, working, edges),
        iterative=iterative,
        direct=direct,
    )


def estimate_with_band(
    values: FloatArray, params: EstimateParams, seed: int, progress: Progress
) -> tuple[DistributionEstimate, EstimateWithBand]:
    """Estimate on bins, and again from values drawn anew, for the band in which `LEVEL` of the estimates lie."""
    with cancellable(progress.raise_if_cancelled):
        progress.report("taking the noise out", 0, 2)
        found = estimate_distribution(values, params)
        progress.report("drawing anew for the band", 1, 2)
        histogram = histogram_on(values, found.edges, cells_per_bin=cells_per_bin(found.edges))
        rng = np.random.default_rng(seed)
        return found, em_with_band(histogram, params.noise, found.edges, rng)


def chosen_edges(params: EstimateParams, points: FloatArray) -> FloatArray:
    """The edges (K+1,) that the parameters name, on the support that it names or that z suggests."""
    bins = params.bins
    if bins.edges is not None:
        edges = checked_edges(bins.edges)
        if bins.support is not None and not (
            bins.support[0] <= edges[0] and edges[-1] <= bins.support[1]
        ):
            raise InvalidParameter("the bins reach outside the support", parameter="edges")
        count = edges.size - 1
    else:
        count = bins.count
        edges = None
    if not 1 <= max(count, bins.fine or 1) <= MOST_BINS:
        raise InvalidParameter(f"an estimate has 1 to {MOST_BINS} bins", parameter="bins")
    if edges is None:
        edges = uniform_edges(*(bins.support or support_behind(points, params.noise)), count)
    return edges


def _direct(
    data: FloatArray | Histogram, params: EstimateParams, edges: FloatArray
) -> DirectEstimate:
    series = params.series
    if series.keep_clear and series.period is not None:
        raise InvalidParameter("give a period or keep_clear, not both", parameter="period")
    size = data.centres.size if isinstance(data, Histogram) else data.size
    _require_affordable(size * series.harmonics, "harmonics")
    period = series.period
    if series.keep_clear:
        period = clear_period(params.noise, float(edges[-1] - edges[0]), series.harmonics)
    return direct_estimate(
        data,
        params.noise,
        edges,
        harmonics=series.harmonics,
        period=period,
        amplification_limit=series.amplification_limit,
        taper=series.taper,
    )


def _iterative(
    data: FloatArray | Histogram,
    params: EstimateParams,
    edges: FloatArray,
    direct: DirectEstimate | None,
) -> IterativeEstimate:
    start = None if direct is None else direct.probabilities
    bins, iterations = edges.size - 1, params.stopping.most_iterations
    if params.method is EstimationMethod.EM_ON_RECORDS:
        if isinstance(data, Histogram):
            raise InvalidParameter(
                "a histogram has no records: estimate on bins", parameter="method"
            )
        _require_matrix(data.size * bins, "method")
        _require_affordable(data.size * bins * iterations, "most_iterations")
        return em_on_records(
            data,
            params.noise,
            edges,
            stopping=params.stopping,
            start=start,
            smoothing_bins=params.smoothing_bins,
        )
    histogram = (
        data
        if isinstance(data, Histogram)
        else histogram_on(data, edges, cells_per_bin=cells_per_bin(edges))
    )
    cells = histogram.centres.size
    if goes_by_fft(histogram, edges):
        _require_affordable(FFT_WORK * (cells + bins) * iterations, "most_iterations")
    else:
        _require_matrix(cells * bins, "bins")
        _require_affordable(cells * bins * iterations, "most_iterations")
    return em_on_bins(
        histogram,
        params.noise,
        edges,
        stopping=params.stopping,
        start=start,
        smoothing_bins=params.smoothing_bins,
    )


def _require_matrix(entries: int, parameter: str) -> None:
    if entries > MOST_ENTRIES:
        raise InvalidParameter(
            "so much is estimated on equal bins, or with fewer of them",
            parameter=parameter,
            most=MOST_ENTRIES,
        )


def _require_affordable(work: float, parameter: str) -> None:
    if work > MOST_WORK:
        raise InvalidParameter(
            "this would take too long: ask for fewer iterations or bins", parameter=parameter
        )
