"""Files of programs and fragments, without pickle."""

from tenferro.serialization.cache_folder import *
from tenferro.serialization.container import *
from tenferro.serialization.missing_extension import *
from tenferro.serialization.ops import *
from tenferro.serialization.save_load import *
from tenferro.serialization.values import *
