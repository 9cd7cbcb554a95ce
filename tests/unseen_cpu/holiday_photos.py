# %% Which of the holiday photos show the sea? A notebook, saved as a script.
import time

import torch
import torch.nn as nn

torch.manual_seed(17)

# %% the network (weights would come from a file)
net = nn.Sequential(
    nn.Conv2d(3, 48, 7, stride=2, padding=3), nn.ReLU(), nn.MaxPool2d(2),
    nn.Conv2d(48, 96, 3, padding=1), nn.ReLU(),
    nn.Conv2d(96, 96, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
    nn.Conv2d(96, 128, 3, padding=1), nn.ReLU(),
    nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(128, 2),
)
net.eval()

# %% the photos
photos = torch.rand(96, 3, 192, 192)

# %% look at them
sea = []
start = time.perf_counter()
with torch.no_grad():
    for first in range(0, len(photos), 8):
        out = net(photos[first : first + 8])
        sea += out.softmax(1)[:, 1].tolist()
took = time.perf_counter() - start

# %%
print("sea:", sum(p > 0.5 for p in sea), "of", len(photos))
n = len(photos) // 8
print(f"{n} batches of {1e3 * took / n:.2f} ms: {n / took:.2f} steps/s")
