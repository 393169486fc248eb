"""Keys, their bits by Threefry, and arguments of draws.

The counter of an element is its place in the result, in row-major order, whatever the size of the
result: this is the layout of `jax.random` (`jax_threefry_partitionable`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar, NoReturn, cast, overload

import numpy as np
import optree

from tenferro.errors import ConfigError, DTypeError, ExtentError, ShapeError, TracingError, class_of
from tenferro.ir import (
    FLOAT32,
    INT32,
    INT64,
    UINT32,
    UINT64,
    AnyTensor,
    ArrayLike,
    Axis,
    Dim,
    DimExpr,
    DType,
    DTypeLike,
    Exact,
    Order,
    Shape,
    TensorMeta,
    as_dtype,
    default_float,
    dim,
    dtype_kind,
    integer_of,
    product,
    real_dtype,
    refuse_traced,
    short_name,
)
from tenferro.numpy import asarray
from tenferro.numpy.dtypes import prng_key
from tenferro.ops import Iota, Threefry2x32, scalar
from tenferro.ops.functions import (
    apply,
    convert,
    emit,
    emit_all,
    enter_kind,
    is_number,
    logical,
    manipulation,
    promotion,
    reductions,
)
from tenferro.runtime import Tensor, is_array, meta_of_value
from tenferro.transforms import EagerTensor, TracedTensor, check_named, create, register_class

__all__ = [
    "Key",
    "PRNGKey",
    "clone",
    "fold_in",
    "key",
    "key_data",
    "key_impl",
    "split",
    "wrap_key_data",
]


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
    def shape(self) -> tuple[Dim, ...]:
        """The sizes of the array of keys; () for one key."""
        return tuple(self.words.shape[:-1])

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.words.shape) - 1

    @property
    def size(self) -> Dim:
        """Number of keys."""
        return product(self.shape)

    @property
    def dtype(self) -> KeyType:
        """The type of keys, which is no dtype of NumPy."""
        return KEY_TYPE

    @property
    def itemsize(self) -> int:
        """Bytes of a key."""
        return KEY_TYPE.itemsize

    @property
    def nbytes(self) -> Dim:
        """Bytes of all keys."""
        return self.size * KEY_TYPE.itemsize

    @property
    def device(self) -> Any:
        """Where the words are."""
        return self.words.device

    @property
    def sharding(self) -> Any:
        """How the words are divided among devices."""
        return self.words.sharding

    @property
    def is_fully_addressable(self) -> bool:
        """Whether all parts are in this process."""
        return bool(self.words.is_fully_addressable)

    @property
    def is_fully_replicated(self) -> bool:
        """Whether each device has all of it."""
        return bool(self.words.is_fully_replicated)

    @property
    def T(self) -> Key:  # noqa: N802  # NumPy's name
        """The axes in reverse order."""
        return self.transpose()

    @property
    def at(self) -> KeysAt:
        """Keys to change: `keys.at[i].set(key)` returns a changed copy; `.get()` returns them."""
        return KeysAt(self)

    def reshape(self, *shape: Shape, order: Order = "C") -> Key:
        """The keys in another shape; a size of -1 is inferred."""
        target = cast(Shape, shape[0] if len(shape) == 1 else shape)
        moved: Any = apply(manipulation.reshape, self, shape=target, order=order)
        return cast(Key, moved)

    def ravel(self, order: Order = "C") -> Key:
        """All keys along one axis."""
        return self.reshape((-1,), order=order)

    flatten = ravel

    def transpose(self, *axes: int | Sequence[int] | None) -> Key:
        """The axes in the order `axes`; reversed if there are none."""
        order = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes
        moved: Any = apply(manipulation.permute_dims, self, axes=order or None)
        return cast(Key, moved)

    def squeeze(self, axis: Axis = None) -> Key:
        """The keys without `axis`, of size 1; without all axes of size 1 if None."""
        moved: Any = apply(manipulation.squeeze, self, axis=axis)
        return cast(Key, moved)

    def swapaxes(self, axis1: int, axis2: int) -> Key:
        """Two axes exchanged."""
        moved: Any = apply(manipulation.swapaxes, self, axis1=axis1, axis2=axis2)
        return cast(Key, moved)

    def copy(self) -> Key:
        """The keys themselves: they cannot be changed."""
        return self

    def devices(self) -> set[str]:
        """The devices that have a part of the words."""
        found: set[str] = self.words.devices()
        return found

    def is_deleted(self) -> bool:
        """Whether the memory of the words has been freed."""
        return bool(self.words.is_deleted())

    def delete(self) -> None:
        """Free the memory of the words on a device."""
        self.words.delete()

    def copy_to_host_async(self) -> None:
        """Begin to copy the words to the host."""
        self.words.copy_to_host_async()

    def block_until_ready(self) -> Key:
        """The keys, once they are computed."""
        self.words.block_until_ready()
        return self

    def to_device(self, device: Any, *, stream: None = None) -> Key:
        """The keys on a device."""
        return Key.of(self.words.to_device(device, stream=stream))

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
        if not (is_array(self.words) and is_array(other.words)):
            return self.words == other.words  # what a function of trees put into the leaf
        return apply(_equal, self.words, other.words)

    def __ne__(self, other: object) -> Any:
        return ~(self == other) if isinstance(other, Key) else NotImplemented

    __hash__ = None  # type: ignore[assignment]  # `==` is elementwise

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NoReturn:
        """Always raises: a key is not an array."""
        raise TypeError("key: a key is not an array; tn.random.key_data(key) is")

    def __repr__(self) -> str:
        try:
            return f"Key(shape={self.shape}, words={self.words.tolist()})"
        except (AttributeError, TracingError):
            return f"Key({self.words!r})"


class KeyType:
    """The type of keys, as they say of themselves; it is no dtype of NumPy."""

    name = "key<fry>"
    itemsize = 8
    type = prng_key

    def __repr__(self) -> str:
        return self.name


KEY_TYPE = KeyType()


class KeysAt:
    """Keys to change: what `Key.at` returns; `[index]` names them."""

    __slots__ = ("_index", "_keys")

    def __init__(self, keys: Key, index: tuple[Any, ...] = ()) -> None:
        self._keys, self._index = keys, index

    def __getitem__(self, index: Any) -> KeysAt:
        return KeysAt(self._keys, index if isinstance(index, tuple) else (index,))

    def get(self, **options: Any) -> Key:
        """The keys at the index; options are those of `x.at[i].get`."""
        return Key.of(self._keys.words.at[(*self._index, slice(None))].get(**options))

    def set(self, keys: Key, **options: Any) -> Key:
        """A copy with other keys at the index; options are those of `x.at[i].set`.

        Raises:
            DTypeError: `keys` are no keys.
        """
        if not isinstance(keys, Key):
            raise DTypeError(f"key: at[...].set takes keys, got {class_of(keys)}")
        changed = self._keys.words.at[(*self._index, slice(None))]
        return Key.of(changed.set(keys.words, **options))


# Array functions that move elements take keys: they are applied to each of the two words.

_MOVES = frozenset(
    (
        *("append", "broadcast_arrays", "broadcast_to", "concat", "dstack", "expand_dims", "flip"),
        *("dynamic_slice", "dynamic_update_slice", "full", "piece", "slice"),
        *("full_like", "hstack", "index", "moveaxis", "permute_dims", "ravel", "repeat", "reshape"),
        *("roll", "squeeze", "stack", "swapaxes", "take", "take_along_axis", "tile", "unstack"),
        *("vstack", "where", "matrix_transpose", "diagonal", "atleast_1d", "atleast_2d"),
        *("atleast_3d", "entries", "concatenate", "select", "zeros_like", "empty_like", "rot90"),
    )
)
_WITH_OTHERS = {
    **dict.fromkeys(("where", "select"), slice(1, 3)),
    **dict.fromkeys(("index", "take", "take_along_axis", "dynamic_slice"), slice(0, 1)),
    "dynamic_update_slice": slice(0, 2),
}
"""Of functions that take other arrays than keys, the places of the keys."""


def _on_keys(
    function: Callable[..., Any], operands: tuple[Any, ...], options: dict[str, Any], operator: bool
) -> Any:
    name = function.__name__
    if name not in _MOVES:
        raise DTypeError(
            f"{name}: keys are no numbers; tn.random.key_data(keys) are the words of keys"
        )
    for each in operands[_WITH_OTHERS.get(name, slice(None))]:
        if not isinstance(each, Key):
            raise DTypeError(f"{name}: keys go with keys only, got {class_of(each)}")

    def of_word(place: int) -> Any:
        own = [each.words[..., place] if isinstance(each, Key) else each for each in operands]
        return apply(function, *own, **options)

    left, right = of_word(0), of_word(1)
    if isinstance(left, tuple | list):
        return [_paired(*pair) for pair in zip(left, right, strict=True)]
    return _paired(left, right)


def _paired(left: Any, right: Any) -> Key:
    return Key.of(apply(manipulation.stack, left, right, axis=-1))


enter_kind(Key, 4, _on_keys)

register_class(
    Key,
    lambda key: ((key.words,), None, ("words",)),
    lambda _, children: Key.of(*children),
    optree.GetAttrEntry,
)


def words_of(name: str, key: Any, *, several: bool = False) -> Any:
    """The words of a key that a user passes; raw words are taken too."""
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


# Random words and bits of a key, and keys made of keys.

_WORD = 1 << 32


def encrypted(
    key: AnyTensor, counts: tuple[AnyTensor, AnyTensor], shape: tuple[Dim, ...], purpose: str
) -> tuple[AnyTensor, AnyTensor]:
    """The two words for each counter.

    Args:
        key: the words of keys, u32[..., 2].
        counts: the words of counters, which broadcast to `shape`.
        shape: that of the counters of one key; the result has the axes of the keys before it.
        purpose: what the words are for; see `Threefry2x32`.
    """
    keys = key.meta.exact_shape("random", "key")[:-1]
    words = []
    for place in range(2):
        word = manipulation.piece(key, len(keys), place, place + 1, drop=True)
        word = manipulation.expand_dims(word, tuple(range(len(keys), len(keys) + len(shape))))
        words.append(promotion.broadcast_to(word, (*keys, *shape)))
    counters = [promotion.broadcast_to(count, (*keys, *shape)) for count in counts]
    left, right = emit_all(Threefry2x32(purpose), *words, *counters)
    return left, right


def counters(shape: tuple[Dim, ...]) -> tuple[AnyTensor, AnyTensor]:
    """The high and the low word of the place of each element."""
    size = product(shape)
    zero = emit(scalar(0, UINT32))
    if not shape:
        return zero, zero
    if isinstance(size, int) and size <= _WORD:
        return zero, manipulation.reshape(emit(Iota(UINT32, size)), shape)
    places = manipulation.reshape(emit(Iota(UINT64, size)), shape)
    return (places >> 32).astype(UINT32), places.astype(UINT32)


def drawn_words(
    key: AnyTensor, shape: tuple[Dim, ...], purpose: str
) -> tuple[AnyTensor, AnyTensor]:
    """Two random words for each element."""
    return encrypted(key, counters(shape), shape, purpose)


def drawn_bits(key: AnyTensor, shape: tuple[Dim, ...], dtype: DType, purpose: str) -> AnyTensor:
    """Random bits as unsigned integers of `dtype`."""
    left, right = drawn_words(key, shape, purpose)
    if dtype == UINT64:
        return left.astype(UINT64) << 32 | right.astype(UINT64)
    return (left ^ right).astype(dtype)


def split_words(key: AnyTensor, *, shape: tuple[Dim, ...], purpose: str = "split") -> AnyTensor:
    """The words of `shape` new keys: what the key makes of their places."""
    left, right = drawn_words(key, shape, purpose)
    return manipulation.stack(left, right, axis=-1)


def fold_words(key: AnyTensor, data: Any) -> AnyTensor:
    """The words of the key that a key makes of an integer."""
    zero = emit(scalar(0, UINT32))
    left, right = encrypted(key, (zero, convert(data, UINT32)), (), "fold_in")
    return manipulation.stack(left, right, axis=-1)


def seed_words(seed: AnyTensor) -> AnyTensor:
    """The words of the key of a seed: the high and the low word of the integer."""
    wide = seed.dtype.itemsize == 8
    bits = seed.astype(UINT64)
    high = (bits >> 32 if wide else bits * 0).astype(UINT32)
    return manipulation.stack(high, bits.astype(UINT32), axis=-1)


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
    default: DType | None = None,
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
    """Dtype and sizes of a result, then its parameters as real arrays; the key is checked."""
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
    """The sizes of a result: those that are asked for, else those of the parameters."""
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
        pairs = zip(meta.extents, result[-meta.rank :], strict=False)
        dims = [(extent.dim, size) for extent, size in pairs if isinstance(extent, Exact)]
        known = [pair for pair in dims if all(isinstance(each, int) for each in pair)]
        misfit = any(own not in (1, size) for own, size in known)  # names are compared later
        if meta.rank > len(result) or misfit:
            raise ShapeError(
                f"{name}: a parameter {meta} does not broadcast to shape {shown(result)}"
            )
    return result


_NARROW = {INT64: INT32, UINT64: UINT32}


def element(
    name: str, dtype: DTypeLike | None, kinds: str = "f", default: DType | None = None
) -> DType:
    """The dtype of a result; without a `default` it is the default float.

    Where that is float32, a default is of 32 bits, too.
    """
    result = as_dtype(default if dtype is None else dtype)
    if dtype is None and default_float() == FLOAT32:
        result = _NARROW.get(result, result)
    if dtype_kind(result) not in kinds:
        raise DTypeError(f"{name}: dtype must be {KINDS[kinds]}, got {short_name(result)}")
    return result


def integer(name: str, what: str, value: object) -> int:
    """A Python integer."""
    number = integer_of(value)
    if number is None:
        refuse_traced(name, what, value)
        raise DTypeError(f"{name}: {what} must be an integer, got {type(value).__name__}")
    return number


def natural(name: str, what: str, value: object) -> int:
    """An integer that is not negative."""
    result = integer(name, what, value)
    if result < 0:
        raise ExtentError(f"{name}: {what} must not be negative, got {result}")
    return result


def real_array(name: str, field: str, value: Any, dtype: DType) -> Any:
    """A real parameter as an array of `dtype`."""
    array: Any = asarray(value)
    if dtype_kind(array.dtype) == "c":
        raise DTypeError(f"{name}: {field} must be real, got {array.meta}")
    return array.astype(dtype)


def real(name: str, field: str, operand: Any, dtype: DType) -> AnyTensor:
    """A real parameter as a value of `dtype`."""
    meta = None if is_number(operand) or isinstance(operand, DimExpr) else operand.meta
    if isinstance(operand, complex) or (meta is not None and dtype_kind(meta.dtype) == "c"):
        got = "complex" if meta is None else meta
        raise DTypeError(f"{name}: {field} must be real, got {got}")
    return promotion.as_value(operand, dtype)


def number(value: float, dtype: DType) -> AnyTensor:
    """A constant."""
    return promotion.as_value(np.asarray(value, dtype).item(), dtype)


# Making keys: from seeds, from other keys, and from words.


def key(seed: ArrayLike, *, impl: object = None) -> Key:
    """The key of a seed.

    Args:
        seed: an integer of 64 bits, or a scalar integer array.
        impl: None or `"threefry2x32"`, the only kind of keys.

    Raises:
        DTypeError: the seed is not an integer.
        ConfigError: there are no keys of this kind.

    >>> tn.random.key(0)
    Key(shape=(), words=[0, 0])
    """
    _check_kind("random.key", impl)
    return Key.of(_seeded("random.key", seed))


def PRNGKey(seed: ArrayLike, *, impl: object = None) -> AnyTensor:  # noqa: N802  # JAX's name
    """The words of the key of a seed, uint32[2]; they are taken wherever a key is.

    Raises:
        DTypeError: the seed is not an integer.
        ConfigError: `impl` is another kind of keys than `"threefry2x32"`.

    >>> tn.random.PRNGKey(0)
    Tensor([0, 0], dtype=uint32)
    """
    _check_kind("random.PRNGKey", impl)
    return _seeded("random.PRNGKey", seed)


def _check_kind(name: str, impl: object) -> None:
    """Raise ConfigError unless keys are asked for that are there."""
    kind = getattr(impl, "name", impl)
    if kind is not None and kind not in ("threefry2x32", "fry"):
        raise ConfigError(
            f"{name}: impl must be 'threefry2x32', JAX's default and the only kind of keys, "
            f"got {impl!r}"
        )


def _seeded(name: str, seed: Any) -> AnyTensor:
    if is_array(seed):
        meta = meta_of_value(seed)
        assert meta is not None
        if dtype_kind(meta.dtype) not in "iu" or meta.rank:
            raise DTypeError(f"{name}: the seed must be an integer, got {meta}")
        return apply(seed_words, seed)
    number = integer(name, "the seed", seed)
    if not -(1 << 63) <= number < 1 << 63:
        raise DTypeError(f"{name}: the seed must be an integer of 64 bits, got {number}")
    bits = number % (1 << 64)
    return Tensor(np.array([bits >> 32, bits % (1 << 32)], np.uint32))


@overload
def split(key: Key, num: Shape = 2) -> Key: ...  # type: ignore[overload-overlap]  # a class could be both


@overload
def split(key: ArrayLike, num: Shape = 2) -> AnyTensor: ...


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
    return _like(key, create(split_words, words, shape=sizes("random.split", num)))


@overload
def fold_in(key: Key, data: ArrayLike) -> Key: ...  # type: ignore[overload-overlap]  # a class could be both


@overload
def fold_in(key: ArrayLike, data: ArrayLike) -> AnyTensor: ...


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
        if dtype_kind(meta.dtype) not in "iu" or meta.rank:
            raise DTypeError(f"random.fold_in: data must be an integer, got {meta}")
    else:
        number = integer("random.fold_in", "data", data)
        if not 0 <= number < 1 << 32:
            raise DTypeError(f"random.fold_in: data must be an integer of 32 bits, got {number}")
        data = Tensor(np.uint32(number))
    return _like(key, create(fold_words, words, data))


def _like(key: Any, words: AnyTensor) -> Key | AnyTensor:
    """The words as keys, if a key was given, else as they are."""
    return Key.of(words) if isinstance(key, Key) else words


def key_impl(keys: Any) -> str:
    """The name of the kind of keys, of which there is one.

    >>> tn.random.key_impl(tn.random.key(0))
    'threefry2x32'
    """
    words_of("random.key_impl", keys, several=True)
    return "threefry2x32"


def clone(key: Key) -> Key:
    """The same key, to be used again on purpose; see `TENFERRO_CHECK_KEYS`.

    >>> tn.random.clone(tn.random.key(0))
    Key(shape=(), words=[0, 0])
    """
    words = words_of("random.clone", key, several=True)
    return Key.of(words * 1) if isinstance(key, Key) else words


def key_data(keys: Key | ArrayLike) -> AnyTensor:
    """The words of keys, uint32[..., 2].

    Raises:
        DTypeError: they are not keys.

    >>> tn.random.key_data(tn.random.key(7))
    Tensor([0, 7], dtype=uint32)
    """
    words: AnyTensor = words_of("random.key_data", keys, several=True)
    return words


def wrap_key_data(key_bits_array: ArrayLike, *, impl: object = None) -> Key:
    """The keys with these words, uint32[..., 2].

    Raises:
        ConfigError: `impl` is another kind of keys than `"threefry2x32"`.
        DTypeError: the words are of another type.
        ShapeError: the last axis has not two elements.

    >>> tn.random.wrap_key_data(tn.array([0, 7], dtype="uint32")) == tn.random.key(7)
    Tensor(True)
    """
    _check_kind("random.wrap_key_data", impl)
    value: Any = key_bits_array if is_array(key_bits_array) else Tensor(key_bits_array)
    meta = meta_of_value(value)
    assert isinstance(meta, TensorMeta)
    if meta.dtype != UINT32:
        raise DTypeError(f"random.wrap_key_data: words must be u32[..., 2], got {meta}")
    if not meta.rank or meta.exact_shape("random.wrap_key_data", "words")[-1] != 2:
        raise ShapeError(f"random.wrap_key_data: words must be u32[..., 2], got {meta}")
    return Key.of(Tensor(value) if isinstance(value, np.ndarray) else value)
