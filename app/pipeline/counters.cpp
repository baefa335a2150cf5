// SPDX-License-Identifier: Apache-2.0
#include "app/pipeline/counters.h"

#include "app/pipeline/compiled.h"

namespace fuselage::app {

namespace {

/// Of all kernels; a field that one of them lacks has no sum.
std::optional<MeasuredTraffic> sumOfCounts(const std::vector<KernelReport>& kernels) {
    MeasuredTraffic sum{0, 0, 0};
    for (const KernelReport& kernel : kernels) {
        if (!kernel.measuredTraffic)
            return std::nullopt;
        for (auto field :
             {&MeasuredTraffic::dramRead, &MeasuredTraffic::dramWritten, &MeasuredTraffic::l2}) {
            const std::optional<int64_t>& bytes = (*kernel.measuredTraffic).*field;
            std::optional<int64_t>& total = sum.*field;
            total = bytes && total ? std::optional(*total + *bytes) : std::nullopt;
        }
    }
    return kernels.empty() ? std::nullopt : std::optional(sum);
}

Result<std::string> countSide(Executable& executable, std::span<const Tensor> inputs,
                              SideReport& side, Progress& progress) {
    auto counts = executable.countTraffic(inputs, progress);
    if (!counts)
        return failure(counts.error());
    for (size_t i = 0; i < side.kernels.size() && i < counts->steps.size(); ++i)
        side.kernels[i].measuredTraffic = counts->steps[i];
    side.measuredTraffic = sumOfCounts(side.kernels);
    return counts->note;
}

} // namespace

Result<void> addCounters(Executable& before, Executable& after, std::span<const Tensor> inputs,
                         Report& report, Progress& progress) {
    progress.report("counters", 0, 2);
    auto counted = countSide(after, inputs, report.after, progress);
    if (counted) {
        report.machine.counters = "bytes counted by " + *counted +
                                  ", step by step outside of the captured graph after all timing";
        progress.report("counters", 1, 2);
        counted = countSide(before, inputs, report.before, progress);
    }
    if (!counted && counted.error().code == "cancelled")
        return failure(counted.error());
    if (!counted)
        report.machine.notes.push_back((report.machine.counters.empty()
                                            ? "bytes were not measured: "
                                            : "bytes before fusion were not measured: ") +
                                       counted.error().text());
    return {};
}

std::string countersText() {
    CompileOptions options;
    options.backend = BackendKind::Cuda;
    auto backend = makeBackend(options);
    if (!backend)
        return "cannot be read: no CUDA device can be used";
    auto counters = (*backend)->counters();
    return counters ? "can be read, by bench --counters: " + *counters
                    : "cannot be read: " + counters.error().text();
}

} // namespace fuselage::app
