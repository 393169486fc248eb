"""check_extension on batches: the way in which a family is batched, and what is reported of it."""

from __future__ import annotations

import numpy as np

from tenferro.extension import LeadingBatchRule
from tenferro.testing import check_extension
from tenferro.testing.derivatives import MOST, _masks
from tests.testing.families import Pair, Square, X, Y, rule_set

SLOW = frozenset({"processes", "xla"})


def test_the_report_says_how_a_family_without_a_batch_rule_is_batched() -> None:
    notes = check_extension(Pair(), inputs=[X, Y], skip=SLOW)["batch"].notes
    assert notes == ("there is no batch rule: by standard ops",)
    notes = check_extension(Square(), inputs=[X], skip=SLOW)["batch"].notes
    assert notes == ("there is no batch rule: its op is called for one entry after the other",)
    rules = rule_set(LeadingBatchRule(Square))
    report = check_extension(Square(), inputs=[X], rules=rules, skip=SLOW)
    assert (report["batch"].word, report["batch"].notes) == ("holds", ())
    assert report["rules"].word == "not checked"


def test_all_sets_of_few_inputs_are_batched_and_some_of_many() -> None:
    assert len(_masks(3)) == 7
    assert len(_masks(MOST)) == 2**MOST - 1
    many = _masks(7)
    assert len(many) == len(set(many)) == 15
    assert np.sum(many[0]) == 7
