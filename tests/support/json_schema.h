// SPDX-License-Identifier: Apache-2.0
// JSON Schema for tests: the keywords that the schemas of resources/schemas use, and no others; a
// keyword that is not known here is reported, so that no schema promises more than is checked.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

namespace fuselage::testing_support {

/// What is wrong with the document, one line each with its path; `folder` is where $ref looks.
std::vector<std::string> schemaErrors(const nlohmann::json& document, const std::string& folder,
                                      const std::string& schemaFile);

} // namespace fuselage::testing_support
