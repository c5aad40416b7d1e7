"""The declarations in _lib.py against the headers and the library."""
import ctypes
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from sptrsm import _lib

INCLUDE = Path(__file__).resolve().parents[2] / "include"
STRUCTS = {"sptrsm_sparse": _lib.Sparse, "sptrsm_square": _lib.Square, "sptrsm_block": _lib.Block, "sptrsm_options": _lib.Options,
           "sptrsm_info": _lib.Info, "sptrsm_factors": _lib.Factors, "sptrsm_refine_options": _lib.RefineOptions,
           "sptrsm_refine_result": _lib.RefineResult, "sptrsm_reach_request": _lib.ReachRequest, "sptrsm_reach_part": _lib.ReachPart}
CONSTANTS = {"SPTRSM_CUDA": _lib.CUDA, "SPTRSM_CSC": _lib.CSC, "SPTRSM_UPPER": _lib.UPPER, "SPTRSM_UNIT": _lib.UNIT,
             "SPTRSM_COL_MAJOR": _lib.COL_MAJOR, "SPTRSM_BORROW": _lib.BORROW, "SPTRSM_SCATTER": _lib.SCATTER, "SPTRSM_DIVIDE": _lib.DIVIDE,
             "SPTRSM_U_IS_LT": _lib.U_IS_LT, "SPTRSM_U_IS_LH": _lib.U_IS_LH, "SPTRSM_SKEW": _lib.SKEW, "SPTRSM_MIXED": _lib.MIXED,
             "SPTRSM_C128": _lib.DTYPES.index("complex128"), "SPTRSM_F32": _lib.DTYPES.index("float32"),
             "SPTRSM_T": _lib.OPERATIONS["T"], "SPTRSM_C": _lib.OPERATIONS["H"], "SPTRSM_ALL_ROWS": _lib.ALL_ROWS}


@pytest.mark.skipif(not shutil.which("cc") or not INCLUDE.is_dir(), reason="needs a C compiler and the headers")
def test_structs_and_constants_are_those_of_the_headers(tmp_path):
    lines = ["#include <stdio.h>", "#include <sptrsm.h>", "#include <sptrsm_refine.h>", "#include <sptrsm_reach.h>", "int main(void) {"]
    for name, struct in STRUCTS.items():
        lines.append(f'printf("{name} %zu\\n", sizeof({name}));')
        lines += [f'printf("{name}.{member[0]} %zu\\n", offsetof({name}, {member[0]}));' for member in struct._fields_]
    lines += [f'printf("{name} %d\\n", (int){name});' for name in CONSTANTS] + ["return 0; }"]
    source, program = tmp_path / "layout.c", tmp_path / "layout"
    source.write_text("\n".join(lines))
    subprocess.run(["cc", "-std=c11", f"-I{INCLUDE}", str(source), "-o", str(program)], check=True)
    found = dict(line.split() for line in subprocess.run([str(program)], check=True, capture_output=True, text=True).stdout.splitlines())
    expected = {name: str(value) for name, value in CONSTANTS.items()}
    for name, struct in STRUCTS.items():
        expected[name] = str(ctypes.sizeof(struct))
        expected.update({f"{name}.{member[0]}": str(getattr(struct, member[0]).offset) for member in struct._fields_})
    assert found == expected


def test_missing_library_is_named():
    code = subprocess.run([sys.executable, "-c", "import sptrsm"], env={**os.environ, "SPTRSM_LIBRARY": "/nowhere/libsptrsm.so"},
                          capture_output=True, text=True)
    assert code.returncode == 1 and "ImportError" in code.stderr and "/nowhere/libsptrsm.so" in code.stderr


def test_self_test():
    code = subprocess.run([sys.executable, "-m", "sptrsm", "--self-test"], capture_output=True, text=True)
    assert code.returncode == 0 and "cpu: residual" in code.stdout and code.stdout.endswith("passed\n")
