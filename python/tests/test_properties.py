"""Random systems and random arrays of every kind: the right result in an array of the same kind, or an error that names the way out.

A few hundred cases of each property, always the same; HYPOTHESIS_PROFILE=long runs 10,000 other ones at each call.
"""
import importlib.util
import os
import re

import numpy as np
import pytest

hypothesis = pytest.importorskip("hypothesis")
sparse = pytest.importorskip("scipy.sparse")

import sptrsm  # noqa: E402
from hypothesis import HealthCheck, given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

settings.register_profile("short", max_examples=300, derandomize=True, database=None, deadline=None)
settings.register_profile("long", max_examples=10_000, database=None, deadline=None, suppress_health_check=list(HealthCheck))
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "short"))

WAY_OUT = re.compile(r"pass|make|convert|copy|transposed|leave|use|must|takes|give")


def have(package: str) -> bool:
    return importlib.util.find_spec(package) is not None


def widened(B, axes):
    """B as every second element, along these axes, of a larger array."""
    large = np.full([2 * size + 1 if axis in axes else size for axis, size in enumerate(B.shape)], np.nan, B.dtype)
    part = large[tuple(slice(1, None, 2) if axis in axes else slice(None) for axis in range(B.ndim))]
    part[...] = B
    return part


def read_only(B):
    B = B.copy()
    B.flags.writeable = False
    return B


def unaligned(B):
    memory = np.zeros(B.nbytes + 1, np.uint8)
    part = memory[1:].view(B.dtype).reshape(B.shape)
    part[...] = B
    return part


class Subclass(np.ndarray):
    pass


# How B is handed over; each keeps its numbers.
SAME = {
    "C": np.ascontiguousarray,
    "F": np.asfortranarray,
    "rows apart": lambda B: widened(B, {0}),
    "columns apart": lambda B: widened(B, {1}),
    "all apart": lambda B: widened(B, {0, 1}),
    "columns apart, F": lambda B: widened(B.T, {0}).T,
    "backward": lambda B: B[::-1].copy()[::-1],
    "backward columns": lambda B: B[..., ::-1].copy()[..., ::-1],
    "read-only": read_only,
    "unaligned": unaligned,
    "other byte order": lambda B: B.astype(B.dtype.newbyteorder()),
    "subclass": lambda B: B.view(Subclass),
    "np.matrix": lambda B: np.matrix(B) if B.ndim == 2 else B,
    "list": lambda B: B.tolist(),
    "tuple": lambda B: tuple(B.tolist()),
}

# What is refused with a TypeError or a ValueError.
REFUSED = {
    "object": lambda B: B.astype(object),
    "text": lambda B: B.astype("U64"),
    "times": lambda B: B.real.astype(np.int64).astype("M8[s]"),
    "records": lambda B: np.zeros(B.shape, [("re", "f8"), ("im", "f8")]),
    "long double": lambda B: B.astype(np.clongdouble),
    "0-d": lambda B: np.array(1.0),
    "number": lambda B: 1.0,
    "3-d": lambda B: B.reshape(B.shape + (1,) * (3 - B.ndim)),
    "one row too many": lambda B: np.concatenate([B, np.ones((1,) + B.shape[1:], B.dtype)]),
    "sparse": lambda B: sparse.csr_array(np.atleast_2d(B)),
    "masked": np.ma.masked_array,
    "None": lambda B: None,
    "dict": lambda B: {"B": B},
    "str": lambda B: "B",
    "ragged list": lambda B: [[1.0], [1.0, 2.0]],
}


def torch_forms():
    import torch
    plain = torch.from_numpy

    return {
        "torch": plain,
        "torch, transposed": lambda B: plain(np.ascontiguousarray(B.T)).T if B.ndim == 2 else plain(B),
        "torch, apart": lambda B: plain(np.repeat(np.repeat(B, 2, 0), 2, 1))[::2, ::2] if B.ndim == 2 else plain(np.repeat(B, 2))[::2],
        "torch, expanded": lambda B: plain(B) if B.shape[-1] != 1 else plain(B[..., 0].copy())[..., None],
    }, {
        "torch, with gradient": lambda B: plain(B).requires_grad_(),
        "torch, integers": lambda B: torch.zeros(B.shape, dtype=torch.int64),
        "torch, bfloat16": lambda B: torch.zeros(B.shape, dtype=torch.bfloat16),
        "torch, sparse": lambda B: plain(B).to_sparse(),
        "torch, conjugate view": lambda B: plain(B + 1j).conj(),
        "torch, meta": lambda B: plain(B).to("meta"),
    }


def jax_forms():
    import jax
    jax.config.update("jax_enable_x64", True)

    def traced(B):
        seen = []
        jax.eval_shape(seen.append, B)
        return seen[0]

    return {"jax": jax.numpy.asarray}, {"jax, integers": lambda B: jax.numpy.zeros(B.shape, int),
                                        "jax, traced": traced,
                                        "jax, 3-d": lambda B: jax.numpy.zeros(B.shape + (1,) * (3 - B.ndim))}


for package, forms in (("torch", torch_forms), ("jax", jax_forms)):
    if have(package):
        same, refused = forms()
        SAME.update(same)
        REFUSED.update(refused)


@st.composite
def systems(draw, factorised=False):
    """A dense triangle or, always if `factorised`, full matrix with a dominant diagonal, and a solver made of it."""
    n = draw(st.integers(int(factorised), 12))
    dtype = np.dtype(draw(st.sampled_from(["f4", "f8", "c8", "c16"])))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    A = rng.standard_normal((n, n)) * (rng.random((n, n)) < draw(st.sampled_from([0.1, 0.5, 1.0])))
    if dtype.kind == "c":
        A = A + 1j * rng.standard_normal((n, n)) * (A != 0)
    np.fill_diagonal(A, np.abs(A).sum(axis=0) + np.abs(A).sum(axis=1) + 1)
    kind = "factors" if factorised else draw(st.sampled_from(["lower", "upper", "factors"] if n else ["lower", "upper"]))
    A = {"lower": np.tril, "upper": np.triu, "factors": np.array}[kind](A).astype(dtype)
    layout = draw(st.sampled_from([sparse.csr_array, sparse.csc_array, sparse.coo_array, sparse.csr_matrix, sparse.csc_matrix]))
    unit = kind != "factors" and draw(st.booleans())
    if kind == "factors":
        solver = sptrsm.splu(sparse.csc_array(A), threads=1)
    else:
        solver = sptrsm.triangular(layout(A), lower=kind == "lower", unit_diagonal=unit, threads=1)
    if unit:
        np.fill_diagonal(A, 1)
    return A, solver


@st.composite
def right_hand_sides(draw, A):
    """B in C order, of A's dtype; the numbers are small integers, so that every representation keeps them."""
    shape = draw(st.sampled_from([(len(A),), (len(A), 0), (len(A), 1), (len(A), 2), (len(A), 7)]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    B = rng.integers(-8, 9, shape).astype(A.dtype)
    return B + 1j * rng.integers(-8, 9, shape).astype(A.real.dtype) if A.dtype.kind == "c" else B


def operated(A, trans):
    return {"N": A, "T": A.T, "H": A.conj().T}[trans]


def assert_solves(A, trans, B, X):
    """The residual is small beside |A| |X| + |B| in every element, and NaN fails."""
    M = operated(A, trans).astype(np.complex128)
    X, B = np.asarray(X).reshape(B.shape), B.astype(np.complex128)
    bound = 50 * (len(A) + 1) * np.finfo(A.dtype).eps * (np.abs(M) @ np.abs(X) + np.abs(B) + np.finfo(A.dtype).tiny)
    assert np.all(np.abs(M @ X - B) <= bound)


@given(st.data())
def test_every_kind_of_array_is_solved_in_place_of_it(data):
    A, solver = data.draw(systems())
    B = data.draw(right_hand_sides(A))
    form = data.draw(st.sampled_from(sorted(SAME)))
    trans = data.draw(st.sampled_from("NTH"))
    given_B = SAME[form](B)
    X = solver.solve(given_B, trans=trans)
    kind = np.ndarray if form in ("list", "tuple", "subclass", "np.matrix") else type(given_B)
    assert isinstance(X, kind)
    assert tuple(X.shape) == np.shape(given_B)
    assert np.asarray(X).dtype == A.dtype
    assert_solves(A, trans, B, X)
    assert np.array_equal(np.asarray(given_B).reshape(B.shape), B), "B has changed"


@given(st.data())
def test_what_cannot_be_solved_is_refused_with_the_way_out(data):
    A, solver = data.draw(systems())
    B = data.draw(right_hand_sides(A))
    form = data.draw(st.sampled_from(sorted(REFUSED)))
    with pytest.raises((TypeError, ValueError)) as error:
        solver.solve(REFUSED[form](B))
    assert WAY_OUT.search(str(error.value)), str(error.value)


@given(st.data())
def test_out_receives_the_result_or_is_refused(data):
    A, solver = data.draw(systems())
    B = data.draw(right_hand_sides(A))
    form = data.draw(st.sampled_from(["C", "F", "rows apart", "columns apart", "all apart", "backward", "read-only", "unaligned",
                                      "other byte order", "itself", "another type", "another shape"]))
    special = {"itself": lambda B: B, "another type": lambda B: B.real.astype("f4" if A.dtype == "f8" else "f8"),
               "another shape": lambda B: np.zeros(B.shape + (2,) if B.ndim == 1 else B.shape[0], A.dtype)}
    out = special.get(form, SAME.get(form))(B)
    before = B.copy()
    try:
        X = solver.solve(B, out=out)
    except (TypeError, ValueError) as error:
        assert form not in ("C", "F", "itself", "rows apart")
        assert WAY_OUT.search(str(error)), str(error)
        assert np.array_equal(B, before)
    else:
        assert X is out
        assert_solves(A, "N", before, out)


@given(st.data())
def test_triangles_are_read_or_refused_whatever_their_form(data):
    n = data.draw(st.integers(0, 8))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    count = data.draw(st.integers(0, 30)) if n else 0
    rows, columns = rng.integers(0, max(n, 1), (2, count))
    values = rng.integers(-2, 3, count).astype(data.draw(st.sampled_from(["i4", "f4", "f8", "g", "c16", "?"])))
    index = data.draw(st.sampled_from([np.int32, np.int64]))
    A = sparse.coo_array((values, (rows.astype(index), columns.astype(index))), shape=(n, n))
    lower = data.draw(st.booleans())
    b = rng.integers(-3, 4, n).astype(float)
    try:
        T = sptrsm.triangular(A.asformat(data.draw(st.sampled_from(["coo", "csr", "csc"]))), lower=lower, threads=1)
        x = T.solve(b.astype(T.dtype))
    except (TypeError, ValueError, np.linalg.LinAlgError) as error:
        assert str(error)
        return
    dense = A.toarray()
    assert np.array_equal(dense, np.tril(dense) if lower else np.triu(dense))
    assert_solves(dense.astype(T.dtype), "N", b, x)


@st.composite
def stacks(draw, count, n):
    """Right-hand sides of items in one array, whose axes lie in memory in any order, at any distance and in any direction."""
    shape = (count, n) + draw(st.sampled_from([(), (0,), (1,), (2,), (9,)]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    axes = draw(st.permutations(range(len(shape))))
    B = rng.standard_normal([shape[axis] for axis in axes]).transpose(np.argsort(axes))
    B = widened(B, {axis for axis in range(B.ndim) if draw(st.booleans())})
    B = B[tuple(slice(None, None, draw(st.sampled_from([1, 1, -1]))) for _ in shape)]
    return draw(st.sampled_from([B, B, B, np.broadcast_to(B[:1], B.shape) if count else B, read_only(B)]))


@given(st.data())
def test_items_of_a_batch_have_the_bits_that_they_have_alone(data):
    n, count, uniform = data.draw(st.integers(0, 9)), data.draw(st.integers(1, 10)), data.draw(st.booleans())
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    pattern = np.tril(rng.random((n, n)) < 0.4) | np.eye(n, dtype=bool)
    sets = [sparse.csr_array(pattern * rng.uniform(1, 2, (n, n))) for _ in range(count)]
    P = sptrsm.batch([{"L": L} for L in sets], uniform=uniform, threads=1)
    B = data.draw(stacks(count, n))
    trans, mask = data.draw(st.sampled_from("NTH")), np.array(data.draw(st.lists(st.booleans(), min_size=count, max_size=count)), bool)
    whole, before = P.solve(B, trans), B.copy()
    listed = P.solve([B[i] if mask[i] else None for i in range(count)], trans, mask=mask)
    out = np.full(B.shape, 7.0)
    P.solve(B, trans, mask=mask, out=out)
    assert np.array_equal(B, before), "B has changed"
    for i in range(count):
        x = sptrsm.from_factors(sets[i], threads=1, **({"method": "levelset"} if uniform else {})).solve(B[i], trans)
        assert np.array_equal(whole[i], x)
        assert np.array_equal(out[i], x if mask[i] else np.full_like(x, 7))
        assert not mask[i] or np.array_equal(listed[i], x)


@st.composite
def factor_sets(draw):
    """The dense matrix of a factor set, and a solver with these factors; they are symmetric, Hermitian or general."""
    n, upper = draw(st.integers(0, 9)), draw(st.sampled_from(["given", "transpose", "conjugate-transpose"]))
    dtype, rng = np.dtype(draw(st.sampled_from(["f4", "f8", "c8", "c16"]))), np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    L, U = (part(rng.uniform(-1, 1, (n, n)) * (rng.random((n, n)) < 0.4)) + 3 * np.eye(n) for part in (np.tril, np.triu))
    if dtype.kind == "c":
        L = L * (1 + 0.5j)
    U = {"given": U, "transpose": L.T, "conjugate-transpose": L.conj().T}[upper]
    p, q = rng.permutation(n), rng.permutation(n) if upper == "given" else None
    given_U = {"U": sparse.csc_array(U.astype(dtype)), "q": q} if upper == "given" else {"upper": upper}
    F = sptrsm.from_factors(sparse.csc_array(L.astype(dtype)), p=p, threads=1, **given_U)
    A = np.zeros((n, n), np.complex128)
    A[np.ix_(p, p if q is None else q)] = L.astype(dtype).astype(np.complex128) @ U.astype(dtype).astype(np.complex128)
    return A, F


@st.composite
def columns(draw, n, dtype):
    """B in C order, of few columns or of more than the library solves at once, and how it is handed over: dense or sparse."""
    count, rng = draw(st.sampled_from([0, 1, 2, 7, 40])), np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    B = (rng.integers(-8, 9, (n, count)) * (rng.random((n, count)) < draw(st.sampled_from([0.1, 0.4, 1.0])))).astype(dtype)
    forms = {**{name: SAME[name] for name in SAME if name not in ("list", "tuple") or B.size}, "csc": sparse.csc_array,
             "csr": sparse.csr_array, "coo": sparse.coo_array, "csc matrix": sparse.csc_matrix}
    return B, forms[draw(st.sampled_from(sorted(forms)))]


def assert_schur(S, A, C, B, dtype):
    """The error is small beside the largest elements of C, of |A^-1| |A| |A^-1| and of B, and NaN fails. A^-1 itself has errors of that
    size in double precision, also where its elements are zero.
    """
    inverse = np.linalg.inv(A) if len(A) else A
    size = np.prod([abs(M).max(initial=0) for M in (C, abs(inverse) @ abs(A) @ abs(inverse), B)])
    assert S.shape == (len(C), B.shape[1]) and S.dtype == dtype
    assert np.all(abs(S - C @ inverse @ B) <= 100 * (len(A) + 1) ** 2 * np.finfo(dtype).eps * size)


@given(st.data())
def test_schur_complements_of_every_kind_of_array(data):
    A, F = data.draw(factor_sets())
    (B, form), (C, form_of_C) = data.draw(columns(len(A), F.dtype)), data.draw(columns(len(A), F.dtype))
    trans = data.draw(st.sampled_from("NTH"))
    given_B, given_C = form(B), form_of_C(C.T.copy())
    S = F.schur(given_B, given_C, trans)
    foreign = [type(one) for one in (given_B, given_C) if type(one).__module__.partition(".")[0] in ("torch", "jaxlib")]
    assert isinstance(S, foreign[0] if foreign else np.ndarray)
    S = np.asarray(S)
    assert_schur(S, operated(A, trans), C.T, B, F.dtype)
    kept = sptrsm.schur(F, given_B, given_C, trans)
    out = SAME[data.draw(st.sampled_from(["C", "F", "rows apart"]))](np.full(S.shape, 7, F.dtype))
    assert kept.solve(out) is out
    for same in (out, *map(np.asarray, sptrsm.schur_many([kept, kept]))):
        assert np.array_equal(same, S)
    kept.update_values(B=form(B * 2))
    assert np.array_equal(np.asarray(kept.solve()), S * 2)
    assert np.array_equal(np.asarray(given_B.toarray() if hasattr(given_B, "toarray") else given_B).reshape(B.shape), B), "B has changed"


@given(st.data())
def test_symmetric_schur_complements_and_their_triangles(data):
    A, F = data.draw(factor_sets())
    B, form = data.draw(columns(len(A), F.dtype))
    if F.factors.upper == "given":
        with pytest.raises(ValueError, match="pass C=B.T"):
            F.schur(form(B))
        return
    across = (lambda M: M.T) if F.factors.upper == "transpose" else (lambda M: M.conj().T)
    S = np.asarray(F.schur(form(B)))
    assert_schur(S, A, across(B), B, F.dtype)
    assert np.array_equal(S, across(S))
    for lower, part in ((True, np.tril), (False, np.triu)):
        assert np.array_equal(np.asarray(F.schur(form(B), lower=lower)), part(S))
        out = np.full(S.shape, 7, F.dtype)
        F.schur(form(B), lower=lower, out=out)
        assert np.array_equal(out, np.where(part(np.ones(S.shape, bool)), S, 7))


@given(st.data())
def test_what_no_schur_complement_takes_is_refused_with_the_way_out(data):
    A, solver = data.draw(systems(factorised=True))
    B = data.draw(right_hand_sides(A))
    name = data.draw(st.sampled_from("BC"))
    fits = {"sparse"} if name == "B" else {"sparse", "one row too many", "None"}
    form = data.draw(st.sampled_from(sorted(REFUSED.keys() - fits)))
    good = np.ones((len(A), 2), A.dtype)
    bad = REFUSED[form](B if name == "B" else B.T.copy() if B.ndim == 2 else B)
    with pytest.raises((TypeError, ValueError)) as error:
        solver.schur(*((bad, good.T) if name == "B" else (good, bad)))
    assert WAY_OUT.search(str(error.value)), str(error.value)
