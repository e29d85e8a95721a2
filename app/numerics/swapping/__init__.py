"""Swapping a categorical confidential attribute so that identification breaks and the distribution stays [li2004].

| module | idea |
|---|---|
| `binning` | numbers to integer codes |
| `identifiability` | who can be identified by the non-confidential attributes |
| `posterior` | naive Bayes probabilities of the confidential categories |
| `problem` | what must change, what it costs, how far the marginal must move |
| `phase_one`, `phase_two` | the published method (`greedy`) |
| `chance` | the random method of the published experiments (`random`) |
| `classes`, `selection`, `dual`, `prices`, `core`, `optimal` | the optimum with its certificate (`optimal`) |
| `swap` | one or several confidential attributes from codes to codes |
| `fidelity` | what the swap did to the data |

Notation, after the paper: N records (here n is the number of identifiable ones), J non-confidential
attributes x, C categories of the confidential attribute y; U the uniquely identifiable records,
V the collectively identifiable ones in G groups; t the true category of a record, r the new one;
p(k | x) the posterior (10) and d(t, r) = p(t | x) - p(r | x) the cost of a change (11).
"""
