// SPDX-License-Identifier: Apache-2.0
// RoiAlign by means: where the samples of a region lie and what their corners weigh is found once,
// then every channel is summed by it.
#include "core/cpu/library.h"
#include "core/cpu/plane_taps.h"
#include "core/ops/detection.h"

#include <algorithm>
#include <limits>

namespace fuselage::cpu {

namespace {

class RoiKernel final : public Kernel {
public:
    RoiKernel(const LibraryCall& call, const RoiSettings& settings)
        : m_node(call.node()), m_source(call.input(0)), m_regions(call.input(1)),
          m_batches(call.input(2)), m_result(call.output(0)), m_table(call.context().table),
          m_settings(settings), m_bins(static_cast<size_t>(settings.height * settings.width)) {
        tactic = std::string("regions ") + m_table.name;
    }

    void run(const Operands& operands, RunContext& context) override {
        const Extents& x = m_source.layout.extents;
        const auto regions = static_cast<size_t>(m_regions.layout.extents[0]);
        const auto* from = reinterpret_cast<const float*>(m_source.read(operands));
        auto* to = reinterpret_cast<float*>(m_result.write(operands));
        const size_t plane = static_cast<size_t>(x[2]) * static_cast<size_t>(x[3]);
        const auto channels = static_cast<size_t>(x[1]);
        std::vector<std::optional<Error>> errors(static_cast<size_t>(context.threads.count()));
        context.threads.forRange(regions, 1, [&](size_t worker, size_t begin, size_t end) {
            for (size_t region = begin; region < end && !errors[worker]; ++region) {
                const int64_t batch = m_batches.integerAt(operands, region);
                if (batch < 0 || batch >= x[0]) {
                    errors[worker] = indexOutside(m_node, batch, x[0]);
                    return;
                }
                const auto found = samplesOf(operands, region);
                if (!found) {
                    errors[worker] = Error{"run.input",
                                           "region " + std::to_string(region) + " of " +
                                               m_node.name + " is too large",
                                           {},
                                           {}};
                    return;
                }
                const size_t taps = std::max<size_t>(4 * found->perBin, 1);
                PlaneTaps bins(
                    context.threads.scratch(worker).reserve(PlaneTaps::bytes(taps, m_bins)), taps,
                    m_bins);
                setTaps(*found, bins);
                float* out = to + region * channels * m_bins;
                const float* image = from + static_cast<size_t>(batch) * channels * plane;
                for (size_t c = 0; c < channels; ++c)
                    bins.sum(m_table, image + c * plane, out + c * m_bins);
            }
        });
        for (std::optional<Error>& error : errors)
            if (error && !context.error)
                context.error = std::move(error);
    }

private:
    /// None: the region has too many.
    std::optional<RoiSamples> samplesOf(const Operands& operands, size_t region) const {
        const auto* corners = reinterpret_cast<const float*>(m_regions.read(operands)) + 4 * region;
        const double roi[4] = {corners[0], corners[1], corners[2], corners[3]};
        const Extents& x = m_source.layout.extents;
        return m_settings.samplesOf(roi, x[2], x[3]);
    }

    /// The mean of a bin's samples, each of four corners; of none it is 0.
    void setTaps(const RoiSamples& found, PlaneTaps& bins) const {
        const size_t perBin = found.perBin;
        for (size_t bin = 0; bin < m_bins; ++bin) {
            for (size_t k = 0; k < 4 * perBin; ++k) {
                const RoiSample& sample = found.samples[bin * perBin + k / 4];
                bins.set(bin, k, sample.at[k % 4],
                         sample.weight[k % 4] / static_cast<double>(perBin));
            }
            bins.end(bin, 4 * perBin);
        }
    }

    const Node& m_node;
    LibraryOperand m_source, m_regions, m_batches, m_result;
    const VectorTable& m_table;
    RoiSettings m_settings;
    size_t m_bins;
};

} // namespace

KernelResult prepareRoiAlign(const LibraryCall& call) {
    const OperandLayout &x = call.input(0).layout, &rois = call.input(1).layout,
                        &batches = call.input(2).layout;
    const RoiSettings settings(call.node());
    if (!settings.average)
        return failure("cpu.support", "the largest corner is taken, no mean");
    if (x.dtype != DType::Float32 || rois.dtype != DType::Float32 ||
        (batches.dtype != DType::Int64 && batches.dtype != DType::Int32))
        return failure("cpu.dtype", "element types that are not known here");
    if (!roiMisfit(settings, x.extents, rois.extents, batches.extents).empty() ||
        elementCount(x.extents).value_or(0) == 0 || settings.height < 1 || settings.width < 1 ||
        elementCount(call.output(0).layout.extents).value_or(0) == 0 ||
        x.span() > std::numeric_limits<int32_t>::max())
        return failure("cpu.shape", "operands are empty, too large or do not fit each other");
    return std::unique_ptr<Kernel>(std::make_unique<RoiKernel>(call, settings));
}

} // namespace fuselage::cpu
