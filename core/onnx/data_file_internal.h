// SPDX-License-Identifier: Apache-2.0
// The file beside a model that holds its large initializers: what it is called, and which one an
// earlier model of the same path reads.
#pragma once

#include "core/support/file.h"

#include <string>
#include <vector>

namespace fuselage::model_io {

/// "<file>.<16 digits>.data", the digits told by the contents: a file of that name that is there
/// already holds the same, whoever else reads it, and an earlier model keeps its own until the new
/// one stands in its place.
std::string dataFileName(const std::string& path, const std::vector<FilePiece>& pieces);

/// The name, of the form above, of the file that the model at this path reads its initializers
/// from; empty: there is no model, or it reads none of that form.
std::string dataFileOf(const std::string& path);

} // namespace fuselage::model_io
