"""Functions of the user that run on the host; they get arrays of NumPy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import jax

from tenferro.core import GlobalValKey
from tenferro.ir import DType, as_dtype
from tenferro.ops.extension import Extension
from tenferro.transforms import Callback, HostFunction, TracedTensor, called_for_effect
from tenferro_xla.interop.jaxprs.reader import Keys, Reader, Translation, integers

_METHODS: Any = {"expand_dims": "expand_dims", "broadcast_all": "broadcast_all"}
"""How a callback is called for a batch; in other ways of JAX once for each entry."""


def _host_function(at: Reader, name: str, function: Callable[..., Any]) -> HostFunction:
    """The function, in JAX's 64-bit mode if it was traced in that mode."""
    x64 = at.x64

    def called(*arrays: Any) -> Any:
        with jax.enable_x64(x64):
            return function(*arrays)

    return HostFunction(name, called)


def _name(equation: Any) -> str:
    function = getattr(equation.params["callback"], "callback_func", equation.params["callback"])
    return f"{equation.primitive.name} {getattr(function, '__name__', type(function).__name__)}"


def _results(equation: Any) -> tuple[tuple[DType, tuple[int, ...]], ...]:
    avals = [variable.aval for variable in equation.outvars]
    return tuple([(as_dtype(aval.dtype), integers(aval.shape)) for aval in avals])


def _pure(at: Reader, equation: Any, operands: list[GlobalValKey]) -> Keys:
    params = equation.params
    op = Callback(
        _host_function(at, _name(equation), params["callback"]),
        len(operands),
        _results(equation),
        _METHODS.get(params["vmap_method"], "sequential"),
    )
    return at.emit_all(Extension(op), *operands)


def _io(at: Reader, equation: Any, operands: list[GlobalValKey]) -> Keys:
    function = _host_function(at, _name(equation), equation.params["callback"])
    return _for_effect(function, equation, operands, bool(equation.params["ordered"]))


def _debug(at: Reader, equation: Any, operands: list[GlobalValKey]) -> Keys:
    """A call without results, as JAX makes it outside of programs."""
    params = equation.params
    call = partial(equation.primitive.impl, **params)
    name = _name(equation) if "callback" in params else f"debug_print {params['fmt']!r}"
    ordered = str(params.get("effect")) == "OrderedDebug" or bool(params.get("ordered"))

    def shown(*arrays: Any) -> Sequence[Any]:
        call(*arrays)
        return ()

    function = _host_function(at, name, shown)
    return _for_effect(function, equation, operands, ordered)


def _for_effect(
    function: HostFunction, equation: Any, operands: list[GlobalValKey], ordered: bool
) -> Keys:
    values = [TracedTensor(key) for key in operands]
    return [x.key for x in called_for_effect(function, values, _results(equation), ordered)]


TABLE: dict[str, Translation] = {
    "debug_callback": _debug,
    "debug_print": _debug,
    "io_callback": _io,
    "pure_callback": _pure,
}
