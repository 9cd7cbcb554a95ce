"""A service over HTTP at night: a few requests a second, each answered at once."""

import argparse
import json
import random
import threading
import time
import urllib.request
from http.server import BaseHTTPRequestHandler, HTTPServer, ThreadingHTTPServer

import torch
from torch import nn

CUDA = torch.cuda.is_available()
DEVICE, DTYPE = ("cuda", torch.bfloat16) if CUDA else ("cpu", torch.float32)
BATCH, TOKENS, WIDTH, LAYERS = (64, 256, 1024, 4) if CUDA else (2, 8, 32, 1)


class Model:
    def __init__(self):
        torch.manual_seed(0)
        layer = nn.TransformerEncoderLayer(WIDTH, 8, 4 * WIDTH, batch_first=True)
        self.body = nn.TransformerEncoder(layer, LAYERS, enable_nested_tensor=False)
        self.body = self.body.to(DEVICE, DTYPE).eval()
        self.words = nn.Embedding(256, WIDTH).to(DEVICE, DTYPE)
        self.lock = threading.Lock()

    @torch.inference_mode()
    def label(self, text):
        with self.lock:
            rows = torch.tensor(list(text.encode()[:TOKENS].ljust(TOKENS)), device=DEVICE)
            seen = self.body(self.words(rows).expand(BATCH, TOKENS, WIDTH))  # <- slow
            return seen.mean(1).argmax(-1)[0].item()


class Handler(BaseHTTPRequestHandler):
    model = None
    spent = []

    def do_POST(self):
        start = time.perf_counter()
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        answer = json.dumps({"label": self.model.label(body["text"])}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)
        self.spent.append(time.perf_counter() - start)

    def log_message(self, format, *args):
        pass


def night(port, seconds):
    """A visitor now and then."""
    visits = random.Random(6)
    start, count = time.perf_counter(), 0
    while count < 6 or time.perf_counter() - start < seconds:
        body = json.dumps({"text": "visit %d asks for a label" % count}).encode()
        request = urllib.request.Request("http://127.0.0.1:%d/label" % port, data=body)
        with urllib.request.urlopen(request, timeout=30) as response:
            response.read()
        time.sleep(visits.uniform(0.02, 0.12))
        count += 1


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fixed", action="store_true")
    parser.add_argument("--seconds", type=float, default=3)
    args = parser.parse_args()
    Handler.model = Model()
    for _ in range(3):
        Handler.model.label("warm")
    kind = HTTPServer if args.fixed else ThreadingHTTPServer  # a thread for each connection
    server = kind(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    night(server.server_address[1], args.seconds)
    server.shutdown()
    steps, ms = len(Handler.spent), 1000 * sum(Handler.spent) / len(Handler.spent)
    print("%.1f ms a request" % ms)
    print(json.dumps({"digest": 0, "steps": steps, "ms_per_step": ms}))


if __name__ == "__main__":
    main()
