"""An asyncio server and its clients in one process, over loopback: short steps of coroutines."""

import asyncio
import hashlib
import json

import timed

CLIENTS, REQUESTS = 8, 6


def answer(request):
    digest = hashlib.sha256(request["text"].encode()).hexdigest()
    return {"id": request["id"], "digest": digest, "words": len(request["text"].split())}


async def serve(reader, writer):
    while True:
        line = await reader.readline()
        if not line:
            break
        writer.write(json.dumps(answer(json.loads(line))).encode() + b"\n")
        await writer.drain()
    writer.close()


async def ask(port, client):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for n in range(REQUESTS):
        request = {"id": client * REQUESTS + n, "text": "one request of many " * 4}
        writer.write(json.dumps(request).encode() + b"\n")
        await writer.drain()
        assert json.loads(await reader.readline())["id"] == request["id"]
    writer.close()


async def serve_rounds(rounds):
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    for _ in range(rounds):
        await asyncio.gather(*[ask(port, client) for client in range(CLIENTS)])
    server.close()


def work(rounds):
    asyncio.run(serve_rounds(rounds))


if __name__ == "__main__":
    timed.main(work, 280)
