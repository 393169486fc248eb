"""A derivative as a graph, for one direction or for many at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self, cast

from tenferro.autodiff import LinearFragment, residuals, transpose
from tenferro.batching import batch
from tenferro.chainrules import Cotangent, KeyEmitter, RuleContext
from tenferro.computegraph import GlobalValKey, ResolvedView, resolve_keys
from tenferro.control import Scan, program_of
from tenferro.derivatives.basis import Basis, DiagonalEmitter
from tenferro.ops import MUL, Concatenate, Iota, Reshape, StdTensorOp, full_like, repeated
from tenferro.shape import INT64, TensorMeta, fresh_input, type_of

Key = GlobalValKey
Images = list[Key | None]
Linear = LinearFragment[StdTensorOp]


@dataclass(frozen=True, slots=True)
class LinearPart:
    """A graph that is linear in some inputs.

    Attributes:
        seeds: these inputs; None if nothing depends on one.
        outputs: None is a zero.
    """

    seeds: Sequence[Key | None]
    outputs: Sequence[Key | None]

    @classmethod
    def pushforward(cls, linear: Linear) -> Self:
        """From tangents of the inputs to tangents of the outputs."""
        return cls(linear.input_keys, linear.output_keys)

    @classmethod
    def pullback(cls, linear: Linear, count: int, ctx: RuleContext) -> Self:
        """From cotangents of the `count` outputs to cotangents of the inputs."""
        reverse = transpose(linear, ctx=ctx)
        by_slot: dict[int, Key] = {
            key.slot: seed
            for (key, _), seed in zip(reverse.tangent_inputs, reverse.input_keys, strict=True)
            if isinstance(key, Cotangent)
        }
        return cls([by_slot.get(slot) for slot in range(count)], reverse.output_keys)

    def batched(self, directions: Sequence[Key | None], size: int, at: KeyEmitter) -> Images:
        """The images of `size` directions, which are entries along axis 0. None is a zero.

        Raises:
            BatchRuleError: an op on the way has no batch rule.
        """
        view: ResolvedView[StdTensorOp] = resolve_keys()
        whole = {
            seed: direction
            for seed, direction in zip(self.seeds, directions, strict=True)
            if seed is not None and direction is not None
        }
        present = [key for key in self.outputs if key is not None]
        images = iter(batch(view, present, whole, size, ctx=at.ctx, emitter=at))
        at.site = None
        return [None if key is None else _whole(at, next(images), size) for key in self.outputs]

    def of_basis(self, basis: Basis, chunk: int | None, at: KeyEmitter) -> Images:
        """The images of all unit vectors along axis 0; by a loop over chunks of so many."""
        if not basis.size:
            return [None] * len(self.outputs)
        if chunk is None or chunk >= basis.size:
            rows = basis.rows(at, 0, basis.size)
            identity = basis.identity(rows)
            if identity is not None:
                at = DiagonalEmitter(at.ctx, identity)
            return self.batched(rows, basis.size, at)
        rounds, rest = divmod(basis.size, chunk)
        images = self._in_rounds(basis, chunk, rounds, at)
        if not rest:
            return images
        rows = basis.rows(at, rounds * chunk, rest)
        last = self.batched(rows, rest, at)
        return [
            None if a is None or b is None else at.emit(Concatenate(0), a, b)
            for a, b in zip(images, last, strict=True)
        ]

    def _in_rounds(self, basis: Basis, chunk: int, rounds: int, at: KeyEmitter) -> Images:
        """The images of the first unit vectors, `chunk` of them in each round of a loop."""
        first = fresh_input(TensorMeta.of(INT64, ()), "first")
        rows = basis.rows(at, first, chunk)
        images = self.batched(rows, chunk, at)
        outputs = [key for key in images if key is not None]
        read = residuals(outputs, [first])
        body = program_of([*read, first], outputs)
        loop = Scan(body, consts=len(read), carry=0, length=rounds)
        number = at.emit(Iota(INT64, rounds))
        starts = at.emit(MUL, number, full_like(at, chunk, number))
        stacks = iter(at.emit_all(loop, *read, starts))
        return [None if key is None else _joined(at, next(stacks)) for key in images]


def _whole(at: KeyEmitter, image: tuple[Key, bool], size: int) -> Key:
    """The image for all entries."""
    key, is_batched = image
    return key if is_batched else repeated(at, key, size)


def _joined(at: KeyEmitter, stack: Key) -> Key:
    """The entries of all rounds along axis 0."""
    rounds, chunk, *shape = cast("tuple[int, ...]", type_of(stack).static_shape)
    return at.emit(Reshape((rounds * chunk, *shape)), stack)
