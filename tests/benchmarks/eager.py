"""What one op costs when it is computed at once, beside JAX's un-jitted ops and PyTorch's.

Operands are small, so that the time is that of the machinery. tenferro and PyTorch compute in 64
bits, JAX in its default 32. "recorded" is on a variable of a runtime, or a tensor that requires
grad; JAX records nothing at once, its peer is `jax.grad` of the un-jitted function in the table of
whole steps. JAX and XLA return before the result is there. PyTorch's columns need the package.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from support.harness import (
    Samples,
    arguments,
    environment,
    geometric_mean,
    interleaved,
    note,
    repeated,
    table,
    verdict,
)

import tenferro as tn

Contenders = dict[str, Callable[[], float]]
HOST = np.random.default_rng(0).normal(size=(8, 8)) / 8
PEER = "jax, un-jitted"
OURS = "tn, numpy"


def torch_or_none() -> Any:
    """PyTorch, bound to one thread, if it is installed."""
    if importlib.util.find_spec("torch") is None:
        return None
    torch = importlib.import_module("torch")
    torch.set_num_threads(1)
    return torch


OPS: dict[str, Callable[[Any, Any], Any]] = {
    "x + x": lambda np_like, x: x + x,
    "x * 2": lambda np_like, x: x * 2.0,
    "tanh(x)": lambda np_like, x: np_like.tanh(x),
    "x @ x": lambda np_like, x: x @ x,
    "sum(x)": lambda np_like, x: np_like.sum(x),
    "x[0]": lambda np_like, x: x[0],
    "reshape(x, (64,))": lambda np_like, x: np_like.reshape(x, (64,)),
    "tanh(x @ x) + x": lambda np_like, x: np_like.tanh(x @ x) + x,
}


def of_op(op: Callable[[Any, Any], Any], calls: int, torch: Any) -> Contenders:
    """An op on arrays of each library, not recorded and recorded."""
    on_host, on_xla = tn.EagerRuntime(), tn.EagerRuntime("xla")
    operands: dict[str, tuple[Any, Any]] = {
        OURS: (tn, on_host.constant(HOST)),
        f"{OURS}, recorded": (tn, on_host.variable(HOST)),
        "tn, xla": (tn, on_xla.constant(HOST)),
        "tn, xla, recorded": (tn, on_xla.variable(HOST)),
        PEER: (jnp, jnp.asarray(HOST)),
        "NumPy": (np, HOST),
    }
    if torch is not None:
        operands["torch"] = (torch, torch.tensor(HOST))
        operands["torch, recorded"] = (torch, torch.tensor(HOST, requires_grad=True))
    for np_like, x in operands.values():
        result = op(np_like, x)
        plain = result.detach().numpy() if hasattr(result, "detach") else np.asarray(result)
        np.testing.assert_allclose(plain, op(np, HOST), rtol=1e-3)
    return {
        name: repeated(lambda np_like=np_like, x=x: op(np_like, x), calls)
        for name, (np_like, x) in operands.items()
    }


def loss(np_like: Any, x: Any) -> Any:
    """A scalar out of six ops."""
    h = np_like.tanh(x @ x) + x
    return np_like.sum(h * h)


def of_step(calls: int, torch: Any) -> Contenders:
    """A loss and its gradient."""
    on_host, on_xla = tn.EagerRuntime(), tn.EagerRuntime("xla")
    steps = {OURS: stepping(on_host), "tn, xla": stepping(on_xla)}
    x, gradient = jnp.asarray(HOST), jax.value_and_grad(lambda x: loss(jnp, x))
    steps[PEER] = lambda: gradient(x)[1]
    if torch is not None:
        y = torch.tensor(HOST, requires_grad=True)

        def step() -> Any:
            y.grad = None
            loss(torch, y).backward()
            return y.grad

        steps["torch"] = step
    expected = np.asarray(steps[PEER]())
    for call in steps.values():
        np.testing.assert_allclose(np.asarray(call()), expected, rtol=1e-3)
    return {name: repeated(call, calls) for name, call in steps.items()}


def stepping(rt: tn.EagerRuntime) -> Callable[[], Any]:
    x = rt.variable(HOST)

    def step() -> Any:
        x.clear_grad()
        loss(tn, x).backward()
        return x.grad

    return step


def show(title: str, contenders: Contenders, rounds: int) -> dict[str, Samples]:
    with undisturbed():
        found = interleaved(contenders, rounds)
    rows: list[list[object]] = [
        [name, samples.text(), f"{samples.over(found[PEER]):.2f}"]
        for name, samples in found.items()
    ]
    table(title, ["", "µs [quartiles]", "/ jax"], rows)
    return found


@contextmanager
def undisturbed() -> Iterator[None]:
    """JAX's own 64-bit setting, whatever the environment says."""
    with jax.enable_x64(False):
        yield


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--calls", type=int, default=500, help="in a row")
    parser.add_argument("--rounds", type=int, default=15)
    chosen = parser.parse_args()
    environment()
    torch = torch_or_none()
    note("torch is not installed" if torch is None else f"torch {torch.__version__}, one thread")
    plain, recorded = [], []
    for name, op in OPS.items():
        found = show(f"{name}, 8×8", of_op(op, chosen.calls, torch), chosen.rounds)
        plain.append(found[OURS].over(found[PEER]))
        recorded.append(found[f"{OURS}, recorded"].over(found[PEER]))
    step = show("loss and gradient", of_step(max(1, chosen.calls // 10), torch), chosen.rounds)
    means = geometric_mean(plain), geometric_mean(recorded)
    note("per op over jax, geometric mean: {:.2f}, recorded {:.2f}".format(*means))
    verdict("worst op over jax", max(plain), 1.5, 1.0)
    verdict("worst recorded op over jax", max(recorded), 2.0, 1.0)
    verdict("loss and gradient over jax", step[OURS].over(step[PEER]), 1.0, 0.1)


if __name__ == "__main__":
    main()
