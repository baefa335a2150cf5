// SPDX-License-Identifier: Apache-2.0
// One program, one description: the kinds behind describe().
#pragma once

#include "gpu/libs/graph_description.h"

namespace fuselage::gpu {

using DescribeResult = std::variant<GraphDescription, Reason>;

/// `tanhGelu`: the tanh form where the epilogue has the erf one.
DescribeResult describeContraction(const KernelRequest& request, bool tanhGelu);

DescribeResult describeAttention(const KernelRequest& request);

} // namespace fuselage::gpu
