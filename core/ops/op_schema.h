// SPDX-License-Identifier: Apache-2.0
// What ONNX and ONNX Runtime publish about their operators, version by version: which operands may
// be left out, of which element types they are, which attributes there are. Read from
// resources/operators/operators*.txt; says nothing about what is computed here, which is the op
// table's.
#pragma once

#include "core/ops/op_table.h"

#include <string>
#include <string_view>
#include <vector>

namespace fuselage {

/// Element types that an operand may have; an empty set where nothing restricts it, or nothing is
/// known.
class ElementTypes {
public:
    void add(DType type) { m_bits |= 1U << static_cast<unsigned>(type); }

    void add(ElementTypes types) { m_bits |= types.m_bits; }

    bool restricted() const { return m_bits != 0; }

    bool allows(DType type) const {
        return !restricted() || (m_bits >> static_cast<unsigned>(type) & 1U) != 0;
    }

    /// "a float type", "int32 or int64": for messages.
    std::string text() const;

    bool operator==(const ElementTypes&) const = default;

private:
    uint32_t m_bits = 0;
};

struct OperandSchema {
    std::string name;
    std::string_view type; ///< a name among OpSchema::types, or an element type; empty: any
    bool optional = false;
    bool variadic = false; ///< any number, only of the last one
};

struct OpSchema {
    int64_t since = 1; ///< first opset with this form
    std::vector<OperandSchema> inputs, outputs;
    std::vector<AttributeSchema> attributes; ///< sorted by name
    std::string_view types;                  ///< "T=float,double Tind=int32,int64"

    /// Null when the operator has no such attribute.
    const AttributeSchema* attribute(std::string_view name) const;
    /// False past the last input, and for those of a variadic one.
    bool isOptionalInput(size_t slot) const;
    /// Of an input; those past a variadic one are as it is.
    ElementTypes inputTypes(size_t slot) const;
};

/// The newest form that is not newer than `version`; null for operators that are not published, not
/// yet there or withdrawn. "" is ai.onnx.
const OpSchema* publishedSchema(std::string_view domain, std::string_view name, int64_t version);

/// "Clip", "com.microsoft.QAttention": all that are published and not withdrawn, sorted.
const std::vector<std::string>& publishedOperators();

/// The first opset of ai.onnx that has the operator; 1 where none is known to.
int64_t firstOpset(std::string_view name);

/// That of the form in which graphs hold the operator.
const OpSchema* publishedSchema(Op op);

/// What any form from that one on allows for an input: all floats where it allows some, since
/// precisions are Fuselage's own business.
ElementTypes inputTypesOf(Op op, size_t slot);

/// An operand that says how, by whole numbers or a flag, and holds no data: the shape of Reshape,
/// axes; not a stored zero point.
bool isParameterInput(Op op, size_t slot);

/// First opset from that form on in which the operator has the attribute; 1 where none has, as for
/// attributes that are of the normal form only.
int64_t attributeSince(Op op, std::string_view name);

/// The newest opset of ai.onnx that the published forms tell of.
int64_t newestPublishedOpset();

/// Adds forms of a release that the binary does not have, in the notation of operators.txt. Before
/// models are read: schemas that were asked for before may move. Error "schema.line" names the
/// line.
Result<void> publishOperators(std::string_view text);

} // namespace fuselage
