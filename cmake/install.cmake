# SPDX-License-Identifier: Apache-2.0
# `cmake --install`: the program, one shared library with everything, the public headers under their
# own paths, and a CMake package that asks its user for nothing else.
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
set_target_properties(fuselage_library PROPERTIES
  OUTPUT_NAME fuselage
  EXPORT_NAME fuselage
  LINKER_LANGUAGE CXX
  VERSION ${PROJECT_VERSION}
  SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
target_compile_features(fuselage_library INTERFACE cxx_std_20)
set(headers ${CMAKE_INSTALL_INCLUDEDIR}/fuselage)
target_include_directories(fuselage_library INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<INSTALL_INTERFACE:${headers}>)

install(TARGETS fuselage RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
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
install(FILES core/passes/passes.h core/passes/precision.h DESTINATION ${headers}/core/passes)
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
write_basic_package_version_file(${PROJECT_BINARY_DIR}/FuselageConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/FuselageConfig.cmake
              ${PROJECT_BINARY_DIR}/FuselageConfigVersion.cmake
        DESTINATION ${package})

install(DIRECTORY resources/schemas DESTINATION ${CMAKE_INSTALL_DATADIR}/fuselage)
