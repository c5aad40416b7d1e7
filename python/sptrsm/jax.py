"""Differentiable solves for JAX: gradients for right-hand sides and for the values of a matrix, under jit, grad, jvp and vmap.

A solve is a jax.lax.custom_linear_solve, which differentiates the equation op(A) X = B instead of the solver: the cotangent for B is one
more solve, and that for a value of the pattern is a product of two numbers, summed over the right-hand sides. The solver itself is called
on the host by jax.pure_callback, so arrays of a GPU go through host memory.
"""
from __future__ import annotations

import math
from typing import Any, Optional, Sequence, Union

import numpy

try:
    import jax
    import jax.numpy as jnp
except ImportError as error:
    raise ImportError("sptrsm.jax needs JAX; install it with: pip install jax") from error

from . import _chain
from ._arrays import check_shape
from ._chain import Permutation, Substitution
from ._factors import Factors
from ._triangular import Triangular

__all__ = ["solve"]

Values = Union["jax.Array", Sequence["jax.Array"]]


def _on_host(step: Substitution, trans: str, B: numpy.ndarray, *values: numpy.ndarray) -> numpy.ndarray:
    """X for B of shape [batch, n, nrhs] and values of shape [batch, nnz], if any. A batch may have any number of dimensions, of which
    each is 1 where the array does not change along it. One solve serves all right-hand sides that have the same values.
    """
    B = numpy.asarray(B)
    if not values:
        return _columns(step, trans, B)
    every = numpy.asarray(values[0])
    batch = numpy.broadcast_shapes(B.shape[:-2], every.shape[:-1])
    B = numpy.broadcast_to(B, batch + B.shape[-2:])
    X = numpy.empty(B.shape, B.dtype)
    for index in numpy.ndindex(every.shape[:-1]):
        with_these = tuple(k if size > 1 else slice(None) for k, size in zip(index, every.shape))
        with step.lock():
            _give_values(step, every[index])
            X[with_these] = _columns(step, trans, B[with_these])
    return X


def _give_values(step: Substitution, values: numpy.ndarray) -> None:
    """Makes the solver hold these values. Comparing them costs less than setting them, and a derivative mostly finds them set."""
    held = step.matrix().data
    if not (isinstance(held, numpy.ndarray) and numpy.array_equal(held, values)):
        step.set_values(values)


def _columns(step: Substitution, trans: str, B: numpy.ndarray) -> numpy.ndarray:
    """X for B of shape [batch, n, nrhs] by one solve with all columns of the batch."""
    by_row = numpy.moveaxis(B, -2, 0)
    X = step.solve(by_row.reshape(len(by_row), math.prod(by_row.shape[1:])), trans)
    return numpy.moveaxis(X.reshape(by_row.shape), 0, -2)


def _substitute(step: Substitution, B: jax.Array, values: Optional[jax.Array]) -> jax.Array:
    """X of op(S) X = B for B of shape [n, nrhs]; differentiable."""
    given = () if values is None else (values,)

    def call(trans: str, block: jax.Array) -> jax.Array:
        shape = jax.ShapeDtypeStruct(block.shape, block.dtype)
        return jax.pure_callback(lambda *arrays: _on_host(step, trans, *arrays), shape, block, *given, vmap_method="expand_dims")

    def solve_transposed(_: Any, block: jax.Array) -> jax.Array:
        if step.trans == "H":
            return call("N", block.conj()).conj()
        return call("N" if step.trans == "T" else "T", block)

    def multiply(X: jax.Array) -> jax.Array:
        # Without values the map has nothing to differentiate by, so JAX asks for its shape and never for its result.
        return X if values is None else _product(step, values, X)

    return jax.lax.custom_linear_solve(multiply, B, lambda _, block: call(step.trans, block), solve_transposed)


def _product(step: Substitution, values: jax.Array, X: jax.Array) -> jax.Array:
    """op(S) X from the stored values, one column at a time, so that no array of shape [nnz, nrhs] is needed."""
    rows, cols, unread = step.pattern()
    values = values.at[unread].set(0)
    if step.trans != "N":
        rows, cols = cols, rows
    if (step.trans == "H") != (step.stored == "H"):
        values = values.conj()

    @jax.checkpoint
    def column(x: jax.Array) -> jax.Array:
        y = x if step.unit else jnp.zeros_like(x)
        return y.at[rows].add(values * x[cols])

    return jax.lax.map(column, X.T).T


def _permute(step: Permutation, B: jax.Array) -> jax.Array:
    return B[step.source] if step.scale is None else step.scale[:, None] * B[step.source]


def solve(F: Union[Triangular, Factors], B: jax.Array, trans: str = "N", values: Optional[Values] = None) -> jax.Array:
    """Solves op(A) X = B; X can be differentiated by B and by the values, forwards and backwards, as often as wanted.

    Works under jit, grad, jvp, vmap and what is built from them. vmap over B is one solve with more columns; vmap over values is one solve
    for each.

    Parameters
    ----------
    F : Triangular or Factors
    B : Array, shape (n,) or (n, nrhs)
        Right-hand sides of F's dtype. JAX has float64 and complex128 only with jax.config.update("jax_enable_x64", True).
    trans : {"N", "T", "H"}
        A itself, its transpose, or its conjugate transpose.
    values : Array of shape (nnz,), or for a factor set a pair of them, optional
        The values to solve with, in the order of `F.indices`; of a factor set those of L and of U in the order of `F.L.indices` and
        `F.U.indices`, where None leaves a part as it is, and those of L alone where U is L transposed. F holds the values of the latest
        solve afterwards. Values that F's unit diagonal hides have derivative zero. D, permutations and scalings are constant.

    Returns
    -------
    X : Array of B's shape

    Notes
    -----
    The solver is called on the host (jax.pure_callback): arrays of a GPU are copied to host memory and back, whatever F's device is.
    Without `values` a compiled function uses the values that F holds when it runs; do not call `update_values` between a solve and its
    derivative, but give `values`. Call `solve` within jax.jit where it is called often; otherwise JAX traces it at each call.

    Examples
    --------
    >>> import jax, scipy.sparse, sptrsm, sptrsm.jax
    >>> jax.config.update("jax_enable_x64", True)
    >>> T = sptrsm.triangular(scipy.sparse.csr_array([[2.0, 0.0], [1.0, 4.0]]))
    >>> b = jax.numpy.array([2.0, 9.0])
    >>> sptrsm.jax.solve(T, b).tolist()
    [1.0, 2.0]
    >>> jax.grad(lambda v: sptrsm.jax.solve(T, b, values=v).sum())(jax.numpy.array(T.data)).tolist()
    [-0.375, -0.25, -0.5]
    """
    given = values if values is None else (values,) if not isinstance(values, (tuple, list)) else tuple(values)
    steps = _chain.chain(F, trans, given)
    B = _checked("B", B, F)
    check_shape("B", B.shape, F.shape[0])
    X = B if B.ndim == 2 else B[:, None]
    for step in steps:
        if isinstance(step, Permutation):
            X = _permute(step, X)
        else:
            X = _substitute(step, X, _values_of(step, given, F))
    return X if B.ndim == 2 else X[:, 0]


def _checked(name: str, array: Any, F: Union[Triangular, Factors]) -> jax.Array:
    """The array, or an error where it is not of the solver's type."""
    if not isinstance(array, (jax.Array, numpy.ndarray)):
        raise TypeError(f"{name} is {type(array).__name__}, not an array; pass jax.numpy.asarray({name})")
    array = jnp.asarray(array)
    if array.dtype != F.dtype:
        way_out = f"pass {name}.astype({F.dtype.name!r}), or make the solver with another dtype"
        if F.dtype.name in ("float64", "complex128") and not jax.config.jax_enable_x64:
            way_out = 'call jax.config.update("jax_enable_x64", True) first, or make the solver with a dtype of single precision'
        raise TypeError(f"{name} has dtype {array.dtype} and the solver {F.dtype.name}; {way_out}")
    return array


def _values_of(step: Substitution, given: Optional[tuple], F: Union[Triangular, Factors]) -> Optional[jax.Array]:
    """The values that were given for a step, or None."""
    if given is None or step.part is None or given[step.part] is None:
        return None
    name = "values" if len(given) == 1 else f"values[{step.part}]"
    values, nnz = _checked(name, given[step.part], F), step.matrix().nnz
    if values.shape != (nnz,):
        raise ValueError(f"{name} has shape {values.shape}; the pattern has {nnz} entries, in the order of `indices`")
    return values
