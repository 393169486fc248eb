"""What to use instead of the names of JAX and NumPy that are left out, and the error that says it.

The text is made when it is shown: `hasattr` costs an exception, not a search.

Modules such as `tn.nn` have such a list themselves, `MISSING`. Error texts and the documentation
take the reasons from there.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from types import FunctionType, ModuleType
from typing import Any

from tenferro.errors import MissingNameError

__all__ = ["MISSING", "attributes", "missing", "public", "unlisted"]


def public(names: Mapping[str, object], *modules: str, home: str | None = None) -> list[str]:
    """The `__all__` of a package: its names without an underscore, but for modules and `MISSING`.

    Args:
        names: those of the package, `vars()`; what it needs itself has names with an underscore.
        modules: public modules.
        home: the public module that functions of modules that lie deeper say that they are of.

    >>> public({"sin": 1, "_sys": 2, "MISSING": {}})
    ['sin']
    """
    listed = {
        name: each
        for name, each in names.items()
        if not (name.startswith("_") or name == "MISSING" or isinstance(each, ModuleType))
    }
    if home is not None:
        for each in listed.values():
            if isinstance(each, FunctionType) and _lies_deeper(each.__module__, home):
                each.__module__ = home
    return sorted({*modules, *listed})


def _lies_deeper(module: str, home: str) -> bool:
    return module.startswith("tenferro") and module.count(".") > home.count(".")


# What is said of a name that a module does not have.

ELSEWHERE: dict[str, str] = {
    "tensor": "asarray", "as_tensor": "asarray", "from_numpy": "asarray", "constant": "asarray",
    "convert_to_tensor": "asarray", "Variable": "EagerRuntime().variable", "cat": "concat",
    "clamp": "clip", "clip_by_value": "clip", "mm": "matmul", "bmm": "matmul", "mv": "matmul",
    "permute": "permute_dims", "unsqueeze": "expand_dims", "reduce_sum": "sum",
    "reduce_mean": "mean", "reduce_max": "max", "reduce_min": "min",
    "inv": "linalg.inv", "solve": "linalg.solve", "norm": "linalg.norm", "svd": "linalg.svd",
    "eigh": "linalg.eigh", "det": "linalg.det", "cholesky": "linalg.cholesky", "qr": "linalg.qr",
    "jacobian": "jacrev", "function": "jit", "compile": "jit", "no_grad": "EagerRuntime().no_grad",
    "requires_grad": "EagerRuntime().variable", "GradientTape": "EagerRuntime",
    "autograd": "grad", "while": "while_loop", "if": "cond", "for_loop": "fori_loop",
    "tree_map": "tree.map", "tree_leaves": "tree.leaves",
    "dynamic_slice": "lax.dynamic_slice", "conv_general_dilated": "lax.conv_general_dilated",
    "dot_general": "lax.dot_general", "gather": "lax.gather", "scatter": "lax.scatter",
    "int": "int64", "float": "float64", "long": "int64", "half": "float16",
    "contract": "einsum", "rsub": "subtract", "neg": "negative",
    "mul": "multiply", "sub": "subtract", "div": "divide", "ln": "log", "arg": "angle",
    "identity_matrix": "eye", "gradient_of": "grad", "stop_grad": "stop_gradient",
}  # fmt: skip
"""Names of other libraries, and what is called so here."""

LATER = frozenset(("sparse",))
"""Names that other libraries have, for things that are not there yet."""


def _hint(module: str, name: str, known: Iterable[str], reasons: Mapping[str, str] | None) -> str:
    """What was meant, or what to use instead."""
    known = list(known)
    root = module.partition(".")[0]
    if reasons and name in reasons:
        return reasons[name]
    if name in LATER:
        return "it is not there yet"
    if name in ELSEWHERE and (ELSEWHERE[name] in known or "." in ELSEWHERE[name]):
        return f"did you mean {root}.{ELSEWHERE[name]}?"
    folded = {each.lower(): each for each in known}
    written = name.lower()
    slips = difflib.get_close_matches(written, folded, n=3, cutoff=0.8)
    beginnings = [each for each in folded if len(each) > 2 and written.startswith(each)]
    others = difflib.get_close_matches(written, folded, n=3, cutoff=0.6)
    close = slips or sorted(beginnings, key=len)[-1:] or others
    if not close:
        return ""
    best = next((each for each in close if each[0] == written[:1]), close[0])
    return f"did you mean {module}.{folded[best]}?"


def missing(
    module: str,
    name: str,
    known: Callable[[], Iterable[str]],
    reasons: Mapping[str, str] | None = None,
) -> AttributeError:
    """The error for a name that a module does not have.

    Args:
        module: what users call it.
        name: what they wrote.
        known: gives the names that it has; called when the text is shown.
        reasons: for names that it does not have on purpose, what to do instead.

    >>> raise missing("tn", "cosin", lambda: ["cos", "sin", "exp"])
    Traceback (most recent call last):
        ...
    tenferro.errors.MissingNameError: module 'tn' has no attribute 'cosin'; did you mean ...
    """
    return MissingNameError(module, name, lambda: _hint(module, name, known(), reasons))


def attributes(
    module: str, known: Iterable[str], reasons: Mapping[str, str] | None = None
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The `__getattr__` of a module, which raises this error, and its `__dir__`: `known` names."""

    def refuse(name: str) -> Any:
        raise missing(module, name, lambda: known, reasons)

    return refuse, lambda: sorted(known)


def unlisted(
    where: str, name: str, known: Iterable[str], kind: str = "option", kinds: str = "options"
) -> str:
    """The text of the error for a name that is not among the options of a function.

    >>> unlisted("jit", "executer", ["executor", "options"])
    "jit: there is no option 'executer'; did you mean 'executor'? the options are executor, options"
    """
    known = list(known)
    close = difflib.get_close_matches(name, known, 1)
    hint = f"did you mean {close[0]!r}? " if close else ""
    return f"{where}: there is no {kind} {name!r}; {hint}the {kinds} are {', '.join(known)}"


# What `jax` and `jax.numpy` have and `tn` does not have, and what to do instead.

CACHES = "a compiled function has its own caches: f.clear(), f.stats()"
DTYPE = "tenferro does not have this dtype"
FILES = "read and write files with NumPy: tn.asarray(np.load(file)), np.savez(file, ...)"
INTERNAL = "it is an internal of JAX"
KERNELS = "an op of your own is an extension; see the documentation, Write an extension"
NUMBERS = "arrays hold numbers only"
PROCESS = (
    "use tn.sharding.initialize; devices know their processes: mesh.devices.flat[0].process_index"
)
PROFILE = "executor.explain() says what was compiled, and how long it took"
REFERENCES = "arrays cannot be changed; x.at[i].set(v) is a changed copy"
SETTING = "there is no such setting"
SHARDING = "XLA chooses what devices do: use tn.jit(mesh=, in_shardings=, out_shardings=)"

NUMPY: dict[str, str] = {
    **dict.fromkeys(
        (
            *("float4_e2m1fn", "float6_e2m3fn", "float6_e3m2fn", "float8_e8m0fnu"),
            *("int1", "int2", "int4", "uint1", "uint2", "uint4"),
        ),
        DTYPE,
    ),
    **dict.fromkeys(("character", "flexible", "object_"), NUMBERS),
    **dict.fromkeys(("fromfile", "savez"), FILES),
    **dict.fromkeys(
        ("ufunc", "frompyfunc"),
        "functions are plain functions; tn.vectorize maps a function over entries",
    ),
    "ComplexWarning": "what loses an imaginary part is an error, or asked for",
}
"""Names of `jax.numpy`."""

JAX: dict[str, str] = {
    **dict.fromkeys(("Ref", "empty_ref", "free_ref", "freeze", "new_ref", "ref"), REFERENCES),
    **dict.fromkeys(
        (
            *("Shard", "auto_pcast", "make_array_from_single_device_arrays", "memory"),
            *("remove_size_one_mesh_axis_from_type", "use_abstract_mesh"),
        ),
        SHARDING,
    ),
    "pmap": "use tn.vmap(f, axis_name=...) in tn.jit(mesh=, in_shardings=), or tn.shard_map",
    "get_mesh": "use tn.sharding.get_mesh()",
    "get_abstract_mesh": "use tn.sharding.get_abstract_mesh()",
    "make_array_from_callback": "use tn.device_put(x, sharding)",
    "make_array_from_process_local_data": "use tn.sharding.from_local",
    "reshard": "use tn.device_put, or tn.with_sharding_constraint in a trace",
    **dict.fromkeys(
        (
            *("distributed", "host_count", "host_id", "host_ids", "process_count"),
            *("process_index", "process_indices"),
        ),
        PROCESS,
    ),
    **dict.fromkeys(
        (
            *("ad", "api_util", "interpreters", "lib"),
            *("extend", "linear_util", "make_user_context", "no_execution", "no_tracing"),
            *("softmax_custom_jvp", "version"),
        ),
        INTERNAL,
    ),
    **dict.fromkeys(
        (
            *("allow_f16_reductions", "array_garbage_collection_guard", "check_tracer_leaks"),
            *("checking_leaks", "default_prng_impl", "enable_custom_prng"),
            *("jax2tf_associative_scan_reductions", "legacy_prng_key"),
            *("numpy_rank_promotion", "thread_guard", "threefry_partitionable", "transfer_guard"),
            *("transfer_guard_device_to_device", "transfer_guard_device_to_host"),
            *("transfer_guard_host_to_device", "unsafe_xla_runtime_errors"),
        ),
        SETTING,
    ),
    **dict.fromkeys(("explain_cache_misses", "monitoring", "profiler"), PROFILE),
    **dict.fromkeys(("debug_nans", "debug_infs"), "look at values within tn.disable_jit()"),
    "ffi": KERNELS,
    "CompilerEffortLevel": "use XlaExecutor(compiler_options=...)",
    "Inline": "functions are always inlined in another trace",
    "clear_caches": CACHES,
    "copy_to_host_async": "use tn.device_get",
    "debug_key_reuse": "set TENFERRO_CHECK_KEYS=1",
    "numpy_dtype_promotion": "tn.config.promotion chooses the rules of NumPy or of JAX",
    "default_device": "name a device where an array is made, device=, or the executor of tn.jit",
    "default_matmul_precision": "use XlaExecutor(precision=...)",
    "dlpack": "use tn.from_dlpack(x), and x.__dlpack__()",
    "ds": "use tn.lax.dynamic_slice",
    "enable_checks": "set TENFERRO_VERIFY=1",
    "ensure_compile_time_eval": "compute with NumPy arrays; they are constants of a program",
    "export": "use tenferro_xla.export, and tn.save",
    "float0": "integers have no derivatives; tn.dtypes.float0 is the dtype of their tangents",
    "fwd_and_bwd": "use tn.vjp",
    "live_arrays": "arrays are freed when nothing refers to them",
    "print_environment_info": "run tenferro doctor",
    "stages": "tn.make_program, XlaExecutor.lower and Lowered.compile are the stages",
}
"""Names of `jax` itself."""

ARRAYS: dict[str, str] = {**NUMPY, **dict.fromkeys(("load", "save"), FILES)}
"""What `tenferro.numpy` does not have; `tn.load` and `tn.save` are for programs."""
MISSING: dict[str, str] = {**NUMPY, **JAX}
