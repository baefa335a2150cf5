// SPDX-License-Identifier: Apache-2.0
// Trained models of others in a folder, each with stored inputs: NAME.onnx with
// NAME_data/input_0.pb and so on, further cases of the same model in NAME@CASE_data. Finds and
// opens them; judges nothing.
#pragma once

#include "app/pipeline/model.h"
#include "core/graph/tensor.h"

#include <map>
#include <string>
#include <vector>

namespace fuselage::strangers {

struct Case {
    std::string name; ///< "NAME" or "NAME@CASE"
    std::string model, data;
};

/// Every case of the folder by name, or those that `only` names: NAME takes all of a model. A model
/// without stored inputs is a case without data. Error "strangers.folder".
Result<std::vector<Case>> findCases(const std::string& folder,
                                    const std::vector<std::string>& only);

struct Opened {
    app::LoadedModel model;
    std::vector<Tensor> inputs;          ///< parallel to the graph's inputs
    std::map<std::string, int64_t> dims; ///< what the inputs say about symbols
};

/// Loaded and prepared, with its inputs: the stored ones, else generated for the smallest
/// dimensions.
Result<Opened> open(const Case& stranger);

/// input_0.pb and so on of a folder, one for each of the graph's inputs; none when there is no such
/// folder.
Result<std::vector<Tensor>> storedInputs(const Graph& graph, const std::string& folder);

/// What tensors say about symbols that stand alone in an input's shape.
std::map<std::string, int64_t> dimensionsOf(const Graph& graph, const std::vector<Tensor>& inputs);

} // namespace fuselage::strangers
