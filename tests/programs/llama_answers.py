"""llama.cpp by xllamacpp: a random model of two megabytes completes prompts one after the other."""
import os
import tempfile
import time

import gguf
import numpy as np
import xllamacpp

import clock

WIDTH, FEED, LAYERS, HEADS = 192, 512, 6, 6


def write_model(path):
    random = np.random.default_rng(1)
    model = gguf.GGUFWriter(path, "llama")
    model.add_name("random")
    model.add_block_count(LAYERS)
    model.add_context_length(512)
    model.add_embedding_length(WIDTH)
    model.add_feed_forward_length(FEED)
    model.add_head_count(HEADS)
    model.add_head_count_kv(HEADS)
    model.add_layer_norm_rms_eps(1e-5)
    model.add_rope_dimension_count(WIDTH // HEADS)
    letters = [bytes([i]) for i in range(97, 123)]
    tokens = [b"<unk>", b"<s>", b"</s>"] + [b"<0x%02X>" % i for i in range(256)] + letters
    kinds = [2, 3, 3] + [6] * 256 + [1] * len(letters)
    model.add_vocab_size(len(tokens))
    model.add_tokenizer_model("llama")
    model.add_token_list(tokens)
    model.add_token_scores([-float(i) for i in range(len(tokens))])
    model.add_token_types(kinds)
    model.add_bos_token_id(1)
    model.add_eos_token_id(2)
    model.add_unk_token_id(0)

    def tensor(name, *shape):
        weights = random.standard_normal(shape) / shape[-1] ** 0.5 if len(shape) > 1 else \
            np.ones(shape)
        model.add_tensor(name, weights.astype(np.float32))

    tensor("token_embd.weight", len(tokens), WIDTH)
    tensor("output_norm.weight", WIDTH)
    tensor("output.weight", len(tokens), WIDTH)
    for i in range(LAYERS):
        part = "blk.%d." % i
        for name in ("attn_norm", "ffn_norm"):
            tensor(part + name + ".weight", WIDTH)
        for name in ("attn_q", "attn_k", "attn_v", "attn_output"):
            tensor(part + name + ".weight", WIDTH, WIDTH)
        for name in ("ffn_gate", "ffn_up"):
            tensor(part + name + ".weight", FEED, WIDTH)
        tensor(part + "ffn_down.weight", WIDTH, FEED)
    model.write_header_to_file()
    model.write_kv_data_to_file()
    model.write_tensors_to_file()
    model.close()


def main():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "random.gguf")
        write_model(path)
        settings = xllamacpp.CommonParams()
        settings.model.path = path
        settings.n_ctx = 512
        settings.n_parallel = 1
        settings.warmup = False
        settings.cpuparams.n_threads = 1
        server = xllamacpp.Server(settings)
        took, answers = [], 0
        for number in range(200):
            begin = time.perf_counter()
            answer = server.handle_completions({"prompt": "question %d" % number, "max_tokens": 48,
                                                "ignore_eos": True, "temperature": 0})
            took.append(time.perf_counter() - begin)
            answers += answer["usage"]["completion_tokens"]
        del server
    clock.write("answer", took)
    print("tokens:", answers)


main()
