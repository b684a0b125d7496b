"""A keyed permutation of the numbers below a bound, without a fixed point."""

import hmac
from math import isqrt

_ROUNDS = 8


class Permutation:
    """Permutations by a Feistel network over HMAC-SHA256; a label selects one of each size.

    The number after x in the order of the network takes the place of x, so that no number stays where it is.
    """

    def __init__(self, key: bytes) -> None:
        self._key = key

    def replace(self, number: int, size: int, label: str) -> int:
        """Return the number in the place of `number`, which is below `size`; a single number stays."""
        if size < 2:
            return number
        return self._move((self._move(number, size, label, is_forward=True) + 1) % size, size, label, is_forward=False)

    def _move(self, number: int, size: int, label: str, *, is_forward: bool) -> int:
        # The network permutes a rectangle of at least `size` places; walking its cycle leads back below `size`.
        height = isqrt(size - 1) + 1
        width = -(-size // height)
        while True:
            number = self._network(number, height, width, f"{label}/{size}", is_forward=is_forward)
            if number < size:
                return number

    def _network(self, number: int, height: int, width: int, label: str, *, is_forward: bool) -> int:
        high, low = divmod(number, width)
        sign = 1 if is_forward else -1
        for turn in range(_ROUNDS) if is_forward else reversed(range(_ROUNDS)):
            if turn % 2:
                low = (low + sign * self._digest(f"{label}/{turn}/{high}", width)) % width
            else:
                high = (high + sign * self._digest(f"{label}/{turn}/{low}", height)) % height
        return high * width + low

    def _digest(self, text: str, size: int) -> int:
        digest = b""
        # Eight more bytes than the bound has make every remainder equally likely.
        for part in range((size.bit_length() // 8 + 9 + 31) // 32):
            digest += hmac.digest(self._key, f"{text}/{part}".encode("utf-8", "surrogatepass"), "sha256")
        return int.from_bytes(digest) % size
