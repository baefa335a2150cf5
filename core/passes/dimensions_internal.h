// SPDX-License-Identifier: Apache-2.0
// The axes of a graph's inputs, for the files of this room that give them sizes.
#pragma once

#include "core/graph/graph.h"
#include "core/support/result.h"

#include <map>
#include <set>
#include <string>
#include <vector>

namespace fuselage {

/// One axis of one input.
struct InputAxis {
    ValueId input;
    size_t axis = 0;
    std::string name; ///< of axisName
    Dim dim;
};

std::vector<InputAxis> inputAxes(const Graph& graph);

/// The names in the shapes of the inputs.
std::set<std::string> inputSymbols(const Graph& graph);

void setInputDim(Graph& graph, const InputAxis& axis, Dim dim);

/// Which of `axes` a person means: all of the dimension of that name, else the axis.
std::vector<size_t> axesNamed(const std::vector<InputAxis>& axes, const std::string& name);

/// "dim.unknown", with the names there are.
Error unknownDimension(const std::string& name, const Graph& graph);

/// Puts numbers for symbols in every type, so that nothing declared contradicts the inputs.
void bindTypes(Graph& graph, const std::map<std::string, int64_t>& values);

/// What is declared inside with one of these names says nothing any more.
void forgetInside(Graph& graph, const std::set<std::string>& names);

} // namespace fuselage
