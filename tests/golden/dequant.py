"""Random blocks of every quantised format with their values by the gguf package.

dequant/FORMAT.npy holds the first values as float32; dequant/sums.txt, a line a format:
    FORMAT n_blocks checksum-of-the-block-bytes checksum-of-all-values (float32 bytes)
The blocks are RandomBlocks(format, n_blocks, CounterRandom(SEED, format)) of tests/support/random_blocks.h.
dequant/raw_sums.txt, in the same lines: of RawBlocks(format, n_blocks, CounterRandom(RAW_SEED, format)), every bit
pattern at all, so scales are NaN and infinite too; each NaN among the values is made 0x7fc00000 first.
"""

import numpy as np
from gguf import GGMLQuantizationType as Q
from gguf.quants import dequantize

from blocks import BLOCK_FIELDS, block_bytes, random_blocks, raw_blocks
from counter import CounterRandom, checksum

SEED = 3
RAW_SEED = 4
ELEMS = 2**17  # under the checksum
FIRST = 2048   # committed as values


def write(folder):
    folder.mkdir(exist_ok=True)
    lines = ["# FORMAT n_blocks checksum_of_blocks checksum_of_float32_values; made by tests/golden/make.py"]
    for fmt in BLOCK_FIELDS:
        per_block, size = block_bytes(fmt)
        n_blocks = ELEMS // per_block
        data = random_blocks(fmt, n_blocks, CounterRandom(SEED, fmt))
        assert data.size == n_blocks * size
        values = dequantize(data.reshape(n_blocks, size), Q[fmt]).astype("<f4").reshape(-1)
        assert values.size == ELEMS and np.isfinite(values).all(), fmt
        np.save(folder / f"{fmt}.npy", values[:FIRST])
        lines.append(f"{fmt} {n_blocks} {checksum(data):016x} {checksum(values.tobytes()):016x}")
        print(f"{fmt:8} {n_blocks} blocks  |value| {np.abs(values).min():.3g} .. {np.abs(values).max():.3g}")
    (folder / "sums.txt").write_text("\n".join(lines) + "\n")
    write_raw(folder)


def write_raw(folder):
    lines = ["# FORMAT n_blocks checksum_of_blocks checksum_of_values, NaNs as 0x7fc00000; made by tests/golden/make.py"]
    for fmt in BLOCK_FIELDS:
        per_block, size = block_bytes(fmt)
        n_blocks = ELEMS // per_block
        data = raw_blocks(fmt, n_blocks, CounterRandom(RAW_SEED, fmt))
        with np.errstate(all="ignore"):
            values = dequantize(data.reshape(n_blocks, size), Q[fmt]).astype("<f4").reshape(-1)
        nan = np.isnan(values)
        bits = np.where(nan, np.uint32(0x7FC00000), values.view("<u4")).astype("<u4")
        lines.append(f"{fmt} {n_blocks} {checksum(data):016x} {checksum(bits.tobytes()):016x}")
        print(f"{fmt:8} raw: {nan.sum()} NaN, {np.isinf(values).sum()} infinite of {values.size}")
    (folder / "raw_sums.txt").write_text("\n".join(lines) + "\n")
