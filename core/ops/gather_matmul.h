// SPDX-License-Identifier: Apache-2.0
// GatherMatMul, an operator of our own: rows times the matrices that indices choose among many, as
// a mixture of experts multiplies. It is what MatMul of Gather says, without a copy of a matrix for
// each row.
//
//   Y[t, j, n] = sum over k of X[t, k] * W[index[t, j], n, k]        or X[t, j, k] where X has that
//   axis
//
// W is of X's type, or holds `bits` bits an element in bytes, lowest first, each row of K from a
// byte on, for (code - origin) * scale with a scale and an origin for each row of K, or each
// `block_size` elements of it. `distinct`: the indices of a token are known to differ.
#pragma once

#include "core/ops/op_table.h"

#include <memory>
#include <optional>
#include <span>

namespace fuselage {

std::span<const OpRow> gatherMatMulRows();

/// Places of a GatherMatMul's inputs.
enum class GatherMatMulInput : uint8_t { X, W, Index, Scales, Origins };

/// The sizes of one.
struct GatherMatMul {
    int64_t tokens = 0;   ///< t
    int64_t chosen = 0;   ///< j
    int64_t matrices = 0; ///< what indices are below
    int64_t n = 0, k = 0;
    int64_t bits = 0;     ///< 0: W is of X's type
    int64_t blocks = 1;   ///< scales of a row of K
    int64_t block = 0;    ///< elements of one; the last one may end behind K
    bool ownRows = false; ///< X is [t, j, k]

    using Operands = std::span<const std::optional<Extents>>;

    /// Of operands with these extents; none for those that are left out. An error where they do not
    /// go together.
    static Result<GatherMatMul> of(const Node& node, Operands inputs);

    int64_t rows() const { return tokens * chosen; }

    int64_t rowBytes() const { return (k * bits + 7) / 8; } ///< of a stored row of K

    /// The code of an element of a stored row.
    int64_t code(const uint8_t* row, int64_t at) const {
        const int64_t bit = at * bits;
        return row[bit >> 3] >> (bit & 7) & ((1 << bits) - 1);
    }

    /// What codes are counted from without origins.
    int64_t middle() const { return int64_t{1} << (bits - 1); }
};

/// Whether fewer matrices are asked for than there are, as far as that is known.
bool choosesFew(const Graph& graph, const Node& node);

/// The node in ONNX's operators, for files and for backends without a routine of it: inputs and
/// outputs are the node's, the inputs' types those of `graph`. `few`: the matrices are taken out
/// that are asked for, each as often as it is; else every row meets every matrix.
std::shared_ptr<const Graph> gatherMatMulBody(const Graph& graph, const Node& node, bool few);

} // namespace fuselage
