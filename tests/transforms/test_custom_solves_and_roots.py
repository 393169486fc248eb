"""custom_linear_solve and custom_root against solvers that are differentiated themselves."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tenferro as tn
from tenferro.errors import ADError, ADRuleError, ControlFlowError

RNG = np.random.default_rng(0)
A, B, W = RNG.normal(size=(3, 3)) + 3 * np.eye(3), RNG.normal(size=3), RNG.normal(size=3)


def direct(f: Any, b: Any) -> Any:
    """A solver that asks for the matrix of f."""
    columns = [f(column) for column in tn.eye(3, dtype=b.dtype)]
    return tn.linalg.solve(tn.stack(columns, axis=1), b)


def ours(a: Any, b: Any) -> Any:
    return tn.custom_linear_solve(lambda x: a @ x, b, direct, direct)


def loss(solve: Callable[..., Any]) -> Callable[..., Any]:
    return lambda a, b: tn.sum(W * tn.sin(tn.abs(solve(a, b))))


def scanned(solve: Callable[..., Any]) -> Callable[..., Any]:
    return lambda a, b: tn.sum(tn.scan(lambda c, _: (solve(a, c), None), b, None, length=2)[0])


TRANSFORMS: dict[str, Callable[[Any], Callable[..., Any]]] = {
    "value": lambda s: s,
    "grad": lambda s: tn.grad(loss(s), (0, 1)),
    "jvp": lambda s: lambda a, b: tn.jvp(loss(s), (a, b), (a * a, b * b)),
    "hessian": lambda s: tn.hessian(loss(s), (0, 1)),
    "third": lambda s: tn.jacfwd(tn.hessian(loss(s), 1), 1),
    "reverse over forward": lambda s: tn.grad(
        lambda a, b: tn.jvp(lambda b: loss(s)(a, b), (b,), (b,))[1]
    ),
    "vmap of grad": lambda s: (
        lambda a, b: tn.vmap(tn.grad(loss(s), (0, 1)), (0, None))(tn.stack([a, a.T]), b)
    ),
    "grad of vmap": lambda s: (
        lambda a, b: tn.grad(
            lambda a, b: tn.sum(tn.vmap(loss(s), (0, None))(tn.stack([a, a.T]), b)), (0, 1)
        )(a, b)
    ),
    "scan": lambda s: tn.grad(scanned(s), (0, 1)),
}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_a_solve_has_all_derivatives(name: str) -> None:
    transform = TRANSFORMS[name]
    found, expected = transform(ours)(A, B), transform(tn.linalg.solve)(A, B)
    for x, y in zip(tn.tree.leaves(found), tn.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(np.asarray(x), np.asarray(y), rtol=1e-10, atol=1e-12)


def test_the_transpose_of_a_complex_system_is_its_adjoint() -> None:
    a, b = A + 1j * RNG.normal(size=(3, 3)), B + 1j * RNG.normal(size=3)
    for x, y in zip(
        tn.grad(loss(ours), (0, 1))(a, b), tn.grad(loss(tn.linalg.solve), (0, 1))(a, b), strict=True
    ):
        np.testing.assert_allclose(np.asarray(x), np.asarray(y))


def test_a_solver_is_never_differentiated() -> None:
    def by_rounds(f: Any, b: Any) -> Any:  # reverse mode would refuse the loop
        def goes_on(x: Any) -> Any:
            return tn.max(tn.abs(b - f(x))) > 1e-13

        return tn.while_loop(goes_on, lambda x: x + 0.2 * (b - f(x)), b)

    def solution(b: Any) -> Any:
        return tn.custom_linear_solve(lambda x: A @ x, b, by_rounds, by_rounds)

    gradient = tn.jit(tn.grad(lambda b: tn.sum(solution(b))), executor="xla")(B)
    np.testing.assert_allclose(np.asarray(gradient), np.linalg.solve(A.T, np.ones(3)))


def test_trees_and_auxiliary_results() -> None:
    def halves(f: Any, b: Any) -> Any:
        return {"u": b["u"] / 2.0, "v": b["v"] / 4.0}, 7

    def total(s: Any, b: Any) -> Any:
        x, rounds = tn.custom_linear_solve(
            lambda x: {"u": s * x["u"], "v": 2.0 * s * x["v"]}, b, halves, halves, has_aux=True
        )
        return x["u"] + tn.sum(x["v"]) + rounds

    b = {"u": 1.0, "v": np.ones(2)}
    by_s, by_b = tn.grad(total, (0, 1))(2.0, b)
    assert by_s.item() == pytest.approx(-(1 / 4 + 2 / 8))
    np.testing.assert_allclose(np.asarray(by_b["v"]), [0.25, 0.25])


def test_an_eager_runtime_records_solves_and_roots() -> None:
    runtime = tn.EagerRuntime()
    a, b = runtime.variable(A), runtime.variable(B)
    found = runtime.grad(loss(ours)(a, b), [a, b])
    for x, y in zip(found, tn.grad(loss(tn.linalg.solve), (0, 1))(A, B), strict=True):
        np.testing.assert_allclose(x.detach().numpy(), np.asarray(y))
    s = runtime.variable(4.0)
    assert runtime.grad(root(s), [s])[0].item() == pytest.approx(0.25)


REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "no transpose": (
        lambda: tn.grad(lambda b: tn.sum(tn.custom_linear_solve(lambda x: A @ x, b, direct)))(B),
        "custom_linear_solve: reverse mode needs a solver of the transposed system; pass",
    ),
    "not linear": (
        lambda: tn.custom_linear_solve(lambda x: x * x, B, direct, direct),
        "custom_linear_solve: matvec is not linear: its derivative depends on where it is taken",
    ),
    "shape": (
        lambda: tn.custom_linear_solve(lambda x: x[:2], B, direct),
        r"matvec returns f64\[2\] for f64\[3\]; it must return the same structure and types",
    ),
    "solution": (
        lambda: tn.custom_linear_solve(lambda x: x, B, lambda f, b: b[0]),
        r"solve returns f64\[\] for f64\[3\]; it must return the same structure and types",
    ),
    "aux": (
        lambda: tn.custom_linear_solve(lambda x: x, B, lambda f, b: b, has_aux=True),
        r"solve must return a pair \(value, aux\) with has_aux=True, got f64\[3\]",
    ),
    "argument of matvec": (
        lambda: tn.custom_linear_solve(lambda x: x, B, lambda f, b: f(b[0])),
        r"matvec: takes f64\[3\], got f64\[\]",
    ),
    "no arrays": (
        lambda: tn.custom_linear_solve(lambda x: x, (), direct),
        "custom_linear_solve: b has no arrays",
    ),
    "no function": (
        lambda: tn.custom_root(3, 1.0, direct, direct),  # type: ignore[arg-type]
        "custom_root: f must be a function, got an int",
    ),
    "root": (
        lambda: tn.custom_root(lambda x: tn.stack([x, x]), 1.0, lambda f, x: x, direct),
        r"custom_root: f returns f64\[2\] for f64\[\]; it must return the same structure",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_wrong_use_is_refused(name: str) -> None:
    call, text = REFUSED[name]
    with pytest.raises((ADError, ADRuleError, ControlFlowError), match=text):
        call()


def newton(f: Any, x: Any) -> Any:
    def goes_on(x: Any) -> Any:
        return tn.abs(f(x)) > 1e-12

    return tn.while_loop(goes_on, lambda x: x - f(x) / tn.grad(f)(x), x)


def root(a: Any) -> Any:
    return tn.custom_root(lambda x: x * x - a, 1.0, newton, lambda g, y: y / g(1.0))


def test_a_root_has_all_derivatives() -> None:
    expected = [2.0, 1 / 4, -1 / 32, 3 / 256]
    assert [tn.derivative(root, n)(4.0).item() for n in range(4)] == pytest.approx(expected)
    assert tn.grad(tn.grad(root))(4.0).item() == pytest.approx(-1 / 32)
    assert tn.jit(tn.hessian(root), executor="xla")(4.0).item() == pytest.approx(-1 / 32)
    x = np.array([1.0, 4.0])
    for gradient in (tn.vmap(tn.grad(root)), tn.grad(lambda x: tn.sum(tn.vmap(root)(x)))):
        np.testing.assert_allclose(np.asarray(gradient(x)), 0.5 / np.sqrt(x))


def test_a_root_in_a_branch_ends_for_entries_that_do_not_take_it() -> None:
    def chosen(a: Any) -> Any:
        return tn.cond(a > 0, root, lambda a: 2 * a, a)

    gradient = tn.grad(lambda a: tn.sum(tn.vmap(chosen)(a)))(np.array([4.0, -1.0]))
    np.testing.assert_allclose(np.asarray(gradient), [0.25, 2.0])


def test_a_root_in_a_loop_of_any_size() -> None:
    def looped(a: Any) -> Any:
        return tn.scan(lambda c, _: (root(c + a), None), a, None, length=3)[0]

    h = 1e-6
    slope = (looped(4.0 + h).item() - looped(4.0 - h).item()) / (2 * h)
    assert tn.grad(looped)(4.0).item() == pytest.approx(slope, rel=1e-7)
    program = tn.make_program(lambda a: tn.sum(tn.vmap(root)(a)), tn.TensorSpec(("n",)))
    np.testing.assert_allclose(np.asarray(tn.grad(program)(np.array([1.0, 4.0]))), [0.5, 0.25])


def test_a_tangent_solver_that_knows_the_system_is_transposed_itself() -> None:
    inverse = np.linalg.inv(A)

    def solution(b: Any) -> Any:
        return tn.custom_root(
            lambda x: A @ x - b, b, lambda f, x: inverse @ b, lambda g, y: inverse @ y
        )

    gradient = tn.grad(lambda b: W @ solution(b))(B)
    np.testing.assert_allclose(np.asarray(gradient), np.linalg.solve(A.T, W))


def test_a_root_may_have_auxiliary_results() -> None:
    def halved(a: Any) -> Any:
        x, rounds = tn.custom_root(
            lambda x: 2 * x - a, 0.0, lambda f, x: (a / 2, 5), lambda g, y: y / g(1.0), has_aux=True
        )
        return x * rounds

    assert tn.grad(halved)(1.0).item() == pytest.approx(2.5)
