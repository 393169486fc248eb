"""Calls that mypy refuses."""

from __future__ import annotations

import tenferro as tn

X = tn.Tensor([[1.0, 2.0], [3.0, 4.0]])


def no_such_name() -> None:
    tn.summ(X)  # E: Module has no attribute "summ"
    tn.sum(X, axes=0)  # E: Unexpected keyword argument "axes"
    tn.exp(X).summ()  # E: "AnyTensor" has no attribute "summ"


def wrong_number_of_arguments() -> None:
    tn.add(X)  # E: Missing positional argument
    tn.add(X, X, X)  # E: Too many arguments
    tn.sum(X, 0, tn.float32, None, True, 1.0, X, True, X)  # E: Too many arguments
    tn.where(X > 0, X)  # E: No overload variant of "where" matches


def operands_that_are_not_arrays() -> None:
    tn.sin(tn.sin)  # E: Argument 1 to "sin" has incompatible type "Callable[
    tn.sin("1.0")  # E: has incompatible type "str"
    tn.matmul(X, None)  # E: has incompatible type "None"
    tn.concat(1.0)  # E: has incompatible type "float"
    tn.exp(X) + tn.exp  # E: Unsupported operand types for +
    X + "1"  # E: has incompatible type "str"
    X.at[0].set("a")  # E: has incompatible type "str"


def options_of_another_type() -> None:
    tn.sum(X, axis=0.5)  # E: has incompatible type "float"
    tn.sum(X, axis="rows")  # E: has incompatible type "str"
    tn.sum(X, keepdims=1)  # E: has incompatible type "int"
    tn.moveaxis(X, 0.5, 1)  # E: has incompatible type "float"
    tn.reshape(X, (2, 0.5))  # E: has incompatible type "tuple[int, float]"
    tn.reshape(X, -1, order="A")  # E: has incompatible type "Literal['A']"
    tn.astype(X, 32)  # E: has incompatible type "int"
    tn.astype(X)  # E: Missing positional argument "dtype"
    tn.softmax(X, axis=X)  # E: has incompatible type "Tensor"
    tn.meshgrid([1], indexing="ji")  # E: has incompatible type "Literal['ji']"
    X.sum(axis=0.5)  # E: has incompatible type "float"
    X[0.5]  # E: Invalid index type "float"


def results_of_another_type() -> None:
    size: int = tn.sum(X)  # E: Incompatible types in assignment
    parts: tuple[object] = tn.split(X, 2)  # E: Incompatible types in assignment
    tn.top_k(X, 2).ndim  # noqa: B018  # E: has no attribute "ndim"
    print(size, parts)  # noqa: T201
