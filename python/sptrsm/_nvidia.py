"""Finds cuSPARSE for a libsptrsm with CUDA methods, and cuBLAS for Schur complements on a device.

libsptrsm holds the CUDA runtime itself and needs no other libraries of NVIDIA. The dynamic loader finds these where CUDA is installed in
the system, or where another package has loaded them before. The wheels nvidia-cusparse and nvidia-cublas put them into the folder
``nvidia/cu13/lib`` of an entry of ``sys.path``, which the loader does not know; they have to be loaded from there first.
"""
from __future__ import annotations

import ctypes
import os
import sys

FOLDER = os.path.join("nvidia", "cu13", "lib")
CUSPARSE, CUBLAS = "libcusparse.so.12", "libcublas.so.13"


def load(path: str) -> ctypes.CDLL:
    """Load libsptrsm from `path`, with the cuSPARSE of NVIDIA's wheel where the dynamic loader finds none that fits.

    Raises
    ------
    OSError
        As from ``ctypes.CDLL``; where cuSPARSE is what is missing, the message says how to install it.
    """
    try:
        return ctypes.CDLL(path)
    except OSError as error:
        if "cusparse" not in str(error):
            raise
        if not preload(CUSPARSE):
            raise OSError(f"{error}; its wheel is not installed either: pip install 'nvidia-cusparse>=12.6,<13'") from error
    return ctypes.CDLL(path)


def preload(name: str) -> bool:
    """Load a library of NVIDIA's wheels, and say whether there is one."""
    for entry in sys.path:
        path = os.path.join(entry, FOLDER, name)
        if os.path.exists(path):
            ctypes.CDLL(path)
            return True
    return False
