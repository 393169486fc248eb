"""Random programs of contractions, and of what stands between them."""

from __future__ import annotations

import string
from typing import Any

from hypothesis import strategies as st

from tenferro.ir import ExecBuilder, ExecProgram
from tenferro.ops import ADD, CONJ, MUL, BroadcastInDim, DotGeneral, ReduceSum, Transpose
from tenferro.shape import COMPLEX128, FLOAT64, make_meta

Value = tuple[int, str]
"""A slot, and a label for each of its axes."""


@st.composite
def contraction_programs(draw: st.DrawFn) -> ExecProgram:
    """Contractions by labels, of values with any order of axes, and what stands between them."""
    sizes = {label: draw(st.integers(0, 12)) or 3 for label in string.ascii_lowercase[:6]}
    sizes["a"] = draw(st.sampled_from([0, 1, 4]))
    dtype = draw(st.sampled_from([FLOAT64, COMPLEX128]))
    builder = ExecBuilder()
    values: list[tuple[int, str]] = []
    for _ in range(3):
        labels = "".join(draw(st.permutations("abcdef"))[: draw(st.integers(1, 4))])
        meta = make_meta(dtype, tuple(sizes[label] for label in labels))
        values.append((builder.input(meta), labels))
    for _ in range(draw(st.integers(2, 7))):
        x, y = draw(st.sampled_from(values)), draw(st.sampled_from(values))
        made = draw(
            st.sampled_from(
                [
                    contracted,
                    contracted,
                    moved,
                    summed,
                    elementwise,
                    repeated,
                    multiplied,
                    conjugated,
                ]
            )
        )
        values.append(made(draw, builder, x, y))
    return builder.build([slot for slot, _ in values[3:][-3:]])


def contracted(draw: Any, builder: ExecBuilder, x: Value, y: Value) -> Value:
    """Over some of the common labels, the others running along."""
    common = [label for label in x[1] if label in y[1]]
    batch = [label for label in draw(st.permutations(common)) if draw(st.booleans())]
    matched = [label for label in draw(st.permutations(common)) if label not in batch]
    free = [[label for label in v[1] if label not in common] for v in (x, y)]
    if len(batch) + len(free[0]) + len(free[1]) > 5:
        return x
    op = DotGeneral(
        *(tuple(v[1].index(label) for label in group) for group in (matched, batch) for v in (x, y))
    )
    return builder.add(op, [x[0], y[0]])[0], "".join([*batch, *free[0], *free[1]])


def moved(draw: Any, builder: ExecBuilder, x: Value, y: Value) -> Value:
    perm = tuple(draw(st.permutations(range(len(x[1])))))
    return builder.add(Transpose(perm), [x[0]])[0], "".join(x[1][axis] for axis in perm)


def summed(draw: Any, builder: ExecBuilder, x: Value, y: Value) -> Value:
    if not x[1]:
        return x
    axis = draw(st.integers(0, len(x[1]) - 1))
    return builder.add(ReduceSum((axis,)), [x[0]])[0], x[1][:axis] + x[1][axis + 1 :]


def repeated(draw: Any, builder: ExecBuilder, x: Value, y: Value) -> Value:
    """Along an axis of the other, at any place."""
    new = [label for label in y[1] if label not in x[1]]
    if not new or len(x[1]) > 4:
        return x
    place = draw(st.integers(0, len(x[1])))
    return spread(builder, x, x[1][:place] + new[0] + x[1][place:], {**extents(builder, y)})


def multiplied(draw: Any, builder: ExecBuilder, x: Value, y: Value) -> Value:
    """Element by element, each repeated along the axes that it lacks."""
    labels = "".join(draw(st.permutations(sorted({*x[1], *y[1]}))))
    if len(labels) > 5:
        return x
    sizes = {**extents(builder, x), **extents(builder, y)}
    both = [
        spread(builder, ordered(builder, v, [m for m in labels if m in v[1]]), labels, sizes)[0]
        for v in (x, y)
    ]
    return builder.add(MUL, both)[0], labels


def extents(builder: ExecBuilder, x: Value) -> dict[str, Any]:
    return dict(zip(x[1], builder.metas[x[0]].static_shape or (), strict=True))


def ordered(builder: ExecBuilder, x: Value, labels: list[str]) -> Value:
    perm = tuple(x[1].index(label) for label in labels)
    return builder.add(Transpose(perm), [x[0]])[0], "".join(labels)


def spread(builder: ExecBuilder, x: Value, labels: str, sizes: dict[str, Any]) -> Value:
    sizes = {**sizes, **extents(builder, x)}
    op = BroadcastInDim(
        tuple(sizes[label] for label in labels), tuple(labels.index(label) for label in x[1])
    )
    return builder.add(op, [x[0]])[0], labels


def conjugated(draw: Any, builder: ExecBuilder, x: Value, y: Value) -> Value:
    return builder.add(CONJ, [x[0]])[0], x[1]


def elementwise(draw: Any, builder: ExecBuilder, x: Value, y: Value) -> Value:
    if x[1] == y[1]:
        return builder.add(draw(st.sampled_from([ADD, MUL])), [x[0], y[0]])[0], x[1]
    small = builder.add(MUL, [x[0], x[0]])[0]
    return builder.add(draw(st.sampled_from([ADD, MUL])), [small, x[0]])[0], x[1]
