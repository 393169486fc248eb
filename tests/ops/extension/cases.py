"""What the test of surfaces knows of a family: an op, inputs for it, and what is expected."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import tenferro as tn
from tenferro.extension import ExtensionOp, Package, apply

Array = np.ndarray[Any, Any]
SIZES = {"n": 2, "m": 3, "k": 4, "l": 5}


@dataclass(frozen=True)
class Case:
    """An op of a family and the shapes of its inputs, in each of which it is polynomial."""

    op: ExtensionOp
    shapes: tuple[tuple[str, ...], ...]
    packages: tuple[Package, ...] = ()
    lowering_needs: str | None = None
    """What a refusal to export it for named sizes says."""

    into: Callable[[list[Array]], list[Array]] = list
    """Takes random arrays into the domain of the op."""

    dtypes: tuple[str, ...] = ()
    """Those of the inputs; by default all are float64."""

    active: int = 9
    """How many inputs, from the first on, derivatives are taken by."""

    brief: bool = False
    """Whether XLA does not run it by itself, since it runs in the derivative of another case."""

    everywhere: bool = True
    """Whether the usual tests run it on XLA by itself. Otherwise the exhaustive ones do, and they
    leave out JAX's derivatives of its lowering."""

    is_portable: bool = True
    """Whether JAX exports what it is lowered to: it refuses kernels that may change."""

    has_derivative: bool = True
    """Whether it has one; in the tests of gradients others are left out."""

    @property
    def name(self) -> str:
        return self.op.family_id

    @property
    def places(self) -> tuple[int, ...]:
        return tuple(range(min(self.active, len(self.shapes))))

    @property
    def arrays(self) -> list[Array]:
        rng = np.random.default_rng(0)
        return self.into(
            [
                random_array(rng, [SIZES[name] for name in shape], dtype)
                for shape, dtype in zip(self.shapes, self.all_dtypes, strict=True)
            ]
        )

    @property
    def all_dtypes(self) -> tuple[str, ...]:
        return self.dtypes or ("float64",) * len(self.shapes)

    @property
    def expected(self) -> Array:
        """The first output by the reference meaning."""
        return self.reference(self.arrays)

    def reference(self, arrays: list[Array]) -> Array:
        """The first output of arrays by the reference meaning."""
        return np.asarray(self.op.eager_execute(arrays)[0])

    @property
    def context(self) -> tn.AdContext:
        return tn.AdContext(packages=self.packages)

    def function(self, *inputs: Any) -> Any:
        """The first output."""
        result = apply(self.op, *inputs)
        return result[0] if isinstance(result, tuple) else result

    def total(self, *inputs: Any) -> Any:
        """The sum of the real parts of the first output."""
        return tn.sum(tn.real(self.function(*inputs)))

    def program(self, of: Callable[..., Any], named: bool = True) -> tn.GraphProgram:
        """A program of the inputs, with names for sizes or with constant ones."""
        specs = [
            tn.TensorSpec(shape if named else tuple(SIZES[name] for name in shape), dtype)
            for shape, dtype in zip(self.shapes, self.all_dtypes, strict=True)
        ]
        return tn.make_program(of, *specs)

    def bindings(self, program: tn.GraphProgram) -> Mapping[str, Array]:
        names = [declared.name for declared in program.inputs]
        return dict(zip(names, self.arrays, strict=True))


def random_array(rng: np.random.Generator, shape: Sequence[int], dtype: str) -> Array:
    real = rng.normal(size=shape)
    return real + 1j * rng.normal(size=shape) if dtype == "complex128" else real.astype(dtype)


def regular(arrays: list[Array]) -> list[Array]:
    """The same with 3 added to the diagonal of the first, a matrix."""
    a, *others = arrays
    return [a + 3 * np.eye(len(a)), *others]
