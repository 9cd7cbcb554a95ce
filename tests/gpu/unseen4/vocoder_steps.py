"""Speaks: a recurrent vocoder makes the sound in small steps, each of many small layers."""

import torch
from timing import Clock, arguments
from torch import nn

CUDA = torch.cuda.is_available()
DEVICE, DTYPE = ("cuda", torch.float16) if CUDA else ("cpu", torch.float32)
VOICES, WIDTH, LAYERS = (32, 512, 6) if CUDA else (2, 32, 2)
FRAMES = 50


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(WIDTH)
        self.gates, self.back = nn.Linear(WIDTH, 2 * WIDTH), nn.Linear(WIDTH, 2 * WIDTH)

    def forward(self, x, state):
        gate, fresh = (self.gates(self.norm(x)) + self.back(state)).chunk(2, 1)
        gate = torch.sigmoid(gate)
        state = state * gate + torch.tanh(fresh) * (1 - gate)
        return x + state, state


class Vocoder(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.to(DEVICE, DTYPE).eval()
        self.x = torch.zeros(VOICES, WIDTH, device=DEVICE, dtype=DTYPE)
        self.states = [torch.zeros_like(self.x) for _ in range(LAYERS)]

    def frame(self):
        x = self.x
        for layer, state in zip(self.layers, self.states):
            x, fresh = layer(x, state)  # <- slow
            state.copy_(fresh)
        self.x.copy_(torch.tanh(x))

    def reset(self):
        self.x.fill_(0.5)
        for state in self.states:
            state.zero_()

    def speak(self):
        self.reset()
        for _ in range(FRAMES):
            self.frame()  # <- slow
        return self.x.float().mean(1).tolist()


class GraphVocoder(Vocoder):
    def __init__(self):
        super().__init__()
        self.graph = torch.cuda.CUDAGraph() if CUDA else None
        super().frame()
        if CUDA:
            torch.cuda.synchronize()
            with torch.cuda.graph(self.graph):
                super().frame()

    def frame(self):
        if self.graph:
            self.graph.replay()
        else:
            super().frame()


@torch.inference_mode()
def main():
    args = arguments(__doc__)
    vocoder = GraphVocoder() if args.fixed else Vocoder()
    for _ in range(3):
        digest = round(sum(vocoder.speak()), 2)
    clock = Clock(args.seconds)
    while clock.running():
        vocoder.speak()
        clock.count += 1
    clock.finish(digest)


if __name__ == "__main__":
    main()
