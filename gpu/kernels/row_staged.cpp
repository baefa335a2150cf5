// SPDX-License-Identifier: Apache-2.0
// Rows that a kernel of another kind makes in its shared memory before it goes on: the passes of
// row_emitter as a device function. Few rows, so a row may have a block or a warp of its own.
#include "core/graph/type.h"
#include "gpu/kernels/row_emitter.h"

#include <fmt/format.h>

namespace fuselage::gpu {

namespace {

constexpr int64_t mostKept = 32; ///< elements of a thread; longer rows are read again

} // namespace

StagedRows RowEmitter::emitStaged(const std::string& name) {
    m_staged = true;
    const int width = widestVector();
    const bool alone = rows() == 1;
    const bool keeps = keptElements(alone ? defaultThreads : 32, width) <= mostKept;
    const KernelPart part =
        emit({alone ? RowTeam::Block : RowTeam::Warp, defaultThreads, width, keeps, -1});
    m_staged = false;
    StagedRows out;
    out.numeric = part.numeric;
    out.sharedBytes = part.sharedBytes;
    out.functions = fmt::format("{}/// {} rows of {}, by all threads of a block.\n"
                                "__device__ __forceinline__ void {}({}) {{\n"
                                "    const unsigned block = 0;\n{}}}\n\n",
                                part.functions, rows(), length(), name,
                                parameterList(m_request, {}, true), part.body);
    return out;
}

} // namespace fuselage::gpu
