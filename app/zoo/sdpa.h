// SPDX-License-Identifier: Apache-2.0
// Attention between two sequences as PyTorch's exporter writes scaled_dot_product_attention: four
// linear layers, the root of the scale on both operands of the first product.
#pragma once

#include "app/zoo/builder.h"

namespace fuselage::zoo {

struct SdpaSpec {
    int64_t width = 0, heads = 0;
    int64_t contextWidth = 0; ///< of what keys and values are made of; 0: as `width`
    bool bias = true;         ///< of the three layers in front; the last one always has it
};

/// [N, L, width] from queries [N, L, width], keys [N, M, contextWidth] and values like them.
ValueId sdpa(Builder& b, const std::string& name, const SdpaSpec& spec, ValueId queries,
             ValueId keys, ValueId values);

/// The same where one value is all three.
ValueId sdpa(Builder& b, const std::string& name, const SdpaSpec& spec, ValueId x);

/// Two linear layers with Gelu (erf) between them.
ValueId feedForward(Builder& b, const std::string& name, ValueId x, int64_t width, int64_t inner);

} // namespace fuselage::zoo
