# SPDX-License-Identifier: Apache-2.0
# Texts that binaries carry, so that they need no files beside them. Included it defines
# fuselage_embed; as a script it writes rows {"NAME", R"(TEXT)"}, for a table that a .cpp includes.

# fuselage_embed(SOURCE ROOT FILE... [SUFFIX .ending] [WITHOUT_LICENSE]): SOURCE.cpp, a path from this
# folder, may include SOURCE.inc by its name. A name is the path below ROOT without SUFFIX.
function(fuselage_embed source root)
  cmake_parse_arguments(ARG "WITHOUT_LICENSE" "SUFFIX" "" ${ARGN})
  set(rows ${CMAKE_CURRENT_BINARY_DIR}/${source}.inc)
  cmake_path(GET rows PARENT_PATH folder)
  set(script ${PROJECT_SOURCE_DIR}/cmake/embed.cmake)
  add_custom_command(
    OUTPUT ${rows}
    COMMAND ${CMAKE_COMMAND} -DROOT=${root} "-DFILES=${ARG_UNPARSED_ARGUMENTS}" -DOUTPUT=${rows}
            -DSUFFIX=${ARG_SUFFIX} -DWITHOUT_LICENSE=${ARG_WITHOUT_LICENSE} -P ${script}
    DEPENDS ${ARG_UNPARSED_ARGUMENTS} ${script}
    COMMENT "Embedding ${source}"
    VERBATIM)
  set_source_files_properties(${source}.cpp PROPERTIES
    INCLUDE_DIRECTORIES ${folder} OBJECT_DEPENDS ${rows})
endfunction()

if(NOT CMAKE_SCRIPT_MODE_FILE)
  return()
endif()
set(rows "")
foreach(path IN LISTS FILES)
  file(READ ${path} text)
  if(WITHOUT_LICENSE)
    string(REPLACE "// SPDX-License-Identifier: Apache-2.0\n" "" text "${text}")
  endif()
  string(FIND "${text}" ")embed\"" clash)
  if(NOT clash EQUAL -1)
    message(FATAL_ERROR "${path} contains the mark that ends an embedded text")
  endif()
  file(RELATIVE_PATH name ${ROOT} ${path})
  if(SUFFIX)
    string(REGEX REPLACE "\\${SUFFIX}$" "" name ${name})
  endif()
  # Compilers limit the length of a literal.
  set(literal "")
  string(LENGTH "${text}" length)
  set(at 0)
  while(at LESS length)
    string(SUBSTRING "${text}" ${at} 8000 part)
    string(APPEND literal "\n    R\"embed(${part})embed\"")
    math(EXPR at "${at} + 8000")
  endwhile()
  string(APPEND rows "{\"${name}\",${literal}},\n")
endforeach()
file(WRITE ${OUTPUT}.new "${rows}")
file(RENAME ${OUTPUT}.new ${OUTPUT})
