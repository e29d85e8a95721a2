"""How much of the original an adversary gets back from disguised copies [huang2005, li2012].

One module, one idea:

| module | idea |
| --- | --- |
| estimation | the one linear least squares estimate that every linear attack is; with true cells known, and over rows in time |
| pooling | many copies become one copy that says as much |
| knowledge | the mean and covariance that an adversary knows or estimates |
| univariate | attribute by attribute: NDR and UDR |
| spectral | principal directions: SF and PCA-DR |
| mixture | a non-linear adversary |
| closed_forms | expected errors where a formula exists, and how unlike the data the noise is shaped |
| score | what an attack achieved, beside a baseline and a control |
| battery | every attack under its name |
| releases.released_rows | rows of a copy beside the originals, and what is to be found in them |
| releases.linear | the best linear attacker, on numbers and categories together |
| releases.posterior_mean | the mean over all other rows, by the likelihood of what is shown |
| releases.neighbours | means over rows that stand together |
| releases.linkage | who knows a person's categories or numbers, and looks for the row |
| releases.findings | what is left beside what was promised, and the verdict |
| releases.attack | all of these on one copy |

Notation, everywhere: n records (rows), d attributes, m copies. huang2005 writes m for d, li2012
writes T, N, M for n, d, m. K is the covariance of the original X, Σ that of the noise.
"""
