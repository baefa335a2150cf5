// SPDX-License-Identifier: Apache-2.0
#include "app/cli/saved_files.h"

#include "app/pipeline/model.h"
#include "app/report/format.h"

#include <fmt/format.h>

namespace fuselage::cli {

Result<void> requireData(const Graph& graph) {
    for (const app::MissingOperator& missing : app::missingOperators(graph))
        if (missing.op.ends_with(".AbsentData"))
            return failure("load.external_missing",
                           fmt::format("a model without its weights is not written: `{}`{} {} "
                                       "none, since {}",
                                       missing.nodes.front(),
                                       missing.nodes.size() == 1
                                           ? ""
                                           : fmt::format(" and {} more", missing.nodes.size() - 1),
                                       missing.nodes.size() == 1 ? "has" : "have", missing.why),
                           "", "put the data file beside the model that is read");
    return {};
}

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
