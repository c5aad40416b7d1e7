"""Spack recipe: sparse triangular systems with many right-hand sides."""

import pathlib

from spack_repo.builtin.build_systems.cmake import CMakePackage
from spack_repo.builtin.build_systems.cuda import CudaPackage

from spack.package import *


class Sptrsm(CMakePackage, CudaPackage):
    """Sparse triangular systems op(T) X = alpha B with many right-hand sides, and the solve phase of direct solvers,
    on CPUs and NVIDIA GPUs: a C library with command-line programs."""

    git = str(pathlib.Path(__file__).resolve().parents[6])  # the checkout that this recipe is a part of

    license("BSD-3-Clause")

    version("main", branch="main")

    variant("tools", default=True, description="Build the file library and the command-line programs")
    variant("factor", default=True, when="+tools", description="Build sptrsm-factor with SuiteSparse and SuperLU")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.22:", type="build")
    depends_on("pkgconfig", type="build", when="+tools")
    depends_on("hdf5@1.10:~mpi", when="+tools")
    depends_on("jansson@2.10:", when="+tools")
    depends_on("zlib-api", when="+tools")
    depends_on("libpng", when="+tools")
    depends_on("suite-sparse", when="+factor")
    depends_on("superlu", when="+factor")
    depends_on("cuda@12:", when="+cuda")

    conflicts("cuda_arch=none", when="+cuda", msg="Name the GPUs to compile for, such as cuda_arch=90")
    conflicts("platform=darwin", msg="The programs and the tests need Linux")

    def cmake_args(self):
        args = [
            self.define("SPTRSM_CUDA", "ON" if self.spec.satisfies("+cuda") else "OFF"),
            self.define_from_variant("SPTRSM_BUILD_APPS", "tools"),
            self.define("SPTRSM_FACTOR", self.spec.satisfies("+factor")),
            self.define("SPTRSM_BUILD_TESTS", False),
            self.define("SPTRSM_BUILD_EXAMPLES", False),
        ]
        if self.spec.satisfies("+cuda"):
            args.append(self.define("CMAKE_CUDA_ARCHITECTURES", ";".join(self.spec.variants["cuda_arch"].value)))
        return args
