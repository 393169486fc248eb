"""The contract of extension ops, which packages of others add: id, payload, kernel, rules."""

from tenferro.ops.extension.carrier import *
from tenferro.ops.extension.composite import *
from tenferro.ops.extension.op import *
from tenferro.ops.extension.package import *
