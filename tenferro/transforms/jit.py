"""jit: compile a function of arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import ParamSpec, Protocol, TypeVar, cast, overload

from tenferro.compiler import MemoryLimit, OptimizerOptions
from tenferro.errors import TracingError
from tenferro.family import Package
from tenferro.options import flag
from tenferro.transforms.call import donated_places, static_names
from tenferro.transforms.jitted import Jitted
from tenferro.typing import PyTree
from tenferro.values import Executor

P = ParamSpec("P")
R = TypeVar("R")


_ALWAYS = {
    "keep_unused": "True is what every program does: it has all its inputs",
    "inline": "True is what every function does in another trace",
}


def _check_flags(**options: object) -> None:
    """Raise an error unless options are True or False, and False where True has no meaning."""
    for name, value in options.items():
        if flag(f"jit: {name}", value) and name in _ALWAYS:
            raise TracingError(f"jit: {name}={_ALWAYS[name]}; leave it out")


def _limited(
    options: OptimizerOptions | None, memory_limit: int | float | str | None
) -> OptimizerOptions | None:
    """The options with the limit that a user passes."""
    limit = MemoryLimit.read("jit", memory_limit)
    if limit is None or not isinstance(options, OptimizerOptions | None):
        return options
    return (options or OptimizerOptions()).limited(limit)


class Decorator(Protocol):
    """`jit` with its options; takes the function."""

    def __call__(self, function: Callable[P, R], /) -> Jitted[P, R]:
        """The compiled function."""


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
    static_argnums: int | Sequence[int] = (),
    donate_argnames: str | Sequence[str] = (),
    keep_unused: bool = False,
    inline: bool = False,
    memory_limit: int | float | str | None = None,
    mesh: object = None,
    in_shardings: PyTree = None,
    out_shardings: PyTree = None,
    slices: str | Sequence[str] | None = None,
    tiers: bool = False,
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
    static_argnums: int | Sequence[int] = (),
    donate_argnames: str | Sequence[str] = (),
    keep_unused: bool = False,
    inline: bool = False,
    memory_limit: int | float | str | None = None,
    mesh: object = None,
    in_shardings: PyTree = None,
    out_shardings: PyTree = None,
    slices: str | Sequence[str] | None = None,
    tiers: bool = False,
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
    static_argnums: int | Sequence[int] = (),
    donate_argnames: str | Sequence[str] = (),
    keep_unused: bool = False,
    inline: bool = False,
    memory_limit: int | float | str | None = None,
    mesh: object = None,
    in_shardings: PyTree = None,
    out_shardings: PyTree = None,
    slices: str | Sequence[str] | None = None,
    tiers: bool = False,
) -> Jitted[P, R] | Decorator:
    """Compile a function of arrays.

    There is one program for each combination of structure, dtypes, shapes and static arguments.
    With `symbolic` there is one program for all sizes of the named axes. It is traced,
    differentiated and optimized once; the executor compiles it for each combination of sizes.

    Args:
        function: takes and returns trees of arrays. It is traced once for each combination of
            types; side effects and Python control flow are executed only then.
        executor: `"xla"`, `"numpy"`, or an executor; by default `TENFERRO_EXECUTOR`, else `"xla"`.
        static_argnames: arguments that are Python values, which become part of the program; they
            must be hashable.
        donate_argnums: positional arguments whose buffers the program may overwrite.
        options: select the compiler passes.
        symbolic: shapes with names, by argument name: `{"x": ("n", 3)}`. All occurrences of a name
            are the same size; sizes may be expressions of names, such as `"2*n"`. For an argument
            that is a tree, pass one shape for all of its arrays, or a tree of shapes that is a
            prefix of its own. None means the size that the array has, and `...` at the end means
            this for all further axes.
        packages: extension families in addition to tenferro's own. They run on an executor like
            `executor` with these packages. Derivative rules come from an `AdContext`: `grad(...,
            ad_context=AdContext(packages=...))`.
        static_argnums: positions of further static arguments.
        donate_argnames: names of further arguments whose buffers the program may overwrite.
        keep_unused: must be False: programs have all their inputs, whether read or not.
        inline: must be False: in another trace, functions are always inlined.
        memory_limit: the most bytes that results and intermediate values may take at once, as
            predicted: a number, a text such as `"1.5 GB"`, or `"device"` for what the device has
            free when the program is compiled. Where a program needs more, values are computed again
            in place of being kept; see `memory`. In another trace the smallest limit holds for the
            whole program.
        mesh: the devices to run on, a `tn.sharding.Mesh`, among which XLA divides the work.
        in_shardings: how the positional arguments are divided: a `tn.sharding.NamedSharding` or a
            `PartitionSpec` for all of their arrays, or a tree of these that is a prefix of theirs.
            None takes an array as it is divided, and gives a NumPy array to every device whole.
        out_shardings: how the results are divided; None lets XLA choose.
        slices: the axis of the mesh, or a tuple of axes, whose devices share the slices of sliced
            networks; see `einsum`. None lets every device contract all of them.
        tiers: let NumPy answer calls while the executor compiles in another thread, where that is
            faster. Results of the two agree up to rounding; `f.tier(...)` says which one answers,
            `f.ready(...)` waits for the executor. Without it all results are of the executor.

    Raises:
        TracingError: a parameter that is named does not exist, or an option must be False.
        PytreeError: an argument's leaf is not an array.
        ExtensionRegistryError: a package is given twice, or is not one.
        BindingError: sizes differ from those that `symbolic` declares.
        ExecutorError: the executor is not one, or is not installed.
        ConfigError: `memory_limit` is not a number of bytes, or `tiers` neither True nor False.
        MemoryLimitError: when the function is compiled: no way to keep the limit was found.
        ShardingError: a sharding does not fit the mesh, or does not divide its array.

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
    _check_flags(keep_unused=keep_unused, inline=inline, tiers=tiers)
    if function is not None:
        static = static_names(function, static_argnames, static_argnums)
        return Jitted(
            function,
            executor,
            static,
            donated_places(function, donate_argnums, donate_argnames, static),
            _limited(options, memory_limit),
            symbolic,
            packages,
            mesh,
            in_shardings,
            out_shardings,
            slices,
            tiers,
        )
    MemoryLimit.read("jit", memory_limit)

    def decorator(function: Callable[P, R], /) -> Jitted[P, R]:
        return jit(
            function,
            executor=executor,
            static_argnames=static_argnames,
            donate_argnums=donate_argnums,
            options=options,
            symbolic=symbolic,
            packages=packages,
            static_argnums=static_argnums,
            donate_argnames=donate_argnames,
            memory_limit=memory_limit,
            mesh=mesh,
            in_shardings=in_shardings,
            out_shardings=out_shardings,
            slices=slices,
            tiers=tiers,
        )

    return cast(Decorator, decorator)
