// SPDX-License-Identifier: Apache-2.0
// What a model file says of its graph, read without checks: for a person who wants to see a model
// that cannot be loaded (absent weights, unknown element types, contradictions, cycles). Holds no
// weights; nothing is computed from it.
#pragma once

#include "core/support/result.h"

#include <string>
#include <utility>
#include <vector>

namespace fuselage::model_io {

struct Outline {
    struct Value {
        std::string name;
        std::string type;  ///< "float[N,3,224,224]"; empty: the file does not say
        std::string dtype; ///< "float"
        bool constant = false;
    };

    struct Node {
        std::string name;                         ///< the file's, or the operator with a number
        std::string op;                           ///< with its domain, where that is not ONNX's
        std::vector<std::string> inputs, outputs; ///< names of values; empty: left out
        std::vector<std::pair<std::string, std::string>> attributes;
    };

    std::string name;
    std::vector<Value> values; ///< all that the file declares
    std::vector<Node> nodes;   ///< of the outermost graph, as they stand in the file
    std::vector<std::string> inputs, outputs;
};

/// Errors: "load.missing", "load.parse", "load.not_onnx", "load.too_large".
Result<Outline> outlineOf(const std::string& path);

/// A model-local function that is no fused node's.
struct FunctionOutline {
    std::string name;      ///< "com.acme.Gated", as rules write it
    size_t nodes = 0;      ///< of its own
    size_t calls = 0;      ///< in the graph, in its bodies and in other functions
    std::string firstCall; ///< name of the first node of the graph that calls it; may be empty
};

/// Of a file, in its order. Fast where there are none. Errors as outlineOf.
Result<std::vector<FunctionOutline>> functionsOf(const std::string& path);

} // namespace fuselage::model_io
