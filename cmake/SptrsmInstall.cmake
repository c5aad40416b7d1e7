# Install rules, CMake package and pkg-config files. (filled in below)
