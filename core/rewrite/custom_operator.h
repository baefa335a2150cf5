// SPDX-License-Identifier: Apache-2.0
// An operator that the op table has no row of, as rules name it: by domain and name. What is known
// of it besides comes from the schema data file or from an `op` item of a .fuse file.
#pragma once

#include "core/graph/graph.h"
#include "core/ops/op_table.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fuselage {

struct Rule;

struct CustomOperator {
    std::string domain; ///< "" is ai.onnx
    std::string name;
    bool isKnown = false; ///< what stands below is: from the schema data file or an `op` item
    std::vector<std::string> inputs; ///< names, in order; the last one repeats if variadic
    size_t minInputs = 0, maxInputs = SIZE_MAX, maxOutputs = SIZE_MAX;
    std::vector<AttributeSchema> attributes; ///< sorted by name
    /// A rewrite from the operator to what it computes; null where nobody has said it.
    std::shared_ptr<const Rule> body;

    /// "com.acme.Gated".
    std::string text() const { return domain.empty() ? name : domain + "." + name; }

    /// The node is this operator, with a body of its own (Op::Fused) or without.
    bool is(const Node& node) const;

    const AttributeSchema* attribute(std::string_view attribute) const;
    /// Position of an input of that name.
    std::optional<size_t> input(std::string_view name) const;
};

using CustomOperatorPtr = std::shared_ptr<const CustomOperator>;

} // namespace fuselage
