# SPDX-License-Identifier: Apache-2.0
# Writes OUTPUT: emitterVersion() as the hash of FILES, names and contents, in sorted order. Any
# change of these sources makes older measurements unknown, which is safe and needs no discipline.
list(SORT FILES)
set(all "")
foreach(file IN LISTS FILES)
  file(SHA256 ${file} hash)
  file(RELATIVE_PATH name ${ROOT} ${file})
  string(APPEND all "${name} ${hash}\n")
endforeach()
string(SHA256 hash "${all}")
string(SUBSTRING ${hash} 0 16 short)
file(WRITE ${OUTPUT} "// Written by the build from the sources that emit kernels.
#include \"gpu/tune/tactic_key.h\"

namespace fuselage::gpu {

std::string emitterVersion() {
    return \"${short}\";
}

} // namespace fuselage::gpu
")
