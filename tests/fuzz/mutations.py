"""Mutations of files: bytes, numbers, digits, cuts, extensions, and parts of other files."""

import re

# Numbers at the edges of types, and some that are just large.
EDGES = [0, 1, 2, 4, 127, 128, 255, 32767, 65535, 10**6, 2**31 - 1, 2**31, 2**32 - 1, 2**63 - 1]
DIGITS = [b"0", b"-1", b"1", b"7", b"65535", b"4294967295", b"99999999999999999999", b"1e400"]


def mutated(data, others, rng):
    """Return the bytes with one to eight mutations; ``others`` are bytes to take parts from."""
    data = bytearray(data)
    for _ in range(rng.choice([1, 1, 1, 2, 3, 8])):
        _mutate(data, others, rng)
    return bytes(data)


def _mutate(data, others, rng):
    if not data:
        data += rng.randbytes(rng.randrange(1, 20))
        return
    position = rng.randrange(len(data))
    kind = rng.randrange(10)
    if kind <= 2:
        data[position] = rng.choice([0, 1, 5, 127, 128, 255, rng.randrange(256)])
    elif kind == 3:
        data[position] ^= 1 << rng.randrange(8)
    elif kind in (4, 5):
        size = rng.choice([2, 4, 8])
        number = rng.choice(EDGES) % 256**size
        data[position : position + size] = number.to_bytes(size, rng.choice(["little", "big"]))
    elif kind == 6:
        _change_digits(data, rng)
    elif kind == 7:
        del data[position : position + rng.choice([1, 8, len(data)])]
    elif kind == 8:
        data[position:position] = rng.randbytes(rng.choice([1, 8, 64]))
    else:
        other = rng.choice(others)
        start = rng.randrange(max(1, len(other)))
        length = rng.choice([4, 32, 256])
        data[position : position + length] = other[start : start + length]


def _change_digits(data, rng):
    numbers = list(re.finditer(rb"\d+", bytes(data[:100_000])))
    if numbers:
        number = rng.choice(numbers)
        data[number.start() : number.end()] = rng.choice(DIGITS)
