"""pytest on a model: a fixture builds it anew for each of sixty tests.

    pytest models_check.py           FIXED=1: it is built once for the module
"""
import atexit
import os
import time

import pytest
import torch
from transformers import BertConfig, BertModel

import clock

torch.set_num_threads(1)
took = []
atexit.register(lambda: clock.write("test", took))


@pytest.fixture(scope="module" if os.environ.get("FIXED") else "function")
def model():
    torch.manual_seed(1)
    return BertModel(BertConfig(vocab_size=5000, hidden_size=256, num_hidden_layers=4,
                                num_attention_heads=4, intermediate_size=1024)).eval()


@pytest.fixture(autouse=True)
def timed():
    begin = time.perf_counter()
    yield
    took.append(time.perf_counter() - begin)


@pytest.mark.parametrize("length", range(1, 61))
def test_the_output_has_the_length_of_the_input(timed, model, length):
    with torch.inference_mode():
        assert model(input_ids=torch.ones(1, length, dtype=torch.long))[0].shape[1] == length
