"""What is known of a tensor, and the SSA program: types, verifier, text, interpreter, rewriter."""

from tenferro.ir.builder import *
from tenferro.ir.dims import *
from tenferro.ir.dtypes import *
from tenferro.ir.inference import *
from tenferro.ir.interpreter import *
from tenferro.ir.op import *
from tenferro.ir.parser import *
from tenferro.ir.payloads import *
from tenferro.ir.program import *
from tenferro.ir.types import *
from tenferro.ir.typing import *
from tenferro.ir.verifier import *
