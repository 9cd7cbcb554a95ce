"""torchvision without its compiled operators, which PyPI has for CUDA only.

Declares what torchvision describes to torch when it is imported; its transforms and networks do not
use them.
"""
import torch

library = torch.library.Library("torchvision", "FRAGMENT")
for name in ("nms", "qnms"):
    library.define(name + "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")

import torchvision  # noqa: E402, F401
import torchvision.transforms  # noqa: E402, F401
