"""Orders that are written with parentheses."""

import pytest

from tenferro.errors import SubscriptError
from tenferro.network import NestedEinsum


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("((ij,jk),kl)->il", ((0, 1), (0, 1))),
        ("(ij,(jk,kl))->il", ((1, 2), (0, 1))),
        ("(ij,jk,kl)->il", ((0, 1, 2),)),
        ("ij,(jk,kl)->il", ((1, 2), (0, 1))),
        ("((ij),jk)->ik", ((0, 1),)),
        ("(i,j),(k,l)->ijkl", ((0, 1), (0, 1), (0, 1))),
    ],
)
def test_parentheses_give_the_order(text: str, path: tuple[tuple[int, ...], ...]) -> None:
    assert NestedEinsum.parse(text).path == path


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("((ij,jk)->ik", r"'\(' without '\)'"),
        ("ij,jk)->ik", r"'\)' without '\('"),
        ("(ij)(jk)->ik", r"expected ',' before '\('"),
        ("(ij)jk->ik", r"expected ',' after '\)'"),
        ("(ij,jk)->(ik)", "parentheses in its output"),
    ],
)
def test_parentheses_that_do_not_match_are_refused(text: str, message: str) -> None:
    with pytest.raises(SubscriptError, match=message):
        NestedEinsum.parse(text)
