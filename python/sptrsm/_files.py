"""Factor sets in HDF5 files through h5py: the forms with data, indices and indptr of docs/formats.md, which SciPy and this project write.

Files in other forms (Binsparse alone, MATLAB, COO) are for the project's programs: `sptrsm-solve` reads them all.
"""
from __future__ import annotations

import json
import os
import tempfile
from typing import Optional

import numpy

from . import _lib
from ._errors import FormatError
from ._factors import Factors
from ._factorset import FactorSet
from ._sources import from_factors
from ._sparse import Matrix, on_host

ROWS = ("perm_row", "perm_r", "p")
COLUMNS = ("perm_col", "perm_c", "q")
MEANING = {"perm_r": "scatter", "perm_c": "gather", "p": "gather", "q": "scatter"}
REFUSED = ("P", "Q", "R")


class _Stored:
    """A CSR or CSC group as from_factors takes a sparse matrix."""

    def __init__(self, data, indices, indptr, shape, form):
        self.data, self.indices, self.indptr, self.shape, self.format = data, indices, indptr, shape, form
        self.dtype, self.nnz, self.has_canonical_format = data.dtype, len(data), True

    tocsr = tocsc = lambda self: self


def _h5py():
    try:
        import h5py
    except ImportError as error:
        raise ImportError("files need the package h5py; pip install h5py") from error
    return h5py


def _text(value) -> Optional[str]:
    return value.decode() if isinstance(value, bytes) else value


def _attribute(group, name: str):
    """An attribute, or the scalar or small dataset of that name."""
    if name in group.attrs:
        return _text(group.attrs[name])
    return _text(group[name][()]) if name in group else None


def _notes(group) -> dict:
    """What the attributes say about the triangle: {"uplo": ..., "diag": ...}."""
    own = _attribute(group, "sptrsm")
    if own is None and "binsparse" in group.attrs:
        own = json.dumps(json.loads(_text(group.attrs["binsparse"])).get("sptrsm", {}))
    return json.loads(own) if own else {}


def _matrix(group, where: str) -> _Stored:
    missing = [name for name in ("data", "indices", "indptr") if name not in group]
    if missing:
        raise FormatError(f"{where}: has no {missing[0]}; this package reads the form data, indices, indptr of SciPy and AnnData, "
                          "the program sptrsm-solve reads others")
    form = _attribute(group, "encoding-type") or _attribute(group, "h5sparse_format") or _attribute(group, "format")
    if form is None:
        raise FormatError(f"{where}: says neither csr nor csc; set its attribute format")
    form = form.replace("_matrix", "")
    if form not in ("csr", "csc"):
        raise FormatError(f"{where}: has format {form!r}, which is neither csr nor csc")
    indptr, shape = group["indptr"][:], _attribute(group, "shape")
    n = len(indptr) - 1
    return _Stored(group["data"][:], group["indices"][:], indptr, tuple(map(int, shape)) if shape is not None else (n, n), form)


def _permutation(root, names: tuple, where: str) -> dict:
    """The argument of from_factors that a stored permutation is: perm_r or q scatter, perm_c or p gather."""
    found = [name for name in names if name in root]
    if len(found) > 1:
        raise FormatError(f"{where}: has {found[0]} and {found[1]}; keep one of them")
    if not found:
        return {}
    name = found[0]
    convention = _text(root[name].attrs.get("convention")) or MEANING.get(name)
    if convention not in ("gather", "scatter"):
        raise FormatError(f"{where}/{name}: attribute convention is {convention!r}; set it to gather or scatter")
    values = root[name][:].ravel()
    if values.dtype.kind == "f":
        values = values.astype(numpy.int64)
    if len(values) and values.min() == 1:  # 1..n, as MATLAB counts
        values = values - 1
    rows = names is ROWS
    return {("perm_r" if rows else "q") if convention == "scatter" else ("p" if rows else "perm_c"): values}


def _scaling(root, names: tuple, where: str) -> dict:
    for name in names:
        if name not in root:
            continue
        op = _text(root[name].attrs.get("op"))
        if op is None and "do_recip" in root[name].attrs:
            op = "multiply" if root[name].attrs["do_recip"] else "divide"
        if op not in ("multiply", "divide"):
            raise FormatError(f"{where}/{name}: attribute op is {op!r}; set it to multiply or divide")
        side = "col" if name == "scale_col" else "row"
        return {f"{side}_scale": root[name][:].ravel(), f"{side}_op": op}
    return {}


def _read(root, where: str) -> dict:
    """The arguments of from_factors for a group that holds a factor set."""
    for name in REFUSED:
        if name in root:
            raise FormatError(f"{where}/{name}: matrices P, Q, R are not read; store the permutations as vectors p and q")
    if "L" not in root:
        raise FormatError(f"{where}: has no group L; is it a factor set? {where} holds {', '.join(sorted(root)) or 'nothing'}")
    parts = {name: _matrix(root[name], f"{where}/{name}") for name in ("L", "U", "A") if name in root and (
        name != "A" or "indptr" in root[name])}  # a symmetric A is stored in another form, and is not needed to solve
    unit = {f"unit_{name}": _notes(root[name]).get("diag") in ("unit", "unit-implicit") for name in ("L", "U") if name in parts}
    upper = _attribute(root, "upper") if "upper" in root.attrs else None
    if upper == "none":
        raise FormatError(f"{where}: says that there is no U; read L with h5py and pass it to triangular()")
    arguments = dict(parts, upper=upper, **unit, **_permutation(root, ROWS, where), **_permutation(root, COLUMNS, where),
                     **_scaling(root, ("scale_row", "Rs"), where), **_scaling(root, ("scale_col",), where))
    for name in ("D", "D_sub"):
        if name in root:
            arguments[name] = root[name][:].ravel()
    if "D_sub" in arguments:
        n = parts["L"].shape[0]
        arguments["D_sub"] = numpy.resize(numpy.append(arguments["D_sub"], 0), n)
        arguments["hermitian_D"] = bool(root["D_sub"].attrs.get("hermitian", 0))
    return arguments


def from_file(path, **options) -> Factors:
    """A solver with the factor set of an HDF5 file, "FILE" or "FILE:/group"; needs h5py.

    Parameters
    ----------
    path : str or path
        docs/formats.md says what the file holds. Read are the forms with data, indices and indptr, as `save`, SciPy and the project's
        programs write them. A symmetric A is stored otherwise and is left out.
    **options
        As in :func:`from_factors`.

    Raises
    ------
    FormatError
        The file can't be read or does not hold a factor set; the message names the object.
    """
    h5py, name, inside = _h5py(), os.fspath(path), "/"
    if not os.path.exists(name) and ":/" in name:
        name, _, inside = name.rpartition(":")
    try:
        with h5py.File(name, "r") as file:
            if inside not in file:
                raise FormatError(f"{name}:{inside}: is not in the file")
            arguments = _read(file[inside], f"{name}:{inside}".rstrip("/").rstrip(":"))
    except OSError as error:
        raise FormatError(f"{name}: can't be read: {error}") from error
    except KeyError as error:
        raise FormatError(f"{name}: {error}") from error
    return from_factors(**arguments, **options)


def _write_matrix(root, name: str, matrix: Matrix, uplo: Optional[str], unit: bool) -> None:
    group = root.create_group(name)
    matrix = on_host(matrix)
    group.attrs["encoding-type"], group.attrs["encoding-version"] = matrix.format + "_matrix", "0.1.0"
    group.attrs["shape"] = (matrix.n, matrix.n)
    if uplo:
        group.attrs["sptrsm"] = json.dumps({"uplo": uplo, "diag": "unit" if unit else "nonunit"})
    for part in ("data", "indices", "indptr"):
        group[part] = getattr(matrix, part)


def _write(root, factors: FactorSet) -> None:
    root.attrs["creator"], root.attrs["upper"] = f"sptrsm {_lib.version} (Python)", factors.upper
    _write_matrix(root, "L", factors.L, "lower", factors.unit_L)
    if factors.U is not None:
        _write_matrix(root, "U", factors.U, "upper", factors.unit_U)
    if factors.A is not None:
        _write_matrix(root, "A", factors.A, None, False)
    for name, attribute, value in (("D", None, None), ("D_sub", "hermitian", int(factors.D_hermitian)),
                                   ("perm_row", "convention", factors.row_convention), ("perm_col", "convention", factors.col_convention),
                                   ("scale_row", "op", factors.row_op), ("scale_col", "op", factors.col_op)):
        array = getattr(factors, name)
        if array is not None:
            root[name] = array.astype(numpy.int64) if name.startswith("perm") else array
            if attribute:
                root[name].attrs[attribute] = value


def save(factors: Factors, path, overwrite: bool = False) -> None:
    """Writes the factors of a solver to an HDF5 file that from_file and the project's programs read; needs h5py.

    The file appears whole under its name or not at all. An existing one is replaced only if `overwrite` says so.
    """
    h5py, path = _h5py(), os.fspath(path)
    if os.path.exists(path) and not overwrite:
        raise FileExistsError(f"{path} exists; pass overwrite=True to replace it")
    handle, temporary = tempfile.mkstemp(prefix="." + os.path.basename(path), dir=os.path.dirname(path) or ".")
    os.close(handle)
    mask = os.umask(0)
    os.umask(mask)
    try:
        os.chmod(temporary, 0o666 & ~mask)  # as open() would have made it
        with h5py.File(temporary, "w") as file:
            _write(file, factors.factors)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
