# SPDX-License-Identifier: Apache-2.0
# Every library that Fuselage links. `./dev setup` installs them on Debian 12.
find_package(Threads REQUIRED)
find_package(OpenMP REQUIRED COMPONENTS CXX) # the one that oneDNN is built with
find_package(fmt 9 REQUIRED)
find_package(Boost 1.81 REQUIRED)
find_package(nlohmann_json 3.11 REQUIRED)
find_package(CLI11 2.1 REQUIRED)
find_package(Eigen3 3.4 REQUIRED NO_MODULE)
find_package(tomlplusplus 3 REQUIRED)
find_package(Protobuf 3.21 REQUIRED) # before ONNX, whose config names its target
find_package(ONNX 1.12 CONFIG REQUIRED)

# Debian's oneDNN config asks for OpenCL headers, so the target is made here.
find_path(DNNL_INCLUDE_DIR oneapi/dnnl/dnnl.hpp REQUIRED)
find_library(DNNL_LIBRARY dnnl REQUIRED)
add_library(DNNL::dnnl UNKNOWN IMPORTED)
set_target_properties(DNNL::dnnl PROPERTIES IMPORTED_LOCATION "${DNNL_LIBRARY}"
                                            INTERFACE_INCLUDE_DIRECTORIES "${DNNL_INCLUDE_DIR}")

if(FUSELAGE_TESTS)
  find_package(GTest 1.12 REQUIRED)
  find_package(benchmark 1.7 REQUIRED)
endif()

# The desktop application is built where Qt is.
if(FUSELAGE_STUDIO)
  find_package(Qt6 6.4 QUIET COMPONENTS Widgets Test)
  if(NOT Qt6_FOUND)
    message(STATUS "Qt 6.4 not found: Fuselage Studio is not built (`./dev studio` installs it)")
    set(FUSELAGE_STUDIO OFF)
  endif()
endif()

# Not required: with glibc's allocator proving rules takes a third longer, matching a large model again a sixth.
find_package(mimalloc 2 QUIET)
