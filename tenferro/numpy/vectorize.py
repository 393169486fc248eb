"""Functions applied along axes, over axes, and to each entry."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from functools import wraps
from typing import Any

from tenferro.errors import ConfigError, PytreeError, ShapeError, class_of, counted
from tenferro.ir import AnyTensor, ArrayLike, DTypeLike
from tenferro.numpy.arguments import array, callable_of, sizes
from tenferro.numpy.index_tricks import indices
from tenferro.numpy.manipulation import broadcast_shapes
from tenferro.ops.functions import normal_axis
from tenferro.ops.functions.manipulation import expand_dims
from tenferro.transforms import vmap

__all__ = ["apply_along_axis", "apply_over_axes", "fromfunction", "vectorize"]


_NAME = r"\w+"
_CORE = rf"\((?:{_NAME}(?:,{_NAME})*)?,?\)"


_SIGNATURE = re.compile(rf"{_CORE}(?:,{_CORE})*->{_CORE}(?:,{_CORE})*")


def apply_along_axis(
    func1d: Callable[..., Any], axis: int, arr: ArrayLike, *args: Any, **kwargs: Any
) -> AnyTensor:
    """A function of vectors applied to all vectors along `axis`; its axes take the place of it.

    The function is traced once, as by `tn.vmap`.

    >>> tn.apply_along_axis(tn.cumsum, 0, [[1, 2], [3, 4]])
    Tensor([[1, 2],
            [4, 6]])
    """
    callable_of("apply_along_axis", func1d)
    a = array("apply_along_axis", arr)
    place = normal_axis("apply_along_axis", axis, a.ndim)

    def mapped(vector: Any) -> Any:
        return func1d(vector, *args, **kwargs)

    for i in range(1, a.ndim - place):
        mapped = vmap(mapped, in_axes=i, out_axes=-1)
    for _ in range(place):
        mapped = vmap(mapped)
    return mapped(a)  # type: ignore[no-any-return]


def apply_over_axes(
    func: Callable[[Any, int], Any], a: ArrayLike, axes: Sequence[int] | int
) -> AnyTensor:
    """A function of an array and an axis applied for each of the axes; their number is kept.

    >>> tn.apply_over_axes(tn.sum, [[1, 2], [3, 4]], [0, 1])
    Tensor([[10]])
    """
    callable_of("apply_over_axes", func)
    x = array("apply_over_axes", a)
    rank = x.ndim
    for axis in axes if isinstance(axes, tuple | list) else (axes,):
        place = normal_axis("apply_over_axes", axis, rank)
        x = func(x, place)
        if x.ndim == rank - 1:
            x = expand_dims(x, place)
        if x.ndim != rank:
            raise ShapeError("apply_over_axes: the function must keep the axes, or drop the one")
    return x  # type: ignore[no-any-return]


def vectorize(
    pyfunc: Callable[..., Any],
    *,
    excluded: Collection[int | str] = frozenset(),
    signature: str | None = None,
) -> Callable[..., Any]:
    """A function that broadcasts its arguments and applies `pyfunc` to each entry, by `tn.vmap`.

    Args:
        pyfunc: takes arrays without the broadcast axes.
        excluded: places and names of arguments that are passed on as they are, as None is.
        signature: the axes of arguments and results, such as `"(m,n),(n)->(m)"`; by default the
            arguments are numbers.

    Raises:
        ConfigError: `excluded` has something else, or None is passed where there is a signature.

    >>> tn.vectorize(lambda x, y: tn.where(x > y, x - y, x + y))([1, 2], [[3], [0]])
    Tensor([[4, 5],
            [1, 2]])
    """
    callable_of("vectorize", pyfunc)
    cores = None if signature is None else _Cores(signature)
    for each in excluded:
        if not isinstance(each, str) and (not isinstance(each, int) or each < 0):
            raise ConfigError(
                f"vectorize: excluded has {each!r}, which is neither the place nor the name of an "
                "argument"
            )

    @wraps(pyfunc)
    def over_entries(*args: Any, **kwargs: Any) -> Any:
        mapped = [i for i in range(len(args)) if i not in excluded]
        for i in [i for i in mapped if args[i] is None]:
            if cores is not None:
                raise ConfigError(
                    f"vectorize: argument {i} is None, but {signature!r} has its axes"
                )
            mapped.remove(i)
        arrays = [array("vectorize", args[i]) for i in mapped]
        own = _Cores.of_numbers(len(arrays)) if cores is None else cores
        known = own.sizes_of(arrays)

        def of_entry(*entries: Any) -> Any:
            arguments = list(args)
            for i, entry in zip(mapped, entries, strict=True):
                arguments[i] = entry
            result = pyfunc(*arguments, **kwargs)
            own.check_results(result, known)
            return result

        return _over_batch(of_entry, arrays, [len(core) for core in own.operands])

    return over_entries


class _Cores:
    """The axes of one entry of each argument and result of a function, by name."""

    def __init__(self, signature: str) -> None:
        text = signature.replace(" ", "") if isinstance(signature, str) else ""
        if not _SIGNATURE.fullmatch(text):
            raise ConfigError(
                f"vectorize: {signature!r} is not a signature such as '(m,n),(n)->(m)'"
            )
        self._signature = f"signature {signature!r}"
        operands, results = (
            [re.findall(_NAME, core) for core in re.findall(_CORE, side)]
            for side in text.split("->")
        )
        self.operands: list[list[str]] = operands
        self.results: list[list[str]] | None = results

    @classmethod
    def of_numbers(cls, count: int) -> _Cores:
        """Those of a function of numbers, whatever its results are."""
        cores = cls("()->()")
        cores._signature = "without a signature the function"
        cores.operands, cores.results = [[] for _ in range(count)], None
        return cores

    def sizes_of(self, arrays: Sequence[Any]) -> dict[str, Any]:
        """The size of each name.

        Raises:
            ShapeError: there are more or fewer arguments, axes are missing, or sizes differ.
        """
        if len(self.operands) != len(arrays):
            raise ShapeError(
                f"vectorize: {self._signature} has {counted(len(self.operands), 'argument')}, got "
                f"{len(arrays)}"
            )
        known: dict[str, Any] = {}
        for place, (each, core) in enumerate(zip(arrays, self.operands, strict=True)):
            if each.ndim < len(core):
                raise ShapeError(
                    f"vectorize: {each.meta} must have at least "
                    f"{counted(len(core), 'axis', 'axes')}"
                )
            own = each.shape[each.ndim - len(core) :]
            self._learn(known, core, own, f"argument {place}: {each.meta}")
        return known

    def check_results(self, result: Any, known: dict[str, Any]) -> None:
        """Check what the function returns for one entry.

        Raises:
            PytreeError: there are more or fewer results.
            ShapeError: a result has other axes.
        """
        if self.results is None:
            if isinstance(result, list | dict):
                raise PytreeError(
                    f"vectorize: {self._signature} must return an array or a tuple of arrays, "
                    f"got {class_of(result)}"
                )
            return
        returned, cores = list(result) if isinstance(result, tuple) else [result], self.results
        if len(returned) != len(cores) or (len(cores) > 1 and not isinstance(result, tuple)):
            raise PytreeError(
                f"vectorize: {self._signature} has {counted(len(cores), 'result')}, but the "
                f"function returned {len(returned)}; write one for each in a tuple"
            )
        known = dict(known)
        for place, (each, core) in enumerate(zip(returned, cores, strict=True)):
            meta = array("vectorize", each).meta
            if meta.rank != len(core):
                raise ShapeError(
                    f"vectorize: {self._signature} has results of "
                    f"{counted(len(core), 'axis', 'axes')}, but result {place} of an entry is "
                    f"{meta}"
                )
            self._learn(known, core, array("vectorize", each).shape, f"result {place}: {meta}")

    def _learn(
        self, known: dict[str, Any], core: Sequence[str], own: Sequence[Any], what: str
    ) -> None:
        for name, size in zip(core, own, strict=True):
            first = known.setdefault(name, size)
            gap = first - size
            if isinstance(gap, int) and gap:
                raise ShapeError(
                    f"vectorize: {self._signature}: {name} is {first}, but {size} in {what}"
                )


def _over_batch(function: Callable[..., Any], arrays: list[Any], ranks: list[int]) -> Any:
    """A function applied to each entry of the common batch axes of arrays."""
    batches = [each.shape[: each.ndim - rank] for each, rank in zip(arrays, ranks, strict=True)]
    batch = broadcast_shapes(*batches)
    # Axes of size 1 that others repeat are dropped, and not mapped over.
    wide = [[size == full for size, full in zip(own, batch[len(batch) - len(own) :], strict=True)]
            for own in batches]  # fmt: skip
    operands = [
        each.reshape((*(s for s, keep in zip(own, keeps, strict=True) if keep),
                      *each.shape[len(own) :]))
        for each, own, keeps in zip(arrays, batches, wide, strict=True)
    ]  # fmt: skip
    mapped = function
    for depth in range(1, len(batch) + 1):
        in_axes = tuple([0 if len(keeps) >= depth and keeps[-depth] else None for keeps in wide])
        mapped = vmap(mapped, in_axes=in_axes, axis_size=batch[-depth])
    return mapped(*operands)


def fromfunction(
    function: Callable[..., Any],
    shape: Sequence[int] | int,
    *,
    dtype: DTypeLike = float,
    **kwargs: Any,
) -> AnyTensor:
    """The array whose element at each index is `function` of the index, which is traced once.

    >>> tn.fromfunction(lambda i, j: i + 10 * j, (2, 2))
    Tensor([[ 0., 10.],
            [ 1., 11.]])
    """
    callable_of("fromfunction", function)
    places = indices(sizes("fromfunction", shape), dtype=dtype, sparse=True)
    return _over_batch(lambda *index: function(*index, **kwargs), list(places), [0] * len(places))  # type: ignore[no-any-return]
