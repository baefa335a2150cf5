// SPDX-License-Identifier: Apache-2.0
// The instructions of a compiled kernel, counted without a disassembler: from sm_70 on each takes
// 16 bytes, of which the lowest 12 bits name it. Only what budgets ask for has a name here.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace fuselage::machine_code {

/// What a thread issues from the entry of a kernel to its end.
struct Instructions {
    uint32_t total = 0;
    uint32_t multiplyAdds = 0;                  ///< FFMA
    uint32_t special = 0;                       ///< MUFU: exponentials, reciprocals, roots
    uint32_t globalLoads = 0, globalStores = 0; ///< those of 16 bytes a thread
    uint32_t narrow = 0;                        ///< other accesses to global memory
    bool loops = false; ///< a branch backwards: `total` is not what a thread issues
};

/// Of the only kernel of a cubin; all zeros when it holds none.
Instructions count(const std::string& cubin);

/// The code that goes straight through, then each loop by its first instruction, without the loops
/// inside it: once through, both sides of a branch. A loop is what lies between a branch backwards
/// and its target, so that a wait whose code lies behind the end is one too. Whoever knows how
/// often the loops go round knows what a thread issues at most. Empty: no code.
std::vector<Instructions> countParts(const std::string& cubin);

/// What kernels for tensor cores, and for TMA and the warpgroups of sm_90, are made of, in the
/// whole code.
struct MatrixInstructions {
    uint32_t products = 0;      ///< HGMMA
    uint32_t integerGroups = 0; ///< IGMMA
    uint32_t integers = 0;      ///< IMMA
    uint32_t boxCopies = 0;     ///< UTMALDG
    uint32_t pixelCopies = 0;   ///< of them, those of im2col mode
    uint32_t signals = 0;       ///< SYNCS: waits for barriers in shared memory, and arrivals
    uint32_t registerMoves = 0; ///< USETMAXREG
    uint32_t local = 0;         ///< LDL, STL
};

MatrixInstructions countMatrix(const std::string& cubin);

} // namespace fuselage::machine_code
