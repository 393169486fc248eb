"""The matrix of a linear part, by the passes of a plan."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tenferro.chainrules import KeyEmitter
from tenferro.compiler import JACOBIAN
from tenferro.computegraph import GlobalValKey
from tenferro.control import noted
from tenferro.derivatives import Basis, Images, Linear, LinearPart
from tenferro.exec_ir import Array
from tenferro.jacobians.colours import Colouring
from tenferro.jacobians.modes import Cut, Plan
from tenferro.jacobians.pattern import Pattern
from tenferro.jacobians.sparse_matrix import filled
from tenferro.jacobians.sparsity import ColourBasis, SparsePlan
from tenferro.ops import CONJ, Concatenate, Convert, DotGeneral, Gather, Reshape, full, shape_of
from tenferro.shape import DType, ShapeGuardContext, TensorMeta, is_complex
from tenferro.traced import capture

Key = GlobalValKey
Metas = Sequence[TensorMeta]


class Matrices:
    """Emits the matrix of a linear part, in blocks: for each output a row of one for each input.

    Args:
        linear: the linear part.
        inputs: the types of its inputs.
        outputs: the types of its outputs, also of those that no tangent reaches.
        ctx: the types of values.
        chunk: the largest number of unit vectors in one batch; None is all.
        holomorphic: whether the derivatives are by complex numbers.
    """

    def __init__(
        self,
        linear: Linear,
        inputs: Metas,
        outputs: Metas,
        ctx: ShapeGuardContext,
        chunk: int | None,
        holomorphic: bool,
    ) -> None:
        self._linear, self._inputs, self._outputs = linear, inputs, outputs
        self._ctx, self._chunk, self._holomorphic = ctx, chunk, holomorphic
        self._at = KeyEmitter(ctx)

    def dense(self, plan: Plan | SparsePlan) -> list[list[Key]]:
        """Arrays with the axes of the output, then those of the input."""
        if isinstance(plan, SparsePlan):
            return self._filled(plan)
        return self._product(plan) if isinstance(plan, Cut) else self._passed(plan.forward)

    def sparse(self, plan: SparsePlan) -> list[list[tuple[Key, Pattern]]]:
        """The values at the places of each block, and the places."""
        domain, image = self._directed(plan.forward)
        _, images = self._images(self._linear, plan.forward, domain, plan.colouring)
        count, size = plan.colouring.count, sum(meta.known_size for meta in image)
        with noted(self._at, plan.in_words()):
            whole = self._beside(images, image, count)
            flat = self._at.emit(Reshape((count * size,)), whole)
        places = plan.colouring.columns * size + plan.colouring.rows
        return [
            [
                (
                    self.converted(self._picked(flat, places[chosen]), block_meta(y, x).dtype),
                    pattern,
                )
                for x, (chosen, pattern) in zip(self._inputs, row, strict=True)
            ]
            for y, row in zip(
                self._outputs, plan.pattern.blocks(self._inputs, self._outputs), strict=True
            )
        ]

    def converted(self, key: Key, dtype: DType) -> Key:
        """The value in a dtype."""
        return key if self._ctx.meta(key).dtype == dtype else self._at.emit(Convert(dtype), key)

    def _directed(self, forward: bool) -> tuple[Metas, Metas]:
        """The types of what a pass starts from, and of what it ends at."""
        return (self._inputs, self._outputs) if forward else (self._outputs, self._inputs)

    def _passed(self, forward: bool) -> list[list[Key]]:
        """By one pass."""
        domain, image = self._directed(forward)
        basis, images = self._images(self._linear, forward, domain)
        of_images = [
            [basis.block(self._at, key, leaf, meta, last=forward) for leaf in range(len(domain))]
            for key, meta in zip(images, image, strict=True)
        ]
        if forward:
            return of_images
        return [[blocks[leaf] for blocks in of_images] for leaf in range(len(domain))]

    def _filled(self, plan: SparsePlan) -> list[list[Key]]:
        """Zeros, with the values of the sparse blocks in their places."""
        blocks: list[list[Key]] = []
        for y, row in zip(self._outputs, self.sparse(plan), strict=True):
            blocks.append([])
            for x, (values, pattern) in zip(self._inputs, row, strict=True):
                places = capture(pattern.entries[:, None].copy())
                shape = (*shape_of(y), *shape_of(x))
                blocks[-1].append(filled(self._at, values, places, shape))
        return blocks

    def _product(self, cut: Cut) -> list[list[Key]]:
        """The products of the rows before a cut and the columns behind it."""
        inner = [self._ctx.meta(key) for key in cut.values]
        _, rows = self._images(self._linear.until(cut.values), False, inner)
        _, columns = self._images(self._linear.since(cut.values), True, inner)
        blocks: list[list[Key]] = []
        with noted(self._at, f"{JACOBIAN}{cut}"):
            for y, column in zip(self._outputs, columns, strict=True):
                blocks.append([])
                for x, row in zip(self._inputs, rows, strict=True):
                    blocks[-1].append(self._multiplied(column, row, block_meta(y, x)))
        return blocks

    def _images(
        self, linear: Linear, forward: bool, domain: Metas, colouring: Colouring | None = None
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

    def _multiplied(self, column: Key | None, row: Key | None, meta: TensorMeta) -> Key:
        """The sum of products along the first axis of both, of type `meta`."""
        if column is None or row is None:
            return full(self._at, 0, meta)
        left, right = (self.converted(key, meta.dtype) for key in (column, row))
        return self._at.emit(DotGeneral((0,), (0,)), left, right)

    def _beside(self, images: Images, image: Metas, count: int) -> Key:
        """Images as rows of one matrix, those of all leaves beside one another."""
        dtype = np.result_type(*(meta.dtype for meta in image))
        parts: list[Key] = []
        for key, meta in zip(images, image, strict=True):
            wide = TensorMeta.of(dtype, (count, meta.known_size))
            if key is None:
                parts.append(full(self._at, 0, wide))
            else:
                matrix = self._at.emit(Reshape(shape_of(wide)), key)
                parts.append(self.converted(matrix, dtype))
        return parts[0] if len(parts) == 1 else self._at.emit(Concatenate(1), *parts)

    def _picked(self, flat: Key, places: Array) -> Key:
        """The elements at these places."""
        indices = capture(np.ascontiguousarray(places[:, None]))
        return self._at.emit(Gather((), (0,), (0,), 1, (1,)), flat, indices)


def block_meta(y: TensorMeta, x: TensorMeta) -> TensorMeta:
    """The type of the derivative of a result by an argument.

    It has the dtype of the result; by a complex argument it is complex.
    """
    dtype = x.dtype if is_complex(x.dtype) and not is_complex(y.dtype) else y.dtype
    return TensorMeta(dtype, (*y.extents, *x.extents))
