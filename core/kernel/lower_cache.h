// SPDX-License-Identifier: Apache-2.0
// Programs of bodies that were lowered before: models repeat their blocks, so that most bodies are
// alike in all but names and weights. Holds what one plan needs; nothing is kept between plans.
#pragma once

#include "core/kernel/lower.h"

#include <optional>
#include <string>
#include <unordered_map>

namespace fuselage {

/// What lower() can see of a graph, written so that equal texts mean equal programs: operators,
/// attributes, types, wiring, and of constants what lowering may read (all of integers and of a few
/// elements; of other ones whether all elements are the same, and which). No names.
class BodyKey {
public:
    void add(const Type& type);
    void add(const Attributes& attributes);
    void add(const Tensor& constant);
    void add(const std::string& text);

    void add(uint64_t number) {
        m_text.append(reinterpret_cast<const char*>(&number), sizeof number);
    }

    /// The operator and the attributes; nothing about its operands.
    void addOperator(const Node& node);

    /// Holds what has no key: subgraphs, fused nodes.
    bool isOpaque() const { return m_opaque; }

    std::string take() { return std::move(m_text); }

private:
    std::string m_text;
    bool m_opaque = false;
};

/// None when the body holds subgraphs or fused nodes.
std::optional<std::string> keyOf(const LowerRequest& request);

class LowerCache {
public:
    /// As the function of that name; the program has the request's own body.
    LowerResult lowerWithin(const LowerRequest& request, NumericClass allowed);

    /// Bodies that were not lowered again.
    size_t hits() const { return m_hits; }

private:
    std::unordered_map<std::string, KernelProgram> m_programs; ///< by key and class
    size_t m_hits = 0;
};

} // namespace fuselage
