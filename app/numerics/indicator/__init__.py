"""One-step scheme: respondents send noisy indicator vectors; column means are the estimate [wu2003].

[wu2003, section 4.] `perturbations` has the five W, `scheme` what is done with them.
"""
