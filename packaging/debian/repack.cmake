# repack.cmake -- run by CPack after it has packed the Debian packages: takes out the scripts that call ldconfig, which CPack adds to each
# package with a shared library. Debian's policy wants the trigger (triggers) in their place. Compressed as CPack does.
cmake_minimum_required(VERSION 3.22)
set(folder ${CPACK_TEMPORARY_DIRECTORY}/repack)
foreach(package IN LISTS CPACK_PACKAGE_FILES)
  file(REMOVE_RECURSE ${folder})
  execute_process(COMMAND dpkg-deb --raw-extract ${package} ${folder} COMMAND_ERROR_IS_FATAL ANY)
  if(EXISTS ${folder}/DEBIAN/postinst)
    file(REMOVE ${folder}/DEBIAN/postinst ${folder}/DEBIAN/postrm)
    execute_process(COMMAND dpkg-deb -Zgzip --root-owner-group --build ${folder} ${package} OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
  endif()
endforeach()
file(REMOVE_RECURSE ${folder})
