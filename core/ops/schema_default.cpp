// SPDX-License-Identifier: Apache-2.0
// What core/graph asks of the op table: domains and defaults, for printing and saving.
#include "core/ops/op_table.h"

#include <algorithm>

namespace fuselage {

namespace {

/// Numbers compare as the single precision that files hold.
bool equalInFile(const AttributeValue& a, const AttributeValue& b) {
    const auto* left = std::get_if<double>(&a);
    const auto* right = std::get_if<double>(&b);
    if (left && right)
        return static_cast<float>(*left) == static_cast<float>(*right);
    return equal(a, b);
}

} // namespace

const char* domainOf(Op op) {
    return rowOf(op).domain;
}

std::string qualifiedNameOf(Op op) {
    const std::string domain = domainOf(op);
    return domain.empty() ? nameOf(op) : domain + "." + nameOf(op);
}

bool isSchemaDefault(Op op, std::string_view attribute, const AttributeValue& value) {
    const auto& schemas = attributesOf(op);
    auto found = std::find_if(schemas.begin(), schemas.end(), [&](const AttributeSchema& schema) {
        return schema.name == attribute;
    });
    return found != schemas.end() && found->fallback && equalInFile(*found->fallback, value);
}

} // namespace fuselage
