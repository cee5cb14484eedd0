"""Tiny random models: their logits by Hugging Face transformers in float64.

The weights are those of tests/support/tiny_model.h, made here by an implementation of its own; the checksum of every
tensor is committed, and a unit test compares.
"""

import contextlib
import math
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import torch
from gguf import GGMLQuantizationType as Q
from gguf.quants import dequantize

from blocks import random_norm_weights, random_scale, random_weights
from counter import CounterRandom, checksum

VOCAB = 320
FIRST_TEXT_TOKEN = 3  # below are control tokens


@dataclass(frozen=True)
class Spec:
    name: str
    arch: str
    fmt: str
    hidden: int
    ffn: int
    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    tied: bool
    rope: str
    theta: float
    eps: float
    seed: int
    positions: int
    prompt: int


def specs():
    f32 = dict(fmt="F32", positions=70, prompt=40)
    yield Spec("llama-tied-f32", "llama", hidden=96, ffn=160, layers=3, heads=6, kv_heads=2, head_dim=16, tied=True,
               rope="plain", theta=10000.0, eps=1e-5, seed=10101, **f32)
    yield Spec("llama-untied-f32", "llama", hidden=64, ffn=192, layers=4, heads=4, kv_heads=1, head_dim=16,
               tied=False, rope="plain", theta=100000.0, eps=1e-6, seed=47102, **f32)
    yield Spec("llama-linear-f32", "llama", hidden=128, ffn=224, layers=2, heads=4, kv_heads=4, head_dim=32,
               tied=False, rope="linear", theta=10000.0, eps=1e-5, seed=2103, **f32)
    yield Spec("llama-rope3-f32", "llama", hidden=128, ffn=256, layers=2, heads=4, kv_heads=2, head_dim=32,
               tied=True, rope="llama3", theta=500000.0, eps=1e-5, seed=9104, **f32)
    yield Spec("qwen3-f32", "qwen3", hidden=128, ffn=320, layers=3, heads=6, kv_heads=2, head_dim=32, tied=False,
               rope="plain", theta=1000000.0, eps=1e-6, seed=4105, **f32)
    for i, fmt in enumerate(["F32", "F16", "BF16", "Q8_0", "Q4_0", "Q4_1", "Q4_K", "Q6_K"]):
        size = dict(hidden=256, ffn=512, layers=2, fmt=fmt, positions=66, prompt=50)
        if fmt != "F32":
            yield Spec(f"llama-{fmt.lower()}", "llama", heads=8, kv_heads=2, head_dim=32, tied=False, rope="plain",
                       theta=10000.0, eps=1e-5, seed=200 + i, **size)
            yield Spec(f"qwen3-{fmt.lower()}", "qwen3", heads=8, kv_heads=4, head_dim=64, tied=True, rope="plain",
                       theta=1000000.0, eps=1e-6, seed=300 + i, **size)
    for i, fmt in enumerate(["Q5_0", "Q5_1", "Q2_K", "Q3_K", "Q5_K", "IQ4_NL", "IQ4_XS", "MXFP4", "NVFP4", "IQ1_S",
                             "IQ1_M", "IQ2_XXS", "IQ2_XS", "IQ2_S", "IQ3_XXS", "IQ3_S"]):
        yield Spec(f"llama-{fmt.lower()}", "llama", hidden=256, ffn=512, layers=2, fmt=fmt, heads=8, kv_heads=2,
                   head_dim=32, tied=False, rope="plain", theta=10000.0, eps=1e-5, seed=400 + i, positions=32, prompt=22)


def amplitude_log2(n_in):
    """Of a matrix of n_in inputs: A = 2^this, so that unit inputs give outputs a little above unit size."""
    return 1 - (n_in.bit_length() - 1) // 2


def rope_divisors(spec):
    """llama3's rule: factor 8, low 1, high 4, original context 64. float32, as rope_freqs.weight holds them."""
    half = spec.head_dim // 2
    out = []
    for i in range(half):
        wavelength = 2 * math.pi * spec.theta ** (2 * i / spec.head_dim)
        if wavelength < 64 / 4:
            out.append(1.0)
        elif wavelength > 64 / 1:
            out.append(8.0)
        else:
            smooth = (64 / wavelength - 1) / (4 - 1)
            out.append(1 / ((1 - smooth) / 8 + smooth))
    return np.array(out, dtype=np.float64).astype("<f4")


def tensors(spec):
    """(GGUF name, format, [n_out, n_in] or [n], stored bytes), in the file's order."""

    def matrix(name, n_out, n_in):
        # llama's queries one octave lower: its scores aren't normalised, and a peaky softmax amplifies rounding.
        amplitude = amplitude_log2(n_in) - (spec.arch == "llama" and name.endswith("attn_q.weight"))
        scaled = spec.fmt == "NVFP4" and name != "token_embd.weight"
        amplitude += 6 if scaled else 0
        data = random_weights(spec.fmt, n_out * n_in, amplitude, CounterRandom(spec.seed, name))
        yield name, spec.fmt, (n_out, n_in), data
        if scaled:
            base = name.removesuffix("weight")
            yield base + "scale", "F32", (1,), random_scale(CounterRandom(spec.seed, base + "scale"))
            # Of activations in FP4: changes nothing where they are not.
            yield base + "input_scale", "F32", (1,), np.array([0.25], "<f4").view(np.uint8)

    def norm(name, n):
        return name, "F32", (n,), random_norm_weights(n, CounterRandom(spec.seed, name))

    q, kv = spec.heads * spec.head_dim, spec.kv_heads * spec.head_dim
    yield from matrix("token_embd.weight", VOCAB, spec.hidden)
    if spec.rope == "llama3":
        yield "rope_freqs.weight", "F32", (spec.head_dim // 2,), rope_divisors(spec).view(np.uint8)
    for i in range(spec.layers):
        p = f"blk.{i}."
        yield norm(p + "attn_norm.weight", spec.hidden)
        yield from matrix(p + "attn_q.weight", q, spec.hidden)
        yield from matrix(p + "attn_k.weight", kv, spec.hidden)
        yield from matrix(p + "attn_v.weight", kv, spec.hidden)
        yield from matrix(p + "attn_output.weight", spec.hidden, q)
        if spec.arch == "qwen3":
            yield norm(p + "attn_q_norm.weight", spec.head_dim)
            yield norm(p + "attn_k_norm.weight", spec.head_dim)
        yield norm(p + "ffn_norm.weight", spec.hidden)
        yield from matrix(p + "ffn_gate.weight", spec.ffn, spec.hidden)
        yield from matrix(p + "ffn_up.weight", spec.ffn, spec.hidden)
        yield from matrix(p + "ffn_down.weight", spec.hidden, spec.ffn)
    yield norm("output_norm.weight", spec.hidden)
    if not spec.tied:
        yield from matrix("output.weight", VOCAB, spec.hidden)


HF_NAMES = {
    "attn_norm": "input_layernorm", "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj", "attn_output": "self_attn.o_proj", "attn_q_norm": "self_attn.q_norm",
    "attn_k_norm": "self_attn.k_norm", "ffn_norm": "post_attention_layernorm", "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj",
}


def hf_name(name):
    top = {"token_embd.weight": "model.embed_tokens.weight", "output_norm.weight": "model.norm.weight",
           "output.weight": "lm_head.weight"}
    if name in top:
        return top[name]
    _, layer, part, suffix = name.split(".")
    return f"model.layers.{layer}.{HF_NAMES[part]}.{suffix}"


def unpermute(rows, heads):
    """GGUF's llama stores the rows of q and k for RoPE over adjacent pairs; transformers pairs j with j + half."""
    n_out, n_in = rows.shape
    half = n_out // heads // 2
    return rows.reshape(heads, half, 2, n_in).swapaxes(1, 2).reshape(n_out, n_in)


def dequantized(data, fmt, shape):
    return dequantize(data.reshape(shape[0], -1) if len(shape) == 2 else data, Q[fmt]).reshape(shape)


def scale_of(name, stored):
    """The factor of a weight's linear: a tensor of its own beside it."""
    scale = next((data for other, _, _, data in stored if other == name.removesuffix("weight") + "scale"), None)
    return 1.0 if scale is None else float(scale.view("<f4")[0])


def hf_state(stored, arch, heads, kv_heads, dtype):
    """Stored tensors (name, format, shape, bytes) as a state dict of transformers."""
    state = {}
    stored = list(stored)
    for name, fmt, shape, data in stored:
        if name == "rope_freqs.weight" or not name.endswith("weight"):
            continue
        values = dequantized(data, fmt, shape)
        if arch == "llama" and name.endswith("attn_q.weight"):
            values = unpermute(values, heads)
        if arch == "llama" and name.endswith("attn_k.weight"):
            values = unpermute(values, kv_heads)
        # A copy: torch wants to own it.
        state[hf_name(name)] = torch.from_numpy(np.array(values)).to(dtype) * scale_of(name, stored)
    return state


def build(spec, dtype=torch.float64):
    """The model, its rotary frequencies in float64 from the definition (checked against transformers' own)."""
    from transformers import LlamaConfig, LlamaForCausalLM, Qwen3Config, Qwen3ForCausalLM

    rope = {"rope_theta": spec.theta, "rope_type": "default"}
    if spec.rope == "linear":
        rope |= {"rope_type": "linear", "factor": 4.0}
    if spec.rope == "llama3":
        rope |= {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                 "original_max_position_embeddings": 64}
    config_class, model_class = (
        (LlamaConfig, LlamaForCausalLM) if spec.arch == "llama" else (Qwen3Config, Qwen3ForCausalLM))
    config = config_class(
        vocab_size=VOCAB, hidden_size=spec.hidden, intermediate_size=spec.ffn, num_hidden_layers=spec.layers,
        num_attention_heads=spec.heads, num_key_value_heads=spec.kv_heads, head_dim=spec.head_dim,
        rms_norm_eps=spec.eps, rope_parameters=rope, max_position_embeddings=512, tie_word_embeddings=spec.tied,
        attention_bias=False, bos_token_id=None, eos_token_id=None, pad_token_id=None,
        attn_implementation="eager")
    model = model_class(config).to(dtype).eval()
    state = hf_state(tensors(spec), spec.arch, spec.heads, spec.kv_heads, dtype)
    missing, unexpected = model.load_state_dict(state, strict=False)
    assert not unexpected and set(missing) <= ({"lm_head.weight"} if spec.tied else set()), (missing, unexpected)
    model.tie_weights()

    exponent = torch.arange(0, spec.head_dim, 2, dtype=torch.float64) / spec.head_dim
    inv_freq = 1.0 / spec.theta**exponent
    if spec.rope == "linear":
        inv_freq = inv_freq / 4.0
    if spec.rope == "llama3":
        inv_freq = inv_freq / torch.from_numpy(rope_divisors(spec).astype(np.float64))
    rotary = model.model.rotary_emb
    assert torch.allclose(rotary.inv_freq.double(), inv_freq, rtol=1e-6, atol=0), "rope rule differs"
    assert rotary.attention_scaling == 1.0
    own = rotary.inv_freq.clone()
    rotary.inv_freq = inv_freq
    return model, own


@contextlib.contextmanager
def all_float64(*modules):
    """transformers computes norms, softmax and angles in float32 whatever the model's dtype: not here."""

    class Torch64:
        float32 = torch.float64
        float = torch.float64

        def __getattr__(self, name):
            return getattr(torch, name)

    saved = [module.torch for module in modules]
    for module in modules:
        module.torch = Torch64()
    try:
        yield
    finally:
        for module, original in zip(modules, saved):
            module.torch = original


def run(model, tokens):
    from transformers.models.llama import modeling_llama
    from transformers.models.qwen3 import modeling_qwen3

    with torch.no_grad(), all_float64(modeling_llama, modeling_qwen3):
        return model(torch.tensor([tokens]), use_cache=False).logits[0].double().numpy()


def gaps(logits):
    top = np.sort(logits, axis=-1)
    return top[:, -1] - top[:, -2]


def nmse(reference, got):
    reference = reference - reference.mean(-1, keepdims=True)
    got = got - got.mean(-1, keepdims=True)
    return ((got - reference) ** 2).sum(-1) / (reference**2).sum(-1)


def prompt_tokens(spec):
    words = CounterRandom(spec.seed, "prompt").words(spec.prompt)
    return [int(w % np.uint64(VOCAB - FIRST_TEXT_TOKEN)) + FIRST_TEXT_TOKEN for w in words]


def make_case(spec):
    model, own_inv_freq = build(spec)
    tokens = prompt_tokens(spec)
    while len(tokens) < spec.positions:
        tokens.append(int(run(model, tokens)[-1].argmax()))
    logits = run(model, tokens)

    # The same model by transformers untouched: the patches above sharpen it, they don't change it.
    model.model.rotary_emb.inv_freq = own_inv_freq
    with torch.no_grad():
        untouched = model(torch.tensor([tokens]), use_cache=False).logits[0].double().numpy()
    worst = nmse(logits, untouched).max()
    assert worst < 1e-9, (spec.name, worst)
    return SimpleNamespace(spec=spec, tokens=tokens, logits=logits, untouched_nmse=worst,
                           min_gap=gaps(logits).min(), min_gap_generated=gaps(logits)[spec.prompt - 1 : -1].min())


def write(folder, part_of_name=""):
    folder.mkdir(exist_ok=True)
    for spec in specs():
        if part_of_name not in spec.name:
            continue
        case = make_case(spec)
        stored = np.float64 if spec.fmt == "F32" else np.float32
        np.save(folder / f"{spec.name}.npy", case.logits.astype(stored))
        lines = [
            f"# Golden case {spec.name}, made by tests/golden/make.py; logits in {spec.name}.npy.",
            f"prompt {spec.prompt}",
            f"min_gap {case.min_gap:.6g}",
            f"min_gap_generated {case.min_gap_generated:.6g}",
            "tokens " + " ".join(map(str, case.tokens)),
        ]
        for name, _, _, data in tensors(spec):
            lines.append(f"tensor {name} {checksum(data):016x}")
        (folder / f"{spec.name}.txt").write_text("\n".join(lines) + "\n")
        print(f"{spec.name:18} logits std {case.logits.std():.3f}  min gap {case.min_gap:.4f}, generated "
              f"{case.min_gap_generated:.4f}  {len(set(case.tokens[spec.prompt:]))} distinct generated  "
              f"untouched transformers {case.untouched_nmse:.1e}", flush=True)
