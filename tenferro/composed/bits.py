"""Functions of integers and of their bits."""

from __future__ import annotations

from typing import Any

from tenferro import namespace as tn
from tenferro.composed.operands import along, array, constant_size, count, option, whole
from tenferro.errors import DTypeError
from tenferro.loops import while_loop
from tenferro.typing import AnyTensor, ArrayLike
from tenferro.values import weak_number

_WEIGHTS = [128, 64, 32, 16, 8, 4, 2, 1]


def gcd(x1: ArrayLike, x2: ArrayLike) -> AnyTensor:
    """The greatest common divisor; |x| beside 0.

    >>> tn.gcd([12, 7], 18)
    Tensor([6, 1])
    """
    return _in_integers("gcd", x1, x2, _gcd)


def _in_integers(name: str, x1: ArrayLike, x2: ArrayLike, function: Any) -> AnyTensor:
    """`function` of both, where a number takes part with all its digits, in their common dtype."""
    common = whole(name, x1, x2)
    numbers = any(weak_number(each) is not None for each in (x1, x2))
    if numbers and common[0].dtype.kind in "iu" and common[0].dtype.itemsize < 8:
        wide = [array(name, each).astype("int64") for each in (x1, x2)]
        return tn.astype(function(*wide), common[0].dtype)
    result: AnyTensor = function(*common)
    return result


def _gcd(x1: Any, x2: Any) -> AnyTensor:
    a, b = tn.broadcast_arrays(x1, x2)

    def step(pair: Any) -> Any:
        one, other = pair
        divisor = tn.where(other == 0, 1, other)
        return tn.where(other == 0, one, other), tn.where(other == 0, 0, one % divisor)

    # The least integer has no magnitude, so that divisors may be negative.
    pair = while_loop(lambda pair: tn.any(pair[1] != 0), step, (tn.abs(a), tn.abs(b)))
    return tn.abs(pair[0])


def lcm(x1: ArrayLike, x2: ArrayLike) -> AnyTensor:
    """The least common multiple; 0 beside 0.

    >>> tn.lcm([4, 0], 6)
    Tensor([12,  0])
    """
    return _in_integers("lcm", x1, x2, _lcm)


def _lcm(x1: Any, x2: Any) -> AnyTensor:
    a, b = tn.abs(x1), tn.abs(x2)
    divisor: Any = _gcd(a, b)
    return tn.multiply(tn.floor_divide(a, tn.where(divisor == 0, 1, divisor)), b)


def bitwise_count(x: ArrayLike, /) -> AnyTensor:
    """The number of ones among the bits of |x|, in uint8.

    >>> tn.bitwise_count([7, -8])
    Tensor([3, 1], dtype=uint8)
    """
    (a,) = whole("bitwise_count", x)
    # The magnitude as an unsigned number: the least signed one has none of its own dtype.
    bits: Any = a.astype("uint64")
    bits = tn.where(a < 0, -bits, bits) if a.dtype.kind == "i" else bits
    for shift, mask in (
        (1, 0x5555555555555555),
        (2, 0x3333333333333333),
        (4, 0x0F0F0F0F0F0F0F0F),
        (8, 0x00FF00FF00FF00FF),
        (16, 0x0000FFFF0000FFFF),
        (32, 0x00000000FFFFFFFF),
    ):
        bits = (bits & mask) + ((bits >> shift) & mask)
    return bits.astype("uint8")  # type: ignore[no-any-return]


def packbits(x: ArrayLike, axis: int | None = None, bitorder: str = "big") -> AnyTensor:
    """Each eight elements along `axis` as the bits of one uint8; zeros fill up the last one.

    Args:
        x: integers or bools; all that are not 0 count as 1.
        axis: the axis; the flattened array if None.
        bitorder: "big" if the first element is the bit of value 128, "little" if that of value 1.

    >>> tn.packbits([1, 0, 1])
    Tensor([160], dtype=uint8)
    """
    option("packbits", "bitorder", bitorder, ("big", "little"))
    (given,) = whole("packbits", x)
    a, place = along("packbits", given, axis)
    front: Any = tn.moveaxis((a != 0).astype("uint8"), place, -1)
    size = constant_size("packbits", front, front.ndim - 1)
    front = tn.pad(front, [(0, 0)] * (front.ndim - 1) + [(0, -size % 8)])
    groups = front.reshape((*front.shape[:-1], -(-size // 8), 8))
    weights = tn.asarray(_WEIGHTS if bitorder == "big" else _WEIGHTS[::-1], "uint8")
    packed = tn.sum(groups * weights, axis=-1).astype("uint8")
    return tn.moveaxis(packed, -1, place)


def unpackbits(
    x: ArrayLike, axis: int | None = None, count: int | None = None, bitorder: str = "big"
) -> AnyTensor:
    """The bits of uint8 numbers along `axis`, in uint8; the inverse of `packbits`.

    Args:
        x: uint8 numbers.
        axis: the axis; the flattened array if None.
        count: the number of bits; a negative number leaves out that many; all if None.
        bitorder: as of `packbits`.

    >>> tn.unpackbits(tn.array([160], "uint8"), count=3)
    Tensor([1, 0, 1], dtype=uint8)
    """
    option("unpackbits", "bitorder", bitorder, ("big", "little"))
    given = array("unpackbits", x)
    if given.dtype != "uint8":
        raise DTypeError(f"unpackbits: takes u8, got {given.meta}")
    a, place = along("unpackbits", given, axis)
    front: Any = tn.moveaxis(a, place, -1)
    weights = tn.asarray(_WEIGHTS if bitorder == "big" else _WEIGHTS[::-1], "uint8")
    bits: Any = ((front[..., None] & weights) != 0).astype("uint8")
    bits = bits.reshape((*front.shape[:-1], -1))
    if count is not None:
        bits = _of_length(bits, count)
    return tn.moveaxis(bits, -1, place)


def _of_length(bits: Any, length: int) -> Any:
    """The first bits; zeros fill up."""
    size = constant_size("unpackbits", bits, bits.ndim - 1)
    if length < 0:
        return bits[..., : max(size + length, 0)]
    missing = count("unpackbits", "count", length) - size
    if missing <= 0:
        return bits[..., :length]
    return tn.pad(bits, [(0, 0)] * (bits.ndim - 1) + [(0, missing)])
