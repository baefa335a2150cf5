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

    /// The same for a body that nobody else has: where one like it was lowered before, that one
    /// takes its place in the request and in the program. Names in it are then another node's.
    LowerResult lowerShared(LowerRequest& request, NumericClass allowed);

    /// Equal for programs made here that are equal but for their bodies; 0: nothing is known. So
    /// what takes long to find out of a program need be found once for all that are alike.
    uint32_t alike(const KernelProgram& program) const;

    /// Bodies that were not lowered again.
    size_t hits() const { return m_hits; }

private:
    struct Known {
        KernelProgram program;
        uint32_t number = 0;
    };

    /// Of one lowered before `known`, else `result`.
    struct Lowered {
        const Known* known = nullptr;
        std::optional<LowerResult> result;
    };

    Lowered lower(const LowerRequest& request, NumericClass allowed);
    void note(const std::shared_ptr<const Graph>& body, uint32_t number);

    std::unordered_map<std::string, Known> m_programs; ///< by key and class
    /// By body, which is kept alive so that no other one gets its address.
    std::unordered_map<std::shared_ptr<const Graph>, uint32_t> m_numbers;
    size_t m_hits = 0;
};

} // namespace fuselage
