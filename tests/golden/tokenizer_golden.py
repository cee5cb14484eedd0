"""Makes tokenizer/: small vocabularies, and the ids that independent tokenizers give for the texts of them.

byte_level.gguf is a byte-level BPE trained without any split rule, so that its tokens run over every border that a
rule may cut at; byte_level.json has its ids under each rule, by Hugging Face's tokenizers with the regular expressions
of the models' tokenizer.json. spm_*.gguf are trained by SentencePiece, which gives their ids itself.
"""

import io
import json
import pathlib

import gguf
import sentencepiece
from tokenizer_texts import texts
from tokenizers import Regex, Tokenizer, models, pre_tokenizers, trainers

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)

# As the models' tokenizer.json have them; a list is a sequence of splits.
LETTER_I = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
CL100K = LETTER_I + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
QWEN2 = CL100K.replace("{1,3}", "")
O200K_WORD = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+@|"
              r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*@")
O200K_REST = r"| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
O200K = O200K_WORD.replace("@", LETTER_I + "?") + r"|\p{N}{1,3}" + O200K_REST
HAN_KANA = "[一-龥぀-ゟ゠-ヿ]+"
V3 = (r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|"
      r"\s*[\r\n]+|\s+(?!\S)|\s+")
LISTED_LETTERS = (
    "A-Za-zµÀ-ÖØ-öø-ƺƼ-ƿǄ-ʓʕ-ʯͰ-ͳͶͷͻ-ͽͿΆΈ-ΊΌΎ-ΡΣ-ϵϷ-ҁҊ-ԯԱ-ՖႠ-ჅᎠ-Ᏽᏸ-ᏽᲐ-ᲺᲽ-Ჿᴀ-ᴫᵫ-ᵷᵹ-ᶚḀ-ἕἘ-Ἕἠ-ὅὈ-Ὅὐ-ὗὙὛὝὟ-\u1f7dᾀ-ᾴᾶ-ᾼ"
    "\u1fbeῂ-ῄῆ-ῌῐ-\u1fd3ῖ-\u1fdbῠ-Ῥῲ-ῴῶ-ῼℂℇℊ-ℓℕℙ-ℝℤ\u2126ℨ\u212a-ℭℯ-ℴℹℼ-ℿⅅ-ⅉⅎↃↄⰀ-ⱻⱾ-ⳤⳫ-ⳮⳲⳳꙀ-ꙭꚀ-ꚛꜢ-ꝯꝱ-ꞇꞋ-ꞎꭰ-ꮿﬀ-ﬆ"
    "ﬓ-ﬗＡ-Ｚａ-ｚ𐐀-𐑏𐒰-𐓓𐓘-𐓻𐲀-𐲲𐳀-𐳲𑢠-𑣟𞤀-𞥃")
EAST_ASIAN = "[一-龥\u0800-一가-\ud7ff]+"
FALCON = [r"[\p{P}\$\+<=>\^~\|`]+", GPT2, "[0-9][0-9][0-9]"]
NO_MARKS = r" ?[^(\s|.,!?…。，、।۔،)]+"
KIMI_WORD = O200K_WORD.replace(r"\p{M}]", r"\p{M}&&[^\p{Han}]]").replace("@", LETTER_I + "?")
YOUTU_MARKS = "[가-힣ㄱ-ㆎ]+|[！…“”‘’—：；，、-〿︰-﹏]+|[ㄅ-ㄯ]+|" + HAN_KANA

# name of tokenizer.ggml.pre: (splits, whether a word of the vocabulary is taken whole)
RULES = {
    "gpt-2": ([GPT2], False),
    "smollm": ([r"\p{N}", GPT2], False),
    "llama-bpe": ([CL100K], True),
    "dbrx": ([CL100K], False),
    "qwen2": ([QWEN2], False),
    "qwen35": ([QWEN2.replace(r"?\p{L}+|", r"?[\p{L}\p{M}]+|").replace(r"[^\s\p{L}\p{N}]", r"[^\s\p{L}\p{M}\p{N}]")], False),
    "gpt-4o": ([O200K], False),
    "tekken": ([O200K_WORD.replace("@", "") + r"|\p{N}" + O200K_REST], True),
    "falcon": (FALCON, False),
    "default": ([FALCON[0].replace("`", ""), GPT2, r"\p{N}+", FALCON[2]], False),
    "deepseek-llm": ([r"[\r\n]", rf"\s?[{LISTED_LETTERS}]+", r"\s?[!-/:-~！-／：-～‘-‟　-。]+", r"\s+$", EAST_ASIAN, r"\p{N}+"], False),
    "deepseek-coder": ([r"[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", EAST_ASIAN, r"\p{N}"], False),
    "deepseek-v3": ([r"\p{N}{1,3}", HAN_KANA, V3], False),
    "spark2_5": ([r"\p{N}{1,3}", HAN_KANA, V3.replace(r"[\r\n]*|\s*[\r\n]+|", r"|[\r\n]|"), r"\p{N}"], False),
    "kimi-k2": ([r"[\p{Han}]+|" + KIMI_WORD + r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"], False),
    "superbpe": ([r"\p{N}+", r"(?=(\d{3})+(?!\d))"], False),
    "bailingmoe": ([r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|"
                    r"\s+(?!\S)|\s+"], False),
    "seed-coder": ([LETTER_I + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1}| ?[^\s\p{L}\p{N}\r\n]+|\s*[\r\n]+|\s+(?!\S)|\s+"], False),
    "exaone-moe": ([LETTER_I + r"|[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]?|"
                    r"\s*[\r\n]|\s+(?!\S)|\s+"], False),
    "bloom": ([NO_MARKS], False),
    "viking": ([NO_MARKS, r"\p{N}"], False),
    "jais-2": ([CL100K.replace(r"\s+(?!\S)|\s+", "|".join(rf"\s{{{n}}}(?!\S)" for n in (512, 256, 128, 64, 32, 16, 8, 4))
                               + r"|\s{1,2}(?!\S)|\s{1}")], False),
    "youtu": ([YOUTU_MARKS, O200K.replace("{1,3}", "")], True),
    "minicpm5": ([r"\p{N}{1,3}", CL100K.replace("{1,3}", "+")], True),
    "laguna": ([r"[^\n]+|[\n]+", QWEN2], False),
    "ufakzeka": ([QWEN2.removeprefix(LETTER_I + "|")], False),
}


def split_by(patterns):
    steps = [pre_tokenizers.Split(Regex(p), "isolated") for p in patterns]
    return pre_tokenizers.Sequence(steps + [pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])


def write_gguf(path, model, tokens, types, scores=None, merges=None, flags=None, ids=None):
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_tokenizer_model(model)
    writer.add_token_list(tokens)
    writer.add_token_types(types)
    if scores is not None:
        writer.add_token_scores(scores)
    if merges is not None:
        writer.add_token_merges(merges)
    for key, value in (ids or {}).items():
        writer.add_uint32(f"tokenizer.ggml.{key}_token_id", value)
    for key, value in (flags or {}).items():
        writer.add_bool(f"tokenizer.ggml.{key}", value)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()


def write_rows(path, rows):
    path.write_text("[\n" + ",\n".join(json.dumps(row, separators=(",", ":")) for row in rows) + "\n]\n", encoding="ascii")
    print(f"{path.name}: {len(rows)} rows, {path.stat().st_size} bytes")


def byte_level(folder, rows):
    trained = Tokenizer(models.BPE())
    trained.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    trainer = trainers.BpeTrainer(vocab_size=900, min_frequency=2, max_token_length=6, show_progress=False,
                                  initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()))
    trained.train_from_iterator(rows, trainer)
    state = json.loads(trained.to_str())["model"]
    merges = [tuple(merge) for merge in state["merges"]]
    vocab = dict(state["vocab"])
    # Words that no merge reaches: only where a rule takes words whole are they ever used.
    for word in ("ĠParis", "isn", "333", "Hello", "ĠÐ¿", "\u0122\u0122"):
        vocab.setdefault(word, len(vocab))
    tokens = sorted(vocab, key=vocab.get)
    write_gguf(folder / "byte_level.gguf", "gpt2", tokens, [NORMAL] * len(tokens), merges=[" ".join(m) for m in merges])
    by_text = [{} for _ in rows]
    for name, (patterns, whole) in RULES.items():
        tokenizer = Tokenizer(models.BPE(vocab=vocab, merges=merges, ignore_merges=whole))
        tokenizer.pre_tokenizer = split_by(patterns)
        for found, text in zip(by_text, rows):
            found.setdefault(tuple(tokenizer.encode(text).ids), []).append(name)
    # A row a text: [[names, ids], ...], the rules that agree together.
    write_rows(folder / "byte_level.json", [[[" ".join(names), list(ids)] for ids, names in found.items()] for found in by_text])


def sentence_piece(folder, rows, name, flags, **options):
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter([line for text in rows for line in text.replace("\0", "").split("\n") if line]), model_writer=model, model_type="bpe",
        normalization_rule_name="identity", character_coverage=0.98, num_threads=1, minloglevel=2, **options)
    processor = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
    size = processor.vocab_size()
    proto = [processor.id_to_piece(i) for i in range(size)]
    user_defined = options.get("user_defined_symbols", ())

    def type_of(i):
        for test, kind in ((processor.is_unknown, UNKNOWN), (processor.is_control, CONTROL), (processor.is_byte, BYTE),
                           (processor.is_unused, UNUSED)):
            if test(i):
                return kind
        return USER_DEFINED if proto[i] in user_defined else NORMAL

    write_gguf(folder / f"{name}.gguf", "llama", proto, [type_of(i) for i in range(size)],
               scores=[processor.get_score(i) for i in range(size)], flags=flags,
               ids={"bos": processor.bos_id(), "eos": processor.eos_id(), "unknown": processor.unk_id()})
    write_rows(folder / f"{name}.json", [processor.encode(text) for text in rows])


def write(folder):
    folder = pathlib.Path(folder)
    folder.mkdir(exist_ok=True)
    rows = texts()
    write_rows(folder / "texts.json", rows)
    byte_level(folder, rows)
    sentence_piece(folder, rows, "spm_bytes", {"add_space_prefix": True}, vocab_size=900, byte_fallback=True,
                   add_dummy_prefix=True, remove_extra_whitespaces=False, allow_whitespace_only_pieces=True, split_digits=True)
    sentence_piece(folder, rows, "spm_plain", {"add_space_prefix": False}, vocab_size=900, byte_fallback=True,
                   add_dummy_prefix=False, remove_extra_whitespaces=False, split_by_whitespace=False,
                   user_defined_symbols=["<tool>", "\u2581\u2581", "\u2581\u2581\u2581\u2581", "the", "\n\n"])
    sentence_piece(folder, rows, "spm_unknown", {"add_space_prefix": True, "remove_extra_whitespaces": True}, vocab_size=700,
                   byte_fallback=False, add_dummy_prefix=True, remove_extra_whitespaces=True, hard_vocab_limit=False)
