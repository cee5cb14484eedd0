"""Random blocks of every quantised format with their values by the gguf package.

dequant/FORMAT.npy holds the first values as float32; dequant/sums.txt, a line a format:
    FORMAT n_blocks checksum-of-the-block-bytes checksum-of-all-values (float32 bytes)
The blocks are RandomBlocks(format, n_blocks, CounterRandom(SEED, format)) of tests/support/random_blocks.h.
"""

import numpy as np
from gguf import GGMLQuantizationType as Q
from gguf.quants import dequantize

from blocks import BLOCK_FIELDS, block_bytes, random_blocks
from counter import CounterRandom, checksum

SEED = 3
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
