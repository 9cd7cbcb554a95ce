"""Answers the chats that wait in a list with transformers' generate()."""

import argparse
import json
import time
from dataclasses import dataclass, field

import torch
from transformers import GPT2Config, GPT2LMHeadModel

CUDA = torch.cuda.is_available()
DEVICE, DTYPE = ("cuda", torch.float16) if CUDA else ("cpu", torch.float32)
LAYERS, WIDTH, PROMPT, NEW = (6, 768, 48, 16) if CUDA else (2, 64, 8, 4)
TOGETHER = 8


@dataclass
class Chat:
    prompt: list
    answer: list = field(default_factory=list)


class Assistant:
    def __init__(self):
        torch.manual_seed(0)
        config = GPT2Config(n_layer=LAYERS, n_embd=WIDTH, n_head=WIDTH // 32, vocab_size=8000,
                            n_positions=256, bos_token_id=None, eos_token_id=None)
        self.model = GPT2LMHeadModel(config).to(DEVICE, DTYPE).eval()

    @torch.inference_mode()
    def complete(self, chats):
        prompts = torch.tensor([chat.prompt for chat in chats], device=DEVICE)
        written = self.model.generate(  # <- slow
            prompts, attention_mask=torch.ones_like(prompts), max_new_tokens=NEW,
            do_sample=False, pad_token_id=0)  # <- slow
        for chat, row in zip(chats, written[:, prompts.shape[1]:].tolist()):
            chat.answer = row


def waiting_chats():
    """Groups of chats that have come meanwhile."""
    generator = torch.Generator().manual_seed(4)
    while True:
        rows = torch.randint(8000, (TOGETHER, PROMPT), generator=generator).tolist()
        yield [Chat(row) for row in rows]


def answer(assistant, chats, fixed):
    if fixed:
        assistant.complete(chats)
        return
    for chat in chats:
        assistant.complete([chat])  # <- slow


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fixed", action="store_true")
    parser.add_argument("--seconds", type=float, default=3)
    args = parser.parse_args()
    assistant = Assistant()
    chats = waiting_chats()
    first = next(chats)
    answer(assistant, first, args.fixed)
    steps, start = 0, time.perf_counter()
    while steps < 2 * TOGETHER or time.perf_counter() - start < args.seconds:
        answer(assistant, next(chats), args.fixed)
        steps += TOGETHER
    ms = (time.perf_counter() - start) * 1000 / steps
    print("%.1f steps/s (chats)" % (1000 / ms))
    digest = sum(chat.answer[0] for chat in first)
    print(json.dumps({"digest": digest, "steps": steps, "ms_per_step": ms}))


if __name__ == "__main__":
    main()
