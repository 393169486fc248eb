"""tenferro as a backend of autoray, and so of quimb: importing this module registers it.

A name of tenferro that is used after `import autoray` imports it. autoray finds the functions of
`tenferro` by their names; registered is what it expects to differ from NumPy: the thin SVD, random
numbers by NumPy's names, and devices.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from functools import wraps
from typing import Any

import autoray
import numpy as np

from tenferro import lax, random
from tenferro.ir import AnyTensor, ArrayLike, DTypeLike
from tenferro.random import Key

Size = int | tuple[int, ...] | None


def _thin(svd: Callable[..., Any]) -> Callable[..., Any]:
    """The function with autoray's default, the thin form."""

    @wraps(svd)
    def thin(x: Any, full_matrices: bool = False, **options: Any) -> Any:
        return svd(x, full_matrices=full_matrices, **options)

    return thin


def _shape(size: Size) -> tuple[int, ...]:
    return () if size is None else (size,) if isinstance(size, int) else tuple(size)


class Generator:
    """Random numbers by the methods of `numpy.random.Generator`, from a key that each call splits.

    In a function that is traced, a generator made outside gives the same numbers to every call of
    the program; make it inside, from a key that is an argument.

    >>> rng = Generator(42)
    >>> rng.normal(size=(2, 3)).shape, rng.integers(5, 6).item()
    ((2, 3), 5)
    """

    def __init__(self, seed: Any = None) -> None:
        self.key: Any
        if isinstance(seed, Key) or (hasattr(seed, "shape") and seed.shape == (2,)):
            self.key = seed
        else:
            self.key = random.key(secrets.randbits(63) if seed is None else seed)

    def _next(self) -> Any:
        self.key, key = random.split(self.key)
        return key

    def random(self, size: Size = None, dtype: DTypeLike | None = None) -> AnyTensor:
        """Uniform between 0 and 1."""
        return random.uniform(self._next(), _shape(size), dtype)

    def uniform(
        self, low: Any = 0.0, high: Any = 1.0, size: Size = None, dtype: DTypeLike | None = None
    ) -> AnyTensor:
        """Uniform between `low` and `high`."""
        return random.uniform(self._next(), _shape(size), dtype, low, high)

    def normal(
        self,
        loc: ArrayLike = 0.0,
        scale: ArrayLike = 1.0,
        size: Size = None,
        dtype: DTypeLike | None = None,
    ) -> AnyTensor:
        """Normal with mean `loc` and standard deviation `scale`."""
        return random.normal(self._next(), _shape(size), dtype) * scale + loc

    def standard_normal(self, size: Size = None, dtype: DTypeLike | None = None) -> AnyTensor:
        """Normal with mean 0 and standard deviation 1."""
        return random.normal(self._next(), _shape(size), dtype)

    def exponential(
        self, scale: ArrayLike = 1.0, size: Size = None, dtype: DTypeLike | None = None
    ) -> AnyTensor:
        """Exponential with mean `scale`."""
        return random.exponential(self._next(), _shape(size), dtype) * scale

    def gumbel(
        self,
        loc: ArrayLike = 0.0,
        scale: ArrayLike = 1.0,
        size: Size = None,
        dtype: DTypeLike | None = None,
    ) -> AnyTensor:
        """Gumbel with mode `loc`."""
        return random.gumbel(self._next(), _shape(size), dtype) * scale + loc

    def poisson(self, lam: Any = 1.0, size: Size = None) -> AnyTensor:
        """Poisson with mean `lam`."""
        return random.poisson(self._next(), lam, _shape(size))

    def binomial(self, n: Any, p: Any, size: Size = None) -> AnyTensor:
        """How many of n trials succeed, each with probability p."""
        return random.binomial(self._next(), n, p, _shape(size))

    def integers(
        self, low: Any, high: Any = None, size: Size = None, dtype: DTypeLike | None = None
    ) -> AnyTensor:
        """Integers from `low` to `high` - 1; below `low` if `high` is None."""
        first, end = (0, low) if high is None else (low, high)
        return random.randint(self._next(), _shape(size), first, end, dtype)

    def choice(
        self,
        a: int | ArrayLike,
        size: Size = None,
        replace: bool = True,
        p: ArrayLike | None = None,
        axis: int = 0,
    ) -> AnyTensor:
        """Entries of an array along `axis`, or integers below a number."""
        return random.choice(self._next(), a, _shape(size), replace, p, axis)

    def permutation(self, x: int | ArrayLike, axis: int = 0) -> AnyTensor:
        """The entries of an array along `axis` in another order."""
        return random.permutation(self._next(), x, axis)


def default_rng(seed: Any = None) -> Generator:
    """The generator of a seed, an integer or a key; a generator itself; one seeded by NumPy's."""
    if isinstance(seed, np.random.Generator):
        seed = int(seed.integers(2**63))
    return seed if isinstance(seed, Generator) else Generator(seed)


_shared: list[Generator] = []
"""The generator that functions without one use; empty before its first use."""


def seed(value: Any = None) -> None:
    """Start the generator that functions without one use, from a seed."""
    _shared[:] = [Generator(value)]


def _of_shared(name: str) -> Callable[..., Any]:
    """A method of the shared generator as a function."""

    def sampled(*args: Any, **options: Any) -> Any:
        if not _shared:
            seed()
        return getattr(_shared[0], name)(*args, **options)

    return sampled


def to_device(x: Any, device: Any) -> Any:
    """The array on a device; without a number, on any of that platform. "cpu" is the host too."""
    if device is None:
        return x
    platform, _, number = str(device).partition(":")
    here = str(x.device).partition(":")[0]
    if not number and platform in (here, "cpu" if here == "host" else here):
        return x
    return x.to_device(device if number or platform == "host" else f"{platform}:0")


autoray.register_function("tenferro", "linalg.svd", wrapper=_thin)
autoray.register_function("tenferro", "complex", lax.complex)
autoray.register_function("tenferro", "random.default_rng", default_rng)
autoray.register_function("tenferro", "random.seed", seed)
for _name in (
    *("random", "uniform", "normal", "standard_normal", "exponential", "gumbel", "poisson"),
    *("binomial", "integers", "choice", "permutation"),
):
    autoray.register_function("tenferro", f"random.{_name}", _of_shared(_name))
autoray.to_device.register("tenferro")(to_device)
