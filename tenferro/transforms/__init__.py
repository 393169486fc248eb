"""What users apply to functions: jit, grad, jacobian, vmap, loops, rules by hand, eager tensors."""

from tenferro.runtime import Tensor as Tensor
from tenferro.transforms.ad_context import *
from tenferro.transforms.checkpoint import *
from tenferro.transforms.closure_convert import *
from tenferro.transforms.cond import *
from tenferro.transforms.custom_jvp import *
from tenferro.transforms.custom_linear_solve import *
from tenferro.transforms.custom_vjp import *
from tenferro.transforms.custom_vmap import *
from tenferro.transforms.device_put import *
from tenferro.transforms.eager_runtime import *
from tenferro.transforms.eager_tensor import *
from tenferro.transforms.effects import *
from tenferro.transforms.extension import *
from tenferro.transforms.grad import *
from tenferro.transforms.jacobian import *
from tenferro.transforms.jit import *
from tenferro.transforms.jit_arguments import *
from tenferro.transforms.jvp import *
from tenferro.transforms.linear_part import *
from tenferro.transforms.program import *
from tenferro.transforms.pure_callback import *
from tenferro.transforms.scan import *
from tenferro.transforms.scopes import *
from tenferro.transforms.shard_map import *
from tenferro.transforms.shardings import *
from tenferro.transforms.sparse_matrix import *
from tenferro.transforms.stages import *
from tenferro.transforms.trace import *
from tenferro.transforms.traced_tensor import *
from tenferro.transforms.transpose import *
from tenferro.transforms.trees import *
from tenferro.transforms.vmap import *
from tenferro.transforms.while_loop import *
