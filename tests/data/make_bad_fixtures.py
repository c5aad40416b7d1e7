#!/usr/bin/env python3
"""Writes files that must be refused: every row of the table in tests/io/io_bad_test.c. Run after make_fixtures.py."""
import gzip
import json
import os
import zlib

import h5py
import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import splu

from make_fixtures import N, anndata, binsparse, binsparse_csr, block, factors, matlab_sparse, new, path, plain, sorted_csc, store, triangle


def bad_matrix(f, name, change):
    """A good AnnData group, then `change` spoils its arrays (a dict) before they are written."""
    t = triangle()
    a = {"data": t.data.copy(), "indices": t.indices.copy(), "indptr": t.indptr.astype(np.int64), "shape": np.array(t.shape), "format": "csr_matrix"}
    change(a)
    g = f.create_group(name)
    g.attrs["encoding-type"], g.attrs["shape"] = a["format"], a["shape"]
    for key in ("data", "indices", "indptr"):
        if a[key] is not None:
            store(g, key, a[key])
    return g


def put(key, at, value):
    def change(a):
        a[key] = a[key].astype(np.int64) if key == "indices" else a[key]
        a[key][at] = value
    return change


def make_bad_matrices():
    t = triangle()
    with new("bad_matrices.h5", libver=("v108", "v108")) as f:
        bad_matrix(f, "ptr_start", put("indptr", 0, 1))
        bad_matrix(f, "ptr_decrease", put("indptr", 3, 1))
        bad_matrix(f, "ptr_beyond", put("indptr", 3, 1000))
        bad_matrix(f, "ptr_end", put("indptr", N, t.nnz - 1))
        bad_matrix(f, "ptr_negative", put("indptr", 1, -1))
        bad_matrix(f, "ptr_short", lambda a: a.update(indptr=a["indptr"][:-1]))
        bad_matrix(f, "ptr_float", lambda a: a.update(indptr=a["indptr"].astype(float)))
        bad_matrix(f, "ptr_scalar", lambda a: a.update(indptr=np.int64(3)))
        bad_matrix(f, "ptr_3d", lambda a: a.update(indptr=np.zeros((7, 1, 1), np.int64)))
        bad_matrix(f, "ptr_huge", lambda a: a.update(indptr=np.where(np.arange(7) == 3, 2**64 - 1, a["indptr"].astype(np.uint64)).astype(np.uint64)))
        bad_matrix(f, "idx_negative", put("indices", 4, -1))
        bad_matrix(f, "idx_beyond", put("indices", 4, N))
        bad_matrix(f, "idx_64bit", put("indices", 4, 2**32 + 1))
        bad_matrix(f, "idx_short", lambda a: a.update(indices=a["indices"][:-1]))
        bad_matrix(f, "idx_text", lambda a: a.update(indices=np.array([b"x"] * t.nnz)))
        bad_matrix(f, "val_short", lambda a: a.update(data=a["data"][:-1]))
        bad_matrix(f, "val_text", lambda a: a.update(data=np.array([b"x"] * t.nnz)))
        bad_matrix(f, "val_compound", lambda a: a.update(data=np.zeros(t.nnz, [("x", float), ("y", float)])))
        bad_matrix(f, "val_nan", put("data", 1, np.nan))
        bad_matrix(f, "val_inf2", lambda a: (put("data", 1, np.inf)(a), put("data", 4, -np.inf)(a)))
        bad_matrix(f, "diag_nan", put("data", t.nnz - 1, np.nan))
        bad_matrix(f, "diag_zero", put("data", t.nnz - 1, 0))
        bad_matrix(f, "shape_negative", lambda a: a.update(shape=np.array([-1, 6])))
        bad_matrix(f, "shape_large", lambda a: a.update(shape=np.array([2**31, 6])))
        bad_matrix(f, "shape_three", lambda a: a.update(shape=np.array([6, 6, 6])))
        bad_matrix(f, "format", lambda a: a.update(format="dok_matrix"))
        anndata(f, "unsorted", sp.csr_matrix((np.array([1.0, 2, 3]), np.array([0, 1, 0]), np.array([0, 1, 3])), (2, 2)))
        anndata(f, "duplicate", sp.csr_matrix((np.array([1.0, 2, 3]), np.array([0, 1, 1]), np.array([0, 1, 3])), (2, 2)))
        anndata(f, "rectangle", sp.csr_matrix((3, 5)))
        anndata(f, "above", sp.csr_matrix(np.array([[1.0, 0, 0], [2, 3, 4], [0, 0, 5]])))
        anndata(f, "upper", sp.csr_matrix(np.array([[1.0, 6, 0], [0, 3, 4], [0, 0, 5]])))
        anndata(f, "no_diagonal", sp.csr_matrix(np.array([[1.0, 0, 0], [2, 0, 0], [0, 3, 5]])))
        anndata(f, "complex", triangle(np.complex128))
        g = anndata(f, "bad_own", t)
        g.attrs["sptrsm"] = json.dumps({"uplo": "sideways"})
        g = anndata(f, "bad_diag", t)
        g.attrs["sptrsm"] = json.dumps({"diag": "none"})
        f.create_group("nothing")["x"] = 1.0
        o = t.tocoo()
        for name, row, data in (("coo_range", o.row + 1, o.data), ("coo_length", o.row[:-1], o.data), ("coo_values", o.row, o.data[:-1]), ("coo_negative", o.row - 1, o.data)):
            g = f.create_group(name)
            g["row"], g["col"], g["data"] = row, o.col, data
            g.attrs["shape"] = o.shape
        g = f.create_group("coo_twice")
        g["row"], g["col"], g["data"] = [0, 0], [0, 0], [1.0, 2.0]
        for name, shape in (("ptr_empty", None), ("ptr_empty_shape", (-1, -1))):
            g = f.create_group(name)
            g["data"], g["indices"], g["indptr"] = [1.0], [0], np.zeros(0, np.int64)
            if shape:
                g.attrs["shape"] = shape
        g = f.create_group("matlab_jc_empty")
        g.attrs["MATLAB_sparse"] = np.uint64(0)
        g["jc"] = np.zeros(0, np.uint64)
        g = f.create_group("coo_huge")
        g["row"], g["col"], g["data"] = [0, 2**31 - 2], [0, 2**31 - 2], [1.0, 2.0]
        g = f.create_group("coo_huge_shape")
        g["row"], g["col"], g["data"] = [0, 2**31 - 2], [0, 2**31 - 2], [1.0, 2.0]
        g.attrs["shape"] = (2**31 - 1, 2**31 - 1)
        g.attrs["sptrsm"] = json.dumps({"diag": "unit-implicit"})
        plain(f, "turned/L", sorted_csc(t))
        plain(f, "turned/U", sorted_csc(t.T))
        bad_matrix(f, "idx_64bit_unsigned", lambda a: a.update(indices=np.where(np.arange(t.nnz) == 4, 2**64 - 1, a["indices"].astype(np.uint64)).astype(np.uint64)))
        g = matlab_sparse(f, "matlab_rows", t)
        g.attrs["MATLAB_sparse"] = np.uint64(3)
        g = matlab_sparse(f, "matlab_attribute", t)
        g.attrs["MATLAB_sparse"] = "six"
        g = matlab_sparse(f, "matlab_no_jc", t)
        del g["jc"]
        g = matlab_sparse(f, "matlab_no_data", t)
        del g["data"]


def make_bad_binsparse():
    t, z = triangle(), triangle(np.complex128)
    with new("bad_binsparse.h5", libver=("v108", "v108")) as f:
        def variant(name, **patch):
            return binsparse_csr(f, name, t, patch=patch)
        variant("version", version="2.0")
        variant("version_number", version=0.1)
        variant("format", format="DCSR")
        variant("format_missing", format=None)
        variant("shape_missing", shape=None)
        variant("shape_one", shape=[6])
        variant("shape_real", shape=[6.0, 6.0])
        variant("shape_large", shape=[2**40, 6])
        variant("shape_minus", shape=[-1, -1])
        variant("nnz_missing", number_of_stored_values=None)
        variant("nnz_real", number_of_stored_values=14.5)
        variant("nnz_negative", number_of_stored_values=-1)
        variant("nnz_wrong", number_of_stored_values=t.nnz + 1)
        variant("types_missing", data_types=None)
        variant("structure", structure="diagonal_magic")
        variant("structure_number", structure=3)
        variant("type_unknown", data_types={"values": "quaternion[float64]"})
        binsparse_csr(f, "complex_short", z, vtype="complex[float64]", values=z.data.real)
        binsparse_csr(f, "complex_compound", z, vtype="complex[float64]", values=np.concatenate([z.data, z.data]))
        binsparse_csr(f, "iso_long", t, vtype="iso[float64]")
        binsparse_csr(f, "own_bad", t, own={"uplo": "middle"})
        binsparse_csr(f, "symmetric", t, structure="symmetric_lower")
        binsparse_csr(f, "hermitian", t, structure="hermitian_upper")
        binsparse(f, "dense_length", "DMATR", (N, 3), None, {"values": "float64"}, {"values": np.zeros(5)})
        binsparse(f, "dense_iso", "DMATR", (N, 3), None, {"values": "iso[float64]"}, {"values": np.zeros(1)})
        binsparse(f, "dense", "DMATR", (N, 3), None, {"values": "float64"}, {"values": np.zeros(18)})
        g = variant("no_values")
        del g["values"]
        for name, text in (("json_broken", '{"binsparse": {'), ("json_array", "[]"), ("json_deep", "[" * 100 + "]" * 100),
                           ("json_twice", '{"binsparse": {}, "binsparse": {}}'), ("json_overflow", '{"binsparse": {"version": "0.1", "format": "CSR", "shape": [99999999999999999999, 6]}}'),
                           ("json_empty", "")):
            f.create_group(name).attrs["binsparse"] = text
        f.create_group("json_number").attrs["binsparse"] = 5
        f.create_group("json_two").attrs.create("binsparse", ["a", "b"], dtype=h5py.string_dtype())


def make_bad_storage():
    t = triangle()
    with new("other.h5", libver=("v108", "v108")) as f:
        anndata(f, "L", t)
        f["B"] = block()
    with open(path("raw.bin"), "wb") as f:
        f.write(block().tobytes())
    with new("bad_storage.h5", libver=("v110", "v110")) as f:
        f["link"] = h5py.ExternalLink("other.h5", "/L")
        f["link_B"] = h5py.ExternalLink("other.h5", "/B")
        f["link_missing"] = h5py.ExternalLink("missing.h5", "/L")
        f["dangling"] = h5py.SoftLink("/nowhere")
        g = f.create_group("inside")  # a matrix whose values lie elsewhere
        g.attrs["encoding-type"], g.attrs["shape"] = "csr_matrix", t.shape
        g["indices"], g["indptr"] = t.indices, t.indptr
        g["data"] = h5py.ExternalLink("other.h5", "/L/data")
        f.create_dataset("external", shape=(N, 3), dtype=np.float64, external=[("raw.bin", 0, h5py.h5f.UNLIMITED)])
        layout = h5py.VirtualLayout(shape=(N, 3), dtype=np.float64)
        layout[:] = h5py.VirtualSource("other.h5", "B", shape=(N, 3))
        f.create_virtual_dataset("virtual", layout)
        f.create_dataset("lzf", data=block(), chunks=(N, 3), compression="lzf")
        f.create_dataset("scaleoffset", data=block().astype(np.int32), chunks=(N, 3), scaleoffset=0)
        f.create_dataset("bomb", shape=(2**31 - 1, 2**20), dtype=np.float64, chunks=(1024, 64), compression="gzip")
        f.create_dataset("overflow", shape=(2**62, 8), dtype=np.float64, chunks=(1024, 1))
        f.create_dataset("big_chunk", shape=(N, 3), dtype=np.float64, chunks=(2**13, 2**13), maxshape=(None, None))
        d = f.create_dataset("inflates", shape=(N, 3), dtype=np.float64, chunks=(N, 3), compression="gzip")
        d.id.write_direct_chunk((0, 0), zlib.compress(bytes(1 << 22), 9))  # one chunk of 144 bytes that inflates to 4 MiB
        f.create_dataset("cube", data=np.zeros((2, 2, 2)))
        f.create_dataset("scalar", data=1.0)
        f.create_dataset("null", data=h5py.Empty("f"))
        f.create_dataset("text", data=[b"a", b"b"])
        d = f.create_dataset("order", data=block())
        d.attrs["order"] = "Z"
        d = f.create_dataset("order_F", data=block())
        d.attrs["order"] = "F"
        g = f.create_group("loop")
        g["again"] = g
        g["up"] = f["/"]
        g["B"] = block()
        f["type"] = np.dtype("f8")
        f.create_dataset("checksum", data=np.full(32, 1234.5), chunks=(32,), fletcher32=True)
    damage("bad_storage.h5", np.full(4, 1234.5).tobytes())
    good = open(path("root.h5"), "rb").read()
    with open(path("truncated.h5"), "wb") as f:
        f.write(good[:len(good) // 2])
    with open(path("not_hdf5.h5"), "w") as f:
        f.write("this is not HDF5\n")
    open(path("empty.h5"), "w").close()


def damage(name, needle):
    with open(path(name), "r+b") as f:
        content = f.read()
        f.seek(content.index(needle))
        f.write(b"\xff")


def make_bad_sets():
    a = factors()
    s = splu(a)
    low, up = sorted_csc(s.L), sorted_csc(s.U)
    with new("bad_sets.h5", libver=("v108", "v108")) as f:
        def base(name, l=low, u=up):
            g = f.create_group(name)
            if l is not None:
                anndata(g, "L", l)
            if u is not None:
                anndata(g, "U", u)
            return g
        base("no_L", l=None)["perm_r"] = s.perm_r
        base("orders", u=sorted_csc(sp.identity(4)))
        base("swapped", l=up, u=low)
        base("A_order")["x"] = 1
        anndata(f["A_order"], "A", sp.identity(4).tocsc())
        bad = a.copy()
        bad.data[0] = np.nan
        anndata(base("A_nan"), "A", sorted_csc(bad))
        base("perm_unsaid")["perm_row"] = s.perm_r
        g = base("perm_nonsense")
        g["perm_row"] = s.perm_r
        g["perm_row"].attrs["convention"] = "both"
        base("perm_twice")["perm_r"] = np.array([0, 1, 2, 3, 3, 5])
        base("perm_range")["perm_r"] = np.array([0, 1, 2, 3, 9, 5])
        base("perm_negative")["perm_c"] = np.array([0, 1, -2, 3, 4, 5])
        base("perm_length")["perm_r"] = np.arange(5)
        base("perm_fraction")["p"] = np.array([0, 1, 2.5, 3, 4, 5])
        base("perm_text")["p"] = np.array([b"x"] * N)
        g = base("perm_both")
        g["perm_r"], g["p"] = s.perm_r, s.perm_r
        base("scale_unsaid")["Rs"] = np.ones(N)
        for name, value, op in (("scale_zero", [1, 1, 0, 1, 1, 1], "multiply"), ("scale_nan", [1, 1, 1, np.nan, 1, 1], "divide"), ("scale_op", [1.0] * N, "add"),
                                ("scale_length", [1.0] * 5, "divide")):
            g = base(name)
            g["scale_row"] = np.array(value, float)
            g["scale_row"].attrs["op"] = op
        base("D_zero", u=None)["D"] = np.array([1, 2, 0, 4, 5, 6.0])
        base("D_nan", u=None)["D"] = np.array([1, 2, np.inf, 4, 5, 6.0])
        base("D_length", u=None)["D"] = np.ones(5)
        base("D_missing")["D_sub"] = np.ones(N)
        for name, sub in (("D_overlap", [0, 1, 1, 0, 0, 0]), ("D_last", [0, 0, 0, 0, 0, 1]), ("D_sub_length", [0, 0])):
            g = base(name, u=None)
            g["D"], g["D_sub"] = np.ones(N), np.array(sub, float)
        for name, d, sub, hermitian in (("D_block", [3, 1, 2, 8, 0, 5.0], [0, 0, 4, 0, 0], 0), ("D_block_zero", [3, 1, 2, 8, 0, 5.0], [0] * 5, 0),
                                        ("D_block_overflow", [3, 1.7e308, -1.7e308, 8, 1, 5.0], [0, 1.7e308, 0, 0, 0], 0),
                                        ("D_block_complex", [1, 1, 1, 1, 1, 1 + 0j], [0, 0, 0, 1j, 0], 1)):
            g = base(name, l=low.astype(np.array(d).dtype), u=None)
            g["D"], g["D_sub"] = np.array(d), np.array(sub, np.array(d).dtype)
            g["D_sub"].attrs["hermitian"] = hermitian
        matlab_sparse(base("P_matrix"), "P", sp.identity(N))
        matlab_sparse(base("D_matrix"), "D", sp.identity(N))
        for name in ("unsaid", "unsaid_one"):
            g = f.create_group(name)
            plain(g, "L", low)
            plain(g, "U", up)
        del f["unsaid_one/U"]
        f["unsaid_one/D"] = np.ones(N)
        base("some_above", l=sorted_csc(low + sp.csc_matrix(([5.0], ([0], [3])), (N, N))))
        for name in "PQR":
            base("dense_" + name)[name] = np.identity(N)
        base("lone_P", u=None)["P"] = np.identity(N)
        matlab_sparse(base("lone_Q", u=None), "Q", sp.identity(N))
        base("dense_D", u=None)["D"] = np.identity(N)
        base("layout").attrs["sptrsm_layout"] = "2"
        g = base("n")
        g.attrs["sptrsm_layout"], g.attrs["n"] = "1", 99
        base("upper").attrs["upper"] = "maybe"
        base("upper_missing", u=None).attrs["upper"] = "given"
        f.create_group("nothing")
        single = low.copy()
        single.data[0] = 0
        base("singular", l=sorted_csc(single))


def make_bad_market():
    head = "%%MatrixMarket matrix coordinate real general\n"
    files = {"short": head + "3 3 2\n1 1 1\n", "long": head + "3 3 1\n1 1 1\n2 2 2\n", "range": head + "3 3 1\n4 1 1\n", "zero": head + "3 3 1\n0 1 1\n",
             "word": head + "3 3 1\n1 1 one\n", "value": head + "3 3 1\n1 1\n", "extra": head + "3 3 1\n1 1 1 1\n", "sizes": head + "3 3\n",
             "large": head + "3000000000 3 1\n1 1 1\n", "claims": head + "2000000000 2000000000 4000000000000000\n", "nan": head + "2 2 2\n1 1 1\n2 1 nan\n",
             "field": "%%MatrixMarket matrix coordinate quaternion general\n", "symmetry": "%%MatrixMarket matrix coordinate real lopsided\n",
             "array": "%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n4\n", "banner": "%%MatrixMarket matrix\n", "object": "%%MatrixMarket vector coordinate real general\n",
             "both": "%%MatrixMarket matrix coordinate real symmetric\n3 3 2\n2 1 1\n1 3 1\n", "oblong": "%%MatrixMarket matrix coordinate real symmetric\n3 4 0\n",
             "unfinished": head + "2 2 2\n1 1 1\n2 2 12.", "unfinished_size": head + "2 2 0", "crowded": head + "3 3 4000000000000000\n1 1 1\n",
             "sparse": head + "2147483647 2147483647 2\n1 1 1\n2147483647 2147483647 1\n", "twice": head + "2 2 3\n1 1 1\n2 2 1\n2 2 5\n", "line": head + "2 2 1\n1 1 " + "1" * 1100 + "\n",
             "null": head + "2 2 2\n1 1 1\n\0 1 5\n2 2 1\n"}
    os.makedirs(path("bad_market"), exist_ok=True)
    for name, content in files.items():
        with open(path("bad_market/%s.mtx" % name), "w") as f:
            f.write(content)
    good = gzip.compress(files["short"].replace("3 3 2", "3 3 1").encode(), mtime=0)
    entries = "".join("%d %d %.17g\n" % (i, i, (0.1 + i) ** 0.5) for i in range(1, 201))
    whole = gzip.compress((head + "200 200 200\n" + entries).encode(), mtime=0)
    for name, length in (("cut", len(whole) // 2), ("cut_end", len(whole) - 8), ("cut_number", len(whole) - 12)):
        with open(path("bad_market/%s.mtx.gz" % name), "wb") as f:
            f.write(whole[:length])
    with open(path("bad_market/damaged.mtx.gz"), "wb") as f:
        f.write(good[:-8] + b"\x00" * 8)  # checksum and length


if __name__ == "__main__":
    make_bad_matrices()
    make_bad_binsparse()
    make_bad_storage()
    make_bad_sets()
    make_bad_market()
