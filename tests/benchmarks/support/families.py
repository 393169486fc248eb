"""Families of tensor networks to time, drawn at random: a family, a seed, and a network is made.

The bonds of a draw are the ones for which its path takes about as many multiplications as were
asked for. Paths are of two kinds: greedy ones, and the smallest of some random ones. In half of the
draws the axes of every tensor are permuted. Seeds below `JUDGING` are for tuning; the others only
judge.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import opt_einsum
from opt_einsum.path_random import RandomGreedy
from support.networks import Network

JUDGING = 1000
"""The first seed of draws by which nothing may be tuned."""

LEAST, MOST = 1e6, 4e8
"""Multiplications of real numbers that a value takes; drawn between these, by their logarithm."""

EXACT = 8
"""Networks of at most so many tensors get the path of fewest multiplications for a greedy one."""

TRIALS = 24
"""How many random paths the smallest one is of."""

Generator = np.random.Generator


@dataclass
class Draft:
    """A network whose bonds have no sizes yet.

    Attributes:
        terms: the labels of each tensor.
        output: the labels of the result.
        sizes: the sizes of labels that are given.
        power: by which power of the bond a label grows, if not by the first.
        most: the largest bond.
        count: the number of labels.
    """

    terms: list[list[int]] = field(default_factory=list)
    output: list[int] = field(default_factory=list)
    sizes: dict[int, int] = field(default_factory=dict)
    power: dict[int, float] = field(default_factory=dict)
    most: int = 4096
    count: int = 0

    def label(self, size: int | None = None, power: float = 1.0) -> int:
        """A new label, of a size that is given or that of a power of the bond."""
        self.count += 1
        if size is None:
            self.power[self.count] = power
        else:
            self.sizes[self.count] = size
        return self.count

    def tensor(self, *labels: int) -> None:
        self.terms.append(list(labels))

    def shapes(self, bond: float) -> list[tuple[int, ...]]:
        def size(label: int) -> int:
            return self.sizes.get(label) or max(2, round(bond ** self.power[label]))

        return [tuple(size(label) for label in term) for term in self.terms]

    @property
    def expression(self) -> str:
        def text(labels: Sequence[int]) -> str:
            return "".join(map(opt_einsum.get_symbol, labels))

        return ",".join(map(text, self.terms)) + "->" + text(self.output)


def regular(rng: Generator) -> Draft:
    """A random graph of three bonds to a tensor; sometimes two are open."""
    draft, nodes = Draft(), 2 * int(rng.integers(5, 14))
    ends = list(np.repeat(np.arange(nodes), 3))
    rng.shuffle(ends)
    draft.terms = [[] for _ in range(nodes)]
    for a, b in zip(ends[::2], ends[1::2], strict=True):
        if a != b:
            bond = draft.label()
            draft.terms[a].append(bond)
            draft.terms[b].append(bond)
    for node in rng.choice(nodes, 2 * int(rng.integers(2)), replace=False):
        draft.output.append(draft.label())
        draft.terms[node].append(draft.output[-1])
    draft.terms = [term for term in draft.terms if term]
    return draft


def grid(rng: Generator) -> Draft:
    """A closed rectangle of tensors."""
    draft, rows, columns = Draft(), int(rng.integers(3, 7)), int(rng.integers(4, 8))
    right = {(i, j): draft.label() for i in range(rows) for j in range(columns - 1)}
    down = {(i, j): draft.label() for i in range(rows - 1) for j in range(columns)}
    for i in range(rows):
        for j in range(columns):
            around = (
                right.get((i, j - 1)),
                right.get((i, j)),
                down.get((i - 1, j)),
                down.get((i, j)),
            )
            draft.tensor(*(bond for bond in around if bond is not None))
    return draft


def chain(rng: Generator) -> Draft:
    """The product of two matrix product states, or of matrices, of uneven bonds."""
    draft, sites, layers = Draft(), int(rng.integers(5, 30)), int(rng.integers(1, 3))
    bonds = [[draft.label(power=float(rng.uniform(0.8, 1.1))) for _ in range(sites + 1)]
             for _ in range(layers)]  # fmt: skip
    physical = [draft.label(int(rng.integers(2, 5))) for _ in range(sites)]
    for site in range(sites):
        for layer in bonds:
            draft.tensor(
                layer[site], *(physical[site : site + 1] if layers > 1 else ()), layer[site + 1]
            )
    draft.output = [label for layer in bonds for label in (layer[0], layer[-1])]
    if layers > 1:
        for layer in bonds:
            draft.tensor(layer[0])
            draft.tensor(layer[-1])
        draft.output = []
    return draft


def tree(rng: Generator) -> Draft:
    """A binary tree with vectors at its leaves, and an open root or a second tree."""
    draft, depth, double = Draft(), int(rng.integers(3, 5)), bool(rng.integers(2))
    leaves = [draft.label(power=0.7) for _ in range(2**depth)]
    for _ in range(2 if double else 1):
        level = leaves
        while len(level) > 1:
            above = [draft.label() for _ in level[::2]]
            for up, left, right in zip(above, level[::2], level[1::2], strict=True):
                draft.tensor(left, right, up)
            level = above
        draft.output.append(level[0])
    if not double:
        for leaf in leaves:
            draft.tensor(leaf)
    return draft


def dmrg(rng: Generator) -> Draft:
    """An effective Hamiltonian of one or two sites applied to a state."""
    draft, sites = Draft(), int(rng.integers(1, 3))
    wide, thin = int(rng.integers(3, 8)), int(rng.integers(2, 5))
    left, right, new_left, new_right = (draft.label() for _ in range(4))
    middle = [draft.label(wide) for _ in range(sites + 1)]
    below, above = ([draft.label(thin) for _ in range(sites)] for _ in range(2))
    draft.tensor(new_left, middle[0], left)
    for site in range(sites):
        draft.tensor(middle[site], middle[site + 1], below[site], above[site])
    draft.tensor(new_right, middle[-1], right)
    draft.tensor(left, *below, right)
    draft.output = [new_left, *above, new_right]
    if rng.integers(2):
        draft.tensor(*draft.output)
        draft.output = []
    return draft


def ctmrg(rng: Generator) -> Draft:
    """A corner of an environment, grown by two edges and a site of one or two layers."""
    draft, layers = Draft(), int(rng.integers(1, 3))
    inner = int(rng.integers(2, 5)) if layers > 1 else int(rng.integers(3, 10))
    a, b, c, d = (draft.label() for _ in range(4))
    x, y, u, v = ([draft.label(inner) for _ in range(layers)] for _ in range(4))
    draft.tensor(a, b)
    draft.tensor(a, *x, c)
    draft.tensor(b, *y, d)
    physical = [draft.label(2)] if layers > 1 else []
    for layer in range(layers):
        draft.tensor(x[layer], y[layer], u[layer], v[layer], *physical)
    draft.output = [c, *v, d, *u]
    if rng.integers(2):  # a projector on each side
        p, q = draft.label(), draft.label()
        draft.tensor(c, *v, p)
        draft.tensor(d, *u, q)
        draft.output = [p, q]
    return draft


def batched(rng: Generator) -> Draft:
    """A tensor train over a batch of vectors, or a chain of batched matrices."""
    draft = Draft(most=150)
    batch, sites = draft.label(int(2 ** rng.integers(4, 12))), int(rng.integers(4, 10))
    bonds = [draft.label() for _ in range(sites + 1)]
    if rng.integers(2):
        for site in range(sites):
            physical = draft.label(int(rng.integers(2, 8)))
            draft.tensor(bonds[site], physical, bonds[site + 1])
            draft.tensor(batch, physical)
        draft.output = [batch, bonds[0], bonds[-1]]
        draft.sizes[bonds[0]] = draft.sizes[bonds[-1]] = 1
        return draft
    for site in range(sites - 2):
        draft.tensor(batch, bonds[site], bonds[site + 1])
    draft.output = [batch, bonds[0], bonds[sites - 2]]
    return draft


def outer(rng: Generator) -> Draft:
    """Products that are not summed, or over little, with or without a batch."""
    draft = Draft()
    batch = [draft.label(int(2 ** rng.integers(3, 8)))] if rng.integers(2) else []
    free = [draft.label(power=float(rng.uniform(0.5, 1.2))) for _ in range(4)]
    inner = [draft.label(int(rng.integers(2, 4)))] if rng.integers(2) else []
    draft.tensor(*batch, *free[:2], *inner)
    draft.tensor(*free[2:], *batch, *inner)
    draft.output = [*batch, *free]
    if rng.integers(2):
        draft.output = [free[2], *batch, free[0], free[3], free[1]]
    return draft


def few_rows(rng: Generator) -> Draft:
    """A few rows through a chain of wide matrices."""
    draft, steps = Draft(), int(rng.integers(2, 7))
    rows = draft.label(int(rng.integers(1, 17)))
    wide = [draft.label(power=float(rng.uniform(0.9, 1.1))) for _ in range(steps + 1)]
    draft.tensor(rows, wide[0])
    for one, other in itertools.pairwise(wide):
        draft.tensor(*((one, other) if rng.integers(2) else (other, one)))
    draft.output = [rows, wide[-1]] if rng.integers(2) else [wide[-1], rows]
    return draft


def small_axes(rng: Generator) -> Draft:
    """A circuit of gates on two of many axes of size 2 each, or 3."""
    draft, size = Draft(most=2), int(rng.integers(2, 4))
    axes, gates = (
        (int(rng.integers(14, 20)) if size == 2 else int(rng.integers(9, 12))),
        int(rng.integers(6, 16)),
    )
    state = [draft.label(size) for _ in range(axes)]
    draft.tensor(*state)
    for _ in range(gates):
        i, j = rng.choice(axes, 2, replace=False)
        new = draft.label(size), draft.label(size)
        draft.tensor(*new, state[i], state[j])
        state[i], state[j] = new
    draft.output = state
    return draft


def operators(rng: Generator) -> Draft:
    """A matrix product operator between two matrix product states, or two of them."""
    draft, sites, layers = Draft(), int(rng.integers(4, 16)), int(rng.integers(1, 3))
    physical = [[draft.label(int(rng.integers(2, 5))) for _ in range(sites)]
                for _ in range(layers + 1)]  # fmt: skip
    wide = [[draft.label() for _ in range(sites - 1)] for _ in range(2)]
    thin = [[draft.label(int(rng.integers(2, 7))) for _ in range(sites - 1)]
            for _ in range(layers)]  # fmt: skip
    states = [(bonds, (level,)) for bonds, level in zip(wide, physical[::layers], strict=True)]
    between = [
        (bonds, pair) for bonds, pair in zip(thin, itertools.pairwise(physical), strict=True)
    ]
    for site in range(sites):
        for bonds, levels in (states[0], *between, states[1]):
            around = (*bonds[max(site - 1, 0) : site], *bonds[site : site + 1])
            draft.tensor(*around, *(level[site] for level in levels))
    return draft


def layered(rng: Generator) -> Draft:
    """A rectangle of tensors and its conjugate, joined by physical axes; sometimes one is open."""
    draft, rows, columns = Draft(), int(rng.integers(2, 4)), int(rng.integers(3, 6))
    physical = [draft.label(int(rng.integers(2, 4))) for _ in range(rows * columns)]
    open_at = int(rng.integers(2 * rows * columns))
    for layer in range(2):
        right = {(i, j): draft.label() for i in range(rows) for j in range(columns - 1)}
        down = {(i, j): draft.label() for i in range(rows - 1) for j in range(columns)}
        for i, j in itertools.product(range(rows), range(columns)):
            around = (
                right.get((i, j - 1)),
                right.get((i, j)),
                down.get((i - 1, j)),
                down.get((i, j)),
            )
            level = physical[i * columns + j]
            if i * columns + j == open_at and layer:
                level = draft.label(draft.sizes[level])
                draft.output = [physical[open_at], level]
            draft.tensor(level, *(bond for bond in around if bond is not None))
    return draft


def mera(rng: Generator) -> Draft:
    """Part of a binary MERA, an operator on neighbouring sites, and the conjugate of the part."""
    draft, sites = Draft(), 2 * int(rng.integers(2, 5))
    below = [[draft.label(2) for _ in range(sites)] for _ in range(2)]
    first = int(rng.integers(sites - 1))
    for site in range(sites):
        if site not in (first, first + 1):
            below[1][site] = below[0][site]
    draft.tensor(*(level[site] for level in below for site in (first, first + 1)))
    tops = []
    for level in below:
        axes = level
        while len(axes) > 1:
            mixed = [draft.label() for _ in axes[1:-1]]
            for k in range(0, len(mixed) - 1, 2):
                draft.tensor(*axes[k + 1 : k + 3], *mixed[k : k + 2])
            axes = [axes[0], *mixed, axes[-1]] if len(axes) > 2 else axes
            above = [draft.label() for _ in axes[::2]]
            for k, up in enumerate(above):
                draft.tensor(*axes[2 * k : 2 * k + 2], up)
            axes = above
        tops.append(axes[0])
    draft.tensor(*tops)
    return draft


def language(rng: Generator) -> Draft:
    """Sentences of a batch: words of a lexicon, merged by rules in a tree; one word may be open."""
    draft, words = Draft(most=128), int(rng.integers(6, 25))
    batch, spread = draft.label(int(rng.integers(2, 33))), bool(rng.integers(2))
    parts = []
    for _ in range(words):
        word, part = draft.label(int(rng.integers(8, 64))), draft.label()
        draft.tensor(*((batch,) if spread else ()), word)
        draft.tensor(word, part)
        parts.append(part)
    while len(parts) > 1:
        at = int(rng.integers(len(parts) - 1))
        up = draft.label()
        draft.tensor(up, *parts[at : at + 2])
        parts[at : at + 2] = [up]
    draft.output = [*((batch,) if spread else ()), parts[0]]
    return draft


def factors(rng: Generator) -> Draft:
    """Functions of two to four variables, each of which two to five functions read."""
    draft, variables = Draft(), int(rng.integers(8, 25))
    labels = [draft.label(power=float(rng.uniform(0.6, 1.1))) for _ in range(variables)]
    ends = [label for label in labels for _ in range(int(rng.integers(2, 5)))]
    rng.shuffle(ends)
    while ends:
        count = int(rng.integers(2, 5))
        draft.tensor(*dict.fromkeys(ends[:count]))
        ends = ends[count:]
    draft.output = [int(label) for label in rng.choice(labels, rng.integers(3), replace=False)]
    draft.terms = [[int(label) for label in term] for term in draft.terms]
    return draft


def amplitude(rng: Generator) -> Draft:
    """An amplitude of a circuit of gates on neighbours in a line; some qubits may be open."""
    draft, qubits, layers = Draft(most=2), int(rng.integers(8, 17)), int(rng.integers(4, 13))
    axes = [draft.label(2) for _ in range(qubits)]
    for axis in axes:
        draft.tensor(axis)
    for layer in range(layers):
        for qubit in range(layer % 2, qubits - 1, 2):
            new = draft.label(2), draft.label(2)
            draft.tensor(*new, *axes[qubit : qubit + 2])
            axes[qubit : qubit + 2] = new
    draft.output = axes[: int(rng.integers(4))]
    for axis in axes[len(draft.output) :]:
        draft.tensor(axis)
    return draft


FAMILIES: dict[str, Callable[[Generator], Draft]] = {
    each.__name__: each
    for each in (
        regular, grid, chain, tree, dmrg, ctmrg, batched, outer, few_rows, small_axes,
        operators, layered, mera, language, factors, amplitude,
    )
}  # fmt: skip


def drawn(family: str, seed: int) -> Network:
    """The network of a family and a seed, always the same."""
    rng = np.random.default_rng([seed, list(FAMILIES).index(family)])
    draft = FAMILIES[family](rng)
    wanted = math.exp(rng.uniform(math.log(LEAST), math.log(MOST)))
    if family == "outer":
        wanted /= 60  # bound by memory
    smallest = bool(rng.integers(2))
    if rng.integers(2):
        draft.terms = [list(map(int, rng.permutation(term))) for term in draft.terms]
    best: Network | None = None
    for bond in bonds(draft.most):
        network = _with_bond(family, seed, draft, bond, smallest)
        if best is None or network.log10_flops <= math.log10(2 * wanted):
            best = network
        if network.log10_flops > math.log10(2 * wanted):
            break
    assert best is not None
    return best


def bonds(most: int) -> Iterator[float]:
    """Sizes of bonds that are tried, each larger than the one before."""
    bond = 2.0
    while bond <= most:
        yield bond
        bond = max(bond + 1, round(bond * 1.2))


def _with_bond(family: str, seed: int, draft: Draft, bond: float, smallest: bool) -> Network:
    shapes = draft.shapes(bond)
    path = _path(family, draft, shapes, smallest)
    _, info = opt_einsum.contract_path(draft.expression, *shapes, shapes=True, optimize=path)
    flops = math.log10(max(float(info.opt_cost), 1.0))
    kind = f"bond {bond:g}{', small' if smallest else ''}"
    return Network(f"{family} {seed}", draft.expression, tuple(shapes), kind, tuple(path), flops)


def _path(
    family: str, draft: Draft, shapes: Sequence[tuple[int, ...]], smallest: bool
) -> list[tuple[int, ...]]:
    """The same in every process, since numbers, unlike texts, have the same hash in all."""
    if family == "small_axes":
        return [(0, 1), *((0, last) for last in range(len(shapes) - 2, 0, -1))]
    sizes = {
        label: size
        for term, shape in zip(draft.terms, shapes, strict=True)
        for label, size in zip(term, shape, strict=True)
    }
    find: Callable[..., list[tuple[int, ...]]] = opt_einsum.paths.greedy
    if smallest:
        find = RandomGreedy(max_repeats=TRIALS, minimize="size")
    elif len(shapes) <= EXACT:
        find = opt_einsum.paths.optimal
    found = find([frozenset(term) for term in draft.terms], frozenset(draft.output), sizes)
    return [tuple(map(int, step)) for step in found]
