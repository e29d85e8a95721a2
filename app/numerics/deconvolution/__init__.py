"""Deconvolution: the distribution of X behind Z = X + Y, with f_Y known [wu2003, section 3].

| module | idea |
| --- | --- |
| `noise` | the known f_Y |
| `bins` | the regions R_i, the histogram of z |
| `kernel` | the map from f_X to f_Z, three forms |
| `em`, `iteration` | the iterative estimates |
| `fourier` | the direct estimate |
"""
