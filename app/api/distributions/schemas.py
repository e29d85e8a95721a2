"""JSON schemas of estimates, perturbations and measures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from pydantic import BaseModel, Field
from pydantic.json_schema import SkipJsonSchema

from app.api.distributions.forms import AnyNoiseForm, AnyPerturbationForm
from app.api.transport.forms import DataForm, Form, Seed, View
from app.errors import InvalidParameter
from app.service.distributions.estimate import (
    Bins,
    DirectParams,
    DistributionEstimate,
    EstimateParams,
    EstimationMethod,
    FloatArray,
    Histogram,
    Stopping,
)
from app.service.distributions.noise import Noise
from app.service.distributions.perturb import (
    AddedNoiseSetting,
    LossMeasures,
    OneStepSetting,
    Setting,
)

MOST_VALUES = 2_000_000


class HistogramForm(Form):
    """Counts of perturbed values at the centres of cells."""

    centres: list[float] = Field(max_length=MOST_VALUES, fail_fast=True)
    counts: list[float] = Field(max_length=MOST_VALUES, fail_fast=True)

    def histogram(self) -> Histogram:
        return Histogram(
            np.asarray(self.centres, dtype=np.float64), np.asarray(self.counts, dtype=np.float64)
        )


class SupportForm(Form):
    """Support of the unperturbed values."""

    low: float
    high: float


@dataclass(frozen=True)
class ColumnOfCopy:
    """A column of a copy by name."""

    copy: str
    column: str


@dataclass(frozen=True)
class Perturbed:
    """Values or their histogram, with the noise that they carry."""

    data: FloatArray | Histogram
    noise: Noise


Source = ColumnOfCopy | Perturbed


class EstimateForm(DataForm):
    """Perturbed values, their histogram, or a column of a copy; the noise; and how to estimate."""

    values: list[float] | None = Field(None, max_length=MOST_VALUES, fail_fast=True)
    histogram: HistogramForm | None = None
    copy_id: str | None = Field(None, max_length=40, description="A copy, and its `column`.")
    column: str | None = None
    noise: AnyNoiseForm | SkipJsonSchema[None] = Field(
        None, description="Needed but for a copy, whose noise is known."
    )
    method: EstimationMethod = EstimationMethod.EM_ON_BINS
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

    def source(self) -> Source:
        """The one place that the values come from; InvalidParameter unless it is one."""
        given = [self.values is not None, self.histogram is not None, self.copy_id is not None]
        if sum(given) != 1:
            raise InvalidParameter("give values, a histogram or a copy", parameter="values")
        if self.copy_id is not None:
            if self.column is None:
                raise InvalidParameter("a copy needs the name of a column", parameter="column")
            if self.noise is not None:
                raise InvalidParameter("the noise of a copy is known", parameter="noise")
            return ColumnOfCopy(self.copy_id, self.column)
        if self.noise is None:
            raise InvalidParameter("say what noise the values have", parameter="noise")
        noise = self.noise.noise()
        if self.values is not None:
            return Perturbed(np.asarray(self.values, dtype=np.float64), noise)
        assert self.histogram is not None
        return Perturbed(self.histogram.histogram(), noise)

    def params(self, noise: Noise) -> EstimateParams:
        return EstimateParams(
            noise=noise,
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
            series=DirectParams(
                harmonics=self.harmonics,
                period=self.period,
                keep_clear=self.keep_clear,
                amplification_limit=self.amplification_limit,
                taper=self.taper,
            ),
        )


class IterativeView(BaseModel):
    """Course of the iterations; `unexplained_share` of the values fits nowhere on the support."""

    iterations: int
    stopped_by: Literal["most_iterations", "likelihood_gain", "discrepancy"]
    mean_log_likelihood: float
    unexplained_share: float


class DampedHarmonicView(View):
    """A harmonic on which the noise left (nearly) nothing; its amplification was held down."""

    harmonic: int
    noise_spectrum: float
    amplification: float


class DirectView(View):
    """Details of the direct estimate; `negative_mass` was cut off."""

    period: float
    amplification_limit: float
    damped: list[DampedHarmonicView]
    negative_mass: float


class EstimateView(BaseModel):
    """The estimated distribution: `probabilities` of the bins between `edges`."""

    method: EstimationMethod
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
            direct=None if direct is None else DirectView.of(direct),
        )


class PerturbForm(DataForm):
    """Values to add noise to, or values or answers to turn into vectors of the one-step scheme."""

    values: list[float] | None = Field(None, max_length=MOST_VALUES, fail_fast=True)
    answers: list[str] | None = Field(None, max_length=MOST_VALUES, fail_fast=True)
    noise: AnyNoiseForm | SkipJsonSchema[None] = None
    perturbation: AnyPerturbationForm | SkipJsonSchema[None] = None
    edges: list[float] | None = Field(None, max_length=10_001, description="Bins of values.")
    categories: list[str] | None = Field(
        None, max_length=10_000, description="All answers there are."
    )
    seed: Seed | None = None


class PerturbedView(BaseModel):
    """`values` with noise, or `vectors` in steps of gamma; and the seed, as secret as the values."""

    values: list[float] | None = None
    vectors: list[list[int]] | None = None
    steps_per_unit: int | None = None
    seed: int


class SettingForm(Form):
    """A perturbation of the one-step scheme, or noise added to values in bins; and their shares."""

    perturbation: AnyPerturbationForm | SkipJsonSchema[None] = None
    noise: AnyNoiseForm | SkipJsonSchema[None] = None
    shares: list[float] = Field(max_length=1_000)
    edges: list[float] | None = Field(None, max_length=1_001, description="With noise.")

    def setting(self) -> Setting:
        if (self.noise is None) == (self.perturbation is None):
            raise InvalidParameter("give either noise or a perturbation", parameter="noise")
        shares = tuple(self.shares)
        if self.perturbation is not None:
            return OneStepSetting(self.perturbation.perturbation(), shares)
        assert self.noise is not None
        if self.edges is None:
            raise InvalidParameter("noise needs the edges of the bins", parameter="edges")
        return AddedNoiseSetting(self.noise.noise(), shares, tuple(self.edges))


class MeasuresForm(Form):
    """The points of a curve; `responses` is the n of the information loss."""

    settings: list[SettingForm] = Field(min_length=1, max_length=50)
    responses: int = Field(10_000, ge=1, le=10**12)
    seed: Seed | None = None


class MeasuredView(View):
    """A number, with the standard error of its simulation (zero where there was none)."""

    value: float
    standard_error: float


class MeasuresView(BaseModel):
    """Privacy loss of one record and information loss of the estimate.

    `privacy_loss` is 1 - 2^(-I) for the mutual information I; `right_without_record` is the best
    guess that needs no record; `information_loss` is null for added noise.
    """

    bins: int
    mutual_information_bits: MeasuredView
    privacy_loss: float
    right_by_mle: MeasuredView
    right_by_map: MeasuredView
    right_without_record: float
    information_loss: float | None

    @classmethod
    def of(cls, found: LossMeasures) -> MeasuresView:
        privacy = found.privacy
        return cls(
            bins=found.bins,
            mutual_information_bits=MeasuredView.of(privacy.mutual_information_bits),
            privacy_loss=privacy.share,
            right_by_mle=MeasuredView.of(privacy.right_by_mle),
            right_by_map=MeasuredView.of(privacy.right_by_map),
            right_without_record=privacy.by_chance,
            information_loss=found.information_loss,
        )


class MeasuresList(BaseModel):
    """The measures in the order of the settings, and the seed of the simulations."""

    measures: list[MeasuresView]
    seed: int
