"""Keys, how they are made, and what draws do with their arguments."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar, NoReturn

import numpy as np
import optree

from tenferro.errors import DTypeError, ExtentError, ShapeError, TracingError
from tenferro.ir import (
    FLOAT64,
    UINT32,
    AnyTensor,
    ArrayLike,
    Dim,
    DimExpr,
    DType,
    DTypeLike,
    Exact,
    Shape,
    ShapeExtent,
    TensorMeta,
    as_dtype,
    dim,
    integer_of,
    real_dtype,
    refuse_traced,
    short_name,
)
from tenferro.numpy import asarray
from tenferro.ops.functions import (
    apply,
    is_number,
    logical,
    manipulation,
    promotion,
    reductions,
)
from tenferro.random import threefry
from tenferro.runtime import Tensor, is_array, meta_of_value
from tenferro.transforms import NAMESPACE, EagerTensor, TracedTensor, check_named, create

__all__ = ["Key", "PRNGKey", "fold_in", "key", "key_data", "split", "wrap_key_data"]


_Tensors = Tensor | TracedTensor | EagerTensor


class Key:
    """One key, or an array of keys; made by `tn.random.key` and `tn.random.split`.

    It can be indexed, unpacked and compared, and is a tree with one leaf, the words of the keys: so
    it passes through all transforms, and axes count those of the array of keys.

    >>> key, other = tn.random.split(tn.random.key(0))
    >>> key
    Key(shape=(), words=[1797259609, 2579123966])
    >>> tn.random.split(key, 3).shape
    (3,)
    """

    __slots__ = ("words",)

    entry_rank: ClassVar[int] = 1
    """The number of last axes of the words that belong to one key; `vmap` does not count them."""

    words: Any
    """The words of the keys, uint32[..., 2]; `tn.random.key_data` gives them to users."""

    @classmethod
    def of(cls, words: Any) -> Key:
        """The keys with these words, which are not looked at."""
        key = cls.__new__(cls)
        key.words = words
        return key

    def __init__(self) -> None:
        raise TypeError("Key: keys are made by tn.random.key(seed), split and fold_in")

    @property
    def shape(self) -> tuple[Any, ...]:
        """The sizes of the array of keys; () for one key."""
        return tuple(self.words.shape[:-1])

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.words.shape) - 1

    def __getitem__(self, index: Any) -> Key:
        items = index if isinstance(index, tuple) else (index,)
        used = sum(item is not None and item is not Ellipsis for item in items)
        if used > self.ndim:
            instead = "" if self.ndim else "; tn.random.split(key, n) makes n keys"
            raise ShapeError(f"key: {used} indices for keys {shown(self.shape)}{instead}")
        return Key.of(self.words[(*items, slice(None))])

    def __len__(self) -> int:
        if not self.ndim:
            raise TypeError("key: one key has no length; tn.random.split(key, n) makes n keys")
        return int(self.shape[0])

    def __iter__(self) -> Iterator[Key]:
        return (self[place] for place in range(len(self)))

    def __eq__(self, other: object) -> Any:
        if not isinstance(other, Key):
            return NotImplemented
        return apply(_equal, self.words, other.words)

    __hash__ = None  # type: ignore[assignment]  # `==` is elementwise

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NoReturn:
        """Always raises: a key is not an array."""
        raise TypeError("key: a key is not an array; tn.random.key_data(key) is")

    def __repr__(self) -> str:
        try:
            return f"Key(shape={self.shape}, words={self.words.tolist()})"
        except (AttributeError, TracingError):
            return f"Key({self.words!r})"


_register: Any = optree.register_pytree_node  # whose stubs ask for a `Collection`
_register(
    Key,
    lambda key: ((key.words,), None, ("words",)),
    lambda _, children: Key.of(*children),
    namespace=NAMESPACE,
    path_entry_type=optree.GetAttrEntry,
)


def words_of(name: str, key: Any, *, several: bool = False) -> Any:
    """The words of a key that a user passes; raw words are taken too.

    Raises:
        DTypeError: it is not a key.
        ShapeError: it is an array of keys, unless `several`.
    """
    words = key.words if isinstance(key, Key) else key
    if not isinstance(words, _Tensors):
        if not is_array(words):
            raise DTypeError(f"{name}: a key is made by tn.random.key, got {type(key).__name__}")
        words = Tensor(words)
    meta: TensorMeta = words.meta
    if meta.dtype != UINT32 or not meta.rank or meta.dims is None or meta.dims[-1] != 2:
        raise DTypeError(f"{name}: a key is made by tn.random.key, or is u32[2], got {meta}")
    if meta.rank > 1 and not several:
        raise ShapeError(
            f"{name}: a key has shape (), got keys {shown(meta.dims[:-1])}; vmap over them"
        )
    return words


def shown(shape: Any) -> str:
    """A shape, as Python writes tuples."""
    sizes = ", ".join(str(size) for size in shape)
    return f"({sizes},)" if len(shape) == 1 else f"({sizes})"


def _equal(x: AnyTensor, y: AnyTensor) -> AnyTensor:
    same = logical.equal(x, y)
    return reductions.all(same, axis=-1)


# What functions of random numbers take: shapes, dtypes and parameters of distributions.

KINDS = {
    "f": "floating-point",
    "fc": "floating-point or complex",
    "iu": "an integer type",
    "iufc": "a number type",
    "u": "an unsigned integer type",
}


def draw(
    name: str,
    formula: Callable[..., Any],
    key: Any,
    *parameters: Any,
    shape: tuple[Dim, ...],
    **options: Any,
) -> AnyTensor:
    """What a formula makes of the words of a key and of parameters, at once or in a graph."""
    words = words_of(name, key)
    return create(formula, words, *map(lifted, parameters), shape=shape, **options)


def numbers(
    name: str,
    formula: Callable[..., Any],
    key: Any,
    shape: Shape | None,
    dtype: DTypeLike | None,
    *parameters: Any,
    kinds: str = "f",
    default: DType = FLOAT64,
    **options: Any,
) -> AnyTensor:
    """As `draw`, for a shape and a dtype as users pass them."""
    kind = element(name, dtype, kinds, default)
    result = sizes(name, shape, *parameters)
    return draw(name, formula, key, *parameters, shape=result, dtype=kind, **options)


def prepared(
    name: str,
    key: Any,
    shape: Shape | None,
    dtype: DTypeLike | None,
    kinds: str = "f",
    **parameters: Any,
) -> tuple[Any, ...]:
    """Dtype and sizes of a result, then its parameters as real arrays; the key is checked.

    Raises:
        DTypeError: it is not a key, dtype is not of the kinds, or a parameter is complex.
        ShapeError: it is an array of keys, or a parameter does not broadcast to the shape.
    """
    words_of(name, key)
    kind = element(name, dtype, kinds)
    result = sizes(name, shape, *parameters.values())
    real_kind = real_dtype(kind)
    arrays = [real_array(name, field, each, real_kind) for field, each in parameters.items()]
    return kind, result, *arrays


def lifted(parameter: Any) -> Any:
    """A parameter as an operand of array functions: lists become tensors."""
    if is_number(parameter) or isinstance(parameter, DimExpr) or is_array(parameter):
        return parameter
    return Tensor(parameter)


def sizes(name: str, shape: Shape | None, *parameters: Any) -> tuple[Dim, ...]:
    """The sizes of a result: those that are asked for, else those of the parameters.

    Raises:
        ExtentError: a size is negative.
        ShapeError: an item is not a size, or the parameters do not broadcast to the shape.
        TracingError: a size is a name, and no function is traced.
    """
    arrays = [lifted(each) for each in parameters if not is_number(each)]
    metas = [meta for each in arrays if (meta := meta_of_value(each)) is not None]
    return sizes_for(name, shape, metas)


def sizes_for(name: str, shape: Shape | None, metas: Sequence[TensorMeta]) -> tuple[Dim, ...]:
    """The sizes of a result, as `sizes` gives them for parameters of these types."""
    metas = [meta for meta in metas if meta.rank]
    if shape is None:
        return tuple(promotion.broadcast_shape(name, metas)) if metas else ()
    asked = manipulation.sizes_of(shape)
    check_named(name, *asked)
    result = tuple(map(dim, asked))
    if any(isinstance(size, int) and size < 0 for size in result):
        raise ExtentError(f"{name}: a size must not be negative, got shape {shown(result)}")
    for meta in metas:
        _check_fits(name, meta, result)
    return result


def _check_fits(name: str, meta: TensorMeta, shape: tuple[Dim, ...]) -> None:
    known = zip(meta.extents, shape[-meta.rank :], strict=False)
    fits = meta.rank <= len(shape) and all(_may_fit(extent, size) for extent, size in known)
    if not fits:
        raise ShapeError(f"{name}: a parameter {meta} does not broadcast to shape {shown(shape)}")


def _may_fit(extent: ShapeExtent, size: Dim) -> bool:
    """Whether an axis may be repeated to a size; sizes with names are compared where they meet."""
    if not (isinstance(extent, Exact) and isinstance(extent.dim, int) and isinstance(size, int)):
        return True
    return extent.dim in (1, size)


def element(
    name: str, dtype: DTypeLike | None, kinds: str = "f", default: DType = FLOAT64
) -> DType:
    """The dtype of a result.

    Raises:
        DTypeError: it is not of the kinds.
    """
    result = default if dtype is None else as_dtype(dtype)
    if result.kind not in kinds:
        raise DTypeError(f"{name}: dtype must be {KINDS[kinds]}, got {short_name(result)}")
    return result


def integer(name: str, what: str, value: object) -> int:
    """A Python integer.

    Raises:
        DTypeError: it is not one.
    """
    number = integer_of(value)
    if number is None:
        refuse_traced(name, what, value)
        raise DTypeError(f"{name}: {what} must be an integer, got {type(value).__name__}")
    return number


def natural(name: str, what: str, value: object) -> int:
    """An integer that is not negative.

    Raises:
        DTypeError: it is not an integer.
        ExtentError: it is negative.
    """
    result = integer(name, what, value)
    if result < 0:
        raise ExtentError(f"{name}: {what} must not be negative, got {result}")
    return result


def real_array(name: str, field: str, value: Any, dtype: DType) -> Any:
    """A real parameter as an array of `dtype`.

    Raises:
        DTypeError: it is complex.
    """
    array: Any = asarray(value)
    if array.dtype.kind == "c":
        raise DTypeError(f"{name}: {field} must be real, got {array.meta}")
    return array.astype(dtype)


def real(name: str, field: str, operand: Any, dtype: DType) -> AnyTensor:
    """A real parameter as a value of `dtype`.

    Raises:
        DTypeError: it is complex.
    """
    meta = None if is_number(operand) or isinstance(operand, DimExpr) else operand.meta
    if isinstance(operand, complex) or (meta is not None and meta.dtype.kind == "c"):
        got = "complex" if meta is None else meta
        raise DTypeError(f"{name}: {field} must be real, got {got}")
    return promotion.as_value(operand, dtype)


def number(value: float, dtype: DType) -> AnyTensor:
    """A constant."""
    return promotion.as_value(np.asarray(value, dtype).item(), dtype)


# Making keys: from seeds, from other keys, and from words.


def key(seed: ArrayLike) -> Key:
    """The key of a seed.

    Args:
        seed: an integer of 64 bits, or a scalar integer array.

    Raises:
        DTypeError: the seed is not an integer.

    >>> tn.random.key(0)
    Key(shape=(), words=[0, 0])
    """
    return Key.of(_seeded("random.key", seed))


def PRNGKey(seed: ArrayLike) -> AnyTensor:  # noqa: N802  # JAX's name
    """The words of the key of a seed, uint32[2]; they are taken wherever a key is.

    Raises:
        DTypeError: the seed is not an integer.

    >>> tn.random.PRNGKey(0)
    Tensor([0, 0], dtype=uint32)
    """
    return _seeded("random.PRNGKey", seed)


def _seeded(name: str, seed: Any) -> AnyTensor:
    if is_array(seed):
        meta = meta_of_value(seed)
        assert meta is not None
        if meta.dtype.kind not in "iu" or meta.rank:
            raise DTypeError(f"{name}: the seed must be an integer, got {meta}")
        return apply(threefry.seeded, seed)
    number = integer(name, "the seed", seed)
    if not -(1 << 63) <= number < 1 << 63:
        raise DTypeError(f"{name}: the seed must be an integer of 64 bits, got {number}")
    bits = number % (1 << 64)
    return Tensor(np.array([bits >> 32, bits % (1 << 32)], np.uint32))


def split(key: Key | ArrayLike, num: Shape = 2) -> Key | AnyTensor:
    """New keys that are independent of each other; the key must not be used again.

    Args:
        key: a key.
        num: the number of new keys, or the shape of an array of keys.

    Raises:
        DTypeError: it is not a key.
        ShapeError: it is an array of keys, or `num` has a negative size.

    >>> key = tn.random.key(0)
    >>> key, for_noise = tn.random.split(key)
    >>> tn.random.split(key, (2, 3)).shape
    (2, 3)
    """
    words = words_of("random.split", key)
    return _like(key, create(threefry.split, words, shape=sizes("random.split", num)))


def fold_in(key: Key | ArrayLike, data: ArrayLike) -> Key | AnyTensor:
    """The key that a key and an integer make; the key may be used again with other integers.

    Args:
        key: a key.
        data: an integer of 32 bits, such as the number of a step, or a scalar integer array.

    Raises:
        DTypeError: it is not a key, or data is not an integer.
        ShapeError: it is an array of keys.

    >>> tn.random.fold_in(tn.random.key(0), 1)
    Key(shape=(), words=[928981903, 3453687069])
    """
    words = words_of("random.fold_in", key)
    if is_array(data):
        meta = meta_of_value(data)
        assert meta is not None
        if meta.dtype.kind not in "iu" or meta.rank:
            raise DTypeError(f"random.fold_in: data must be an integer, got {meta}")
    else:
        number = integer("random.fold_in", "data", data)
        if not 0 <= number < 1 << 32:
            raise DTypeError(f"random.fold_in: data must be an integer of 32 bits, got {number}")
        data = Tensor(np.uint32(number))
    return _like(key, create(threefry.fold_in, words, data))


def _like(key: Any, words: AnyTensor) -> Key | AnyTensor:
    """The words as keys, if a key was given, else as they are."""
    return Key.of(words) if isinstance(key, Key) else words


def key_data(keys: Key | ArrayLike) -> AnyTensor:
    """The words of keys, uint32[..., 2].

    Raises:
        DTypeError: they are not keys.

    >>> tn.random.key_data(tn.random.key(7))
    Tensor([0, 7], dtype=uint32)
    """
    words: AnyTensor = words_of("random.key_data", keys, several=True)
    return words


def wrap_key_data(words: ArrayLike) -> Key:
    """The keys with these words, uint32[..., 2].

    Raises:
        DTypeError: the words are of another type.
        ShapeError: the last axis has not two elements.

    >>> tn.random.wrap_key_data(tn.array([0, 7], dtype="uint32")) == tn.random.key(7)
    Tensor(True)
    """
    value: Any = words if is_array(words) else Tensor(words)
    meta = meta_of_value(value)
    assert isinstance(meta, TensorMeta)
    if meta.dtype != UINT32:
        raise DTypeError(f"random.wrap_key_data: words must be u32[..., 2], got {meta}")
    if not meta.rank or meta.exact_shape("random.wrap_key_data", "words")[-1] != 2:
        raise ShapeError(f"random.wrap_key_data: words must be u32[..., 2], got {meta}")
    return Key.of(Tensor(value) if isinstance(value, np.ndarray) else value)
