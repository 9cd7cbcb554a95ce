"""torch.compile; with what it would find in PyTorch when it is loaded."""

import sys

_module = sys.modules["torch.nn.modules.module"]
hooks_found = len(_module._global_forward_hooks) + len(_module._global_forward_pre_hooks)
