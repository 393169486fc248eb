"""gauge_report says what a loss of factors depends on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tenferro as tn
from tenferro.errors import ConfigError, ShapeError
from tests.linalg.matrices import hermitian, random, with_singular_values

RNG = np.random.default_rng(0)
OPERATOR = hermitian(RNG, 4)


def transposed(x: Any) -> Any:
    return tn.conj(tn.matrix_transpose(x))


def test_a_projector_on_a_whole_cluster_is_invariant() -> None:
    def loss(w: Any, v: Any) -> Any:
        return tn.sum(v[:, :2] @ transposed(v[:, :2]) * OPERATOR) + tn.sum(w)

    report = tn.linalg.gauge_report(loss, np.diag([1.0, 1.0, 2.0, 3.0]))
    assert report.invariant
    assert report.clusters == ((0, 1),)
    assert report.advice == 'pass degenerate="project"'
    simple = tn.linalg.gauge_report(loss, OPERATOR)
    assert simple.advice == "the derivative exists as it is"


def test_a_single_vector_of_a_cluster_is_not() -> None:
    report = tn.linalg.gauge_report(lambda w, v: tn.sum(v[:, 0] ** 3), np.eye(4))
    assert not report.invariant
    assert report.change > report.tolerance
    assert "projectors" in report.advice


def test_a_function_of_the_matrix_needs_a_block() -> None:
    def loss(w: Any, v: Any) -> Any:
        return tn.sum((v * tn.exp(w)) @ transposed(v) * OPERATOR)

    report = tn.linalg.gauge_report(loss, np.eye(4))
    assert not report.invariant
    assert max(report.basis, report.change) <= report.tolerance < report.spread
    text = str(report)
    assert text.startswith("equal values: 1 (4 times)\n")
    assert text.endswith("which are exact at equal values")


def test_zero_singular_values_are_reported() -> None:
    a = with_singular_values(RNG, 4, 3, [2, 2, 0], complex)

    def energy(u: Any, s: Any, vh: Any) -> Any:
        return tn.sum(s**2)

    report = tn.linalg.gauge_report(energy, a)
    assert (report.clusters, report.zeros, report.invariant) == (((0, 1),), (2,), True)
    weights = random(RNG, 4, 3, dtype=complex)
    phases = tn.linalg.gauge_report(lambda u, s, vh: tn.real(tn.sum(u * weights)), a)
    assert not phases.invariant
    nuclear = tn.linalg.gauge_report(lambda u, s, vh: tn.sum(s), a)
    assert nuclear.spread > nuclear.tolerance


def test_wrong_arguments_are_refused() -> None:
    with pytest.raises(ConfigError, match="got a function of 1 argument"):
        tn.linalg.gauge_report(lambda x: x, np.eye(2))
    with pytest.raises(ShapeError, match=r"takes a square matrix, got shape \(2, 3\)"):
        tn.linalg.gauge_report(lambda w, v: w[0], np.ones((2, 3)))


def test_dependence_that_no_single_basis_shows_is_found() -> None:
    """At this matrix the losses are zero in every basis, and their cotangents turn no basis."""
    half = np.zeros((3, 3))
    half[0, 2], half[1, 2] = 1.0, 0.5
    operator = half + half.T

    def of_vector(w: Any, v: Any) -> Any:
        return v[:, 0] @ operator @ v[:, 0]

    x = np.diag([1.0, 1, 2])
    for report in (
        tn.linalg.gauge_report(of_vector, x),
        tn.linalg.gauge_report(lambda u, s, vh: u[:, 0] @ operator @ vh[0], np.diag([2.0, 2, 1])),
    ):
        assert report.basis <= report.tolerance < report.change
        assert report.spread == 0
        assert not report.invariant
        assert "projectors" in report.advice
    # The check of "project" sees one basis: there the loss is like an invariant one.
    gradient = tn.grad(lambda x: of_vector(*tn.linalg.eigh(x, degenerate="project")))(x)
    assert np.isfinite(gradient).all()


def test_single_values_are_seen_in_every_basis() -> None:
    """In LAPACK's own basis of a multiple of 1, cotangents of values are alike here."""
    operator = np.ones((3, 3)) * 0.5 + np.eye(3)
    report = tn.linalg.gauge_report(
        lambda w, v: tn.sum(operator * ((v * tn.log(w)) @ v.mT)), 2 * np.eye(3)
    )
    assert report.spread > report.tolerance >= report.change
    assert "funm_hermitian" in report.advice
