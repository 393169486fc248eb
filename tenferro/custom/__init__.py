"""Derivatives by hand: functions whose derivatives the user defines.

A call is one op, `Custom` of `tenferro.control`. Rules are Python functions, which are traced when
a derivative is asked for.

Read in this order: `arguments`, `forms` (what calls have in common), `functions`, `jvp`, `vjp`;
then `held` (traced functions that others call), `solves`, `roots`; and `stopping`, `callbacks`.
"""

from tenferro.custom.callbacks import called as called
from tenferro.custom.callbacks import pure_callback
from tenferro.custom.forms import is_differentiable as is_differentiable
from tenferro.custom.jvp import CustomJvp, custom_jvp
from tenferro.custom.roots import custom_root
from tenferro.custom.solves import custom_linear_solve
from tenferro.custom.stopping import stop_gradient
from tenferro.custom.vjp import CustomVjp, custom_vjp

__all__ = [
    "CustomJvp",
    "CustomVjp",
    "custom_jvp",
    "custom_linear_solve",
    "custom_root",
    "custom_vjp",
    "pure_callback",
    "stop_gradient",
]
