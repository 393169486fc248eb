"""Element types and numbers, under the names of the Python array API standard."""

from __future__ import annotations

import math

import numpy as np

from tenferro.shape import BOOL, COMPLEX64, COMPLEX128, FLOAT32, FLOAT64, INT32, INT64

bool = BOOL
complex64 = COMPLEX64
complex128 = COMPLEX128
e = math.e
float32 = FLOAT32
float64 = FLOAT64
inf = math.inf
int32 = INT32
int64 = INT64
nan = math.nan
newaxis = None
pi = math.pi
uint8 = np.dtype(np.uint8)
