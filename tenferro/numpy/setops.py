"""Distinct elements of arrays, and operations on sets of elements."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, overload

from tenferro.config import flag
from tenferro.errors import DTypeError
from tenferro.ir import AnyTensor, ArrayLike, PyTree, dtype_kind, product
from tenferro.numpy.arguments import array, comparable, promoted
from tenferro.numpy.creation import arange, full_like, ones, ones_like, zeros, zeros_like
from tenferro.numpy.manipulation import concat
from tenferro.numpy.sorting import lexsort, searchsorted, trimmed, true_places
from tenferro.ops.functions import elementwise, normal_axis, reductions
from tenferro.ops.functions.elementwise import imag, minimum, real
from tenferro.ops.functions.logical import isnan
from tenferro.ops.functions.manipulation import moveaxis
from tenferro.ops.functions.reductions import cumsum, sort

__all__ = [
    "intersect1d",
    "isin",
    "setdiff1d",
    "setxor1d",
    "union1d",
    "unique",
    "unique_all",
    "unique_counts",
    "unique_inverse",
    "unique_values",
]


class UniqueAll(NamedTuple):
    """The result of `unique_all`."""

    values: AnyTensor
    indices: AnyTensor
    inverse_indices: AnyTensor
    counts: AnyTensor


class UniqueCounts(NamedTuple):
    """The result of `unique_counts`."""

    values: AnyTensor
    counts: AnyTensor


class UniqueInverse(NamedTuple):
    """The result of `unique_inverse`."""

    values: AnyTensor
    inverse_indices: AnyTensor


class _Sorted(NamedTuple):
    """Elements in ascending order.

    `order` are their indices before, and `first` says of each whether it differs from the one
    before it.
    """

    elements: Any
    order: Any
    first: Any


@overload
def unique(
    ar: ArrayLike,
    return_index: Literal[False] = False,
    return_inverse: Literal[False] = False,
    return_counts: Literal[False] = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    size: int | None = None,
    fill_value: ArrayLike | None = None,
    sorted: bool = True,
) -> AnyTensor: ...


@overload
def unique(
    ar: ArrayLike,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    size: int | None = None,
    fill_value: ArrayLike | None = None,
    sorted: bool = True,
) -> PyTree: ...


def unique(
    ar: ArrayLike,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    size: int | None = None,
    fill_value: ArrayLike | None = None,
    sorted: bool = True,
) -> AnyTensor | tuple[AnyTensor, ...]:
    """The distinct elements of `ar` in ascending order, and what else is asked for.

    Data decide their number: in a traced function it is an upper bound, unless `size` is given.

    Args:
        ar: an array.
        return_index: whether to return where each element occurs first, too.
        return_inverse: whether to return the place of each element of `ar` among the distinct ones.
        return_counts: whether to return how often each occurs.
        axis: compare slices along this axis; if None, elements of the flattened array.
        equal_nan: whether NaN is equal to NaN.
        size: the number of elements; more are dropped, and missing ones are `fill_value`.
        fill_value: the least element, if None.
        sorted: has no effect: the elements are always in order.

    Returns:
        The elements; a tuple if more is asked for.

    >>> tn.unique([3, 1, 3], return_counts=True)
    (Tensor([1, 3]), Tensor([1, 2]))
    >>> tn.unique([3, 1, 3], size=3)
    Tensor([1, 3, 1])
    """
    a = array("unique", ar)
    along = 0 if axis is None else normal_axis("unique", axis, a.ndim)
    parts: Any = a.ravel() if axis is None else moveaxis(a, along, 0)
    ordered = _in_order(parts, equal_nan)
    places, total = true_places("unique", ordered.first, size)
    group: Any = cumsum(ordered.first) - 1
    values = trimmed(ordered.elements[places], total, size, fill_value)
    results = [values if axis is None else moveaxis(values, 0, along)]
    if flag("unique: return_index", return_index):
        results.append(trimmed(ordered.order[places], total, size))
    if flag("unique: return_inverse", return_inverse):
        inverse: Any = zeros_like(group).at[ordered.order].add(group)
        results.append(inverse.reshape(a.shape) if axis is None else inverse)
    if flag("unique: return_counts", return_counts):
        slots = parts.shape[0] if size is None else size
        counts = zeros(slots, "int64").at[group].add(ones_like(group))
        results.append(trimmed(counts, total, size))
    return results[0] if len(results) == 1 else tuple(results)


def unique_values(
    x: ArrayLike, *, size: int | None = None, fill_value: ArrayLike | None = None
) -> AnyTensor:
    """The distinct elements of x in ascending order; each NaN is distinct. Options as of `unique`.

    >>> tn.unique_values([3, 1, 3])
    Tensor([1, 3])
    """
    a = array("unique_values", x)
    return unique(a, equal_nan=False, size=size, fill_value=fill_value)


def unique_counts(
    x: ArrayLike, *, size: int | None = None, fill_value: ArrayLike | None = None
) -> UniqueCounts:
    """The distinct elements of x, and how often each occurs, as `unique_values`.

    >>> tn.unique_counts([3, 1, 3]).counts
    Tensor([1, 2])
    """
    a = array("unique_counts", x)
    results = unique(a, return_counts=True, equal_nan=False, size=size, fill_value=fill_value)
    return UniqueCounts(*results)


def unique_inverse(
    x: ArrayLike, *, size: int | None = None, fill_value: ArrayLike | None = None
) -> UniqueInverse:
    """The distinct elements of x, and the place of each element of x among them.

    >>> tn.unique_inverse([3, 1, 3]).inverse_indices
    Tensor([1, 0, 1])
    """
    a = array("unique_inverse", x)
    results = unique(a, return_inverse=True, equal_nan=False, size=size, fill_value=fill_value)
    return UniqueInverse(*results)


def unique_all(
    x: ArrayLike, *, size: int | None = None, fill_value: ArrayLike | None = None
) -> UniqueAll:
    """The distinct elements of x, where each occurs first, their places, and their counts.

    >>> tn.unique_all([3, 1, 3]).indices
    Tensor([1, 0])
    """
    a = array("unique_all", x)
    results = unique(a, True, True, True, equal_nan=False, size=size, fill_value=fill_value)
    return UniqueAll(*results)


def isin(
    element: ArrayLike,
    test_elements: ArrayLike,
    assume_unique: bool = False,
    invert: bool = False,
    *,
    kind: str | None = None,
    method: str = "auto",
) -> AnyTensor:
    """Whether each element occurs in `test_elements`; whether it does not, if `invert`.

    `assume_unique`, `kind` and `method` have no effect on the result.

    >>> tn.isin([1, 2, 3], [1, 3])
    Tensor([ True, False,  True])
    """
    values, among = comparable("isin", element, test_elements)
    among = among.ravel()
    if among.shape[0] == 0:
        result: Any = zeros_like(values, "bool")
    elif dtype_kind(among.dtype) == "c":
        result = reductions.any(values[..., None] == among, axis=-1)
    else:
        ordered: Any = sort(among)
        place = minimum(searchsorted(ordered, values), among.shape[0] - 1)
        result = ordered[place] == values
    return ~result if invert else result  # type: ignore[no-any-return]


def union1d(
    ar1: ArrayLike, ar2: ArrayLike, *, size: int | None = None, fill_value: ArrayLike | None = None
) -> AnyTensor:
    """The distinct elements of both arrays, in ascending order; options as of `unique`.

    >>> tn.union1d([3, 1], [1, 2])
    Tensor([1, 2, 3])
    """
    both = _flat("union1d", ar1, ar2)
    return unique(concat(both), size=size, fill_value=fill_value)


@overload
def intersect1d(
    ar1: ArrayLike,
    ar2: ArrayLike,
    assume_unique: bool = False,
    return_indices: Literal[False] = False,
    *,
    size: int | None = None,
    fill_value: ArrayLike | None = None,
) -> AnyTensor: ...


@overload
def intersect1d(
    ar1: ArrayLike,
    ar2: ArrayLike,
    assume_unique: bool = False,
    *,
    return_indices: Literal[True],
    size: int | None = None,
    fill_value: ArrayLike | None = None,
) -> tuple[AnyTensor, AnyTensor, AnyTensor]: ...


@overload
def intersect1d(
    ar1: ArrayLike,
    ar2: ArrayLike,
    assume_unique: bool = False,
    return_indices: bool = False,
    *,
    size: int | None = None,
    fill_value: ArrayLike | None = None,
) -> PyTree: ...


def intersect1d(
    ar1: ArrayLike,
    ar2: ArrayLike,
    assume_unique: bool = False,
    return_indices: bool = False,
    *,
    size: int | None = None,
    fill_value: ArrayLike | None = None,
) -> AnyTensor | tuple[AnyTensor, AnyTensor, AnyTensor]:
    """The distinct elements that both arrays have, in ascending order.

    Args:
        ar1: an array.
        ar2: an array.
        assume_unique: has no effect on the result.
        return_indices: whether to return where they occur first in each array, too.
        size: as of `unique`.
        fill_value: as of `unique`; indices that are missing are the size of the array.

    >>> tn.intersect1d([3, 1, 3], [2, 3])
    Tensor([3])
    """
    one, other = _flat("intersect1d", ar1, ar2)
    ordered = _in_order(concat([one, other]), equal_nan=False)
    theirs: Any = ordered.order >= one.shape[0]
    # Where each group of equal elements occurs first in the other array; behind its end if nowhere.
    missing = full_like(ordered.order, other.shape[0])
    group: Any = cumsum(ordered.first) - 1
    where = missing.at[group].min(elementwise.where(theirs, ordered.order - one.shape[0], missing))[
        group
    ]
    mask = ordered.first & ~theirs & (where < missing)
    places, total = true_places("intersect1d", mask, size)
    values = ordered.elements[places]
    fill = values[:1] if fill_value is None and size else fill_value
    results = [trimmed(values, total, size, fill)]
    if return_indices:
        results += [
            trimmed(ordered.order[places], total, size, one.shape[0]),
            trimmed(where[places], total, size, other.shape[0]),
        ]
    return tuple(results) if return_indices else results[0]


def setdiff1d(
    ar1: ArrayLike,
    ar2: ArrayLike,
    assume_unique: bool = False,
    *,
    size: int | None = None,
    fill_value: ArrayLike | None = None,
) -> AnyTensor:
    """The distinct elements of `ar1` that `ar2` does not have, in ascending order.

    With `assume_unique` they keep the order of `ar1`. `size` and `fill_value` (0) as of `nonzero`.

    >>> tn.setdiff1d([3, 1, 3], [2, 3])
    Tensor([1])
    """
    one, other = (array("setdiff1d", each).ravel() for each in (ar1, ar2))
    if assume_unique:
        return _compressed(one, isin(one, other, invert=True), size, fill_value)  # type: ignore[no-any-return]
    ordered = _in_order(one, equal_nan=True)
    mask = ordered.first & isin(ordered.elements, other, invert=True)
    return _compressed(ordered.elements, mask, size, fill_value)  # type: ignore[no-any-return]


def setxor1d(
    ar1: ArrayLike,
    ar2: ArrayLike,
    assume_unique: bool = False,
    *,
    size: int | None = None,
    fill_value: ArrayLike | None = None,
) -> AnyTensor:
    """The distinct elements that exactly one of the arrays has, in ascending order.

    NaN is equal to no element of the other array: as in NumPy, each array that has it adds one.
    `assume_unique` has no effect on the result. `size` and `fill_value` as of `unique`.

    >>> tn.setxor1d([3, 1, 3], [2, 3])
    Tensor([1, 2])
    """
    one, other = _flat("setxor1d", ar1, ar2)
    mine, theirs = _in_order(one, equal_nan=True), _in_order(other, equal_nan=True)
    elements: Any = concat([mine.elements, theirs.elements])
    single: Any = concat(
        [
            mine.first & isin(mine.elements, other, invert=True),
            theirs.first & isin(theirs.elements, one, invert=True),
        ]
    )
    order: Any = lexsort(_keys(elements))
    places, total = true_places("setxor1d", single[order], size)
    values = elements[order][places]
    fill = values[:1] if fill_value is None and size else fill_value
    return trimmed(values, total, size, fill)  # type: ignore[no-any-return]


def _flat(name: str, x1: Any, x2: Any) -> list[Any]:
    return [each.ravel() for each in promoted(name, x1, x2)]


def _compressed(elements: Any, mask: Any, size: int | None, fill_value: Any) -> Any:
    places, total = true_places("setdiff1d", mask, size)
    return trimmed(elements[places], total, size, 0 if fill_value is None else fill_value)


def _in_order(parts: Any, equal_nan: bool) -> _Sorted:
    """Elements, or slices along the first axis, in ascending order."""
    if parts.meta.exact_shape("unique", "operand")[0] == 0:
        return _Sorted(parts, zeros(0, "int64"), zeros(0, "bool"))
    width = product(parts.shape[1:])
    if not isinstance(width, int):
        raise DTypeError(f"unique: slices of {parts.meta} must have a constant size")
    columns = parts.reshape((parts.shape[0], width))
    keys = [key for i in reversed(range(width)) for key in _keys(columns[:, i])]
    order: Any = lexsort(keys) if keys else arange(parts.shape[0])
    ordered = columns[order]
    differs = ordered[1:] != ordered[:-1]
    if equal_nan and dtype_kind(parts.dtype) in "fc":
        differs = differs & ~(isnan(ordered[1:]) & isnan(ordered[:-1]))
    some: Any = reductions.any(differs, axis=1)
    return _Sorted(parts[order], order, concat([ones(1, "bool"), some]))


def _keys(column: Any) -> list[Any]:
    """Real keys that order the elements of a vector, the most important last."""
    return [imag(column), real(column)] if dtype_kind(column.dtype) == "c" else [column]
