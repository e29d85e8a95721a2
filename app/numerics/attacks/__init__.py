"""Reconstruction attacks on disguised copies [huang2005, li2012], and attackers on a release.

One module, one idea:

| module | idea |
| --- | --- |
| estimation | the one linear least squares estimate that every linear attack is; with true cells known, and over rows in time |
| evidence | many copies reduced to one sufficient copy; the mean and covariance that an adversary knows or estimates |
| univariate | attribute by attribute: NDR and UDR |
| spectral | principal directions: SF and PCA-DR |
| mixture | a non-linear adversary |
| closed_forms | expected errors where a formula exists, and dissimilarity of noise and data |
| score | error of an attack beside a baseline and a control |
| battery | every attack under its name |
| releases.released_rows | rows of a copy beside the originals, and the values that attackers estimate |
| releases.linear | the best linear attacker, on numbers and categories together |
| releases.posterior_mean | mean over all other rows, weighted by likelihood |
| releases.neighbours | means over neighbouring rows |
| releases.linkage | search for a person's row by known categories or numbers |
| releases.findings | remaining against promised variance, and the verdict |
| releases.attack | all of these on one copy |

Notation, everywhere: n records (rows), d attributes, m copies. huang2005 writes m for d, li2012
writes T, N, M for n, d, m. K is the covariance of the original X, Σ that of the noise.
"""
