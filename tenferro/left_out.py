"""What `jax` and `jax.numpy` have and `tn` does not have, and what to do instead.

Modules such as `tn.nn` have such a list themselves, `MISSING`. Error texts and the documentation
take the reasons from there.
"""

from __future__ import annotations

CACHES = "a compiled function has its own caches: f.clear(), f.stats()"
DTYPE = "tenferro does not have this dtype"
FILES = "read and write files with NumPy: tn.asarray(np.load(file)), np.savez(file, ...)"
INTERNAL = "it is an internal of JAX"
KERNELS = "an op of your own is an extension; see the documentation, Write an extension"
LINES = "values are named by the lines that made them; leave it out"
NUMBERS = "arrays hold numbers only"
PROCESS = (
    "use tn.sharding.initialize; devices know their processes: mesh.devices.flat[0].process_index"
)
PROFILE = "executor.explain() says what was compiled, and how long it took"
REFERENCES = "arrays cannot be changed; x.at[i].set(v) is a changed copy"
SETTING = "there is no such setting"
SHARDING = "XLA chooses what devices do: use tn.jit(mesh=, in_shardings=, out_shardings=)"
TYPES = "x.shape and x.dtype are the type of x; tn.eval_shape(f, x) is that of a result"

NUMPY: dict[str, str] = {
    **dict.fromkeys(
        (
            *("bfloat16", "float4_e2m1fn", "float6_e2m3fn", "float6_e3m2fn", "float8_e3m4"),
            *("float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz"),
            *("float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu", "int1", "int2", "int4"),
            *("uint1", "uint2", "uint4"),
        ),
        DTYPE,
    ),
    **dict.fromkeys(("character", "flexible", "object_"), NUMBERS),
    **dict.fromkeys(("fromfile", "savez"), FILES),
    **dict.fromkeys(
        ("ufunc", "frompyfunc"),
        "functions are plain functions; tn.vectorize maps a function over entries",
    ),
    "minmax": "call tn.min and tn.max",
    "ComplexWarning": "what loses an imaginary part is an error, or asked for",
}
"""Names of `jax.numpy`."""

JAX: dict[str, str] = {
    **dict.fromkeys(("Ref", "empty_ref", "free_ref", "freeze", "new_ref", "ref"), REFERENCES),
    **dict.fromkeys(
        (
            *("Shard", "auto_pcast", "make_array_from_single_device_arrays", "memory", "pmap"),
            *("remove_size_one_mesh_axis_from_type", "set_mesh", "shard_map", "smap"),
            *("get_abstract_mesh", "get_mesh", "use_abstract_mesh"),
        ),
        SHARDING,
    ),
    "NamedSharding": "use tn.sharding.NamedSharding",
    "P": "use tn.sharding.PartitionSpec",
    "make_array_from_callback": "use tn.device_put(x, sharding)",
    "make_array_from_process_local_data": "use tn.sharding.from_local",
    "make_mesh": "use tn.sharding.make_mesh",
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
            *("ad", "api_util", "core", "custom_derivatives", "dtypes", "interpreters", "lib"),
            *("extend", "linear_util", "make_user_context", "no_execution", "no_tracing"),
            *("softmax_custom_jvp", "version"),
        ),
        INTERNAL,
    ),
    **dict.fromkeys(
        (
            *("allow_f16_reductions", "array_garbage_collection_guard", "check_tracer_leaks"),
            *("checking_leaks", "default_prng_impl", "enable_custom_prng"),
            *("jax2tf_associative_scan_reductions", "legacy_prng_key", "numpy_dtype_promotion"),
            *("numpy_rank_promotion", "thread_guard", "threefry_partitionable", "transfer_guard"),
            *("transfer_guard_device_to_device", "transfer_guard_device_to_host"),
            *("transfer_guard_host_to_device", "unsafe_xla_runtime_errors"),
        ),
        SETTING,
    ),
    **dict.fromkeys(("named_call", "named_scope"), LINES),
    **dict.fromkeys(("explain_cache_misses", "log_compiles", "monitoring", "profiler"), PROFILE),
    **dict.fromkeys(("debug_nans", "debug_infs"), "look at values within tn.disable_jit()"),
    **dict.fromkeys(("ffi", "custom_batching"), KERNELS),
    "CompilerEffortLevel": "use XlaExecutor(compiler_options=...)",
    "Inline": "functions are always inlined in another trace",
    "ad_checkpoint": "use tn.checkpoint and tn.checkpoint_name",
    "Device": "devices are names, such as 'cpu:0'; tn.devices() lists them",
    "clear_caches": CACHES,
    "closure_convert": "functions read the arrays around them; there is nothing to convert",
    "copy_to_host_async": "use tn.device_get",
    "debug_key_reuse": "set TENFERRO_CHECK_KEYS=1",
    "default_device": "name a device where an array is made, device=, or the executor of tn.jit",
    "default_matmul_precision": "use XlaExecutor(precision=...)",
    "dlpack": "use tn.from_dlpack(x), and x.__dlpack__()",
    "ds": "use tn.lax.dynamic_slice",
    "effects_barrier": "programs have no effects; x.block_until_ready() waits for a result",
    "enable_checks": "set TENFERRO_VERIFY=1",
    "ensure_compile_time_eval": "compute with NumPy arrays; they are constants of a program",
    "experimental": "what is there is not experimental",
    "export": "use tenferro_xla.export, and tn.save",
    "float0": "integers have no derivatives",
    "fwd_and_bwd": "use tn.vjp",
    "image": "resizing of images is not there yet; write it with tn.interp or tn.take",
    "live_arrays": "arrays are freed when nothing refers to them",
    "make_jaxpr": "use tn.make_program(f, *specs), which prints, runs and can be saved",
    "numpy": "tn itself has the functions of jax.numpy",
    "print_environment_info": "run tenferro doctor",
    "stages": "tn.make_program, XlaExecutor.lower and Lowered.compile are the stages",
    "typeof": TYPES,
}
"""Names of `jax` itself."""

MISSING: dict[str, str] = {**NUMPY, **JAX}
