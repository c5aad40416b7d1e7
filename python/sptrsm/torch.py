"""Differentiable solves for PyTorch: gradients for right-hand sides and for the values of a matrix.

With op(A) X = B, a real loss and PyTorch's convention for complex gradients, the gradient for B is G_B = op(A)^-H G_X, one more solve, and
the gradient for op(A) is -G_B X^H, of which only the entries of the pattern are computed. Nothing dense of order n by n is made.
"""
from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Optional, Sequence, Union
from weakref import WeakKeyDictionary

import numpy

try:
    import torch
except ImportError as error:
    raise ImportError("sptrsm.torch needs PyTorch; install it with: pip install torch") from error

from . import _chain
from ._arrays import check_shape
from ._chain import ADJOINT, Permutation, Substitution
from ._factors import Factors
from ._triangular import Triangular

__all__ = ["solve"]

PRODUCTS = 1 << 24  # most products of an entry of G_B and one of X that are in memory at a time

_patterns: WeakKeyDictionary = WeakKeyDictionary()

Values = Union["torch.Tensor", Sequence["torch.Tensor"]]


@dataclass
class _Used:
    """What held a factor's values in the solver when a solve used them. All derivatives of that solve share this object."""

    held: object = None


@dataclass(frozen=True)
class _System:
    """op(S) X = B with certain values of S."""

    step: Substitution
    trans: str
    used: _Used

    def solve(self, B: torch.Tensor, values: Optional[torch.Tensor]) -> torch.Tensor:
        """X. The solver is given `values` first unless it still holds them."""
        step, used = self.step, self.used
        if values is None:
            used.held = step.held() if used.held is None else used.held
            if used.held is not step.held():
                raise RuntimeError("update_values has changed the solver since the solve whose gradient is asked for; pass the values to "
                                   "sptrsm.torch.solve as values=..., and they are set again when they are needed")
            return step.solve(_plain(B), self.trans)
        with step.lock():
            if used.held is None or used.held is not step.held():
                step.set_values(_plain(values) if _on_device(step) else _plain(values).cpu())
                used.held = step.held()
            return step.solve(_plain(B), self.trans)

    def with_trans(self, trans: str) -> _System:
        return replace(self, trans=trans)

    def unshared(self) -> _System:
        """The same system for other values."""
        return replace(self, used=_Used())


def _on_device(step: Substitution) -> bool:
    """Whether the solver takes new values from device memory. It does if it was made from a matrix there."""
    return not isinstance(step.matrix().data, numpy.ndarray)


def _plain(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor without its graph, and with conjugation and negation written out, so that others can read its memory."""
    return tensor.detach().resolve_conj().resolve_neg()


class _Solve(torch.autograd.Function):
    """X of op(S) X = B for B of shape [n, nrhs], and its derivatives."""

    @staticmethod
    def forward(B: torch.Tensor, values: Optional[torch.Tensor], system: _System) -> torch.Tensor:
        return system.solve(B, values)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple, output: torch.Tensor) -> None:
        _, values, ctx.system = inputs
        ctx.save_for_backward(values, output)

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> tuple:
        values, X = ctx.saved_tensors
        system = ctx.system
        if system.trans == "T":
            grad_B = _Solve.apply(grad.conj(), values, system.with_trans("N")).conj()
        else:
            grad_B = _Solve.apply(grad, values, system.with_trans(ADJOINT[system.trans]))
        return grad_B, _grad_values(system, grad_B, X) if ctx.needs_input_grad[1] else None, None

    @staticmethod
    def vmap(info: Any, in_dims: tuple, B: torch.Tensor, values: Optional[torch.Tensor], system: _System) -> tuple:
        """A batch of right-hand sides is a block with more columns; for a batch of values there is one solve for each."""
        batch, of_values, _ = in_dims
        if of_values is None:
            columns = B.movedim(batch, -1)
            X = _Solve.apply(columns.flatten(1), values, system)
            return X.reshape(columns.shape), 2
        blocks = [B] * info.batch_size if batch is None else B.unbind(batch)
        every = zip(blocks, values.unbind(of_values))
        return torch.stack([_Solve.apply(block, one, system.unshared()) for block, one in every]), 0


def _grad_values(system: _System, grad_B: torch.Tensor, X: torch.Tensor) -> torch.Tensor:
    """The gradient for the stored values, in their order: -G_B X^H for op N, its transpose for T, its conjugate transpose for H."""
    rows, cols, unread = _pattern(system.step, X.device)
    if system.trans == "N":
        grad = _products(grad_B, X, rows, cols)
    elif system.trans == "T":
        grad = _products(grad_B, X, cols, rows)
    else:
        grad = _products(X, grad_B, rows, cols)
    grad = -grad.index_fill(0, unread, 0)
    return grad.conj() if system.step.stored == "H" else grad


def _pattern(step: Substitution, device: torch.device) -> tuple[torch.Tensor, ...]:
    """The pattern of a system as tensors, which are kept as long as its solver."""
    kept = _patterns.setdefault(step.solver, {})
    key = step.system, device
    if key not in kept:
        kept[key] = tuple(torch.from_numpy(array).to(device) for array in step.pattern())
    return kept[key]


def _products(left: torch.Tensor, right: torch.Tensor, rows: torch.Tensor, cols: torch.Tensor) -> torch.Tensor:
    """sum over k of left[row, k] conj(right[col, k]) for each entry (row, col) of a pattern."""
    width = max(1, PRODUCTS // max(1, len(rows)))
    total = torch.zeros(len(rows), dtype=left.dtype, device=left.device)
    for k in range(0, left.shape[1], width):
        ours, theirs = left[:, k:k + width], right[:, k:k + width].conj()
        total = total + (ours.index_select(0, rows) * theirs.index_select(0, cols)).sum(1)
    return total


def _permute(step: Permutation, B: torch.Tensor) -> torch.Tensor:
    result = B.index_select(0, torch.from_numpy(step.source).to(B.device))
    return result if step.scale is None else torch.from_numpy(step.scale).to(B.device)[:, None] * result


def _check(name: str, tensor: Any, F: Union[Triangular, Factors]) -> None:
    """Refuses what is not a dense tensor of the solver's type on its device."""
    if not isinstance(tensor, torch.Tensor):
        raise TypeError(f"{name} is {type(tensor).__name__}, not a tensor; pass torch.as_tensor({name})")
    if tensor.layout != torch.strided:
        raise TypeError(f"{name} is a sparse tensor; pass {name}.to_dense()")
    if str(tensor.dtype) != f"torch.{F.dtype.name}":
        raise TypeError(f"{name} has dtype {tensor.dtype} and the solver {F.dtype.name}; pass {name}.to(torch.{F.dtype.name}), or make "
                        "the solver with another dtype")
    if str(tensor.device) != F.device:
        raise ValueError(f'{name} is on {tensor.device} and the solver on {F.device}; pass {name}.to("{F.device}"), or make the solver '
                         "with another device")


def _check_values(values: tuple, steps: list[_chain.Step], F: Union[Triangular, Factors]) -> None:
    """Refuses values that do not fit the patterns of the steps."""
    for step in steps:
        if isinstance(step, Substitution) and step.part is not None and values[step.part] is not None:
            one = values[step.part]
            name = "values" if len(values) == 1 else f"values[{step.part}]"
            nnz = step.matrix().nnz
            _check(name, one, F)
            if one.shape != (nnz,):
                raise ValueError(f"{name} has shape {tuple(one.shape)}; the pattern has {nnz} entries, in the order of `indices`")


def solve(F: Union[Triangular, Factors], B: torch.Tensor, trans: str = "N", values: Optional[Values] = None) -> torch.Tensor:
    """Solves op(A) X = B; X has gradients for B and for the values.

    Works under autograd, a second time too, and under grad, vjp, jacrev and vmap of torch.func. vmap over B is one solve with more columns;
    vmap over values is one solve for each. Forward-mode derivatives (jvp) are not available.

    Parameters
    ----------
    F : Triangular or Factors
        On the device of B.
    B : Tensor, shape (n,) or (n, nrhs)
        Right-hand sides of F's dtype.
    trans : {"N", "T", "H"}
        A itself, its transpose, or its conjugate transpose.
    values : Tensor of shape (nnz,), or for a factor set a pair of them, optional
        The values to solve with, in the order of `F.indices`; of a factor set those of L and of U in the order of `F.L.indices` and
        `F.U.indices`, where None leaves a part as it is, and those of L alone where U is L transposed. F holds them afterwards.
        Values that F's unit diagonal hides get gradient zero. D, permutations and scalings are constant.

    Returns
    -------
    X : Tensor of B's shape and layout

    Raises
    ------
    RuntimeError
        From `backward`, if `update_values` was called in between and `values` was not given. Given values are saved with the graph, and
        F is given them again where it holds others.

    Notes
    -----
    A solver on a GPU that was made from a matrix in host memory takes new values from host memory; they are copied there. The gradient
    for values takes memory for a panel of products, at most 16 Mi of them or nnz; derivatives of it (create_graph=True) keep all panels.

    Examples
    --------
    >>> import scipy.sparse, sptrsm, sptrsm.torch, torch
    >>> T = sptrsm.triangular(scipy.sparse.csr_array([[2.0, 0.0], [1.0, 4.0]]))
    >>> b = torch.tensor([2.0, 9.0], dtype=torch.float64, requires_grad=True)
    >>> values = torch.tensor(T.data, requires_grad=True)
    >>> x = sptrsm.torch.solve(T, b, values=values)
    >>> x.sum().backward()
    >>> x.tolist(), b.grad.tolist(), values.grad.tolist()
    ([1.0, 2.0], [0.375, 0.25], [-0.375, -0.25, -0.5])
    """
    given = values if values is None else (values,) if not isinstance(values, (tuple, list)) else tuple(values)
    steps = _chain.chain(F, trans, given)
    _check("B", B, F)
    check_shape("B", tuple(B.shape), F.shape[0])
    if given is not None:
        _check_values(given, steps, F)
    X = B if B.ndim == 2 else B.unsqueeze(1)
    used: dict = {}
    for step in steps:
        if isinstance(step, Permutation):
            X = _permute(step, X)
        else:
            of_step = None if given is None or step.part is None else given[step.part]
            key = step.system if step.part is None else step.part
            X = _Solve.apply(X, of_step, _System(step, step.trans, used.setdefault(key, _Used())))
    return X if B.ndim == 2 else X.squeeze(1)
