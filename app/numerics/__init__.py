"""The mathematics: arrays in, arrays out; no input or output, no clock, no configuration."""
