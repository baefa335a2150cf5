// SPDX-License-Identifier: Apache-2.0
// Which opset the file of a graph declares, for whoever says so before or after save().
#pragma once

#include "core/onnx/model_file.h"

#include <string>

namespace fuselage::model_io {

/// In whose form graphs hold operators.
constexpr int64_t normalOpset = 17;
/// From which on files can be written: before, quantisation had one scale a tensor.
constexpr int64_t oldestOpset = 13;

/// The smallest opset from `least` on, oldestOpset to normalOpset, that has all operators of the
/// graph, subgraphs and bodies included, in the form in which they are used. Fused nodes need
/// normalOpset: files knew no functions before.
int64_t opsetFor(const Graph& graph, int64_t least = normalOpset);

/// The opset that the graph came in, where save() can write it; else the next one that it can.
int64_t ownOpset(const Graph& graph);

/// toBytes() and save() of model_file.h for a file of opsetFor(graph, least).
Result<std::string> toBytesOf(const Graph& graph, int64_t least);
Result<SavedFiles> saveOf(const Graph& graph, const std::string& path, int64_t least,
                          const SaveOptions& options = {});

} // namespace fuselage::model_io
