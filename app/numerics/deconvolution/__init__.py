"""The distribution behind values with known noise: Z = X + Y, f_Y known, f_X wanted [wu2003, section 3].

| module | idea |
| --- | --- |
| `noise` | the known f_Y |
| `bins` | the regions R_i, the histogram of z |
| `kernel` | the map from f_X to f_Z, three forms |
| `em`, `iteration` | the iterative estimates |
| `fourier` | the direct estimate |
"""

from app.numerics.deconvolution.bins import Histogram, support_behind, uniform_edges
from app.numerics.deconvolution.em import em_on_bins, em_on_records
from app.numerics.deconvolution.fourier import (
    DampedHarmonic,
    DirectEstimate,
    Taper,
    clear_period,
    direct_estimate,
)
from app.numerics.deconvolution.iteration import Estimate, Stopping
from app.numerics.deconvolution.kernel import bin_likelihood
from app.numerics.deconvolution.noise import (
    Discrete,
    Laplace,
    Noise,
    Normal,
    Triangular,
    Uniform,
    noise_of_copy,
)

__all__ = [
    "DampedHarmonic",
    "DirectEstimate",
    "Discrete",
    "Estimate",
    "Histogram",
    "Laplace",
    "Noise",
    "Normal",
    "Stopping",
    "Taper",
    "Triangular",
    "Uniform",
    "bin_likelihood",
    "clear_period",
    "direct_estimate",
    "em_on_bins",
    "em_on_records",
    "noise_of_copy",
    "support_behind",
    "uniform_edges",
]
