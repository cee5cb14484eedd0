"""Makes the golden data of this folder. Development only: README.md says how, with which packages.

    python tests/golden/make.py tiny [NAME]        # tests/golden/tiny: logits of tiny random models (those with NAME
                                                   # in their name)
    python tests/golden/make.py dequant            # tests/golden/dequant: values of random blocks of every format
    python tests/golden/make.py tokenizer          # tests/golden/tokenizer: small vocabularies, texts and their ids
    python tests/golden/make.py smollm2 MODEL.gguf # tests/golden/smollm2: prompts, greedy tokens, perplexity
"""

import argparse
import pathlib
import sys

FOLDER = pathlib.Path(__file__).resolve().parent


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=["tiny", "dequant", "smollm2", "tokenizer"])
    parser.add_argument("what", nargs="?", help="for smollm2: the GGUF; for tiny: a part of the models' names")
    args = parser.parse_args()
    if args.part == "tiny":
        import tiny

        tiny.write(FOLDER / "tiny", args.what or "")
    elif args.part == "dequant":
        import dequant

        dequant.write(FOLDER / "dequant")
    elif args.part == "tokenizer":
        import tokenizer_golden

        tokenizer_golden.write(FOLDER / "tokenizer")
    else:
        if args.what is None:
            parser.error("smollm2 needs the path of the GGUF")
        import smollm2

        smollm2.write(FOLDER / "smollm2", pathlib.Path(args.what))
    return 0


if __name__ == "__main__":
    sys.exit(main())
