"""A run for every nominal period of the past: planned, resumed, followed and summed up."""
