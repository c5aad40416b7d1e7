"""Reads the memory of any array that speaks DLPack, without a copy and without consuming its capsule.

A capsule that nobody consumes frees what it holds when Python collects it, so keeping it alive for the length of a call is all that a
reader has to do. Layout of the structs: DLPack 0.6 to 1.1, dlpack.h, unversioned capsules ("dltensor").
"""
from __future__ import annotations

import ctypes
from typing import NamedTuple, Optional

from . import _lib
from ._context import CPU, LEGACY_STREAM, Device, family_of

PLACES = {1: _lib.HOST, 2: _lib.CUDA, 3: _lib.HOST, 13: _lib.CUDA}  # kDLCPU, kDLCUDA, kDLCUDAHost, kDLCUDAManaged
TYPES = {(2, 32): "float32", (2, 64): "float64", (5, 64): "complex64", (5, 128): "complex128"}  # kDLFloat, kDLComplex
CODES = {0: "int", 1: "uint", 2: "float", 3: "opaque", 4: "bfloat", 5: "complex", 6: "bool"}


class _Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32), ("ndim", ctypes.c_int32),
                ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]


_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype, _pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]


class View(NamedTuple):
    """Memory of an array: strides are in elements, None for a compact array in C order; `capsule` keeps the memory alive."""

    pointer: int
    shape: tuple
    strides: Optional[tuple]
    dtype: str
    device: Device
    capsule: object


UNREADABLE = AttributeError, BufferError, RuntimeError, ValueError, TypeError  # what packages raise


def device(array, name: str) -> Device:
    """Where the array lies."""
    try:
        kind, index = array.__dlpack_device__()
    except UNREADABLE as error:
        if family_of(array) == "jax" and isinstance(error, AttributeError):
            raise TypeError(f"{name} is traced by a transformation of JAX and has no memory yet; use sptrsm.jax.solve, which can be "
                            "transformed") from error
        raise TypeError(f"{name} can't be read through DLPack ({error}); copy it to the host or to a CUDA device") from error
    kind = int(kind)
    if kind not in PLACES:
        raise TypeError(f"{name} lies on a device of DLPack's kind {kind}; copy it to the host or to a CUDA device")
    return Device(PLACES[kind], index) if PLACES[kind] == _lib.CUDA else CPU


def view(array, name: str, stream: Optional[int]) -> View:
    """The memory of `array`; what is queued for it is made to finish before later work on the CUDA stream `stream`."""
    if getattr(array, "requires_grad", False):
        raise TypeError(f"{name} requires a gradient; pass {name}.detach(), or call sptrsm.torch.solve to have gradients")
    if getattr(array, "is_neg", None) and array.is_neg():
        raise TypeError(f"{name} is a lazily negated tensor, which DLPack hands over with the wrong sign; pass {name}.resolve_neg()")
    place = device(array, name)
    try:
        capsule = array.__dlpack__(stream=stream or LEGACY_STREAM) if place.place == _lib.CUDA else array.__dlpack__()
    except UNREADABLE as error:
        raise TypeError(f"{name} can't be read through DLPack ({error}); pass a plain, contiguous copy of it") from error
    tensor = _Tensor.from_address(_pointer(capsule, b"dltensor"))
    dtype = TYPES.get((tensor.code, tensor.bits), f"{CODES.get(tensor.code, 'unknown')}{tensor.bits}")
    if tensor.lanes != 1:
        dtype += f"x{tensor.lanes}"
    ndim = tensor.ndim
    strides = tuple(tensor.strides[:ndim]) if tensor.strides else None
    return View((tensor.data or 0) + tensor.byte_offset, tuple(tensor.shape[:ndim]), strides, dtype, place, capsule)
