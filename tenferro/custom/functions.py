"""What functions with derivatives by hand have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable
from typing import Any, ClassVar, Generic, ParamSpec, TypeVar, cast
from weakref import WeakValueDictionary

from tenferro.control import Rule
from tenferro.custom.arguments import Parameters
from tenferro.custom.forms import Form, call, is_differentiable
from tenferro.errors import ADError, ADRuleError
from tenferro.exec_ir import fresh_token
from tenferro.traced import wraps

P = ParamSpec("P")
R = TypeVar("R")


class FormRule(Rule):
    """The rules that a user wrote for a function, for calls of one form.

    Rules of two calls are one if their forms have one identity, so that equal calls are one value.
    """

    def __init__(self, form: Form) -> None:
        self.form = form
        self._token = fresh_token()

    @property
    def token(self) -> bytes:
        """Bytes of this rule alone."""
        return self._token

    def __str__(self) -> str:
        return self.form.name


class CustomFunction(ABC, Generic[P, R]):
    """A function with derivatives by hand.

    Args:
        function: takes and returns trees of arrays.
        nondiff_argnums: positions of arguments that are Python values, and are not differentiated.
        nondiff_argnames: names of further ones.

    Raises:
        ADError: `function` cannot be called, or a position or name is not that of a parameter.
    """

    caller: ClassVar[str]
    """What users call: `custom_jvp`."""

    def __init__(
        self,
        function: Callable[P, R],
        nondiff_argnums: int | Iterable[int] = (),
        nondiff_argnames: str | Iterable[str] = (),
    ) -> None:
        given: object = function
        if not callable(given):
            raise ADError(f"{self.caller}: takes a function, got a {type(given).__name__}")
        self._function = function
        self._name = f"{self.caller} {getattr(function, '__name__', type(function).__name__)}"
        self._parameters = Parameters(self._name, function, nondiff_argnums, nondiff_argnames)
        self._rules: WeakValueDictionary[Hashable, FormRule] = WeakValueDictionary()
        wraps(function, cast(Callable[..., Any], self))

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """The value of the function."""
        if not self._has_rule:
            raise ADRuleError(f"{self._name}: has no rule; {self._advice}")
        arguments = self._parameters.split(args, kwargs)
        if not is_differentiable(arguments.arrays):
            return self._function(*arguments.joined(arguments.arrays))  # type: ignore[call-arg]
        result: R = call(self._name, self._function, arguments, self._rule_of)
        return result

    def _rule_of(self, form: Form) -> Rule:
        """The rule for calls of a form."""
        key = form.identity
        if key is None:
            return self._new_rule(form)
        rule = self._rules.get(key)
        if rule is None:
            rule = self._rules[key] = self._new_rule(form)
        return rule

    def _defined(self, **rules: object) -> None:
        """Check rules that replace those that there are."""
        for name, rule in rules.items():
            if not callable(rule):
                kind = type(rule).__name__
                raise ADError(f"{self._name}: {name} must be a function, got a {kind}")
        self._rules.clear()

    def __repr__(self) -> str:
        return f"<{self._name}>"

    @property
    @abstractmethod
    def _has_rule(self) -> bool:
        """Whether rules have been defined."""

    @property
    @abstractmethod
    def _advice(self) -> str:
        """How to define rules."""

    @abstractmethod
    def _new_rule(self, form: Form) -> FormRule:
        """The rule for calls of a form."""
