"""The family of callbacks: functions of the user that run on the host while a program runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NoReturn, Self, get_args

import numpy as np

from tenferro.core import Batched, BatchSite, Emitter, V
from tenferro.errors import BackendFailureError, UnsupportedADRuleError
from tenferro.families.composite import (
    DTypes,
    FamilyOp,
    FormulaSite,
    OutputTypes,
    Shapes,
    Terms,
    family_package,
)
from tenferro.ir import Dim, DType, Handle, NumpyArray, TensorMeta, fresh_token, is_inexact
from tenferro.ops import Reshape
from tenferro.ops.extension import (
    Extension,
    family_id,
    one_by_one,
    unaliased,
)

__all__ = ["CALLBACK", "METHODS", "Callback", "HostFunction", "VmapMethod"]

VmapMethod = Literal["sequential", "expand_dims", "broadcast_all"]
METHODS: tuple[str, ...] = get_args(VmapMethod)
_KINDS = "biufc"
"""Kinds of dtypes; a Python number is converted to one that is not before its own."""


class HostFunction(Handle):
    """A function of NumPy arrays that returns a sequence of arrays. Compared by identity.

    Attributes:
        name: what errors call it: `pure_callback f`.
        function: the function.
    """

    def __init__(self, name: str, function: Callable[..., Sequence[Any]]) -> None:
        self.name = name
        self.function = function
        self._token = fresh_token()

    @property
    def token(self) -> bytes:
        """Bytes of this function alone."""
        return self._token

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def __str__(self) -> str:
        return self.name


@family_id(namespace="tenferro", name="callback", version=1)
@dataclass(frozen=True)
class Callback(FamilyOp):
    """Calls a function of the user on the host.

    Attributes:
        function: the function.
        inputs: number of operands.
        results: dtype and shape of each result, for one entry of a batch.
        method: how it is called for a batch, as in `jax.pure_callback`.
        axes: for each leading axis of a batch, the operand that has its size.
    """

    function: HostFunction
    inputs: int
    results: tuple[tuple[DType, tuple[int, ...]], ...]
    method: VmapMethod = "sequential"
    axes: tuple[int, ...] = ()

    @property
    def input_count(self) -> int:
        """The number of operands."""
        return self.inputs

    @property
    def output_count(self) -> int:
        """The number of results."""
        return len(self.results)

    def infer_output_meta(self, input_dtypes: DTypes, input_shapes: Shapes) -> OutputTypes:
        """The declared types, with the axes of the batch in front."""
        batch = tuple([input_shapes[operand][axis] for axis, operand in enumerate(self.axes)])
        return [(dtype, (*batch, *shape)) for dtype, shape in self.results]

    def kernel(self, *inputs: NumpyArray) -> Sequence[NumpyArray]:
        """What the function returns.

        Raises:
            BackendFailureError: the function failed, or returned values of other types.
        """
        types = [array.dtype for array in inputs], [array.shape for array in inputs]
        try:
            results = unaliased(self.function.function(*[_read_only(array) for array in inputs]))
        except BackendFailureError:
            raise
        except Exception as error:
            self.refuse(f"raised {type(error).__name__}: {error}", error)
        expected = self.infer_output_meta(*types)
        return [
            self._checked(place, value, dtype, shape)
            for place, (value, (dtype, shape)) in enumerate(zip(results, expected, strict=True))
        ]

    def jvp(self, at: FormulaSite) -> Terms:
        """No tangents of integers; for others an error."""
        if any(is_inexact(dtype) for dtype, _ in self.results):
            raise UnsupportedADRuleError(
                self.family_id,
                "linearize",
                f"{self.function} has no derivative; wrap it in custom_jvp, or stop the gradient "
                "of its arguments with lax.stop_gradient",
            )
        return [None] * len(self.results)

    def batch(self, at: BatchSite[V]) -> Batched[V]:
        """One call for each entry, or one call on whole batches, as `method` says."""
        if self.method == "sequential":
            return one_by_one(Extension(self), at)
        whole = replace(self, axes=(at.batched.index(True), *self.axes))
        operands = [_with_axis(at, place, self.method) for place in range(len(at.inputs))]
        return tuple([(value, True) for value in at.emitter.emit_all(Extension(whole), *operands)])

    def refuse(self, problem: str, cause: Exception | None = None) -> NoReturn:
        """Raise BackendFailureError in the name of the function."""
        text = f"{self.function} ({self.family_id}): {problem}"
        raise BackendFailureError(self.family_id, text, "callback") from cause

    def _checked(self, place: int, value: Any, dtype: DType, shape: Sequence[Dim]) -> NumpyArray:
        if isinstance(value, tuple | dict):
            self.refuse(f"result {place} is a {type(value).__name__}, not an array")
        expected = TensorMeta.of(dtype, shape)
        try:
            array = np.asarray(value)
            got = TensorMeta.of(array.dtype, array.shape)
            is_plain = isinstance(value, bool | int | float | complex | list)
            if is_plain and _KINDS.index(array.dtype.kind) <= _KINDS.index(dtype.kind):
                array = np.asarray(value, dtype)
        except (ValueError, TypeError, OverflowError) as error:
            self.refuse(
                f"result {place} is a {type(value).__name__}, which is not {expected}: {error}",
                error,
            )
        if array.dtype != dtype or array.shape != tuple(shape):
            self.refuse(f"result {place} is {got}, but result_shape_dtypes says {expected}")
        return array


def _with_axis(at: BatchSite[V], place: int, method: VmapMethod) -> V:
    """An operand with an axis for the batch, which has size 1 if it is expanded."""
    if at.batched[place] or method == "broadcast_all":
        return at.repeated(place)
    return _expanded(at.emitter, at.inputs[place])


def _expanded(at: Emitter[V], value: V) -> V:
    shape = at.ctx.meta(value).exact_shape("pure_callback")
    return at.emit(Reshape((1, *shape)), value)


def _read_only(array: NumpyArray) -> NumpyArray:
    view = np.asarray(array).view()
    view.flags.writeable = False
    return view


CALLBACK = family_package("tenferro-callback", Callback)
