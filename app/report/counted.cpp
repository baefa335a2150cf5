// SPDX-License-Identifier: Apache-2.0
#include "app/report/counted.h"

#include "app/report/format.h"

#include <algorithm>

namespace fuselage::app {

std::string countedText(const std::optional<int64_t>& bytes) {
    return bytes ? bytesText(*bytes) : "not measured";
}

std::optional<int64_t> dramCounted(const KernelReport& kernel) {
    return kernel.measuredTraffic ? kernel.measuredTraffic->dram() : std::nullopt;
}

bool anyCounted(const std::vector<KernelReport>& kernels) {
    return std::any_of(kernels.begin(), kernels.end(), [](const KernelReport& kernel) {
        return kernel.measuredTraffic.has_value();
    });
}

std::vector<MeasuredRow> measuredTraffic(const SideReport& before, const SideReport& after) {
    const MeasuredTraffic b = before.measuredTraffic.value_or(MeasuredTraffic());
    const MeasuredTraffic a = after.measuredTraffic.value_or(MeasuredTraffic());
    std::vector<MeasuredRow> out;
    if (b.l2 || a.l2)
        out.push_back({"L2 traffic, measured", b.l2, a.l2});
    if (b.dram() || a.dram())
        out.push_back({"DRAM traffic, measured", b.dram(), a.dram()});
    return out;
}

} // namespace fuselage::app
