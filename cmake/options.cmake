# SPDX-License-Identifier: Apache-2.0
# The interface target that every target of ours links: language level and warnings.
add_library(fuselage_options INTERFACE)
target_compile_features(fuselage_options INTERFACE cxx_std_20)
target_include_directories(fuselage_options INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>)
target_compile_options(fuselage_options INTERFACE -Wall -Wextra -Wno-missing-field-initializers)
if(FUSELAGE_WERROR)
  target_compile_options(fuselage_options INTERFACE -Werror)
endif()
# GCC 12 sees overlap in every `"text" + std::string` (its bug 105651); GCC 13 does not.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(fuselage_options INTERFACE -Wno-restrict)
endif()

# Files joined to one unit are included, and GCC takes what they keep to themselves for a header's.
if(CMAKE_UNITY_BUILD AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(fuselage_options INTERFACE -Wno-subobject-linkage)
endif()

if(FUSELAGE_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang" OR CMAKE_CXX_COMPILER_VERSION VERSION_LESS 16)
    message(FATAL_ERROR "FUSELAGE_FUZZ needs clang 16 or newer: -DCMAKE_CXX_COMPILER=clang++-16")
  endif()
  set(instrumented -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined
      -fno-omit-frame-pointer)
  target_compile_options(fuselage_options INTERFACE ${instrumented} -O1 -g1)
  target_link_options(fuselage_options INTERFACE -fsanitize=address,undefined)
endif()

# Asserts stay on in every build type: model files are hostile input.
string(REPLACE "-DNDEBUG" "" CMAKE_CXX_FLAGS_RELEASE "${CMAKE_CXX_FLAGS_RELEASE}")

# A checkout in another folder finds what this one compiled: no object names the folder.
target_compile_options(fuselage_options INTERFACE $<BUILD_INTERFACE:-fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=>)
find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)
  set(CMAKE_CXX_COMPILER_LAUNCHER env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} ${CCACHE_PROGRAM})
endif()
