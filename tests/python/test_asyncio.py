"""A scope belongs to the asyncio task that opened it."""

import json

CLOCK_MS = 1  # the recorder's clock against the program's; other requests are off by 10 and more

SERVER = """
    import asyncio, json, random, sys, time
    from inferscope import scope

    bounds_ms = {}  # each latency lies between two that the program can measure itself
    now = time.perf_counter

    async def request(i, chance):
        before = now()
        with scope("request", id=i):
            begun = now()
            async with scope("tokenize", id=i):
                await asyncio.sleep(chance.uniform(0, 0.02))
            with scope("model", id=i):
                await asyncio.sleep(chance.uniform(0, 0.02))
                with scope("layer", id=i):
                    await asyncio.sleep(chance.uniform(0, 0.02))
            ending = now()
        after = now()
        bounds_ms[i] = (ending - begun) * 1000, (after - before) * 1000

    async def main(n):
        chance = random.Random(1)
        await asyncio.gather(*(request(i, chance) for i in range(n)))
"""

RUN = """
    asyncio.run(main(100))
    json.dump(bounds_ms, sys.stdout)
"""


def assert_latencies(recording, bounds_ms):
    for enter, leave in recording.scopes("request"):
        latency_ms = (leave["start_us"] - enter["start_us"]) / 1000
        low, high = bounds_ms.pop(enter["args"]["id"])
        assert low - CLOCK_MS <= latency_ms <= high + CLOCK_MS
    assert bounds_ms == {}, "requests without a scope"


def assert_nested_per_task(recording, inner_count):
    scopes = recording.scopes()
    requests = {(e["pid"], e["task"], e["args"]["id"]): (e["start_us"], leave["start_us"])
                for e, leave in scopes if e["name"] == "request"}
    inner = [pair for pair in scopes if pair[0]["name"] != "request"]
    assert len(inner) == inner_count
    for enter, leave in inner:
        start_us, end_us = requests[enter["pid"], enter["task"], enter["args"]["id"]]
        assert start_us <= enter["start_us"] <= leave["start_us"] <= end_us


def bounds_ms(recording):
    return {int(i): ms for i, ms in json.loads(recording.done.stdout).items()}


def test_100_interleaved_requests_have_their_own_latencies(python, record, report):
    recording = record(python, SERVER + RUN)
    bounds = bounds_ms(recording)
    assert len(bounds) == 100
    ordered = sorted(high for _, high in bounds.values())
    assert_latencies(recording, bounds)
    assert_nested_per_task(recording, 300)
    assert len({enter["task"] for enter, _ in recording.scopes("request")}) == 100
    step, = [step for step in report()["steps"] if step["name"] == "request"]
    assert step["count"] == 100
    # The report may leave warm-up requests out: its figures stay among the program's own.
    assert ordered[0] - 1 <= step["p50_ms"] <= step["p95_ms"] <= step["p99_ms"] <= ordered[-1] + 1


def test_requests_do_run_into_each_other(python, record):
    """The test above would prove nothing if they came one after the other."""
    recording = record(python, SERVER + RUN)
    spans = sorted((e["start_us"], leave["start_us"]) for e, leave in recording.scopes("request"))
    overlapping = sum(after[0] < before[1] for before, after in zip(spans, spans[1:]))
    assert overlapping > 90


def test_uvloop(record, python_with):
    recording = record(python_with("uvloop"), SERVER + """
    import uvloop
    loop = uvloop.new_event_loop()
    loop.run_until_complete(main(100))
    loop.close()
    json.dump(bounds_ms, sys.stdout)
    """)
    assert_latencies(recording, bounds_ms(recording))
    assert_nested_per_task(recording, 300)


def test_two_loops_in_two_threads(python, record):
    recording = record(python, SERVER + """
    import threading

    async def half(first):
        chance = random.Random(first)
        await asyncio.gather(*(request(first + i, chance) for i in range(25)))

    threads = [threading.Thread(target=lambda f=f: asyncio.run(half(f))) for f in (0, 100)]
    for t in threads: t.start()
    for t in threads: t.join()
    json.dump(bounds_ms, sys.stdout)
    """)
    assert_latencies(recording, bounds_ms(recording))
    assert_nested_per_task(recording, 150)
    by_thread = {}
    for enter, leave in recording.scopes():
        assert enter["thread"] == leave["thread"]
        by_thread.setdefault(enter["thread"], set()).add(enter["args"]["id"] // 100)
    assert sorted(by_thread.values(), key=min) == [{0}, {1}]


def test_one_scope_object_in_many_tasks(python, record):
    """Entered again before it is left: each task closes what it opened."""
    recording = record(python, """
        import asyncio
        from inferscope import mark_event, scope
        shared = scope("shared")

        async def task(i):
            with shared:
                mark_event("in", id=i)
                await asyncio.sleep(0.03 if i % 2 else 0.001 * i)
                mark_event("leaving", id=i)  # no other task runs until it is out
            mark_event("out", id=i)

        async def main():
            await asyncio.gather(*(task(i) for i in range(20)))
        asyncio.run(main())
    """)
    scopes = {enter["task"]: (enter, leave) for enter, leave in recording.scopes("shared")}
    assert len(scopes) == 20
    marks = {(event["name"], event["task"]): event["start_us"] for event in recording.of("instant")}
    for task, (enter, leave) in scopes.items():
        assert enter["start_us"] <= marks["in", task] <= marks["leaving", task]
        assert marks["leaving", task] <= leave["start_us"] <= marks["out", task], \
            "closed by another task"


def test_a_cancelled_task_ends_its_scopes(python, record):
    recording = record(python, """
        import asyncio
        from inferscope import scope

        async def request():
            with scope("request"):
                async with scope("inner"):
                    await asyncio.sleep(60)

        async def main():
            task = asyncio.ensure_future(request())
            await asyncio.sleep(0.02)
            task.cancel()
            try:
                await task
            except asyncio.CancelledError:
                print("cancelled")
        asyncio.run(main())
    """)
    assert recording.done.stdout == "cancelled\n"
    (outer, outer_end), = recording.scopes("request")
    (inner, inner_end), = recording.scopes("inner")
    assert outer["task"] == inner["task"] != 0
    assert inner_end["start_us"] <= outer_end["start_us"]
    assert 15e3 < outer_end["start_us"] - outer["start_us"] < 50e6


def test_work_handed_to_a_thread(python, record):
    recording = record(python, """
        import asyncio, time
        from inferscope import scope

        def blocking(i):
            with scope("blocking", id=i):
                time.sleep(0.01)

        async def request(i):
            with scope("request", id=i):
                await asyncio.get_running_loop().run_in_executor(None, blocking, i)

        async def main():
            await asyncio.gather(*(request(i) for i in range(8)))
        asyncio.run(main())
    """)
    requests = {enter["args"]["id"]: (enter, leave) for enter, leave in recording.scopes("request")}
    assert len(requests) == 8
    for enter, leave in recording.scopes("blocking"):
        outer, outer_end = requests.pop(enter["args"]["id"])
        assert enter["thread"] != outer["thread"]
        assert "task" not in enter, "no task runs in a worker thread"
        assert outer["start_us"] <= enter["start_us"] < leave["start_us"] <= outer_end["start_us"]


def test_scopes_outside_of_any_task(python, record):
    recording = record(python, """
        import asyncio
        from inferscope import mark_event, scope

        async def nothing():
            mark_event("in a task")

        with scope("around"):
            asyncio.run(nothing())
            mark_event("in no task")
        loop = asyncio.new_event_loop()
        loop.call_soon(lambda: mark_event("in a callback"))
        loop.call_soon(loop.stop)
        loop.run_forever()
        loop.close()
    """)
    (around, _), = recording.scopes("around")
    marks = {event["name"]: event.get("task", 0) for event in recording.of("instant")}
    assert around.get("task", 0) == 0
    assert marks.pop("in a task") != 0
    assert marks == {"in no task": 0, "in a callback": 0}
