"""A chat service that remembers its conversations and collects garbage after every answer.

Slow:  gc.collect() goes through all that is remembered, each time.
Fixed: what stays is frozen; the collector runs when it finds it necessary.
"""

import gc

import torch

from harness import Clock, options
from models import build, classifier

VOCABULARY = 4000


class Memory:
    """Conversations as they are kept: lists of dictionaries."""

    def __init__(self, conversations):
        self.conversations = [self.conversation(number) for number in range(conversations)]

    @staticmethod
    def conversation(number):
        return [{"role": role, "turn": turn, "tokens": [number, turn], "tags": {"id": number}}
                for turn, role in enumerate(("user", "model") * 3)]

    def add(self, answer):
        self.conversations.append([{"role": "model", "tokens": answer}])


class Chat:
    def __init__(self, model, memory, device, tidy):
        self.model = model
        self.memory = memory
        self.device = device
        self.tidy = tidy

    @torch.inference_mode()
    def answer(self, prompt):
        scores = self.model(prompt.to(self.device))
        return scores.argmax(dim=-1)[:, -1].tolist()

    def handle(self, prompt):
        answer = self.answer(prompt)
        self.memory.add(answer)
        if self.tidy:
            gc.collect()  # <- slow
        return answer


def main():
    args = options(__doc__, steps=60, cpu_steps=30)
    width, layers = (512, 6) if args.on_gpu else (64, 2)
    memory = Memory(30000 if args.on_gpu else 8000)
    if args.fixed:
        gc.collect()
        gc.freeze()
    model = build(lambda: classifier(VOCABULARY, width, 8, layers, VOCABULARY), args.device,
                  args.dtype)
    chat = Chat(model, memory, args.device, tidy=not args.fixed)
    prompts = [torch.randint(0, VOCABULARY, (4, 64 if args.on_gpu else 16)) for _ in range(4)]
    clock = Clock(args)
    while not clock.step(chat.handle(prompts[clock.count % len(prompts)])):
        pass
    clock.finish()


if __name__ == "__main__":
    main()
