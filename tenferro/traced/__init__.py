"""The traced front end: values of a graph, their derivatives, and programs made of them."""

from tenferro.traced.capture import CapturedArray, capture
from tenferro.traced.compiler import GraphCompiler, specialise
from tenferro.traced.derivatives import AdContext, AdContextBuilder, check_active, check_scalar
from tenferro.traced.substitute import substitute
from tenferro.traced.tensor import (
    TracedTensor,
    TraceEmitter,
    as_key,
    fresh_input,
    is_tracing,
    record,
    tracing,
)

__all__ = [
    "AdContext",
    "AdContextBuilder",
    "CapturedArray",
    "GraphCompiler",
    "TraceEmitter",
    "TracedTensor",
    "as_key",
    "capture",
    "check_active",
    "check_scalar",
    "fresh_input",
    "is_tracing",
    "record",
    "specialise",
    "substitute",
    "tracing",
]
