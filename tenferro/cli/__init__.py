""""""

from tenferro.cli.main import *
