"""Ordinary array programs, drawn at random and written as text: a seed, and a program is made.

A program is a function of arrays in the words that `jax.numpy` and tenferro share. It is run with
`xp` (arrays), `nn` and `lax` of one library or the other. Each line of it uses the line before, so
nothing in it is dead. Numbers stay of the order of one where that is natural. Seeds below `JUDGING`
are for tuning; the others only judge.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import tenferro as tn
import tenferro.lax
import tenferro.nn
import tenferro.numpy

JUDGING = 100_000
"""The first seed of programs by which nothing may be tuned."""

SIZES = (100, 10_000, 1_000_000)
"""Numbers of the first operand, about."""

MODES = {"value": 0.4, "gradient": 0.3, "hvp": 0.12, "vmap": 0.18}
"""What is computed, and how often: the function, the gradient by all operands, a Hessian-vector
product, or the function or its gradient over a batch of first operands."""

MOST_NUMBERS = 4_000_000
MOST_PRODUCTS = 200_000_000
"""The largest value, and the most multiplications of a contraction."""

Shape = tuple[int, ...]
Array = np.ndarray[Any, Any]

JAX = SimpleNamespace(name="jax.jit", xp=jnp, nn=jax.nn, lax=jax.lax, jit=jax.jit, grad=jax.grad,
                      jvp=jax.jvp, vmap=jax.vmap)  # fmt: skip


TENFERRO = SimpleNamespace(name="tn.jit", xp=tenferro.numpy, nn=tn.nn, lax=tn.lax, jit=tn.jit,
                           grad=tn.grad, jvp=tn.jvp, vmap=tn.vmap)  # fmt: skip
"""What a program is written with, of each library."""


@dataclass(frozen=True)
class Program:
    """A program that was drawn.

    Attributes:
        name: its dtype, size, mode and seed, from which it is drawn again.
        mode: one of `MODES`.
        text: the source of a function `f` of the operands.
        operands: the arrays, by name; integers are indices.
        batched: whether a batch of the first operand is mapped over, and by gradient or value.
    """

    name: str
    mode: str
    text: str
    operands: dict[str, Array]
    of_gradient: bool = False

    @property
    def differentiated(self) -> bool:
        """Whether results are derivatives."""
        return self.mode in ("gradient", "hvp") or self.of_gradient

    def function(self, library: SimpleNamespace) -> Callable[..., Any]:
        """What is timed, in the words of a library."""
        words = {"xp": library.xp, "nn": library.nn, "lax": library.lax}
        exec(compile(self.text, self.name, "exec"), words)
        f: Callable[..., Any] = words["f"]
        names = list(self.operands)
        by = tuple(i for i, name in enumerate(names) if self.operands[name].dtype.kind in "fc")
        if self.differentiated and self.mode != "hvp":
            f = library.grad(f, argnums=by)
        if self.mode == "hvp":
            value = words["f"]

            def f(x: Any, *others: Any) -> Any:
                *others, direction = others
                first = library.grad(lambda x: value(x, *others))
                return library.jvp(first, (x,), (direction,))[1]

        if self.mode == "vmap":
            f = library.vmap(f, in_axes=(0, *(None for _ in names[1:])))
        return f


@dataclass
class Draft:
    """A program being drawn."""

    rng: np.random.Generator
    dtype: np.dtype[Any]
    operands: dict[str, Array] = field(default_factory=dict)
    values: dict[str, Any] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)

    # What is drawn

    def chance(self, part: float) -> bool:
        return bool(self.rng.random() < part)

    def one(self, choices: Sequence[Any]) -> Any:
        return choices[int(self.rng.integers(len(choices)))]

    def some(self, least: int, most: int) -> int:
        return int(self.rng.integers(least, max(least, most) + 1))

    # Operands and values

    def operand(self, shape: Shape, letter: str = "w") -> str:
        """A new operand of numbers."""
        numbers = self.rng.normal(size=shape)
        if self.dtype.kind == "c":
            numbers = numbers + 1j * self.rng.normal(size=shape)
        return self._added(letter, np.asarray(numbers, self.dtype))

    def weights(self, rows: int, columns: int) -> str:
        """A matrix by which products stay of the order of one."""
        name = self.operand((rows, columns), "w")
        self.operands[name] = np.asarray(self.operands[name] / math.sqrt(rows), self.dtype)
        return name

    def indices(self, below: int, shape: Shape, unique: bool = False) -> str:
        """A new operand of indices."""
        if unique:
            found = self.rng.permutation(below)[: math.prod(shape)].reshape(shape)
        else:
            found = self.rng.integers(0, below, size=shape)
        return self._added("i", np.asarray(found, np.int32))

    def _added(self, letter: str, array: Array) -> str:
        name = f"{letter}{sum(each[0] == letter for each in self.operands)}"
        self.operands[name] = array
        self.values[name] = jax.ShapeDtypeStruct(array.shape, array.dtype)
        return name

    def shape(self, name: str) -> Shape:
        return tuple(self.values[name].shape)

    def is_complex(self, name: str) -> bool:
        return bool(self.values[name].dtype.kind == "c")

    def partner(self, v: str) -> str:
        """Something that is combined with a value by elements: of its shape, or broadcast to it."""
        shape = self.shape(v)
        alike = [
            name
            for name, each in self.values.items()
            if tuple(each.shape) == shape and name != v and each.dtype.kind in "fc"
        ]
        if alike and self.chance(0.5):
            return str(self.one(alike))
        if shape and self.chance(0.4):
            some = tuple(size if self.chance(0.5) else 1 for size in shape)
            return self.operand(some if self.chance(0.6) else shape[-1:])
        return self.operand(shape)

    # Lines

    def takes(self, text: str) -> Any:
        """The type of an expression, or None if it is none that is wanted."""
        words = {"xp": jnp, "nn": jax.nn, "lax": jax.lax}
        made = jax.eval_shape(lambda values: eval(text, words | values), self.values)
        numbers = math.prod(made.shape)
        return made if 0 < numbers <= MOST_NUMBERS and made.dtype.kind in "fc" else None

    def line(self, text: str) -> str | None:
        """A line of the program, if it is of some use."""
        made = self.takes(text)
        if made is None:
            return None
        name = f"v{len(self.lines)}"
        self.lines.append(f"{name} = {text}")
        self.values[name] = made
        return name


Draw = Callable[[Draft, str], str | None]
KINDS: dict[str, tuple[float, Draw]] = {}


def kind(weight: float) -> Callable[[Draw], Draw]:
    """Declares a kind of line: a function of the draft and a value to an expression, or to None."""

    def declared(draw: Draw) -> Draw:
        KINDS[draw.__name__] = weight, draw
        return draw

    return declared


REAL_UNARY = (
    "xp.sin({v})", "xp.cos({v})", "xp.tanh({v})", "xp.exp(-{v} * {v})", "xp.sqrt({v} * {v} + 1)",
    "xp.log1p({v} * {v})", "xp.abs({v})", "1 / (1 + {v} * {v})", "{v} ** 2", "{v} ** 3",
    "xp.where({v} > 0, {v}, 0.1 * {v})", "xp.maximum({v}, 0)", "xp.clip({v}, -1, 1)",
    "nn.sigmoid({v})", "nn.gelu({v})", "nn.softplus({v})", "nn.relu({v})", "2 * {v} + 1",
    "xp.arctan({v})", "xp.sign({v}) * xp.sqrt(xp.abs({v}) + 1e-3)", "{v} * xp.cos({v})", "-{v}",
    "xp.exp(xp.minimum({v}, 1))", "nn.silu({v})", "xp.expm1(-xp.abs({v}))",
)  # fmt: skip
COMPLEX_UNARY = (
    "{v} / (1 + xp.abs({v}))", "xp.exp(1j * xp.real({v}))", "{v} * xp.conj({v})", "xp.conj({v})",
    "xp.real({v}) + 0.5j * xp.imag({v})", "xp.exp(0.1 * {v})", "1j * {v} + 1", "{v} * {v}",
    "xp.abs({v})", "xp.sin(0.1 * {v})", "2 * {v} + 1", "xp.real({v})", "xp.sqrt({v} + 8)",
)  # fmt: skip
REAL_BINARY = (
    "{v} * {w}", "{v} * {w}", "{v} + {w}", "{v} - {w}", "{v} / (1 + {w} * {w})",
    "xp.maximum({v}, {w})", "xp.where({v} > {w}, {v}, 0.5 * {w})", "xp.arctan2({v}, 1 + {w} * {w})",
    "xp.hypot({v}, {w} + 2)", "xp.logaddexp({v}, {w})", "({v} - {w}) ** 2", "xp.minimum({v}, {w})",
)  # fmt: skip
COMPLEX_BINARY = (
    "{v} * {w}", "{v} + {w}", "{v} - {w}", "xp.conj({v}) * {w}", "{v} / (2 + xp.abs({w}))",
    "{v} * xp.real({w})",
)  # fmt: skip


@kind(8)
def unary(draft: Draft, v: str) -> str | None:
    return str(draft.one(COMPLEX_UNARY if draft.is_complex(v) else REAL_UNARY)).format(v=v)


@kind(8)
def binary(draft: Draft, v: str) -> str | None:
    w = draft.partner(v)
    complex_ = draft.is_complex(v) or draft.is_complex(w)
    return str(draft.one(COMPLEX_BINARY if complex_ else REAL_BINARY)).format(v=v, w=w)


def some_axes(draft: Draft, rank: int) -> Any:
    """No axis (all), one, or several."""
    if draft.chance(0.1):
        return None
    if rank > 1 and draft.chance(0.25):
        many = draft.some(2, rank)
        return tuple(sorted(map(int, draft.rng.choice(rank, many, replace=False))))
    return draft.some(0, rank - 1)


@kind(7)
def reduction(draft: Draft, v: str) -> str | None:
    rank = len(draft.shape(v))
    if not rank:
        return None
    axis = some_axes(draft, rank)
    how = f"axis={axis}" + (", keepdims=True" if draft.chance(0.3) else "")
    if draft.is_complex(v):
        return f"xp.{draft.one(('sum', 'mean', 'sum', 'mean', 'var'))}({v}, {how})"
    one = axis if isinstance(axis, int) else rank - 1
    return str(draft.one((
        f"xp.sum({v}, {how})", f"xp.sum({v}, {how})", f"xp.mean({v}, {how})",
        f"xp.max({v}, {how})", f"xp.max({v}, {how})", f"xp.min({v}, {how})", f"xp.var({v}, {how})",
        f"xp.std({v}, {how})", f"xp.prod(1 + 0.01 * {v}, {how})", f"nn.logsumexp({v}, {how})",
        f"xp.linalg.norm({v}, axis={one})", f"xp.nansum({v}, {how})",
        f"xp.take_along_axis({v}, xp.argmax({v}, axis={one}, keepdims=True), axis={one})",
        f"xp.take_along_axis({v}, xp.argmin({v}, axis={one}, keepdims=True), axis={one})",
        f"{v} * xp.any({v} > 1, axis={one}, keepdims=True)",
        f"{v} * xp.mean(xp.where({v} > 0, {v}, 0), axis={one}, keepdims=True)",
        f"xp.where(xp.all({v} < 2, axis={one}, keepdims=True), {v}, 0.5 * {v})",
        f"xp.argmax({v}, axis={one}) * 0.1 + xp.sum({v}, axis={one})",
    )))  # fmt: skip


@kind(4)
def normalized(draft: Draft, v: str) -> str | None:
    rank = len(draft.shape(v))
    if not rank:
        return None
    axis = draft.some(0, rank - 1) if draft.chance(0.5) else rank - 1
    how = f"axis={axis}, keepdims=True"
    if draft.is_complex(v):
        return f"{v} / xp.sqrt(1 + xp.sum(xp.abs({v}) ** 2, {how}))"
    return str(draft.one((
        f"nn.softmax({v}, axis={axis})", f"nn.log_softmax({v}, axis={axis})",
        f"({v} - xp.mean({v}, {how})) / xp.sqrt(xp.var({v}, {how}) + 1e-3)",
        f"{v} / (1 + xp.linalg.norm({v}, {how}))", f"{v} - xp.max({v}, {how})",
        f"nn.standardize({v}, axis={axis})",
    )))  # fmt: skip


@kind(6)
def contraction(draft: Draft, v: str) -> str | None:
    """An einsum of two operands: axes are summed with the other's, batch axes, free, or summed."""
    shape = draft.shape(v)
    if not 1 <= len(shape) <= 5:
        return None
    letters = "abcdefgh"[: len(shape)]
    other, free, products = "", "", math.prod(shape)
    for letter in letters:
        last = "summed" if len(shape) > 2 else "free"
        what = draft.one(("contracted", "batch", "free", "free", last))
        other += letter if what in ("contracted", "batch") else ""
        free += letter if what in ("batch", "free") else ""
    sizes = dict(zip(letters, shape, strict=True))
    for letter in "opq"[: draft.some(0, 2)]:
        sizes[letter] = int(draft.one((2, 3, 4, 8, 16, 32, 64)))
        products *= sizes[letter]
        other, free = other + letter, free + letter
    if not other or products > MOST_PRODUCTS:
        return None
    if max(math.prod(sizes[each] for each in labels) for labels in (free, other)) > MOST_NUMBERS:
        return None
    other, output = ("".join(draft.rng.permutation(list(each))) for each in (other, free))
    w = draft.operand(tuple(sizes[letter] for letter in other))
    summed = math.prod(sizes[letter] for letter in other if letter not in output)
    draft.operands[w] = np.asarray(draft.operands[w] / math.sqrt(summed), draft.dtype)
    pair = [(letters, v), (other, w)]
    (left, a), (right, b) = pair if draft.chance(0.5) else pair[::-1]
    return f"xp.einsum('{left},{right}->{output}', {a}, {b})"


@kind(4)
def product(draft: Draft, v: str) -> str | None:
    """A matrix product, from either side, or a vector."""
    shape = draft.shape(v)
    if not shape:
        return None
    if len(shape) == 1 or draft.chance(0.2):
        return f"{v} @ {draft.operand(shape[-1:])} / {math.sqrt(shape[-1]):.3g}"
    columns = int(draft.one((1, 2, 8, 16, 64, 128)))
    if draft.chance(0.7) or len(shape) > 2:
        if math.prod(shape) * columns > MOST_PRODUCTS:
            return None
        return f"{v} @ {draft.weights(shape[-1], columns)}"
    if math.prod(shape) * columns > MOST_PRODUCTS:
        return None
    return f"{draft.weights(shape[0], columns)}.T @ {v}"


@kind(3)
def gate(draft: Draft, v: str) -> str | None:
    shape = draft.shape(v)
    if not shape or draft.is_complex(v):
        return None
    half = shape[-1] // 2
    if half and draft.chance(0.5):
        return f"{v}[..., :{half}] * nn.sigmoid({v}[..., {half}:{2 * half}])"
    if len(shape) < 2:
        return None
    order = tuple(map(int, draft.rng.permutation(len(shape))))
    w = draft.operand(tuple(shape[axis] for axis in order))
    return f"xp.transpose({v}, {order}) * xp.tanh({w})"


def cut(draft: Draft, size: int) -> str:
    """One index or slice of an axis."""
    what = draft.one(("all", "all", "from", "to", "step", "back", "middle"))
    if size < 4 or what == "all":
        return ":"
    first, last = draft.some(1, size // 2), draft.some(1, size // 2)
    return {"from": f"{first}:", "to": f":-{last}", "step": "::2", "back": "::-1",
            "middle": f"{first // 2}:{size - last // 2}"}[what]  # fmt: skip


@kind(5)
def sliced(draft: Draft, v: str) -> str | None:
    shape = draft.shape(v)
    if not shape:
        return None
    cuts = [cut(draft, size) for size in shape]
    if len(shape) > 1 and draft.chance(0.2):
        cuts[draft.some(0, len(shape) - 1)] = "0"
    if all(each == ":" for each in cuts):
        cuts[-1] = "::-1"
    return f"{v}[{', '.join(cuts)}]"


@kind(4)
def joined(draft: Draft, v: str) -> str | None:
    shape = draft.shape(v)
    if not shape:
        return None
    axis = draft.some(0, len(shape) - 1)
    how = f"axis={axis}, keepdims=True"
    other = draft.one((
        f"xp.sum({v}, {how})", f"xp.tanh({v})" if not draft.is_complex(v) else f"2 * {v}",
        draft.operand(shape), f"{v}[{':, ' * axis}:1]", f"xp.mean({v}, {how}) * 2",
    ))  # fmt: skip
    if draft.chance(0.2) and not other.startswith(("xp.sum", "xp.mean")) and ":1]" not in other:
        return f"xp.stack([{v}, {other}], axis={draft.some(0, len(shape))})"
    parts = [v, other] if draft.chance(0.5) else [other, v]
    return f"xp.concatenate([{', '.join(parts)}], axis={axis})"


@kind(8)
def moved(draft: Draft, v: str) -> str | None:
    """Data that only move."""
    shape = draft.shape(v)
    rank = len(shape)
    if not rank:
        return None
    axis = draft.some(0, rank - 1)
    order = tuple(map(int, draft.rng.permutation(rank)))
    pads = tuple((draft.some(0, 2), draft.some(0, 2)) for _ in shape)
    choices = [
        f"xp.pad({v}, {pads})", f"xp.roll({v}, {draft.some(1, 3)}, axis={axis})",
        f"xp.flip({v}, axis={axis})", f"xp.reshape({v}, (-1,))",
        f"xp.repeat({v}, 2, axis={axis})", f"xp.tile({v}, 2)", f"xp.diff({v}, axis={axis})",
        f"xp.expand_dims({v}, {axis}) * xp.ones(({draft.some(2, 4)},) + (1,) * {rank - axis})",
    ]  # fmt: skip
    if rank > 1:
        choices += [f"xp.transpose({v}, {order})"] * 3
        choices += [f"xp.reshape({v}, {(shape[0] * shape[1], *shape[2:])})"]
        choices += [f"xp.tril({v})" if draft.chance(0.5) else f"xp.triu({v}, 1)"]
        choices += [f"xp.diagonal({v}, axis1=0, axis2=1)"]
    if shape[-1] % 2 == 0:
        choices += [f"xp.reshape({v}, {(*shape[:-1], 2, shape[-1] // 2)})"]
    return str(draft.one(choices))


@kind(3)
def taken(draft: Draft, v: str) -> str | None:
    shape = draft.shape(v)
    if not shape:
        return None
    axis = draft.some(0, len(shape) - 1)
    size = shape[axis]
    if draft.chance(0.3):
        like = (*shape[:axis], draft.some(1, size), *shape[axis + 1 :])
        return f"xp.take_along_axis({v}, {draft.indices(size, like)}, axis={axis})"
    many = (draft.some(1, 2 * size),)
    if draft.chance(0.5):
        return f"xp.take({v}, {draft.indices(size, many)}, axis={axis})"
    return f"{v}[{draft.indices(shape[0], (draft.some(1, 2 * shape[0]),))}]"


@kind(3)
def scattered(draft: Draft, v: str) -> str | None:
    shape = draft.shape(v)
    if not shape:
        return None
    many = draft.some(1, shape[0])
    what = draft.one(("set", "add", "add", "multiply"))
    i = draft.indices(shape[0], (many,), unique=what != "add")
    if draft.is_complex(v) != (draft.dtype.kind == "c"):
        return None
    how = ", unique_indices=True" if what == "multiply" else ""
    return f"{v}.at[{i}].{what}({draft.operand((many, *shape[1:]))}{how})"


@kind(3)
def accumulated(draft: Draft, v: str) -> str | None:
    shape = draft.shape(v)
    if not shape:
        return None
    axis = draft.some(0, len(shape) - 1)
    if draft.is_complex(v):
        return f"xp.cumsum({v}, axis={axis}) * 0.1"
    return str(draft.one((
        f"xp.cumsum({v}, axis={axis}) * 0.1", f"xp.cumsum({v}, axis={axis})",
        f"xp.cumprod(1 + 0.01 * {v}, axis={axis})", f"lax.cummax({v}, axis={axis})",
        f"lax.cumlogsumexp({v}, axis={axis})",
    )))  # fmt: skip


@kind(2)
def ordered(draft: Draft, v: str) -> str | None:
    shape = draft.shape(v)
    if not shape or draft.is_complex(v) or math.prod(shape) > 100_000:
        return None
    axis = draft.some(0, len(shape) - 1)
    return str(draft.one((
        f"xp.sort({v}, axis={axis})",
        f"xp.take_along_axis({v}, xp.argsort({v}, axis={axis}), axis={axis})",
        f"lax.top_k({v}, {draft.some(1, min(shape[-1], 8))})[0]",
        f"xp.median({v}, axis={axis})",
    )))  # fmt: skip


@kind(3)
def stencil(draft: Draft, v: str) -> str | None:
    shape = draft.shape(v)
    if not shape or min(shape[-2:]) < 4:
        return None
    if len(shape) == 1 or draft.chance(0.3):
        return str(draft.one((
            f"{v}[..., :-2] - 2 * {v}[..., 1:-1] + {v}[..., 2:]",
            f"xp.roll({v}, 1, axis=-1) + xp.roll({v}, -1, axis=-1) - 2 * {v}",
            f"0.5 * ({v}[..., 1:] + {v}[..., :-1])",
        )))  # fmt: skip
    return str(draft.one((
        f"{v}[..., :-2, 1:-1] + {v}[..., 2:, 1:-1] + {v}[..., 1:-1, :-2] + {v}[..., 1:-1, 2:]"
        f" - 4 * {v}[..., 1:-1, 1:-1]",
        f"xp.roll({v}, 1, -1) + xp.roll({v}, -1, -1) + xp.roll({v}, 1, -2) + xp.roll({v}, -1, -2)"
        f" - 4 * {v}",
        f"{v}.at[..., 1:-1, 1:-1].add(0.1 * ({v}[..., :-2, 1:-1] + {v}[..., 2:, 1:-1]))",
    )))  # fmt: skip


@kind(1.5)
def pairwise(draft: Draft, v: str) -> str | None:
    """Distances of the rows of a matrix, or differences of a vector."""
    shape = draft.shape(v)
    if not 1 <= len(shape) <= 2:
        return None
    rows = min(shape[0], int(math.sqrt(MOST_NUMBERS / (4 * math.prod(shape[1:])))), 300)
    if rows < 2:
        return None
    if len(shape) == 1:
        return f"{v}[:{rows}, None] - {v}[None, :{rows}]"
    apart = f"xp.abs({v}[:{rows}, None] - {v}[None, :{rows}]) ** 2"
    return f"xp.sum({apart}, axis=-1)"


@kind(1.5)
def attention(draft: Draft, v: str) -> str | None:
    shape = draft.shape(v)
    if len(shape) < 2 or draft.is_complex(v) or math.prod(shape) * shape[-2] > MOST_PRODUCTS / 2:
        return None
    if math.prod(shape[:-1]) * shape[-2] > MOST_NUMBERS:
        return None
    k = draft.operand(shape)
    scores = f"{v} @ xp.swapaxes({k}, -1, -2) / {math.sqrt(shape[-1]):.3g}"
    return f"nn.softmax({scores}, axis=-1) @ {v}"


@kind(1.5)
def shifts(draft: Draft, v: str) -> str | None:
    """A convolution written as a sum of shifted arrays."""
    shape = draft.shape(v)
    taps = draft.some(2, 5)
    if not shape or shape[-1] <= 2 * taps:
        return None
    w = draft.operand((taps,))
    stop = shape[-1] - taps
    return " + ".join(f"{w}[{i}] * {v}[..., {i}:{stop + i}]" for i in range(taps))


LOSSES = (
    "xp.sum({v})", "xp.sum({v} ** 2)", "xp.mean(xp.tanh({v}))", "xp.sum({v} * {w})",
    "xp.mean({v} * {v})",
)  # fmt: skip
COMPLEX_LOSSES = (
    "xp.sum(xp.abs({v}) ** 2)", "xp.sum(xp.real({v} * xp.conj({v})))", "xp.sum(xp.real({v} * {w}))",
)  # fmt: skip


def first_shape(draft: Draft, numbers: int) -> Shape:
    """A shape of one to four axes of about so many numbers."""
    rank = int(draft.one((1, 2, 2, 2, 3, 3, 4)))
    left, shape = numbers, []
    for axes in range(rank, 1, -1):
        part = left ** (1 / axes) * math.exp(draft.rng.normal() * 0.6)
        shape.append(int(min(max(2, round(part)), left // 2 or 2)))
        left = max(2, left // shape[-1])
    shape.append(left)
    return tuple(map(int, draft.rng.permutation(shape)))


def drawn(
    seed: int,
    dtype: str,
    size: int | None = None,
    mode: str | None = None,
    kinds: Sequence[str] = (),
) -> Program:
    """The program of a seed, always the same: of a size and mode that are drawn, or given.

    With `kinds`, only lines of these kinds are drawn.
    """
    rng = np.random.default_rng([seed, np.dtype(dtype).num])
    draft = Draft(rng, np.dtype(dtype))
    picked = str(rng.choice(list(MODES), p=list(MODES.values())))
    numbers = int(draft.one(SIZES))
    mode, numbers = mode or picked, size or numbers
    of_gradient = mode == "vmap" and draft.chance(0.5)
    batch = draft.one((2, 4, 8, 16)) if mode == "vmap" else 1
    first = draft.operand(first_shape(draft, max(numbers // batch, 8)), "x")
    v, wanted = first, draft.some(2, 7)
    names = list(kinds or KINDS)
    weights = np.array([KINDS[name][0] for name in names])
    while len(draft.lines) < wanted and (math.prod(draft.shape(v)) > 1 or not draft.lines):
        before = dict(draft.operands), dict(draft.values)
        text = KINDS[str(rng.choice(names, p=weights / weights.sum()))][1](draft, v)
        new = draft.line(text) if text is not None else None
        if new is None:
            draft.operands, draft.values = before
        else:
            v = new
    result = v
    if mode in ("gradient", "hvp") or of_gradient:
        losses = COMPLEX_LOSSES if draft.is_complex(v) else LOSSES
        loss = str(draft.one(losses))
        result = loss.format(v=v, w=draft.operand(draft.shape(v)) if "{w}" in loss else "")
        if "{w}" in loss and draft.dtype.kind == "c":
            result = result if "real" in result else f"xp.real({result})"
    if batch > 1:
        x = draft.operands[first]
        draft.operands[first] = np.stack([x, *(rng.permuted(x) for _ in range(batch - 1))])
    used = {name: array for name, array in draft.operands.items()
            if any(_mentions(line, name) for line in [*draft.lines, result])}  # fmt: skip
    arguments = ", ".join(used)
    if mode == "hvp":
        used["t"] = draft.operands[draft.operand(draft.shape(first))]
    body = textwrap.indent("\n".join([*draft.lines, f"return {result}"]), "    ")
    text = f"def f({arguments}):\n{body}\n"
    name = f"{dtype} {numbers:g} {mode} {seed}"
    return Program(name, mode, text, used, of_gradient)


def _mentions(line: str, name: str) -> bool:
    words = "".join(each if each.isalnum() or each == "_" else " " for each in line).split()
    return name in words
