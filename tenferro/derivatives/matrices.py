"""The matrix of a linear part, by the passes of a plan."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tenferro.chainrules import KeyEmitter
from tenferro.compiler import JACOBIAN
from tenferro.computegraph import GlobalValKey
from tenferro.control import noted
from tenferro.derivatives.basis import Basis, constant_shape
from tenferro.derivatives.colours import Colouring
from tenferro.derivatives.linear_part import Images, Linear, LinearPart
from tenferro.derivatives.modes import Cut, Plan
from tenferro.derivatives.pattern import Blocks
from tenferro.derivatives.sparsity import ColourBasis, SparsePlan
from tenferro.exec_ir import Array
from tenferro.ops import CONJ, Concatenate, Convert, DotGeneral, Gather, Reshape, full
from tenferro.shape import DType, ShapeGuardContext, TensorMeta, is_complex
from tenferro.traced import capture

Key = GlobalValKey
Metas = Sequence[TensorMeta]


class Matrices:
    """Emits the matrices of linear parts.

    Args:
        ctx: the types of values.
        chunk: the largest number of unit vectors in one batch; None is all.
        holomorphic: whether the derivatives are by complex numbers.
    """

    def __init__(self, ctx: ShapeGuardContext, chunk: int | None, holomorphic: bool) -> None:
        self._ctx, self._chunk, self._holomorphic = ctx, chunk, holomorphic
        self._at = KeyEmitter(ctx)

    def blocks(self, linear: Linear, plan: Plan, inputs: Metas, outputs: Metas) -> list[list[Key]]:
        """For each output an array for each input, with its axes after those of the output.

        `inputs` and `outputs` are the types, also of outputs that no tangent reaches.
        """
        if isinstance(plan, Cut):
            return self._product(linear, plan, inputs, outputs)
        domain, image = (inputs, outputs) if plan.forward else (outputs, inputs)
        basis, images = self._images(linear, plan.forward, domain)
        columns = [
            [
                basis.block(self._at, key, leaf, meta, last=plan.forward)
                for leaf in range(len(domain))
            ]
            for key, meta in zip(images, image, strict=True)
        ]
        return columns if plan.forward else [list(row) for row in zip(*columns, strict=True)]

    def sparse(
        self, linear: Linear, plan: SparsePlan, inputs: Metas, outputs: Metas, blocks: Blocks
    ) -> list[list[Key]]:
        """For each output the values of a sparse matrix for each input, as `blocks` have places."""
        domain, image = (inputs, outputs) if plan.forward else (outputs, inputs)
        _, images = self._images(linear, plan.forward, domain, plan.colouring)
        count, size = plan.colouring.count, sum(meta.known_size for meta in image)
        with noted(self._at, plan.in_words()):
            whole = self._beside(images, image, count)
            flat = self._at.emit(Reshape((count * size,)), whole)
            places = plan.colouring.columns * size + plan.colouring.rows
            return [
                [
                    self.converted(self._picked(flat, places[chosen]), block_meta(y, x).dtype)
                    for x, (chosen, _) in zip(inputs, row, strict=True)
                ]
                for y, row in zip(outputs, blocks, strict=True)
            ]

    def _beside(self, images: Images, image: Metas, count: int) -> Key:
        """Images as rows of one matrix, those of all leaves beside one another."""
        parts: list[Key] = []
        for key, meta in zip(images, image, strict=True):
            wide = (count, meta.known_size)
            if key is None:
                parts.append(full(self._at, 0, TensorMeta.of(meta.dtype, wide)))
            else:
                parts.append(self._at.emit(Reshape(wide), key))
        dtype = np.result_type(*(meta.dtype for meta in image))
        converted = [self.converted(key, dtype) for key in parts]
        return converted[0] if len(parts) == 1 else self._at.emit(Concatenate(1), *converted)

    def _picked(self, flat: Key, places: Array) -> Key:
        """The elements at these places."""
        indices = capture(np.ascontiguousarray(places[:, None]))
        return self._at.emit(Gather((), (0,), (0,), 1, (1,)), flat, indices)

    def _images(
        self,
        linear: Linear,
        forward: bool,
        domain: Metas,
        colouring: Colouring | None = None,
    ) -> tuple[Basis, Images]:
        """The images of all unit vectors in one direction, or of those of each colour."""
        part = (
            LinearPart.pushforward(linear)
            if forward
            else LinearPart.pullback(linear, len(domain), self._ctx)
        )
        read = [seed is not None for seed in part.seeds]
        basis = Basis(domain, read) if colouring is None else ColourBasis(domain, read, colouring)
        images = part.of_basis(basis, self._chunk, self._at)
        if self._holomorphic and not forward:  # a pullback applies the conjugate transpose
            images = [None if key is None else self._at.emit(CONJ, key) for key in images]
        return basis, images

    def _product(self, linear: Linear, cut: Cut, inputs: Metas, outputs: Metas) -> list[list[Key]]:
        """The products of the rows before the cut and the columns behind it."""
        inner = [self._ctx.meta(key) for key in cut.values]
        _, rows = self._images(linear.until(cut.values), False, inner)
        _, columns = self._images(linear.since(cut.values), True, inner)
        blocks: list[list[Key]] = []
        with noted(self._at, f"{JACOBIAN}{cut}"):
            for y, column in zip(outputs, columns, strict=True):
                blocks.append([])
                for x, row in zip(inputs, rows, strict=True):
                    blocks[-1].append(self._multiplied(column, row, block_meta(y, x)))
        return blocks

    def _multiplied(self, column: Key | None, row: Key | None, meta: TensorMeta) -> Key:
        """The sum of products along the first axis of both, of type `meta`."""
        if column is None or row is None:
            return full(self._at, 0, meta)
        left, right = (self.converted(key, meta.dtype) for key in (column, row))
        return self._at.emit(DotGeneral((0,), (0,)), left, right)

    def converted(self, key: Key, dtype: DType) -> Key:
        """The value in a dtype."""
        return key if self._ctx.meta(key).dtype == dtype else self._at.emit(Convert(dtype), key)


def block_meta(y: TensorMeta, x: TensorMeta) -> TensorMeta:
    """The type of the derivative of a result by an argument.

    It has the dtype of the result; by a complex argument it is complex.
    """
    dtype = x.dtype if is_complex(x.dtype) and not is_complex(y.dtype) else y.dtype
    return TensorMeta.of(dtype, (*constant_shape(y), *constant_shape(x)))
