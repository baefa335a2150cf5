// SPDX-License-Identifier: Apache-2.0
// A model that cannot be analysed, as far as it can be shown: its graph and nothing of what runs.
#pragma once

#include "app/pipeline/model.h"
#include "app/pipeline/report.h"

namespace fuselage::app {

/// Of a file that does not load: what it says, unchecked (core/onnx/outline.h). Only the graph
/// before fusion and the model's part of the Report are filled. Errors: of a file that holds no
/// graph.
Result<Report> sketchOfFile(const std::string& path);

/// Of a model that loaded and goes no further: types are as far as they are known.
Report sketchOf(const LoadedModel& model);

/// The node of the sketch that the error is about: a name in its place; empty where none is.
std::string placeOf(const Error& error, const Report& sketch);

} // namespace fuselage::app
