"""SmolLM2-135M-Instruct by a float32 torch model with the weights dequantised by the gguf package.

smollm2/greedy.txt          prompts and the 64 greedy tokens behind each, the ids whose logits are kept
smollm2/greedy_stats.npy    float32 [positions of all prompts, 4]: top-2 gap, argmax, mean and variance of the row
smollm2/greedy_sample.npy   float32 [positions of all prompts, sample ids]: the logits at those ids
smollm2/perplexity.txt      the token ids of prose.txt and its perplexity

Perplexity of context n: the tokens are cut into windows of n, the last one shorter; no BOS is added (the file says
add_bos_token = false). A window's first token is not scored; every other is, given those before it in its window.
exp(-mean log p) over all that are scored. A last window of one token scores nothing.
"""

import hashlib

import numpy as np
import torch
from gguf import GGUFReader

from counter import CounterRandom
from make_tokens import build as build_tokenizer
from tiny import all_float64, gaps, hf_state, nmse

SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
GENERATED = 64
SAMPLE = 384
CONTEXTS = [128, 512, 2048]
SYSTEM = ("<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n")


def chat(text):
    return f"{SYSTEM}<|im_start|>user\n{text}<|im_end|>\n<|im_start|>assistant\n"


PROMPTS = [
    "The capital of France is",
    "The old lighthouse keeper looked out and",
    "def fibonacci(n):\n    ",
    "1, 2, 4, 8, 16, 32,",
    chat("What is the capital of France?"),
    chat("Write a haiku about winter."),
    chat("Explain in two sentences why the sky is blue."),
    chat("Répète après moi : « Ça va très bien, merci ! » 🙂"),
]


def load(path):
    from transformers import LlamaConfig, LlamaForCausalLM

    assert hashlib.sha256(path.read_bytes()).hexdigest() == SHA256, "another file than the goldens are of"
    reader = GGUFReader(path)
    meta = {name: field.contents() for name, field in reader.fields.items() if not name.startswith("tokenizer")}
    heads, kv_heads = meta["llama.attention.head_count"], meta["llama.attention.head_count_kv"]
    stored = [(t.name, t.tensor_type.name, tuple(int(d) for d in t.shape[::-1]), t.data) for t in reader.tensors]
    config = LlamaConfig(
        vocab_size=meta["llama.vocab_size"], hidden_size=meta["llama.embedding_length"],
        intermediate_size=meta["llama.feed_forward_length"], num_hidden_layers=meta["llama.block_count"],
        num_attention_heads=heads, num_key_value_heads=kv_heads,
        rms_norm_eps=meta["llama.attention.layer_norm_rms_epsilon"],
        rope_parameters={"rope_theta": meta["llama.rope.freq_base"], "rope_type": "default"},
        max_position_embeddings=meta["llama.context_length"], tie_word_embeddings=True, bos_token_id=None,
        eos_token_id=None, pad_token_id=None, attn_implementation="eager")
    model = LlamaForCausalLM(config).eval()
    missing, unexpected = model.load_state_dict(hf_state(stored, "llama", heads, kv_heads, torch.float32), strict=False)
    assert not unexpected and set(missing) <= {"lm_head.weight"}, (missing, unexpected)
    model.tie_weights()
    return model


def logits_of(model, tokens):
    with torch.no_grad():
        return model(torch.tensor([tokens]), use_cache=False).logits[0].numpy()


def greedy(model, tokens):
    from transformers import DynamicCache

    tokens = list(tokens)
    cache, step = DynamicCache(config=model.config), tokens
    with torch.no_grad():
        for _ in range(GENERATED):
            out = model(torch.tensor([step]), cache=cache, use_cache=True)
            step = [int(out.logits[0, -1].argmax())]
            tokens += step
    return tokens


def perplexity(model, tokens, context):
    losses = []
    for start in range(0, len(tokens), context):
        window = tokens[start : start + context]
        log_p = torch.log_softmax(torch.from_numpy(logits_of(model, window)).double(), -1)
        losses += [-float(log_p[i, window[i + 1]]) for i in range(len(window) - 1)]
    return len(losses), float(np.exp(np.mean(losses)))


def escape(text):
    return text.replace("\\", "\\\\").replace("\n", "\\n")


def sample_ids(vocab):
    """SAMPLE different ids, ascending: the first of a counter-based sequence."""
    chosen, index = set(), 0
    words = CounterRandom(3, "smollm2 sample").words(10 * SAMPLE)
    while len(chosen) < SAMPLE:
        chosen.add(int(words[index] % np.uint64(vocab)))
        index += 1
    return sorted(chosen)


def write(folder, path):
    model = load(path)
    tokenizer, _ = build_tokenizer(path)
    vocab = model.config.vocab_size
    ids = sample_ids(vocab)
    lines = [
        "# SmolLM2-135M-Instruct (Q4_1), greedy, float32 torch; made by tests/golden/make.py smollm2.",
        f"vocab {vocab}", "sample_ids " + " ".join(map(str, ids))]
    rows, sequences = [], []
    for text in PROMPTS:
        prompt = tokenizer.encode(text).ids
        tokens = greedy(model, prompt)
        logits = logits_of(model, tokens)
        assert (logits[len(prompt) - 1 : -1].argmax(-1) == tokens[len(prompt) :]).all(), "cache and one pass differ"
        rows.append(logits)
        sequences.append(tokens)
        lines += ["text " + escape(text), f"prompt {len(prompt)}", "tokens " + " ".join(map(str, tokens))]
        print(f"{len(prompt):3} tokens, smallest gap {gaps(logits)[len(prompt) - 1 : -1].min():.4f}: "
              f"{tokenizer.decode(tokens[len(prompt):], skip_special_tokens=False)!r}", flush=True)
    logits = np.concatenate(rows)
    stats = np.stack([gaps(logits), logits.argmax(-1), logits.mean(-1, dtype=np.float64),
                      logits.var(-1, dtype=np.float64)], -1)
    np.save(folder / "greedy_stats.npy", stats.astype(np.float32))
    np.save(folder / "greedy_sample.npy", np.ascontiguousarray(logits[:, ids], np.float32))
    (folder / "greedy.txt").write_text("\n".join(lines) + "\n")

    text_tokens = tokenizer.encode((folder / "prose.txt").read_text()).ids
    lines = ["# Perplexity of prose.txt by the same model: context, tokens scored, value.",
             "tokens " + " ".join(map(str, text_tokens))]
    for context in CONTEXTS:
        scored, value = perplexity(model, text_tokens, context)
        lines.append(f"context {context} {scored} {value:.6f}")
        print(f"perplexity of {len(text_tokens)} tokens, context {context}: {value:.4f} over {scored}", flush=True)
    (folder / "perplexity.txt").write_text("\n".join(lines) + "\n")
    check_in_float64(model, sequences, rows)


def check_in_float64(model, sequences, rows):
    """How far float32 itself is off, for the README."""
    from transformers.models.llama import modeling_llama

    model = model.double()
    rotary = model.model.rotary_emb
    dim = model.config.head_dim
    rotary.inv_freq = model.config.rope_parameters["rope_theta"] ** -(torch.arange(0, dim, 2).double() / dim)
    for tokens, row in zip(sequences, rows):
        with all_float64(modeling_llama):
            exact = logits_of(model, tokens)
        print(f"float32 against float64: worst NMSE {nmse(exact, row.astype(np.float64)).max():.2e}", flush=True)
