# SPDX-License-Identifier: Apache-2.0
# Script: writes the device texts FILES as one C++ table to OUTPUT. The license line stays out: a
# generated kernel begins with its own.
set(rows "")
foreach(path IN LISTS FILES)
  get_filename_component(name ${path} NAME_WE)
  file(READ ${path} text)
  string(REPLACE "// SPDX-License-Identifier: Apache-2.0\n" "" text "${text}")
  string(APPEND rows "    {\"${name}\", R\"cuda(${text})cuda\"},\n")
endforeach()
file(WRITE ${OUTPUT}.new "// Generated from gpu/device/*.cuh.
#include \"gpu/device_text.h\"

namespace fuselage::gpu {

namespace {

struct Row {
    std::string_view name, text;
};

constexpr Row rows[] = {
${rows}};

} // namespace

std::string_view deviceText(std::string_view name) {
    for (const Row& row : rows)
        if (row.name == name)
            return row.text;
    return {};
}

} // namespace fuselage::gpu
")
file(RENAME ${OUTPUT}.new ${OUTPUT})
