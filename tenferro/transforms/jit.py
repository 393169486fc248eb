"""jit: compile a function of arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import ParamSpec, Protocol, TypeVar, cast, overload

from tenferro.compiler import OptimizerOptions
from tenferro.errors import TracingError
from tenferro.family import Package
from tenferro.transforms.jitted import Jitted
from tenferro.typing import PyTree
from tenferro.values import Executor

P = ParamSpec("P")
R = TypeVar("R")


class Decorator(Protocol):
    """`jit` with its options, still to be given the function."""

    def __call__(self, function: Callable[P, R], /) -> Jitted[P, R]:
        """The function, compiled."""


@overload
def jit(
    function: Callable[P, R],
    *,
    executor: str | Executor | None = None,
    static_argnames: str | Sequence[str] = (),
    donate_argnums: int | Sequence[int] = (),
    options: OptimizerOptions | None = None,
    symbolic: Mapping[str, PyTree] | None = None,
    packages: Sequence[Package] = (),
) -> Jitted[P, R]: ...


@overload
def jit(
    function: None = None,
    *,
    executor: str | Executor | None = None,
    static_argnames: str | Sequence[str] = (),
    donate_argnums: int | Sequence[int] = (),
    options: OptimizerOptions | None = None,
    symbolic: Mapping[str, PyTree] | None = None,
    packages: Sequence[Package] = (),
) -> Decorator: ...


def jit(
    function: Callable[P, R] | None = None,
    *,
    executor: str | Executor | None = None,
    static_argnames: str | Sequence[str] = (),
    donate_argnums: int | Sequence[int] = (),
    options: OptimizerOptions | None = None,
    symbolic: Mapping[str, PyTree] | None = None,
    packages: Sequence[Package] = (),
) -> Jitted[P, R] | Decorator:
    """Compile a function of arrays.

    One program for each structure, dtypes, shapes and static arguments. With `symbolic`, one for
    all sizes of the named axes: it is traced, differentiated and optimized once, and the executor
    compiles it for the sizes it meets.

    Args:
        function: takes and returns trees of arrays. Traced once for each combination of types, so
            that side effects and Python control flow happen then only.
        executor: `"xla"`, `"numpy"`, or an executor; by default `TENFERRO_EXECUTOR`, else `"xla"`.
        static_argnames: arguments that are Python values, part of the program; hashable.
        donate_argnums: positional arguments whose buffers the program may overwrite.
        options: which compiler passes run.
        symbolic: shapes with names, by the names of the arguments: `{"x": ("n", 3)}`. A name is
            one size wherever it stands; sizes may be expressions of names, `"2*n"`. For an argument
            that is a tree, a shape for all of its arrays, or a tree of shapes that its own begins
            with. None is a size as it comes, `...` at the end all further ones.
        packages: extension families, beside those that come with tenferro; they run on an executor
            like `executor` that has them too. Derivative rules are the context's own,
            `grad(..., ad_context=AdContext(packages=...))`.

    Raises:
        PytreeError: an argument's leaf is not an array.
        ExtensionRegistryError: a package is given twice, or is not one.
        BindingError: sizes are not as `symbolic` declares them.
        ExecutorError: the executor is not installed.

    >>> import tenferro as tn
    >>> @tn.jit
    ... def f(x):
    ...     return x * 2 + 1
    >>> f(tn.Tensor([1.0, 2.0]))
    Tensor([3., 5.])
    >>> total = tn.jit(lambda x: tn.sum(x, axis=0), symbolic={"x": ("n", 2)})
    >>> [total(tn.ones((n, 2))).tolist() for n in (1, 5, 9)]
    [[1.0, 1.0], [5.0, 5.0], [9.0, 9.0]]
    >>> total.trace_stats().misses
    1
    """
    if function is not None and not callable(function):
        raise TracingError(f"jit: takes a function, got a {type(function).__name__}")
    if function is not None:
        return Jitted(
            function, executor, static_argnames, donate_argnums, options, symbolic, packages
        )

    def decorator(function: Callable[P, R], /) -> Jitted[P, R]:
        return jit(
            function,
            executor=executor,
            static_argnames=static_argnames,
            donate_argnums=donate_argnums,
            options=options,
            symbolic=symbolic,
            packages=packages,
        )

    return cast(Decorator, decorator)
