"""Embeds documents; a document's vector is what its first token has become."""

import torch
from timing import Clock, arguments
from transformers import BertConfig, BertModel

CUDA = torch.cuda.is_available()
DEVICE, DTYPE = ("cuda", torch.bfloat16) if CUDA else ("cpu", torch.float32)
ROWS, LENGTH, WIDTH, LAYERS = (96, 512, 1024, 3) if CUDA else (2, 32, 64, 2)


class Embedder:
    def __init__(self):
        torch.manual_seed(0)
        config = BertConfig(vocab_size=4096, hidden_size=WIDTH, num_hidden_layers=LAYERS,
                            num_attention_heads=WIDTH // 64, intermediate_size=4 * WIDTH)
        with torch.device(DEVICE):
            self.model = BertModel(config, add_pooling_layer=False).to(DTYPE).eval()

    def states(self, words):
        return self.model(input_ids=words).last_hidden_state

    def vectors(self, words):
        states = self.states(words).cpu()  # <- slow
        return states[:, 0]


class FrugalEmbedder(Embedder):
    def vectors(self, words):
        return self.states(words)[:, 0].cpu()


@torch.inference_mode()
def main():
    args = arguments(__doc__)
    embedder = FrugalEmbedder() if args.fixed else Embedder()
    words = torch.randint(0, 4096, (ROWS, LENGTH), generator=torch.Generator().manual_seed(1))
    words = words.to(DEVICE)
    for _ in range(3):
        digest = round(embedder.vectors(words).float().abs().sum().item())
    clock = Clock(args.seconds)
    while clock.running():
        embedder.vectors(words)
        clock.count += 1
    clock.finish(digest)


if __name__ == "__main__":
    main()
