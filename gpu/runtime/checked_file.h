// SPDX-License-Identifier: Apache-2.0
// Files of the caches: a header, a line with the size and a hash of what follows, the content. Safe
// under writers of several processes: written beside and renamed, checked when read.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace fuselage::gpu {

/// None when the file is not there, has another header or is not whole: it is then made again.
std::optional<std::string> readChecked(const std::string& path, std::string_view header);

/// Makes the folder. A file that cannot be written costs the next run its time, nothing else.
void writeChecked(const std::string& folder, const std::string& name, std::string_view header,
                  std::string_view content);

/// Removes what killed processes left half-written in the folder. A file that was touched lately
/// may be another's at work, on this machine or on one that shares the folder.
void clearAbandoned(const std::string& folder);

} // namespace fuselage::gpu
