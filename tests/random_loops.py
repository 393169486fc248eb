"""Functions made at random of loops, branches and maps in one another.

A function is a tree of `Block`s, which any `Language` can run. All values stay of magnitude 1.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.loop_languages import SIZE, Language

KINDS = "fvmib"  # f64[], f64[3], f64[3,3], i64[], bool[]
FLOATS = "fvm"
ENTRY = {"v": "f", "m": "v"}  # the kind of an entry along the first axis
STACK = {"f": "v", "v": "m"}


@dataclass
class Block:
    """Statements, each of which adds values to those that the block is given.

    Attributes:
        statements: (name, positions of values, blocks, other settings).
        results: the positions of the values that it returns.
    """

    statements: list[tuple[str, tuple[int, ...], tuple[Block, ...], Any]] = field(
        default_factory=list
    )
    results: tuple[int, ...] = ()

    def run(self, language: Language, values: Sequence[Any]) -> list[Any]:
        """The results, for these first values."""
        known = [*values]
        for name, places, blocks, setting in self.statements:
            operands = [known[place] for place in places]
            calls = [_call(block, language, known) for block in blocks]
            known += RUN[name](language, operands, calls, setting)
        return [known[place] for place in self.results]


Inner = Callable[..., list[Any]]


def _call(block: Block, language: Language, known: Sequence[Any]) -> Inner:
    """The block as a function of what it takes beside the values around it."""
    outer = [*known]
    return lambda *given: block.run(language, [*outer, *given])


# --- statements -----------------------------------------------------------------------------------


def _one(f: Callable[..., Any]) -> Any:
    return lambda language, x, calls, setting: [f(language.xp, *x)]


def _scan(language: Language, x: Sequence[Any], calls: Sequence[Inner], s: Any) -> list[Any]:
    carry, xs = x[: s["carry"]], x[s["carry"] :]
    if s["empty"]:
        xs = [entries[:0] for entries in xs]

    def step(c: Any, entry: Any) -> Any:
        results = calls[0](*c["c"], *(entry or ()))
        return {"c": tuple(results[: s["carry"]]), "n": None}, tuple(results[s["carry"] :])

    last, ys = language.scan(
        step,
        {"c": tuple(carry), "n": None},
        tuple(xs) or None,
        length=None if xs else s["length"],
        reverse=s["reverse"],
    )
    pairs = zip(ys, s["stacked"], strict=True)
    return [*last["c"], *(y if keep else language.xp.sum(y, axis=0) for y, keep in pairs)]


def _while(language: Language, x: Sequence[Any], calls: Sequence[Inner], s: Any) -> list[Any]:
    cond, body = calls
    return [
        *language.while_loop(
            lambda c: cond(*c)[0], lambda c: tuple(body(*c)), tuple(x), max_steps=s
        )
    ]


def _fori(language: Language, x: Sequence[Any], calls: Sequence[Inner], s: Any) -> list[Any]:
    def body(i: Any, c: Any) -> Any:
        return tuple(calls[0](language.xp.asarray(i, dtype="int64"), *c))

    return [*language.fori_loop(*s, body, tuple(x))]


def _cond(language: Language, x: Sequence[Any], calls: Sequence[Inner], s: Any) -> list[Any]:
    pred, *operands = x
    first, second = [lambda *y, call=call: tuple(call(*y)) for call in calls]
    return [*language.cond(pred, first, second, *operands)]


def _switch(language: Language, x: Sequence[Any], calls: Sequence[Inner], s: Any) -> list[Any]:
    index, *operands = x
    branches = [lambda *y, call=call: tuple(call(*y)) for call in calls]
    return [*language.switch(index, branches, *operands)]


def _map(language: Language, x: Sequence[Any], calls: Sequence[Inner], s: Any) -> list[Any]:
    return [*language.map(lambda row: tuple(calls[0](*row)), tuple(x), batch_size=s)]


def _vmap(language: Language, x: Sequence[Any], calls: Sequence[Inner], s: Any) -> list[Any]:
    return [*language.vmap(lambda *y: tuple(calls[0](*y)), in_axes=s)(*x)]


def _grad(language: Language, x: Sequence[Any], calls: Sequence[Inner], s: Any) -> list[Any]:
    found = language.grad(lambda y: calls[0](y)[0])(x[0])
    return [language.xp.tanh(found)]


def _jvp(language: Language, x: Sequence[Any], calls: Sequence[Inner], s: Any) -> list[Any]:
    y, dy = language.jvp(lambda y: calls[0](y)[0], (x[0],), (x[1],))
    return [y, language.xp.tanh(dy)]


def _associative(language: Language, x: Sequence[Any], calls: Any, s: Any) -> list[Any]:
    after = [lambda p, q: p + q - p * q, language.xp.maximum][s["which"]]
    return [0.3 * language.associative_scan(after, x[0], reverse=s["reverse"])]


RUN: dict[str, Callable[[Language, Sequence[Any], Sequence[Inner], Any], list[Any]]] = {
    "sin": _one(lambda xp, x: xp.sin(x)),
    "cos": _one(lambda xp, x: xp.cos(x)),
    "tanh": _one(lambda xp, x: xp.tanh(2 * x)),
    "decay": _one(lambda xp, x: xp.exp(-x * x)),
    "mean": _one(lambda xp, x, y: 0.5 * (x + y)),
    "difference": _one(lambda xp, x, y: 0.5 * (x - y)),
    "times": _one(lambda xp, x, y: xp.sin(x) * y),
    "sum": _one(lambda xp, x: 0.3 * xp.sum(x)),
    "rows": _one(lambda xp, x: 0.3 * xp.sum(x, axis=1)),
    "matmul": _one(lambda xp, x, y: 0.3 * (x @ y)),
    "outer": _one(lambda xp, x, y: xp.sin(x[:, None]) * y),
    "entry": _one(lambda xp, x, i: x[i % SIZE]),
    "number": _one(lambda xp, i: xp.sin(xp.asarray(i, dtype="float64"))),
    "next": _one(lambda xp, i: (2 * i + 1) % 7),
    "most": _one(lambda xp, x: xp.argmax(x)),
    "even": _one(lambda xp, i: i % 2 == 0),
    "below": _one(lambda xp, i: i < 4),
    "positive": _one(lambda xp, x: x > 0.1234),
    "not": _one(lambda xp, b: ~b),
    "where": _one(lambda xp, b, x, y: xp.where(b, x, y)),
    "scan": _scan,
    "while": _while,
    "fori": _fori,
    "cond": _cond,
    "switch": _switch,
    "map": _map,
    "vmap": _vmap,
    "grad": _grad,
    "jvp": _jvp,
    "associative": _associative,
}

# Names, the kinds of their operands, and of their result.
SIMPLE = [
    *[(name, kind, kind) for name in ("sin", "cos", "tanh", "decay") for kind in FLOATS],
    *[(name, 2 * kind, kind) for name in ("mean", "difference", "times") for kind in FLOATS],
    *[("times", kinds, max(kinds, key="fvm".index)) for kinds in ("fv", "vf", "fm", "mv")],
    *[("sum", kind, "f") for kind in "vm"],
    *[("rows", "m", "v"), ("matmul", "mv", "v"), ("matmul", "vv", "f"), ("matmul", "mm", "m")],
    *[("outer", "vv", "m"), ("entry", "vi", "f"), ("entry", "mi", "v"), ("number", "i", "f")],
    *[("next", "i", "i"), ("most", "v", "i"), ("even", "i", "b"), ("below", "i", "b")],
    *[("positive", "f", "b"), ("not", "b", "b"), ("where", "bff", "f"), ("where", "bvv", "v")],
]
NESTING = ["scan"] * 4 + ["cond", "switch", "while", "while", "fori", "map", "vmap", "vmap"]
NESTING += ["associative"]
DERIVATIVES = ["grad", "jvp"]


# --- writing --------------------------------------------------------------------------------------


def random_function(seed: int, depth: int = 3, derivatives: bool = True) -> Block:
    """A function of (f64[3], f64[3,3], f64[], i64[]) that returns some floats.

    It takes derivatives of its blocks, unless not `derivatives`.
    """
    nesting = NESTING + DERIVATIVES * derivatives
    return Writer(random.Random(seed), ["v", "m", "f", "i"], depth, nesting).top()


class Writer:
    """Writes a block on values of known kinds."""

    def __init__(
        self, rng: random.Random, kinds: Sequence[str], depth: int, nesting: Sequence[str]
    ) -> None:
        self.rng = rng
        self.kinds = [*kinds]
        self.depth = depth
        self.nesting = nesting
        self.block = Block()

    def top(self) -> Block:
        """Some statements, of which one nests others at least."""
        self.add("even", [self.pick("i")], "b")
        while not any(blocks for _, _, blocks, _ in self.block.statements):
            self.step()
        for _ in range(self.rng.randrange(3)):
            self.step()
        floats = [place for place, kind in enumerate(self.kinds) if kind in FLOATS]
        self.block.results = tuple(floats[-4:])
        return self.block

    def inner(self, given: Sequence[str], returned: Sequence[str]) -> Block:
        """A block that takes further values, and returns such kinds."""
        writer = Writer(self.rng, [*self.kinds, *given], self.depth - 1, self.nesting)
        for _ in range(self.rng.choice((0, 1, 2, 2, 3, 4))):
            writer.step()
        writer.block.results = tuple([writer.pick(kind) for kind in returned])
        return writer.block

    def pick(self, kind: str) -> int:
        """The place of a value of a kind, more often a late one."""
        places = [place for place, known in enumerate(self.kinds) if known == kind]
        if self.rng.random() < 0.6:
            places = places[-2:]
        return self.rng.choice(places)

    def add(
        self,
        name: str,
        places: Sequence[int],
        kinds: Sequence[str],
        blocks: Sequence[Block] = (),
        setting: Any = None,
    ) -> int:
        self.block.statements.append((name, tuple(places), tuple(blocks), setting))
        self.kinds += kinds
        return len(self.kinds) - len(kinds)

    def step(self) -> None:
        """Add a statement."""
        if self.depth and self.rng.random() < 0.5:
            getattr(self, f"add_{self.rng.choice(self.nesting)}")()
            return
        name, operands, result = self.rng.choice(SIMPLE)
        self.add(name, [self.pick(kind) for kind in operands], result)

    def some(self, kinds: str, least: int, most: int) -> str:
        return "".join(self.rng.choice(kinds) for _ in range(self.rng.randint(least, most)))

    def picked(self, kinds: str) -> list[int]:
        return [self.pick(kind) for kind in kinds]

    def add_scan(self) -> None:
        carry, xs = self.some("fvmifv", 0, 3), self.some("vm", 0, 2)
        carry = carry or ("" if xs else "f")
        ys = self.some("fvfvib", 0, 2)
        empty = bool(xs) and self.rng.random() < 0.1
        stacked = [bool(xs) and not empty and y in STACK for y in ys]
        kinds = "".join("i" if y == "b" else y for y in ys)
        results = carry + "".join(STACK[y] if s else y for y, s in zip(kinds, stacked, strict=True))
        setting = {
            "carry": len(carry),
            "length": self.rng.choice((0, 1, 2, 3, 4)),
            "reverse": self.rng.random() < 0.3,
            "stacked": stacked,
            "empty": empty,
        }
        body = self.inner(carry + "".join(ENTRY[x] for x in xs), carry + ys)
        self.add("scan", self.picked(carry + xs), results, [body], setting)

    def add_while(self) -> None:
        carry = "i" + self.some("fvm", 1, 2)
        blocks = [self.inner(carry, "b"), self.inner(carry, carry)]
        self.add("while", self.picked(carry), carry, blocks, self.rng.choice((0, 1, 2, 5)))

    def add_fori(self) -> None:
        carry = self.some("fvmi", 1, 2)
        bounds = (self.rng.randint(-1, 1), self.rng.randint(0, 3))
        body = self.inner("i" + carry, carry)
        self.add("fori", self.picked(carry), carry, [body], bounds)

    def add_cond(self) -> None:
        operands, results = self.some("fvmi", 0, 2), self.some("fvmib", 1, 2)
        blocks = [self.inner(operands, results) for _ in range(2)]
        self.add("cond", self.picked("b" + operands), results, blocks)

    def add_switch(self) -> None:
        operands, results = self.some("fvmi", 0, 2), self.some("fvmib", 1, 2)
        blocks = [self.inner(operands, results) for _ in range(self.rng.randint(1, 3))]
        self.add("switch", self.picked("i" + operands), results, blocks)

    def add_map(self) -> None:
        xs, ys = self.some("vm", 1, 2), self.some("fv", 1, 2)
        body = self.inner("".join(ENTRY[x] for x in xs), ys)
        stacks = "".join(STACK[y] for y in ys)
        self.add("map", self.picked(xs), stacks, [body], self.rng.choice((None, None, 1, 2)))

    def add_vmap(self) -> None:
        operands = self.some("vm", 1, 1) + self.some("vmfi", 0, 2)
        axes = [
            self.rng.choice({"v": (0, 0, None), "m": (0, 1, None)}.get(kind, (None,)))
            for kind in operands
        ]
        axes[0] = axes[0] or 0
        given = [
            kind if axis is None else ENTRY[kind] for kind, axis in zip(operands, axes, strict=True)
        ]
        ys = self.some("fv", 1, 2)
        stacks = "".join(STACK[y] for y in ys)
        body = self.inner("".join(given), ys)
        self.add("vmap", self.picked(operands), stacks, [body], tuple(axes))

    def add_grad(self) -> None:
        kind = self.rng.choice(FLOATS)
        self.add("grad", self.picked(kind), kind, [self.inner(kind, "f")])

    def add_jvp(self) -> None:
        kind, result = self.rng.choice(FLOATS), self.rng.choice(FLOATS)
        self.add("jvp", self.picked(2 * kind), 2 * result, [self.inner(kind, result)])

    def add_associative(self) -> None:
        kind = self.rng.choice("vm")
        setting = {"which": self.rng.randrange(2), "reverse": self.rng.random() < 0.5}
        self.add("associative", self.picked(kind), kind, (), setting)
