"""Apply an array function to operands of any kind.

An array function is declared once, in `tenferro.ops.functions`, over an emitter. `array_function`
turns it into the function that users call. The type of that function is the type of the
declaration without the emitter: a type checker solves `V` in `Emitter[V]` and in the operands as
`ArrayLike`. So an editor shows the parameters, types and docstring of the declaration, and nothing
is declared twice.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from inspect import Parameter, Signature, signature
from types import FunctionType, NoneType, UnionType
from typing import Any, Concatenate, Literal, ParamSpec, Union, get_args, get_origin, get_type_hints

import numpy as np

from tenferro.config import config
from tenferro.core import Emitter, V
from tenferro.errors import ConfigError, DTypeError, ExtentError, ShapeError
from tenferro.ir import FLOAT64, AnyTensor, ArrayLike, DimExpr, TensorMeta, check_size
from tenferro.ops import ShardingConstraint, StdTensorOp
from tenferro.ops.functions import elementwise, is_number
from tenferro.runtime import Tensor, executor_module, is_tracing, mentions_symbols, run_eagerly
from tenferro.transforms.eager_tensor import EagerTensor
from tenferro.transforms.trace import leaf_meta
from tenferro.transforms.trace_context import called_function
from tenferro.transforms.traced_tensor import TracedTensor, record

__all__ = [
    "OpFunction",
    "apply_function",
    "apply_to_array",
    "array_function",
    "constrained",
    "create",
]

P = ParamSpec("P")


def array_function(
    function: Callable[Concatenate[Emitter[ArrayLike], P], ArrayLike], module: str = "tenferro"
) -> Callable[P, AnyTensor]:
    """The function that users call, with the name and the docstring of the array function.

    Parameters annotated `V` or `Operand[V]` are the operands and come first. A number for a first
    operand of type `V` becomes an array. `module` is where users and pickle find the function.

    It is compiled from source text, as `collections.namedtuple` compiles a constructor: binding
    arguments is as fast as for a function written by hand, and Python's errors for wrong arguments
    name the function.

    >>> from tenferro.ops.functions import elementwise
    >>> subtract = array_function(elementwise.subtract)
    >>> subtract(3, x2=[1, 2])
    Tensor([2, 1])
    """
    operands, options = _parameters(function)
    public = _written_out(function, operands, options)
    public.__defaults__, public.__kwdefaults__ = function.__defaults__, function.__kwdefaults__
    public.__annotations__ = {
        **{parameter.name: "ArrayLike" for parameter in operands},
        **{parameter.name: parameter.annotation for parameter in options},
        "return": "AnyTensor",
    }
    public.__name__ = public.__qualname__ = function.__name__
    public.__module__ = module
    public.__doc__ = function.__doc__
    return public


def _parameters(function: Callable[..., Any]) -> tuple[list[Parameter], list[Parameter]]:
    """The operands and the options of an array function."""
    parameters = list(signature(function).parameters.values())[1:]
    operands = [
        parameter for parameter in parameters if parameter.annotation in ("V", "Operand[V]")
    ]
    assert operands, f"{function.__name__}: no parameter is annotated V or Operand[V]"
    assert operands == parameters[: len(operands)], f"{function.__name__}: operands come first"
    return operands, parameters[len(operands) :]


def _written_out(
    function: Callable[..., Any], operands: list[Parameter], options: list[Parameter]
) -> FunctionType:
    """A function of operands and options that applies an array function to them.

    Its code has the file and line of `function`, for tracebacks and `inspect.getsource`. Its
    globals are those of `function` and the types of operands and results, to resolve annotations.
    """
    bare = [
        parameter.replace(annotation=Parameter.empty, default=Parameter.empty)
        for parameter in (*operands, *options)
    ]
    values = "".join(f"{parameter.name}, " for parameter in operands)
    named = "".join(f"{parameter.name!r}: {parameter.name}, " for parameter in options)
    source = (
        "lambda apply, function: "
        f"lambda {str(Signature(bare))[1:-1]}: apply(function, ({values}), {{{named}}})"
    )
    code = compile(source, function.__code__.co_filename, "eval")
    names = {**function.__globals__, "ArrayLike": ArrayLike, "AnyTensor": AnyTensor}
    apply = _apply_to_array if operands[0].annotation == "V" else _apply
    written: FunctionType = eval(code, names)(apply, function)
    written.__code__ = written.__code__.replace(
        co_firstlineno=function.__code__.co_firstlineno,
        co_name=function.__name__,
        co_qualname=function.__name__,
    )
    return written


@dataclass(frozen=True)
class OpFunction:
    """An op as an array function: it returns the output, or a tuple of several outputs.

    Caches treat equal instances as one function.
    """

    op: StdTensorOp

    @property
    def __name__(self) -> str:
        """The name of the op in errors."""
        return self.op.family or self.op.name

    def __call__(self, at: Emitter[V], *values: V) -> V | tuple[V, ...]:
        """Emit the op."""
        outputs = at.emit_all(self.op, *values)
        return outputs[0] if len(outputs) == 1 else outputs


def apply_function(
    function: Callable[Concatenate[Emitter[ArrayLike], P], ArrayLike],
    *operands: P.args,
    **options: P.kwargs,
) -> AnyTensor:
    """Record `function` if an operand is traced, else run it on the device of the operands.

    If an operand is an eager tensor, its runtime runs the function. The result is a tuple if
    `function` returns one.

    Raises:
        DTypeError: an operand is not an array or number.
    """
    return _apply(function, operands, options)


def constrained(caller: str, leaf: ArrayLike, sharding: object) -> AnyTensor:
    """An array, divided as is said where a compiled function computes it.

    A sharding on one device leaves it as it is.

    Raises:
        ShardingError: it is not a sharding, or has more axes than the array.
    """
    meta = leaf_meta(leaf, f"{caller}: argument")
    spec = executor_module("xla").sharding.spec_entries(caller, sharding, meta.rank)
    op = ShardingConstraint((None,) * meta.rank if spec is None else spec)
    return apply_function(OpFunction(op), leaf)


def apply_to_array(
    function: Callable[Concatenate[Emitter[ArrayLike], P], ArrayLike],
    *operands: P.args,
    **options: P.kwargs,
) -> AnyTensor:
    """As `apply`; a number as first operand becomes an array."""
    return _apply_to_array(function, operands, options)


def create(
    function: Callable[Concatenate[Emitter[ArrayLike], P], ArrayLike],
    *operands: P.args,
    **options: P.kwargs,
) -> AnyTensor:
    """Create an array from the operands: recorded while tracing, else at once."""
    symbolic = any(isinstance(size, str | DimExpr) for size in _sizes(options.get("shape", ())))
    if symbolic or is_tracing():
        return _run(function, operands, options, True, None)
    _check_new(function.__name__, options)
    return _apply(function, operands, options)


def _apply(
    function: Callable[..., Any], operands: tuple[Any, ...], options: dict[str, Any]
) -> AnyTensor:
    eager, traced = None, False
    for operand in operands:
        kind = type(operand)
        if kind is EagerTensor:
            eager = operand
        elif kind is TracedTensor or kind is DimExpr:
            traced = True
    return _run(function, operands, options, traced, eager)


def _apply_to_array(
    function: Callable[..., Any], operands: tuple[Any, ...], options: dict[str, Any]
) -> AnyTensor:
    if is_number(operands[0]):
        operands = (Tensor(operands[0]), *operands[1:])
    return _apply(function, operands, options)


def _run(
    function: Callable[..., Any],
    operands: tuple[Any, ...],
    options: dict[str, Any],
    traced: bool,
    eager: EagerTensor | None,
) -> AnyTensor:
    for option, value in options.items():
        if getattr(value, "ndim", 0):
            _refuse_array(function, option, value)
    try:
        if traced:
            result = record(function, operands, options)
        elif eager is not None:
            result = eager.runtime.apply(function, operands, options)
        else:
            result = run_eagerly(function, operands, options)
    except ExtentError as error:
        if traced or eager is not None:
            raise
        what = str(error).partition(": ")[2] or str(error)
        raise ExtentError(f"{called_function(function.__name__)}: {what}") from None
    except ShapeError:
        if traced or eager is not None or not mentions_symbols(list(options.values())):
            raise
        result = record(function, operands, options)  # the sizes are those of traced values
    if result is NotImplemented:
        kinds = ", ".join(type(operand).__name__ for operand in operands)
        raise DTypeError(f"{function.__name__}: takes arrays and numbers, got {kinds}")
    return result  # type: ignore[no-any-return]


def _refuse_array(function: Callable[..., Any], option: str, array: Any) -> None:
    """Raise ConfigError if an option that is an array is declared as a word, or True or False."""
    declared = function if isinstance(function, FunctionType) else type(function).__call__
    if _is_word(get_type_hints(declared).get(option)):
        raise ConfigError(
            f"{called_function(function.__name__)}: {option} is an array of shape "
            f"{tuple(array.shape)}, where a word, or True or False is meant; arrays come first"
        )


def _is_word(annotation: object) -> bool:
    """Whether a type has words, True and False only, and None."""
    if isinstance(annotation, UnionType) or get_origin(annotation) is Union:
        return all(map(_is_word, get_args(annotation)))
    return annotation in (bool, str, NoneType) or get_origin(annotation) is Literal


def _check_new(name: str, options: dict[str, Any]) -> None:
    """Raise ExtentError, in the name of what the user called, if the array exceeds the budget."""
    sizes = _sizes(options.get("shape", ()))
    if all(isinstance(size, int) and size >= 0 for size in sizes) and math.prod(sizes) > 1 << 20:
        dtype = options.get("dtype") or FLOAT64
        check_size(TensorMeta.of(dtype, sizes), called_function(name), config.max_bytes)


def _sizes(shape: object) -> Any:
    return shape if isinstance(shape, tuple | list) else (shape,)


def _of_size(name: str, left: Any, right: Any) -> Any:
    """What an array function makes of a size and a number: of a weak dtype if that of both is."""
    result = apply_function(getattr(elementwise, name), left, right)
    if isinstance(result, TracedTensor) and all(
        isinstance(operand, DimExpr) or is_number(operand) for operand in (left, right)
    ):
        return TracedTensor(result.key, np.zeros((), result.dtype).item(), result.scope)
    return result


DimExpr.arithmetic = staticmethod(_of_size)
Tensor.record = staticmethod(record)
