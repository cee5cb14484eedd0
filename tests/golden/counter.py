"""Counter-based random numbers; the definition stands in tests/support/counter_random.h."""

import numpy as np

G = np.uint64(0x9E3779B97F4A7C15)


def mix64(x):
    x = np.array(x, dtype=np.uint64, ndmin=1)
    x ^= x >> np.uint64(30)
    x *= np.uint64(0xBF58476D1CE4E5B9)
    x ^= x >> np.uint64(27)
    x *= np.uint64(0x94D049BB133111EB)
    x ^= x >> np.uint64(31)
    return x


def hash_name(name):
    value = 0xCBF29CE484222325
    for byte in name.encode():
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return value


class CounterRandom:
    def __init__(self, seed, name):
        self.key = mix64(np.uint64((seed + int(G)) % 2**64)) ^ np.uint64(hash_name(name))

    def words(self, count, start=0):
        """At(start) .. At(start + count - 1)."""
        index = np.arange(start + 1, start + count + 1, dtype=np.uint64)
        return mix64(self.key + index * G)


def checksum(data):
    data = bytes(data)
    padded = data + bytes(-len(data) % 8)
    words = np.frombuffer(padded, dtype="<u8")
    index = np.arange(1, len(words) + 1, dtype=np.uint64)
    total = int(mix64(words + index * G).sum(dtype=np.uint64)) if len(words) else 0
    return (total + int(mix64(np.uint64(len(data)))[0])) % 2**64
