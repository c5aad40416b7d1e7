"""Factor sets in HDF5 files through h5py: the forms with data, indices and indptr of docs/formats.md, which SciPy and this project write.

Files in other forms (Binsparse alone, MATLAB, COO) are for the project's programs: `sptrsm-solve` reads them all.
"""
from __future__ import annotations

import json
import math
import os
import secrets
from contextlib import contextmanager
from typing import Optional

import numpy

from . import _lib
from ._errors import ArgumentError, FormatError, OutOfMemoryError, SingularError, SptrsmError
from ._factors import Factors
from ._factorset import FactorSet
from ._sources import from_factors, permutation, solver_options
from ._sparse import Matrix, on_host, value_type

ROWS = ("perm_row", "perm_r", "p")
COLUMNS = ("perm_col", "perm_c", "q")
MEANING = {"perm_r": "scatter", "perm_c": "gather", "p": "gather", "q": "scatter"}
REFUSED = ("P", "Q", "R")
UNIT = ("unit", "unit-implicit")  # values of diag
ATTRIBUTE = 1 << 20  # most bytes of an attribute that is read
MEMORY = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


class _Group:
    """A group of an HDF5 file without what lies in other files. HDF5 would open any file that a link or a dataset names, so such links and
    datasets are refused before it can.
    """

    def __init__(self, group):
        self._group, self.attrs, self.file, self.name = group, group.attrs, group.file, group.name

    def __iter__(self):
        return iter(self._group)

    def __contains__(self, name: str) -> bool:
        return self._group.get(name, getlink=True) is not None

    def __getitem__(self, path: str):
        """The group or dataset at a path."""
        found = _follow(self._group, path)
        if hasattr(found, "keys"):
            return _Group(found)
        if not hasattr(found, "is_virtual"):
            raise FormatError(f"{_place(found)}: is neither a group nor a dataset")
        if found.is_virtual or found.external:
            raise FormatError(f"{_place(found)}: its numbers lie in another file; h5repack -l CONTI copies them into one file, and the "
                              "program sptrsm-solve reads them with --allow-external")
        return found


def _follow(group, path: str):
    """The object of h5py at a path, found link by link, since HDF5 also follows a link to another file in the middle of a path."""
    here = group.file if path.startswith("/") else group
    for name in path.split("/"):
        if name in ("", "."):
            continue
        link = here.get(name, getlink=True) if hasattr(here, "keys") else None
        if link is None:
            raise KeyError(f"{_place(here).rstrip('/')}/{name} is not there")
        kind = type(link).__name__
        if kind == "ExternalLink":
            raise FormatError(f"{_place(here).rstrip('/')}/{name}: is a link to the file {link.filename}; put the object itself there with "
                              "h5copy, or use the program sptrsm-solve with --allow-external")
        here = _follow(here, link.path) if kind == "SoftLink" else here[name]
    return here


def _place(item) -> str:
    """Where an object of h5py is: FILE:/path."""
    return f"{item.file.filename}:{item.name}"


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


@contextmanager
def _reading(where: str):
    """Whatever h5py and NumPy raise for damaged data becomes a FormatError that says where they are."""
    try:
        yield
    except (SptrsmError, MemoryError):
        raise
    except Exception as error:
        reason = " ".join(str(error).split())
        raise FormatError(f"{where}: can't be read: {type(error).__name__}: {reason}; is the file whole? h5dump shows what it "
                          "holds") from error


def _array(group, name: str, where: str, kinds: str = "biufc", length: Optional[int] = None) -> numpy.ndarray:
    """The numbers of a dataset as a vector, of `length` if that is given. `kinds` are those of NumPy's dtype.kind that are taken."""
    where = f"{where}/{name}"
    with _reading(where):
        item = group[name]
        if isinstance(item, _Group) or item.shape is None:
            raise FormatError(f"{where}: is no array; store a dataset with one dimension")
        if item.dtype.kind not in kinds:
            raise FormatError(f"{where}: has type {item.dtype}; store " + ("integers" if kinds == "iu" else "numbers"))
        if item.size != max(item.shape, default=1):
            raise FormatError(f"{where}: has shape {item.shape}; store a dataset with one dimension")
        if length is not None and item.size != length:
            raise FormatError(f"{where}: has {item.size} elements, and indptr ends at {length}; is the file whole?")
        value_type(None, item.dtype)  # refuses what no solver takes
        if item.nbytes > MEMORY:
            raise OutOfMemoryError(f"{where}: has {item.nbytes} bytes, more than this machine's memory; is the file whole?")
        return numpy.ravel(item[()])


def _text(value):
    """A text of HDF5, of fixed or variable length, as str; anything else as it is."""
    return value.decode() if isinstance(value, bytes) else value


def _attribute(item, name: str):
    """An attribute of a group or dataset, or None; `shape` is a vector, the others are one text or number."""
    if name not in item.attrs:
        return None
    where, header = f"{_place(item)}: attribute {name}", item.attrs.get_id(name)
    if header.dtype.itemsize * math.prod(header.shape or ()) > ATTRIBUTE:
        raise FormatError(f"{where} says that it has {header.shape} elements of {header.dtype.itemsize} bytes, "
                          f"more than {ATTRIBUTE} bytes; is the file whole?")
    with _reading(where):
        value = item.attrs[name]
        if name != "shape" and numpy.ndim(value):
            if numpy.size(value) != 1:
                raise FormatError(f"{where} has {numpy.size(value)} elements; store one")
            value = numpy.ravel(value)[0]
        return _text(value)


def _note(group, name: str):
    """An attribute of a group, or else its dataset of that name, which is a scalar or small."""
    value = _attribute(group, name)
    if value is not None or name not in group:
        return value
    item = group[name]
    if isinstance(item, _Group) or item.nbytes > ATTRIBUTE:
        raise FormatError(f"{_place(group)}/{name}: is neither an attribute nor a small dataset")
    return _text(item[()])


def _notes(group, where: str) -> dict:
    """What the attributes say about the triangle: {"uplo": ..., "diag": ...}."""
    own = _note(group, "sptrsm")
    notes = json.loads(own) if own else {}
    if own is None:
        notes = json.loads(_attribute(group, "binsparse") or "{}").get("sptrsm", {})
    if not isinstance(notes, dict):
        raise FormatError(f"{where}: its attribute sptrsm is not a JSON object such as {{\"uplo\": \"lower\"}}")
    if notes.get("diag", "nonunit") not in ("nonunit", *UNIT):
        raise FormatError(f'{where}: diag is {notes["diag"]!r}; use "nonunit", "unit" or "unit-implicit"')
    return notes


def _matrix(root, name: str, where: str) -> tuple:
    """(matrix, notes on it) of the group of that name."""
    where = f"{where}/{name}"
    with _reading(where):
        group = root[name]
        if not isinstance(group, _Group):
            raise FormatError(f"{where}: is a dataset; store a group with data, indices and indptr")
        return _stored(group, where), _notes(group, where)


def _stored(group, where: str) -> _Stored:
    missing = [name for name in ("data", "indices", "indptr") if name not in group]
    if missing:
        raise FormatError(f"{where}: has no {missing[0]}; this package reads the form data, indices, indptr of SciPy and AnnData, "
                          "the program sptrsm-solve reads others")
    form = _note(group, "encoding-type") or _note(group, "h5sparse_format") or _note(group, "format")
    if form is None:
        raise FormatError(f"{where}: says neither csr nor csc; set its attribute format")
    form = str(form).replace("_matrix", "")
    if form not in ("csr", "csc"):
        raise FormatError(f"{where}: has format {form!r}, which is neither csr nor csc")
    indptr, shape = _array(group, "indptr", where, "iu"), _note(group, "shape")
    if len(indptr) == 0:
        raise FormatError(f"{where}/indptr: is empty; store n + 1 offsets")
    n, nnz = len(indptr) - 1, int(indptr[-1])
    if shape is not None and tuple(map(int, shape)) != (n, n):
        raise FormatError(f"{where}: has shape {tuple(map(int, shape))}; the {n + 1} offsets of indptr make it {(n, n)}")
    return _Stored(_array(group, "data", where, length=nnz), _array(group, "indices", where, "iu", nnz), indptr, (n, n), form)


def _permutation(root, names: tuple, n: int, where: str) -> dict:
    """The argument of from_factors that a stored permutation is: perm_r or q scatter, perm_c or p gather."""
    found = [name for name in names if name in root]
    if len(found) > 1:
        raise FormatError(f"{where}/{found[0]}: stands beside {found[1]}; keep one of them")
    if not found:
        return {}
    name = found[0]
    convention = _attribute(root[name], "convention") or MEANING.get(name)
    if convention not in ("gather", "scatter"):
        raise FormatError(f"{where}/{name}: attribute convention is {convention!r}; set it to gather or scatter")
    values = _array(root, name, where, "iuf")
    if values.dtype.kind == "f":  # as MATLAB saves integers
        bad = numpy.flatnonzero(~((values >= 0) & (values <= n) & (values == numpy.floor(values))))
        if len(bad):
            raise FormatError(f"{where}/{name}: [{bad[0]}] is {values[bad[0]]}, not an integer in 0..{n}")
        values = values.astype(numpy.int64)
    if len(values) and values.min() == 1:  # 1..n, as MATLAB counts
        values = values - 1
    try:
        checked = permutation(values, n, name)
    except ValueError as error:
        raise FormatError(f"{where}/{error}") from error
    rows = names is ROWS
    return {("perm_r" if rows else "q") if convention == "scatter" else ("p" if rows else "perm_c"): checked}


def _scaling(root, names: tuple, where: str) -> dict:
    for name in names:
        if name not in root:
            continue
        op = _attribute(root[name], "op")
        reciprocal = _attribute(root[name], "do_recip")
        if op is None and reciprocal is not None:
            op = "multiply" if reciprocal else "divide"
        if op not in ("multiply", "divide"):
            raise FormatError(f"{where}/{name}: attribute op is {op!r}; set it to multiply or divide")
        side = "col" if name == "scale_col" else "row"
        return {f"{side}_scale": _array(root, name, where, "iuf"), f"{side}_op": op}
    return {}


def _read(root, where: str) -> dict:
    """The arguments of from_factors for a group that holds a factor set; `where` is "FILE:" for the root, else "FILE:/group"."""
    here = where + "/" if where.endswith(":") else where
    if not isinstance(root, _Group):
        raise FormatError(f"{here}: is a dataset; name the group of the factor set")
    for name in REFUSED:
        if name in root:
            raise FormatError(f"{where}/{name}: matrices P, Q, R are not read; store the permutations as vectors p and q")
    if "L" not in root:
        raise FormatError(f"{here}: has no group L; is it a factor set? It holds {', '.join(sorted(root)) or 'nothing'}")
    parts, unit = {}, {}
    for name in ("L", "U", "A"):
        in_another_form = name == "A" and name in root and isinstance(root[name], _Group) and "indptr" not in root[name]
        if name in root and not in_another_form:  # a symmetric A, which is not needed to solve
            parts[name], notes = _matrix(root, name, where)
            if name != "A":
                unit[f"unit_{name}"] = notes.get("diag") in UNIT
    n = parts["L"].shape[0]
    upper = _attribute(root, "upper")
    if upper == "none":
        raise FormatError(f"{here}: says that there is no U; read L with h5py and pass it to triangular()")
    arguments = dict(parts, upper=upper, **unit, **_permutation(root, ROWS, n, where), **_permutation(root, COLUMNS, n, where),
                     **_scaling(root, ("scale_row", "Rs"), where), **_scaling(root, ("scale_col",), where))
    for name in ("D", "D_sub"):
        if name in root:
            arguments[name] = _array(root, name, where)
    if "D_sub" in arguments:
        if "D" not in arguments:
            raise FormatError(f"{here}: has D_sub and no D; store the diagonal of LDL' as D")
        if len(arguments["D_sub"]) == n - 1:
            arguments["D_sub"] = numpy.append(arguments["D_sub"], 0)
        arguments["hermitian_D"] = bool(_attribute(root["D_sub"], "hermitian"))
    return arguments


def from_file(path, dtype=None, **options) -> Factors:
    """A solver with the factor set of an HDF5 file, ``FILE`` or ``FILE:/group``; needs h5py.

    Other files are never read: links, virtual datasets and external storage that lead to one are errors. A file that was damaged on purpose
    can end the process within HDF5; give those of strangers to the program `sptrsm-solve`, which then ends with a message of its own.

    Parameters
    ----------
    path : str or path
        docs/formats.md says what the file holds. Read are the forms with data, indices and indptr, as `save`, SciPy and the project's
        programs write them. A symmetric A is stored otherwise and is left out.
    dtype, **options
        As in :func:`from_factors`.

    Raises
    ------
    FormatError
        The file can't be read or does not hold a factor set; the message names file and object.
    SingularError
        The file is good, and a diagonal entry or a block of D is zero or not finite.
    """
    h5py, name, inside = _h5py(), os.fsdecode(path), "/"
    if not os.path.exists(name) and ":/" in name:
        name, _, inside = name.rpartition(":")
    solver_options(**options)
    dtype = None if dtype is None else value_type(dtype)
    with _reading(name), h5py.File(name, "r") as file:
        try:
            group = _Group(file)[inside]
        except KeyError:
            raise FormatError(f"{name}:{inside}: is not in the file, which holds {', '.join(sorted(file)) or 'nothing'}") from None
        where = f"{name}:{inside.rstrip('/')}"
        with _reading(where):
            arguments = _read(group, where)
    try:
        return from_factors(**arguments, dtype=dtype, **options)
    except (SingularError, ArgumentError):  # good files; the latter is for a wrong option
        raise
    except (ValueError, TypeError) as error:
        raise FormatError(f"{where}/{error}") from error


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
    if factors.A is not None and not factors.A_is_old:
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
    if not isinstance(factors, Factors):
        raise TypeError(f"factors is {type(factors).__name__}, not sptrsm.Factors; save the matrix of a triangle by scipy.sparse.save_npz")
    h5py, path = _h5py(), os.fsdecode(path)
    if os.path.exists(path) and not overwrite:
        raise FileExistsError(f"{path} exists; pass overwrite=True to replace it")
    folder, name = os.path.split(path)
    if not os.path.isdir(folder or "."):
        raise FileNotFoundError(f"{path}: there is no folder {folder}")
    temporary = os.path.join(folder, f".{name}.{secrets.token_hex(8)}")
    try:
        with h5py.File(temporary, "x") as file:
            _write(file, factors.factors)
        os.replace(temporary, path)
    except BaseException:
        if os.path.lexists(temporary):
            os.unlink(temporary)
        raise
