"""Orders and optimizers of opt_einsum and cotengra as `optimize=`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import opt_einsum
import pytest

import tenferro as tn
from tenferro.errors import PathError

RING = "abx,bcx,cdx,dax->x"
SHAPES = [(3, 4, 2), (4, 5, 2), (5, 6, 2), (6, 3, 2)]
OPERANDS = [np.random.default_rng(i).normal(size=shape) for i, shape in enumerate(SHAPES)]
EXPECTED = np.einsum(RING, *OPERANDS)


def ring_by(optimize: Any) -> Any:
    return tn.einsum(RING, *OPERANDS, optimize=optimize).numpy()


def last_first(inputs: Any, output: Any, sizes: Any, memory_limit: Any = None) -> Any:
    return [(len(inputs) - k - 2, len(inputs) - k - 1) for k in range(len(inputs) - 1)]


@pytest.mark.parametrize(
    "optimize",
    [
        opt_einsum.contract_path(RING, *OPERANDS)[1],
        opt_einsum.RandomGreedy(max_repeats=2),
        opt_einsum.paths.greedy,
        last_first,
    ],
    ids=["PathInfo", "optimizer", "function", "own"],
)
def test_opt_einsum(optimize: Any) -> None:
    np.testing.assert_allclose(ring_by(optimize), EXPECTED, rtol=1e-12)


def test_an_optimizer_is_asked_once_for_a_network_and_its_sizes() -> None:
    asked: list[Any] = []

    def counted(inputs: Any, output: Any, sizes: Any, limit: Any) -> Sequence[tuple[int, int]]:
        asked.append((inputs, sorted(sizes.values())))
        return last_first(inputs, output, sizes)

    assert tn.einsum_plan(RING, *OPERANDS, optimize=counted).path == ((2, 3), (1, 2), (0, 1))
    ring_by(counted)
    tn.jit(lambda *xs: tn.einsum(RING, *xs, optimize=counted), executor="numpy")(*OPERANDS)
    assert len(asked) == 1
    assert asked[0][1] == [2, 3, 4, 5, 6]
    tn.einsum(RING, *[np.ones((2, 2, 2))] * 4, optimize=counted)
    assert len(asked) == 2


class Unhashable:
    """An optimizer that is asked each time."""

    __hash__ = None  # type: ignore[assignment]

    def __call__(self, *arguments: Any) -> Any:
        return last_first(*arguments)


def test_an_optimizer_without_a_hash() -> None:
    np.testing.assert_allclose(ring_by(Unhashable()), EXPECTED, rtol=1e-12)


def sliced_tree(project: bool = False) -> Any:
    ctg = pytest.importorskip("cotengra")
    terms = [tuple(term) for term in RING.partition("->")[0].split(",")]
    tree = ctg.array_contract_tree(terms, ("x",), shapes=SHAPES)
    return tree.remove_ind("d", project=0 if project else None)  # cotengra's name of c


def test_a_tree_of_cotengra_is_the_order_and_its_slices() -> None:
    tree = sliced_tree()
    plan = tn.einsum_plan(RING, *OPERANDS, optimize=tree)
    assert list(plan.path) == [tuple(sorted(pair)) for pair in tree.get_path()]
    assert plan.slices == (ord("c"),)
    assert plan.slice_count == tree.nslices == 5
    np.testing.assert_allclose(ring_by(tree), EXPECTED, rtol=1e-12)
    assert tn.einsum_plan(RING, *OPERANDS, optimize=tree, slices=False).slices == ()
    other = "pqz,qrz,rsz,spz->z"  # labels go by position
    assert tn.einsum_plan(other, *OPERANDS, optimize=tree).slices == (ord("r"),)


def test_an_optimizer_of_cotengra_slices() -> None:
    ctg = pytest.importorskip("cotengra")
    options = {"max_repeats": 2, "parallel": False, "methods": ["greedy"], "optlib": "random"}
    search = ctg.HyperOptimizer(slicing_opts={"target_slices": 2}, seed=0, **options)
    plan = tn.einsum_plan(RING, *OPERANDS, optimize=search)
    assert plan.slice_count >= 2
    np.testing.assert_allclose(ring_by(search), EXPECTED, rtol=1e-12)


def test_what_does_not_fit_is_refused() -> None:
    info = opt_einsum.contract_path("ab,bc->ac", np.ones((2, 2)), np.ones((2, 2)))[1]
    with pytest.raises(PathError, match="PathInfo is for ab,bc->ac, not for abx,bcx,cdx,dax->x"):
        ring_by(info)
    with pytest.raises(PathError, match="contracts 4 operands, not the 2 of ab,bc->ac"):
        tn.einsum("ab,bc->ac", np.ones((2, 2)), np.ones((2, 2)), optimize=sliced_tree())
    with pytest.raises(PathError, match="slices 'd' of size 5, which"):
        tn.einsum(RING, *[np.ones((2, 2, 2))] * 4, optimize=sliced_tree())
    with pytest.raises(PathError, match="takes one value of 'd' only"):
        ring_by(sliced_tree(project=True))
    with pytest.raises(PathError, match="returned 3, which is not a list of groups"):
        ring_by(lambda *_: 3)
    with pytest.raises(PathError, match="optimize=<class 'object'> is not a strategy"):
        ring_by(object)
    symbolic = [tn.TensorSpec(("n", "n", "n"))] * 4
    with pytest.raises(PathError, match="optimizer function needs known sizes"):
        tn.make_program(lambda *xs: tn.einsum(RING, *xs, optimize=last_first), *symbolic)


@pytest.mark.parametrize("name", ["branch-2", "auto-hq", "random-greedy", "eager"])
def test_a_name_of_opt_einsum_is_its_optimizer(name: str) -> None:
    a = np.arange(6.0).reshape(2, 3)
    b = np.arange(12.0).reshape(3, 4)
    c = np.arange(8.0).reshape(4, 2)
    found = tn.einsum("ij,jk,kl->il", a, b, c, optimize=name)
    np.testing.assert_allclose(np.asarray(found), a @ b @ c)


def test_optimizers_are_not_asked_where_there_is_one_order() -> None:
    x = np.arange(6.0).reshape(2, 3)
    for optimizer in (opt_einsum.RandomGreedy(), opt_einsum.DynamicProgramming()):
        assert np.array_equal(tn.einsum("ij->ji", x, optimize=optimizer), x.T)
        assert np.array_equal(tn.einsum("ij,kj->ik", x, x, optimize=optimizer), x @ x.T)


@pytest.mark.parametrize("kind", [np.array, list, tuple, lambda path: [np.array(p) for p in path]])
def test_a_path_of_arrays(kind: Callable[[Any], Any]) -> None:
    x = np.arange(4.0).reshape(2, 2)
    path = kind([(0, 1), (0, 1)])
    assert np.allclose(tn.einsum("ij,jk,kl->il", x, x, x, optimize=path), x @ x @ x)


def test_slices_of_a_label_that_one_operand_has_are_left_out() -> None:
    cotengra = pytest.importorskip("cotengra")
    shapes = [(8, 8, 3), (8, 8), (8, 8)]
    sizes = {"a": 8, "b": 8, "c": 8, "x": 3}
    path = [(1, 2), (0, 1)]
    tree = cotengra.ContractionTree.from_path(["abx", "bc", "ca"], "", sizes, path=path)
    tree.remove_ind_("x")
    tree.remove_ind_("a")
    plan = tn.einsum_plan("abx,bc,ca->", *[np.ones(s) for s in shapes], optimize=tree)
    assert plan.slices == (ord("a"),)


def test_names_and_pairs_that_are_not_taken_say_what_is() -> None:
    x = np.eye(2)
    with pytest.raises(PathError, match="'no-such' is not a method; the names are"):
        tn.einsum("ij,jk,kl->il", x, x, x, optimize="no-such")
    with pytest.raises(PathError, match=r"memory_limit= in bytes"):
        tn.einsum("ij,jk,kl->il", x, x, x, optimize=("greedy", 10**6))
