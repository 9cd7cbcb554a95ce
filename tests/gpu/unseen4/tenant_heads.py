"""One backbone, and a head for each tenant, which its checkpoint holds."""

import os
import tempfile

import torch
from timing import Clock, arguments
from torch import nn

CUDA = torch.cuda.is_available()
DEVICE, DTYPE = ("cuda", torch.bfloat16) if CUDA else ("cpu", torch.float32)
ROWS, WIDTH, DEPTH, CLASSES = (2048, 2048, 8, 4096) if CUDA else (16, 64, 2, 64)
TENANTS = 4


class Head(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden, self.out = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, CLASSES)

    def forward(self, x):
        return self.out(torch.relu(self.hidden(x)))


class Heads:
    """As they are on disk now: a tenant may have trained again."""

    def __init__(self, folder):
        self.folder = folder
        for tenant in range(TENANTS):
            torch.manual_seed(tenant)
            torch.save(Head().state_dict(), self.path(tenant))

    def path(self, tenant):
        return os.path.join(self.folder, "tenant-%d.pt" % tenant)

    def load(self, tenant):
        head = Head()  # <- slow
        head.load_state_dict(torch.load(self.path(tenant)))  # <- slow
        return head.to(DEVICE, DTYPE).eval()  # <- slow

    def get(self, tenant):
        return self.load(tenant)  # <- slow


class KeptHeads(Heads):
    """Loaded again only where the file is another one."""

    def __init__(self, folder):
        super().__init__(folder)
        self.kept = {}

    def get(self, tenant):
        changed = os.stat(self.path(tenant)).st_mtime_ns
        if self.kept.get(tenant, (0, None))[0] != changed:
            self.kept[tenant] = changed, self.load(tenant)
        return self.kept[tenant][1]


def serve(args, heads):
    torch.manual_seed(9)
    layers = [layer for _ in range(DEPTH) for layer in (nn.Linear(WIDTH, WIDTH), nn.ReLU())]
    backbone = nn.Sequential(*layers).to(DEVICE, DTYPE).eval()
    given = torch.randn(ROWS, WIDTH, generator=torch.Generator().manual_seed(1)).to(DEVICE, DTYPE)

    def answer(tenant):
        head = heads.get(tenant)  # <- slow
        return head(backbone(given)).argmax(1)

    digest = sum(sum(answer(tenant).tolist()) for tenant in range(TENANTS))
    clock = Clock(args.seconds)
    while clock.running():
        answer(clock.count % TENANTS).tolist()
        clock.count += 1
    clock.finish(digest)


def main():
    args = arguments(__doc__)
    with tempfile.TemporaryDirectory() as folder, torch.inference_mode():
        serve(args, KeptHeads(folder) if args.fixed else Heads(folder))


if __name__ == "__main__":
    main()
