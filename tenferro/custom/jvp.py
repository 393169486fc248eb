"""custom_jvp: a function whose tangents a rule gives."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, ParamSpec, TypeVar, overload

from tenferro.chainrules import JvpSite, Slots, V
from tenferro.control import Ruled, emitted
from tenferro.custom.forms import Form, described, filled, values_of
from tenferro.custom.functions import CustomFunction, FormRule
from tenferro.errors import ADError, ADRuleError
from tenferro.shape import fresh_input, is_inexact, type_of
from tenferro.traced import as_key, flatten, innermost, open_scopes, unflatten
from tenferro.typing import PyTree

P = ParamSpec("P")
R = TypeVar("R")
JvpRule = Callable[..., tuple[PyTree, PyTree]]


class CustomJvp(CustomFunction[P, R]):
    """A function whose tangents a rule gives; what `custom_jvp` returns."""

    caller = "custom_jvp"
    _rule: JvpRule | None = None
    _symbolic_zeros = False

    def defjvp(self, rule: JvpRule, symbolic_zeros: bool = False) -> JvpRule:
        """Define the rule `rule(primals, tangents) -> (value, tangent)`; returns it.

        `primals` and `tangents` are tuples, of one entry for each argument. Arguments of
        `nondiff_argnums` come before them. The tangent must be linear in `tangents`. The tangent of
        an integer is None; other tangents that are zero are arrays of zeros, or None if
        `symbolic_zeros`. The rule may return None for a tangent that is zero.

        Raises:
            ADError: `rule` cannot be called.
        """
        self._defined(rule=rule)
        self._rule, self._symbolic_zeros = rule, symbolic_zeros
        return rule

    def defjvps(self, *rules: Callable[..., PyTree] | None) -> None:
        """Define the tangent as a sum of one term for each argument.

        Each of `rules` takes the tangent of its argument, the value of the function, and the
        arguments: `rule(tangent, value, *primals)`. None is a term that is zero.

        Raises:
            ADError: a rule cannot be called, or the function has nondiff_argnums.
        """
        if self._parameters.static:
            raise ADError(f"{self._name}: defjvps takes no nondiff_argnums; use defjvp")
        for number, rule in enumerate(rules):
            if rule is not None:
                self._defined(**{f"rule {number} of defjvps": rule})

        def summed(primals: Sequence[PyTree], tangents: Sequence[PyTree]) -> tuple[Any, Any]:
            if len(rules) != len(primals):
                raise ADRuleError(
                    f"{self._name}: defjvps has {len(rules)} rules for {len(primals)} arguments"
                )
            value = self(*primals)  # type: ignore[call-arg]  # as the function
            terms = [
                rule(_with_zeros(tangent, primal), value, *primals)
                for rule, tangent, primal in zip(rules, tangents, primals, strict=True)
                if rule is not None and flatten(tangent)[0]  # not None alone
            ]
            return value, _sum_of(terms)

        self._rule, self._symbolic_zeros = summed, True

    @property
    def _has_rule(self) -> bool:
        return self._rule is not None

    @property
    def _advice(self) -> str:
        return "define one with .defjvp(rule)"

    def _new_rule(self, form: Form) -> FormRule:
        assert self._rule is not None
        return _TangentRule(form, self._rule, self._symbolic_zeros)


class _TangentRule(FormRule):
    """The rule of a `CustomJvp`."""

    def __init__(self, form: Form, rule: JvpRule, symbolic_zeros: bool) -> None:
        super().__init__(form)
        self._rule = rule
        self._symbolic_zeros = symbolic_zeros

    def linearize(self, op: Ruled, at: JvpSite[V]) -> Slots[V]:
        """The tangents that the user's rule returns."""
        form, count = self.form, op.consts
        if any(tangent is not None for tangent in at.tangent[:count]):
            form.refuse_closed_over()
        metas = op.body.input_metas[count:]
        active = [tangent is not None for tangent in at.tangent[count:]]
        primals = [fresh_input(meta, f"primal{place}") for place, meta in enumerate(metas)]
        tangents = [
            fresh_input(meta, f"tangent{place}") if on else None
            for place, (meta, on) in enumerate(zip(metas, active, strict=True))
        ]
        found = self._tangents(op, primals, tangents)
        known = dict(zip([*form.closed, *primals], at.primal, strict=True))
        known.update(
            (key, given)
            for key, given in zip(tangents, at.tangent[count:], strict=True)
            if key is not None and given is not None
        )
        return emitted(at.emitter, found, known, primals[0].serial, f"rule of {self}")

    def _tangents(self, op: Ruled, primals: Sequence[Any], tangents: Sequence[Any]) -> list[Any]:
        """The tangents of the results, as graph values."""
        form, metas = self.form, op.body.input_metas[op.consts :]
        with form.tracing("the rule") as scope:
            given = tangents if self._symbolic_zeros else filled(tangents, metas)
            result = scope.calling(
                self._rule,
                *form.arguments.first,
                unflatten(form.in_tree, form.arguments_of(primals, scope)),
                unflatten(form.in_tree, form.arguments_of(given, scope)),
            )
            if not isinstance(result, tuple | list) or len(result) != 2:
                raise ADRuleError(
                    f"{form.name}: the rule must return a pair (value, tangent), got "
                    f"{described(result)}"
                )
            types = op.body.output_metas
            value, tangent = result
            values = form.matched("the value that the rule returns", value, form.out_tree, types)
            if None in values:
                raise ADRuleError(f"{form.name}: the rule returns None for a value")
            keys: list[Any] = form.matched(
                "the tangent that the rule returns", tangent, form.out_tree, types
            )
        for key, meta in zip(keys, types, strict=True):
            if key is not None and not is_inexact(meta.dtype):
                raise ADRuleError(
                    f"{form.name}: the rule returns a tangent of a result {meta}; return None"
                )
        return keys


def _with_zeros(tangent: PyTree, primal: PyTree) -> PyTree:
    """The tangent of a tree, with zeros where it is None."""
    primals, tree = flatten(primal)
    keys = [None if leaf is None else as_key(leaf) for leaf in tree.flatten_up_to(tangent)]
    metas = [type_of(as_key(leaf)) for leaf in primals]
    return unflatten(tree, values_of(filled(keys, metas), innermost(open_scopes())))


def _sum_of(terms: Sequence[Any]) -> Any:
    """The sum of trees of arrays; None if there is none."""
    if not terms:
        return None
    leaves = [flatten(term)[0] for term in terms]
    _, tree = flatten(terms[0])
    return unflatten(tree, [sum(parts[1:], parts[0]) for parts in zip(*leaves, strict=True)])


@overload
def custom_jvp(
    function: Callable[P, R],
    nondiff_argnums: int | Iterable[int] = (),
    nondiff_argnames: str | Iterable[str] = (),
) -> CustomJvp[P, R]: ...


@overload
def custom_jvp(
    function: None = None,
    nondiff_argnums: int | Iterable[int] = (),
    nondiff_argnames: str | Iterable[str] = (),
) -> Callable[[Callable[P, R]], CustomJvp[P, R]]: ...


def custom_jvp(
    function: Callable[P, R] | None = None,
    nondiff_argnums: int | Iterable[int] = (),
    nondiff_argnames: str | Iterable[str] = (),
) -> CustomJvp[P, R] | Callable[[Callable[P, R]], CustomJvp[P, R]]:
    """A function whose derivatives follow from a rule for tangents, which `.defjvp` defines.

    Use it as a decorator. The rule serves forward and reverse mode, of any order. It is traced when
    a derivative is asked for, and may call the function.

    Args:
        function: takes and returns trees of arrays. Without it, a decorator is returned.
        nondiff_argnums: positions of arguments that are Python values, such as functions and
            options. The rule takes them first.
        nondiff_argnames: names of further ones.

    Raises:
        ADError: `function` cannot be called, or a position or name is not that of a parameter.

    >>> import tenferro as tn
    >>> @tn.custom_jvp
    ... def log1pexp(x):
    ...     return tn.log(1.0 + tn.exp(x))
    >>> @log1pexp.defjvp
    ... def rule(primals, tangents):
    ...     (x,), (dx,) = primals, tangents
    ...     return log1pexp(x), dx / (1.0 + tn.exp(-x))
    >>> tn.grad(log1pexp)(0.0), tn.grad(tn.grad(log1pexp))(0.0)
    (Tensor(0.5), Tensor(0.25))
    """
    if function is None:
        return lambda function: CustomJvp(function, nondiff_argnums, nondiff_argnames)
    return CustomJvp(function, nondiff_argnums, nondiff_argnames)
