# SPDX-License-Identifier: Apache-2.0
# Configures the tests of this folder as on a machine without node, then without a browser, and holds
# them to what ctest has to say: skipped, with the reason.
#   cmake -DSOURCE=... -DWORK=... -DNODE=... -DGENERATOR=... -P says_skipped.cmake
cmake_minimum_required(VERSION 3.25)
file(REMOVE_RECURSE ${WORK})
file(WRITE ${WORK}/CMakeLists.txt "cmake_minimum_required(VERSION 3.25)
project(skip NONE)
enable_testing()
add_executable(fuselage IMPORTED)
set_target_properties(fuselage PROPERTIES IMPORTED_LOCATION /nonexistent/fuselage)
add_subdirectory(${SOURCE}/tests/html html)
")

# A program that was looked for and is not there is an empty name.
function(expect_skipped case reason)
  execute_process(COMMAND ${CMAKE_COMMAND} -G ${GENERATOR} -S ${WORK} -B ${WORK}/${case}
                          ${ARGN}
                  OUTPUT_VARIABLE output ERROR_VARIABLE output RESULT_VARIABLE code)
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "${case}: not configured:\n${output}")
  endif()
  execute_process(COMMAND ${CMAKE_CTEST_COMMAND} -V -R html_resnet50 --test-dir ${WORK}/${case}
                  OUTPUT_VARIABLE output ERROR_VARIABLE output RESULT_VARIABLE code)
  foreach(piece "${reason}" "Skipped")
    string(FIND "${output}" "${piece}" at)
    if(at EQUAL -1 OR NOT code EQUAL 0)
      message(FATAL_ERROR "${case}: `${piece}` is missing, exit code ${code}:\n${output}")
    endif()
  endforeach()
endfunction()

expect_skipped(no_node "skipped: no node on this machine" "-DFUSELAGE_NODE=" "-DFUSELAGE_CHROMIUM=")
if(NODE)
  expect_skipped(no_browser "skipped: no chromium on this machine" "-DFUSELAGE_NODE=${NODE}" "-DFUSELAGE_CHROMIUM=")
  expect_skipped(browser_gone "skipped: no chromium on this machine" "-DFUSELAGE_NODE=${NODE}"
                 "-DFUSELAGE_CHROMIUM=/nonexistent/chromium")
else()
  message("without a browser: not tried, there is no node on this machine")
endif()
file(REMOVE_RECURSE ${WORK})
