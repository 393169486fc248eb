"""`jax.flatten_util`: a tree of arrays as one vector."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

from tenferro import tree
from tenferro.errors import DTypeError, ShapeError
from tenferro.ir import AnyTensor, DType, PyTree, dtype_kind
from tenferro.missing_names import attributes
from tenferro.numpy import asarray, concatenate, result_type, zeros
from tenferro.transforms import leaf_meta

__all__ = ["ravel_pytree"]


def ravel_pytree(pytree: PyTree) -> tuple[AnyTensor, Callable[[Any], PyTree]]:
    """All elements of a tree of arrays as one vector, and the function that makes trees of vectors.

    The vector has the dtype to which those of the leaves promote. In the trees that are made again
    each leaf has its own shape and dtype; if all leaves have one dtype, it is that of the vector
    that is passed.

    Raises:
        PytreeError: a leaf is not an array.
        ShapeError: the vector does not have the size.
        DTypeError: the leaves have several dtypes, and the vector does not have theirs.

    >>> import tenferro as tn
    >>> vector, unravel = tn.flatten_util.ravel_pytree({"w": tn.ones((2, 2)), "b": 3.0})
    >>> vector
    Tensor([3., 1., 1., 1., 1.])
    >>> unravel(2 * vector)["b"]
    Tensor(6.)
    """
    leaves, structure = tree.flatten(pytree)
    metas = [leaf_meta(leaf, f"ravel_pytree: leaf {at}") for at, leaf in enumerate(leaves)]
    shapes = [meta.exact_shape("ravel_pytree") for meta in metas]
    dtypes = [meta.dtype for meta in metas]
    sizes = [prod(shape) for shape in shapes]
    common = result_type(*dtypes) if dtypes else zeros(0).dtype
    parts = [asarray(leaf).astype(common).reshape(-1) for leaf in leaves]
    vector = concatenate(parts) if parts else zeros(0)
    total = sum(sizes)

    def unravel(vector: Any) -> PyTree:
        array = asarray(vector)
        if array.shape != (total,):
            raise ShapeError(
                f"unravel: takes a vector of {total} elements, got one of shape {array.shape}"
            )
        own = [array.dtype] * len(dtypes) if len({*dtypes}) < 2 else dtypes
        if own is dtypes and array.dtype != common:
            raise DTypeError(
                f"unravel: takes a vector of {common}, got {array.dtype}; convert it with astype"
            )
        start, made = 0, []
        for shape, size, dtype in zip(shapes, sizes, own, strict=True):
            part = array[start : start + size].reshape(shape)
            made.append(_converted(part, dtype))
            start += size
        return tree.unflatten(structure, made)

    return vector, unravel


def _converted(part: AnyTensor, dtype: DType) -> AnyTensor:
    """A part in the dtype of its leaf, which may drop an imaginary part."""
    if part.dtype == dtype:
        return part
    return (
        part.real if dtype_kind(part.dtype) == "c" and dtype_kind(dtype) != "c" else part
    ).astype(dtype)


__getattr__, __dir__ = attributes("tenferro.flatten_util", __all__)
