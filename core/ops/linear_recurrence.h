// SPDX-License-Identifier: Apache-2.0
// LinearRecurrence, an operator of our own: a matrix of state for each head, to which every token
// adds a product of vectors and from which it is read, as linear attention does token by token. It
// is what a Scan over the tokens says.
//
//   S = decay S + key value            or, with a rate,
//   S = decay S + rate key (value - key' decay S)
//   result[b, t, h] = query[b, t, h] S
//
//   state [B, H, K, V]; query [B, T, H, R, K]; key [B, T, H, K, 1]; value [B, T, H, 1, V];
//   decay, what is kept of each row of the state, [B, T, H, K or 1, 1]; rate [B, T, H or 1, 1, 1]
//
// Results: the state behind the last token, and [B, T, H, R, V], of the types of the state and the
// query. Operands may be of several types of floats: what decays token by token is rounded in none
// of fewer bits without harm.
#pragma once

#include "core/ops/op_table.h"

#include <memory>
#include <optional>
#include <span>

namespace fuselage {

std::span<const OpRow> linearRecurrenceRows();

/// Places of a LinearRecurrence's inputs; the last two may be left out.
enum class RecurrenceInput : uint8_t { State, Query, Key, Value, Decay, Rate };

/// The sizes of one.
struct LinearRecurrence {
    int64_t batch = 0, tokens = 0, heads = 0;
    int64_t rows = 0;   ///< of a query
    int64_t depth = 0;  ///< k
    int64_t width = 0;  ///< v
    int64_t decays = 0; ///< of a head: depth, 1, or 0 where all is kept
    int64_t rates = 0;  ///< of a token: heads, 1, or 0 where nothing is corrected

    using Operands = std::span<const std::optional<Extents>>;

    /// Of operands with these extents; none for those that are left out. An error where they do not
    /// go together.
    static Result<LinearRecurrence> of(const Node& node, Operands inputs);

    /// Elements before those of a token and head in an operand with `each` of them.
    int64_t first(int64_t b, int64_t t, int64_t h, int64_t each) const {
        return ((b * tokens + t) * heads + h) * each;
    }

    /// The rate's element; there is one.
    int64_t rateAt(int64_t b, int64_t t, int64_t h) const {
        return (b * tokens + t) * rates + (rates == 1 ? 0 : h);
    }
};

/// The node in ONNX's operators, for files: inputs and outputs are the node's, the inputs' types
/// those of `graph`.
std::shared_ptr<const Graph> linearRecurrenceBody(const Graph& graph, const Node& node);

} // namespace fuselage
