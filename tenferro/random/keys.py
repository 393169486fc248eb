"""Keys: what random numbers are made from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, ClassVar, NoReturn

import optree

from tenferro.arrays import Expression, apply, logical, reductions
from tenferro.chainrules import Emitter, V
from tenferro.dispatch import apply as run
from tenferro.eager import EagerTensor
from tenferro.errors import DTypeError, ShapeError, TracingError
from tenferro.runtime import Tensor
from tenferro.shape import UINT32, TensorMeta
from tenferro.traced import NAMESPACE, TracedTensor
from tenferro.values import is_array

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
        return run(_equal, self.words, other.words)

    __hash__ = None  # type: ignore[assignment]  # `==` is elementwise

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NoReturn:
        """Always raises: a key is not an array."""
        raise TypeError("key: a key is not an array; tn.random.key_data(key) is")

    def __repr__(self) -> str:
        try:
            return f"Key(shape={self.shape}, words={self.words.tolist()})"
        except (AttributeError, TracingError):
            return f"Key({self.words!r})"


def _children(key: Any) -> tuple[tuple[Any], None, tuple[str]]:
    return (key.words,), None, ("words",)


def _rebuilt(_: Any, children: Iterable[Any]) -> Any:
    return Key.of(*children)


_as_tree: Any = Key  # which is no `Collection`, as the stubs of optree ask for
optree.register_pytree_node(
    _as_tree,
    _children,
    _rebuilt,
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
            raise DTypeError(f"{name}: a key is made by tn.random.key, got {_kind(key)}")
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


def _kind(key: object) -> str:
    return type(key).__name__


def _equal(at: Emitter[V], x: V, y: V) -> V:
    same = apply(logical.equal, Expression(at, x), Expression(at, y))
    return apply(reductions.all, same, axis=-1).value  # type: ignore[no-any-return]
