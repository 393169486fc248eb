"""What must hold for every op: each check runs on every row of the table in `cases`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import jax
import numpy as np
import pytest
from jax import lax

from tenferro.core import check_closure, input_key
from tenferro.ops import ALL_OPS, Conj, Elementwise, GammaGrad
from tenferro.shape import TensorInput, TensorMeta
from tenferro.testing.subject import directions
from tenferro_xla import lower
from tests.graphs import CTX, Array, Function, central, fits, function, inner, metas_of
from tests.in_jax import in_jax
from tests.ops.cases import CASES, ROWS
from tests.ops.rows import DOUBLE, Case, for_each
from tests.tolerances import assert_close, difference, rounding

every_row = for_each(CASES, lambda case: case.dtypes)
every_differentiable_row = for_each(CASES, lambda case: case.smooth_dtypes())


def compared(case: Case) -> list[str]:
    """The dtypes compared with JAX; other checks compare single precision with double."""
    return [
        dtype
        for dtype in case.dtypes
        if case.differentiable(dtype) and DOUBLE.get(dtype, dtype) not in {*case.dtypes} - {dtype}
    ]


def test_every_op_has_a_row() -> None:
    rows = {type(case.op_for("f64")) for case in CASES}
    assert [op.name for op in ALL_OPS if op not in rows] == []


@pytest.mark.parametrize(
    "op", [op for op in ALL_OPS if issubclass(op, Elementwise)], ids=lambda op: op.name
)
def test_a_row_says_what_it_is_in_numpy_and_in_lax_and_its_derivative(
    op: type[Elementwise],
) -> None:
    assert op.numpy is not Elementwise.numpy
    assert lower.covers(op)
    assert op.lax is None or callable(getattr(lax, op.lax))
    if isinstance(op.jvp, tuple):
        assert len(op.jvp) == op.n_inputs
    else:
        own = op.jvp is not None or op.linearize is not Elementwise.linearize
        assert own == (op is not GammaGrad)
    assert op.vjp is None or len(op.vjp) == op.n_inputs


def test_rows_have_names_of_their_own() -> None:
    names = [case.name for case in CASES]
    assert sorted(set(names)) == sorted(names)


@every_row
def test_the_inferred_type_is_that_of_the_result(case: Case, dtype: str) -> None:
    arrays = case.arrays(dtype)
    f = function(case.op_for(dtype), metas_of(arrays), case.output)
    (result,) = f(*arrays)
    assert result is not None
    (meta,) = f.metas()
    assert fits(meta, result)


@every_differentiable_row
def test_the_jvp_is_the_central_difference(case: Case, dtype: str) -> None:
    f, arrays = applied(case, dtype)
    check_jvp(f, arrays, case.differentiable(dtype), *doubled(case, dtype))


@every_differentiable_row
def test_the_transpose_is_the_adjoint_of_the_jvp(case: Case, dtype: str) -> None:
    f, arrays = applied(case, dtype)
    check_adjoint(f, arrays, case.differentiable(dtype))


@every_differentiable_row
def test_the_jvp_is_differentiable_in_turn(case: Case, dtype: str) -> None:
    wrt = case.differentiable(dtype)
    f, arrays = applied(case, dtype)
    g, smooth = doubled(case, dtype)
    tangents = directions([arrays[i] for i in wrt], 1)
    df, dg = f.jvp(wrt), g.jvp(wrt)
    if df.outputs == (None,):
        return
    inputs = [*arrays, *tangents]
    active = [*wrt, *range(len(arrays), len(inputs))]
    check_jvp(df, inputs, active, dg, [*smooth, *widened(tangents)])
    check_adjoint(df, inputs, active)


@every_differentiable_row
def test_the_gradient_is_differentiable_in_turn(case: Case, dtype: str) -> None:
    wrt = case.differentiable(dtype)
    f, arrays = applied(case, dtype)
    g, smooth = doubled(case, dtype)
    if f.jvp(wrt).outputs == (None,):
        return
    seeds = directions([np.asarray(f(*arrays)[0])], 2)
    for slot in range(len(wrt)):
        first, second = f.vjp(wrt), g.vjp(wrt)
        if first.outputs[slot] is None:
            assert second.outputs[slot] is None
            continue
        check_jvp(
            Function(first.view, first.inputs, first.outputs[slot : slot + 1]),
            [*arrays, *seeds],
            [*wrt, len(arrays)],
            Function(second.view, second.inputs, second.outputs[slot : slot + 1]),
            [*smooth, *widened(seeds)],
        )


COMPARED = [case for case in CASES if compared(case)]
TOGETHER = 40  # so many cases JAX compiles as one program, which takes half the time


@pytest.mark.exhaustive(but=88)
@pytest.mark.parametrize("case", COMPARED, ids=lambda case: case.name)
def test_values_and_gradients_are_those_of_jax(case: Case) -> None:
    if case.jax is None:
        assert case.unlike_jax
        return
    theirs = of_jax(COMPARED.index(case) // TOGETHER)[case.name]
    for dtype, (expected, cotangents) in theirs.items():
        f, arrays = applied(case, dtype)
        value, seed = value_and_seed(case, dtype)
        assert_close(value, expected, rounding(dtype), dtype)
        assert value.dtype == expected.dtype
        if seed is None:
            continue
        ours = f.vjp(case.differentiable(dtype))(*arrays, seed)
        for ct, their in zip(ours, cotangents, strict=True):
            ct = np.zeros_like(their) if ct is None else ct
            assert_close(ct, their, rounding(dtype), dtype)


@every_differentiable_row
def test_no_jvp_conjugates(case: Case, dtype: str) -> None:
    if case.op_for(dtype) != Conj():
        df = applied(case, dtype)[0].jvp(case.differentiable(dtype))
        assert not [op for op in df.ops() if isinstance(op, Conj)]


@every_row
def test_symbolic_extents_give_the_same(case: Case, dtype: str) -> None:
    if dtype not in ("f64", "c128") or (case.symbolic is None and static_shapes(case)):
        return
    arrays = case.arrays(dtype)
    wrt = case.differentiable(dtype)
    op = case.symbolic or case.op_for(dtype)
    f, g = function(op, named(case, arrays), case.output), applied(case, dtype)[0]
    assert_same(f, g, arrays)
    if wrt and g.jvp(wrt).outputs != (None,):
        tangents = directions([arrays[i] for i in wrt], 4)
        seeds = directions([np.asarray(g(*arrays)[0])], 5)
        assert_same(f.jvp(wrt), g.jvp(wrt), [*arrays, *tangents])
        assert_same(f.vjp(wrt), g.vjp(wrt), [*arrays, *seeds])
        for ct, i in zip(f.vjp(wrt).outputs, wrt, strict=True):
            assert ct is None or CTX.meta(ct) == CTX.meta(f.inputs[i])
        active = [*wrt, len(arrays)]
        again = directions([np.asarray(x) for x in f.vjp(wrt)(*arrays, *seeds)], 6)
        if None not in f.vjp(wrt).outputs:
            assert_same(f.vjp(wrt).vjp(active), g.vjp(wrt).vjp(active), [*arrays, *seeds, *again])


def test_the_rules_of_all_rows_are_closed() -> None:
    applications = []
    for case, dtype in ROWS:
        keys = [
            input_key(TensorInput(f"{case.name} {i}", meta))
            for i, meta in enumerate(metas_of(case.arrays(dtype)))
        ]
        wrt = [keys[i] for i in case.differentiable(dtype)]
        if wrt:
            applications.append((case.op_for(dtype), keys, wrt))
    assert check_closure(applications, ctx=CTX) <= set(ALL_OPS)


# ------------------------------------------------------------------------------------ the checks


def check_jvp(
    f: Function, arrays: Sequence[Array], wrt: list[int], g: Function, smooth: Sequence[Array]
) -> None:
    """The JVP of `f` is the central difference of `g`, the same function in double precision."""
    df = f.jvp(wrt)
    steps = directions([arrays[i] for i in wrt], 7)
    (tangent,) = df(*arrays, *steps)
    expected = central(
        lambda *active: np.asarray(g(*replaced(smooth, wrt, active))[0]),
        [smooth[i] for i in wrt],
        widened(steps),
    )
    if tangent is None:
        assert_close(np.zeros_like(expected), expected, difference(arrays[wrt[0]].dtype))
        return
    assert df.metas() == f.metas()
    assert fits(df.metas()[0], tangent)
    dtypes = [tangent.dtype, *(arrays[i].dtype for i in wrt)]
    assert_close(tangent, expected, difference(*dtypes))


def check_adjoint(f: Function, arrays: Sequence[Array], wrt: list[int]) -> None:
    """⟨ct, J t⟩ = ⟨Jᴴ ct, t⟩, the inner product being Re(conj(a)·b)."""
    df = f.jvp(wrt)
    if df.outputs == (None,):
        assert f.vjp(wrt).outputs == (None,) * len(wrt)
        return
    tangents = directions([arrays[i] for i in wrt], 8)
    (image,) = df(*arrays, *tangents)
    assert image is not None
    seeds = directions([image], 9)
    back = f.vjp(wrt)
    cotangents = back(*arrays, *seeds)
    for i, ct, meta in zip(wrt, cotangents, back.metas(), strict=True):
        assert ct is None or [meta] == metas_of([ct]) == metas_of([arrays[i]])
    left = inner(seeds[0], image)
    right = sum(inner(ct, t) for ct, t in zip(cotangents, tangents, strict=True))
    size = 1 + float(np.abs(seeds[0]).ravel() @ np.abs(image).ravel())
    assert abs(left - right) <= size * rounding(image.dtype, *(arrays[i].dtype for i in wrt))


@cache
def of_jax(group: int) -> dict[str, dict[str, tuple[Array, list[Array]]]]:
    """JAX's value and cotangents, by case and dtype, of a group of cases: one compiled program."""
    cases = [c for c in COMPARED[group * TOGETHER : (group + 1) * TOGETHER] if c.jax is not None]

    def evaluated(case: Case, dtype: str, arrays: list[Any], seed: Any) -> tuple[Any, list[Any]]:
        wrt = case.differentiable(dtype)
        value, pull_back = jax.vjp(
            lambda *active: case.jax(*replaced(arrays, wrt, active)), *[arrays[i] for i in wrt]
        )
        # JAX transposes without conjugation, so its cotangents are the conjugates of ours.
        return value, [] if seed is None else [ct.conj() for ct in pull_back(seed.conj())]

    def all_cases(arrays: Any, seeds: Any) -> Any:
        return {
            case.name: {
                dtype: evaluated(case, dtype, operands, seeds[case.name][dtype])
                for dtype, operands in arrays[case.name].items()
            }
            for case in cases
        }

    results: dict[str, dict[str, tuple[Array, list[Array]]]] = in_jax(
        all_cases,
        {case.name: {dtype: case.arrays(dtype) for dtype in compared(case)} for case in cases},
        {
            case.name: {dtype: value_and_seed(case, dtype)[1] for dtype in compared(case)}
            for case in cases
        },
    )
    return results


def value_and_seed(case: Case, dtype: str) -> tuple[Array, Array | None]:
    """The value of a row, and a cotangent for it where its derivative is not zero."""
    f, arrays = applied(case, dtype)
    value = np.asarray(f(*arrays)[0])
    if f.jvp(case.differentiable(dtype)).outputs == (None,):
        return value, None
    return value, directions([value], 3)[0]


def applied(case: Case, dtype: str) -> tuple[Function, list[Array]]:
    """The row's op as a function, and its operands."""
    arrays = case.arrays(dtype)
    return function(case.op_for(dtype), metas_of(arrays), case.output), arrays


def doubled(case: Case, dtype: str) -> tuple[Function, list[Array]]:
    """The same in double precision, at the same point."""
    arrays = widened(case.arrays(dtype))
    op = case.in_double or case.op_for(DOUBLE.get(dtype, dtype))
    return function(op, metas_of(arrays), case.output), arrays


def widened(arrays: Sequence[Array]) -> list[Array]:
    """Arrays in double precision."""
    wide = {"f": np.float64, "c": np.complex128}
    return [array.astype(wide.get(array.dtype.kind, array.dtype)) for array in arrays]


def replaced(arrays: Sequence[Any], places: Sequence[int], values: Sequence[Any]) -> list[Any]:
    """The arrays with those at `places` exchanged."""
    new = dict(zip(places, values, strict=True))
    return [new.get(i, array) for i, array in enumerate(arrays)]


def named(case: Case, arrays: Sequence[Array]) -> list[TensorMeta]:
    """The types of the row's operands with every extent k > 1 called `nk`."""
    return [
        TensorMeta.of(
            array.dtype,
            [
                f"n{k}" if k > 1 and axis not in operand.counted else k
                for axis, k in enumerate(array.shape)
            ],
        )
        for operand, array in zip(case.operands, arrays, strict=True)
    ]


def static_shapes(case: Case) -> bool:
    """Whether the row's op holds extents, so that symbolic operands do not fit it."""
    return case.op_for("f64").name in ("reshape", "slice", "broadcast_in_dim")


def assert_same(f: Function, g: Function, arrays: Sequence[Array]) -> None:
    """Two graphs of one function agree in values and in types, once symbols are bound."""
    for ours, theirs in zip(f(*arrays), g(*arrays), strict=True):
        assert (ours is None) == (theirs is None)
        if ours is not None:
            assert_close(ours, theirs, rounding(ours.dtype))
            assert metas_of([ours]) == metas_of([theirs])
