"""Noise levels that suit the data of a spec."""
