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
| releases.released_rows | rows of a copy beside the originals, numbers and categories |
| releases.joint_linear | the best linear attacker on both, without and with the kept rows told |
| releases.trees | boosted trees that learn from half of the true rows |
| releases.directions | the worst direction of each part, and the insider who knows all but one attribute |
| releases.findings | what is left beside what was promised, and the verdict |
| releases.promise | all of these, and rounding to values that can be, on one copy |

Notation, everywhere: n records (rows), d attributes, m copies. huang2005 writes m for d, li2012
writes T, N, M for n, d, m. K is the covariance of the original X, Σ that of the noise.
"""
