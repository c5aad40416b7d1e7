"""Batches: each item is solved as it is alone, whatever its neighbours, its place and the form of the arrays."""
import pickle

import numpy
import pytest
import scipy.sparse
import scipy.sparse.linalg
from conftest import apply, close, general, in_threads, random, triangle

import sptrsm

N, COUNT = 30, 11  # more items than one group of vector lanes has, and not a multiple of it


def matrices(dtype="float64", count=COUNT):
    """Matrices with one pattern."""
    A = general(N, dtype)
    values = A.data * (1 + 0.1 * numpy.random.default_rng(1).random((count, A.nnz))).astype(A.data.real.dtype)
    return [scipy.sparse.csc_array((one, A.indices, A.indptr), shape=A.shape) for one in values]


def factorised(As):
    """SuperLU objects with one pattern: without pivoting."""
    return [scipy.sparse.linalg.splu(A, permc_spec="COLAMD", diag_pivot_thresh=0.0) for A in As]


def subdomains(dtype="float64"):
    """Factor sets with orders and patterns of their own."""
    return [scipy.sparse.linalg.splu(general(n, dtype, seed=n)) for n in (N, 7, 1, 19)]


def forms(dtype):
    """Right-hand sides in every form that is read in place or copied."""
    C = random((COUNT, N, 3), dtype)
    between = numpy.ascontiguousarray(C.transpose(1, 0, 2)).transpose(1, 0, 2)  # items side by side in rows [N, COUNT * 3]
    wide = random((COUNT, 2 * N, 8), dtype)
    return {"vectors": C[:, :, 0].copy(), "vectors of columns": C[:, :, 1], "C": C, "F": C.swapaxes(1, 2).copy().swapaxes(1, 2),
            "between": between, "none": C[:, :, :0], "one": C[:, :, :1], "part": wide[:, 3:3 + N, 2:5], "apart": wide[:, ::2, ::2],
            "backward": C[::-1], "wide": random((COUNT, N, 70), dtype), "read-only": numpy.broadcast_to(C[2], C.shape)}


@pytest.mark.parametrize("trans", "NTH")
def test_uniform_beside_scipy(dtype, trans):
    As = matrices(dtype)
    lus = factorised(As)
    P = sptrsm.batch(lus)
    assert P.info.kind == "uniform" and P.info.patterns == 1 and P.shape == (COUNT, N, N) and len(P) == COUNT
    for form, B in forms(dtype).items():
        X = P.solve(B, trans)
        assert X.shape == B.shape and X.dtype == dtype, form
        for i in range(COUNT):
            assert close(X[i], lus[i].solve(B[i].copy(), trans), dtype) and close(apply(As[i], trans) @ X[i], B[i], dtype), (form, i)


@pytest.mark.parametrize("trans", "NTH")
def test_mixed_beside_scipy(dtype, trans):
    lus = subdomains(dtype)
    P = sptrsm.batch(lus)
    assert P.info.kind == "mixed" and P.shape == (4, None, None) and P.orders == [N, 7, 1, 19]
    for columns in ((None,) * 4, (3,) * 4, (2, None, 0, 70), (1, 4, 5, None)):
        B = [random(n if k is None else (n, k), dtype) for n, k in zip(P.orders, columns)]
        for given in (B, [numpy.asfortranarray(b) for b in B], [b if i % 2 else numpy.asfortranarray(b) for i, b in enumerate(B)],
                      tuple(numpy.repeat(b, 2, axis=0)[::2] for b in B)):
            X = P.solve(given, trans)
            for x, b, lu in zip(X, B, lus):
                assert x.shape == b.shape and close(x, lu.solve(b, trans), dtype)


def test_bits_are_those_of_an_item_alone():
    lus, B = factorised(matrices()), random((COUNT, N, 3), "float64")
    uniform, mixed = sptrsm.batch(lus, threads=2), sptrsm.batch(lus, uniform=False)
    X, Y = uniform.solve(B), mixed.solve(B)
    for i, lu in enumerate(lus):
        assert numpy.array_equal(X[i], sptrsm.from_splu(lu, method="levelset").solve(B[i]))
        assert numpy.array_equal(Y[i], sptrsm.from_splu(lu).solve(B[i]))
        assert numpy.array_equal(X[i], sptrsm.batch([lu], uniform=True).solve(B[i:i + 1])[0])
        mask = numpy.arange(COUNT) == i
        assert numpy.array_equal(X[i], uniform.solve(B, mask=mask)[i])
        assert numpy.array_equal(X[i], uniform.solve(list(B))[i])


def test_values_of_one_factor_set(dtype):
    lus = factorised(matrices(dtype))
    sets = [sptrsm.from_splu(lu) for lu in lus]
    B = random((COUNT, N), dtype)
    X = sptrsm.batch(lus).solve(B)
    L, U = (numpy.array([getattr(one, part).data for one in sets]) for part in "LU")
    named = dict(L=sets[0].L, U=sets[0].U, unit_L=True, perm_r=sets[0].perm_r, perm_c=sets[0].perm_c)
    for first in (lus[0], sets[0], sets[0].factors, named):
        given = L.copy(), U.copy()
        P = sptrsm.batch(first, L=given[0], U=given[1])
        given[0][...], given[1][...] = 0, 0  # the batch has copies
        assert numpy.array_equal(P.solve(B), X)
    shared = sptrsm.batch(lus[0], L=L[3], U=U[[5, 5]]).solve(B[:2])
    own = sptrsm.batch(lus[0], U=U[[5, 5]]).solve(B[:2])
    for i in range(2):
        for x, l in ((shared[i], 3), (own[i], 0)):
            F = sptrsm.from_splu(lus[0], method="levelset")
            F.update_values(L=L[l], U=U[5])
            assert numpy.array_equal(x, F.solve(B[i]))


def test_D_and_scalings_differ():
    L, D = triangle(N, form="csc"), numpy.linspace(1, 2, 3 * N).reshape(3, N)
    scale = numpy.linspace(1, 3, 3 * N).reshape(3, N)
    sets = [dict(L=L, D=D[i], unit_L=True, row_scale=scale[i], col_scale=scale[2 - i], col_op="divide", p=numpy.arange(N)[::-1])
            for i in range(3)]
    B = random((3, N, 2), "float64")
    P = sptrsm.batch(sets)
    Q = sptrsm.batch(sets[0], D=D, row_scale=scale, col_scale=scale[::-1])
    assert P.info.kind == "uniform" and numpy.array_equal(P.solve(B), Q.solve(B))
    for i in range(3):
        assert numpy.array_equal(P.solve(B)[i], sptrsm.from_factors(**sets[i], method="levelset").solve(B[i]))
    Q.update_values(D=D[2], row_scale=scale[2:], col_scale=scale[0], items=slice(0, 1))
    assert numpy.array_equal(Q.solve(B[[2, 1, 2]])[0], P.solve(B)[2])


def test_systems_operations_and_alpha():
    triangles = [triangle(N, seed=seed) for seed in (1, 2)]
    P, B = sptrsm.batch([dict(L=T) for T in triangles]), random((2, N, 3), "float64")
    X = P.solve(B, "T", system="L", alpha=-2.5)
    for T, x, b in zip(triangles, X, B):
        assert close(T.T @ x, -2.5 * b, "float64")
    assert close(P.solve(B, system="A")[0], sptrsm.from_factors(triangles[0]).solve(B[0]), "float64")
    with pytest.raises(sptrsm.ArgumentError, match="nonsense"):
        P.solve(B, system="nonsense")
    with pytest.raises(ValueError, match="trans"):
        P.solve(B, "X")


@pytest.mark.parametrize("kind", (True, False))
def test_one_block_for_all_items(kind):
    lus = factorised(matrices())
    P, B = sptrsm.batch(lus, uniform=kind), random((N, 4), "float64")
    own = numpy.broadcast_to(B, (COUNT, N, 4)).copy()
    apart = numpy.repeat(numpy.repeat(B, 2, 0), 2, 1)[::2, ::2]
    for shared in (B[None], numpy.broadcast_to(B, own.shape), numpy.asfortranarray(B)[None], apart[None]):
        X = P.solve(shared)
        assert X.shape == own.shape and close(X, P.solve(own), "float64")
    assert numpy.array_equal(P.solve(B[:, 0].copy()), P.solve(own[:, :, 0].copy()))
    assert numpy.array_equal(P.solve(B[:, 0].copy()[None]), P.solve(own[:, :, 0].copy()))


def test_a_mask_leaves_x_untouched():
    P, B = sptrsm.batch(factorised(matrices())), random((COUNT, N, 2), "float64")
    X, mask = P.solve(B), numpy.arange(COUNT) % 3 == 0
    for given in (mask, mask.tolist(), numpy.repeat(mask, 2)[::2]):
        out = numpy.full(B.shape, 7.0)
        assert P.solve(B, mask=given, out=out) is out
        assert numpy.array_equal(out[mask], X[mask]) and (out[~mask] == 7).all()
        fresh = P.solve(B, mask=given)
        assert numpy.array_equal(fresh[mask], X[mask]) and numpy.isnan(fresh[~mask]).all()
    listed = P.solve([b if wanted else None for b, wanted in zip(B, mask)], mask=mask)
    for i in range(COUNT):
        assert numpy.array_equal(listed[i], X[i]) if mask[i] else listed[i] is None
    for bad, error, message in ((mask[1:], ValueError, "one boolean for each"), (mask.astype(int), TypeError, "booleans"),
                                ([[True] * COUNT], ValueError, "one boolean for each")):
        with pytest.raises(error, match=message):
            P.solve(B, mask=bad)


@pytest.mark.parametrize("kind", (True, False))
def test_a_singular_item_harms_no_other(kind):
    lus, B = factorised(matrices()), random((COUNT, N, 2), "float64")
    sets = [dict(L=lu.L, U=lu.U.copy(), unit_L=True, perm_r=lu.perm_r, perm_c=lu.perm_c) for lu in lus]
    good = sptrsm.batch(sets, uniform=kind)
    X = good.solve(B)
    assert good.status.ok.all() and (good.status.row == -1).all() and good.info.singular == 0
    values = sets[5]["U"].copy()
    diagonal = sets[5]["U"].tocsc()
    diagonal.data[diagonal.indptr[4 + 1] - 1] = 0
    sets[5]["U"] = diagonal
    P, others = sptrsm.batch(sets, uniform=kind), numpy.arange(COUNT) != 5
    assert not P.status.ok[5] and P.status.ok[others].all() and P.status.row[5] == 4 and P.info.singular == 1
    out = numpy.full(B.shape, 7.0)
    with pytest.raises(numpy.linalg.LinAlgError, match="item 5 is singular: row 4 .*mask=P.status.ok") as error:
        P.solve(B, out=out)
    assert (error.value.item, error.value.index) == (5, 4) and (out == 7).all()
    with pytest.warns(scipy.sparse.linalg.MatrixRankWarning, match="item 5"):
        Y = P.solve(B, singular="warn")
    for Z in (Y, P.solve(B, singular="ignore"), P.solve(B, mask=P.status.ok), numpy.array(P.solve(list(B), mask=P.status.ok))):
        assert numpy.array_equal(Z[others], X[others]) and numpy.isnan(Z[5]).all()
    assert P.solve(B, singular="ignore", out=out) is out and (out[5] == 7).all() and numpy.array_equal(out[others], X[others])
    P.update_values(U=values, items=5)
    assert P.status.ok.all() and numpy.array_equal(P.solve(B), X)
    with pytest.raises(ValueError, match='"raise", "warn" or "ignore"'):
        P.solve(B, singular="maybe")


def test_nan_stays_in_its_item():
    P, B = sptrsm.batch(factorised(matrices())), random((COUNT, N), "float64")
    X = P.solve(B)
    B[3, 2] = numpy.nan
    Y = P.solve(B)
    assert numpy.isnan(Y[3]).any() and numpy.array_equal(numpy.delete(Y, 3, 0), numpy.delete(X, 3, 0))


def test_out_may_be_b():
    P, B = sptrsm.batch(factorised(matrices())), random((COUNT, N, 2), "float64")
    X = P.solve(B)
    for B2 in (B.copy(), B.swapaxes(1, 2).copy().swapaxes(1, 2)):
        assert P.solve(B2, out=B2) is B2 and numpy.array_equal(B2, X)
    listed = [b.copy() for b in B]
    given = P.solve(listed, out=listed)
    assert all(x is b and numpy.array_equal(x, y) for x, b, y in zip(given, listed, X))
    assert numpy.array_equal(P.solve(B.tolist()), X)


def test_update_values():
    As = matrices()
    lus, B = factorised(As), random((COUNT, N), "float64")
    sets = [sptrsm.from_splu(lu) for lu in lus]
    X = sptrsm.batch(lus).solve(B)
    P = sptrsm.batch(lus[0], U=numpy.array([sets[0].U.data] * COUNT))
    P.update_values(L=[one.L.data.tolist() for one in sets])
    P.update_values(U=numpy.array([one.U.data for one in sets[2:]]), items=slice(2, None))
    P.update_values(U=sets[1].U.data, items=1 - COUNT)
    assert numpy.array_equal(P.solve(B), X)
    P.update_values(U=sets[0].U)
    P.update_values(U=[lu.U for lu in lus])
    assert numpy.array_equal(P.solve(B), X)
    with pytest.raises(ValueError, match=r"U\[1\] has another pattern"):
        P.update_values(U=[sets[0].U, sets[0].L], items=slice(0, 2))
    mixed = sptrsm.batch(subdomains())
    b = [random(n, "float64") for n in mixed.orders]
    x = mixed.solve(b)
    F = sptrsm.from_splu(subdomains()[1])
    mixed.update_values(U=2 * F.U.data, items=1)
    y = mixed.solve(b)
    assert close(2 * y[1], x[1], "float64") and all(numpy.array_equal(x[i], y[i]) for i in (0, 2, 3))


@pytest.mark.parametrize("wrong,error,message", (
    (dict(L=numpy.ones((COUNT, 3))), ValueError, r"L has shape \(11, 3\); pass an array \(11, \d+\), or"),
    (dict(D=numpy.ones((COUNT, N))), ValueError, "the factor set has no D"),
    (dict(U=numpy.ones(4, "complex128")), TypeError, "U is complex128 and the solver float64"),
    (dict(items=COUNT), IndexError, "items=11 is not an item of a batch of 11"),
    (dict(items="all"), TypeError, "pass an int or a slice"),
    (dict(items=slice(0, 6, 2)), ValueError, "slice of items that follow each other"),
))
def test_values_that_do_not_fit(wrong, error, message):
    P = sptrsm.batch(factorised(matrices()))
    with pytest.raises(error, match=message):
        P.update_values(**wrong)


def test_new_values_of_mixed_batches_that_do_not_fit():
    P = sptrsm.batch(subdomains())
    with pytest.raises(ValueError, match="items=INDEX, one at a time"):
        P.update_values(L=numpy.ones(3))
    with pytest.raises(ValueError, match="L has shape"):
        P.update_values(L=numpy.ones(3), items=0)


def test_what_can_not_be_a_batch():
    lus, F = factorised(matrices()), sptrsm.from_splu(factorised(matrices())[0])
    nnz = F.L.nnz
    for make, error, message in (
            (lambda: sptrsm.batch(F), ValueError, "how many items"),
            (lambda: sptrsm.batch(F, L=F.L.data), ValueError, "how many items"),
            (lambda: sptrsm.batch(F, L=numpy.ones((3, nnz)), U=numpy.ones((2, F.U.nnz))), ValueError, "U has 2 items and L 3"),
            (lambda: sptrsm.batch(F, L=numpy.ones((3, nnz + 1))), ValueError, "L has shape"),
            (lambda: sptrsm.batch(F, L=numpy.ones((3, nnz)), uniform=False), ValueError, "pass a list"),
            (lambda: sptrsm.batch(lus, L=numpy.ones((3, nnz))), ValueError, "pass one factor set"),
            (lambda: sptrsm.batch([F, general(N)]), TypeError, r"factors\[1\] is csc_array; pass sptrsm.Factors"),
            (lambda: sptrsm.batch([dict(L=F.L, unit=True)]), TypeError, "unit"),
            (lambda: sptrsm.batch(subdomains(), uniform=True), ValueError, r"factors\[1\] and factors\[0\] differ in L"),
            (lambda: sptrsm.batch([F, sptrsm.splu(general(N, "float32"))]), TypeError, r"factors\[1\] is float32 and"),
            (lambda: sptrsm.batch(lus, mixed=True), sptrsm.UnsupportedError, "working precision"),
            (lambda: sptrsm.batch(lus, thread=2), TypeError, "use 'threads'"),
            (lambda: sptrsm.batch(lus, uniform=True, method="wavelet"), ValueError, "unknown method")):
        with pytest.raises(error, match=message):
            make()


def test_a_uniform_batch_takes_any_method():
    lus = factorised(matrices())
    P = sptrsm.batch(lus, uniform=True, method="block")
    assert P.info.method == "block"
    assert all(close(x, lu.solve(numpy.ones(N)), "float64") for x, lu in zip(P.solve(numpy.ones((COUNT, N))), lus))


@pytest.mark.parametrize("shape,message", (
    ((N,), None), ((1, N, 2), None), ((N, 2), r"pass B\[None\]|an array \(11, 30\)"), ((COUNT, N + 1), "31 rows, the items have 30"),
    ((COUNT - 1, N), r"pass an array \(11, 30\) or"), ((COUNT, N, 1, 1), "4 dimensions"), ((), "0 dimensions"),
    ((N, COUNT), r"pass B\[None\]"),
))
def test_arrays_that_do_not_fit(shape, message):
    P = sptrsm.batch(factorised(matrices()))
    B = random(shape, "float64")
    if message is None:
        assert P.solve(B).shape == (COUNT, N, *shape[2:])
        with pytest.raises(ValueError, match="out has shape"):
            P.solve(numpy.ones((COUNT, N, *shape[2:])), out=B)
    else:
        with pytest.raises(ValueError, match=message):
            P.solve(B)


def test_lists_that_do_not_fit():
    P = sptrsm.batch(subdomains())
    B = [random((n, 2), "float64") for n in P.orders]
    with pytest.raises(ValueError, match="different orders; pass a list of 4 arrays"):
        P.solve(B[0])
    for wrong, error, message in ((B[:3], ValueError, "3 arrays, the batch 4 items"),
                                  ([B[0], B[0], B[2], B[3]], ValueError, r"B\[1\] has 30 rows"),
                                  ([B[0], None, B[2], B[3]], TypeError, r"B\[1\] is of NoneType"),
                                  ([B[0], B[1], B[2].astype("c16"), B[3]], TypeError, r"B\[2\] is complex128")):
        with pytest.raises(error, match=message):
            P.solve(wrong)
    out = [numpy.full_like(b, 7) for b in B]
    with pytest.raises(ValueError, match=r"out\[1\] is in F order"):
        P.solve(B, out=[out[0], numpy.asfortranarray(out[1]), *out[2:]])
    with pytest.raises(ValueError, match=r"out\[3\] has 2 columns|out\[3\] has shape"):
        P.solve(B, out=[*out[:3], numpy.zeros((19, 3))])
    with pytest.raises(sptrsm.ArgumentError, match="overlaps"):
        P.solve(B[:1] + [B[0][:7]] + B[2:], out=[out[0], out[0][:7], *out[2:]])
    assert all((one == 7).all() for one in out)


def test_overlapping_items_are_refused():
    P = sptrsm.batch(factorised(matrices()))
    memory = numpy.zeros((COUNT + 1) * N)
    overlapping = numpy.lib.stride_tricks.as_strided(memory, (COUNT, N), (8 * (N - 1), 8))
    with pytest.raises(sptrsm.ArgumentError, match="stride"):
        P.solve(numpy.ones((COUNT, N)), out=overlapping)
    assert (memory == 0).all()


def test_no_items_and_no_rows():
    empty = sptrsm.batch([])
    assert len(empty) == 0 and empty.solve([]) == [] and empty.info.count == 0 and empty.status.ok.shape == (0,)
    none = sptrsm.batch(dict(L=triangle(N)), L=numpy.ones((0, triangle(N).nnz)))
    assert none.solve(numpy.ones((0, N, 3)), system="L").shape == (0, N, 3)
    nothing = scipy.sparse.csr_array((0, 0))
    rowless = sptrsm.batch([dict(L=nothing), dict(L=nothing)])
    assert rowless.solve(numpy.ones((2, 0, 3))).shape == (2, 0, 3)
    assert [x.shape for x in rowless.solve([numpy.ones(0), numpy.ones((0, 2))])] == [(0,), (0, 2)]


def test_arrays_of_torch():
    torch = pytest.importorskip("torch")
    P, B = sptrsm.batch(factorised(matrices())), random((COUNT, N, 2), "float64")
    X, b = P.solve(B), torch.from_numpy(B)
    columns, between = b.transpose(1, 2).contiguous().transpose(1, 2), b.permute(1, 0, 2).contiguous().permute(1, 0, 2)
    for given in (b, columns, between, b[:1].expand(COUNT, N, 2)):
        x = P.solve(given)
        assert isinstance(x, torch.Tensor) and close(x.numpy(), P.solve(given.numpy()), "float64")
    out = torch.zeros_like(b)
    assert P.solve(b, out=out) is out and numpy.array_equal(out.numpy(), X)
    listed = P.solve(list(b), mask=torch.arange(COUNT) < 4)
    assert all(isinstance(x, torch.Tensor) for x in listed) and numpy.array_equal(listed[2], X[2]) and torch.isnan(listed[5]).all()
    kept = P.solve([*b[:5], *[None] * 6], mask=torch.arange(COUNT) < 5, out=[*out[:5], *[None] * 6])
    assert kept[10] is None and numpy.array_equal(kept[4], X[4])
    with pytest.raises(TypeError, match=r"B\[1\] is of numpy, and other arrays of B of torch"):
        P.solve([b[0], B[1], *b[2:]])
    with pytest.raises(TypeError, match="arrays of one kind"):
        P.solve(b, out=B)
    Q = sptrsm.batch(dict(L=triangle(N)), L=torch.ones((2, triangle(N).nnz), dtype=torch.float64))
    assert Q.count == 2


def test_arrays_of_jax():
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    P, B = sptrsm.batch(factorised(matrices())), random((COUNT, N, 2), "float64")
    with jax.default_device(jax.devices("cpu")[0]):
        x = P.solve(jax.numpy.asarray(B))
        assert isinstance(x, jax.Array) and numpy.array_equal(x, P.solve(B))
        assert numpy.array_equal(P.solve(jax.numpy.asarray(B[0])[None]), P.solve(B[:1]))
        listed = P.solve([jax.numpy.asarray(b) for b in B])
        assert isinstance(listed[3], jax.Array) and numpy.array_equal(listed[3], P.solve(B)[3])


def test_a_batch_tells_what_it_is():
    P = sptrsm.batch(factorised(matrices()))
    assert repr(P) == f"<sptrsm.Batch uniform count={COUNT} n={N} float64 on cpu, levelset>" and "levelset" in P._repr_html_()
    assert P.count == COUNT and P.dtype == numpy.float64 and P.device == "cpu" and P.info.workspace_bytes > 0 and "singular" in str(P.info)
    for use in (lambda: pickle.dumps(P), lambda: P.to("cpu")):
        with pytest.raises(TypeError, match="sptrsm.batch there"):
            use()
    with pytest.raises(ValueError, match="read-only"):
        P.status.ok[0] = False
    with P:
        pass
    assert "closed" in repr(P) and "closed" in P._repr_html_()
    for use in (lambda: P.solve(numpy.ones((COUNT, N))), lambda: P.info, lambda: P.status, lambda: P.update_values()):
        with pytest.raises(ValueError, match="this Batch is closed"):
            use()


def test_threads_share_a_batch():
    P, B = sptrsm.batch(factorised(matrices())), random((8, COUNT, N, 2), "float64")
    wanted, right = [P.solve(b) for b in B], []

    def work(k):
        right.append(all(numpy.array_equal(P.solve(B[k]), wanted[k]) for _ in range(50)))

    in_threads(*(lambda k=k: work(k) for k in range(8)))
    assert right == [True] * 8
