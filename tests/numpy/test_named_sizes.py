"""Functions of arrays with named sizes give what they give with constants, or refuse as well."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import tenferro as tn
from tenferro import lax
from tenferro.errors import TenferroError

FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "lu": lambda n, x: tn.scipy.linalg.lu(tn.ones((n, 3)) + tn.eye(n, 3) * x[:, None]),
    "attn": lambda n, x: tn.nn.dot_product_attention(
        tn.ones((1, n, 2, 4)), tn.ones((1, n, 2, 4)), tn.ones((1, n, 2, 4))
    ),
    "attnc": lambda n, x: tn.nn.dot_product_attention(
        tn.ones((1, n, 2, 4)), tn.ones((1, n, 2, 4)), tn.ones((1, n, 2, 4)), is_causal=True
    ),
    "attnl": lambda n, x: tn.nn.dot_product_attention(
        tn.ones((1, n, 2, 4)),
        tn.ones((1, n, 2, 4)),
        tn.ones((1, n, 2, 4)),
        query_seq_lengths=np.array([2]),
        key_value_seq_lengths=np.array([2]),
    ),
    "attnw": lambda n, x: tn.nn.dot_product_attention(
        tn.ones((1, n, 2, 4)), tn.ones((1, n, 2, 4)), tn.ones((1, n, 2, 4)), local_window_size=1
    ),
    "rw": lambda n, x: lax.reduce_window(x, 0.0, lax.add, (2,), (1,), "VALID"),
    "rwS": lambda n, x: lax.reduce_window(x, 0.0, lax.add, (2,), (2,), "SAME"),
    "rwm": lambda n, x: lax.reduce_window(x, -np.inf, lax.max, (2,), (1,), ((1, 0),)),
    "conv": lambda n, x: lax.conv_general_dilated(x[None, None], tn.ones((1, 1, 2)), (1,), "VALID"),
    "convS": lambda n, x: lax.conv_general_dilated(x[None, None], tn.ones((1, 1, 3)), (2,), "SAME"),
    "convb": lambda n, x: lax.conv_general_dilated(
        tn.ones((n, 1, 4)), tn.ones((1, 1, 2)), (1,), "VALID"
    ),
    "softmax": lambda n, x: tn.nn.softmax(x),
    "lse": lambda n, x: tn.nn.logsumexp(x),
    "cummax": lambda n, x: lax.cummax(x),
    "cumsum": lambda n, x: tn.cumsum(x),
    "cumprod": lambda n, x: tn.cumprod(x),
    "cumlse": lambda n, x: lax.cumlogsumexp(x),
    "cummaxr": lambda n, x: lax.cummax(x, reverse=True),
    "median": lambda n, x: tn.median(x),
    "quant": lambda n, x: tn.quantile(x, 0.3),
    "argmax": lambda n, x: tn.argmax(x),
    "max": lambda n, x: tn.max(x),
    "min": lambda n, x: tn.min(x),
    "ptp": lambda n, x: tn.ptp(x),
    "mean": lambda n, x: tn.mean(x),
    "var": lambda n, x: tn.var(x, ddof=1),
    "std": lambda n, x: tn.std(x),
    "sort": lambda n, x: tn.sort(-x),
    "argsort": lambda n, x: tn.argsort(-x),
    "unique": lambda n, x: tn.unique(x, size=3),
    "nonz": lambda n, x: tn.nonzero(x, size=3),
    "where1": lambda n, x: tn.flatnonzero(x, size=3),
    "take": lambda n, x: tn.take(x, np.array([0, 1])),
    "takecl": lambda n, x: tn.take(x, np.array([0, 5]), mode="clip"),
    "takew": lambda n, x: tn.take(x, np.array([0, 5]), mode="wrap"),
    "tal": lambda n, x: tn.take_along_axis(x, np.array([1, 0]), 0),
    "trapz": lambda n, x: tn.trapezoid(x),
    "grad": lambda n, x: tn.gradient(x),
    "interp": lambda n, x: tn.interp(np.array([1.5]), x, x),
    "convolve": lambda n, x: tn.convolve(x, np.ones(2)),
    "convs": lambda n, x: tn.convolve(x, np.ones(2), "same"),
    "corr": lambda n, x: tn.correlate(x, np.ones(2)),
    "polyval": lambda n, x: tn.polyval(x, 2.0),
    "vander": lambda n, x: tn.vander(x, 3),
    "vandern": lambda n, x: tn.vander(x),
    "outer": lambda n, x: tn.outer(x, x),
    "kron": lambda n, x: tn.kron(x, np.ones(2)),
    "cross": lambda n, x: tn.cross(tn.ones((n, 3)), tn.ones((n, 3))),
    "tri": lambda n, x: tn.tri(n),
    "tril": lambda n, x: tn.tril(x[:, None] * x),
    "eye": lambda n, x: tn.eye(n, k=1),
    "diag": lambda n, x: tn.diag(x),
    "diag1": lambda n, x: tn.diag(x, 1),
    "flip": lambda n, x: tn.flip(x),
    "rot90": lambda n, x: tn.rot90(x[:, None] * x),
    "pad": lambda n, x: tn.pad(x, (1, 2)),
    "ins": lambda n, x: tn.insert(x, 1, 9.0),
    "del": lambda n, x: tn.delete(x, 1),
    "app": lambda n, x: tn.append(x, 1.0),
    "trim": lambda n, x: tn.resize(x, (3,)),
    "hist": lambda n, x: tn.histogram(x, 3)[0],
    "digit": lambda n, x: tn.digitize(x, np.array([1.0, 2.0])),
    "ss": lambda n, x: tn.searchsorted(x, 2.0),
    "binc": lambda n, x: tn.bincount(x.astype(int), length=5),
    "part": lambda n, x: tn.partition(x, 1),
    "topk": lambda n, x: lax.top_k(x, 2),
    "norm": lambda n, x: tn.linalg.norm(x),
    "norminf": lambda n, x: tn.linalg.norm(x, np.inf),
    "norm2": lambda n, x: tn.linalg.norm(x[:, None] * x, 2),
    "svd": lambda n, x: tn.linalg.svd(x[:, None] * np.ones(2))[1],
    "qr": lambda n, x: tn.abs(tn.linalg.qr(x[:, None] * np.array([1.0, 2.0]))[1]),
    "det": lambda n, x: tn.linalg.det(tn.eye(n) * 2),
    "inv": lambda n, x: tn.linalg.inv(tn.eye(n) * 2),
    "solve": lambda n, x: tn.linalg.solve(tn.eye(n) * 2, x),
    "chol": lambda n, x: tn.linalg.cholesky(tn.eye(n) * 4),
    "eigh": lambda n, x: tn.linalg.eigh(tn.eye(n))[0],
    "pinv": lambda n, x: tn.linalg.pinv(x[:, None] * np.ones(1)),
    "mp": lambda n, x: tn.linalg.matrix_power(tn.eye(n) * 2, 3),
    "rank": lambda n, x: tn.linalg.matrix_rank(tn.eye(n)),
    "cond": lambda n, x: tn.linalg.cond(tn.eye(n)),
    "lstsq": lambda n, x: tn.linalg.lstsq(x[:, None], x)[0],
    "slog": lambda n, x: tn.linalg.slogdet(tn.eye(n) * 3)[1],
    "expm": lambda n, x: tn.scipy.linalg.expm(tn.eye(n)),
    "toep": lambda n, x: tn.scipy.linalg.toeplitz(x),
    "fft": lambda n, x: tn.abs(tn.fft.fft(x)),
    "rfft": lambda n, x: tn.abs(tn.fft.rfft(x)),
    "irfft": lambda n, x: tn.fft.irfft(x),
    "irfftn": lambda n, x: tn.fft.irfft(x, n=5),
    "hfft": lambda n, x: tn.fft.hfft(x),
    "fft2": lambda n, x: tn.abs(tn.fft.fft2(x[:, None] * x)),
    "fftn": lambda n, x: tn.abs(tn.fft.fft(x, n=3)),
    "einsum": lambda n, x: tn.einsum("i,i->", x, x),
    "einsum3": lambda n, x: tn.einsum("i,j,k->", x, x, x),
    "tdot": lambda n, x: tn.tensordot(x, x, 1),
    "multi": lambda n, x: tn.linalg.multi_dot([x[None], x[:, None], x[None]]),
    "bw": lambda n, x: tn.blackman(n),
    "hm": lambda n, x: tn.hamming(n),
    "hn": lambda n, x: tn.hanning(n),
    "bt": lambda n, x: tn.bartlett(n),
    "ks": lambda n, x: tn.kaiser(n, 2.0),
    "meshg": lambda n, x: tn.meshgrid(x, x),
    "ix": lambda n, x: tn.ix_(x.astype(int), x.astype(int)),
    "triui": lambda n, x: tn.triu_indices(n),
    "diagi": lambda n, x: tn.diag_indices(n),
    "fill": lambda n, x: tn.fill_diagonal(x[:, None] * x, 0.0, inplace=False),
    "unw": lambda n, x: tn.unwrap(x),
    "nanmed": lambda n, x: tn.nanmedian(x),
    "nanmax": lambda n, x: tn.nanmax(x),
    "minmax": lambda n, x: tn.minmax(x),
    "nanarg": lambda n, x: tn.nanargmax(x),
    "avg": lambda n, x: tn.average(x, weights=x),
    "perc": lambda n, x: tn.percentile(x, [10, 50]),
    "isin": lambda n, x: tn.isin(x, np.array([1.0, 3.0])),
    "union": lambda n, x: tn.union1d(x, np.array([1.0]), size=4),
    "rollax": lambda n, x: tn.rollaxis(x[:, None] * x, 1),
    "hsplit": lambda n, x: tn.hsplit(x, [1]),
    "vsplit": lambda n, x: tn.vsplit(x[:, None], [1]),
    "apl": lambda n, x: tn.apply_along_axis(lambda v: v.sum(), 0, x[:, None] * x),
    "cho": lambda n, x: tn.choose(np.zeros(2, int), [np.ones(2), np.ones(2)]),
    "comp": lambda n, x: tn.compress(np.array([True]), x),
    "tril_i": lambda n, x: tn.tril_indices(3, m=n),
    "packb": lambda n, x: tn.packbits(x > 1),
    "unpackb": lambda n, x: tn.unpackbits(x.astype("uint8")),
    "argpart": lambda n, x: tn.argpartition(x, 1),
    "lex": lambda n, x: tn.lexsort((x, -x)),
    "msort": lambda n, x: tn.sort(x[:, None] * x, axis=0),
    "polyfit": lambda n, x: tn.polyfit(x, x, 1),
    "polyder": lambda n, x: tn.polyder(x),
    "polyint": lambda n, x: tn.polyint(x),
    "polymul": lambda n, x: tn.polymul(x, x),
    "polyadd": lambda n, x: tn.polyadd(x, np.ones(3)),
    "onehot": lambda n, x: tn.nn.one_hot(x.astype(int), n),
    "std2": lambda n, x: tn.nn.standardize(x),
    "glu": lambda n, x: tn.nn.glu(tn.ones((n, 4))),
    "lsm": lambda n, x: tn.nn.log_softmax(x),
    "ifft": lambda n, x: tn.abs(tn.fft.ifft(x)),
    "fftshift": lambda n, x: tn.fft.fftshift(x),
    "all": lambda n, x: tn.all(x > 1),
    "cnt": lambda n, x: tn.count_nonzero(x),
    "prod": lambda n, x: tn.prod(x),
    "trapx": lambda n, x: tn.trapezoid(x, x),
    "ediff": lambda n, x: tn.ediff1d(x),
    "block": lambda n, x: tn.block([x, x]),
    "stack": lambda n, x: tn.stack([x, x]),
    "mapc": lambda n, x: lax.map(lambda v: v * 2, x),
    "scan": lambda n, x: lax.scan(lambda c, v: (c + v, c), 0.0, x),
    "assoc": lambda n, x: lax.associative_scan(lambda a, b: a + b, x),
    "fori": lambda n, x: lax.fori_loop(0, n, lambda i, c: c + i, 0),
    "vmap": lambda n, x: tn.vmap(lambda v: v * 2)(x),
    "ds": lambda n, x: lax.dynamic_slice(x, (1,), (2,)),
    "dus": lambda n, x: lax.dynamic_update_slice(x, np.ones(2), (1,)),
    "cumtrapz": lambda n, x: tn.cumulative_sum(x, include_initial=True),
    "cdist": lambda n, x: tn.linalg.vector_norm(x[:, None] - x, axis=1),
    "cov": lambda n, x: tn.cov(x),
    "corrc": lambda n, x: tn.corrcoef(x),
    "geom": lambda n, x: tn.geomspace(1.0, 8.0, n),
    "rng": lambda n, x: tn.random.uniform(tn.random.key(0), (n,)),
    "perm": lambda n, x: tn.random.permutation(tn.random.key(0), n),
    "choice": lambda n, x: tn.random.choice(tn.random.key(0), x, (3,)),
    "shuf": lambda n, x: tn.random.permutation(tn.random.key(0), x),
    "split": lambda n, x: tn.random.key_data(tn.random.split(tn.random.key(0), n)),
    "dirich": lambda n, x: tn.random.dirichlet(tn.random.key(0), x),
    "cat": lambda n, x: tn.random.categorical(tn.random.key(0), x),
    "mvn": lambda n, x: tn.random.multivariate_normal(tn.random.key(0), x, tn.eye(n)),
    "reduce_window strided": lambda n, x: lax.reduce_window(
        x, 0.0, lax.add, (3,), (2,), "SAME_LOWER"
    ),
    "reduce_window dilated": lambda n, x: lax.reduce_window(
        x, 0.0, lax.add, (2,), (1,), "SAME", (2,), (2,)
    ),
    "gradient of a convolution": lambda n, x: tn.grad(
        lambda x: tn.sum(
            lax.conv_general_dilated(x[None, None], tn.ones((1, 1, 3)), (2,), "SAME") ** 2
        )
    )(x),
    "lax.pad": lambda n, x: lax.pad(x, 0.0, [(n, 1 - n, 0)]),
    "index": lambda n, x: x[np.array([0, 2])],
    "update": lambda n, x: x.at[np.array([0, -2])].add(1.0),
    "a size": lambda n, x: [n % 2, abs(n - 3)],
}

# Of a vector of size n and one of size m.
OF_TWO: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda x, y: x + y, "where": lambda x, y: tn.where(x > 1, x, y),
    "dot": lambda x, y: tn.dot(x, y), "outer": lambda x, y: tn.outer(x, y),
    "concat": lambda x, y: tn.concat([x, y])[-y.shape[0] :],
    "head": lambda x, y: tn.concat([x, y])[: -y.shape[0]],
    "stack": lambda x, y: tn.stack([x, y]), "array_equal": lambda x, y: tn.array_equal(x, y),
    "array_equiv": lambda x, y: tn.array_equiv(x, y), "allclose": lambda x, y: tn.allclose(x, y),
    "gradient": tn.grad(lambda x, y: tn.sum(x + y), argnums=1),
    "shape": lambda x, y: y * (x + y).shape[0], "ones_like": lambda x, y: tn.ones_like(x * y),
    "matmul": lambda x, y: tn.matmul(x[None], y[:, None]), "inner": lambda x, y: tn.inner(x, y),
    "einsum": lambda x, y: tn.einsum("i,i->i", x, y), "vdot": lambda x, y: tn.vdot(x, y),
    "cut": lambda x, y: x[: y.shape[0]], "update": lambda x, y: x.at[: y.shape[0]].set(1.0),
    "interp": lambda x, y: tn.interp(x, y, y * 2), "isin": lambda x, y: tn.isin(x, y),
    "searchsorted": lambda x, y: tn.searchsorted(x, y), "take": lambda x, y: x[y.shape[0] - 1],
    "roll": lambda x, y: tn.roll(x, y.shape[0]), "tile": lambda x, y: tn.tile(x, y.shape[0]),
    "arange": lambda x, y: tn.arange(x.shape[0], y.shape[0]), "kron": lambda x, y: tn.kron(x, y),
    "reshape": lambda x, y: tn.outer(x, y).reshape(-1, x.shape[0]),
    "meshgrid": lambda x, y: tn.meshgrid(x, y), "maximum": lambda x, y: tn.maximum(x, y.shape[0]),
    "solve": lambda x, y: tn.linalg.solve(tn.eye(y.shape[0]), x),
    "scan": lambda x, y: lax.scan(lambda c, v: (c + v, c), 0.0, (x + y)),
    "cov": lambda x, y: tn.cov(x, y), "trapezoid": lambda x, y: tn.trapezoid(x, y),
}  # fmt: skip


def outcome(function: Callable[..., Any], *args: Any) -> list[Any] | None:
    """The leaves of the result; None for a typed refusal."""
    try:
        leaves = tn.tree_util.tree_leaves(function(*args))
    except TenferroError:
        return None
    return [np.asarray(leaf) for leaf in leaves]


def differences(function: Callable[..., Any], runs: Sequence[tuple[int, ...]]) -> list[str]:
    """Where the results with names differ from those with constants.

    The function may refuse names. At size 0, and where windows leave nothing, a program of names
    may refuse what a constant answers, since the ways there are chosen while tracing; and where two
    names meet, their sizes are assumed equal, though an axis of size 1 could be repeated.
    """
    names = ("n", "m")[: len(runs[0])]
    try:
        program = tn.make_program(function, *(tn.TensorSpec((name,)) for name in names))
    except TenferroError:
        return []
    found = []
    for sizes in runs:
        args = [np.arange(1.0, size + 1) for size in sizes]
        got, want = outcome(program, *args), outcome(function, *map(tn.asarray, args))
        if got is None and (want is None or 0 in sizes or len({*sizes}) > 1):
            continue
        if got is None and not any(leaf.size for leaf in want or ()):
            continue
        kinds = [[(leaf.dtype, leaf.shape) for leaf in side or ()] for side in (got, want)]
        if got is None or want is None or kinds[0] != kinds[1] or not all(
            np.allclose(a, b, rtol=1e-9, equal_nan=True) for a, b in zip(got, want, strict=True)
        ):  # fmt: skip
            found.append(f"{sizes}: {got} with names, {want} with constants")
    return found


def of_one(name: str) -> Callable[[Any], Any]:
    return lambda x: FUNCTIONS[name](x.shape[0], x)


QUICK = [*FUNCTIONS][::6]
PAIRS = [(2, 2), (2, 3), (3, 2), (1, 2), (2, 1)]


@pytest.mark.parametrize("name", QUICK)
def test_a_function_gives_the_same_with_a_name(name: str) -> None:
    assert differences(of_one(name), [(1,), (2,), (3,)]) == []


@pytest.mark.parametrize("name", [*OF_TWO][::3])
def test_a_function_gives_the_same_with_two_names(name: str) -> None:
    assert differences(OF_TWO[name], PAIRS[:3]) == []


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_gives_the_same_with_a_name(name: str) -> None:
    assert differences(of_one(name), [(n,) for n in (0, 1, 2, 3, 7)]) == []


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", OF_TWO)
def test_every_function_gives_the_same_with_two_names(name: str) -> None:
    assert differences(OF_TWO[name], [(n, m) for n in range(4) for m in range(4)]) == []
