"""The one-step scheme: every respondent sends a noisy indicator vector, means of columns are the estimate.

[wu2003, section 4.] `perturbations` has the five W, `scheme` what is done with them.
"""
