// SPDX-License-Identifier: Apache-2.0
// Input tensors for a run: generated from a seed, with a person's numbers in single ones, or read
// from a folder of input_N.pb files.
#pragma once

#include "core/graph/graph.h"
#include "core/support/result.h"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fuselage::app {

/// One tensor per graph input. Shapes must be static. Floats are standard normal; integer inputs
/// that index a table, also with a constant offset, stay below its extent; those that are only
/// computed with are small, of both signs, and some at the ends of types; what decoders name as the
/// length of their caches is that length; others are 0 or 1.
Result<std::vector<Tensor>> generateInputs(const Graph& graph, uint64_t seed);

/// A number for inputs of any element type.
struct InputNumber {
    double real = 0;
    std::optional<int64_t> whole = {}; ///< the same exactly, where it was written as an integer
};

/// "16000", "-0.5", "1e-3"; none: no number. Integers of 64 bits keep every digit.
std::optional<InputNumber> inputNumber(std::string_view text);

/// What all elements of single inputs are, by the input's name: a rate, a flag, a length.
using InputNumbers = std::map<std::string, InputNumber>;

/// `inputs` are parallel to the graph's. Error "run.set": no input has this name, or its element
/// type does not hold the number.
Result<void> setInputs(const Graph& graph, const InputNumbers& numbers,
                       std::vector<Tensor>& inputs);

/// The file in the folder that holds an input: input_N.pb, input_N.npy or NAME.npy, NAME being the
/// input's; the first where there is none. `input_1.npy` is by name where an input is called so.
std::string inputFile(const std::string& folder, const Graph& graph, size_t input);

/// Reads these files, one for each input of the graph. Tensors that all have an input's name go to
/// it. Error "run.input": one has the name of another input, or there are more.
Result<std::vector<Tensor>> readTensors(const std::string& folder, const Graph& graph);

} // namespace fuselage::app
