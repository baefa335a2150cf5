// SPDX-License-Identifier: Apache-2.0
// Sizes for what a file leaves open in the shapes of its inputs: names for each axis, numbers from
// given tensors, and where nothing gives a number, the smallest sizes that fit the graph.
#pragma once

#include "core/graph/graph.h"
#include "core/support/result.h"

#include <map>
#include <span>
#include <string>
#include <vector>

namespace fuselage {

/// Sizes by the name of a dimension ("N") or of an axis of an input ("x.2").
using DimensionValues = std::map<std::string, int64_t>;

/// How a person names an axis of an input: "x.2".
std::string axisName(const std::string& input, size_t axis);

/// For a graph as its file declares it: what stands for "unknown" (no size, `?`, -1, 0 ...) becomes
/// a dimension of its own, named after its axis. Notes say which.
std::vector<std::string> separatePlaceholders(Graph& graph);

/// A name that several axes share, and that `given` gives no size, becomes one dimension for each
/// axis; what is declared with it inside becomes unknown. Notes say which; none: nothing changed.
std::vector<std::string> separateSharedNames(Graph& graph, const DimensionValues& given);

/// Sizes by names that end in `?` count where the graph has the dimension, under its name; the
/// others are left out, which a note says. For sizes that are given to many models at once.
DimensionValues whereThere(const Graph& graph, const DimensionValues& given,
                           std::vector<std::string>& notes);

/// Sizes by axis ("x.2") become sizes of that axis' dimension; where it shares its name with axes
/// of another size, the axis gets a name of its own, which a note says. Errors "dim.unknown",
/// "dim.negative", "dim.contradiction".
Result<DimensionValues> resolveDimensions(Graph& graph, const DimensionValues& given,
                                          std::vector<std::string>& notes);

/// Input types become those of the given tensors, lengths of zero included; a name that they give
/// two sizes is said in a note. Errors "run.input", and those of resolveDimensions where `given`
/// says another size.
Result<void> bindToInputs(Graph& graph, std::span<const Tensor> inputs,
                          const DimensionValues& given, std::vector<std::string>& notes);

/// The same sizes by the names of the dimensions, which stay open; of two sizes the first. Names
/// each open dimension of the inputs.
Result<DimensionValues> sizesOfInputs(Graph& graph, std::span<const Tensor> inputs,
                                      const DimensionValues& given,
                                      std::vector<std::string>& notes);

/// What is declared for the value of that name, and everything that was inferred from it, is taken
/// back. False: no node makes such a value.
bool forgetShape(Graph& graph, const std::string& value);

struct DimensionChoice {
    DimensionValues values; ///< of every dimension of the inputs that has no number
    std::string note;       ///< which were taken and how to give others; empty: all were given
};

/// The sizes in `given`, and for the others the smallest that shape inference accepts: 1 where that
/// fits, multiples of 32 for images, sizes that the first failing node mentions; but 224 for both
/// sides of an input with up to four channels, where that fits as well. The graph stays as
/// it is. Error "dim.open" names the dimensions that must be given.
Result<DimensionChoice> chooseDimensions(const Graph& graph, const DimensionValues& given);

/// Sizes for the open dimensions of the inputs that differ from `values` and fit as far as shape
/// inference tells: each another one where that fits, else as many as do. Empty: none were found.
DimensionValues otherSizes(const Graph& graph, const DimensionValues& values);

} // namespace fuselage
