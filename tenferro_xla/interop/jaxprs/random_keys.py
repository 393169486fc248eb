"""Primitives of random keys. The words of keys, u32[..., 2], stand for them.

Only keys of Threefry in the layout `jax_threefry_partitionable`, JAX's default, have the bits of
`tn.random`.
"""

from __future__ import annotations

from typing import Any

import jax

import tenferro as tn
from tenferro import ops
from tenferro.core import GlobalValKey
from tenferro.ir import as_dtype
from tenferro.ops.functions import emit_function
from tenferro.random.prng import drawn_bits, fold_words, seed_words, split_words
from tenferro.transforms import TracedTensor
from tenferro_xla.interop.jaxprs.reader import Keys, Reader, Translation, integers, is_key, shape_of


def for_each_word(translation: Translation) -> Translation:
    """A primitive that moves elements; of keys it moves both words alike."""

    def translated(at: Reader, equation: Any, operands: list[GlobalValKey]) -> Any:
        if not is_key(equation.outvars[0].aval):
            return translation(at, equation, operands)
        moved = []
        for word in range(2):
            words = [
                _word(at, operand, word) if is_key(atom.aval) else operand
                for operand, atom in zip(operands, equation.invars, strict=True)
            ]
            made = translation(at, equation, words)
            moved.append([made] if isinstance(made, GlobalValKey) else made)
        return [_together(at, *words) for words in zip(*moved, strict=True)]

    return translated


def _word(at: Reader, keys: GlobalValKey, word: int) -> GlobalValKey:
    """The first or the second word of each key."""
    shape = at.ctx.meta(keys).static_shape
    assert shape is not None, "JAX traces constant shapes"
    starts, stops = (0,) * (len(shape) - 1) + (word,), (*shape[:-1], word + 1)
    return at.emit(
        ops.Reshape(shape[:-1]), at.emit(ops.Slice(starts, stops, (1,) * len(shape)), keys)
    )


def _together(at: Reader, first: GlobalValKey, second: GlobalValKey) -> GlobalValKey:
    shape = at.ctx.meta(first).static_shape
    assert shape is not None, "JAX traces constant shapes"
    words = [at.emit(ops.Reshape((*shape, 1)), word) for word in (first, second)]
    return at.emit(ops.Concatenate(len(shape)), *words)


def _itself(at: Reader, equation: Any, operands: list[GlobalValKey]) -> Keys:
    return operands


def _split(at: Reader, equation: Any, operands: list[GlobalValKey]) -> GlobalValKey:
    _require_layout(at, equation)
    return emit_function(at, split_words, operands[0], shape=integers(equation.params["shape"]))


def _fold_in(at: Reader, equation: Any, operands: list[GlobalValKey]) -> GlobalValKey:
    words, data = operands
    shape = shape_of(equation)
    if at.ctx.meta(words).rank == 1:  # one key, maybe for many numbers
        words = at.emit(ops.BroadcastInDim((*shape, 2), (len(shape),)), words)
    return emit_function(at, fold_words, words, at.spread(data, shape))


def _bits(at: Reader, equation: Any, operands: list[GlobalValKey]) -> GlobalValKey:
    _require_layout(at, equation)
    params = equation.params
    dtype = as_dtype(f"uint{int(params['bit_width'])}")
    options = {"shape": integers(params["shape"]), "dtype": dtype, "purpose": "random.bits"}
    return emit_function(at, drawn_bits, operands[0], **options)


def _require_layout(at: Reader, equation: Any) -> None:
    if not jax.config.jax_threefry_partitionable:  # type: ignore[attr-defined]  # set by JAX
        raise at.refuse(
            equation,
            "draws other numbers than tn.random; set jax_threefry_partitionable=True, which is the "
            "default of JAX",
        )


def _threefry(at: Reader, equation: Any, operands: list[GlobalValKey]) -> Keys:
    shape = shape_of(equation)
    return at.emit_all(ops.Threefry2x32(), *(at.spread(word, shape) for word in operands))


def _gamma(at: Reader, equation: Any, operands: list[GlobalValKey]) -> GlobalValKey:
    """Numbers of the gamma distribution; a key for each row of shapes."""
    draw = tn.random.loggamma if equation.params["log_space"] else tn.random.gamma
    words, shapes = (TracedTensor(operand) for operand in operands)
    dtype = at.ctx.meta(operands[1]).dtype

    def drawn(key: Any, shape: Any) -> Any:
        return draw(key, shape, dtype=dtype)

    for _ in range(words.ndim - 1):
        drawn = tn.vmap(drawn)
    result: Any = drawn(words, shapes)
    return result.key  # type: ignore[no-any-return]  # a TracedTensor


TABLE: dict[str, Translation] = {
    "random_bits": _bits,
    "random_clone": _itself,
    "random_fold_in": _fold_in,
    "random_gamma": _gamma,
    "random_seed": lambda at, equation, operands: emit_function(at, seed_words, *operands),
    "random_split": _split,
    "random_unwrap": _itself,
    "random_wrap": _itself,
    "threefry2x32": _threefry,
}
