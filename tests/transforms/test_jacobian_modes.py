"""Jacobians by the passes that cost least: forward, reverse, or both around a waist."""

from __future__ import annotations

import itertools
from functools import partial
from typing import Any

import numpy as np
import pytest

import tenferro as tn
from tenferro.errors import ADError, ADRuleError, DTypeError, PytreeError
from tenferro.transforms import AD, trace_function
from tenferro.transforms.jacobian_passes import Cut, Plan, SweepCosts

RNG = np.random.default_rng(7)
MODES = ("auto", "forward", "reverse", "cross")
jit = partial(tn.jit, executor="numpy")


def layers(*widths: int) -> Any:
    """A network of layers `tanh(W x)`."""
    weights = [RNG.normal(size=(n, m)) / np.sqrt(m) for m, n in itertools.pairwise(widths)]

    def network(x: Any) -> Any:
        for weight in weights:
            x = tn.tanh(weight @ x)
        return x

    return network


def plan_of(f: Any, *args: Any, mode: Any = "auto", holomorphic: bool = False) -> Plan:
    trace, _ = trace_function(f, args, {})
    linear = AD.linearize(trace.outputs, trace.inputs)
    return SweepCosts(linear, AD.shapes, holomorphic, symmetric=False).plans(mode)[0]


def work(f: Any, x: Any) -> int:
    """The numbers that a compiled function computes; see `ExecOp.work`."""
    program = tn.make_program(f, x).exec_program
    metas = program.slot_metas()
    return sum(
        step.op.work([metas[slot] for slot in step.input_slots], step.output_metas)  # type: ignore[misc]
        for step in program.instructions
    )


def check_all_modes(f: Any, *args: Any, modes: tuple[str, ...] = MODES, **options: Any) -> Any:
    """The Jacobian by `jacfwd`, with which all modes agree."""
    expected = tn.jacfwd(f, **options)(*args)
    leaves = tn.tree.leaves(expected)
    for mode in modes:
        found = tn.tree.leaves(tn.jacobian(f, mode=mode, **options)(*args))  # type: ignore[arg-type]
        for mine, theirs in zip(found, leaves, strict=True):
            assert (mine.dtype, mine.shape) == (theirs.dtype, theirs.shape)
            np.testing.assert_allclose(mine, theirs, rtol=1e-12, atol=1e-12)
    return expected


def test_a_waist_is_cut_and_costs_a_fifth_of_reverse_mode_at_most() -> None:
    f, x = layers(100, 100, 100, 2, 100, 100), RNG.normal(size=100)
    plan = plan_of(f, x)
    assert isinstance(plan, Cut)
    assert str(plan).startswith("reverse 2 | forward 2 (waist 2 at test_jacobian_modes.py:")
    assert work(tn.jacobian(f), x) <= 0.2 * work(tn.jacrev(f), x)
    np.testing.assert_allclose(tn.jacobian(f)(x), tn.jacrev(f)(x), rtol=1e-10, atol=1e-14)


def test_the_narrowest_of_several_waists_is_cut() -> None:
    f, x = layers(60, 60, 60, 4, 60, 60, 60, 2, 60, 60, 60), RNG.normal(size=60)
    assert str(plan_of(f, x)).startswith("reverse 2 | forward 2 (waist 2 at")
    np.testing.assert_allclose(tn.jacobian(f)(x), tn.jacrev(f)(x), rtol=1e-10, atol=1e-14)


def test_the_waists_of_independent_branches_are_one_waist() -> None:
    branches = layers(60, 60, 1, 60, 60), layers(60, 60, 60, 2, 60)

    def f(x: Any, y: Any) -> Any:
        return branches[0](x), branches[1](y)

    x, y = RNG.normal(size=(2, 60))
    assert str(plan_of(f, x, y)).startswith("reverse 3 | forward 3 (waist 3 at")
    for mine, theirs in zip(
        tn.tree.leaves(tn.jacobian(f, (0, 1))(x, y)),
        tn.tree.leaves(tn.jacrev(f, (0, 1))(x, y)),
        strict=True,
    ):
        np.testing.assert_allclose(mine, theirs, rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize(
    ("widths", "expected"),
    [((50, 20, 5), "reverse 5"), ((5, 20, 50), "forward 5"), ((20, 20, 20), "reverse 20")],
)
def test_without_a_waist_the_smaller_side_decides(widths: Any, expected: str) -> None:
    assert str(plan_of(layers(*widths), RNG.normal(size=widths[0]))) == expected


def test_costs_decide_and_not_sizes_alone() -> None:
    x = RNG.normal(size=3)
    assert isinstance(plan_of(lambda x: tn.sum(x) * tn.cos(x), x, mode="cross"), Cut)
    assert not isinstance(plan_of(lambda x: tn.sum(x) * np.ones(3), x), Cut)  # kernels cost more


def test_trees_of_arguments_and_results_through_a_waist() -> None:
    weights = RNG.normal(size=(2, 2, 3)), RNG.normal(size=(4, 2, 2))

    def f(p: Any, q: Any) -> Any:
        inner = tn.tensordot(weights[0], p["x"], 1) + q
        outer = tn.tensordot(weights[1], tn.tanh(inner), 2)
        return {"v": outer * 2.0, "m": tn.outer(outer, outer), "none": None, "c": tn.ones(2)}

    p, q = {"x": RNG.normal(size=3), "unused": np.ones((2, 0))}, RNG.normal(size=(2, 2))
    check_all_modes(f, p, q)
    check_all_modes(f, p, q, argnums=(1, 0))
    both = tn.jacobian(f, argnums=-1, mode="cross", chunk_size=3)(p, q)
    np.testing.assert_allclose(both["m"], tn.jacfwd(f, 1)(p, q)["m"], rtol=1e-12)


def test_a_waist_of_several_values_and_results_before_it() -> None:
    f = layers(8, 8, 2)
    g = layers(2, 8, 8)

    def both(x: Any) -> Any:
        y = f(x)
        z = tn.sum(x * x)
        return g(y) * z, y[0], z

    check_all_modes(both, RNG.normal(size=8))


def test_loops_in_the_linear_part() -> None:
    weight = RNG.normal(size=(30, 30)) / 6

    def rounds(x: Any) -> Any:
        return tn.scan(lambda c, _: (tn.tanh(weight @ c), None), x, length=5)[0]

    narrow = RNG.normal(size=(2, 30))

    def f(x: Any) -> Any:
        return rounds(narrow.T @ (narrow @ rounds(x)))

    x = RNG.normal(size=30)
    assert isinstance(plan_of(f, x), Cut)
    np.testing.assert_allclose(tn.jacobian(f)(x), tn.jacrev(f)(x), rtol=1e-10, atol=1e-14)


def test_holomorphic_functions_and_complex_numbers_inside() -> None:
    a = RNG.normal(size=(1, 6)) + 1j * RNG.normal(size=(1, 6))
    z = RNG.normal(size=6) + 1j * RNG.normal(size=6)
    check_all_modes(lambda z: a.T @ tn.sin(a @ z), z, holomorphic=True)
    # The value between is complex, and the function is not linear over complex numbers: no cut.
    x = RNG.normal(size=6)
    check_all_modes(lambda x: tn.real(a.T @ tn.sin(a @ x)), x, modes=MODES[:3])


def test_complex_on_one_side_leaves_one_direction() -> None:
    x = RNG.normal(size=3)
    check_all_modes(lambda x: x * (1 + 2j), x, modes=("auto", "forward"))
    with pytest.raises(DTypeError, match="jacobian: c128\\[3\\] is complex"):
        tn.jacobian(lambda x: x * (1 + 2j), mode="reverse")(x)
    rows = tn.jacobian(lambda z: tn.real(z * z.conj()))(x * (1 + 1j))
    np.testing.assert_allclose(rows, 2 * np.diag(x * (1 + 1j)))
    with pytest.raises(DTypeError, match="jacobian: c128\\[3\\] is complex; pass holomorphic=True"):
        tn.jacobian(lambda z: z * 2)(x * 1j)


def test_the_dtype_does_not_depend_on_the_mode() -> None:
    f = layers(5, 2, 5)
    for dtypes in (("float32", "float64"), ("float64", "float32")):
        x = RNG.normal(size=5).astype(dtypes[0])
        found = {
            tn.jacobian(lambda x, to=dtypes[1]: f(x).astype(to), mode=mode)(x).dtype  # type: ignore[arg-type]
            for mode in MODES
        }
        assert found == {np.dtype(dtypes[1])}


def test_empty_arrays_and_constant_functions() -> None:
    empty = np.zeros((0, 2))
    for mode in ("auto", "forward", "reverse"):
        jacobian = partial(tn.jacobian, mode=mode)
        assert jacobian(lambda x: tn.sum(x) + np.ones(3))(empty).shape == (3, 0, 2)
        assert jacobian(lambda x: x[:0])(np.ones(3)).shape == (0, 3)
        assert not jacobian(lambda x: tn.ones(2))(np.ones(3)).numpy().any()
        np.testing.assert_array_equal(jacobian(lambda x: x)(np.ones(2)), np.eye(2))


def test_auxiliary_results() -> None:
    x = np.array([1.0, 2.0])
    for transform in (tn.jacobian, tn.jacfwd, tn.jacrev):
        jacobian, aux = transform(lambda x: (x * x, {"s": tn.sum(x), "n": 3}), has_aux=True)(x)
        np.testing.assert_array_equal(jacobian, np.diag(2 * x))
        assert (float(aux["s"]), aux["n"]) == (3.0, 3)
    second, aux = tn.hessian(lambda x: (tn.sum(x**3), x[0]), has_aux=True)(x)
    np.testing.assert_allclose(second, np.diag(6 * x))
    assert float(aux) == 1.0


def test_within_other_transforms() -> None:
    f = layers(6, 1, 6)
    xs = RNG.normal(size=(3, 6))
    cross = tn.jacobian(f, mode="cross")
    expected = np.stack([np.asarray(tn.jacfwd(f)(x)) for x in xs])
    np.testing.assert_allclose(tn.vmap(cross)(xs), expected, rtol=1e-12)
    np.testing.assert_allclose(jit(tn.vmap(cross))(xs), expected, rtol=1e-12)
    np.testing.assert_allclose(
        tn.grad(lambda x: tn.sum(cross(x) ** 2))(xs[0]),
        tn.grad(lambda x: tn.sum(tn.jacfwd(f)(x) ** 2))(xs[0]),
        rtol=1e-10,
    )


def test_values_of_an_eager_runtime() -> None:
    rt, f = tn.EagerRuntime(), layers(4, 1, 4)
    x = rt.variable(RNG.normal(size=4))
    jacobian = tn.jacobian(f, mode="cross")(x)
    np.testing.assert_allclose(jacobian.numpy(), tn.jacfwd(f)(x.numpy()), rtol=1e-12)
    (gradient,) = rt.grad(tn.sum(jacobian), [x])
    expected = tn.grad(lambda x: tn.sum(tn.jacfwd(f)(x)))(x.numpy())
    np.testing.assert_allclose(gradient.numpy(), expected, rtol=1e-10)


def test_a_hessian_through_linear_maps_is_cut() -> None:
    maps = [RNG.normal(size=shape) / 10 for shape in ((80, 80), (80, 80), (2, 80))]
    x = RNG.normal(size=80)

    def f(x: Any) -> Any:
        for each in maps:
            x = each @ x
        return tn.sum(tn.exp(tn.sin(x)))

    assert isinstance(plan_of(tn.grad(f), x), Cut)
    assert work(tn.hessian(f), x) < 0.1 * work(tn.jacfwd(tn.grad(f)), x)
    np.testing.assert_allclose(tn.hessian(f)(x), tn.jacfwd(tn.grad(f))(x), rtol=1e-9, atol=1e-12)


def test_values_whose_size_is_named_are_not_cut_at() -> None:
    a, b = RNG.normal(size=(4, 3)), RNG.normal(size=(2, 4))

    def f(x: Any, a: Any, b: Any) -> Any:
        return tn.tanh(b @ tn.tanh(a @ x))

    compiled = jit(tn.jacobian(f), symbolic={"a": ("n", 3), "b": (2, "n")})
    x = RNG.normal(size=3)
    np.testing.assert_allclose(compiled(x, a, b), tn.jacfwd(f)(x, a, b), rtol=1e-12)


def test_a_mode_that_an_op_has_no_rule_for_is_not_taken() -> None:
    def doubled(x: Any) -> Any:  # without a bound on its rounds, it has no reverse mode
        return tn.while_loop(lambda c: c[0] < 10, lambda c: c * 2.0, x)

    for sparsity in (None, "auto"):
        found = tn.jacobian(doubled, sparsity=sparsity)(np.ones(3))  # type: ignore[arg-type]
        dense = found if sparsity is None else found.todense()  # type: ignore[attr-defined]
        np.testing.assert_array_equal(dense, 16 * np.eye(3))
    with pytest.raises(ADRuleError, match="while_loop: reverse mode needs a bound"):
        tn.jacobian(doubled, mode="reverse")(np.ones(3))


def test_where_one_side_has_named_sizes_the_other_is_taken() -> None:
    def moments(x: Any) -> Any:
        return {"a": tn.sum(x**2), "b": tn.stack([tn.sum(tn.sin(x)), tn.sum(x)])}

    for transform in (tn.jacobian, tn.jacrev):
        compiled = jit(transform(moments), symbolic={"x": ("n",)})
        for n in (3, 5):
            x = RNG.normal(size=n)
            for name, block in tn.jacfwd(moments)(x).items():
                np.testing.assert_allclose(compiled(x)[name], block, rtol=1e-12)
    tall = jit(tn.jacobian(lambda x, w: tn.tanh(w @ x)), symbolic={"w": ("n", 2)})
    x, w = RNG.normal(size=2), RNG.normal(size=(4, 2))
    np.testing.assert_allclose(tall(x, w), tn.jacfwd(lambda x: tn.tanh(w @ x))(x), rtol=1e-12)


@pytest.mark.parametrize(
    ("f", "options"),
    [
        (lambda x: x * x, {}),
        (lambda x: tn.sum(x), {"mode": "forward"}),
        (lambda x: tn.sum(x), {"mode": "cross"}),
        (lambda x: tn.sum(x), {"sparsity": "auto"}),
    ],
)
def test_what_named_sizes_leave_undecided_is_refused(f: Any, options: Any) -> None:
    with pytest.raises(PytreeError, match=r"jacobian: needs constant extents, got f64\[n\]; use"):
        jit(tn.jacobian(f, **options), symbolic={"x": ("n",)})(np.ones(3))


@pytest.mark.parametrize("mode", ["Forward", "fwd", None, 1])
def test_a_mode_is_one_of_four(mode: Any) -> None:
    with pytest.raises(ADError) as caught:
        tn.jacobian(lambda x: x, mode=mode)
    expected = "jacobian: mode must be 'auto', 'forward', 'reverse' or 'cross', got"
    assert str(caught.value) == f"{expected} {mode!r}"


def test_cross_needs_a_value_to_cut_at() -> None:
    with pytest.raises(ADError, match="jacobian: mode='cross' needs values to cut at, between"):
        tn.jacobian(lambda x: x * 2.0, mode="cross")(np.ones(3))


def test_integer_results_are_refused_in_every_mode() -> None:
    for mode in MODES:
        with pytest.raises(DTypeError, match=r"the result i64\[\] is not floating-point"):
            tn.jacobian(tn.argmax, mode=mode)(np.ones(3))  # type: ignore[arg-type]
