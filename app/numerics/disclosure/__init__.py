"""What a perturbation costs the analyst and what it leaks about one record [wu2003, sections 4.2 and 5].

| module | measure |
| --- | --- |
| `information_loss` | what the estimate of the distribution lost, by both definitions |
| `guessing` | the best guess of one record's bin, and how often it is right |
| `one_step` | mutual information and right guesses of the one-step scheme, curves of both |
| `additive` | the same for added noise |
"""
