"""The mathematics: arrays in, arrays out; no input or output, no clock, no configuration.

Of scipy the large packages are named in full where they are used (`scipy.stats.rankdata`): it loads
them at the first use, and no start waits for them.
"""
