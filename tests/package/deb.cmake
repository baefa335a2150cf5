# SPDX-License-Identifier: Apache-2.0
# Packs the command line as a Debian package and looks at what is in it, without installing it.
#   cmake -DBUILD=... -DWORK=... -P deb.cmake      prints "skipped: ..." without Debian's tools
foreach(tool dpkg-deb dpkg-shlibdeps)
  find_program(${tool}_PROGRAM ${tool})
  if(NOT ${tool}_PROGRAM)
    message("skipped: no ${tool} on this machine")
    return()
  endif()
endforeach()
file(REMOVE_RECURSE ${WORK})
find_program(lintian_PROGRAM lintian)

function(run)
  execute_process(COMMAND ${ARGN} OUTPUT_VARIABLE output ERROR_VARIABLE errors RESULT_VARIABLE code)
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "exit code ${code}: ${ARGN}\n${output}${errors}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

function(expect text)
  foreach(piece IN LISTS ARGN)
    string(FIND "${text}" "${piece}" at)
    if(at EQUAL -1)
      message(FATAL_ERROR "`${piece}` is missing in:\n${text}")
    endif()
  endforeach()
endfunction()

run(${CMAKE_CPACK_COMMAND} --config ${BUILD}/CPackConfig.cmake -B ${WORK} -D CPACK_COMPONENTS_ALL=cli)
file(GLOB package ${WORK}/fuselage_*.deb)
run(${dpkg-deb_PROGRAM} --field ${package})
expect("${output}" "Package: fuselage\n" "Maintainer: " "libdnnl" "libprotobuf" "libgomp1" "libc6 (>=")
run(${dpkg-deb_PROGRAM} --contents ${package})
expect("${output}" "./usr/bin/fuselage\n" "./usr/share/man/man1/fuselage.1.gz\n"
       "./usr/share/bash-completion/completions/fuselage\n" "/_fuselage\n"
       "./usr/share/fish/vendor_completions.d/fuselage.fish\n" "./usr/share/mime/packages/fuselage.xml\n"
       "./usr/share/doc/fuselage/copyright\n"
       "./usr/share/doc/fuselage/changelog.gz\n")
if(output MATCHES "/include/|libfuselage")
  message(FATAL_ERROR "the command line's package brings the library:\n${output}")
endif()
if(lintian_PROGRAM)
  run(${lintian_PROGRAM} --allow-root --fail-on error,warning ${package})
else()
  message("without lintian: it is not on this machine")
endif()
file(REMOVE_RECURSE ${WORK})
