// SPDX-License-Identifier: Apache-2.0
#include "app/quantize/tensorrt.h"

#include <algorithm>
#include <vector>

namespace fuselage::quantize {

bool tensorRtTakes(DType stored) {
    return stored == DType::Int8 || stored == DType::Int4 || stored == DType::Float8E4M3FN ||
           stored == DType::Float4E2M1;
}

bool tensorRtTakesBlock(int64_t block) {
    return block == 64 || block == 128;
}

std::string tensorRtNote(const PairPlan& plan) {
    std::vector<std::string> kinds;
    for (const Pair& pair : plan.pairs) {
        std::string kind;
        if (!tensorRtTakes(dtypeOf(pair.type)))
            kind = nameOf(pair.type);
        else if (pair.type == StoredType::Int4 && !tensorRtTakesBlock(pair.block))
            kind = pair.block > 0 ? "int4 in blocks of " + std::to_string(pair.block)
                                  : "int4 without blocks";
        if (!kind.empty() && std::find(kinds.begin(), kinds.end(), kind) == kinds.end())
            kinds.push_back(kind);
    }
    std::string out;
    for (const std::string& kind : kinds)
        out += (out.empty() ? "TensorRT takes no " : ", no ") + kind;
    return out.empty() ? out
                       : out + "; only int8, float8e4m3fn and, of constants, int4 in blocks of 64 "
                               "or 128";
}

} // namespace fuselage::quantize
