#!/usr/bin/env python3
"""Writes the small files that the tests of the file library read, as other tools write them (h5py, SciPy).

    python3 tests/data/make_fixtures.py        (needs numpy, scipy, h5py; the results are committed)

The triangle of forms.h5 and its kin is T, 6 x 6, with T[i,j] = 10 (i+1) + (j+1) at the places of pattern(i, j); the imaginary
part, where there is one, is i - j + 0.5. Blocks hold B[i,k] = 100 (k+1) + i + 1, imaginary part k - i. tests/io knows the same
formulas.
"""
import gzip
import json
import os

import h5py
import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import splu

HERE = os.path.dirname(os.path.abspath(__file__))
N = 6


def path(name):
    return os.path.join(HERE, name)


def pattern(i, j):
    return i == j or (i > j and (3 * i + 5 * j) % 4 != 1)


def triangle(dtype=np.float64):
    t = np.zeros((N, N), dtype)
    for i in range(N):
        for j in range(N):
            if pattern(i, j):
                t[i, j] = 10 * (i + 1) + (j + 1)
                if np.iscomplexobj(t):
                    t[i, j] += 1j * (i - j + 0.5)
    return sp.csr_matrix(t)


def block(cols=3, dtype=np.float64):
    i, k = np.meshgrid(np.arange(N), np.arange(cols), indexing="ij")
    b = (100 * (k + 1) + i + 1).astype(dtype)
    return b + 1j * (k - i) if np.iscomplexobj(b) else b


def new(name, **kw):
    return h5py.File(path(name), "w", track_order=False, **kw)


def renamed(values, re, im):
    out = np.zeros(values.shape, [(re, values.real.dtype), (im, values.real.dtype)])
    out[re], out[im] = values.real, values.imag
    return out


SHARED = {}


def store(group, name, value):
    """Arrays that occur again in a file become hard links, which keeps the files small."""
    value = np.asarray(value)
    key = (group.file.filename, value.dtype.str, str(value.dtype), value.shape, value.tobytes())
    if key in SHARED:
        group[name] = group.file[SHARED[key]]
    else:
        group[name] = value
        SHARED[key] = group[name].name


# ---- writers of single matrices, each in the manner of its tool ----

def anndata(parent, name, m, idx=np.int32, ptr=np.int32, val=None, **kw):
    g = parent.create_group(name)
    g.attrs["encoding-type"] = m.format + "_matrix"
    g.attrs["encoding-version"] = "0.1.0"
    g.attrs["shape"] = np.array(m.shape, np.int64)
    arrays = {"data": m.data if val is None else val, "indices": m.indices.astype(idx), "indptr": m.indptr.astype(ptr)}
    for key, value in arrays.items():
        g.create_dataset(key, data=value, **kw) if kw else store(g, key, value)
    return g


def plain(parent, name, m, **extra):
    g = parent.create_group(name)
    for key, value in (("data", m.data), ("indices", m.indices), ("indptr", m.indptr)):
        store(g, key, value)
    for key, value in extra.items():
        g[key] = value
    return g


def matlab_sparse(parent, name, m, values=None):
    m = sp.csc_matrix(m)
    g = parent.create_group(name)
    g.attrs["MATLAB_sparse"] = np.uint64(m.shape[0])
    g.attrs["MATLAB_class"] = np.bytes_("double")
    store(g, "jc", m.indptr.astype(np.uint64))
    if m.nnz:
        store(g, "ir", m.indices.astype(np.uint64))
        store(g, "data", m.data if values is None else values)
    return g


def matlab_dense(parent, name, a):
    d = parent.create_dataset(name, data=np.ascontiguousarray(a.T))
    d.attrs["MATLAB_class"] = np.bytes_("double")


def binsparse(parent, name, fmt, shape, nnz, types, arrays, structure=None, own=None, fixed=False, patch=None):
    g = parent.create_group(name)
    b = {"version": "0.1", "format": fmt, "shape": list(shape), "number_of_stored_values": nnz, "data_types": types}
    if structure:
        b["structure"] = structure
    if patch:
        b.update(patch)
    root = {"binsparse": {k: v for k, v in b.items() if v is not None}}
    if own:
        root["sptrsm"] = own
    text = json.dumps(root)
    g.attrs["binsparse"] = np.bytes_(text) if fixed else text
    for key, value in arrays.items():
        store(g, key, value)
    return g


def binsparse_csr(parent, name, m, fmt="CSR", vtype="float64", values=None, **kw):
    types = {"pointers_to_1": "uint64", "indices_1": "uint64", "values": vtype}
    arrays = {"pointers_to_1": m.indptr.astype(np.uint64), "indices_1": m.indices.astype(np.uint64),
              "values": m.data if values is None else values}
    return binsparse(parent, name, fmt, m.shape, m.nnz, types, arrays, **kw)


def binsparse_coo(parent, name, m, fmt, order):
    m = m.tocoo()
    row, col, val = m.row[order], m.col[order], m.data[order]
    types = {"indices_0": "uint32", "indices_1": "uint32", "values": "float64"}
    binsparse(parent, name, fmt, m.shape, m.nnz, types,
              {"indices_0": row.astype(np.uint32), "indices_1": col.astype(np.uint32), "values": val})


def pairs(z):
    return np.column_stack([z.real, z.imag]).ravel()


# ---- good files ----

def make_forms():
    t, z = triangle(), triangle(np.complex128)
    c = t.tocsc()
    with new("forms.h5", libver=("v108", "v108")) as f:
        binsparse_csr(f, "bin_csr", t)
        binsparse_csr(f, "bin_csc", c, fmt="CSC")
        binsparse_csr(f, "bin_fixed", t, fixed=True, own={"uplo": "lower", "diag": "nonunit"})
        binsparse_csr(f, "bin_complex", z, vtype="complex[float64]", values=pairs(z.data))
        binsparse_csr(f, "bin_complex32", z, vtype="complex[float32]", values=pairs(z.data).astype(np.float32))
        binsparse_csr(f, "bin_iso", t, vtype="iso[float64]", values=np.array([7.0]))
        binsparse_csr(f, "bin_int8", t, vtype="int8", values=t.data.astype(np.int8))
        shuffled = np.random.default_rng(1).permutation(t.nnz)
        binsparse_coo(f, "bin_coo", t, "COO", shuffled)
        binsparse_coo(f, "bin_coor", t, "COOR", np.arange(t.nnz))
        binsparse_coo(f, "bin_cooc", t, "COOC", np.lexsort((t.tocoo().row, t.tocoo().col)))
        binsparse_csr(f, "bin_symmetric", t, structure="symmetric_lower")
        anndata(f, "ann_csr", t)
        anndata(f, "ann_csc", c, idx=np.int64, ptr=np.int64)
        anndata(f, "ann_gzip", t, compression="gzip", shuffle=True, fletcher32=True, chunks=(4,))
        anndata(f, "ann_big_endian", t, idx=">i2", ptr=">u8", val=t.data.astype(">f4"))
        anndata(f, "ann_uint8", t, idx=np.uint8, ptr=np.int8, val=t.data.astype(np.uint16))
        anndata(f, "ann_complex", z)
        anndata(f, "ann_complex64", z.astype(np.complex64))
        anndata(f, "ann_real_imag", z, val=renamed(z.data.astype(">c16"), "real", "imag"))
        anndata(f, "ann_re_im", z, val=renamed(z.data, "re", "im"))
        anndata(f, "ann_bool", t, val=np.ones(t.nnz, bool))
        anndata(f, "ann_half", t, val=t.data.astype(np.float16))
        plain(f, "h5py_all", c, shape=np.array(c.shape), format="csc")
        plain(f, "h5py_bytes", t, shape=np.array(c.shape), format=np.bytes_("csr"))
        plain(f, "h5py_shape", t, shape=np.array(t.shape))
        plain(f, "h5py_bare", t)
        g = plain(f, "h5sparse", c)
        g.attrs["h5sparse_format"], g.attrs["h5sparse_shape"] = "csc", np.array(c.shape)
        for name in ("coo", "coo_bare"):
            o = t.tocoo()
            g = f.create_group(name)
            g["row"], g["col"], g["data"] = o.row[shuffled], o.col[shuffled], o.data[shuffled]
            if name == "coo":
                g.attrs["shape"] = o.shape
        reverse = sp.csr_matrix((t.data.copy(), t.indices.copy(), t.indptr.copy()), t.shape)
        for i in range(N):
            s = slice(t.indptr[i], t.indptr[i + 1])
            reverse.data[s], reverse.indices[s] = t.data[s][::-1], t.indices[s][::-1]
        anndata(f, "unsorted", reverse)
        twice = sp.coo_matrix((np.concatenate([t.data - 1, np.ones(t.nnz)]),
                               (np.tile(t.tocoo().row, 2), np.tile(t.tocoo().col, 2))), t.shape)
        indptr = 2 * t.indptr
        order = np.lexsort((twice.col, twice.row))
        g = f.create_group("duplicates")
        g["data"], g["indices"], g["indptr"] = twice.data[order], twice.col[order], indptr
        g = anndata(f, "deep/er/grid", t)
        g.attrs["grid"], g.attrs["stencil"] = np.array([3, 2, 1]), "D3N7"
        f["soft"] = h5py.SoftLink("/deep/er/grid")
        g = anndata(f, "said_unit", t)
        g.attrs["sptrsm"] = json.dumps({"uplo": "lower", "diag": "unit"})
    with new("matlab.mat", userblock_size=512) as f:
        matlab_sparse(f, "L", t)
        matlab_sparse(f, "Z", z, renamed(sp.csc_matrix(z).data, "real", "imag"))
        matlab_sparse(f, "logical", t, np.ones(t.nnz, np.uint8))
        matlab_sparse(f, "empty", sp.csc_matrix((N, 4)))
        matlab_dense(f, "B", block())
        matlab_dense(f, "square", block(N))
    with open(path("matlab.mat"), "r+b") as f:
        f.write(b"MATLAB 7.3 MAT-file, written for tests by h5py".ljust(124) + b"\x00\x02IM")
    with new("root.h5") as f:
        f.attrs["encoding-type"], f.attrs["encoding-version"], f.attrs["shape"] = "csr_matrix", "0.1.0", t.shape
        f["data"], f["indices"], f["indptr"] = t.data, t.indices, t.indptr


def make_blocks():
    b, z = block(), block(dtype=np.complex128)
    types = {"values": "float64"}
    with new("blocks.h5", libver=("v108", "v108")) as f:
        f["B"] = b
        f["reversed"] = np.ascontiguousarray(b.T)
        d = f.create_dataset("said_F", data=np.ascontiguousarray(block(N).T))
        d.attrs["order"] = "F"
        d = f.create_dataset("said_C", data=block(N))
        d.attrs["order"] = np.bytes_("C")
        f["square"] = block(N)
        f["vector"] = b[:, 0]
        f["column"] = b[:, :1]
        f["int16"] = b.astype(">i2")
        f["f32"] = b.astype(">f4")
        f["complex"] = z
        f.create_dataset("gzip", data=b, chunks=(4, 2), compression="gzip")
        binsparse(f, "dmat", "DMAT", (N, 3), None, types, {"values": b.ravel()})
        binsparse(f, "dmatr", "DMATR", (N, 3), 3 * N, types, {"values": b.ravel()})
        binsparse(f, "dmatc", "DMATC", (N, 3), 3 * N, types, {"values": b.ravel("F")})
        binsparse(f, "dmatr_complex", "DMATR", (N, 3), 3 * N, {"values": "complex[float64]"}, {"values": pairs(z.ravel())})
        binsparse(f, "dmatc_complex", "DMATC", (N, 3), 3 * N, {"values": "complex[float32]"},
                  {"values": pairs(z.ravel("F")).astype(np.float32)})
        binsparse(f, "dvec", "DVEC", (N,), N, types, {"values": b[:, 0]})
        f.create_dataset("none", shape=(N, 0), dtype=float)
    with new("only_block.h5") as f:
        f["deep/rhs"] = b


def factors(dtype=np.float64):
    """A 6 x 6 matrix whose factorisation needs both permutations, and its factors."""
    rng = np.random.default_rng(7)
    a = sp.csc_matrix(np.where(rng.random((N, N)) < 0.5, rng.integers(1, 9, (N, N)), 0) + np.diag([0, 5, 0, 7, 0, 3])
                      + np.roll(np.diag([2, 4, 6, 3, 5, 7]), 1, axis=1), dtype=dtype)
    if np.issubdtype(dtype, np.complexfloating):
        a.data = a.data * (1 + 0.25j) + 1j * np.arange(a.nnz)
    return a


def gather(perm):
    """The gather form of a permutation that scatters (and the other way round): its inverse."""
    out = np.empty_like(perm)
    out[perm] = np.arange(perm.size)
    return out


def sorted_csc(m):
    m = sp.csc_matrix(m)
    m.sort_indices()
    return m


def cholesky_input():
    a = factors()
    return sp.csc_matrix(a @ a.T + 10 * sp.identity(N))


def make_sets():
    with new("sets.h5", libver=("v108", "v108")) as f:
        for name, dtype in (("scipy", np.float64), ("scipy_complex", np.complex128)):
            a = factors(dtype)
            s = splu(a)
            g = f.create_group(name)
            for key, m in (("A", a), ("L", s.L), ("U", s.U)):
                anndata(g, key, sorted_csc(m))
            g["perm_r"], g["perm_c"] = s.perm_r, s.perm_c
        g, a = f.create_group("five_lines"), factors()  # as docs/formats.md recommends
        s = splu(a)
        for k, m in (("L", s.L.sorted_indices()), ("U", s.U.sorted_indices()), ("A", a.tocsc())):
            g[k + "/data"], g[k + "/indices"], g[k + "/indptr"], g[k + "/format"] = m.data, m.indices, m.indptr, "csc"
        g["perm_r"], g["perm_c"] = s.perm_r, s.perm_c
        rs = np.array([1.0, 0.5, 0.25, 2.0, 0.125, 4.0])
        s = splu(sp.csc_matrix(sp.diags(rs) @ a))
        for name, key, value in (("umfpack_recip", "do_recip", 1), ("umfpack_divide", "do_recip", 0), ("julia", "op", "multiply")):
            g = f.create_group(name)
            for k, m in (("A", a), ("L", s.L), ("U", s.U)):
                anndata(g, k, sorted_csc(m))
            g["p"], g["q"] = gather(s.perm_r).astype(np.int64), gather(s.perm_c).astype(np.int64)
            g["Rs"] = rs if name != "umfpack_divide" else 1 / rs
            g["Rs"].attrs[key] = value
        s = splu(a)
        g = f.create_group("matlab")  # [L,U,p,q] = lu(S, 'vector'), saved with -v7.3: doubles, 1-based, 1 x n
        for k, m in (("A", a), ("L", s.L), ("U", s.U)):
            matlab_sparse(g, k, sorted_csc(m))
        matlab_dense(g, "p", gather(s.perm_r).astype(float)[None, :] + 1)
        matlab_dense(g, "q", gather(s.perm_c).astype(float)[None, :] + 1)
        cs = np.array([2.0, 1.0, 4.0, 0.5, 1.0, 8.0])
        s = splu(sp.csc_matrix(sp.diags(1 / rs) @ a @ sp.diags(cs)))
        g = f.create_group("own")  # the library's names, other conventions than it writes
        g.attrs["sptrsm_layout"], g.attrs["n"] = "1", N
        for k, m in (("A", a), ("L", s.L), ("U", s.U)):
            binsparse_csr(g, k, sorted_csc(m), fmt="CSC")
        g["perm_row"], g["perm_col"] = gather(s.perm_r), gather(s.perm_c)
        g["perm_row"].attrs["convention"], g["perm_col"].attrs["convention"] = "gather", "scatter"
        g["scale_row"], g["scale_col"] = rs, cs
        g["scale_row"].attrs["op"], g["scale_col"].attrs["op"] = "divide", "multiply"
        h = cholesky_input()
        p = np.array([3, 0, 5, 1, 4, 2])
        dense = h.toarray()[np.ix_(p, p)]
        chol = np.linalg.cholesky(dense)
        g = f.create_group("cholesky")
        anndata(g, "A", h)
        anndata(g, "L", sp.csr_matrix(np.tril(chol)))
        g["p"] = p
        g = f.create_group("ldl")
        d = np.diag(chol)
        g["D"] = d * d
        low = binsparse_csr(g, "L", sp.csr_matrix(np.tril(chol / d, -1)), own={"uplo": "lower", "diag": "unit-implicit"})
        del low
        anndata(g, "A", h)
        g["p"] = p
        unit = np.eye(N)
        unit[2:, 0], unit[4:, 1], unit[5, 3] = [1, 2, 0, 3], [2, 1], 4
        dd = np.diag([2.0, 0.0, 3.0, -1.0, 5.0, 7.0])
        sub = np.array([0.0, 3.0, 0.0, 0.0, 2.0, 0.0])
        full = dd + np.diag(sub[:-1], -1) + np.diag(sub[:-1], 1)
        g = f.create_group("ldl_blocks")
        anndata(g, "L", sp.csr_matrix(unit))
        anndata(g, "A", sp.csr_matrix(unit @ full @ unit.T))
        g["D"], g["D_sub"] = np.diag(dd), sub
        z = np.where(unit != 0, unit + 1j * np.tril(unit, -1), 0)
        sz = sub * (1 + 2j)
        full = dd + np.diag(sz[:-1], -1) + np.diag(sz[:-1].conj(), 1)
        g = f.create_group("ldl_hermitian")
        anndata(g, "L", sp.csr_matrix(z))
        anndata(g, "A", sp.csr_matrix(z @ full @ z.conj().T))
        g["D"], g["D_sub"] = np.diag(dd).astype(complex), sz[:-1]
        g["D_sub"].attrs["hermitian"] = 1
        g = f.create_group("complex_symmetric")
        g.attrs["upper"] = "transpose"
        anndata(g, "L", sp.csr_matrix(z))
        anndata(g, "A", sp.csr_matrix(z @ z.T))
        g = f.create_group("mixed")  # L in float, U in double
        s = splu(factors())
        anndata(g, "L", sorted_csc(s.L).astype(np.float32))
        anndata(g, "U", sorted_csc(s.U))
        g = f.create_group("only_L")
        anndata(g, "L", triangle())
        g = f.create_group("only_U")
        anndata(g, "U", sp.csr_matrix(triangle().T))
        f.attrs["source"] = "make_fixtures.py"


def make_market():
    t, z = triangle().tocoo(), triangle(np.complex128).tocoo()

    def text(head, rows):
        return "%%MatrixMarket matrix coordinate " + head + "\n% comment\n\n" + "%d %d %d\n" % (N, N, len(rows)) + "".join(r + "\n" for r in rows)

    real = ["%d %d %.17g" % (i + 1, j + 1, v) for i, j, v in zip(t.row, t.col, t.data)][::-1]
    files = {"general.mtx": text("real general", real), "symmetric.mtx": text("real symmetric", real),
             "integer.mtx": text("integer general", ["%d %d %d" % (i + 1, j + 1, v) for i, j, v in zip(t.row, t.col, t.data)]),
             "pattern.mtx": text("pattern general", ["%d %d" % (i + 1, j + 1) for i, j in zip(t.row, t.col)]),
             "skew.mtx": text("real skew-symmetric", [r for r in real if r.split()[0] != r.split()[1]]),
             "hermitian.mtx": text("complex hermitian", ["%d %d %.17g %.17g" % (i + 1, j + 1, v.real, v.imag if i != j else 0)
                                                         for i, j, v in zip(z.row, z.col, z.data)])}
    for name, content in files.items():
        with open(path(name), "w") as f:
            f.write(content)
    with open(path("general.mtx.gz"), "wb") as raw, gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0) as f:
        f.write(files["general.mtx"].encode())


if __name__ == "__main__":
    make_forms()
    make_blocks()
    make_sets()
    make_market()
