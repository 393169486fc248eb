"""Networks whose sizes are known late: one op in the graph, planned when the sizes are."""

import numpy as np
import pytest

import tenferro as tn
import tenferro_xla as txla
from tenferro import network
from tenferro.errors import GuardViolationError, MemoryLimitError, PathError
from tenferro.network import ContractionOptimizerOptions, ContractionTree, EinsumOp, Subscripts

CHAIN = "ij,jk,kl->il"
SPECS = (tn.TensorSpec(("n", 3)), tn.TensorSpec((3, "m")), tn.TensorSpec(("m", 5)))


def program_with(optimize: object = True) -> tn.GraphProgram:
    return tn.make_program(lambda a, b, c: tn.einsum(CHAIN, a, b, c, optimize=optimize), *SPECS)


def op_of(program: tn.GraphProgram) -> EinsumOp:
    (step,) = program.exec_program.instructions
    assert isinstance(step.op, tn.extension.Extension)
    assert isinstance(step.op.op, EinsumOp)
    return step.op.op


def test_it_is_one_op_with_the_plan_specification_in_its_payload() -> None:
    default, seeded = program_with(), program_with(ContractionOptimizerOptions(seed=1))
    assert op_of(default).family_id == "tenferro-einsum.einsum.v1"
    assert not op_of(default).payload_eq(op_of(seeded))
    assert default.digest != seeded.digest
    assert op_of(program_with([(1, 2), (0, 1)])).plan == ("pairs", ((1, 2), (0, 3)))
    assert str(default.exec_program.output_metas[0]) == "f64[n,5]"


def test_equal_networks_are_one_node_whatever_their_letters() -> None:
    x = tn.TracedTensor.input(("n", "n"), name="x")
    one, other = tn.einsum("ij,jk->ik", x, x), tn.einsum("ab,bc->ac", x, x)
    assert one.key is other.key


@pytest.mark.parametrize("optimize", [True, False, [(1, 2), (0, 1)], "greedy"])
def test_it_runs_for_any_sizes_and_plans_each_once(optimize: object) -> None:
    program = program_with(optimize)
    native = tn.GraphExecutor(tn.NumpyBackend())
    native.register_extension(network.register_runtime)
    xla = txla.XlaExecutor()
    generator = np.random.default_rng(0)
    for n, m in ((2, 4), (7, 1), (2, 4), (0, 3)):
        shapes = {"a": (n, 3), "b": (3, m), "c": (m, 5)}
        values = {name: generator.normal(size=shape) for name, shape in shapes.items()}
        expected = values["a"] @ values["b"] @ values["c"]
        for executor in (native, xla):
            (result,) = executor.run(program, values)
            np.testing.assert_allclose(result, expected, rtol=1e-12, atol=1e-12)
    stats = native.extension_caches.stats()
    assert (stats.entries, stats.misses) == (3, 3)


def test_a_plan_for_sizes_is_within_the_memory_that_is_allowed() -> None:
    limited = op_of(program_with(ContractionOptimizerOptions(memory_limit=1000)))
    dtypes = [np.dtype("f8")] * 3
    planned = limited.planned(dtypes, [(2, 3), (3, 4), (4, 5)])
    assert planned.plan[0] == "pairs"
    assert planned.planned(dtypes, [(9, 3), (3, 9), (9, 5)]) is planned
    with pytest.raises(MemoryLimitError, match="but 1000 are allowed"):
        limited.planned(dtypes, [(100, 3), (3, 400), (400, 5)])


def test_sizes_that_differ_are_found_when_they_are_known() -> None:
    specs = (tn.TensorSpec(("n", "k")), tn.TensorSpec(("l", "m")))
    program = tn.make_program(lambda a, b: tn.einsum("ij,jk->ik", a, b), *specs)
    with pytest.raises(GuardViolationError, match=r"einsum.*: assumed k == l, but 3 != 4"):
        txla.XlaExecutor().run(program, {"a": np.ones((2, 3)), "b": np.ones((4, 5))})


def test_a_native_executor_has_the_family() -> None:
    native = tn.GraphExecutor(tn.NumpyBackend())
    values = {"a": np.ones((2, 3)), "b": np.ones((3, 4)), "c": np.ones((4, 5))}
    (result,) = native.run(program_with(), values)
    np.testing.assert_array_equal(result, np.full((2, 5), 12.0))


def test_a_tree_is_refused_for_symbolic_sizes() -> None:
    tree = ContractionTree.of(Subscripts.parse(CHAIN), [(2, 3), (3, 4), (4, 5)], [(0, 1), (0, 1)])
    with pytest.raises(PathError, match="an operand has symbolic sizes"):
        program_with(tree)
    with pytest.raises(PathError, match="a plan needs known sizes"):
        tn.einsum_plan(CHAIN, *SPECS)


def truncated(u: object, s: object, v: object) -> tn.TracedTensor:
    """‖u diag(s) v‖² with the ranks that are kept decided by s."""
    rank = tn.sum(tn.where(s > 0.5, 1, 0))  # type: ignore[operator]
    kept = [tn.dynamic_truncate(x, rank, axis=axis) for x, axis in ((u, 1), (s, 0), (v, 0))]
    return tn.sum(tn.einsum("ik,k,kj->ij", *kept) ** 2)  # type: ignore[no-any-return]


@pytest.mark.parametrize("rank", [0, 1, 3, 6])
def test_a_rank_that_data_decide_is_contracted_and_differentiated(rank: int) -> None:
    generator = np.random.default_rng(rank)
    u, v = generator.normal(size=(4, 6)), generator.normal(size=(6, 5))
    s = np.concatenate([np.full(rank, 1.5), np.full(6 - rank, 0.25)])
    program = tn.make_program(tn.value_and_grad(truncated, argnums=(0, 1, 2)), u, s, v)

    def concrete(u: np.ndarray, s: np.ndarray, v: np.ndarray) -> tn.Tensor:
        return tn.sum(((u[:, :rank] * s[:rank]) @ v[:rank]) ** 2)  # type: ignore[no-any-return]

    value, gradients = tn.value_and_grad(concrete, argnums=(0, 1, 2))(u, s, v)
    native = tn.GraphExecutor(tn.NumpyBackend())
    native.register_extension(network.register_runtime)
    for executor in (native, txla.XlaExecutor()):
        results = executor.run(program, {"u": u, "s": s, "v": v})
        for result, expected in zip(results, (value, *gradients), strict=True):
            np.testing.assert_allclose(result, expected, rtol=1e-12, atol=1e-12)
