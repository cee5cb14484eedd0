"""Times llama.cpp through llama-cpp-python on one model; prints one JSON object. Run by ./compare in the peer's venv.

Prefill: N tokens in one call on an empty cache. Decode: N single tokens after --depth tokens, no text made.
Each is done once for warm-up, then `--repeat` times; the times are wall clock, the figures are tokens/s.
"""

import argparse
import ctypes
import json
import sys
import time


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("model")
    parser.add_argument("--prefill", type=int, default=512)
    parser.add_argument("--decode", type=int, default=64)
    parser.add_argument("--depth", type=int, default=1)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeat", type=int, default=3)
    args = parser.parse_args()

    import llama_cpp
    lib = llama_cpp
    quiet = lib.llama_log_callback(lambda level, text, data: None)
    lib.llama_log_set(quiet, ctypes.c_void_p(0))
    lib.llama_backend_init()
    model = lib.llama_model_load_from_file(args.model.encode(), lib.llama_model_default_params())
    if not model:
        sys.exit(f"the peer cannot read {args.model}")
    params = lib.llama_context_default_params()
    params.n_ctx = max(1024, args.prefill, args.depth + args.decode)
    params.n_batch = params.n_ubatch = max(512, args.prefill, args.depth)
    params.n_threads = params.n_threads_batch = args.threads
    context = lib.llama_init_from_model(model, params)
    n_vocab = lib.llama_vocab_n_tokens(lib.llama_model_get_vocab(model))
    memory = lib.llama_get_memory(context)

    def decode(tokens):
        array = (lib.llama_token * len(tokens))(*tokens)
        if lib.llama_decode(context, lib.llama_batch_get_one(array, len(tokens))) != 0:
            sys.exit("the peer's llama_decode failed")

    def prefill_once():
        lib.llama_memory_clear(memory, True)
        start = time.perf_counter()
        decode([(7 * i + 100) % n_vocab for i in range(args.prefill)])
        return args.prefill / (time.perf_counter() - start)

    def decode_once():
        lib.llama_memory_clear(memory, True)
        decode([(7 * i + 100) % n_vocab for i in range(args.depth)])
        start = time.perf_counter()
        for i in range(args.decode):
            decode([(7 * i + 100) % n_vocab])
        return args.decode / (time.perf_counter() - start)

    prefill_once(), decode_once()
    print(json.dumps({
        "prefill_tokens_per_s": [prefill_once() for _ in range(args.repeat)],
        "decode_tokens_per_s": [decode_once() for _ in range(args.repeat)],
        "system": lib.llama_print_system_info().decode(),
    }))


if __name__ == "__main__":
    main()
