"""The walk over a jaxpr, which records the ops of each equation."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import jax
import numpy as np

import tenferro
from tenferro.core import GlobalValKey, Input, ResolvedView, resolve_keys
from tenferro.errors import ExecutorError, TenferroError
from tenferro.ir import UINT32, NumpyArray, TensorMeta, as_dtype, fresh_input
from tenferro.ops import BroadcastInDim, StdTensorOp, replay
from tenferro.transforms import TracedTensor, TraceEmitter, as_key, capture

__all__ = ["Reader", "Translation", "is_key", "meta_of"]

Keys = Sequence[GlobalValKey]
Translation = Callable[["Reader", Any, list[GlobalValKey]], GlobalValKey | Keys]
"""From the reader, an equation and its operands to its result, or to its results."""

_LIBRARY = os.path.dirname(os.path.abspath(os.__file__)) + os.sep
_PACKAGES = tuple(
    os.path.join(folder, "")
    for folder in (
        *(os.path.dirname(os.path.abspath(str(module.__file__))) for module in (jax, tenferro)),
        str(Path(__file__).resolve().parents[2]),
    )
)
"""The folders of JAX and of tenferro's packages, whose frames are not the user's."""


class Reader(TraceEmitter):
    """Records the ops of a jaxpr; `site` is the line of the equation that is read.

    Attributes:
        table: the translation of each primitive, by its name.
        otherwise: from an equation of one that is not in the table to its results.
        x64: whether JAX's 64-bit mode is on where functions are traced that the jaxpr holds.
        captured: the arrays that it met and that are not constants, but inputs of the graph.
    """

    __slots__ = ("_arrays", "captured", "otherwise", "table", "x64")

    def __init__(
        self,
        table: Mapping[str, Translation],
        x64: bool,
        otherwise: Callable[[Reader, Any, list[GlobalValKey]], Keys],
    ) -> None:
        super().__init__()
        self.captured: dict[Input, None] = {}
        self.table = table
        self.x64 = x64
        self.otherwise = otherwise
        self._arrays: dict[int, tuple[Any, GlobalValKey]] = {}

    def read(self, jaxpr: Any, inputs: Keys) -> list[GlobalValKey]:
        """The outputs of a jaxpr, closed or not, for the given inputs.

        Raises:
            ExecutorError: a primitive has no counterpart; names the first.
        """
        open_jaxpr, consts = getattr(jaxpr, "jaxpr", jaxpr), getattr(jaxpr, "consts", ())
        values: dict[Any, GlobalValKey] = dict(zip(open_jaxpr.invars, inputs, strict=True))
        for variable, const in zip(open_jaxpr.constvars, consts, strict=True):
            values[variable] = self._const(const)

        def value_of(atom: Any) -> GlobalValKey:
            if hasattr(atom, "val"):
                return self.constant(np.asarray(atom.val, dtype=atom.aval.dtype))
            return values[atom]

        outer = self.site
        for equation in open_jaxpr.eqns:
            self.site = site_of(equation) or outer
            results = self._equation(equation, [value_of(atom) for atom in equation.invars])
            values.update(zip(equation.outvars, results, strict=True))
        self.site = outer
        return [value_of(atom) for atom in open_jaxpr.outvars]

    def body(self, jaxpr: Any) -> JaxprBody:
        """A jaxpr as a graph of its own."""
        reader = self.fresh()
        variables = getattr(jaxpr, "jaxpr", jaxpr).invars
        inputs = [
            fresh_input(meta_of(variable.aval), f"x{number}")
            for number, variable in enumerate(variables)
        ]
        outputs = reader.read(jaxpr, inputs)
        self.captured.update(reader.captured)
        return JaxprBody([*inputs], outputs, list(reader.captured))

    def fresh(self) -> Reader:
        """A reader for another graph at this place, which knows the arrays that this one met."""
        reader = Reader(self.table, self.x64, self.otherwise)
        reader.site, reader._arrays = self.site, self._arrays
        return reader

    def constant(self, array: NumpyArray) -> GlobalValKey:
        """An array as a value of the graph."""
        key = capture(array)
        if isinstance(key, Input):
            self.captured[key] = None
        return key

    def spread(self, x: GlobalValKey, shape: tuple[int, ...]) -> GlobalValKey:
        """A value repeated to `shape`: JAX allows operands that are scalars or have size 1."""
        meta = self.ctx.meta(x)
        if meta.dims == shape:
            return x
        return self.emit(BroadcastInDim(shape, tuple(range(meta.rank))), x)

    def apply(self, function: Callable[..., Any], *operands: GlobalValKey) -> list[GlobalValKey]:
        """The results of a function of traced arrays, whose ops have the line of the equation."""
        inputs: list[GlobalValKey] = [
            fresh_input(self.ctx.meta(x), f"x{number}") for number, x in enumerate(operands)
        ]
        result = function(*map(TracedTensor, inputs))
        outputs = list(map(as_key, result if isinstance(result, list | tuple) else [result]))
        view: ResolvedView[StdTensorOp] = resolve_keys()
        _, met = view.topo_order(outputs, leaves=inputs)
        known: dict[GlobalValKey, GlobalValKey] = dict(zip(inputs, operands, strict=True))
        for key in met:
            self.captured[key] = None
            known[key] = key
        return [key for key in replay(self, outputs, known) if key is not None]

    def function(self, jaxpr: Any) -> Callable[..., tuple[TracedTensor, ...]]:
        """A jaxpr as a function of traced arrays."""

        def function(*xs: Any) -> tuple[TracedTensor, ...]:
            reader = self.fresh()
            results = reader.read(jaxpr, [as_key(x) for x in xs])
            self.captured.update(reader.captured)
            return tuple([TracedTensor(key) for key in results])

        return function

    def refuse(self, equation: Any, reason: str) -> ExecutorError:
        """The error for an equation, with its primitive and its line."""
        place = "" if self.site is None else f" at {self.site}"
        return ExecutorError(f"from_jax: {equation.primitive.name!r}{place} {reason}")

    def _const(self, const: Any) -> GlobalValKey:
        """The value of an array that a jaxpr holds; the same array is the same value."""
        _, key = self._arrays.get(id(const), (None, None))
        if key is None:
            key = self.constant(np.asarray(jax.random.key_data(const) if is_key(const) else const))
            self._arrays[id(const)] = (const, key)
        elif isinstance(key, Input):
            self.captured[key] = None
        return key

    def _equation(self, equation: Any, operands: list[GlobalValKey]) -> Keys:
        translation = self.table.get(equation.primitive.name)
        if translation is None:
            return self.otherwise(self, equation, operands)
        try:
            made = translation(self, equation, operands)
        except TenferroError as error:
            place = "" if self.site is None else f" at {self.site}"
            error.add_note(f"from_jax: while it read {equation.primitive.name!r}{place}")
            raise
        results = (made,) if isinstance(made, GlobalValKey) else made
        for result, variable in zip(results, equation.outvars, strict=True):
            meta, expected = self.ctx.meta(result), meta_of(variable.aval)
            assert meta == expected, (
                f"from_jax: {equation.primitive.name!r} is read as {meta}, but it is {expected}"
            )
        return results


def of_parameters(make: Callable[[Any], StdTensorOp]) -> Translation:
    """A primitive that is one op, which `make` reads off the parameters of an equation."""
    return lambda at, equation, operands: at.emit(make(equation.params), *operands)


def of_function(function: Callable[..., Any]) -> Translation:
    """A primitive that is a function of arrays, which takes its parameters, then its operands."""
    return lambda at, equation, operands: at.apply(partial(function, equation.params), *operands)


class JaxprBody:
    """A jaxpr as a graph of its own.

    Attributes:
        inputs: a new value of a graph for each input of the jaxpr.
        outputs: the value of each output.
        captured: the arrays that it reads in addition to the inputs.
    """

    def __init__(self, inputs: Keys, outputs: Keys, captured: Keys) -> None:
        self.inputs = inputs
        self.outputs = outputs
        self.captured = captured


def is_key(typed: Any) -> bool:
    """Whether a value or a type of JAX is that of random keys."""
    return bool(jax.numpy.issubdtype(typed.dtype, jax.dtypes.prng_key))


def meta_of(aval: Any) -> TensorMeta:
    """The type of what stands for a value of JAX; for random keys that of their words.

    Raises:
        ExecutorError: it is a key whose bits tn.random does not make.
    """
    if not is_key(aval):
        return TensorMeta.of(as_dtype(aval.dtype), integers(aval.shape))
    if "fry" not in str(aval.dtype):
        raise ExecutorError(
            f"from_jax: {aval.dtype} is a key that does not make the bits of tn.random; use "
            "jax.random.key(seed), or pass the numbers in"
        )
    return TensorMeta.of(UINT32, (*integers(aval.shape), 2))


def integers(values: Iterable[Any]) -> tuple[int, ...]:
    """Parameters as Python integers; some are NumPy's."""
    return tuple([int(value) for value in values])


def shape_of(equation: Any, output: int = 0) -> tuple[int, ...]:
    return integers(equation.outvars[output].aval.shape)


def site_of(equation: Any) -> str | None:
    """`file.py:12` of the innermost frame outside JAX, tenferro and the standard library.

    None if JAX does not tell, or for code that is not in a file.
    """
    traceback = getattr(getattr(equation, "source_info", None), "traceback", None)
    for frame in getattr(traceback, "frames", ()):
        file = frame.file_name
        if file.startswith(_PACKAGES):
            continue
        if file.startswith(_LIBRARY) and "site-packages" not in file:
            continue
        return None if file.startswith("<") else f"{os.path.basename(file)}:{frame.line_num}"
    return None


def shown(equation: Any) -> str:
    text = str(equation)
    return text if len(text) < 200 else f"{text[:200]} ..."
