// SPDX-License-Identifier: Apache-2.0
// Chains: two matrix products of which the second one multiplies what the first one made, perhaps
// behind a Row that makes what the first one multiplies; or a Row and one product. Says which two
// programs are one and how its operands are numbered; whether that pays is the planner's.
#pragma once

#include "core/kernel/program.h"

#include <optional>
#include <variant>

namespace fuselage {

/// The two as one program, whose body is theirs where both have one: two products, or a Row and
/// either a product or a chain of two. Reason "kind" where they are neither, or a product is no
/// plain one of floats; "io-count" where what the first one makes is read otherwise than as A;
/// "shape-mismatch" where the rows of both are not the same, one by one.
std::variant<KernelProgram, Reason> chained(const KernelProgram& first,
                                            const KernelProgram& second);

/// The input of the second member that the first one makes.
uint32_t linkOf(const Chain& chain);

/// The input of the chain's program that an input of a member is; not of the link.
uint32_t chainInput(const Chain& chain, size_t member, uint32_t input);

/// One, behind a Row, or two.
size_t productCount(const Chain& chain);

/// The program in front of the products; null: none.
const KernelProgram* rowsOf(const Chain& chain);

const KernelProgram& productProgram(const Chain& chain, size_t product);
const Contraction& productOf(const Chain& chain, size_t product);

/// What the Row in front reads, over the space of the first product: along k in place of along the
/// row.
Access rowReadInProduct(const Chain& chain, const Access& read);

/// The input of the chain's program that an input of a product is; none: a member makes it.
std::optional<uint32_t> productInput(const Chain& chain, size_t product, uint32_t input);

/// Of a product's B.
uint32_t chainWeight(const Chain& chain, size_t product);

/// Rows of its products.
int64_t chainRows(const Chain& chain);

/// Blocks that a GPU's multiprocessor runs of a product that makes the rows in front of it: each
/// makes them all, and two keep enough of the weight under way.
constexpr int64_t blocksBehindRows = 2;

} // namespace fuselage
