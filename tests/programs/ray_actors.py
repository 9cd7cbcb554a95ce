"""Ray: two actors with a model each score blocks that the driver sends; nothing to mend."""
import os
import time

os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")

import numpy as np  # noqa: E402
import onnxruntime  # noqa: E402
import ray  # noqa: E402

import clock  # noqa: E402
from onnx_model import mlp  # noqa: E402


@ray.remote(num_cpus=1)
class Scorer:
    def __init__(self, model):
        settings = onnxruntime.SessionOptions()
        settings.intra_op_num_threads = 1
        self.session = onnxruntime.InferenceSession(model, settings)
        self.took = []

    def score(self, x):
        begin = time.perf_counter()
        y = self.session.run(None, {"x": x})[0].argmax(1)
        self.took.append(time.perf_counter() - begin)
        return y

    def end(self):
        clock.write("score", self.took)


def main():
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False,
             object_store_memory=80 * 1024 * 1024)
    model = mlp(width=1024, layers=8)
    actors = [Scorer.remote(model) for _ in range(2)]
    x = np.random.default_rng(1).standard_normal((64, 64)).astype(np.float32)
    ray.get([actor.score.remote(x) for actor in actors])
    took, total = [], 0
    for _ in range(150):
        begin = time.perf_counter()
        for y in ray.get([actor.score.remote(x) for actor in actors]):
            total += int(y.sum())
        took.append(time.perf_counter() - begin)
    ray.get([actor.end.remote() for actor in actors])
    clock.write("round", took)
    print("labels:", total)
    ray.shutdown()


main()
