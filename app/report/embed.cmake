# SPDX-License-Identifier: Apache-2.0
# Script: writes the text FILES as one C++ table to OUTPUT, by "folder/name.ending". Texts are split,
# since compilers limit the length of a literal.
set(rows "")
foreach(path IN LISTS FILES)
  file(READ ${path} text)
  string(FIND "${text}" ")embed\"" clash)
  if(NOT clash EQUAL -1)
    message(FATAL_ERROR "${path} contains the mark that ends an embedded text")
  endif()
  get_filename_component(name ${path} NAME)
  get_filename_component(folder ${path} DIRECTORY)
  get_filename_component(folder ${folder} NAME)
  set(literal "")
  string(LENGTH "${text}" length)
  set(at 0)
  while(at LESS length)
    string(SUBSTRING "${text}" ${at} 8000 part)
    string(APPEND literal "\n        R\"embed(${part})embed\"")
    math(EXPR at "${at} + 8000")
  endwhile()
  string(APPEND rows "    {\"${folder}/${name}\",${literal}},\n")
endforeach()
file(WRITE ${OUTPUT}.new "// Generated from resources.
#include \"app/report/resource.h\"

namespace fuselage::app {

namespace {

struct Row {
    std::string_view name;
    std::string_view text;
};

constexpr Row rows[] = {
${rows}};

} // namespace

std::string_view resource(std::string_view name) {
    for (const Row& row : rows)
        if (row.name == name)
            return row.text;
    return {};
}

} // namespace fuselage::app
")
file(RENAME ${OUTPUT}.new ${OUTPUT})
