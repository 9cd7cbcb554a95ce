"""A diffusion sampler: a U-net cleans latents in twenty steps; callers may hook into them."""

import argparse
import json
import time

import torch
import torch.nn.functional as F
from torch import nn

CUDA = torch.cuda.is_available()
DEVICE, DTYPE = ("cuda", torch.float16) if CUDA else ("cpu", torch.float32)
IMAGES, SIZE, WIDTH = (8, 128, 128) if CUDA else (1, 32, 16)
STEPS, LEVELS = 20, 3


class Residual(nn.Module):
    def __init__(self, given, width):
        super().__init__()
        self.norm, self.first = nn.GroupNorm(8, given), nn.Conv2d(given, width, 3, padding=1)
        self.second = nn.Conv2d(width, width, 3, padding=1)
        self.skip = nn.Conv2d(given, width, 1)
        self.when = nn.Linear(64, width)

    def forward(self, x, when):
        y = self.first(F.silu(self.norm(x))) + self.when(when)[:, :, None, None]
        return self.skip(x) + self.second(F.silu(y))


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        widths = [WIDTH * (1 + level) for level in range(LEVELS)]
        self.enter = nn.Conv2d(4, WIDTH, 3, padding=1)
        self.down = nn.ModuleList(Residual(given, width) for given, width in
                                  zip([WIDTH] + widths, widths))
        self.middle = Residual(widths[-1], widths[-1])
        self.up = nn.ModuleList(Residual(2 * width, given) for given, width in
                                reversed(list(zip([WIDTH] + widths, widths))))
        self.leave = nn.Conv2d(WIDTH, 4, 3, padding=1)
        self.waves = nn.Parameter(torch.randn(64))

    def forward(self, latents, sigma):
        when = torch.cos(sigma * self.waves).expand(latents.shape[0], -1)
        x, skips = self.enter(latents), []
        for block in self.down:
            x = block(x, when)
            skips.append(x)
            x = F.avg_pool2d(x, 2)
        x = self.middle(x, when)
        for block in self.up:
            x = F.interpolate(x, scale_factor=2.0)
            x = block(torch.cat([x, skips.pop()], 1), when)
        return self.leave(x)


class Pipeline:
    def __init__(self):
        torch.manual_seed(0)
        self.unet = UNet().to(DEVICE, DTYPE).eval()
        self.sigmas = torch.linspace(1, 0.05, STEPS, device=DEVICE).to(DTYPE)

    @torch.inference_mode()
    def __call__(self, seed, on_step_end=None):
        maker = torch.Generator(DEVICE).manual_seed(seed)
        latents = torch.randn(IMAGES, 4, SIZE, SIZE, device=DEVICE, generator=maker).to(DTYPE)
        for step in range(STEPS):
            noise = self.unet(latents, self.sigmas[step])
            latents = latents - noise * (self.sigmas[step] / STEPS)
            if on_step_end:
                on_step_end(step, latents)
        return latents


class Progress:
    """What the queue's page shows of a job."""

    def __init__(self):
        self.step = 0

    def __call__(self, step, latents):
        self.step = step


class CarefulProgress(Progress):
    """Other jobs of this card shall find what we do not need."""

    def __call__(self, step, latents):
        super().__call__(step, latents)
        self.release()

    @staticmethod
    def release():
        if torch.cuda.is_available():
            torch.cuda.empty_cache()  # <- slow


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fixed", action="store_true")
    parser.add_argument("--seconds", type=float, default=3)
    args = parser.parse_args()
    pipeline, progress = Pipeline(), Progress() if args.fixed else CarefulProgress()
    digest = round(pipeline(1, progress).float().abs().mean().item(), 3)
    images, start = 0, time.perf_counter()
    while images < 3 or time.perf_counter() - start < args.seconds:
        pipeline(images, progress).float().clamp(-1, 1).cpu()
        images += 1
    took, steps = time.perf_counter() - start, images * STEPS
    print("%.1f images/s" % (images * IMAGES / took))
    print(json.dumps({"digest": digest, "steps": steps, "ms_per_step": took * 1000 / steps}))


if __name__ == "__main__":
    main()
