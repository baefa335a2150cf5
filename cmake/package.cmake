# SPDX-License-Identifier: Apache-2.0
# CPack: three Debian packages of what install.cmake installs. `./dev package` writes them; libraries
# that they need are found by dpkg-shlibdeps. Libraries of NVIDIA are opened at run time and never
# required.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME fuselage)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT ${FUSELAGE_MAINTAINER})
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_GROUPING ONE_PER_GROUP)
set(CPACK_COMPONENTS_ALL cli development)

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)

set(CPACK_DEBIAN_CLI_PACKAGE_NAME fuselage)
set(CPACK_DEBIAN_CLI_PACKAGE_SECTION science)
set(CPACK_DEBIAN_CLI_PACKAGE_SUGGESTS "libcuda1, libnvidia-ml1")
set(CPACK_COMPONENT_CLI_DESCRIPTION "Operator fusion on ONNX models, command line
Opens an ONNX model, matches fusion rules written in small .fuse files,
turns each match into one fused node and runs the model before and after.
Reports and gates for continuous integration; an NVIDIA GPU is used when
its libraries are there.")

set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libfuselage-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION "Operator fusion on ONNX models, C++ library
The shared library, headers and CMake package of fuselage.")

if(FUSELAGE_STUDIO)
  list(APPEND CPACK_COMPONENTS_ALL studio)
  set(CPACK_DEBIAN_STUDIO_PACKAGE_NAME fuselage-studio)
  set(CPACK_DEBIAN_STUDIO_PACKAGE_SECTION science)
  set(CPACK_DEBIAN_STUDIO_PACKAGE_DEPENDS "fuselage (= ${PROJECT_VERSION})")
  set(CPACK_DEBIAN_STUDIO_PACKAGE_RECOMMENDS "fonts-dejavu-core")
  set(CPACK_COMPONENT_STUDIO_DESCRIPTION "Operator fusion on ONNX models, desktop application
Shows a model before and after fusion side by side, with what each rule
did, and follows the rules while they are written.")
endif()
include(CPack)
