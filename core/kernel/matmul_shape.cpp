// SPDX-License-Identifier: Apache-2.0
#include "core/kernel/matmul_shape.h"

namespace fuselage {

std::variant<MatMulShape, Reason> matMulShape(const Contraction& program, const StridedAccess& a,
                                              const StridedAccess& b, const StridedAccess& c) {
    auto loopsOf = [&](size_t first, size_t count, const Extents& extents, size_t extentAt) {
        std::vector<Loop> loops;
        for (size_t i = 0; i < count; ++i) {
            size_t d = first + i;
            if (extents[extentAt + i] == 1)
                continue;
            int64_t written = d < c.strides.size() ? c.strides[d] : 0;
            loops.push_back({extents[extentAt + i], {a.strides[d], b.strides[d], written}});
        }
        mergeNeighbours(loops);
        return loops;
    };
    size_t batchDims = program.batchDims, mDims = program.mDims, nDims = program.nDims;
    MatMulShape out;
    out.aOffset = a.offset;
    out.bOffset = b.offset;
    out.cOffset = c.offset;
    out.batch = loopsOf(0, batchDims, program.space, 0);
    std::vector<Loop> m = loopsOf(batchDims, mDims, program.space, batchDims);
    std::vector<Loop> n = loopsOf(batchDims + mDims, nDims, program.space, batchDims + mDims);
    std::vector<Loop> k = loopsOf(program.space.size(), program.k.size(), program.k, 0);
    if (k.size() > 1)
        return Reason{"layout", "the reduced dimensions do not lie one after the other", {}, {}};
    // What does not merge into one loop repeats the multiplication.
    for (std::vector<Loop>* group : {&m, &n})
        while (group->size() > 1) {
            out.batch.push_back(group->front());
            group->erase(group->begin());
        }
    if (!m.empty()) {
        out.m = m[0].extent;
        out.aM = m[0].strides[0];
        out.cM = m[0].strides[2];
    }
    if (!n.empty()) {
        out.n = n[0].extent;
        out.bN = n[0].strides[1];
        out.cN = n[0].strides[2];
    }
    if (!k.empty()) {
        out.k = k[0].extent;
        out.aK = k[0].strides[0];
        out.bK = k[0].strides[1];
    }
    mergeNeighbours(out.batch);
    return out;
}

} // namespace fuselage
