// SPDX-License-Identifier: Apache-2.0
// ONNX files <-> Graph. The only room that sees protobuf; this header shows none of it.
#pragma once

#include "core/graph/graph.h"
#include "core/support/progress.h"
#include "core/support/result.h"

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace fuselage::model_io {

struct LoadOptions {
    size_t maxNodes = 2'000'000;      ///< a larger graph is refused by this limit's name
    size_t maxFileBytes = 8ULL << 40; ///< with external data, which is mapped, not read
    bool inlineFunctions = true;      ///< model-local functions become their nodes
    /// An initializer whose data file is not there becomes a node `fuselage.AbsentData` that nobody
    /// computes, saved as the initializer it was; else load.external_missing.
    bool absentData = false;
    /// Operators with a body and functions that stay one node, it inside: "com.microsoft.MoE".
    std::set<std::string> whole = {};
    /// Operators that are unknown here and known to whoever loads: no note says so.
    std::set<std::string> declared = {};
    bool restoreFused = true; ///< functions that fused nodes were saved as become these again
    /// Receives what a person should know although the model loads: unknown operators, newer
    /// opsets. May be null.
    std::vector<std::string>* notes = nullptr;
    /// Receives the operators of com.microsoft that were read as what they stand for, and how
    /// often. May be null.
    std::map<std::string, size_t>* writtenOut = nullptr;
};

/// Loads, checks and normalises a model file: one opset-independent form with schema defaults,
/// topologically sortable, unknown operators kept. Types are as declared in the file; run
/// core/passes for inference. Error codes start with "load.".
Result<Graph> load(const std::string& path, const LoadOptions& options, Progress& progress);

/// The same from bytes; external data is looked up in `folder`.
Result<Graph> loadBytes(std::string_view bytes, const std::string& folder,
                        const LoadOptions& options);

/// A graph, or a whole model with its opset line, in ONNX's textual syntax:
/// "g (float[1,3] x) => (float[1,3] y) { y = Relu(x) }".
Result<Graph> loadText(std::string_view text);

struct SaveOptions {
    size_t externalAbove = 3ULL << 29; ///< 1.5 GiB: more bytes of initializers go to a data file
    Progress* progress = nullptr; ///< told of gigabytes, and asked whether to stop; may be null
};

/// Serialises to the newest of opset 17 and what the operators need; fused nodes become
/// model-local functions of domain "fuselage". save.too_large above protobuf's 2 GiB.
Result<std::string> toBytes(const Graph& graph);

/// What save() wrote besides the model, as paths; empty: nothing.
struct SavedFiles {
    std::string data; ///< its large initializers
    uint64_t dataBytes = 0;
    std::string dataBefore; ///< those of the model that it replaced, which others may read
};

/// Writes beside and renames: a crash leaves the old model, whole, or none. Large initializers go
/// to "<file>.<hash of them>.data" beside the model, so that nobody's data are overwritten.
/// usage.output: something else has the name, which does not end in ".onnx". cancelled, and what
/// else fails, leaves no data file that was not there.
Result<SavedFiles> save(const Graph& graph, const std::string& path,
                        const SaveOptions& options = {});

/// Of the name of a data file that save() wrote the name of its model; empty: it is none.
std::string_view modelOfDataFile(std::string_view name);

/// One TensorProto file (backend test data, reference inputs and outputs); `name`: that it has.
Result<Tensor> loadTensor(const std::string& path, std::string* name = nullptr);
/// With the name that the value has in its model; may be empty.
Result<void> saveTensor(const Tensor& tensor, const std::string& path,
                        const std::string& name = {});

/// Fused nodes replaced by the nodes of their bodies: gives back the graph before fusion.
Graph inlineFused(const Graph& graph);

} // namespace fuselage::model_io
