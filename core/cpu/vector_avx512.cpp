// SPDX-License-Identifier: Apache-2.0
// The vector loops compiled for one instruction set; flags are set in CMakeLists.txt here.
#define FUSELAGE_ISA avx512
#include "core/cpu/vector_body.h"
