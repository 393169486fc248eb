"""Calls of array functions, with NumPy's and JAX's words for them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Call:
    """A function of arrays and what else it takes.

    `numpy` and `jax` are the same function there; by default what is called so. `symbolic` says
    whether the function takes sizes that are known only later, and `smooth` whether a derivative
    can be compared. The operands of some functions are given `together`, as one list.
    """

    name: str
    args: tuple[Any, ...]
    options: dict[str, Any] = field(default_factory=dict)
    numpy: Callable[..., Any] | None = None
    jax: Callable[..., Any] | None = None
    symbolic: bool = True
    smooth: bool = True
    together: bool = False

    @property
    def operands(self) -> list[Array]:
        """The arguments that are arrays."""
        return [arg for arg in self.args if isinstance(arg, np.ndarray)]

    def on(self, function: Callable[..., Any], operands: list[Any]) -> Any:
        """`function` called with other arrays in place of the operands."""
        if self.together:
            return function(list(operands), **self.options)
        given = iter(operands)
        args = [next(given) if isinstance(arg, np.ndarray) else arg for arg in self.args]
        return function(*args, **self.options)

    def numpys(self) -> Callable[..., Any]:
        """NumPy's function."""
        return self.numpy or getattr(np, self.name)  # type: ignore[no-any-return]

    def jaxs(self) -> Callable[..., Any]:
        """JAX's function."""
        if self.jax is not None:
            return self.jax
        homes = (jnp, jax.nn, jax.lax)
        return next(getattr(home, self.name) for home in homes if hasattr(home, self.name))


rng = np.random.default_rng(0)
X = rng.uniform(-2, 2, (2, 3))
Y = rng.uniform(-2, 2, (2, 3))
P = rng.uniform(0.5, 3, (2, 3))
U = rng.uniform(-0.9, 0.9, (2, 3))
Z = X + 1j * Y
F = X.astype("float32")
I = np.array([[6, -5, 3], [0, 12, 7]])  # noqa: E741  # integers
B = X > 0
V = rng.uniform(-2, 2, 3)
EMPTY = np.zeros((0, 3))
SPECIAL = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.5, -2.5])
TWICE = SPECIAL.astype("complex128")
TWICE.imag = SPECIAL[::-1]


def _vectorized(function: Callable[[float], float]) -> Callable[[Array], Array]:
    return lambda x: np.array([function(value) for value in x.ravel()]).reshape(x.shape)


def _softmax(x: Array, axis: Any = -1) -> Array:
    powers = np.exp(x)
    return np.asarray(powers / powers.sum(axis=axis, keepdims=True))


def _logsumexp(x: Array, axis: Any = None, keepdims: bool = False) -> Array:
    return np.asarray(np.log(np.sum(np.exp(x), axis=axis, keepdims=keepdims)))


def calls(names: str, *args: Any, **known: Any) -> list[Call]:
    """One call of each of the names."""
    return [Call(name, args, **known) for name in names.split()]


ANALYTIC = [
    *calls("exp exp2 expm1 sin cos tan sinh cosh tanh asinh arcsinh atan arctan", X),
    *calls("cbrt degrees radians rad2deg deg2rad", X),
    *calls("exp expm1 sin cos tan sinh cosh tanh", Z),
    *calls("asinh asin acos atan atanh arcsin log sqrt", Z),
    # JAX's own derivative has the wrong sign where the real part is negative.
    *calls(
        "acosh arccosh", Z, jax=lambda z: 2 * jnp.log(jnp.sqrt((z + 1) / 2) + jnp.sqrt((z - 1) / 2))
    ),
    *calls("exp exp2 sin cos tan sinh cosh tanh asinh atan cbrt degrees", F),
    *calls("exp sin cosh atan cbrt log2 floor ceil trunc", I + 6, smooth=False),
    *calls("log log1p log2 log10 sqrt", P),
    Call("log2", (Z,), smooth=False),
    Call("log10", (Z,), smooth=False),
    Call("rsqrt", (P,), numpy=lambda x: 1 / np.sqrt(x)),
    *calls("asin acos atanh arcsin arccos arctanh", U),
    *calls("acosh arccosh", P + 1),
    *calls("atan2 arctan2 hypot logaddexp logaddexp2 copysign fmod", X, Y),
    *calls("atan2 hypot logaddexp copysign", X, V),
    Call("erf", (X,), numpy=_vectorized(math.erf)),
    Call("erfc", (X,), numpy=_vectorized(math.erfc)),
    Call("erf_inv", (np.vectorize(math.erf)(X),), numpy=lambda x: X),
    *calls("sqrt log exp cbrt atan tanh arcsinh", SPECIAL, smooth=False),
    *calls("exp sin atan2", EMPTY[:, :0], smooth=False)[:2],
]
ROUNDING = [
    Call(name, (x,), smooth=False)
    for name in ("floor", "ceil", "trunc", "rint", "round", "around", "fix")
    for x in (X, F, I, SPECIAL, EMPTY)
    if not (name == "fix" and x is I)
] + [
    Call("round", (1000 * X, 1), smooth=False),
    Call("round", (1000 * X, -2), smooth=False),
    Call("round", (np.array([15, 25, -15, 7]), -1), smooth=False),
    Call("round", (Z, 2), smooth=False),
]
LOGICAL = [
    *[Call(name, (x,), smooth=False)
      for name in ("isfinite", "isinf", "isnan", "logical_not")
      for x in (SPECIAL, TWICE, I, B, EMPTY)],
    *[Call("signbit", (x,), smooth=False) for x in (SPECIAL, I, EMPTY)],
    *calls("logical_and logical_or logical_xor", X, I, smooth=False),
    *calls("equal not_equal less less_equal greater greater_equal", X, Y, smooth=False),
    *calls("bitwise_and bitwise_or bitwise_xor", I, I + 3, smooth=False),
    *calls("bitwise_and bitwise_or bitwise_xor", B, Y > 0, smooth=False),
    *calls("bitwise_invert bitwise_not invert", I, smooth=False),
    *calls("bitwise_invert", B, smooth=False),
    *calls("bitwise_left_shift bitwise_right_shift left_shift right_shift", I, I % 5, smooth=False),
    Call("isclose", (X, X + 1e-7), smooth=False),
    Call("isclose", (SPECIAL, SPECIAL), {"equal_nan": True}, smooth=False),
    Call("allclose", (X, X + 1e-9), smooth=False),
    Call("array_equal", (X, X), smooth=False),
    Call("array_equal", (X, V), smooth=False, symbolic=False),
    Call("nan_to_num", (SPECIAL,), smooth=False),
    Call("nan_to_num", (SPECIAL,), {"nan": 1.0, "posinf": 2.0, "neginf": 3.0}, smooth=False),
    Call("nan_to_num", (TWICE,), smooth=False, numpy=lambda x: np.nan_to_num(x)),
    Call("angle", (Z,)),
    Call("positive", (X,)),
    Call("pow", (I, I % 4), smooth=False),
]  # fmt: skip
ACTIVATIONS = [
    Call("sigmoid", (X,), numpy=lambda x: 1 / (1 + np.exp(-x))),
    Call("sigmoid", (Z,), numpy=lambda x: 1 / (1 + np.exp(-x))),
    Call("log_sigmoid", (X,), numpy=lambda x: -np.log1p(np.exp(-x))),
    Call("softplus", (X,), numpy=lambda x: np.log1p(np.exp(x))),
    Call("relu", (X,), numpy=lambda x: np.maximum(x, 0)),
    Call("silu", (X,), numpy=lambda x: x / (1 + np.exp(-x))),
    *[
        call
        for axis in (-1, 0, (0, 1))
        for call in (
            Call("softmax", (X, axis), numpy=_softmax),
            Call("log_softmax", (X, axis), numpy=lambda x, axis: np.log(_softmax(x, axis))),
            Call("logsumexp", (X, axis), numpy=_logsumexp),
        )
    ],
    Call("logsumexp", (X,), {"keepdims": True}, numpy=_logsumexp),
    Call("logsumexp", (Z,), numpy=_logsumexp),
    Call("logsumexp", (EMPTY,), {"axis": 1}, numpy=_logsumexp, smooth=False),
]
REDUCTIONS = [
    *[
        Call(name, (x,), options)
        for name in ("sum", "prod", "mean", "var", "std")
        for x in (X, F, Z)
        for options in ({}, {"axis": 1}, {"axis": (0, 1), "keepdims": True}, {"axis": 0})
    ],
    *[Call(name, (x,), smooth=False) for name in ("sum", "prod", "mean", "var", "std", "any", "all",
      "count_nonzero") for x in (I, B)],
    *[Call(name, (x,), {"axis": axis}, smooth=False) for name in ("any", "all", "count_nonzero")
      for x in (X, I, B, Z, EMPTY) for axis in (None, 0, 1, (0, 1))],
    *calls("sum prod any all count_nonzero", EMPTY, 0, smooth=False),
    *calls("max min ptp amax amin", X, 1),
    *[Call(name, (X,), {"ddof": 1}) for name in ("var", "std")],
    *[Call(name, (X,), {"correction": 1, "axis": 0}) for name in ("var", "std")],
    *[Call(name, (F,), {"dtype": "float64"}, smooth=False) for name in ("sum", "prod", "mean")],
    Call("average", (X,)),
    Call("average", (X, 1)),
    Call("average", (X, 1, V)),
    Call("average", (X, None, P)),
]  # fmt: skip
SCANS = [
    *[Call(name, (x, axis)) for name in ("cumsum", "cumprod") for x in (X, F, Z)
      for axis in (0, 1, -1, None)],
    *[Call(name, (x, axis), smooth=False) for name in ("cumsum", "cumprod") for x in (I, B, EMPTY)
      for axis in (0, None)],
    Call("cumprod", (np.array([[1.0, 0.0, 2.0, 0.0, 3.0]]), 1), jax=lambda x, axis: jnp.stack(
        [jnp.prod(x[:, : i + 1], axis=1) for i in range(5)], axis=1)),
    *[Call(name, (X,), {"axis": 1, "include_initial": initial})
      for name in ("cumulative_sum", "cumulative_prod") for initial in (False, True)],
    *calls("cumulative_sum cumulative_prod", V),
    *[Call("diff", (x, n, axis), smooth=x is X, symbolic=x is not EMPTY or axis != 0)
      for x in (X, I, B, EMPTY) for n in (0, 1, 2) for axis in (0, -1)],
    Call("diff", (X, 1, 1, V[:2].reshape(2, 1), np.ones((2, 2)))),
    Call("diff", (X, 2, 0, 3.0)),
]  # fmt: skip
PRODUCTS = [
    *calls("matmul", X, X.T.copy()),
    *calls("matmul", rng.normal(size=(4, 1, 2, 3)), rng.normal(size=(5, 3, 2)), symbolic=False),
    *calls("vecdot", X, Y),
    *calls("vecdot", Z, V),
    Call("vecdot", (Z, Z + 1), {"axis": 0}),
    *calls("vdot", Z, Z * 2),
    *calls("inner kron outer", X, Y),
    *calls("inner kron", X, V),
    *calls("kron", I, V, smooth=False),
    *calls("cross", X, Y, symbolic=False),
    *calls("cross", X, V, symbolic=False),
    *calls("trace", X[:, :2].copy()),
    *calls("trace", X, 1, symbolic=False),
]
JOINING = [
    *calls("repeat", X, 2),
    *calls("repeat", X, 3, 1),
    *calls("repeat", X, [1, 0, 2], 1, symbolic=False,
           jax=lambda x, counts, axis: jnp.repeat(x, np.array(counts), axis)),
    *calls("repeat", EMPTY, 2, 0),
    *calls("tile", X, 2),
    *calls("tile", X, (2, 1, 2)),
    *calls("roll", X, 1),
    *calls("roll", X, -4, 1, symbolic=False),
    *calls("roll", X, (1, 2), (0, 1)),
    *calls("swapaxes", X, 0, -1),
    *calls("fliplr flipud atleast_1d atleast_2d atleast_3d diagflat", X),
    *calls("atleast_3d atleast_2d diag diagflat", V),
    *calls("diag", V, 2),
    *calls("diag", V, -1),
    *calls("diag", X, 1, symbolic=False),
    *calls("unstack", X, symbolic=False),
    *calls("split array_split", X, 3, 1, symbolic=False),
    *calls("array_split", X, 2, 1, symbolic=False),
    *calls("split", X, [1, 2], 1),
    *calls("split", X, [1, -1], 1, smooth=False),  # JAX takes no negative places
    *calls("split", X, [5, 1, 2], 1, symbolic=False, smooth=False),
    *calls("vsplit", X, 2, symbolic=False),
    *calls("hsplit", X, [1]),
    *calls("hsplit", V, 3, symbolic=False),
    *calls("dsplit", X[None].copy(), 3, symbolic=False),
    *calls("broadcast_arrays", X, V),
    *calls("meshgrid", V, V + 1, V - 1),
    Call("meshgrid", (V, V + 1), {"indexing": "ij"}),
    *[
        Call(name, (x, y), together=True)
        for name in ("hstack", "vstack", "dstack", "column_stack", "stack", "concat")
        for x, y in ((X, Y), (V, V))
    ],
]  # fmt: skip
CREATION = [
    *calls("arange", 5),
    *calls("arange", 2, 11, 3),
    *calls("arange", 5, 0, -2),
    *calls("arange", 3, 1),
    *calls("arange", 0.1, 1.0, 0.1),
    Call("arange", (4,), {"dtype": "float32"}),
    *calls("linspace", 0, 1),
    *calls("linspace", -1.5, 2.5, 7),
    Call("linspace", (0, 10, 4), {"endpoint": False}),
    Call("linspace", (0, 10, 4), {"dtype": "int64"}),
    *calls("linspace", 3.0, 4.0, 1),
    *calls("linspace", 3.0, 4.0, 0),
    Call("linspace", (V, V + 1, 5), {"axis": -1}),
    *calls("logspace", 0, 2, 5),
    *calls("eye tri identity", 3),
    Call("eye", (2, 4), {"k": 1, "dtype": "int64"}),
    *calls("eye", 0),
    *calls("tri", 3, 4, -1),
    Call("empty", ((2, 3),), numpy=np.zeros, jax=jnp.zeros),
    Call("empty_like", (X,), numpy=np.zeros_like, jax=jnp.zeros_like, smooth=False),
]
GROUPS = {
    "analytic": ANALYTIC,
    "rounding": ROUNDING,
    "logical": LOGICAL,
    "activations": ACTIVATIONS,
    "reductions": REDUCTIONS,
    "scans": SCANS,
    "products": PRODUCTS,
    "joining": JOINING,
    "creation": CREATION,
}
CALLS = [call for group in GROUPS.values() for call in group]
