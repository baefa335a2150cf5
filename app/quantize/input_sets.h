// SPDX-License-Identifier: Apache-2.0
// The inputs that a model is calibrated and checked with: sets of tensors from a folder, read one
// at a time, or generated ones.
#pragma once

#include "app/pipeline/inputs.h"
#include "core/graph/graph.h"
#include "core/passes/dimensions.h"
#include "core/support/result.h"

#include <string>
#include <vector>

namespace fuselage::quantize {

class InputSets {
public:
    /// A folder with input_0.pb, input_1.pb ... or arrays of NumPy's is one set; one with such
    /// folders inside has a set in each, in the order of their names. Error "quantize.data" when
    /// there is none.
    static Result<InputSets> open(const std::string& folder);
    /// `count` sets from seed, seed + 1 ..., with these numbers in single inputs.
    static InputSets generated(uint64_t seed, size_t count, app::InputNumbers numbers = {});

    size_t size() const { return m_folders.empty() ? m_count : m_folders.size(); }

    bool areGenerated() const { return m_folders.empty(); }

    /// The folder of the first set; empty where sets are generated.
    std::string firstFolder() const { return m_folders.empty() ? "" : m_folders.front(); }

    /// "8 sets of calib/", "4 generated sets, seed 1".
    std::string text() const;

    /// Parallel to the graph's inputs, which they fit; every float is finite. `dims`: sizes of open
    /// dimensions for generated ones. Errors "quantize.data" (with the file), those of reading.
    Result<std::vector<Tensor>> read(const Graph& model, const DimensionValues& dims,
                                     size_t set) const;

private:
    std::string m_folder;
    std::vector<std::string> m_folders;
    uint64_t m_seed = 1;
    size_t m_count = 0;
    app::InputNumbers m_numbers;
};

} // namespace fuselage::quantize
