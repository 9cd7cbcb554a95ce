"""As in PyTorch."""
