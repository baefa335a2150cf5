// SPDX-License-Identifier: Apache-2.0
// What ONNX and ONNX Runtime publish about their operators, version by version: which operands may
// be left out, which attributes there are. Read from resources/operators/operators.txt; says
// nothing about what is computed here, which is the op table's.
#pragma once

#include "core/ops/op_table.h"

#include <string>
#include <string_view>
#include <vector>

namespace fuselage {

struct OperandSchema {
    std::string name;
    bool optional = false;
    bool variadic = false; ///< any number, only of the last one
};

struct OpSchema {
    int64_t since = 1; ///< first opset with this form
    std::vector<OperandSchema> inputs, outputs;
    std::vector<AttributeSchema> attributes; ///< sorted by name

    /// Null when the operator has no such attribute.
    const AttributeSchema* attribute(std::string_view name) const;
    /// False past the last input, and for those of a variadic one.
    bool isOptionalInput(size_t slot) const;
};

/// The newest form that is not newer than `version`; null for operators that are not published, not
/// yet there or withdrawn. "" is ai.onnx.
const OpSchema* publishedSchema(std::string_view domain, std::string_view name, int64_t version);

/// That of the form in which graphs hold the operator.
const OpSchema* publishedSchema(Op op);

/// First opset from that form on in which the operator has the attribute; 1 where none has, as for
/// attributes that are of the normal form only.
int64_t attributeSince(Op op, std::string_view name);

} // namespace fuselage
