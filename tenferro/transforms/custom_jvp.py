"""custom_jvp, stop_gradient, and calls with rules by hand as one op."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Container, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, NoReturn, ParamSpec, TypeVar, cast, overload
from weakref import WeakValueDictionary

from tenferro.core import GlobalValKey, Input, JvpSite, Slots, V
from tenferro.errors import ADError, ADRuleError, PytreeError, class_of, counted
from tenferro.ir import (
    FLOAT0,
    Number,
    PyTree,
    TensorMeta,
    fresh_input,
    fresh_token,
    is_complex,
    is_inexact,
    type_of,
)
from tenferro.ops import STOP_GRADIENT, full
from tenferro.ops.control_flow import Custom, CustomRule, emitted, program_of
from tenferro.ops.functions import OpFunction, apply, convert, emit_function
from tenferro.runtime import (
    Tensor,
    TraceContext,
    current_trace,
    innermost,
    is_tracing,
    meta_of_value,
    named_axes,
    open_traces,
)
from tenferro.transforms.eager_tensor import EagerTensor
from tenferro.transforms.higher_order import (
    Bodies,
    Call,
    leaves_of,
    operands_of,
    promoted,
    run,
    weak_leaf,
)
from tenferro.transforms.known_elements import declare_elements
from tenferro.transforms.program import wraps
from tenferro.transforms.trace import is_traced, leaf_meta, trace, traced_values
from tenferro.transforms.traced_tensor import (
    EagerCapture,
    TracedTensor,
    TraceEmitter,
    as_key,
)
from tenferro.transforms.trees import (
    TreeDef,
    flatten,
    leaf_names,
    merged,
    registering,
    shown,
    unflatten,
)

__all__ = ["CustomJvp", "custom_jvp", "is_differentiable", "stop_gradient"]


P = ParamSpec("P")
R = TypeVar("R")

# The arguments of a function with derivatives by hand, split into arrays and Python values.


@dataclass(frozen=True, slots=True)
class Arguments:
    """The arguments of one call.

    Attributes:
        static: those that are not differentiated, by position.
        arrays: the others, in order.
    """

    static: dict[int, Any]
    arrays: tuple[Any, ...]

    def with_arrays(self, arrays: Sequence[Any]) -> tuple[Any, ...]:
        """All arguments in order, with other arrays."""
        return merged(self.static, arrays)

    @property
    def first(self) -> tuple[Any, ...]:
        """Those that are not differentiated, as rules take them: first."""
        return tuple(self.static.values())


class NondiffParameters:
    """The parameters of a function, and which of them are not differentiated.

    Args:
        caller: what errors call the function: `custom_jvp f`.
        function: the function.
        numbers: positions of parameters that are not differentiated.
        names: names of further ones.
    """

    def __init__(
        self,
        caller: str,
        function: Callable[..., Any],
        numbers: int | Iterable[int],
        names: str | Iterable[str],
    ) -> None:
        self._caller = caller
        self._signature = _signature_of(function)
        places = [*self._places(numbers), *self._named(names)]
        self.static = tuple(sorted(set(places)))

    def split(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Arguments:
        """The arguments of a call."""
        args = self._in_order(args, kwargs)
        beyond = [place for place in self.static if place >= len(args)]
        if beyond:
            raise ADError(
                f"{self._caller}: nondiff_argnums {beyond[0]} is out of range for "
                f"{counted(len(args), 'argument')}"
            )
        static = {place: args[place] for place in self.static}
        for place, value in static.items():
            if any(isinstance(leaf, TracedTensor) for leaf in flatten(value)[0]):
                raise ADError(
                    f"{self._caller}: {self._name(place)} is in nondiff_argnums and is a traced "
                    "value; these must be Python values. Make it an ordinary argument, whose "
                    "derivative is None"
                )
        arrays = {place: value for place, value in enumerate(args) if place not in static}
        for place, value in arrays.items():
            self._check_leaves(place, value)
        return Arguments(static, tuple(arrays.values()))

    def _in_order(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """All arguments by position, defaults included."""
        if self._signature is None:
            if kwargs:
                raise ADError(f"{self._caller}: takes positional arguments only")
            return args
        try:
            bound = self._signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{self._caller}: {error}") from None
        bound.apply_defaults()
        if bound.kwargs:
            raise ADError(
                f"{self._caller}: {next(iter(bound.kwargs))} can be passed by name only; rules "
                "take arguments by position"
            )
        return bound.args

    def _check_leaves(self, place: int, value: Any) -> None:
        leaves, _ = flatten(value)
        for leaf, path in zip(leaves, leaf_names(value, self._name(place)), strict=True):
            if isinstance(leaf, TracedTensor):
                leaf.in_use(f"{self._caller}: {path}")
            elif meta_of_value(leaf) is None:
                raise PytreeError(
                    f"{self._caller}: {path} is {class_of(leaf)}, not an array or number"
                    f"{registering(leaf)}; name it in nondiff_argnums, which are Python values"
                )

    def _name(self, place: int) -> str:
        names = [] if self._signature is None else [*self._signature.parameters]
        return names[place] if place < len(names) else f"argument {place}"

    def _places(self, numbers: int | Iterable[int]) -> list[int]:
        places: list[Any] = [numbers] if isinstance(numbers, int) else [*numbers]
        parameters = () if self._signature is None else self._signature.parameters.values()
        open_ended = self._signature is None or any(
            parameter.kind is parameter.VAR_POSITIONAL for parameter in parameters
        )
        for number in places:
            if not isinstance(number, int) or isinstance(number, bool) or number < 0:
                raise ADError(
                    f"{self._caller}: nondiff_argnums must be integers of at least 0, "
                    f"got {number!r}"
                )
            if not open_ended and number >= len(parameters):
                raise ADError(
                    f"{self._caller}: nondiff_argnums {number} is out of range for "
                    f"{counted(len(parameters), 'parameter')}"
                )
        return places

    def _named(self, names: str | Iterable[str]) -> list[int]:
        known = [] if self._signature is None else [*self._signature.parameters]
        several = [names] if isinstance(names, str) else [*names]
        for name in several:
            if name not in known:
                raise ADError(
                    f"{self._caller}: nondiff_argnames has {name!r}, which is not a parameter"
                )
        return [known.index(name) for name in several]


def _signature_of(function: Callable[..., Any]) -> inspect.Signature | None:
    """The signature of a function; None for one that has none, as some builtin functions."""
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):
        return None


# Calls of a function with derivatives by hand: the op, and the values that rules are given.


def is_differentiable(arrays: Sequence[Any]) -> bool:
    """Whether a derivative may be asked for of a function of these arguments."""
    leaves = flatten(arrays)[0]
    tracked = any(isinstance(leaf, EagerTensor) and leaf.tracked for leaf in leaves)
    return tracked or is_tracing() or is_traced(leaves)


@dataclass(frozen=True, slots=True, eq=False)
class RuledCall:
    """What calls of a function have in common that differ in the values of arrays only.

    Attributes:
        name: what errors call the function: `custom_jvp f`.
        arguments: the arguments of these calls, with None in place of the arrays.
        in_tree: the structure of the arrays among them, which is a tuple.
        weak: for each of their leaves whose dtype yields to that of arrays a zero of its kind, else
            None.
        out_tree: the structure of the result.
        closed: the graph values that the function closes over, which are the first operands.
        traces: the traces around the call, whose values rules may read.
    """

    name: str
    arguments: Arguments
    in_tree: TreeDef
    weak: tuple[Number | None, ...]
    out_tree: TreeDef
    closed: tuple[GlobalValKey, ...]
    traces: tuple[TraceContext, ...]

    @property
    def identity(self) -> Hashable | None:
        """What tells apart the rules of two forms of a function; None if nothing does."""
        static = tuple([(type(value), value) for value in self.arguments.static.values()])
        try:
            hash(static)
        except TypeError:
            return None
        kinds = tuple(map(type, self.weak))
        return static, self.in_tree, kinds, self.out_tree, self.closed

    def trace(
        self,
        name: str,
        rule: Callable[..., Any],
        arguments: Callable[[TraceContext], Sequence[Any]],
        read: Callable[[Any], R],
        without: Container[GlobalValKey] = (),
    ) -> R:
        """What `read` makes of the result of a rule of the user, which errors call `name`.

        The named axes around the call are bound, but for those whose places are in `without`.

        The rule may use values of the traces around the call, also after these have ended, and
        tensors that eager runtimes track if the function closes over them.
        """
        around = current_trace()
        readable = None if around is None else around.tracked
        tracked = {} if readable is None else readable
        for key in self.closed:
            if isinstance(key, Input) and isinstance(key.key, EagerCapture):
                tracked[id(key.key.tensor)] = key.key
        count = len(tracked)
        ended = [each for each in self.traces if not each.is_open]
        for each in ended:
            each.is_open = True
        try:
            bound = named_axes(self.traces).values()
            axes = [axis for axis in bound if axis.index not in without]
            context = TraceContext(f"{name} of {self.name}", tracked, axes=axes)
            context.varies = any(axis.varies for axis in axes)
            result = trace(context, rule, arguments(context), {}, read)
        except Exception as error:
            error.add_note(f"raised in {name} of {self.name}")
            raise
        finally:
            for each in ended:
                each.is_open = False
        if readable is None and len(tracked) > count:
            raise ADError(
                f"{self.name}: {name} reads a tensor that an eager runtime tracks; pass it as an "
                "argument of the function"
            )
        return result

    def refuse_closed_over(self) -> NoReturn:
        """Raise the error of a derivative by what the function closes over."""
        raise ADRuleError(
            f"{self.name}: a derivative is asked for by a value that the function closes over, of "
            "which its rule knows nothing; make the value an argument"
        )

    def arrays(self, keys: Sequence[GlobalValKey | None], scope: TraceContext) -> tuple[Any, ...]:
        """Values like the arrays among the arguments, as users see them. None stays None."""
        arrays: tuple[Any, ...] = unflatten(self.in_tree, traced_values(keys, scope, self.weak))
        return arrays

    def matched(
        self,
        what: str,
        result: Any,
        tree: TreeDef,
        metas: Sequence[TensorMeta],
        converted: bool = False,
    ) -> list[GlobalValKey | None]:
        """The graph values of a tree that a rule returned, which has a structure and types.

        None stands for a zero, and for what belongs to an integer. If they are to be `converted`,
        the dtypes may be others, except for complex ones in the place of real ones.
        """
        flatten(result)  # registers dataclasses
        try:
            leaves = tree.flatten_up_to(result)
        except ValueError:
            raise ADRuleError(
                f"{self.name}: {what} is {described(result)}, which must have the structure of "
                f"{shown(tree, metas)}"
            ) from None
        return [
            self._key(what, leaf, meta, converted) for leaf, meta in zip(leaves, metas, strict=True)
        ]

    def _key(self, what: str, leaf: Any, goal: TensorMeta, converted: bool) -> GlobalValKey | None:
        if leaf is None or getattr(leaf, "dtype", None) == FLOAT0:
            return None
        meta = meta_of_value(leaf)
        if meta is None:
            raise ADRuleError(
                f"{self.name}: {what} is {class_of(leaf)} in the place of {goal}; "
                "return an array, or None for a zero"
            )
        if not isinstance(leaf, TracedTensor):
            leaf = TracedTensor(as_key(leaf), weak_leaf(leaf))
        key: GlobalValKey = leaf.in_use(what)
        meta = TensorMeta(meta.dtype, meta.extents)
        alike = meta.extents == goal.extents and is_complex(meta.dtype) <= is_complex(goal.dtype)
        if promoted(meta, leaf.weak, goal) or (converted and alike and is_inexact(goal.dtype)):
            return emit_function(TraceEmitter(), convert, key, dtype=goal.dtype)
        if meta != goal:
            raise ADRuleError(
                f"{self.name}: {what} is {meta} in the place of {goal}; return that type"
            )
        return key


def filled(keys: Sequence[GlobalValKey | None], like: Sequence[TensorMeta]) -> list[Any]:
    """Graph values with zeros for those that are None; None for those of integers."""
    return [
        full(TraceEmitter(), 0, meta) if key is None and is_inexact(meta.dtype) else key
        for key, meta in zip(keys, like, strict=True)
    ]


def declare_arguments(
    inputs: Iterable[GlobalValKey | None], passed: Iterable[object | None]
) -> None:
    """Say that the arguments of a rule have the elements of the graph values that are passed."""
    for key, value in zip(inputs, passed, strict=True):
        if key is not None and isinstance(value, GlobalValKey):
            declare_elements(key, value)


def call(
    name: str,
    function: Callable[..., Any],
    arguments: Arguments,
    rule_of: Callable[[RuledCall], CustomRule],
) -> Any:
    """The result of a function as that of an op with a rule."""
    label = getattr(function, "__name__", "f")
    passed = leaves_of(arguments.arrays, f"{name}: arguments")
    traces = open_traces()

    def of_function(values: list[TracedTensor]) -> Call:
        return arguments.with_arrays(unflatten(passed.tree, values)), {}

    bodies = Bodies(name.split()[0])
    body = bodies.trace(
        label,
        function,
        passed.metas,
        passed.weak,
        of_function,
        passed.values,
        has_rule=True,
    )
    closed = bodies.closed_over(body)
    places = [axis.index for axis in named_axes(traces).values()]  # for the rules
    closed += [index for index in places if index not in closed]
    program = program_of([*closed, *body.inputs], body.outputs)
    weak = tuple([None if number is None else type(number)() for number in passed.weak])
    static = Arguments(arguments.static, (None,) * len(arguments.arrays))
    form = RuledCall(name, static, passed.tree, weak, body.tree, tuple(closed), traces)
    op = Custom(program, rule_of(form), len(closed))
    return unflatten(body.tree, run(op, [*operands_of(closed), *passed.typed()], bodies))


def described(tree: Any) -> str:
    """A tree of types, also of one whose leaves are not all arrays."""
    leaves, treedef = flatten(tree)
    return shown(treedef, [meta_of_value(leaf) or f"{class_of(leaf)}" for leaf in leaves])


# What functions with derivatives by hand have in common.


class CallRule(CustomRule):
    """The rules that a user wrote for a function, for calls of one form.

    Rules of two calls are one if their forms have one identity, so that equal calls are one value.
    """

    def __init__(self, form: RuledCall) -> None:
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
        callee: object = function
        if not callable(callee):
            raise ADError(f"{self.caller}: takes a function, got {class_of(callee)}")
        self._function = function
        self._name = f"{self.caller} {getattr(function, '__name__', type(function).__name__)}"
        self._parameters = NondiffParameters(
            self._name, function, nondiff_argnums, nondiff_argnames
        )
        self._rules: WeakValueDictionary[Hashable, CallRule] = WeakValueDictionary()
        wraps(function, cast(Callable[..., Any], self))

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """The value of the function."""
        if not self._has_rule:
            raise ADRuleError(f"{self._name}: has no rule; {self._advice}")
        arguments = self._parameters.split(args, kwargs)
        if not is_differentiable(arguments.arrays):
            return self._function(*arguments.with_arrays(arguments.arrays))  # type: ignore[call-arg]
        result: R = call(self._name, self._function, arguments, self._rule_of)
        return result

    def _rule_of(self, form: RuledCall) -> CustomRule:
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
                kind = class_of(rule)
                raise ADError(f"{self._name}: {name} must be a function, got {kind}")
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
    def _new_rule(self, form: RuledCall) -> CallRule:
        """The rule for calls of a form."""


# custom_jvp: a function whose tangents a rule gives.

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
                    f"{self._name}: defjvps has {counted(len(rules), 'rule')} for "
                    f"{counted(len(primals), 'argument')}"
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

    def _new_rule(self, form: RuledCall) -> CallRule:
        assert self._rule is not None
        return _TangentRule(form, self._rule, self._symbolic_zeros)


class _TangentRule(CallRule):
    def __init__(self, form: RuledCall, rule: JvpRule, symbolic_zeros: bool) -> None:
        super().__init__(form)
        self._rule = rule
        self._symbolic_zeros = symbolic_zeros

    def linearize(self, op: Custom, at: JvpSite[V]) -> Slots[V]:
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
        declare_arguments([*primals, *tangents], [*at.primal[count:], *at.tangent[count:]])
        pushed = self._tangents(op, primals, tangents)
        known = dict(zip([*form.closed, *primals], at.primal, strict=True))
        known.update(
            (key, value)
            for key, value in zip(tangents, at.tangent[count:], strict=True)
            if key is not None and value is not None
        )
        return emitted(at.emitter, pushed, known, primals[0].serial, f"rule of {self}")

    def _tangents(self, op: Custom, primals: Sequence[Any], tangents: Sequence[Any]) -> list[Any]:
        """The tangents of the results, as graph values."""
        form, metas, types = self.form, op.body.input_metas[op.consts :], op.body.output_metas
        seeds = tangents if self._symbolic_zeros else filled(tangents, metas)

        def read(result: Any) -> list[Any]:
            if not isinstance(result, tuple | list) or len(result) != 2:
                raise ADRuleError(
                    f"{form.name}: the rule must return a pair (value, tangent), got "
                    f"{described(result)}"
                )
            value, tangent = result
            values = form.matched("the value that the rule returns", value, form.out_tree, types)
            if None in values:
                raise ADRuleError(f"{form.name}: the rule returns None for a value")
            return form.matched("the tangent that the rule returns", tangent, form.out_tree, types)

        keys = form.trace(
            "the rule",
            self._rule,
            lambda at: (*form.arguments.first, form.arrays(primals, at), form.arrays(seeds, at)),
            read,
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
    return unflatten(tree, traced_values(filled(keys, metas), innermost(open_traces())))


def _sum_of(terms: Sequence[Any]) -> Any:
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


# stop_gradient: values that derivatives treat as constant.

T = TypeVar("T")


def stop_gradient(x: T) -> T:
    """`x`, which derivatives treat as constant.

    Args:
        x: a tree of arrays.

    Raises:
        PytreeError: a leaf is not an array.

    >>> import tenferro as tn
    >>> tn.grad(lambda x: x * tn.stop_gradient(x))(3.0)
    Tensor(3.)
    """
    leaves, tree = flatten(x)
    result: T = unflatten(tree, [_stopped(leaf, place) for place, leaf in enumerate(leaves)])
    return result


def _stopped(leaf: Any, place: int) -> Any:
    leaf_meta(leaf, f"stop_gradient: leaf {place}")
    is_number = isinstance(leaf, bool | int | float | complex)
    return apply(OpFunction(STOP_GRADIENT), Tensor(leaf) if is_number else leaf)
