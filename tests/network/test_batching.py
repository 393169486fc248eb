"""Networks on batches: one more label, which the planner sees and no loop runs over."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import tenferro as tn
from tenferro.ir import NumpyArray as Array
from tenferro.network.einsum_op import EinsumOp, NetworkDerivative
from tenferro.network.sliced_op import RESULT, Owners, SlicedNetwork, labeled, parted
from tenferro.ops.extension import Extension

RNG = np.random.default_rng(0)
SIZES = {"i": 2, "j": 3, "k": 4, "l": 2, "m": 1}
SIZE = 3


def shapes(text: str) -> list[tuple[int, ...]]:
    return [tuple(SIZES[label] for label in term) for term in text.split("->")[0].split(",")]


def checked(function: Any, arrays: Sequence[Array], specs: Any = None) -> None:
    """For all sets of batched operands, on NumPy: a batch is the stack of single runs."""
    for mask in itertools.product((True, False), repeat=len(arrays)):
        if not any(mask):
            continue
        rows = [
            [x + 0.25 * number * on for x, on in zip(arrays, mask, strict=True)]
            for number in range(SIZE)
        ]
        whole = [
            np.stack(each) if on else each[0]
            for each, on in zip(zip(*rows, strict=True), mask, strict=True)
        ]
        in_axes = tuple(0 if on else None for on in mask)
        batched = tn.vmap(function, in_axes=in_axes)
        symbolic = None
        if specs is not None:
            symbolic = {
                name: ("batch", *spec) if on else spec
                for name, spec, on in zip("abcd", specs, mask, strict=False)
            }
        made = tn.jit(named(batched, len(arrays)), executor="numpy", symbolic=symbolic)
        results = tn.jit(function, executor="numpy")
        expected = [np.asarray(results(*row)) for row in rows]
        np.testing.assert_allclose(made(*whole), np.stack(expected), rtol=1e-11, atol=1e-11)


def named(function: Any, count: int) -> Any:
    """The function with arguments that have names."""
    names = ", ".join("abcd"[:count])
    return eval(f"lambda {names}: function({names})", {"function": function})


NETWORKS = [
    "ij,jk,kl->il",
    "ij,ij,jk->jk",  # a hyperedge
    "ii,ij->j",  # a repeated label
    "i,j->",  # scalars
    "ij->jii",  # an output with a diagonal
    "ij,->ij",
    "mj,ij->ij",  # broadcast
]


@pytest.mark.parametrize("text", NETWORKS)
@pytest.mark.parametrize("late", [False, True], ids=["known sizes", "late sizes"])
def test_a_network_on_batches(text: str, late: bool) -> None:
    arrays = [RNG.normal(size=shape) for shape in shapes(text)]
    terms = text.split("->")[0].split(",")
    specs = [tuple(1 if label == "m" else label for label in term) for term in terms]
    checked(lambda *xs: tn.einsum(text, *xs), arrays, specs if late else None)


def test_a_sliced_network_and_its_gradient_on_batches() -> None:
    text = "ij,jk,kl->il"
    arrays = [RNG.normal(size=shape) for shape in shapes(text)]

    def network(*xs: Any) -> Any:
        return tn.einsum(text, *xs, slices="jl")

    checked(network, arrays)
    checked(tn.grad(lambda *xs: tn.sum(network(*xs) ** 2), 1), arrays)


def test_a_network_within_a_memory_limit_on_batches() -> None:
    arrays = [RNG.normal(size=(8, 8)) for _ in range(3)]
    text = "ij,jk,ki->"
    limit = tn.einsum_plan(text, *arrays).peak_bytes // 2

    def network(*xs: Any) -> Any:
        return tn.einsum(text, *xs, memory_limit=limit)

    program = tn.make_program(tn.vmap(network), *[tn.TensorSpec((SIZE, 8, 8))] * 3)
    assert program.exec_program.ops_of(Extension)
    checked(network, arrays)


@pytest.mark.parametrize("argnums", [0, (0, 2)])
def test_derivatives_of_a_network_of_late_sizes_on_batches(argnums: Any) -> None:
    text, specs = "ij,jk,kl->il", [("i", "j"), ("j", "k"), ("k", "l")]
    arrays = [RNG.normal(size=shape) for shape in shapes(text)]

    def total(*xs: Any) -> Any:
        return tn.sum(tn.einsum(text, *xs) ** 2)

    def gradient(*xs: Any) -> Any:
        found = tn.grad(total, argnums)(*xs)
        return found if argnums == 0 else tn.sum(found[0]) * found[1]

    def second(*xs: Any) -> Any:
        return tn.grad(lambda *ys: tn.sum(gradient(*ys) ** 2))(*xs)

    checked(gradient, arrays, specs)
    if argnums == 0:
        checked(second, arrays, specs)


def operands_of(program: Any, op_class: type) -> list[tuple[Any, list[str]]]:
    """The ops of a class in a program, each with the types of its operands."""
    metas = dict(zip(program.input_slots, program.input_metas, strict=True))
    metas |= {slot: meta for step, meta in program.results() for slot in step.output_slots}
    return [
        (step.op.op, [str(metas[slot]) for slot in step.input_slots])
        for step in program.steps_of(Extension)
        if isinstance(step.op.op, op_class)
    ]


def test_terms_that_are_the_same_for_all_entries_are_not_repeated() -> None:
    specs = [tn.TensorSpec(shape) for shape in (("b", "i", "j"), ("j", "k"), ("k", "l"))]

    def network(a: Any, b: Any, c: Any) -> Any:
        return tn.einsum("ij,jk,kl->il", a, b, c)

    program = tn.make_program(tn.vmap(network, in_axes=(0, None, None)), *specs).exec_program
    ((op, operands),) = operands_of(program, EinsumOp)
    assert operands == ["f64[b,i,j]", "f64[j,k]", "f64[k,l]"]
    assert (op.inputs, op.output) == (((0, 1, 2), (2, 3), (3, 4)), (0, 1, 4))
    assert len(program.instructions) == 1
    total = tn.grad(lambda *xs: tn.sum(network(*xs) ** 2))
    program = tn.make_program(tn.vmap(total, in_axes=(0, None, None)), *specs).exec_program
    ((op, operands),) = operands_of(program, NetworkDerivative)
    assert operands == ["f64[b,i,j]", "f64[j,k]", "f64[k,l]", "f64[b,i,l]"]


def test_cotangents_of_terms_that_are_the_same_for_all_entries_are_computed_apart() -> None:
    specs = [tn.TensorSpec(shape) for shape in (("i", "j"), ("j", "k"), ("b", "i", "k"))]

    def rows(a: Any, b: Any, seeds: Any) -> Any:
        _, pull = tn.vjp(lambda a, b: tn.einsum("ij,jk->ik", a, b), a, b)
        return tn.vmap(pull)(seeds)

    program = tn.make_program(rows, *specs)
    parts = operands_of(program.exec_program, NetworkDerivative)
    assert [operands for _, operands in parts] == [
        ["f64[b,i,j]", "f64[j,k]", "f64[b,i,k]"],
        ["f64[i,j]", "f64[b,j,k]", "f64[b,i,k]"],
    ]
    a, b, seeds = (RNG.normal(size=shape) for shape in ((2, 3), (3, 4), (5, 2, 4)))
    bindings = {"a": a, "b": b, "seeds": seeds}
    found = tn.GraphExecutor(tn.NumpyBackend()).run(program, bindings)
    np.testing.assert_allclose(found[0], seeds @ b.T, rtol=1e-12)
    np.testing.assert_allclose(found[1], a.T @ seeds, rtol=1e-12)
    many = NetworkDerivative(((0, 1),) * 4, (0, 1), PAIRS, (("vjp", (True,) * 4),))
    assert parted(many, (False,) * 4 + (True,)) == [(many, range(4))]


PAIRS = ("pairs", ((0, 1), (4, 2), (5, 3)))


def test_the_batch_is_never_sliced() -> None:
    op = SlicedNetwork(((0, 1), (1, 2)), (0, 2), ((0, 1),), (1,))
    wide = labeled(op, frozenset({1, RESULT}))
    assert (wide.inputs, wide.output, wide.sliced) == (((0, 1), (2, 1, 3)), (2, 0, 3), (1,))


def test_a_tangent_or_a_cotangent_belongs_to_its_term() -> None:
    forward, reverse = ("jvp", (True, False)), ("vjp", (True, False))
    owners = Owners.of(2, (forward,))
    assert owners.inputs == (0, 1, 0)
    assert owners.batched((False, False, True)) == {0, RESULT}
    owners = Owners.of(2, (reverse,))
    assert owners.inputs == (0, 1, RESULT)
    assert owners.batched((False, True, False)) == {0, 1, RESULT}
    again = Owners.of(2, (reverse, ("jvp", (False, False, True))))
    assert again.inputs == (0, 1, RESULT, RESULT)
