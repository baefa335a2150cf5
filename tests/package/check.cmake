# SPDX-License-Identifier: Apache-2.0
# Installs BUILD into WORK/prefix, then builds what a person would build against it: a program that
# includes every header, and examples/01. Runs the example and the installed `fuselage`.
#   cmake -DBUILD=... -DSOURCE=... -DWORK=... -DGENERATOR=Ninja -P check.cmake
file(REMOVE_RECURSE ${WORK})
set(prefix ${WORK}/prefix)

function(run)
  execute_process(COMMAND ${ARGN} OUTPUT_VARIABLE output ERROR_VARIABLE output RESULT_VARIABLE code)
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "exit code ${code}: ${ARGN}\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

function(build name source)
  run(${CMAKE_COMMAND} -G ${GENERATOR} -S ${source} -B ${WORK}/${name} -DCMAKE_PREFIX_PATH=${prefix}
      -DCMAKE_BUILD_TYPE=Release)
  run(${CMAKE_COMMAND} --build ${WORK}/${name})
endfunction()

foreach(component cli development)
  run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${prefix} --component ${component})
endforeach()
run(${prefix}/bin/fuselage --version)
# A program's own copies of libraries must not replace the ones inside, nor the other way round.
file(GLOB library ${prefix}/lib*/libfuselage.so ${prefix}/lib*/*/libfuselage.so)
run(nm -D --defined-only --format=posix ${library})
string(REGEX MATCHALL "[^\n]+" exported "${output}")
list(LENGTH exported count)
list(FILTER exported EXCLUDE REGEX "^_Z(T[A-Za-z0-9_]*_?|GV|GR|Z)*NK?[RO]?8fuselage")
if(exported OR count LESS 100)
  list(LENGTH exported foreign)
  list(SUBLIST exported 0 10 exported)
  list(JOIN exported "\n" exported)
  message(FATAL_ERROR "libfuselage.so exports ${count} symbols, ${foreign} not of fuselage:\n${exported}")
endif()
file(STRINGS ${BUILD}/FuselageConfigVersion.cmake version REGEX "^set\\(PACKAGE_VERSION \"")
string(REGEX MATCH "[0-9.]+" version "${version}")
run(${CMAKE_COMMAND} -G ${GENERATOR} -S ${SOURCE}/tests/package/versions -B ${WORK}/versions
    -DCMAKE_PREFIX_PATH=${prefix} -DVERSION=${version})
build(headers ${SOURCE}/tests/package/headers)
build(fused_conv ${SOURCE}/examples/01-fused-conv)
run(${WORK}/fused_conv/fused_conv)
foreach(expected "three  3 reads, 3 writes, 2 intermediate buffers, " "they agree"
                 "fused  1 reads, 1 writes, 0 intermediate buffers, ")
  string(FIND "${output}" "${expected}" at)
  if(at EQUAL -1)
    message(FATAL_ERROR "`${expected}` is missing in:\n${output}")
  endif()
endforeach()
message("${output}")
file(REMOVE_RECURSE ${WORK})
