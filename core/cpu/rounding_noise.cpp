// SPDX-License-Identifier: Apache-2.0
#include "core/cpu/rounding_noise.h"

#include "core/ops/op_table.h"
#include "core/support/hash.h"

#include <algorithm>
#include <cmath>

namespace fuselage {

namespace {

constexpr double mostMoved = 0x1p-22; ///< four times what one correct rounding may lose
constexpr double ofDoubles = 0x1p-51; ///< the same of the numbers that stand for exact ones
constexpr double countable = 0x1p53;  ///< beyond, doubles leave whole numbers out

/// One step of splitmix64, as a number in [-1, 1).
double nextSigned(uint64_t& state) {
    uint64_t x = state += 0x9e3779b97f4a7c15ULL;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
    return static_cast<double>(static_cast<int64_t>(x ^ (x >> 31))) * 0x1p-63;
}

} // namespace

void addRoundingNoise(const Node& node, uint64_t seed, ReferenceValue& result) {
    if (result.kind != TypeKind::Tensor || !isFloat(result.dtype) ||
        hasTrait(node.op, View | DataMovement | ControlFlow) || node.op == Op::Fused)
        return;
    const bool isSingle = result.dtype == DType::Float32;
    const bool adds = !hasTrait(node.op, Elementwise);
    double largest = 0;
    for (double value : result.floats)
        if (adds && std::isfinite(value))
            largest = std::max(largest, std::fabs(value));
    uint64_t state = Hasher().number(seed).text(node.name).value();
    for (double& value : result.floats) {
        const double moved = nextSigned(state) * (isSingle ? mostMoved : ofDoubles) *
                             (adds ? largest : std::fabs(value));
        const bool isRounded = isSingle && roundTo(DType::Float32, value) != value;
        if (std::isfinite(value) && (isRounded || std::fabs(value) > countable))
            value += moved;
    }
}

} // namespace fuselage
