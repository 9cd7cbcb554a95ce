"""Plays PyTorch for tests on every CPython: files, names and shapes are what the agent knows."""

from . import nn  # noqa: F401
