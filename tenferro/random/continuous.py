"""Numbers of continuous distributions: uniform, normal, exponential, gumbel and others."""

from __future__ import annotations

from tenferro.errors import ConfigError
from tenferro.ir import AnyTensor, ArrayLike, DTypeLike, Shape
from tenferro.random import formulas
from tenferro.random.prng import Key, numbers

__all__ = [
    "cauchy",
    "exponential",
    "gumbel",
    "laplace",
    "logistic",
    "normal",
    "truncated_normal",
    "uniform",
]

AnyKey = Key | ArrayLike


def uniform(
    key: AnyKey,
    shape: Shape = (),
    dtype: DTypeLike | None = None,
    minval: ArrayLike = 0.0,
    maxval: ArrayLike = 1.0,
) -> AnyTensor:
    """Numbers between `minval` and `maxval`, which is excluded, each as likely.

    Args:
        key: a key.
        shape: of the result.
        dtype: floating-point; float64 by default.
        minval, maxval: the bounds, which broadcast to the shape. Results are differentiable by
            them.

    Raises:
        DTypeError: it is not a key, dtype is not floating-point, or a bound is complex.
        ShapeError: it is an array of keys, or a bound does not broadcast to the shape.

    >>> tn.random.uniform(tn.random.key(0), (3,))
    Tensor([0.41845711, 0.21629545, 0.96532146])
    """
    return numbers("random.uniform", formulas.uniform, key, shape, dtype, minval, maxval)


def normal(key: AnyKey, shape: Shape = (), dtype: DTypeLike | None = None) -> AnyTensor:
    """Numbers of the normal distribution with mean 0 and variance 1.

    Args:
        key: a key.
        shape: of the result.
        dtype: floating-point, float64 by default; or complex, where real and imaginary parts have
            variance 1/2.

    Raises:
        DTypeError: it is not a key, or dtype is neither floating-point nor complex.
        ShapeError: it is an array of keys.

    >>> tn.random.normal(tn.random.key(0), (3,))
    Tensor([-0.20584214, -0.78476578,  1.81608667])
    """
    return numbers("random.normal", formulas.normal, key, shape, dtype, kinds="fc")


def exponential(key: AnyKey, shape: Shape = (), dtype: DTypeLike | None = None) -> AnyTensor:
    """Numbers of the exponential distribution with mean 1.

    Args:
        key: a key.
        shape: of the result.
        dtype: floating-point; float64 by default.

    >>> bool((tn.random.exponential(tn.random.key(0), (3,)) >= 0).all())
    True
    """
    return numbers("random.exponential", formulas.exponential, key, shape, dtype)


def gumbel(
    key: AnyKey, shape: Shape = (), dtype: DTypeLike | None = None, mode: str | None = None
) -> AnyTensor:
    """Numbers of the Gumbel distribution.

    Args:
        key: a key.
        shape: of the result.
        dtype: floating-point; float64 by default.
        mode: "low", the default, or "high", which draws twice the bits for large results.

    Raises:
        ConfigError: the mode is neither.

    >>> tn.random.gumbel(tn.random.key(0), (3,)).shape
    (3,)
    """
    name = "random.gumbel"
    return numbers(name, formulas.gumbel, key, shape, dtype, mode=checked_mode(name, mode))


def checked_mode(name: str, mode: str | None) -> str:
    """The mode, "low" by default.

    Raises:
        ConfigError: it is neither "low" nor "high".
    """
    if mode not in (None, "low", "high"):
        raise ConfigError(f"{name}: mode must be 'low' or 'high', got {mode!r}")
    return mode or "low"


def laplace(key: AnyKey, shape: Shape = (), dtype: DTypeLike | None = None) -> AnyTensor:
    """Numbers of the Laplace distribution with mean 0 and scale 1; arguments as in `exponential`.

    >>> tn.random.laplace(tn.random.key(0), (3,)).shape
    (3,)
    """
    return numbers("random.laplace", formulas.laplace, key, shape, dtype)


def logistic(key: AnyKey, shape: Shape = (), dtype: DTypeLike | None = None) -> AnyTensor:
    """Numbers of the logistic distribution; arguments as in `exponential`.

    >>> tn.random.logistic(tn.random.key(0), (3,)).shape
    (3,)
    """
    return numbers("random.logistic", formulas.logistic, key, shape, dtype)


def cauchy(key: AnyKey, shape: Shape = (), dtype: DTypeLike | None = None) -> AnyTensor:
    """Numbers of the Cauchy distribution; arguments as in `exponential`.

    >>> tn.random.cauchy(tn.random.key(0), (3,)).shape
    (3,)
    """
    return numbers("random.cauchy", formulas.cauchy, key, shape, dtype)


def truncated_normal(
    key: AnyKey,
    lower: ArrayLike,
    upper: ArrayLike,
    shape: Shape | None = None,
    dtype: DTypeLike | None = None,
) -> AnyTensor:
    """Numbers of the normal distribution, of those between `lower` and `upper`.

    Args:
        key: a key.
        lower, upper: the bounds, which broadcast to the shape; results are between them, and are
            differentiable by them.
        shape: of the result; by default the common shape of the bounds.
        dtype: floating-point; float64 by default.

    Raises:
        DTypeError: it is not a key, dtype is not floating-point, or a bound is complex.
        ShapeError: it is an array of keys, or a bound does not broadcast to the shape.

    >>> bool((abs(tn.random.truncated_normal(tn.random.key(0), -1, 1, (9,))) < 1).all())
    True
    """
    name = "random.truncated_normal"
    return numbers(name, formulas.truncated_normal, key, shape, dtype, lower, upper)
