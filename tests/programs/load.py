"""Loads a server with requests from threads of its own, then writes what they took.

    load.py URL --requests N [--concurrency C] [--interval-ms MS] [--body FILE] [--wait-s S]

Waits until the server accepts connections.  With an interval, request i is sent at i times the
interval (open loop); else each connection sends its next request at once (closed loop).  Latencies
go to $PROGRAM_CLOCK as "latency"; standard output has the status codes and a digest of the answers.
"""

import argparse
import collections
import hashlib
import http.client
import socket
import sys
import threading
import time
import urllib.parse

import clock


def wait_for(host, port, limit_s):
    end = time.monotonic() + limit_s
    while time.monotonic() < end:
        try:
            socket.create_connection((host, port), 1).close()
            return
        except OSError:
            time.sleep(0.1)
    sys.exit("no server on port %d after %g s" % (port, limit_s))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    parser.add_argument("--requests", type=int, required=True)
    parser.add_argument("--concurrency", type=int, default=1)
    parser.add_argument("--interval-ms", type=float, default=0)
    parser.add_argument("--body")
    parser.add_argument("--wait-s", type=float, default=120)
    options = parser.parse_args()
    url = urllib.parse.urlsplit(options.url)
    body = open(options.body, "rb").read() if options.body else None
    wait_for(url.hostname, url.port, options.wait_s)

    numbers = iter(range(options.requests))
    lock = threading.Lock()
    latencies, answers = [], collections.Counter()
    begin = time.perf_counter()

    def user():
        connection = http.client.HTTPConnection(url.hostname, url.port, timeout=60)
        while True:
            with lock:
                number = next(numbers, None)
            if number is None:
                break
            wait = begin + number * options.interval_ms / 1e3 - time.perf_counter()
            if wait > 0:
                time.sleep(wait)
            sent = time.perf_counter()
            connection.request("POST" if body else "GET", url.path, body,
                               {"Content-Type": "application/json"} if body else {})
            answer = connection.getresponse()
            text = answer.read()
            with lock:
                latencies.append(time.perf_counter() - sent)
                answers[answer.status, hashlib.sha256(text).hexdigest()[:16]] += 1
        connection.close()

    threads = [threading.Thread(target=user) for _ in range(options.concurrency)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    clock.write("latency", latencies)
    clock.write("load", [time.perf_counter() - begin])
    for (status, digest), count in sorted(answers.items()):
        print(status, digest, count)


if __name__ == "__main__":
    main()
