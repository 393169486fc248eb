"""Einsum notation: reading it, and checking it against operands before anything runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import opt_einsum

from tenferro.errors import DTypeError, ShapeError, TenferroError

Labels = tuple[int, ...]
Shape = tuple[Any, ...]
"""Sizes: integers, symbolic expressions, or None if nothing is known."""


class SubscriptsError(TenferroError, ValueError):
    """Text that is not einsum notation, or does not fit the number and ranks of the operands."""


@dataclass(frozen=True)
class Subscripts:
    """Einsum notation, read: one label for each axis.

    Attributes:
        inputs: the labels of each operand.
        output: the labels of the result.
    """

    inputs: tuple[str, ...]
    output: str

    def __str__(self) -> str:
        return f"{','.join(self.inputs)}->{self.output}"


def parse(text: object, ranks: Sequence[int]) -> Subscripts:
    """The labels of operands of these ranks, and of the result.

    Labels are letters; an ellipsis stands for the axes without a letter, aligned to the right.
    Without an arrow the result has the labels that occur once, in alphabetical order, after the
    ellipsis.

    Raises:
        SubscriptsError: the text is not such notation, or does not fit the ranks.

    >>> print(parse("ij, jk", [2, 2]))
    ij,jk->ik
    >>> print(parse("...i, ...i -> ...", [3, 2]))
    abi,bi->ab
    """
    if not isinstance(text, str):
        raise SubscriptsError(f"einsum: subscripts must be text, got a {type(text).__name__}")
    left, arrow, right = text.replace(" ", "").partition("->")
    terms = left.split(",")
    if len(terms) != len(ranks):
        raise SubscriptsError(
            f"einsum: {text!r} describes {len(terms)} operands, but {len(ranks)} are given"
        )
    for part in (*terms, right):
        _check_letters(text, part)
    spare = [label for label in map(opt_einsum.get_symbol, range(200)) if label not in text]
    wide = [_ellipsis_rank(text, i, term, ranks[i]) for i, term in enumerate(terms)]
    dots = "".join(spare[: max(wide, default=0)])
    inputs = tuple(
        term.replace("...", dots[len(dots) - count :])
        for term, count in zip(terms, wide, strict=True)
    )
    if not arrow:
        joined = "".join(terms).replace("...", "")
        once = sorted(label for label in set(joined) if joined.count(label) == 1)
        return Subscripts(inputs, dots + "".join(once))
    output = right.replace("...", dots)
    _check_output(text, output, inputs, dots if "..." not in right else "")
    return Subscripts(inputs, output)


def _check_letters(text: str, part: str) -> None:
    rest = part.replace("...", "", 1)
    wrong = next((label for label in rest if not label.isalpha()), None)
    if wrong is not None:
        raise SubscriptsError(
            f"einsum: {text!r} has {wrong!r} where a label is expected; labels are letters, "
            "with one '...' at most in each part and one '->'"
        )


def _ellipsis_rank(text: str, position: int, term: str, rank: int) -> int:
    """How many axes the ellipsis of a term stands for."""
    named = len(term.replace("...", ""))
    if "..." in term and named <= rank:
        return rank - named
    if named != rank:
        raise SubscriptsError(
            f"einsum: {text!r} has {named} labels for operand {position}, which has rank {rank}"
        )
    return 0


def _check_output(text: str, output: str, inputs: Sequence[str], dropped: str) -> None:
    if dropped:
        raise SubscriptsError(f"einsum: {text!r} has an ellipsis that the result lacks; add '...'")
    for label in output:
        if output.count(label) > 1:
            raise SubscriptsError(f"einsum: the result of {text!r} has the label {label!r} twice")
        if not any(label in term for term in inputs):
            raise SubscriptsError(
                f"einsum: the result of {text!r} has the label {label!r}, which no operand has"
            )


def sizes_of(inputs: Sequence[Any], shapes: Sequence[Shape]) -> dict[Any, Any]:
    """The size of each label; a number if any axis with that label has one.

    Sizes that cannot be compared before the program runs do not raise.

    Raises:
        ShapeError: axes with one label have different sizes.

    >>> sizes_of(["ij", "jk"], [(2, 3), (3, 4)])
    {'i': 2, 'j': 3, 'k': 4}
    >>> sizes_of(["ij", "jk"], [(2, 3), (5, 4)])
    Traceback (most recent call last):
    tenferro.errors.ShapeError: einsum: label 'j' has size 3 on axis 1 of operand 0 and size 5 on \
axis 0 of operand 1
    """
    sizes: dict[Any, Any] = {}
    places: dict[Any, tuple[int, int]] = {}
    for position, (labels, shape) in enumerate(zip(inputs, shapes, strict=True)):
        for axis, (label, size) in enumerate(zip(labels, shape, strict=True)):
            known = sizes.get(label)
            if isinstance(known, int) and isinstance(size, int) and known != size:
                first, at = places[label]
                raise ShapeError(
                    f"einsum: label {name_of(label)!r} has size {known} on axis {at} of operand "
                    f"{first} and size {size} on axis {axis} of operand {position}"
                )
            if known is None or (isinstance(size, int) and not isinstance(known, int)):
                sizes[label], places[label] = size, (position, axis)
    return sizes


def name_of(label: Any) -> str:
    """A label as a letter; numbers are counted from 'a'."""
    return label if isinstance(label, str) else opt_einsum.get_symbol(label)


def check_dtypes(dtypes: Sequence[Any]) -> None:
    """Raise DTypeError unless all are float32, or all are float64."""
    for position, dtype in enumerate(dtypes):
        check_dtype(position, dtype)
    if len(set(dtypes)) > 1:
        raise DTypeError(
            f"einsum: operands have dtypes {', '.join(map(str, dtypes))}; convert them to one"
        )


def check_dtype(position: int, dtype: Any) -> None:
    """Raise DTypeError unless the dtype has an order and a tropical zero."""
    if str(dtype) in ("float32", "float64"):
        return
    why = {
        "c": "complex numbers have no order; take real parts",
        "i": "integers have no infinity to stand for the tropical zero; convert to float64",
        "u": "integers have no infinity to stand for the tropical zero; convert to float64",
    }.get(getattr(dtype, "kind", ""), "it must be float32 or float64")
    raise DTypeError(f"einsum: operand {position} is {dtype}: {why}")


def numbered(first: str, second: str, output: str) -> tuple[Labels, Labels, Labels]:
    """Labels as numbers in order of appearance, so that the choice of letters does not matter.

    >>> numbered("xy", "yz", "xz")
    ((0, 1), (1, 2), (0, 2))
    """
    order = {label: number for number, label in enumerate(dict.fromkeys(first + second))}
    lhs, rhs, out = (tuple([order[label] for label in term]) for term in (first, second, output))
    return lhs, rhs, out
