# SPDX-License-Identifier: Apache-2.0
# Script: writes the device profiles FILES as one C++ table, and the text TACTICS, to OUTPUT.
set(rows "")
foreach(path IN LISTS FILES)
  get_filename_component(name ${path} NAME_WE)
  file(READ ${path} text)
  string(APPEND rows "    {\"${name}\", R\"toml(${text})toml\"},\n")
endforeach()
file(READ ${TACTICS} tactics)
file(WRITE ${OUTPUT}.new "// Generated from resources.
#include \"core/cost/embedded_profiles.h\"

namespace fuselage {

namespace {

constexpr EmbeddedProfile profiles[] = {
${rows}};

} // namespace

std::span<const EmbeddedProfile> embeddedProfiles() {
    return profiles;
}

std::string_view embeddedTacticEfficiencies() {
    return R\"toml(${tactics})toml\";
}

} // namespace fuselage
")
file(RENAME ${OUTPUT}.new ${OUTPUT})
