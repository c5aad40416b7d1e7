"""The declarations in _lib.py against the headers and the library."""
import ctypes
import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from sptrsm import _dlpack, _lib

INCLUDE = Path(__file__).resolve().parents[2] / "include"
HEADERS = ["sptrsm.h", "sptrsm_refine.h", "sptrsm_reach.h", "sptrsm_batch.h", "sptrsm_schur.h"]
STRUCTS = {"sptrsm_sparse": _lib.Sparse, "sptrsm_square": _lib.Square, "sptrsm_block": _lib.Block, "sptrsm_options": _lib.Options,
           "sptrsm_info": _lib.Info, "sptrsm_factors": _lib.Factors, "sptrsm_refine_options": _lib.RefineOptions,
           "sptrsm_refine_result": _lib.RefineResult, "sptrsm_reach_request": _lib.ReachRequest, "sptrsm_reach_part": _lib.ReachPart,
           "sptrsm_batch_values": _lib.BatchValues, "sptrsm_item_status": _lib.ItemStatus, "sptrsm_batch_block": _lib.BatchBlock,
           "sptrsm_batch_run": _lib.BatchRun, "sptrsm_batch_facts": _lib.BatchFacts, "sptrsm_schur_columns": _lib.SchurColumns,
           "sptrsm_schur_request": _lib.SchurRequest, "sptrsm_schur_facts": _lib.SchurFacts}
CONSTANTS = {"SPTRSM_CUDA": _lib.CUDA, "SPTRSM_CSC": _lib.CSC, "SPTRSM_UPPER": _lib.UPPER, "SPTRSM_UNIT": _lib.UNIT,
             "SPTRSM_COL_MAJOR": _lib.COL_MAJOR, "SPTRSM_BORROW": _lib.BORROW, "SPTRSM_SCATTER": _lib.SCATTER, "SPTRSM_DIVIDE": _lib.DIVIDE,
             "SPTRSM_U_IS_LT": _lib.U_IS_LT, "SPTRSM_U_IS_LH": _lib.U_IS_LH, "SPTRSM_SKEW": _lib.SKEW, "SPTRSM_MIXED": _lib.MIXED,
             "SPTRSM_C128": _lib.DTYPES.index("complex128"), "SPTRSM_F32": _lib.DTYPES.index("float32"),
             "SPTRSM_T": _lib.OPERATIONS["T"], "SPTRSM_C": _lib.OPERATIONS["H"], "SPTRSM_ALL_ROWS": _lib.ALL_ROWS}


def printed(folder, include, headers, expressions) -> dict:
    """The values of integer expressions of C, {name: value}."""
    lines = [f"#include <{header}>" for header in ["stddef.h", "stdio.h", *headers]] + ["int main(void) {"]
    lines += [f'printf("{name} %lld\\n", (long long)({expression}));' for name, expression in expressions.items()] + ["return 0; }"]
    source, program = folder / "layout.c", folder / "layout"
    source.write_text("\n".join(lines))
    subprocess.run(["cc", "-std=c11", f"-I{include}", str(source), "-o", str(program)], check=True)
    lines = subprocess.run([str(program)], check=True, capture_output=True, text=True).stdout.splitlines()
    return {name: int(value) for name, value in map(str.split, lines)}


@pytest.mark.skipif(not shutil.which("cc") or not INCLUDE.is_dir(), reason="needs a C compiler and the headers")
def test_structs_and_constants_are_those_of_the_headers(tmp_path):
    expressions, expected = {name: name for name in CONSTANTS}, dict(CONSTANTS)
    for name, struct in STRUCTS.items():
        expressions[name], expected[name] = f"sizeof({name})", ctypes.sizeof(struct)
        for member, *_ in struct._fields_:
            expressions[f"{name}.{member}"] = f"offsetof({name}, {member})"
            expected[f"{name}.{member}"] = getattr(struct, member).offset
    assert printed(tmp_path, INCLUDE, HEADERS, expressions) == expected


def test_the_layout_of_dlpack(tmp_path):
    """Against the dlpack.h that torch brings."""
    torch = importlib.util.find_spec("torch")
    header = Path(torch.origin).parent / "include" / "ATen" / "dlpack.h" if torch else Path("dlpack.h")
    if not header.exists() or not shutil.which("cc"):
        pytest.skip("needs torch's dlpack.h and a C compiler")
    members = {"device_type": "device.device_type", "device_id": "device.device_id", "code": "dtype.code", "bits": "dtype.bits",
               "lanes": "dtype.lanes"}
    places = {name: members.get(name, name) for name, _ in _dlpack._Tensor._fields_}
    constants = {"kDLCPU": _lib.HOST, "kDLCUDA": _lib.CUDA, "kDLCUDAHost": _lib.HOST, "kDLCUDAManaged": _lib.CUDA}
    found = printed(tmp_path, header.parent, ["dlpack.h"], {
        "size": "sizeof(DLTensor)", "first": "offsetof(DLManagedTensor, dl_tensor)", "float": "kDLFloat", "complex": "kDLComplex",
        **{f".{name}": f"offsetof(DLTensor, {place})" for name, place in places.items()}, **{name: name for name in constants}})
    assert {name: _dlpack.PLACES[found[name]] for name in constants} == constants
    assert {(found["float"], 64), (found["complex"], 128)} < _dlpack.TYPES.keys()
    assert found["size"] == ctypes.sizeof(_dlpack._Tensor) and found["first"] == 0
    assert all(found[f".{name}"] == getattr(_dlpack._Tensor, name).offset for name in places)


def test_missing_library_is_named():
    code = subprocess.run([sys.executable, "-c", "import sptrsm"], env={**os.environ, "SPTRSM_LIBRARY": "/nowhere/libsptrsm.so"},
                          capture_output=True, text=True)
    assert code.returncode == 1 and "ImportError" in code.stderr and "/nowhere/libsptrsm.so" in code.stderr


def test_self_test():
    code = subprocess.run([sys.executable, "-m", "sptrsm", "--self-test"], capture_output=True, text=True)
    assert code.returncode == 0 and "cpu: residual" in code.stdout and code.stdout.endswith("passed\n")
