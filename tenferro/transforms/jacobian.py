"""jacobian, jacfwd, jacrev, hessian: matrices of derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Concatenate, Literal, overload

from tenferro.compiler import MemoryLimit
from tenferro.config import flag
from tenferro.ir import AnyTensor, PyTree
from tenferro.transforms.ad_context import AdContext
from tenferro.transforms.grad import Argnums, Bytes
from tenferro.transforms.jacobian_call import (
    HESSIAN,
    JACFWD,
    JACOBIAN,
    JACREV,
    JacobianCall,
    SparsityOption,
    as_chunk_size,
    as_mode,
    as_sparsity,
)
from tenferro.transforms.jacobian_passes import Mode
from tenferro.transforms.signatures import (
    Aux,
    Container,
    Containers,
    Leaf,
    One,
    P,
    T,
    Tensor,
    Tree,
    Unannotated,
    UnannotatedTo,
)
from tenferro.transforms.sparse_matrix import SparseMatrix

__all__ = ["hessian", "jacfwd", "jacobian", "jacrev"]


@overload
def jacobian(  # type: ignore[overload-overlap]  # the first that fits counts
    fun: UnannotatedTo[One] | Callable[Concatenate[T, P], One],
    argnums: Literal[0] = 0,
    *,
    mode: Mode = "auto",
    has_aux: Literal[False] = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    chunk_size: int | None = None,
    sparsity: None = None,
    ad_context: AdContext | None = None,
    memory_limit: Bytes = None,
) -> Callable[Concatenate[T, P], T]: ...


@overload
def jacobian(  # type: ignore[overload-overlap]  # the first that fits counts
    fun: UnannotatedTo[One] | Callable[Concatenate[Leaf, P], One],
    argnums: Literal[0] = 0,
    *,
    mode: Mode = "auto",
    has_aux: Literal[False] = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    chunk_size: int | None = None,
    sparsity: None = None,
    ad_context: AdContext | None = None,
    memory_limit: Bytes = None,
) -> Callable[Concatenate[Leaf, P], AnyTensor]: ...


@overload
def jacobian(  # type: ignore[overload-overlap]  # the first that fits counts
    fun: UnannotatedTo[Containers] | Callable[Concatenate[Leaf, P], Container],
    argnums: Literal[0] = 0,
    *,
    mode: Mode = "auto",
    has_aux: Literal[False] = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    chunk_size: int | None = None,
    sparsity: None = None,
    ad_context: AdContext | None = None,
    memory_limit: Bytes = None,
) -> Callable[Concatenate[Leaf, P], Container]: ...


@overload
def jacobian(  # type: ignore[overload-overlap]  # the first that fits counts
    fun: UnannotatedTo[One] | Callable[Concatenate[Leaf, P], One],
    argnums: Literal[0] = 0,
    *,
    mode: Mode = "auto",
    has_aux: Literal[False] = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    chunk_size: int | None = None,
    sparsity: Literal["auto"],
    ad_context: AdContext | None = None,
    memory_limit: Bytes = None,
) -> Callable[Concatenate[Leaf, P], SparseMatrix]: ...


@overload
def jacobian(  # type: ignore[overload-overlap]  # the first that fits counts
    fun: UnannotatedTo[tuple[One, Aux]] | Callable[Concatenate[T, P], tuple[One, Aux]],
    argnums: Literal[0] = 0,
    *,
    mode: Mode = "auto",
    has_aux: Literal[True],
    holomorphic: bool = False,
    allow_int: bool = False,
    chunk_size: int | None = None,
    sparsity: None = None,
    ad_context: AdContext | None = None,
    memory_limit: Bytes = None,
) -> Callable[Concatenate[T, P], tuple[T, Aux]]: ...


@overload
def jacobian(  # type: ignore[overload-overlap]  # the first that fits counts
    fun: Callable[Concatenate[Tree, P], object],
    argnums: Literal[0] = 0,
    *,
    mode: Mode = "auto",
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    chunk_size: int | None = None,
    sparsity: SparsityOption = None,
    ad_context: AdContext | None = None,
    memory_limit: Bytes = None,
) -> Callable[Concatenate[Tree, P], PyTree]: ...


@overload
def jacobian(
    fun: Callable[P, object],
    argnums: Argnums,
    *,
    mode: Mode = "auto",
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    chunk_size: int | None = None,
    sparsity: SparsityOption = None,
    ad_context: AdContext | None = None,
    memory_limit: Bytes = None,
) -> Callable[P, PyTree]: ...


@overload
def jacobian(  # its result is for functions of unknown types
    fun: Callable[..., object],
    argnums: Literal[0] = 0,
    *,
    mode: Mode = "auto",
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    chunk_size: int | None = None,
    sparsity: SparsityOption = None,
    ad_context: AdContext | None = None,
    memory_limit: Bytes = None,
) -> Any: ...


def jacobian(
    fun: Callable[..., object],
    argnums: Argnums = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    *,
    mode: Mode = "auto",
    chunk_size: int | None = None,
    sparsity: SparsityOption = None,
    ad_context: AdContext | None = None,
    memory_limit: Bytes = None,
) -> Callable[..., PyTree]:
    """The Jacobian, by the passes that cost least.

    The result has the structure and the shapes of that of `jacfwd`, and the dtypes of the
    function's results. By a complex argument of a real result the rows are gradients in the
    convention of `grad`.

    A forward pass runs the linear part of the function for each element of the argument, a reverse
    pass for each element of the result. If all tangents go through few values on the way, a waist,
    less is done: the part before the waist is transposed on its own, the part behind it is run
    forward, both for each element at the waist, and the two matrices are multiplied. Of a matrix
    with few places that may differ from zero, columns without a common row share a unit vector.
    `XlaExecutor.explain()` says what was chosen. If an op has no rule for a mode, another is taken.

    Args:
        fun: takes and returns trees of arrays.
        argnums: which positional arguments; if a tuple, there is a tuple for each result.
        has_aux: the function returns a pair (value, aux); return (Jacobian, aux).
        holomorphic: allow complex arguments of complex results.
        allow_int: has no effect: derivatives by integers are refused; see `grad`.
        mode: `forward` or `reverse` for one such pass; `cross` for the best waist, even if one pass
            costs less; `auto` for what costs least.
        chunk_size: the largest number of unit vectors in one batch, to save memory.
        sparsity: `auto` for a `SparseMatrix` in place of each array. Which of its places may differ
            from zero follows from the ops, while tracing. Columns without a common row share a unit
            vector of a forward pass, or such rows one of a reverse pass, whichever takes fewer. Of
            an op that does not say what it reads, such as `while_loop`, each element depends on
            all, so that a result may be dense.
        ad_context: has the derivative rules of extension ops that the function uses.
        memory_limit: the most bytes that the program may need besides its arguments; see `jit`.
            Unless `chunk_size` is given, the batches are as small as that needs.

    Raises:
        ADError: there is no such mode; or it is `cross`, and there are no values to cut at; or
            `chunk_size` is not a positive integer.
        DTypeError: an argument and a result are complex and `holomorphic` is not set, or it is set
            and an argument or result is real; or a result is neither floating-point nor complex.
        BatchRuleError: an op in the derivative has no batch rule.
        ExtentError: an array of the result is larger than the byte budget.
        ConfigError: `memory_limit` is not a number of bytes, or `has_aux` not True or False.
        MemoryLimitError: no way to keep the limit was found.
        PytreeError: sizes of both arguments and results are not constant.

    >>> import tenferro as tn
    >>> jacobian(lambda x: tn.sum(x) * x)(tn.Tensor([1.0, 2.0]))
    Tensor([[4., 1.],
            [2., 5.]])
    """
    flag("jacobian: has_aux", has_aux)
    chunk, mode = as_chunk_size("jacobian", chunk_size), as_mode(mode)
    sparse = as_sparsity("jacobian", sparsity, mode)
    limit = MemoryLimit.read("jacobian", memory_limit)
    return JacobianCall(
        JACOBIAN, mode, fun, argnums, has_aux, holomorphic, chunk, ad_context, sparse, limit
    ).as_function()


@overload
def jacfwd(  # type: ignore[overload-overlap]  # the first that fits counts
    fun: UnannotatedTo[One] | Callable[Concatenate[T, P], One],
    argnums: Literal[0] = 0,
    *,
    has_aux: Literal[False] = False,
    holomorphic: bool = False,
    chunk_size: int | None = None,
    ad_context: AdContext | None = None,
    memory_limit: Bytes = None,
) -> Callable[Concatenate[T, P], T]: ...


@overload
def jacfwd(  # type: ignore[overload-overlap]  # the first that fits counts
    fun: UnannotatedTo[One] | Callable[Concatenate[Leaf, P], One],
    argnums: Literal[0] = 0,
    *,
    has_aux: Literal[False] = False,
    holomorphic: bool = False,
    chunk_size: int | None = None,
    ad_context: AdContext | None = None,
    memory_limit: Bytes = None,
) -> Callable[Concatenate[Leaf, P], AnyTensor]: ...


@overload
def jacfwd(  # type: ignore[overload-overlap]  # the first that fits counts
    fun: UnannotatedTo[Containers] | Callable[Concatenate[Leaf, P], Container],
    argnums: Literal[0] = 0,
    *,
    has_aux: Literal[False] = False,
    holomorphic: bool = False,
    chunk_size: int | None = None,
    ad_context: AdContext | None = None,
    memory_limit: Bytes = None,
) -> Callable[Concatenate[Leaf, P], Container]: ...


@overload
def jacfwd(  # type: ignore[overload-overlap]  # the first that fits counts
    fun: UnannotatedTo[tuple[One, Aux]] | Callable[Concatenate[T, P], tuple[One, Aux]],
    argnums: Literal[0] = 0,
    *,
    has_aux: Literal[True],
    holomorphic: bool = False,
    chunk_size: int | None = None,
    ad_context: AdContext | None = None,
    memory_limit: Bytes = None,
) -> Callable[Concatenate[T, P], tuple[T, Aux]]: ...


@overload
def jacfwd(  # type: ignore[overload-overlap]  # the first that fits counts
    fun: Callable[Concatenate[Tree, P], object],
    argnums: Literal[0] = 0,
    *,
    has_aux: bool = False,
    holomorphic: bool = False,
    chunk_size: int | None = None,
    ad_context: AdContext | None = None,
    memory_limit: Bytes = None,
) -> Callable[Concatenate[Tree, P], PyTree]: ...


@overload
def jacfwd(
    fun: Callable[P, object],
    argnums: Argnums,
    *,
    has_aux: bool = False,
    holomorphic: bool = False,
    chunk_size: int | None = None,
    ad_context: AdContext | None = None,
    memory_limit: Bytes = None,
) -> Callable[P, PyTree]: ...


@overload
def jacfwd(  # its result is for functions of unknown types
    fun: Callable[..., object],
    argnums: Literal[0] = 0,
    *,
    has_aux: bool = False,
    holomorphic: bool = False,
    chunk_size: int | None = None,
    ad_context: AdContext | None = None,
    memory_limit: Bytes = None,
) -> Any: ...


def jacfwd(
    fun: Callable[..., object],
    argnums: Argnums = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    *,
    chunk_size: int | None = None,
    ad_context: AdContext | None = None,
    memory_limit: Bytes = None,
) -> Callable[..., PyTree]:
    """The Jacobian, by one forward pass for all elements of the argument, as a batch.

    The result has the structure of the function's result, with the structure of the argument in
    place of each leaf. For a result leaf of shape `[*o]` and an argument leaf of shape `[*i]` it
    has an array `[*o, *i]`; for an integer result they are integer zeros.

    The program has as many instructions for any number of elements. An op that `vmap` refuses is an
    error here too: no pass for each element takes its place. Products with unit vectors are not
    computed, so that an infinite coefficient is only in the entries that contain it.

    Args:
        fun: takes and returns trees of arrays.
        argnums: which positional arguments; if a tuple, there is a tuple for each result.
        has_aux: the function returns a pair (value, aux); return (Jacobian, aux).
        holomorphic: allow complex arguments, of complex results.
        chunk_size: the largest number of elements in one batch, to save memory; a loop runs over
            the batches. None is one batch of all.
        ad_context: has the derivative rules of extension ops that the function uses.
        memory_limit: the most bytes that the program may need besides its arguments; see `jit`.
            Unless `chunk_size` is given, the batches are as small as that needs.

    Raises:
        DTypeError: the argument is complex and `holomorphic` is not set, or it is set and an
            argument or result is real.
        BatchRuleError: an op in the derivative has no batch rule.
        ADError: `chunk_size` is not a positive integer.
        ExtentError: an array of the result is larger than the byte budget.
        ConfigError: `memory_limit` is not a number of bytes.
        MemoryLimitError: no way to keep the limit was found.

    >>> import tenferro as tn
    >>> jacfwd(lambda x: x * x)(tn.Tensor([1.0, 2.0]))
    Tensor([[2., 0.],
            [0., 4.]])
    """
    chunk = as_chunk_size("jacfwd", chunk_size)
    limit = MemoryLimit.read("jacfwd", memory_limit)
    return JacobianCall(
        JACFWD, "forward", fun, argnums, has_aux, holomorphic, chunk, ad_context, None, limit
    ).as_function()


@overload
def jacrev(  # type: ignore[overload-overlap]  # the first that fits counts
    fun: UnannotatedTo[One] | Callable[Concatenate[T, P], One],
    argnums: Literal[0] = 0,
    *,
    has_aux: Literal[False] = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    chunk_size: int | None = None,
    ad_context: AdContext | None = None,
    memory_limit: Bytes = None,
) -> Callable[Concatenate[T, P], T]: ...


@overload
def jacrev(  # type: ignore[overload-overlap]  # the first that fits counts
    fun: UnannotatedTo[One] | Callable[Concatenate[Leaf, P], One],
    argnums: Literal[0] = 0,
    *,
    has_aux: Literal[False] = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    chunk_size: int | None = None,
    ad_context: AdContext | None = None,
    memory_limit: Bytes = None,
) -> Callable[Concatenate[Leaf, P], AnyTensor]: ...


@overload
def jacrev(  # type: ignore[overload-overlap]  # the first that fits counts
    fun: UnannotatedTo[Containers] | Callable[Concatenate[Leaf, P], Container],
    argnums: Literal[0] = 0,
    *,
    has_aux: Literal[False] = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    chunk_size: int | None = None,
    ad_context: AdContext | None = None,
    memory_limit: Bytes = None,
) -> Callable[Concatenate[Leaf, P], Container]: ...


@overload
def jacrev(  # type: ignore[overload-overlap]  # the first that fits counts
    fun: UnannotatedTo[tuple[One, Aux]] | Callable[Concatenate[T, P], tuple[One, Aux]],
    argnums: Literal[0] = 0,
    *,
    has_aux: Literal[True],
    holomorphic: bool = False,
    allow_int: bool = False,
    chunk_size: int | None = None,
    ad_context: AdContext | None = None,
    memory_limit: Bytes = None,
) -> Callable[Concatenate[T, P], tuple[T, Aux]]: ...


@overload
def jacrev(  # type: ignore[overload-overlap]  # the first that fits counts
    fun: Callable[Concatenate[Tree, P], object],
    argnums: Literal[0] = 0,
    *,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    chunk_size: int | None = None,
    ad_context: AdContext | None = None,
    memory_limit: Bytes = None,
) -> Callable[Concatenate[Tree, P], PyTree]: ...


@overload
def jacrev(
    fun: Callable[P, object],
    argnums: Argnums,
    *,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    chunk_size: int | None = None,
    ad_context: AdContext | None = None,
    memory_limit: Bytes = None,
) -> Callable[P, PyTree]: ...


@overload
def jacrev(  # its result is for functions of unknown types
    fun: Callable[..., object],
    argnums: Literal[0] = 0,
    *,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    chunk_size: int | None = None,
    ad_context: AdContext | None = None,
    memory_limit: Bytes = None,
) -> Any: ...


def jacrev(
    fun: Callable[..., object],
    argnums: Argnums = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    *,
    chunk_size: int | None = None,
    ad_context: AdContext | None = None,
    memory_limit: Bytes = None,
) -> Callable[..., PyTree]:
    """The Jacobian, by one reverse pass for all elements of the result, as a batch.

    Shapes and arguments are those of `jacfwd`; `chunk_size` counts elements of the result. For
    complex arguments and a real result, the rows are gradients in the convention of `grad`. For a
    `holomorphic` function they are the complex derivative.

    Raises:
        DTypeError: the result is complex and `holomorphic` is not set, or it is set and an argument
            or result is real, or a result is neither floating-point nor complex.
        BatchRuleError: an op in the derivative has no batch rule.
        ADError: `chunk_size` is not a positive integer.
        ExtentError: an array of the result is larger than the byte budget.
        ConfigError: `memory_limit` is not a number of bytes.
        MemoryLimitError: no way to keep the limit was found.

    >>> import tenferro as tn
    >>> jacrev(lambda x: tn.sum(x * x))(tn.Tensor([1.0, 2.0]))
    Tensor([2., 4.])
    """
    chunk = as_chunk_size("jacrev", chunk_size)
    limit = MemoryLimit.read("jacrev", memory_limit)
    return JacobianCall(
        JACREV, "reverse", fun, argnums, has_aux, holomorphic, chunk, ad_context, None, limit
    ).as_function()


@overload
def hessian(  # type: ignore[overload-overlap]  # the first that fits counts
    fun: Unannotated | Callable[Concatenate[Tensor, P], One],
    argnums: Literal[0] = 0,
    *,
    has_aux: Literal[False] = False,
    holomorphic: bool = False,
    chunk_size: int | None = None,
    sparsity: None = None,
    ad_context: AdContext | None = None,
    memory_limit: Bytes = None,
) -> Callable[Concatenate[Tensor, P], Tensor]: ...


@overload
def hessian(  # type: ignore[overload-overlap]  # the first that fits counts
    fun: Unannotated | Callable[Concatenate[Leaf, P], One],
    argnums: Literal[0] = 0,
    *,
    has_aux: Literal[False] = False,
    holomorphic: bool = False,
    chunk_size: int | None = None,
    sparsity: None = None,
    ad_context: AdContext | None = None,
    memory_limit: Bytes = None,
) -> Callable[Concatenate[Leaf, P], AnyTensor]: ...


@overload
def hessian(  # type: ignore[overload-overlap]  # the first that fits counts
    fun: Unannotated | Callable[Concatenate[Leaf, P], One],
    argnums: Literal[0] = 0,
    *,
    has_aux: Literal[False] = False,
    holomorphic: bool = False,
    chunk_size: int | None = None,
    sparsity: Literal["auto"],
    ad_context: AdContext | None = None,
    memory_limit: Bytes = None,
) -> Callable[Concatenate[Leaf, P], SparseMatrix]: ...


@overload
def hessian(  # type: ignore[overload-overlap]  # the first that fits counts
    fun: UnannotatedTo[tuple[One, Aux]] | Callable[Concatenate[Tensor, P], tuple[One, Aux]],
    argnums: Literal[0] = 0,
    *,
    has_aux: Literal[True],
    holomorphic: bool = False,
    chunk_size: int | None = None,
    sparsity: None = None,
    ad_context: AdContext | None = None,
    memory_limit: Bytes = None,
) -> Callable[Concatenate[Tensor, P], tuple[Tensor, Aux]]: ...


@overload
def hessian(  # type: ignore[overload-overlap]  # the first that fits counts
    fun: Callable[Concatenate[Tree, P], object],
    argnums: Literal[0] = 0,
    *,
    has_aux: bool = False,
    holomorphic: bool = False,
    chunk_size: int | None = None,
    sparsity: SparsityOption = None,
    ad_context: AdContext | None = None,
    memory_limit: Bytes = None,
) -> Callable[Concatenate[Tree, P], PyTree]: ...


@overload
def hessian(
    fun: Callable[P, object],
    argnums: Argnums,
    *,
    has_aux: bool = False,
    holomorphic: bool = False,
    chunk_size: int | None = None,
    sparsity: SparsityOption = None,
    ad_context: AdContext | None = None,
    memory_limit: Bytes = None,
) -> Callable[P, PyTree]: ...


@overload
def hessian(  # its result is for functions of unknown types
    fun: Callable[..., object],
    argnums: Literal[0] = 0,
    *,
    has_aux: bool = False,
    holomorphic: bool = False,
    chunk_size: int | None = None,
    sparsity: SparsityOption = None,
    ad_context: AdContext | None = None,
    memory_limit: Bytes = None,
) -> Any: ...


def hessian(
    fun: Callable[..., object],
    argnums: Argnums = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    *,
    chunk_size: int | None = None,
    sparsity: SparsityOption = None,
    ad_context: AdContext | None = None,
    memory_limit: Bytes = None,
) -> Callable[..., PyTree]:
    """Second derivatives of a real scalar function.

    The result is of shape `[*i, *i]` for an argument `[*i]`. It is the Jacobian of the gradient, by
    the passes that cost least, as `jacobian` chooses them: forward over reverse, unless the
    gradient has a waist or the Hessian few places that may differ from zero.

    Args:
        fun: returns a real scalar, or a pair with it first if `has_aux`.
        argnums: which positional arguments; if a tuple, there is a tuple of tuples.
        has_aux: return (Hessian, aux).
        holomorphic: the function is a holomorphic one of complex arguments, with a complex scalar
            as its result.
        chunk_size: the largest number of unit vectors in one batch, to save memory.
        sparsity: `auto` for a `SparseMatrix` in place of each array; see `jacobian`. A pass gives
            both of two equal entries, unless rules by hand, which need not be symmetric, are in
            the function.
        ad_context: has the derivative rules of extension ops that the function uses.
        memory_limit: the most bytes that the program may need besides its arguments; see `jit`.
            Unless `chunk_size` is given, the batches are as small as that needs.

    Raises:
        NonScalarGradError: the result is not a real scalar, or a complex one if `holomorphic`.
        BatchRuleError: an op in the derivative has no batch rule.
        ADError: `chunk_size` is not a positive integer, or there is no such `sparsity`.
        ExtentError: an array of the result is larger than the byte budget.
        ConfigError: `memory_limit` is not a number of bytes.
        MemoryLimitError: no way to keep the limit was found.

    >>> import tenferro as tn
    >>> hessian(lambda x: tn.sum(x * x * x))(tn.Tensor([1.0, 2.0]))
    Tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    chunk = as_chunk_size("hessian", chunk_size)
    limit = MemoryLimit.read("hessian", memory_limit)
    return JacobianCall(
        HESSIAN,
        "auto",
        fun,
        argnums,
        has_aux,
        holomorphic,
        chunk,
        ad_context,
        as_sparsity("hessian", sparsity),
        limit,
    ).as_function()
