"""Synthetic tables with the statistics of an original: five methods, and mixed columns.

[hsu2008] gives PRIMP and the hybrid and measures them against three older methods. All five (`methods`)
take the numeric table as an array and return a `Synthesis`; `mixed` carries categories and missing
values through any of them, and `stratified` has them work inside strata.

| symbol | name here | meaning |
| --- | --- | --- |
| X | `values`, (n, d) | the original: n records, d attributes (the paper's X is the transpose) |
| n' | `rows` | records asked for; n when not said |
| m | `components` | source signals that are permuted, 2 ≤ m ≤ d |
| r | `rank` | rank of the correlation matrix: d less what is constant or collinear |
| S | `sources`, (n, m) | the independent components, each of mean 0 and variance 1 |
| A | `mixing` | X = S·A after normalisation |
| L | `factor`, (d, r) | lower trapezoidal, L·Lᵀ = the correlation matrix |
| G | `seeds`, (n', r) | what L colours: covariance exactly the identity |
"""
