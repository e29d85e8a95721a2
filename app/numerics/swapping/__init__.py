"""Swapping of a categorical confidential attribute: prevents identification, keeps the distribution [li2004].

| module | idea |
|---|---|
| `binning` | numbers to integer codes |
| `identifiability` | who can be identified by the non-confidential attributes |
| `problem` | what must change, what it costs by naive Bayes, how far the marginal must move |
| `published` | the methods of the published experiments (`greedy`, `random`) |
| `classes`, `dual`, `optimal` | the optimum with its certificate (`optimal`) |
| `swap` | one or several confidential attributes from codes to codes |
| `fidelity` | what the swap did to the data |

Notation, after the paper: N records (here n is the number of identifiable ones), J non-confidential
attributes x, C categories of the confidential attribute y; U the uniquely identifiable records,
V the collectively identifiable ones in G groups; t the true category of a record, r the new one;
p(k | x) the posterior (10) and d(t, r) = p(t | x) - p(r | x) the cost of a change (11).
"""
