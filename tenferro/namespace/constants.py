"""Element types and numbers, under the names of the Python array API standard."""

from __future__ import annotations

import math

import numpy as np

from tenferro.shape import (
    BOOL,
    COMPLEX64,
    COMPLEX128,
    FLOAT16,
    FLOAT32,
    FLOAT64,
    INT32,
    INT64,
    UINT64,
)

bool = BOOL
complex64 = COMPLEX64
complex128 = COMPLEX128
e = math.e
float16 = FLOAT16
float32 = FLOAT32
float64 = FLOAT64
inf = math.inf
int8 = np.dtype(np.int8)
int16 = np.dtype(np.int16)
int32 = INT32
int64 = INT64
nan = math.nan
newaxis = None
pi = math.pi
uint8 = np.dtype(np.uint8)
uint16 = np.dtype(np.uint16)
uint32 = np.dtype(np.uint32)
uint64 = UINT64
