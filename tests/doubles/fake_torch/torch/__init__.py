"""Plays PyTorch for tests on every CPython: files, names and shapes are what the agent knows."""

import atexit  # noqa: F401, as PyTorch does

from . import _C, cuda, nn  # noqa: F401
