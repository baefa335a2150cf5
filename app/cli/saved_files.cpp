// SPDX-License-Identifier: Apache-2.0
#include "app/cli/saved_files.h"

#include "app/report/format.h"

#include <fmt/format.h>

namespace fuselage::cli {

std::vector<std::string> dataFileNotes(const model_io::SavedFiles& saved) {
    std::vector<std::string> out;
    if (!saved.data.empty())
        out.push_back(fmt::format("the weights ({}) are in {}, to be kept beside the model",
                                  app::bytesText(static_cast<int64_t>(saved.dataBytes)),
                                  saved.data));
    if (!saved.dataBefore.empty())
        out.push_back(fmt::format("the model that was here before read {}, which stays: others "
                                  "may read it too",
                                  saved.dataBefore));
    return out;
}

} // namespace fuselage::cli
