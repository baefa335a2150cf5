// SPDX-License-Identifier: Apache-2.0
// Contractions in types that oneDNN does not have, or with operands that it does not take.
#pragma once

#include "core/cpu/kernel.h"

#include <memory>
#include <string>

namespace fuselage::cpu {

class PlainContraction {
public:
    virtual ~PlainContraction() = default;

    /// The sums go to `c`, row-major over the program's space, of type program.accumulate.
    virtual void run(const std::byte* a, const std::byte* b, std::byte* c, std::byte* scratch,
                     Threads& threads) const = 0;

    size_t scratchBytes = 0;
    std::string tactic = "plain loops";
    bool isFallback = true; ///< one result element at a time
};

/// Products of matrices by vector loops (column_product.h), convolutions as such products
/// (padded_convolution.h), else by plain loops.
std::unique_ptr<PlainContraction> makePlainContraction(const Contraction& program,
                                                       const OperandLayout& a,
                                                       const OperandLayout& b,
                                                       const PrepareContext& context);

} // namespace fuselage::cpu
