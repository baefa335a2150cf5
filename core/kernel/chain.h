// SPDX-License-Identifier: Apache-2.0
// Chains: two matrix products of which the second one multiplies what the first one made. Says
// which two programs are one and how its operands are numbered; whether that pays is the planner's.
#pragma once

#include "core/kernel/program.h"

#include <variant>

namespace fuselage {

/// The two as one program, whose body is theirs where both have one. Reason "kind" where one is no
/// plain matrix product of floats, "io-count" where the hidden value is read otherwise than as A,
/// "shape-mismatch" where the rows of both are not the same, one by one.
std::variant<KernelProgram, Reason> chained(const KernelProgram& first,
                                            const KernelProgram& second);

/// The input of the second member that the first one makes.
uint32_t linkOf(const Chain& chain);

/// The input of the chain's program that an input of a member is; not of the link.
uint32_t chainInput(const Chain& chain, size_t member, uint32_t input);

/// Of a member's B.
uint32_t chainWeight(const Chain& chain, size_t member);

/// Rows of both products.
int64_t chainRows(const Chain& chain);

const Contraction& productOf(const Chain& chain, size_t member);

} // namespace fuselage
