"""Random graphs over the whole vocabulary, with inputs at which they are smooth and moderate.

Each op is tried on values that are known, so that it can be left out where it would come close to a
pole, a kink or a jump: there NumPy and XLA, or a derivative and the next, need not agree.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

from tenferro import ops
from tenferro.core import FragmentBuilder, GlobalValKey, resolve
from tenferro.ops import StdTensorOp, meta_of
from tenferro.shape import FLOAT64, INT64, TensorInput, as_dtype
from tests.graphs import CTX, Array, Function

GAP = 1e-3
LARGE = 8.0
MAX_ELEMENTS = 120
DIRECTIONS = ("EQ", "NE", "LT", "LE", "GT", "GE")


@dataclass(frozen=True, repr=False)
class Program:
    """A graph with one output, floating-point or complex, and arrays to run it on."""

    function: Function
    arrays: list[Array]

    @property
    def wrt(self) -> list[int]:
        """All inputs; each has a derivative."""
        return list(range(len(self.arrays)))

    def __repr__(self) -> str:
        return f"{self.function.view.roots[0]}\non {self.arrays}"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:  # what hypothesis prints
        printer.text(repr(self))


@st.composite
def programs(draw: st.DrawFn, max_ops: int = 40) -> Program:
    """Programs of up to `max_ops` ops in float64 and complex128, with bool and integer values."""
    writer = Writer(np.random.default_rng(draw(st.integers(0, 2**32 - 1))), max_ops)
    for _ in range(writer.rng.integers(1, 4)):
        writer.input()
    wanted = min(draw(st.sampled_from([3, 5, 10, 20, 30, 30, 30])), max_ops)
    for _ in range(4 * wanted):  # not every step finds something to do
        writer.step(wanted)
    return writer.program()


class Writer:
    """Writes a program one op after the other, and knows what each value is."""

    def __init__(self, rng: np.random.Generator, max_ops: int) -> None:
        self.rng = rng
        self.max_ops = max_ops
        self.builder: FragmentBuilder[Any] = FragmentBuilder()
        self.inputs: list[GlobalValKey] = []
        self.values: dict[GlobalValKey, Array] = {}
        self.behind: dict[GlobalValKey, frozenset[GlobalValKey]] = {}

    def input(self) -> None:
        """One more input."""
        rank = self.rng.integers(0, 4)
        shape = tuple(self.rng.choice([0, 1, 2, 3], rank, p=[0.05, 0.15, 0.4, 0.4]))
        array = np.asarray(self.rng.uniform(-2, 2, shape))
        if self.rng.random() < 0.4:
            array = array + 1j * self.rng.uniform(-2, 2, shape)
        key = self.builder.input(TensorInput(f"x{len(self.inputs)}", meta_of(np.asarray(array))))
        self.inputs.append(key)
        self.values[key] = np.asarray(array)
        self.behind[key] = frozenset()

    def step(self, wanted: int) -> None:
        """One more op, if there is room and it is tame; its result is scaled down if large."""
        rule = RULES[self.rng.integers(len(RULES))]
        if self.count() + 4 > wanted or (result := rule(self)) is None:
            return
        value = self.values[result]
        size = np.abs(value).max(initial=0)
        if value.dtype.kind in "fc" and size > LARGE:
            self.add(ops.MUL, result, self.full(2.0 ** -np.ceil(np.log2(size)), result))

    def program(self) -> Program:
        """The program whose output is the value with most ops behind it that has a derivative."""
        output = self.joined() if self.rng.random() < 0.7 else None
        output = output or max(self.inexact(), key=lambda key: len(self.behind[key]))
        fragment = self.builder.build([output])
        arrays = [self.values[key] for key in self.inputs]
        return Program(Function(resolve([fragment]), tuple(self.inputs), (output,)), arrays)

    def count(self) -> int:
        """How many ops there are so far."""
        return len(self.values) - len(self.inputs)

    def inexact(self) -> list[GlobalValKey]:
        """The values that have a derivative."""
        return [key for key, value in self.values.items() if value.dtype.kind in "fc"]

    def joined(self) -> GlobalValKey | None:
        """The sum of all elements of all values that nothing has used yet."""
        used = frozenset().union(*[self.behind[key] - {key} for key in self.values])
        total: GlobalValKey | None = None
        for key in self.inexact():
            if key not in used and key not in self.inputs and self.count() + 3 <= self.max_ops:
                term = self.add(ops.ReduceSum(tuple(range(self.values[key].ndim))), key)
                term = self.add(ops.Convert(as_dtype("c128")), term)
                total = term if total is None else self.add(ops.ADD, total, term) or total
        return total

    def add(self, op: StdTensorOp, *operands: GlobalValKey | None) -> GlobalValKey | None:
        """The op on operands, unless one is missing or the result is not finite or too large."""
        if None in operands:
            return None
        keys = [key for key in operands if key is not None]
        with np.errstate(all="ignore"):
            value = np.asarray(op.evaluate([self.values[key] for key in keys])[0])
        if value.size > MAX_ELEMENTS or not np.isfinite(value).all():
            return None
        if np.abs(value.astype(complex)).max(initial=0) > 1e4:
            return None
        (result,) = self.builder.add(op, keys)
        assert CTX.meta(result) == meta_of(value), f"{op}: infers {CTX.meta(result)}, makes {value}"
        self.values[result] = value
        self.behind[result] = frozenset([result]).union(*[self.behind[key] for key in keys])
        return result

    def full(self, number: float, like: GlobalValKey) -> GlobalValKey | None:
        """A constant of the type of a value."""
        value = self.values[like]
        constant = self.add(ops.scalar(number, value.dtype))
        return self.add(ops.BroadcastInDim(value.shape, ()), constant)

    def any(self, kinds: str = "fc", rank: int = 0) -> GlobalValKey | None:
        """A value of one of the dtype kinds and at least that rank; newer ones more often."""
        found = [key for key, v in self.values.items() if v.dtype.kind in kinds and v.ndim >= rank]
        if not found:
            return None
        return found[-1 - int(len(found) * self.rng.random() ** 3)]

    def partner(self, x: GlobalValKey) -> GlobalValKey | None:
        """A value of the same type, a constant where there is no other."""
        meta = CTX.meta(x)
        same = [key for key in self.values if key is not x and CTX.meta(key) == meta]
        if not same:
            return self.full(float(self.rng.uniform(0.5, 2)), x)
        return same[self.rng.integers(len(same))]

    def axes(self, x: GlobalValKey) -> tuple[int, ...]:
        """Some of the axes of a value."""
        return tuple(i for i in range(self.values[x].ndim) if self.rng.random() < 0.5)


Rule = Callable[[Writer], GlobalValKey | None]


def unary(op: StdTensorOp, allowed: Callable[[Array], Any], kinds: str = "fc") -> Rule:
    """A rule for an op of one operand, used where `allowed` holds of all elements."""

    def rule(w: Writer) -> GlobalValKey | None:
        x = w.any(kinds)
        return w.add(op, x) if x is not None and np.all(allowed(w.values[x])) else None

    return rule


def binary(
    op: StdTensorOp, allowed: Callable[[Array, Array], Any] | None = None, kinds: str = "fc"
) -> Rule:
    """A rule for an op of two operands of one type."""

    def rule(w: Writer) -> GlobalValKey | None:
        x = w.any(kinds)
        y = None if x is None else w.partner(x)
        if x is None or y is None:
            return None
        tame = allowed is None or np.all(allowed(w.values[x], w.values[y]))
        return w.add(op, x, y) if tame else None

    return rule


def layout(
    make: Callable[[Writer, Array, GlobalValKey], StdTensorOp | None], rank: int = 0
) -> Rule:
    """A rule for an op of one operand that is made to fit."""

    def rule(w: Writer) -> GlobalValKey | None:
        x = w.any(rank=rank)
        op = None if x is None else make(w, w.values[x], x)
        return None if op is None else w.add(op, x)

    return rule


def apart(x: Array, y: Array | float) -> Any:
    """Clearly different, so that rounding does not decide which is larger."""
    return np.abs(x - y) > GAP


def between_multiples(x: Array, y: Array) -> Any:
    """Clear of the jumps of the remainder of x by y, and of y = 0."""
    quotient = x / np.where(y == 0, 1, y)
    return (np.abs(y) > 0.2) & (np.abs(quotient - np.round(quotient)) > GAP)


def off_cut(x: Array) -> Any:
    """Clear of 0 and of the negative axis."""
    return np.real(x) > 0.1


def select(w: Writer) -> GlobalValKey | None:
    x = w.any()
    y = None if x is None else w.partner(x)
    if x is None or y is None:
        return None
    found = [p for p, v in w.values.items() if v.dtype == bool and v.shape == w.values[x].shape]
    if not found and w.values[x].dtype.kind == "f" and np.all(apart(w.values[x], 0.3)):
        found = [p for p in [w.add(ops.Compare("GT"), x, w.full(0.3, x))] if p is not None]
    return w.add(ops.SELECT, found[-1], x, y) if found else None


def compare(w: Writer) -> GlobalValKey | None:
    direction = DIRECTIONS[w.rng.integers(6)]
    kinds = "fci" if direction in ("EQ", "NE") else "fi"
    return binary(ops.Compare(direction), apart, kinds)(w)


def clamp(w: Writer) -> GlobalValKey | None:
    x = w.any("f")
    if x is None or not np.all(apart(np.abs(w.values[x]), 0.7)):
        return None
    return w.add(ops.CLAMP, w.full(-0.7, x), x, w.full(0.7, x))


def to_integer(w: Writer) -> GlobalValKey | None:
    x = w.any("f")
    if x is None or not np.all(np.abs(w.values[x] - np.round(w.values[x])) > GAP):
        return None
    return w.add(ops.Convert(INT64), x)


def to_float(w: Writer) -> GlobalValKey | None:
    return w.add(ops.Convert(FLOAT64), w.any("bi"))


def slice_of(w: Writer, x: Array, _: GlobalValKey) -> StdTensorOp:
    starts = tuple(int(w.rng.integers(0, size + 1)) for size in x.shape)
    limits = tuple(
        int(w.rng.integers(a, size + 1)) for a, size in zip(starts, x.shape, strict=True)
    )
    return ops.Slice(starts, limits, tuple(int(s) for s in w.rng.integers(1, 3, x.ndim)))


def pad(w: Writer) -> GlobalValKey | None:
    x = w.any()
    if x is None:
        return None
    array = w.values[x]
    low, high, interior = (w.rng.integers(k, 3, array.ndim) for k in (-1, -1, 0))
    spread = np.array(array.shape) + np.maximum(np.array(array.shape) - 1, 0) * interior
    if array.ndim and (spread + low + high).min() < 0:
        return None
    op = ops.Pad(*(tuple(map(int, part)) for part in (low, high, interior)))
    return w.add(op, x, w.add(ops.scalar(0.5, array.dtype)))


def reshape(w: Writer, x: Array, _: GlobalValKey) -> StdTensorOp:
    shapes = [(x.size,), x.shape[::-1], (1, *x.shape), (*x.shape[:1], x[:1].size) if x.ndim else ()]
    return ops.Reshape(shapes[w.rng.integers(len(shapes))])


def transpose(w: Writer, x: Array, _: GlobalValKey) -> StdTensorOp:
    return ops.Transpose(tuple(int(axis) for axis in w.rng.permutation(x.ndim)))


def broadcast(w: Writer, x: Array, _: GlobalValKey) -> StdTensorOp | None:
    if x.ndim > 3:
        return None
    at = int(w.rng.integers(0, x.ndim + 1))
    size = int(w.rng.integers(0, 4)) if w.rng.random() < 0.3 else 2
    shape = [size if k == 1 and w.rng.random() < 0.5 else k for k in x.shape]
    dims = [axis + (axis >= at) for axis in range(x.ndim)]
    return ops.BroadcastInDim((*shape[:at], size, *shape[at:]), tuple(dims))


def concatenate(w: Writer) -> GlobalValKey | None:
    x = w.any(rank=1)
    if x is None:
        return None
    return w.add(ops.Concatenate(int(w.rng.integers(w.values[x].ndim))), x, w.partner(x), x)


def extremum(make: Callable[..., StdTensorOp]) -> Rule:
    def rule(w: Writer) -> GlobalValKey | None:
        x = w.any("f", rank=1)
        if x is None:
            return None
        array = np.sort(w.values[x].ravel())
        tame = array.size and np.all(np.diff(array) > GAP)
        return w.add(make(w.axes(x)), x) if tame else None

    return rule


def extract_diag(w: Writer, x: Array, _: GlobalValKey) -> StdTensorOp | None:
    pairs = [(a, b) for b in range(x.ndim) for a in range(b) if x.shape[a] == x.shape[b]]
    return ops.ExtractDiag(*pairs[w.rng.integers(len(pairs))]) if pairs else None


def embed_diag(w: Writer, x: Array, _: GlobalValKey) -> StdTensorOp:
    a = int(w.rng.integers(x.ndim))
    return ops.EmbedDiag(a, int(w.rng.integers(a + 1, x.ndim + 1)))


def dot(w: Writer) -> GlobalValKey | None:
    x, y = w.any(), w.any()
    if x is None or y is None or w.values[x].dtype != w.values[y].dtype:
        return None
    used: list[tuple[int, int]] = []
    for i, m in enumerate(w.values[x].shape):
        for j, n in enumerate(w.values[y].shape):
            if m == n and i not in [a for a, _ in used] and j not in [b for _, b in used]:
                used.append((i, j))
    split = int(w.rng.integers(0, len(used) + 1))
    order = [used[k] for k in w.rng.permutation(len(used))]
    pairs = order[:split], order[split:]
    (lc, rc), (lb, rb) = [(tuple(a for a, _ in half), tuple(b for _, b in half)) for half in pairs]
    return w.add(ops.DotGeneral(lc, rc, lb, rb), x, y)


def below(limit: float) -> Callable[[Array], Any]:
    """Of less than that magnitude."""
    return lambda x: np.abs(x) < limit


RULES: list[Rule] = [
    *(binary(op) for op in (ops.ADD, ops.SUB, ops.MUL)),
    *(binary(op, kinds="i") for op in (ops.ADD, ops.MUL, ops.DIV, ops.REM)),
    *(unary(op, below(4)) for op in (ops.SIN, ops.COS, ops.EXP, ops.EXPM1)),
    unary(ops.NEG, np.isfinite),
    unary(ops.CONJ, np.isfinite),
    unary(ops.TANH, below(1.2)),
    *(unary(op, off_cut) for op in (ops.LOG, ops.SQRT, ops.RSQRT, ops.LOG1P)),
    *(unary(op, lambda x: np.abs(x) > 0.1) for op in (ops.ABS, ops.ABS)),
    unary(ops.SIGN, lambda x: np.abs(x) > 0.1, "f"),
    binary(ops.DIV, lambda x, y: np.abs(y) > 0.2),
    binary(ops.POW, lambda x, y: (np.real(x) > 0.2) & (np.abs(y) < 3)),
    binary(ops.REM, between_multiples, "f"),
    *(binary(op, apart, "f") for op in (ops.MAXIMUM, ops.MINIMUM)),
    compare, select, clamp, to_integer, to_float,
    unary(ops.Convert(as_dtype("c128")), np.isfinite, "f"),
    unary(ops.Convert(FLOAT64), np.isfinite, "c"),
    *(unary(op, np.isfinite, "c") for op in (ops.REAL, ops.IMAG)),
    binary(ops.COMPLEX, kinds="f"),
    layout(transpose), layout(reshape), layout(broadcast), layout(slice_of), pad, concatenate,
    layout(lambda w, x, key: ops.Reverse(w.axes(key))),
    layout(lambda w, x, key: ops.ReduceSum(w.axes(key)), 1),
    layout(lambda w, x, key: ops.ReduceProd(w.axes(key)), 1),
    extremum(ops.ReduceMax), extremum(ops.ReduceMin),
    layout(extract_diag, 2), layout(embed_diag, 1),
    layout(lambda w, x, key: ops.Tril(int(w.rng.integers(-1, 2))), 2),
    layout(lambda w, x, key: ops.Triu(int(w.rng.integers(-1, 2))), 2),
    dot, dot,
]  # fmt: skip
