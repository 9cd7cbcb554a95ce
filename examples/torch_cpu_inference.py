"""Serves text classification requests with a small transformer on the CPU.

What a serving process does, without the network: requests arrive as text, are
tokenized in Python, run through the model and come back as labels.  Weights
are random but seeded, so every run does the same work.

    inferscope run examples/torch_cpu_inference.py
    python3 examples/torch_cpu_inference.py --requests 20      (no recording)
"""

import argparse
import random
import re
import time
import zlib

import torch
from torch import nn

try:
    from inferscope import mark_event, scope
except ImportError:  # started without `inferscope run` and not installed
    from contextlib import contextmanager

    @contextmanager
    def scope(name, **metadata):
        yield

    def mark_event(name, **metadata):
        pass


LABELS = ("billing", "outage", "praise", "question")
VOCABULARY = 8192
MAX_TOKENS = 96
WORDS = ("the service has been slow since this morning and our invoices for march are missing "
         "could you please tell me whether my account was charged twice thank you for the quick "
         "answer everything works again after the update of the mobile application").split()


class Classifier(nn.Module):
    """Token and position embeddings, an encoder, mean pooling, one linear head."""

    def __init__(self, width=256, heads=4, layers=4):
        super().__init__()
        self.tokens = nn.Embedding(VOCABULARY, width, padding_idx=0)
        self.positions = nn.Embedding(MAX_TOKENS, width)
        layer = nn.TransformerEncoderLayer(width, heads, 4 * width, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.head = nn.Linear(width, len(LABELS))

    def forward(self, ids):
        padding = ids == 0
        places = torch.arange(ids.shape[1])
        hidden = self.encoder(self.tokens(ids) + self.positions(places),
                              src_key_padding_mask=padding)
        hidden = hidden.masked_fill(padding.unsqueeze(-1), 0.0)
        lengths = (~padding).sum(dim=1, keepdim=True).clamp(min=1)
        return self.head(hidden.sum(dim=1) / lengths)


def normalize(text):
    return re.sub(r"[^a-z0-9 ]+", " ", text.lower())


def subwords(word):
    """Splits a word into pieces of at most four letters; later pieces are marked."""
    for start in range(0, len(word), 4):
        piece = word[start:start + 4]
        yield piece if start == 0 else "##" + piece


def token_id(piece):
    return 1 + zlib.crc32(piece.encode()) % (VOCABULARY - 1)


@scope("preprocess")
def preprocess(texts):
    """Texts to a padded batch of token ids; 0 is padding."""
    rows = []
    for text in texts:
        pieces = [piece for word in normalize(text).split() for piece in subwords(word)]
        rows.append([token_id(piece) for piece in pieces[:MAX_TOKENS]])
    longest = max(map(len, rows))
    return torch.tensor([row + [0] * (longest - len(row)) for row in rows])


@scope("postprocess")
def postprocess(logits):
    shares = logits.softmax(dim=-1)
    best = shares.argmax(dim=-1)
    return [{"label": LABELS[i], "score": round(shares[row, i].item(), 4)}
            for row, i in enumerate(best.tolist())]


def handle(model, request_id, texts):
    with scope("request", id=request_id, batch=len(texts)):
        ids = preprocess(texts)
        with scope("model", tokens=ids.numel()):
            logits = model(ids)
        return postprocess(logits)


def incoming(count, batch, seed=7):
    """The requests: batches of texts of different lengths, the same in every run."""
    rng = random.Random(seed)
    for _ in range(count):
        yield [" ".join(rng.choices(WORDS, k=rng.randint(12, 60))) for _ in range(batch)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--requests", type=int, default=160, metavar="N")
    parser.add_argument("--batch", type=int, default=4, metavar="N", help="texts in a request")
    parser.add_argument("--threads", type=int, default=1, metavar="N",
                        help="of torch; 1 by default, as with one worker per core")
    args = parser.parse_args()
    if min(args.requests, args.batch, args.threads) < 1:
        parser.error("--requests, --batch and --threads must be at least 1")

    torch.set_num_threads(args.threads)
    torch.manual_seed(0)
    model = Classifier().eval()
    mark_event("model loaded", parameters=sum(p.numel() for p in model.parameters()))

    counts = dict.fromkeys(LABELS, 0)
    start = time.perf_counter()
    with torch.inference_mode():
        for request_id, texts in enumerate(incoming(args.requests, args.batch)):
            for answer in handle(model, request_id, texts):
                counts[answer["label"]] += 1
    seconds = time.perf_counter() - start

    print("%d requests in %.2f s, %.1f ms each" % (args.requests, seconds,
                                                   1000 * seconds / args.requests))
    print("labels: " + ", ".join("%s %d" % item for item in counts.items()))


if __name__ == "__main__":
    main()
