"""What wrong calls say: what was written, and what to write instead."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tenferro as tn
from tenferro.compiler import compile_std_to_exec, optimize, parse
from tenferro.core import (
    FragmentBuilder,
    compile_graph,
    differentiate,
    materialize_merge,
    resolve_keys,
)
from tenferro.ops import MUL
from tenferro.transforms import AdContext
from tests.numpy.wrong_calls import calls

WRONG = dict(calls())
TEXTS = {
    "permute_dims": r"^permute_dims: axes \(1,\) must name each axis of f64\[2,2\] once",
    "input(3)": r"^shape: takes a list of sizes, got 3; write \(3,\)",
    "concatenate(M, N)": r"^concat: axis is an array f64\[2,2\], not an integer; pass arrays in one",  # noqa: E501
    "einsum(list)": r"one by one, not in a list; write einsum\('ij,jk->ik', \*operands\)",
    "einsum(order)": r"^einsum: the subscripts come first; write einsum\('ij,jk->ik', x, y\)",
    "einsum(limit)": r"^einsum: memory_limit must be a number of bytes, a text .* got 'lots'",
    "reshape(traced)": r"is a value of a trace, not a size; make the argument that it is static",
    "static list": r"must be hashable, but argument n is a list \[1\]; pass a tuple$",
    "GraphExecutor(class)": r"got the class NumpyBackend; write NumpyBackend\(\)$",
    "plan.save": r"^einsum plan: /nonexistent/x cannot be written: No such file",
    "save(nothing)": r"^file: '' does not name a file",
    "eye(too large)": r"^eye: .* takes .* more than the budget of",
    "linspace(too large)": r"^linspace: .* takes .* more than the budget of",
    "capacity": r"^eager: capacity must be a number of entries, got -1",
    "to_dot(fragment)": r"^to_dot: takes a materialized graph, got a Fragment; write to_dot\(mater",
    "build([tuple])": r"^fragment: an output is a tuple of values, as add returns it; write \(y,\) =",  # noqa: E501
    "build(value)": r"^fragment: outputs must be a list of values, got a",
    "add([tuple])": r"^multiply: an operand is a tuple of values, as add returns it; write \(y,\) =",  # noqa: E501
    "differentiate(fragment)": r"^differentiate: takes a view, got a Fragment; write resolve\(\[fragm",  # noqa: E501
    "outputs=y": r"^differentiate: outputs must be a list of values, got a",
    "wrt=x": r"^differentiate: wrt must be a list of values, got an Input",
    "resolve(fragment)": r"^resolve: takes a list of fragments, got a Fragment; write resolve\(\[f\]\)",  # noqa: E501
    "transpose(fragment)": r"^transpose: takes a linear fragment, got a Fragment; pass what differ",
    "evaluate(graph)": r"^evaluate: takes a compiled program, got a MaterializedGraph; write evaluate",  # noqa: E501
    "evaluate(program, dict)": r"^evaluate: takes the values in the order of the inputs, got a dict",  # noqa: E501
}


@pytest.mark.parametrize("name", TEXTS)
def test_a_wrong_call_says_what_to_write(name: str) -> None:
    with pytest.raises(tn.TenferroError, match=TEXTS[name]):
        WRONG[name]()


def test_parse_verifies_and_reads_what_is_printed() -> None:
    program = tn.make_program(lambda x: tn.sin(x) * 2, tn.TensorSpec(("n",))).exec_program
    assert str(parse(str(program))) == str(program)
    assert parse(str(program)) == program != parse(str(program).replace("sine", "cosine"))
    wrong = "exec_program(%0: f64[n]) {\n %1: f64[n] = sine %0, %0\n return %1\n}"
    with pytest.raises(tn.TenferroError, match="sine: takes 1 operand, got 2"):
        parse(wrong)


def test_a_tensor_says_why_it_has_no_backward() -> None:
    x = tn.ones(2)
    assert not hasattr(x, "backward")
    with pytest.raises(AttributeError, match=r"a Tensor records nothing; use tn.grad\(f\)\(x\)"):
        x.backward()


MISSING: dict[str, tuple[Callable[[], Any], str]] = {
    "a slip": (lambda: tn.sqrtt, r"has no attribute 'sqrtt'; did you mean tenferro.sqrt\?$"),
    "a longer name": (lambda: tn.cosine, r"did you mean tenferro.cos\?$"),
    "case": (lambda: tn.tensorSpec, r"did you mean tenferro.TensorSpec\?$"),
    "torch": (lambda: tn.cat, r"did you mean tenferro.concat\?$"),
    "a module": (lambda: tn.inv, r"did you mean tenferro.linalg.inv\?$"),
    "later": (lambda: tn.sparse, r"has no attribute 'sparse'; it is not there yet$"),
    "of JAX": (lambda: tn.live_arrays, r"'live_arrays'; arrays are freed when nothing refers"),
    "nn": (lambda: tn.nn.softmx, r"did you mean tenferro.nn.softmax\?$"),
    "random": (lambda: tn.random.randn, r"'randn'; use tn.random.normal\(key, shape\)$"),
    "scipy": (lambda: tn.scipy.signal.lfilter, r"it is not there yet; on arrays that are known"),
    "stats": (lambda: tn.scipy.stats.gama, r"did you mean tenferro.scipy.stats.gamma\?$"),
    "special": (lambda: tn.scipy.special.gamaln, r"did you mean tenferro.scipy.special.gammaln"),
    "tree": (lambda: tn.tree.mapp, r"did you mean tenferro.tree.map\?$"),
    "segments": (lambda: tn.ops.segment_mean, r"did you mean tenferro.ops.segment_m"),
    "unknown": (lambda: tn.qqqqzzzz, r"module 'tenferro' has no attribute 'qqqqzzzz'$"),
    "linalg": (lambda: tn.linalg.choleski, r"did you mean tenferro.linalg.cholesky\?$"),
    "fft": (lambda: tn.fft.fftt, r"did you mean tenferro.fft.fft"),
    "lax": (lambda: tn.lax.psend, r"use tn.lax.ppermute or all_to_all"),
    "lax slip": (lambda: tn.lax.dot_generl, r"did you mean tn.lax.dot_general\?$"),
}


@pytest.mark.parametrize(("get", "text"), MISSING.values(), ids=MISSING)
def test_a_missing_name_says_what_was_meant(get: Callable[[], Any], text: str) -> None:
    with pytest.raises(AttributeError, match=text):
        get()


BUILDER: FragmentBuilder[Any] = FragmentBuilder()
A = BUILDER.input("a")
VIEW: Any = resolve_keys()
T = tn.TracedTensor.input((3,), "float64", name="t")
HEAD = "exec_program(%0: f64[3]) {\n"
N = 10**7
CREATORS = {
    "zeros": lambda: tn.zeros((N, N)),
    "ones": lambda: tn.ones((N, N)),
    "empty": lambda: tn.empty((N, N)),
    "full": lambda: tn.full((N, N), 2),
    "eye": lambda: tn.eye(N),
    "identity": lambda: tn.identity(N),
    "tri": lambda: tn.tri(N),
    "arange": lambda: tn.arange(N * N),
    "linspace": lambda: tn.linspace(0, 1, N * N),
    "logspace": lambda: tn.logspace(0, 1, N * N),
    "geomspace": lambda: tn.geomspace(1, 2, N * N),
    "vander": lambda: tn.vander(tn.ones(N), N),
    "meshgrid": lambda: tn.meshgrid(tn.ones(N), tn.ones(N)),
    "indices": lambda: tn.indices((N, N)),
    "diag": lambda: tn.diag(tn.ones(N)),
    "outer": lambda: tn.outer(tn.ones(N), tn.ones(N)),
    "kron": lambda: tn.kron(tn.ones(N), tn.ones(N)),
    "tile": lambda: tn.tile(tn.ones(3), N * N),
}


@pytest.mark.parametrize("name", CREATORS)
def test_an_array_over_the_budget_is_refused_in_the_name_of_what_was_called(name: str) -> None:
    with pytest.raises(tn.errors.ExtentError, match=f"^{name}: .* takes .* more than the budget"):
        CREATORS[name]()


WRONG_GRAPHS = {
    "add(class)": (lambda: BUILDER.add(type(MUL), [A, A]), "add: takes an op, got the class Mul"),
    "add(numbers)": (lambda: BUILDER.add(MUL, [3, 4]), "multiply: 3 is not a value of a graph"),
    "differentiate(traced)": (
        lambda: differentiate(VIEW, [T], [T.key], ctx=AdContext().shapes),
        "differentiate: outputs must be a list of values, got a TracedTensor in it; write its .key",
    ),
    "merge(fragment)": (
        lambda: materialize_merge(BUILDER.build([A]), [A]),
        r"materialize_merge: takes a view, got a Fragment; write resolve\(\[fragment\]\)",
    ),
    "merge(value)": (lambda: materialize_merge(VIEW, A), "outputs must be a list of values, got a"),
    "compile(fragment)": (
        lambda: compile_graph(BUILDER.build([A])),
        "compile_graph: takes a materialized graph, got a Fragment; write compile_graph",
    ),
    "lower(graph)": (
        lambda: compile_std_to_exec(materialize_merge(VIEW, [A]), []),
        "lower: takes a compiled program, got a MaterializedGraph; write compile_std_to_exec",
    ),
    "lower(types)": (
        lambda: compile_std_to_exec(compile_graph(materialize_merge(VIEW, [A])), [3]),
        "lower: the type of input 0 must be a TensorMeta, got 3",
    ),
    "optimize(text)": (
        lambda: optimize("exec_program() {}"),
        r"optimize: takes an execution program, got a str; write optimize\(parse\(text\)\)",
    ),
    "parse(3)": (lambda: parse(3), "parse: takes the text of a program, got an int"),
    "parse(payload)": (
        lambda: parse(f"{HEAD} %1: f64[] = reduce_sum[axes='a'] %0\n return %1\n}}"),
        "parse: an op does not take its payload",
    ),
    "parse(constant)": (
        lambda: parse(f"{HEAD} %1: f64[] = constant[value='a', dtype=f64]\n return %1\n}}"),
        "parse: constant: could not convert string to float",
    ),
}


@pytest.mark.parametrize(("call", "text"), WRONG_GRAPHS.values(), ids=WRONG_GRAPHS)
def test_functions_of_graphs_and_programs_say_what_they_take(call: Any, text: str) -> None:
    with pytest.raises(tn.TenferroError, match=text):
        call()


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: tn.nn.elu(tn.ones(3), tn.ones(4)), "elu: operands have types"),
        (lambda: tn.jit(tn.nn.elu)(tn.ones(3), tn.ones(4)), "elu: operands have types"),
        (lambda: tn.heaviside(tn.ones(3), tn.ones(4)), "heaviside: operands have types"),
        (
            lambda: tn.scipy.stats.multivariate_normal.logpdf(tn.ones(3), tn.ones(4), tn.eye(4)),
            "multivariate_normal.logpdf: operands have types",
        ),
        (lambda: tn.grad(lambda x: x + tn.ones(4))(tn.ones(3)), "add: operands have types"),
        (lambda: np.add(tn.ones(3), tn.ones(4)), "add: operands have types"),
        (
            lambda: tn.sum(tn.ones(3), keepdims="no"),
            "sum: keepdims must be True or False, got 'no'",
        ),
        (
            lambda: tn.debug.print("{}", tn.ones(3), ordered="a"),
            "debug.print: ordered must be True or False, got 'a'",
        ),
        (
            lambda: tn.jit(tn.sin)(tn.TensorSpec((2,))),
            r"jit: an argument is the type f64\[2\], which has no elements; pass an array",
        ),
        *[
            (call, f"{text} must be True or False, got 'no'")
            for call, text in [
                (lambda: tn.unique(tn.ones(3), return_counts="no"), "unique: return_counts"),
                (lambda: tn.nn.gelu(tn.ones(3), "no"), "gelu: approximate"),
                (lambda: tn.cov(tn.eye(2), rowvar="no"), "cov: rowvar"),
                (lambda: tn.histogram(tn.ones(3), density="no"), "histogram: density"),
                (
                    lambda: tn.image.resize(tn.eye(3), (2, 2), "linear", antialias="no"),
                    "resize: antialias",
                ),
                (
                    lambda: tn.random.choice(tn.random.key(0), 3, (2,), replace="no"),
                    "random.choice: replace",
                ),
                (lambda: tn.scipy.linalg.cholesky(tn.eye(2), lower="no"), "cholesky: lower"),
                (lambda: tn.linalg.cho_factor(tn.eye(2), lower="no"), "cho_factor: lower"),
                (
                    lambda: tn.linalg.cho_solve((tn.eye(2), "no"), tn.ones(2)),
                    "cho_solve: whether the factor is the lower one",
                ),
            ]
        ],
        (
            lambda: tn.random.categorical(tn.random.key(0), tn.random.key(1)),
            "random.categorical: logits must be floating-point, got a Key",
        ),
        (lambda: tn.nn.one_hot(tn.random.key(0), 3), "equal: keys are no numbers"),
        (
            lambda: tn.lax.sort(tn.ones(3), num_keys="a"),
            "sort: num_keys must be from 1 to 1, got 'a'",
        ),
        (lambda: tn.dtypes.cosine, "module 'tenferro.dtypes' has no attribute 'cosine'"),
    ],
)
def test_errors_name_what_was_called(call: Any, text: str) -> None:
    with pytest.raises(tn.TenferroError, match=f"^{text}"):
        call()


def test_a_module_lists_its_own_names_only() -> None:
    for module in (tn.dtypes, tn.image, tn.tree_util, tn.random, tn.scipy.special, tn.lax.linalg):
        assert dir(module) == sorted(module.__all__)


def test_a_program_is_equal_to_what_is_parsed_from_its_text() -> None:
    def loop(x: Any) -> Any:
        return tn.scan(lambda c, v: (c * v + c, c), tn.sum(x), x)

    programs = [
        tn.make_program(function, tn.TensorSpec(("n",))).exec_program
        for function in (loop, tn.grad(lambda x: loop(x)[0]), tn.sin)
    ]
    for program in programs:
        read = parse(str(program))
        assert (read, hash(read)) == (program, hash(program))
        assert [other == program for other in programs].count(True) == 1
    assert len({*programs, *map(parse, map(str, programs))}) == 3
    assert programs[0] != str(programs[0])


def test_an_array_of_objects_is_refused_with_the_function() -> None:
    for function in (tn.sin, tn.linalg.inv, lambda x: tn.add(x, 1)):
        name = "add" if function.__name__ == "<lambda>" else function.__name__
        with pytest.raises(tn.TenferroError, match=f"^{name}: dtype: object is not supported; use"):
            function(np.array([[None]]))
