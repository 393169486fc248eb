"""checkpoint: the values and derivatives of the function, of which less is saved."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tenferro as tn
from tenferro.errors import CheckpointError, PytreeError, UnsupportedDynamicShapeError
from tenferro.ir import ExecProgram
from tenferro.ops.control_flow import Checkpointed

POLICIES = tn.checkpoint_policies
W = np.random.default_rng(0).normal(size=(3, 3))
X = np.random.default_rng(1).normal(size=3)


def block(x: Any) -> Any:
    return tn.tanh(tn.checkpoint_name(tn.tanh(x @ W), "h") @ W) + x


def plain(x: Any) -> Any:
    return tn.sum(block(block(x)) ** 2)


def checked(policy: Any = None, **options: Any) -> Callable[[Any], Any]:
    inner = tn.checkpoint(block, policy=policy, **options)
    return lambda x: tn.sum(inner(inner(x)) ** 2)


def scanned(x: Any) -> Any:
    last, _ = tn.scan(lambda c, _: (tn.checkpoint(block)(c), None), x, None, length=2)
    return tn.sum(last**2)


def bounded(x: Any) -> Any:
    _, last = tn.while_loop(
        lambda c: c[0] < 2, lambda c: (c[0] + 1, tn.checkpoint(block)(c[1])), (0, x), max_steps=3
    )
    return tn.sum(last**2)


def branched(x: Any) -> Any:
    y = tn.cond(tn.sum(x) > -9, tn.checkpoint(lambda x: block(block(x))), lambda x: x, x)
    return tn.sum(y**2)


def nested(x: Any) -> Any:
    inner = tn.checkpoint(block)
    return tn.sum(tn.checkpoint(lambda x: inner(inner(x)))(x) ** 2)


WAYS = {
    "grad": lambda f: tn.grad(f)(X),
    "jvp": lambda f: tn.jvp(f, (X,), (W[0],)),
    "vjp": lambda f: tn.vjp(f, X)[1](2.0),
    "linearize": lambda f: tn.linearize(f, X)[1](W[0]),
    "hessian": lambda f: tn.hessian(f)(X),
    "reverse over reverse": lambda f: tn.grad(lambda x: tn.sum(tn.grad(f)(x) ** 3))(X),
    "vmap of grad": lambda f: tn.vmap(tn.grad(f))(W),
    "grad of vmap": lambda f: tn.grad(lambda x: tn.sum(tn.vmap(f)(x)))(W),
}


@pytest.mark.exhaustive(but=10)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("f", [checked(), scanned, bounded, branched, nested])
def test_derivatives_are_those_of_the_function(f: Callable[[Any], Any], way: str) -> None:
    expected = tn.tree.leaves(WAYS[way](plain))
    for value, other in zip(tn.tree.leaves(WAYS[way](f)), expected, strict=True):
        np.testing.assert_allclose(np.asarray(value), np.asarray(other), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("executor", ["numpy", "xla"])
def test_compiled_gradients_are_equal(executor: str) -> None:
    value = tn.jit(tn.value_and_grad(checked("dots_saveable")), executor=executor)(X)
    expected = tn.value_and_grad(plain)(X)
    for one, other in zip(value, expected, strict=True):
        np.testing.assert_allclose(np.asarray(one), np.asarray(other), rtol=1e-12)


def test_an_eager_runtime_records_it() -> None:
    x = tn.EagerRuntime().variable(X)
    checked()(x).backward()
    np.testing.assert_allclose(np.asarray(x.grad), np.asarray(tn.grad(plain)(X)), rtol=1e-12)


def late_bodies(f: Callable[[Any], Any]) -> list[ExecProgram]:
    program = tn.jit(tn.grad(f), executor="numpy").program(X).exec_program
    return [op.body for op in program.ops_of(Checkpointed) if op.late]


def test_what_is_saved_is_not_computed_again() -> None:
    def tanhs(policy: Any) -> int:
        return sum(op.name == "tanh" for body in late_bodies(checked(policy)) for op in body.ops())

    h = POLICIES.save_only_these_names("h")
    assert tanhs(None) == tanhs("nothing_saveable") == 2
    assert tanhs(h) == tanhs(POLICIES.save_any_names_but_these("g")) == 0
    assert tanhs("everything_saveable") == 0
    assert tanhs(POLICIES.save_anything_except_these_names("h")) == 0
    assert tanhs(POLICIES.save_from_both_policies(h, POLICIES.dots_saveable)) == 0


def test_dots_are_saved_by_their_batch_axes() -> None:
    def dots(policy: str, f: Callable[[Any], Any]) -> int:
        g = tn.checkpoint(lambda x: tn.sin(tn.sin(f(x))), policy=policy)
        program = tn.jit(tn.grad(lambda x: tn.sum(g(x))), executor="numpy").program(W)
        inside = [op.body for op in program.exec_program.ops_of(Checkpointed) if op.late]
        return sum(op.name == "sine" for body in inside for op in body.ops()) and sum(
            op.name == "dot_general" for body in inside for op in body.ops()
        )

    batched = lambda x: tn.matmul(x[:, None, :], W[None] + x[:, :, None])  # noqa: E731
    assert dots("dots_saveable", lambda x: x @ W) < dots("nothing_saveable", lambda x: x @ W)
    few = dots("checkpoint_dots", batched)
    assert few < dots("dots_with_no_batch_dims_saveable", batched)


def test_without_prevent_cse_nothing_waits() -> None:
    assert late_bodies(checked())
    assert not late_bodies(checked(prevent_cse=False))


def test_it_takes_trees_numbers_static_arguments_and_what_is_around_it() -> None:
    f = tn.checkpoint(lambda t, n, *, k: {"y": t["x"] * k + n}, static_argnums=(1,))
    assert f({"x": X}, 2, k=3.0)["y"].tolist() == (X * 3.0 + 2).tolist()
    assert tn.checkpoint(lambda: tn.ones(2))().tolist() == [1.0, 1.0]
    assert tn.grad(lambda a: tn.checkpoint(lambda x: x * a)(3.0))(2.0).item() == 3.0
    assert tn.grad(tn.checkpoint(tn.sum))(np.zeros(0)).shape == (0,)
    assert tn.remat is tn.checkpoint
    assert f.__name__ == "<lambda>"


def test_files_keep_it() -> None:
    program = tn.make_program(checked(), tn.TensorSpec((3,), "float64"))
    again = tn.loads(tn.dumps(program))
    assert again.digest == program.digest
    np.testing.assert_allclose(np.asarray(tn.grad(again)(X)), np.asarray(tn.grad(plain)(X)))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: tn.checkpoint(3), "checkpoint: takes a function, got an int"),
        (
            lambda: tn.checkpoint(block, policy="dots_savable"),
            "there is no policy 'dots_savable'; did you mean 'dots_saveable'",
        ),
        (
            lambda: tn.checkpoint(block, policy="save_only_these_names"),
            r"takes arguments; pass tn.checkpoint_policies.save_only_these_names\(...\)",
        ),
        (lambda: tn.checkpoint(block, policy=3), "policy must be a function"),
        (lambda: tn.checkpoint(block, prevent_cse=1), "prevent_cse must be True or False, got 1"),
        (lambda: tn.checkpoint(block, static_argnums="a"), "static_argnums must be an integer"),
        (lambda: tn.checkpoint(block, static_argnums=4)(X), "static_argnums 4 is out of range"),
        (lambda: tn.checkpoint_name(X, 3), "checkpoint_name: name must be a string, got 3"),
        (lambda: POLICIES.save_only_these_names(3), "takes names, such as 'h', got 3"),
        (
            lambda: tn.checkpoint(block, policy=lambda op, metas: None)(X),
            "policy must return True or False for dot_general, got None",
        ),
    ],
)
def test_wrong_uses_are_refused(call: Callable[[], object], message: str) -> None:
    with pytest.raises(CheckpointError, match=message):
        call()


def test_what_is_not_an_array_is_refused() -> None:
    with pytest.raises(PytreeError, match="is a str, not an array or number"):
        tn.checkpoint(block)("x")
    with pytest.raises(PytreeError, match="checkpoint: f returns a str"):
        tn.checkpoint(lambda x: "x")(X)
    with pytest.raises(UnsupportedDynamicShapeError, match="checkpoint: the body makes a value"):
        tn.jit(tn.checkpoint(lambda x: tn.lax.dynamic_truncate(x, tn.sum(x > 0), 0)))(X)
