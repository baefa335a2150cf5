// SPDX-License-Identifier: Apache-2.0
// All kernel variants; within one kind of program the always-correct one is last.
#include "gpu/emit.h"
#include "gpu/kernels/pointwise.h"

#include <algorithm>
#include <string_view>

namespace fuselage::gpu {

std::span<const VariantRow> kernelVariants() {
    static const VariantRow rows[] = {
        {"pointwise_vector", "Pointwise", emitPointwiseVector,
         "up to 8 consecutive elements a thread, accesses of 16 bytes"},
        {"pointwise_plain", "Pointwise", emitPointwisePlain,
         "one element a thread: any type, stride and size"},
    };
    return rows;
}

Candidates emitAll(const EmitRequest& request) {
    Candidates out;
    for (const VariantRow& row : kernelVariants()) {
        if (std::string_view(row.program) != kindOf(*request.program))
            continue;
        EmitResult result = row.emit(request);
        if (auto* reason = std::get_if<Reason>(&result))
            out.refused.push_back(std::move(*reason));
        else
            out.accepted.push_back(std::move(std::get<KernelSet>(result)));
    }
    return out;
}

} // namespace fuselage::gpu
