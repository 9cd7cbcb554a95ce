"""Answers questions about stored documents: a document's keys and values lie in pinned memory, and
are brought to the GPU for the question."""

import torch
import torch.nn.functional as F
from timing import Clock, arguments
from torch import nn

CUDA = torch.cuda.is_available()
DEVICE, DTYPE = ("cuda", torch.bfloat16) if CUDA else ("cpu", torch.float32)
ROWS, STORED, ASKED, WIDTH, LAYERS, HEADS = ((4, 2048, 1024, 2048, 6, 16) if CUDA else
                                             (1, 32, 8, 64, 2, 4))
DOCUMENTS = 3


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.before, self.between = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.query, self.out = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x, keys, values):
        query = self.query(self.before(x)).view(ROWS, ASKED, HEADS, -1).transpose(1, 2)
        seen = F.scaled_dot_product_attention(query, keys, values)
        x = x + self.out(seen.transpose(1, 2).reshape(ROWS, ASKED, WIDTH))
        return x + self.down(F.gelu(self.up(self.between(x))))


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.head = nn.Embedding(4096, WIDTH), nn.Linear(WIDTH, 4096)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))

    def forward(self, words, stored):
        x = self.words(words)
        for layer, block in enumerate(self.blocks):
            x = block(x, stored[2 * layer], stored[2 * layer + 1])
        return self.head(x[:, -1]).argmax(1)


class Store:
    def __init__(self):
        shape = (2 * LAYERS, ROWS, HEADS, STORED, WIDTH // HEADS)
        maker = torch.Generator(DEVICE).manual_seed(2)
        self.documents = [torch.empty(shape, dtype=DTYPE, pin_memory=CUDA)
                          for _ in range(DOCUMENTS)]
        for document in self.documents:
            document.copy_(torch.randn(shape, device=DEVICE, generator=maker))

    def fetch(self, number):
        return self.documents[number % DOCUMENTS].to(DEVICE, non_blocking=True)  # <- slow


class StoreAhead(Store):
    """Brings the next question's document while this one's is read."""

    def __init__(self):
        super().__init__()
        self.stream = torch.cuda.Stream() if CUDA else None
        self.slots = [torch.empty_like(self.documents[0], device=DEVICE) for _ in range(2)]
        self.free = [None, None]
        self.coming = {}

    def begin(self, number):
        slot = number % 2
        if not CUDA:
            self.slots[slot].copy_(self.documents[number % DOCUMENTS])
            self.coming[number] = None
            return
        with torch.cuda.stream(self.stream):
            if self.free[slot]:
                self.stream.wait_event(self.free[slot])
            self.slots[slot].copy_(self.documents[number % DOCUMENTS], non_blocking=True)
            self.coming[number] = self.stream.record_event()

    def fetch(self, number):
        if number not in self.coming:
            self.begin(number)
        arrived = self.coming.pop(number)
        if CUDA:
            torch.cuda.current_stream().wait_event(arrived)
            self.free[(number + 1) % 2] = torch.cuda.current_stream().record_event()
        self.begin(number + 1)
        return self.slots[number % 2]


@torch.inference_mode()
def main():
    args = arguments(__doc__)
    torch.manual_seed(0)
    with torch.device(DEVICE):
        reader = Reader().to(DTYPE).eval()
    store = StoreAhead() if args.fixed else Store()
    asked = torch.randint(0, 4096, (ROWS, ASKED), generator=torch.Generator().manual_seed(1))
    asked = asked.to(DEVICE)
    digest = sum(sum(reader(asked, store.fetch(number)).tolist()) for number in range(3))
    clock = Clock(args.seconds)
    while clock.running():
        reader(asked, store.fetch(clock.count + 3)).tolist()
        clock.count += 1
    clock.finish(digest)


if __name__ == "__main__":
    main()
