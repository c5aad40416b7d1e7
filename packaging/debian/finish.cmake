# finish.cmake -- run by CPack before it packs a Debian package: what Debian's policy asks for beyond the installed files.
cmake_minimum_required(VERSION 3.22)
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC) # of SOURCE_DATE_EPOCH where that is set
find_program(GZIP gzip REQUIRED)

# compress(FILE...): as policy says, without the time in the result.
function(compress)
  if(ARGN)
    execute_process(COMMAND ${GZIP} -9nf ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
  endif()
endfunction()

foreach(component IN LISTS CPACK_COMPONENTS_ALL)
  string(TOUPPER ${component} upper)
  set(name ${CPACK_DEBIAN_${upper}_PACKAGE_NAME})
  set(root ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/${component})
  set(share ${root}${CPACK_PACKAGING_INSTALL_PREFIX}/share)
  file(GLOB pages ${share}/man/man1/*.1)
  compress(${pages})
  file(WRITE ${share}/doc/${name}/changelog "sptrsm (${CPACK_PACKAGE_VERSION}) unstable; urgency=medium

  * Built by scripts/packages.sh; CHANGELOG.md of the sources says what is new.

 -- ${CPACK_PACKAGE_CONTACT}  ${date}
")
  compress(${share}/doc/${name}/changelog)
  file(COPY ${CPACK_SPTRSM_SOURCE}/packaging/debian/copyright DESTINATION ${share}/doc/${name})
  if(component STREQUAL "sptrsm_tools")
    file(COPY ${CPACK_SPTRSM_SOURCE}/data/sherman5_splu.h5 ${CPACK_SPTRSM_SOURCE}/data/sherman5_rhs.h5 DESTINATION ${share}/doc/${name}/examples)
  endif()
  execute_process(COMMAND chmod -R u=rwX,go=rX ${root} COMMAND_ERROR_IS_FATAL ANY) # whatever umask the build had
endforeach()
