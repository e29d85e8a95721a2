"""/v1/distributions: what a recipient learns in aggregate, and the perturbation of values."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from fastapi import APIRouter, Header, Response
from pydantic import BaseModel, Field

from app.api.dependencies import AskHere
from app.api.distribution_forms import AnyPerturbationForm, NoiseForm
from app.api.once import Route
from app.api.pictures import PICTURE_ANSWER, AnswerType, answer_type, picture_response
from app.api.pictures.distribution import draw_distribution
from app.api.schemas import Form
from app.errors import InvalidParameter
from app.numerics.deconvolution import Histogram, Stopping
from app.numerics.indicator import steps_per_unit
from app.service.distributions import (
    Bins,
    DistributionEstimate,
    EstimateWish,
    Method,
    Series,
    estimate_distribution,
)
from app.service.perturb import (
    SEED_BITS,
    add_noise,
    drawn_seed,
    perturb_categories,
    perturb_values,
)

router = APIRouter(prefix="/v1/distributions", tags=["distributions"], route_class=Route)

MOST_VALUES = 2_000_000
AcceptHere = Annotated[str | None, Header(include_in_schema=False)]


class HistogramForm(Form):
    """Counts of perturbed values at the centres of cells."""

    centres: list[float] = Field(max_length=MOST_VALUES)
    counts: list[float] = Field(max_length=MOST_VALUES)


class SupportForm(Form):
    """Where the unperturbed values can lie."""

    low: float
    high: float


class EstimateForm(Form):
    """Perturbed values or their histogram, the noise, and how to estimate."""

    values: list[float] | None = Field(None, max_length=MOST_VALUES)
    histogram: HistogramForm | None = None
    noise: NoiseForm
    method: Method = Method.EM_ON_BINS
    bins: int = Field(100, ge=1, description="Equal bins on the support.")
    support: SupportForm | None = Field(
        None, description="Without it: the range of the values less the mean of the noise."
    )
    edges: list[float] | None = Field(
        None, max_length=10_001, description="Bins by their edges, instead of `bins`."
    )
    fine_bins: int | None = Field(
        None,
        ge=1,
        description="Estimate on so many equal bins and sum them over the bins asked for; 200 of them"
        " where the edges are not equally far apart.",
    )
    most_iterations: int = Field(500, ge=1, le=1_000_000)
    least_gain: float | None = Field(
        0.05, description="Stop when an iteration adds less to the log-likelihood of all values."
    )
    discrepancy: float | None = Field(
        None, description="Stop when Pearson's statistic per degree of freedom is down to this."
    )
    smoothing_bins: float = Field(
        0.0, ge=0, le=1_000, description="Smooth each iterate by so many bins; 0.5 tames ringing."
    )
    start: Literal["uniform", "direct"] = "uniform"
    harmonics: int = Field(12, ge=1, description="Of the direct estimate.")
    period: float | None = Field(
        None, description="Of the direct estimate's series; the support's length without it."
    )
    keep_clear: bool = Field(
        False, description="Choose a period whose harmonics avoid zeros of the noise's spectrum."
    )
    amplification_limit: float | None = None
    taper: Literal["none", "fejer", "shrinkage"] = "none"

    def data(self) -> Histogram | list[float]:
        if (self.values is None) == (self.histogram is None):
            raise InvalidParameter("give either values or a histogram", parameter="values")
        if self.values is not None:
            return self.values
        assert self.histogram is not None
        return Histogram(
            np.asarray(self.histogram.centres, dtype=np.float64),
            np.asarray(self.histogram.counts, dtype=np.float64),
        )

    def wish(self) -> EstimateWish:
        return EstimateWish(
            noise=self.noise.noise(),
            method=self.method,
            bins=Bins(
                count=self.bins,
                support=None if self.support is None else (self.support.low, self.support.high),
                edges=None if self.edges is None else tuple(self.edges),
                fine=self.fine_bins,
            ),
            stopping=Stopping(self.most_iterations, self.least_gain, self.discrepancy),
            start_from_direct=self.start == "direct",
            smoothing_bins=self.smoothing_bins,
            series=Series(
                harmonics=self.harmonics,
                period=self.period,
                keep_clear=self.keep_clear,
                amplification_limit=self.amplification_limit,
                taper=self.taper,
            ),
        )


class IterativeView(BaseModel):
    """How the iterations went; `unexplained_share` of the values fits nowhere on the support."""

    iterations: int
    stopped_by: Literal["most_iterations", "likelihood_gain", "discrepancy"]
    mean_log_likelihood: float
    unexplained_share: float


class DampedHarmonicView(BaseModel):
    """A harmonic on which the noise left (nearly) nothing; its amplification was held down."""

    harmonic: int
    noise_spectrum: float
    amplification: float


class DirectView(BaseModel):
    """How the series was made; `negative_mass` was cut off."""

    period: float
    amplification_limit: float
    damped: list[DampedHarmonicView]
    negative_mass: float


class EstimateView(BaseModel):
    """The estimated distribution: `probabilities` of the bins between `edges`."""

    method: Method
    records: float
    edges: list[float]
    probabilities: list[float]
    densities: list[float]
    iterative: IterativeView | None
    direct: DirectView | None

    @classmethod
    def of(cls, found: DistributionEstimate) -> EstimateView:
        iterative, direct = found.iterative, found.direct
        return cls(
            method=found.method,
            records=found.records,
            edges=found.edges.tolist(),
            probabilities=found.probabilities.tolist(),
            densities=(found.probabilities / np.diff(found.edges)).tolist(),
            iterative=None
            if iterative is None
            else IterativeView(
                iterations=iterative.iterations,
                stopped_by=iterative.stopped_by,
                mean_log_likelihood=float(iterative.log_likelihoods[-1]),
                unexplained_share=iterative.unexplained,
            ),
            direct=None
            if direct is None
            else DirectView(
                period=direct.period,
                amplification_limit=direct.amplification_limit,
                damped=[
                    DampedHarmonicView.model_validate(one, from_attributes=True)
                    for one in direct.damped
                ],
                negative_mass=direct.negative_mass,
            ),
        )


class PerturbForm(Form):
    """Values to add noise to, or values or answers to turn into vectors of the one-step scheme."""

    values: list[float] | None = Field(None, max_length=MOST_VALUES)
    answers: list[str] | None = Field(None, max_length=MOST_VALUES)
    noise: NoiseForm | None = None
    perturbation: AnyPerturbationForm | None = None
    edges: list[float] | None = Field(None, max_length=10_001, description="Bins of values.")
    categories: list[str] | None = Field(
        None, max_length=10_000, description="All answers there are."
    )
    seed: int | None = Field(None, ge=0, lt=1 << SEED_BITS)


class PerturbedView(BaseModel):
    """`values` with noise, or `vectors` in steps of gamma; and the seed, as secret as the values."""

    values: list[float] | None = None
    vectors: list[list[int]] | None = None
    steps_per_unit: int | None = None
    seed: int


@router.post("/estimate", response_model=EstimateView, responses=PICTURE_ANSWER)
def estimate(
    form: EstimateForm, ask: AskHere, accept: AcceptHere = None
) -> EstimateView | Response:
    """Estimate the distribution behind values with known noise, as JSON, PNG or SVG."""
    del ask  # any caller may
    wanted = answer_type(accept)
    found = estimate_distribution(form.data(), form.wish())
    if wanted is AnswerType.JSON:
        return EstimateView.of(found)
    return picture_response(draw_distribution(found), wanted)


@router.post("/perturb", response_model_exclude_none=True)
def perturb(form: PerturbForm, ask: AskHere) -> PerturbedView:
    """Perturb values or answers, repeatably with the seed."""
    del ask  # any caller may
    seed = drawn_seed() if form.seed is None else form.seed
    if (form.noise is None) == (form.perturbation is None):
        raise InvalidParameter("give either noise or a perturbation", parameter="noise")
    if (form.values is None) == (form.answers is None):
        raise InvalidParameter("give either values or answers", parameter="values")
    if form.perturbation is None:
        assert form.noise is not None
        if form.values is None:
            raise InvalidParameter("noise is added to values", parameter="values")
        return PerturbedView(
            values=add_noise(form.values, form.noise.noise(), seed).tolist(), seed=seed
        )
    perturbation = form.perturbation.perturbation()
    if form.values is not None:
        if form.edges is None:
            raise InvalidParameter("values need the edges of bins", parameter="edges")
        vectors = perturb_values(form.values, form.edges, perturbation, seed)
    else:
        if form.categories is None or form.answers is None:
            raise InvalidParameter("answers need the categories", parameter="categories")
        vectors = perturb_categories(form.answers, form.categories, perturbation, seed)
    return PerturbedView(
        vectors=vectors.tolist(), steps_per_unit=steps_per_unit(perturbation), seed=seed
    )
