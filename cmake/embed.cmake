# SPDX-License-Identifier: Apache-2.0
# Script: writes FILES (relative to ROOT) as one C++ table to OUTPUT. Texts are split, since
# compilers limit the length of a literal.
set(rows "")
foreach(name IN LISTS FILES)
  file(READ ${ROOT}/${name} text)
  string(FIND "${text}" ")fuse\"" clash)
  if(NOT clash EQUAL -1)
    message(FATAL_ERROR "${name} contains the mark that ends an embedded text")
  endif()
  string(REGEX REPLACE "\\.fuse$" "" path ${name})
  set(literal "")
  string(LENGTH "${text}" length)
  set(at 0)
  while(at LESS length)
    string(SUBSTRING "${text}" ${at} 8000 part)
    string(APPEND literal "\n        R\"fuse(${part})fuse\"")
    math(EXPR at "${at} + 8000")
  endwhile()
  string(APPEND rows "    {\"${path}\",${literal}},\n")
endforeach()
file(WRITE ${OUTPUT}.new "// Generated from patterns/*.fuse.
#include \"patterns/embedded.h\"

namespace fuselage {

namespace {

struct Row {
    std::string_view path;
    std::string_view text;
};

constexpr Row rows[] = {
${rows}};

} // namespace

std::optional<std::string_view> embeddedPattern(std::string_view path) {
    for (const Row& row : rows)
        if (row.path == path)
            return row.text;
    return std::nullopt;
}

std::vector<std::string_view> embeddedPatternPaths() {
    std::vector<std::string_view> paths;
    for (const Row& row : rows)
        paths.push_back(row.path);
    return paths;
}

} // namespace fuselage
")
file(RENAME ${OUTPUT}.new ${OUTPUT})
