% sptrsm  The solve phase of A X = B, analysed once, for any number of right-hand sides.
%
%   [L, U, p, q] = lu(A, 'vector');      % L U = A(p,q)
%   F = sptrsm(L, U, p, q);              % p and q may be []
%   X = F.solve(B);                      % as X(q,:) = U \ (L \ B(p,:))
%   X = F.solve(B, 'C');                 % A' X = B; 'T': A.' X = B
%   F.delete();                          % frees it now; else when no variable holds it any more
%
%   [R, e, q] = chol(A, 'vector');       % R' R = A(q,q)
%   F = sptrsm(R', [], q, q);            % U = [] means L'
%
% L and U are sparse, B is a full matrix; each may be real or complex.
classdef sptrsm < handle
  properties (SetAccess = private)
    n                                    % order of the factors
  end
  properties (Access = private)
    id = [];
  end

  methods
    function F = sptrsm(L, U, p, q)
      if nargin < 2, error('sptrsm:usage', 'sptrsm(L, U, p, q): L and U are needed; U = [] for a Cholesky factor L'); end
      if nargin < 4, q = []; end
      if nargin < 3, p = []; end
      F.id = sptrsm_mex('new', L, U, p, q);
      F.n = size(L, 1);
    end

    function X = solve(F, B, op)
      if nargin < 3, op = 'N'; end
      X = sptrsm_mex('solve', F.id, B, op);
    end

    function delete(F)
      if ~isempty(F.id), sptrsm_mex('delete', F.id); end
      F.id = [];
    end
  end
end
