// SPDX-License-Identifier: Apache-2.0
// What TensorRT documents of the pairs that it takes: signed types around zero, one scale for an
// activation, 4-bit weights in blocks of two sizes. For findings about others' pairs and for a note
// about our own; nothing here decides what is written.
#pragma once

#include "app/quantize/pair_plan.h"
#include "core/graph/dtype.h"

#include <string>

namespace fuselage::quantize {

/// int8, int4 of constants, float8e4m3fn and float4e2m1.
bool tensorRtTakes(DType stored);

/// Elements of a 4-bit weight along what is summed that share a scale: 64 or 128.
bool tensorRtTakesBlock(int64_t block);

/// One sentence about the lines that it takes none of, each kind once; empty where it takes all.
std::string tensorRtNote(const PairPlan& plan);

} // namespace fuselage::quantize
