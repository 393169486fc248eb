"""NumPy and XLA answer calls of one function."""

import numpy as np

import tenferro as tn
from tenferro_xla import XlaExecutor


def test_both_tiers_agree_and_the_report_says_who_answered() -> None:
    executor = XlaExecutor("cpu")
    rng = np.random.default_rng(0)
    x, w = rng.normal(size=(4, 6)), rng.normal(size=(6, 6)) + 1j * rng.normal(size=(6, 6))
    constant = tn.Tensor(rng.normal(size=6))

    def loss(w: tn.Tensor, x: tn.Tensor) -> tn.Tensor:
        return tn.sum(tn.abs(x @ w + constant) ** 2)

    f = tn.jit(tn.value_and_grad(loss), executor=executor, tiers=True)
    first = f(w, x)
    assert f.tier(w, x) == "numpy"
    f.ready(w, x)
    later = f(w, x)
    assert f.tier(w, x) == "xla"
    for a, b in zip(first, later, strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-12)
        assert (a.placement, b.placement) == ("cpu:0", "cpu:0")
    (event,) = executor.explain().events
    assert event.in_background
    assert "meanwhile numpy answered" in str(event)
