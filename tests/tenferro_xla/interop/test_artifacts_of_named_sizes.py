"""Artifacts with named sizes: each function below is exported once, for every size."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tenferro as tn
from tenferro.errors import ExecutorError
from tenferro.shape import dim
from tenferro_xla import export

KEY = tn.random.key(0)
VECTOR = tn.TensorSpec(("n",))
MATRIX = tn.TensorSpec(("n", 3))


def of_vectors(x: Any, i: Any) -> tuple[Any, ...]:
    return (
        tn.outer(x, x).reshape(-1),
        tn.kron(x, x),
        x.at[0].set(5.0),
        x.at[-1].add(1.0),
        x.at[i].multiply(2.0, mode="clip"),
        tn.take_along_axis(x, i, 0),
        tn.lexsort((x, x)),
        tn.unique(x, size=2),
        tn.einsum("i,j,k->ik", x, x, x),
        x + tn.random.normal(KEY, x.shape),
        x + tn.random.uniform(KEY, x.shape),
    )


def of_matrices(x: Any, w: Any, i: Any) -> tuple[Any, ...]:
    u, s, vh = tn.linalg.svd(x, full_matrices=False)
    return (
        tn.einsum("ni,ij->nj", x, w),
        tn.einsum("ni,ij,nj->n", x, w, x @ w),
        tn.linalg.multi_dot([x, w, tn.matrix_transpose(w)]),
        (u * s) @ vh,
        tn.linalg.pinv(x),
        tn.linalg.norm(x, 2),
        tn.linalg.matrix_rank(x),
        tn.vmap(lambda row, place: row[place])(x, i),
        x + tn.random.normal(KEY, x.shape),
    )


@pytest.mark.exhaustive(but=1)
@pytest.mark.parametrize(
    ("function", "specs"),
    [
        (of_vectors, [VECTOR, tn.TensorSpec(("n",), "int64")]),
        (of_matrices, [MATRIX, tn.TensorSpec((3, 2)), tn.TensorSpec(("n",), "int64")]),
    ],
)
def test_an_artifact_gives_what_the_program_gives(
    function: Callable[..., Any], specs: list[tn.TensorSpec]
) -> None:
    program = tn.make_program(function, *specs)
    artifact = export(program, platforms=("cpu",))
    rng = np.random.default_rng(0)
    for n in (2, 5):
        shapes = [tuple(n if not isinstance(s, int) else s for s in spec.shape) for spec in specs]
        arrays = [
            rng.integers(0, 2, shape) if spec.dtype == np.int64 else rng.normal(size=shape)
            for spec, shape in zip(specs, shapes, strict=True)
        ]
        names = [name for name, _ in artifact.inputs]
        bindings = dict(zip((p.name for p in program.inputs), arrays, strict=True))
        assert sorted(names) == sorted(bindings)
        found = artifact.run(bindings, "cpu")
        for ours, expected in zip(found, program(*arrays), strict=True):
            np.testing.assert_allclose(ours.numpy(), np.asarray(expected), rtol=1e-9, atol=1e-12)


def test_powers_of_names_are_sizes_of_inputs_and_results() -> None:
    artifact = export(
        tn.make_program(lambda x: x.reshape(-1) * 2, tn.TensorSpec(("n", "n"))), platforms=("cpu",)
    )
    assert str(artifact) == "Exported(x: f64[n,n]) -> (f64[n*n]) for cpu"
    assert artifact.run({"x": np.ones((3, 3))}, "cpu")[0].shape == (9,)
    assert dim("n**2 + 1") == dim("n*n + 1")


def test_the_platforms_for_which_jax_has_no_lowering_are_named() -> None:
    program = tn.make_program(tn.linalg.svdvals, tn.TensorSpec(("n", "n")))
    with pytest.raises(
        ExecutorError, match=r"cannot lower it for tpu: .*platforms=\('cpu', 'cuda'"
    ):
        export(program)
