# SPDX-License-Identifier: Apache-2.0
# `cmake --install`: the component `cli` (the program, its manual page and completions), `development`
# (one shared library with everything, the public headers under their own paths, and a CMake package
# that asks its user for nothing else) and `studio` (the desktop application).
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(FUSELAGE_ROOMS fuselage_core fuselage_dsl fuselage_patterns fuselage_tune
                   fuselage_pipeline fuselage_report fuselage_zoo)
if(TARGET fuselage_gpu)
  list(APPEND FUSELAGE_ROOMS fuselage_gpu)
endif()
add_library(fuselage_library SHARED)
add_library(Fuselage::fuselage ALIAS fuselage_library)
# Every object, not what a first reader happens to need; the archives bring the libraries behind.
foreach(room IN LISTS FUSELAGE_ROOMS)
  target_sources(fuselage_library PRIVATE $<TARGET_OBJECTS:${room}>)
endforeach()
target_link_libraries(fuselage_library PRIVATE ${FUSELAGE_ROOMS})
set(exported ${PROJECT_SOURCE_DIR}/cmake/exported.map)
target_link_options(fuselage_library PRIVATE -Wl,--version-script=${exported})
set_target_properties(fuselage_library PROPERTIES
  LINK_DEPENDS ${exported}
  OUTPUT_NAME fuselage
  EXPORT_NAME fuselage
  LINKER_LANGUAGE CXX
  VERSION ${PROJECT_VERSION}
  SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
target_compile_features(fuselage_library INTERFACE cxx_std_20)
set(headers ${CMAKE_INSTALL_INCLUDEDIR}/fuselage)
target_include_directories(fuselage_library INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<INSTALL_INTERFACE:${headers}>)

set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME development)
install(TARGETS fuselage_library EXPORT FuselageTargets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})

# Public headers include the standard library only; rooms that own a foreign library stay inside.
foreach(room support graph rewrite kernel cost plan)
  install(DIRECTORY core/${room} DESTINATION ${headers}/core
          FILES_MATCHING PATTERN "*.h" PATTERN "*_internal.h" EXCLUDE)
endforeach()
install(FILES core/ops/numeric_class.h core/ops/op_table.h core/ops/precision.h core/ops/reference_value.h
              core/ops/tape.h
        DESTINATION ${headers}/core/ops)
install(FILES core/passes/dimensions.h core/passes/node_choice.h core/passes/passes.h core/passes/precision.h
              core/passes/precision_choice.h
        DESTINATION ${headers}/core/passes)
install(FILES core/cpu/pages.h DESTINATION ${headers}/core/cpu)
install(FILES core/onnx/model_file.h core/onnx/value_file.h DESTINATION ${headers}/core/onnx)
install(FILES dsl/ast.h dsl/load.h dsl/parse.h dsl/resolve.h dsl/tokens.h
        DESTINATION ${headers}/dsl)
install(DIRECTORY app/pipeline DESTINATION ${headers}/app
        FILES_MATCHING PATTERN "*.h" PATTERN "*_internal.h" EXCLUDE)
install(FILES app/report/format.h app/report/json.h app/report/json_read.h app/report/render.h app/report/text.h
        DESTINATION ${headers}/app/report)
install(FILES app/zoo/zoo.h DESTINATION ${headers}/app/zoo)
install(FILES gpu/tune/tune_options.h DESTINATION ${headers}/gpu/tune)

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/Fuselage)
install(EXPORT FuselageTargets NAMESPACE Fuselage:: DESTINATION ${package})
configure_package_config_file(cmake/FuselageConfig.cmake.in ${PROJECT_BINARY_DIR}/FuselageConfig.cmake
                              INSTALL_DESTINATION ${package})
configure_file(cmake/FuselageConfigVersion.cmake.in ${PROJECT_BINARY_DIR}/FuselageConfigVersion.cmake @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/FuselageConfig.cmake
              ${PROJECT_BINARY_DIR}/FuselageConfigVersion.cmake
        DESTINATION ${package})

set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME cli)
install(TARGETS fuselage RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY resources/schemas resources/editors DESTINATION ${CMAKE_INSTALL_DATADIR}/fuselage)
install(FILES resources/desktop/fuselage.xml DESTINATION ${CMAKE_INSTALL_DATADIR}/mime/packages)

# The pages come from the program's own table of commands, so they cannot differ from it.
set(pages ${PROJECT_BINARY_DIR}/pages)
if(EXISTS /etc/debian_version)
  set(zsh_folder ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions)
else()
  set(zsh_folder ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
endif()
set(FUSELAGE_ZSH_FOLDER ${zsh_folder} CACHE STRING "Where zsh looks for completions")
find_program(FUSELAGE_GZIP gzip REQUIRED)
# page(FILE FOLDER WORD...): what `fuselage WORD...` prints, as FILE; a name of .gz is compressed.
function(fuselage_page file folder)
  cmake_path(REMOVE_EXTENSION file LAST_ONLY OUTPUT_VARIABLE plain)
  set(compress ${CMAKE_COMMAND} -E true)
  if(file MATCHES "\\.gz$")
    set(compress ${FUSELAGE_GZIP} -n9f ${plain})
  else()
    set(plain ${file})
  endif()
  add_custom_command(OUTPUT ${pages}/${file}
    COMMAND $<TARGET_FILE:fuselage> ${ARGN} > ${plain}
    COMMAND ${compress}
    DEPENDS fuselage WORKING_DIRECTORY ${pages} VERBATIM)
  install(FILES ${pages}/${file} DESTINATION ${folder})
endfunction()
file(MAKE_DIRECTORY ${pages})
fuselage_page(fuselage.1.gz ${CMAKE_INSTALL_MANDIR}/man1 manual)
fuselage_page(fuselage ${CMAKE_INSTALL_DATADIR}/bash-completion/completions completions bash)
fuselage_page(_fuselage ${FUSELAGE_ZSH_FOLDER} completions zsh)
fuselage_page(fuselage.fish ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d completions fish)
add_custom_target(fuselage_pages ALL
  DEPENDS ${pages}/fuselage.1.gz ${pages}/fuselage ${pages}/_fuselage ${pages}/fuselage.fish)

if(FUSELAGE_STUDIO)
  set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME studio)
  install(TARGETS fuselage-studio RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  install(FILES resources/desktop/fuselage-studio.desktop DESTINATION ${CMAKE_INSTALL_DATADIR}/applications)
  install(FILES resources/desktop/fuselage-studio.svg
          DESTINATION ${CMAKE_INSTALL_DATADIR}/icons/hicolor/scalable/apps)
  add_custom_command(OUTPUT ${pages}/fuselage-studio.1.gz
    COMMAND ${CMAKE_COMMAND} -E copy ${PROJECT_SOURCE_DIR}/resources/desktop/fuselage-studio.1 .
    COMMAND ${FUSELAGE_GZIP} -n9f fuselage-studio.1
    DEPENDS resources/desktop/fuselage-studio.1 WORKING_DIRECTORY ${pages} VERBATIM)
  add_custom_target(fuselage_studio_pages ALL DEPENDS ${pages}/fuselage-studio.1.gz)
  install(FILES ${pages}/fuselage-studio.1.gz DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
endif()

# A package says under which terms it comes and what changed.
# Debian's tools read the address of the first line of a package; none is claimed here that nobody
# reads: the domain is reserved for that. Who distributes packages gives an own one.
set(FUSELAGE_MAINTAINER "The Fuselage developers <fuselage@packages.invalid>" CACHE STRING
    "Who answers for the packages")
configure_file(resources/debian/changelog.in ${pages}/changelog @ONLY)
add_custom_command(OUTPUT ${pages}/changelog.gz
  COMMAND ${FUSELAGE_GZIP} -n9kf changelog
  DEPENDS ${pages}/changelog WORKING_DIRECTORY ${pages} VERBATIM)
add_custom_target(fuselage_changelog ALL DEPENDS ${pages}/changelog.gz)
set(packages fuselage cli libfuselage-dev development)
if(FUSELAGE_STUDIO)
  list(APPEND packages fuselage-studio studio)
endif()
# Debian keeps the text of the license once for all packages.
if(NOT EXISTS /etc/debian_version)
  install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/fuselage COMPONENT cli)
endif()
install(FILES resources/doc/libfuselage.md DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/libfuselage-dev
        COMPONENT development RENAME README.md)
while(packages)
  list(POP_FRONT packages name component)
  install(FILES resources/debian/copyright ${pages}/changelog.gz
          DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${name} COMPONENT ${component})
endwhile()
