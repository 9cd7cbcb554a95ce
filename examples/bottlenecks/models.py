"""The models that the programs of this folder serve: random weights, seeded by the caller."""

import torch
import torch.nn.functional as F
from torch import nn


def build(make, device, dtype=torch.float32):
    """The model that make() returns, created on the device, for inference."""
    with torch.device(device):
        return make().to(dtype).eval().requires_grad_(False)


def encoder(width, heads, layers):
    """A transformer encoder: [batch, tokens, width] to the same."""
    layer = nn.TransformerEncoderLayer(width, heads, 4 * width, dropout=0.0, batch_first=True)
    return nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)


def classifier(vocabulary, width, heads, layers, labels):
    """Token ids [batch, tokens] to scores [batch, tokens, labels]."""
    return nn.Sequential(nn.Embedding(vocabulary, width), encoder(width, heads, layers),
                         nn.Linear(width, labels))


def convnet(width, labels, stages=3):
    """Images [batch, 3, height, width] to scores [batch, labels]."""
    parts, channels = [], 3
    for stage in range(stages):
        parts += [nn.Conv2d(channels, width << stage, 3, stride=2, padding=1), nn.ReLU()]
        channels = width << stage
    return nn.Sequential(*parts, nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                         nn.Linear(channels, labels))


class Block(nn.Module):
    """Attention over a cache of keys and values that is as long as the context, and an MLP."""

    def __init__(self, batch, width, heads, context):
        super().__init__()
        self.heads = heads
        self.norms = nn.ModuleList([nn.LayerNorm(width), nn.LayerNorm(width)])
        self.inward = nn.Linear(width, 3 * width)
        self.outward = nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(),
                                 nn.Linear(4 * width, width))
        cache = torch.zeros(batch, heads, context, width // heads)
        self.register_buffer("keys", cache)
        self.register_buffer("values", cache.clone())

    def forward(self, hidden, position, visible):
        batch, width = hidden.shape
        query, key, value = self.inward(self.norms[0](hidden)).view(
            batch, 3, self.heads, 1, -1).unbind(1)
        self.keys.index_copy_(2, position, key)
        self.values.index_copy_(2, position, value)
        mixed = F.scaled_dot_product_attention(query, self.keys, self.values, attn_mask=visible)
        hidden = hidden + self.outward(mixed.reshape(batch, width))
        return hidden + self.mlp(self.norms[1](hidden))


class Decoder(nn.Module):
    """One token of each sequence in, scores of the next ones out; remembers what was before."""

    def __init__(self, vocabulary, batch, width, heads, layers, context):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, width)
        self.blocks = nn.ModuleList(Block(batch, width, heads, context) for _ in range(layers))
        self.head = nn.Linear(width, vocabulary)
        self.register_buffer("places", torch.arange(context))

    def forward(self, tokens, position):
        """tokens: [batch]; position: [1], of all of them, on the model's device."""
        hidden = self.embedding(tokens)
        visible = (self.places <= position).view(1, 1, 1, -1)
        for block in self.blocks:
            hidden = block(hidden, position, visible)
        return self.head(hidden)
