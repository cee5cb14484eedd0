"""The texts of tokenizer/: what tokenizers get wrong, by kind, and seeded mixtures of all of it."""

from counter import CounterRandom

LATIN = [
    "Hello, world!",
    "The capital of France is Paris, isn't it?",
    "I'll say they've what we'd call 'em; she's, he'S, WE'LL, don't, y'all'd've, 'tis, 'RE, 'M, 'D.",
    "camelCase PascalCase snake_case SCREAMING_CASE kebab-case XMLHttpRequest iPhone15Pro McDonald's O'Neill",
    "ALLCAPS Mixed lower UPPERlower lowerUPPER aB Ab AB ab",
    "Supercalifragilisticexpialidocious antidisestablishmentarianism",
    "Où est la bibliothèque ? L’été, j’ai vu un cœur brisé à Noël.",
    "Ça coûte 1 234,56 € — c’est « très » cher…",
    "Straße, Größe, ÄÖÜ, ﬁnanciële ﬂow, ǅ ǈ ǋ, Ǆungla",
    "İstanbul ıssız İI ıi; Dünya'nın Ankara'da Türkiye'den",
    "Zażółć gęślą jaźń; příliš žluťoučký kůň; Þórr; naïve café",
    "e\u0301 is not é; Z\u0351\u036b\u0343a\u0327lgo; a\u0300\u0301\u0302 \u0301 x",
]
SCRIPTS = [
    "Привет, как дела? ПРИВЕТ привет ПриВет",
    "Γειά σου Κόσμε. ΓΕΙΑ Σας, ὦ ἄνδρες Ἀθηναῖοι",
    "Բարեւ աշխարհ ԲԱՐԵՎ", "გამარჯობა მსოფლიო ᲒᲐᲛᲐ", "ᏣᎳᎩ ᎦᏬᏂᎯᏍᏗ ꮳꮃꭹ",
    "שלום עולם! מה שלומך? שָׁלוֹם", "مرحبا بالعالم، كيف حالك؟ مَرْحَبًا", "سلام دنیا! چطوری؟",
    "नमस्ते दुनिया, आप कैसे हैं? क्षत्रिय", "বাংলা ভাষা আমার মাতৃভাষা", "தமிழ் மொழி வாழ்க", "తెలుగు భాష",
    "สวัสดีชาวโลก ภาษาไทย", "ສະບາຍດີ", "ជំរាបសួរ កាន់តែពិសេស", "မင်္ဂလာပါ", "བོད་སྐད་", "አማርኛ ሰላም", "ᠮᠣᠩᠭᠣᠯ",
    "你好，世界！今天天气怎么样？", "我想在apple工作1314151天～", "人工智能正在改变我们的生活方式，从教育到医疗。",
    "繁體中文與简体中文；㐀㐁𠀀𠀁 〇〡々 兀﨩", "日本語のテキストと한국어 텍스트", "カタカナ ひらがな ﾊﾝｶｸ ー々〆", "안녕하세요 세계! ㄱㄴㄷ ㅏㅑ 각",
    "ㄅㄆㄇ ㄪ〔注〕「引用」『书名』《书》〈章〉【标】",
]
SYMBOLS = [
    "🚀 to the 🌕! 👋🏽 👋！", "👨‍👩‍👧‍👦 family 🏳️‍🌈 flag 🇫🇷🇩🇪", "😀😃😄😁 😶‍🌫️ ❤️ ☃ ☎️ ©®™", "✅❌➡️⬅️ 1️⃣ #️⃣ *️⃣",
    "∀x∈ℝ: ⌈x⌉ = −⌊−x⌋, α ∧ ¬β = ¬(¬α ∨ β), ℕ ⊆ ℕ₀ ⊂ ℤ", "½ ¼ ² ³ ¹ ⁰ ₁ Ⅷ ⅷ ① ⑴ ㊀ 一二三 ෴", "€£¥₿¢ +−×÷=≠<>~^`|$\\",
    "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", "... !!! ??? ---- ____ ==== //// \\\\\\\\ **** ```` ~~~~", "‘single’ “double” ‚low‛ „low‟ ‹a› «b» … ‥ ‰ ′ ″",
    "(a)[b]{c}<d> (.) [,] {;} <:> a.b,c;d:e a . b , c ; d : e", "-a +b $c #d @e &f *g /h %i =j", "a/b/c //x /\n/ ./\r\n",
    "、。，！？；：（）「」〜・…—～", "٪ ؟ ، ؛ ۔ । ॥ ። ། ¡Hola! ¿Qué?",
]
DIGITS = [
    "0 1 22 333 4444 55555 666666 7777777 88888888 999999999", "3.14159 1,000,000 1e10 -3e-10 0xFF 0b1010 2024-12-31 12:34:56",
    "12345678901234567890123456789012345678901234567890", "abc123def456 a1b2c3 1a2b3c 1st 2nd 3rd 4th v1.2.3",
    "١٢٣٤٥ ۱۲۳۴۵ १२३४५ ๑๒๓๔๕ １２３４５ 𝟏𝟐𝟑𝟒", "1½2 12½345 ½123456 1²3 1234567½1234567", "  12  345  6789  12345", "9" * 300,
    "(123) 456-7890 +1-800-555-0199 $19.99 50% #42",
]
SPACES = [
    " ", "  ", "   ", "      ", " " * 70, "\t", "\t\t", " \t", "\t ", "\n", "\n\n", "\n\n\n", "\r", "\r\n", "\r\n\r\n", "\n\r", "\r\r\n", "\n \n", " \n",
    "\n ", "\n\n \n", " \n \n ", "\t\n\t", "  \n\n\n\t\n  x", " x", "  x", "   x", "x ", "x  ", "x   ", " x ", "  x  ", "x\n", "\nx", "x\r\ny", "x \n y",
    "x\n\n y", "x\n  \n  y", "x  \n  \n  y  ", "a  3   b    4\n\n\n  \t\tx \n y\t", "one\ttwo\t\tthree\t \tfour", "a.\n\nb!\r\nc?\n", ".\n", " .\n\n", "}\n\n\t}",
    "nbsp\u00a0here, ideographic\u3000space, zero\u200bwidth, line\u2028sep, para\u2029sep, nel\u0085x, vt\u000bff\u000cx", "\u00a0", "\u00a0\u00a0x", "\u3000\u3000中",
    "\u2009\u200a\u202f\u205f\u1680x", "\u180ex \u200b\u200c\u200d\u2060\ufeffx", " \u00a0 x", "x \u2028 \n y", "trailing \t ", "!\n\n  \n    x", "a!\n \n  \n\n   b","x" + " " * 520 + "y",
]
CODE = [
    "def fib(n):\n    return n if n < 2 else fib(n - 1) + fib(n - 2)\n", "for (int i = 0; i < 10; ++i) {\n\tstd::printf(\"%d\\n\", i);\n}\n",
    "SELECT * FROM users WHERE id = 42 AND name LIKE '%o''brien%';", "<div class=\"a\"><!-- x --></div>\r\n<p>&amp;</p>\r\n",
    "{\"key\": [1, 2.5, -3e10, null, true], \"a\": {}}", "https://example.org/a_b-c?d=e&f=%20#g user@host.tld C:\\path\\file.txt", "#!/bin/sh\nset -eu\necho \"$HOME\" | grep -v '^#' >/dev/null 2>&1\n",
    "if x:\n\n        y = 1\n\n\n    # comment\n\tz", "a->b::c<d>&&e||!f ? g : h;", "\\begin{equation}\n  \\frac{a}{b} = c^{2}\n\\end{equation}",
    "| a | b |\n|---|---|\n| 1 | 2 |\n", "- [ ] item\n  - [x] sub\n1. one\n",
]
ODD = [
    "", "a", "A", "\u0000", "a\u0000b", "\u0001\u0002\u001f\u007f", "\u0080\u009f", "\ue000\uf8ff", "\U000f0000\U0010fffd", "\ufffd", "\ufffe\uffff", "\u0378\u0379 \u0530 \U0001fffe",
    "\U000e0001\U000e0020", "x\u0301\u0301\u0301\u0301", "\u0301", "\u202eRTL\u202c \u2066iso\u2069", "\U0001d400\U0001d41a \U00010400\U00010428", "\u1f88 \u1f80", "K\u212a \u2126", "\u2581", "a\u2581b \u2581\u2581c",
    "<s> </s> <unk> <pad> [INST] x [/INST] <|im_start|>user\n<|im_end|> <0x0A> <0x41>", "a" * 300, "ab" * 150, "aaaaabaaaaab", "é" * 100, "😀" * 50, "中" * 100,
    "\n" * 100, "." * 100, "= = = = =", "the the the the  the", "A" * 100, "Aa" * 60, "aA" * 60, "'" * 20, "''s''t''LL'", "it's's's 's 's",
    "<tool>x</tool> <tool><tool> a<tool>b", "    indented    twice",
]


def mixtures(count):
    """Seeded texts of pieces of all kinds, put together without regard for their borders."""
    parts = []
    for text in LATIN + SCRIPTS + SYMBOLS + DIGITS + SPACES + CODE + ODD:
        parts += [text[i:i + n] for i, n in ((0, 3), (len(text) // 2, 5), (max(len(text) - 4, 0), 4)) if text]
    parts = sorted(set(part for part in parts if len(part) < 8))
    words = iter(CounterRandom(20_250, "texts").words(count * 11).tolist())
    return ["".join(parts[next(words) % len(parts)] for _ in range(3 + next(words) % 8)) for _ in range(count)]


def texts():
    rows = LATIN + SCRIPTS + SYMBOLS + DIGITS + SPACES + CODE + ODD
    return rows + mixtures(90)
