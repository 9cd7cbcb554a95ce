"""What recording costs whole services: fresh processes in turns, by the services' own clock.

    tests/gpu/services.py [--rounds N] [--seconds S] [--variants NAME,...] [--iters N] [word ...]

Each round runs every variant once, in another order.  The figure is the median over the rounds of
the service's mean request time by that of the plain run beside it, with a 95 % interval; beside
it what the report itself says recording cost.
"""

import argparse
import collections
import json
import os
import shutil
import statistics
import sys
import tempfile
import time

import cupti_alone
import kit

sys.path.insert(0, os.path.join(kit.ROOT, "bench"))
import paired  # noqa: E402

TIMEOUT_S = 120

Variant = collections.namedtuple("Variant", "name options cupti", defaults=(None, None))

VARIANTS = [
    Variant("plain2"),
    Variant("cupti", cupti="activities"),
    Variant("cupti_calls", cupti="calls"),
    Variant("default", []),
    Variant("no_gpu", ["--no-gpu"]),
    Variant("no_gpu_no_cpu", ["--no-gpu", "--no-cpu"]),
    Variant("no_cpu", ["--no-cpu"]),
    Variant("sample", ["--no-gpu", "--cpu", "sample"]),
    Variant("calls_only", ["--no-gpu", "--no-memory", "--sample-hz", "1"]),
]
SERVICES = ["service_threads.py", "service_adapters.py"]


def mean_ms(stdout):
    return json.loads(stdout.strip().splitlines()[-1])["mean_ms"]


def run(variant, service, iters, folder):
    """(mean time of a request in ms, the account or None)"""
    command = [kit.script(service), "--iters", str(iters)]
    report = os.path.join(folder, "report.json")
    if variant is None or variant.options is None:
        more = cupti_alone.environment(variant.cupti, folder) if variant and variant.cupti else {}
        done = kit.execute(kit.plain(command), TIMEOUT_S, env=kit.environment(**more))
    else:
        done = kit.execute(kit.recorded(command, os.path.join(folder, "t.isc"), report,
                                        variant.options, budget=()), TIMEOUT_S)
    if done.status:
        raise OSError("%s: status %s: %s" % (variant, done.status, done.stderr[-300:]))
    if variant is None or variant.options is None:
        return mean_ms(done.stdout), None
    with open(report, encoding="utf-8") as file:
        return mean_ms(done.stdout), json.load(file)["trust"]["overhead_share"]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--seconds", type=float, default=400)
    parser.add_argument("--iters", type=int, default=60)
    parser.add_argument("--variants", default="plain2,cupti,default,no_gpu")
    parser.add_argument("words", nargs="*", default=["threads"])
    args = parser.parse_args()
    problem = kit.obstacle()
    if problem:
        print("# services: SKIP, " + problem)
        return kit.NOTHING
    chosen = [variant for variant in VARIANTS if variant.name in args.variants.split(",")]
    began = time.monotonic()
    for service in SERVICES:
        if not any(word in service for word in args.words):
            continue
        pairs, accounts = collections.defaultdict(list), collections.defaultdict(list)
        folder = tempfile.mkdtemp(prefix="inferscope-services-")
        try:
            for nth in range(args.rounds):
                if nth and (time.monotonic() - began) * (nth + 1) / nth > args.seconds:
                    break
                everyone = [None] + chosen
                times = {}
                for which in paired.order_of(nth, len(everyone)):
                    times[which], account = run(everyone[which], service, args.iters, folder)
                    if account is not None:
                        accounts[everyone[which].name].append(account)
                for which, variant in enumerate(chosen, 1):
                    pairs[variant.name].append((times[0], times[which]))
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        for variant in chosen:
            ratio = paired.summarize(pairs[variant.name])
            line = "services.%s.%s %.4f times, 95 %% interval %.4f .. %.4f, %d pairs of %.1f ms" % (
                service[:-3], variant.name, ratio.median, ratio.low, ratio.high,
                len(pairs[variant.name]),
                statistics.median(plain for plain, _ in pairs[variant.name]))
            if accounts[variant.name]:
                line += "; its own account %.4f" % (1 + statistics.median(accounts[variant.name]))
            print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
