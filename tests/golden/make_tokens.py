#!/usr/bin/env python3
"""Writes smollm2/tokens.json: 30 texts and the ids an independent tokenizer gives them (development only).

The tokenizer is Hugging Face's `tokenizers`, built from the vocabulary, merges and control tokens in the model
file, with the pre-tokenizer that SmolLM2's own tokenizer.json names: every digit alone, then ByteLevel's rule.

  pip install tokenizers gguf
  tests/golden/make_tokens.py ~/.cache/motley/SmolLM2-135M-Instruct.Q4_1.gguf
"""
import json
import pathlib
import sys

from gguf import GGUFReader
from tokenizers import AddedToken, Tokenizer, models, pre_tokenizers

CONTROL = 3
TEXTS = [
    "Hello, world!",
    "The capital of France is Paris, isn't it?",
    "I'll say they've what we'd call 'em; she's, he'S, WE'LL, don't.",
    "It was the best of times, it was the worst of times, it was the age of wisdom, it was the age of foolishness.",
    "Supercalifragilisticexpialidocious antidisestablishmentarianism",
    "Où est la bibliothèque ? L’été, j’ai vu un cœur brisé à Noël.",
    "Ça coûte 1 234,56 € — c’est « très » cher…",
    "你好，世界！今天天气怎么样？",
    "我想在apple工作1314151天～",
    "人工智能正在改变我们的生活方式，从教育到医疗。",
    "日本語のテキストと한국어 텍스트",
    "Привет, как дела? Γειά σου Κόσμε. שלום עולם مرحبا",
    "🚀 to the 🌕! 👋🏽",
    "👨‍👩‍👧‍👦 family 🏳️‍🌈 flag 🇫🇷",
    "😀😃😄😁 😶‍🌫️",
    "e\u0301 is not é; Z\u0351\u036b\u0343a\u0327lgo",
    "def fib(n):\n    return n if n < 2 else fib(n - 1) + fib(n - 2)\n",
    "for (int i = 0; i < 10; ++i) {\n\tstd::printf(\"%d\\n\", i);\n}\n",
    "SELECT * FROM users WHERE id = 42 AND name LIKE '%o''brien%';",
    "<div class=\"a\"><!-- x --></div>\r\n<p>&amp;</p>\r\n",
    "{\"key\": [1, 2.5, -3e10, null, true], \"a\": {}}",
    "0 1 22 333 4444 55555 666666 3.14159 1,000,000 0xFF 2024-12-31",
    "١٢٣ ½ ² Ⅷ ①",
    "  two leading,  two inner, two trailing  ",
    "a  3   b    4\n\n\n  \t\tx \n y\t",
    " ",
    "      ",
    "\n\n \n",
    "nbsp\u00a0here, ideographic\u3000space, zero\u200bwidth, line\u2028sep",
    "https://example.org/a_b-c?d=e&f=%20#g user@host.tld C:\\path\\file.txt ... !!! ??? ---- ____ ====",
]


def alphabet():
    """The byte-level alphabet: byte -> character."""
    table, extra = {}, 0
    for byte in range(256):
        if 0x21 <= byte <= 0x7E or 0xA1 <= byte <= 0xAC or 0xAE <= byte:
            table[byte] = chr(byte)
        else:
            table[byte] = chr(256 + extra)
            extra += 1
    return table


def build(path):
    fields = GGUFReader(path).fields
    tokens = fields["tokenizer.ggml.tokens"].contents()
    types = fields["tokenizer.ggml.token_type"].contents()
    merges = [tuple(m.split(" ")) for m in fields["tokenizer.ggml.merges"].contents()]
    tokenizer = Tokenizer(models.BPE(vocab={t: i for i, t in enumerate(tokens)}, merges=merges))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Digits(individual_digits=True),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True),
    ])
    tokenizer.add_special_tokens(
        [AddedToken(t, special=True, normalized=False) for t, kind in zip(tokens, types) if kind == CONTROL])
    return tokenizer, tokens


def main():
    tokenizer, tokens = build(sys.argv[1])
    known = set(tokens)
    letters = alphabet()
    rows = []
    for text in TEXTS:
        missing = [b for b in text.encode() if letters[b] not in known]
        assert not missing, (text, missing)  # the reference would drop them
        rows.append({"text": text, "ids": tokenizer.encode(text, add_special_tokens=False).ids})
    assert len(rows) == 30
    out = pathlib.Path(__file__).parent / "smollm2" / "tokens.json"
    out.parent.mkdir(exist_ok=True)
    lines = ",\n".join("  " + json.dumps(row, ensure_ascii=False) for row in rows)
    out.write_text("[\n" + lines + "\n]\n", encoding="utf-8")
    print(f"{out.name}: {len(rows)} texts, {sum(len(r['ids']) for r in rows)} ids")


if __name__ == "__main__":
    main()
