"""A program with named sizes is compiled like one with constants."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

import tenferro as tn
from tenferro.compiler import DeviceCosts
from tenferro_xla import XlaExecutor

SIZES = {"n": 24, "m": 5, "k": 7, "b": 3}

# Each function, with the shapes of its arguments.
PROGRAMS: dict[str, tuple[Callable[..., Any], list[tuple[str | int, ...]]]] = {
    "product": (lambda a, b: a @ b, [("n", "m"), ("m", "k")]),
    "contracted first": (
        lambda a, b, c: tn.tensordot(tn.exp(a @ b), c, axes=((0,), (0,))),
        [("n", 4), (4, "k"), ("n", "m")],
    ),
    "chain": (lambda a, b, c: a @ b @ c, [("n", "m"), ("m", "k"), ("k", "n")]),
    "through relu": (
        lambda a, b, c: tn.tensordot(tn.relu(a @ b), c, axes=((0,), (0,))),
        [("n", 4), (4, "k"), ("n", "m")],
    ),
    "batched": (lambda a, b: tn.matmul(a, b), [("b", "n", "m"), ("b", "m", "k")]),
    "transposed": (lambda a, b: a.T @ b.T, [("m", "n"), ("k", "m")]),
    "four axes": (
        lambda a, b: tn.tensordot(a, b, axes=((1, 3), (2, 0))),
        [("b", "n", "m", "k"), ("k", "b", "n")],
    ),
    "einsum of two": (lambda a, b: tn.einsum("ij,kj->ki", a, b), [("n", "m"), ("k", "m")]),
    "einsum of four": (
        lambda a, b, c, d: tn.einsum("ij,jk,kl,li->", a, b, c, d),
        [("n", "m"), ("m", "k"), ("k", "b"), ("b", "n")],
    ),
    "ring": (
        lambda a, b, c: tn.einsum("aib,bjc,cka->ijk", a, b, c),
        [("b", "n", "m"), ("m", 2, "k"), ("k", 3, "b")],
    ),
    "softmax": (lambda x: tn.softmax(x, axis=-1), [("n", "k")]),
    "variance": (lambda x: tn.var(x, axis=0), [("n", "k")]),
    "broadcast": (lambda x, y: x[:, None] * y + 1.0, [("n",), ("n", "k")]),
    "reshape": (lambda x: tn.reshape(x, (-1,)) * 2.0, [("n", "k")]),
    "sort": (lambda x: tn.sort(x, axis=0), [("n", "k")]),
    "slices": (lambda x: x[1:] - x[:-1], [("n", "k")]),
    "layer": (lambda w, x, b: tn.tanh(w @ x + b), [("m", "n"), ("n",), ("m",)]),
    "gradient of a layer": (
        tn.grad(lambda w, x: tn.sum(tn.tanh(w @ x) ** 2)),
        [("m", "n"), ("n", "k")],
    ),
    "gradient of a network": (
        tn.grad(lambda a, b, c: tn.einsum("ij,jk,kl->", a, b, c) ** 2, argnums=(0, 1)),
        [("n", "m"), ("m", "k"), ("k", "b")],
    ),
    "product of a Hessian and a vector": (
        lambda x, v: tn.hvp(lambda x: tn.sum(tn.sin(x) ** 3), (x,), (v,)),
        [("n",), ("n",)],
    ),
    "cumulative sum": (lambda x: tn.cumulative_sum(x, axis=1), [("n", "k")]),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_named_sizes_give_the_stablehlo_of_constants(name: str) -> None:
    function, shapes = PROGRAMS[name]
    xla = XlaExecutor("cpu")

    def lowered(*specs: tn.TensorSpec) -> str:
        program = tn.make_program(function, *specs)
        names = (declared.name for declared in program.inputs)
        return xla.lower(program, dict(zip(names, constants, strict=True))).stablehlo()

    constants = [
        tn.TensorSpec(tuple(SIZES.get(size, size) for size in shape))  # type: ignore[arg-type]
        for shape in shapes
    ]
    assert lowered(*map(tn.TensorSpec, shapes)) == lowered(*constants)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_ops_that_are_elementwise_are_laid_out_alike(dtype: str) -> None:
    def transposes(activate: Callable[[Any], Any]) -> list[str]:
        def function(a: Any, b: Any, c: Any) -> Any:
            return tn.tensordot(activate(a @ b), c, axes=((0,), (0,)))

        shapes = [(512, 16), (16, 512), (512, 9)]
        program = tn.make_program(function, *(tn.TensorSpec(shape, dtype) for shape in shapes))
        text = XlaExecutor("cpu").lower(program).stablehlo()
        return re.findall(r"stablehlo.transpose.*", re.sub(r"%\d+", "%", text))

    if dtype == "float64":
        assert transposes(tn.relu) == transposes(lambda h: tn.maximum(h, 0.0))
    assert transposes(lambda h: tn.where(tn.abs(h) > 1.0, h, 0.0)) == transposes(tn.exp)


def test_a_file_does_not_depend_on_the_costs_of_a_device() -> None:
    specs = [tn.TensorSpec((512, 16)), tn.TensorSpec((16, 512)), tn.TensorSpec((512, 9))]

    def saved(costs: DeviceCosts | None) -> bytes:
        options = tn.OptimizerOptions(layout_costs=costs)
        program = tn.make_program(lambda a, b, c: a @ b @ c, *specs, options=options)
        return tn.dumps(tn.GraphProgram(program.exec_program, program.inputs))

    free, dear = (DeviceCosts(move=seconds) for seconds in (0.0, 1.0))
    assert saved(free) == saved(dear) == saved(None)
