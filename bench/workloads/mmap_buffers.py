"""Maps, touches and gives back big buffers: its page tables never rest, nor its mmap lock."""

import mmap

import timed

PAGE = 4096


def fill(buffer, value):
    for at in range(0, len(buffer), PAGE):
        buffer[at] = value


def anonymous(megabytes):
    buffer = mmap.mmap(-1, megabytes << 20)
    fill(buffer, 1)
    buffer.close()


def private(megabytes):
    buffer = bytearray(megabytes << 20)  # above malloc's threshold: a mapping of its own
    fill(buffer, 2)


def work(rounds):
    for _ in range(rounds):
        anonymous(4)
        private(4)


if __name__ == "__main__":
    timed.main(work, 280)
