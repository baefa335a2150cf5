// SPDX-License-Identifier: Apache-2.0
// GridSample: where the points of a block lie in an image and what their neighbours weigh is found
// once, then every channel is summed by it.
#include "core/cpu/library.h"
#include "core/cpu/plane_taps.h"
#include "core/ops/resample.h"
#include "core/ops/tensor_index.h"

#include <algorithm>
#include <limits>

namespace fuselage::cpu {

namespace {

constexpr size_t blockPoints = 256;

class GridKernel final : public Kernel {
public:
    GridKernel(const LibraryCall& call, const GridSettings& settings)
        : m_source(call.input(0)), m_grid(call.input(1)), m_result(call.output(0)),
          m_table(call.context().table), m_settings(settings) {
        const Extents& x = m_source.layout.extents;
        m_image.assign(x.begin() + 2, x.end());
        m_strides = rowMajorStrides(m_image);
        m_batch = static_cast<size_t>(x[0]);
        m_channels = static_cast<size_t>(x[1]);
        m_plane = static_cast<size_t>(*elementCount(m_image));
        const Extents& grid = m_grid.layout.extents;
        for (size_t d = 1; d + 1 < grid.size(); ++d)
            m_points *= static_cast<size_t>(grid[d]);
        const size_t each = settings.mode == GridSettings::Mode::Cubic    ? 4
                            : settings.mode == GridSettings::Mode::Linear ? 2
                                                                          : 1;
        for (size_t d = 0; d < m_image.size(); ++d)
            m_taps *= each;
        tactic = std::string("grid ") + m_table.name;
    }

    void run(const Operands& operands, RunContext& context) override {
        const size_t blocks = (m_points + blockPoints - 1) / blockPoints;
        const auto* from = reinterpret_cast<const float*>(m_source.read(operands));
        const auto* grid = reinterpret_cast<const float*>(m_grid.read(operands));
        auto* to = reinterpret_cast<float*>(m_result.write(operands));
        context.threads.forRange(m_batch * blocks, 1, [&](size_t worker, size_t begin, size_t end) {
            std::byte* memory =
                context.threads.scratch(worker).reserve(PlaneTaps::bytes(m_taps, blockPoints));
            std::vector<std::vector<ResizeTap>> axes(m_image.size());
            for (size_t block = begin; block < end; ++block) {
                const size_t n = block / blocks, first = block % blocks * blockPoints;
                PlaneTaps taps(memory, m_taps, std::min(blockPoints, m_points - first));
                find(grid + (n * m_points + first) * m_image.size(),
                     std::min(blockPoints, m_points - first), axes, taps);
                for (size_t c = n * m_channels; c < (n + 1) * m_channels; ++c)
                    taps.sum(m_table, from + c * m_plane, to + c * m_points + first);
            }
        });
    }

private:
    void find(const float* grid, size_t count, std::vector<std::vector<ResizeTap>>& axes,
              PlaneTaps& taps) const {
        const size_t dims = m_image.size();
        for (size_t p = 0; p < count; ++p) {
            size_t inside = 1;
            for (size_t d = 0; d < dims; ++d) { // the grid holds the innermost coordinate first
                gridTaps(m_settings, grid[p * dims + dims - 1 - d], m_image[d], axes[d]);
                inside *= axes[d].size();
            }
            for (size_t t = 0; t < inside; ++t) {
                int64_t index = 0;
                double weight = 1;
                size_t rest = t;
                for (size_t d = dims; d-- > 0; rest /= axes[d].size()) {
                    const ResizeTap& tap = axes[d][rest % axes[d].size()];
                    index += tap.index * m_strides[d];
                    weight *= tap.weight;
                }
                taps.set(p, t, index, weight);
            }
            taps.end(p, inside);
        }
    }

    LibraryOperand m_source, m_grid, m_result;
    const VectorTable& m_table;
    GridSettings m_settings;
    Extents m_image, m_strides;
    size_t m_batch = 1, m_channels = 1, m_plane = 1, m_points = 1, m_taps = 1;
};

} // namespace

KernelResult prepareGridSample(const LibraryCall& call) {
    const OperandLayout &x = call.input(0).layout, &grid = call.input(1).layout;
    const auto settings = gridSettings(call.node());
    if (!settings || x.dtype != DType::Float32 || grid.dtype != DType::Float32)
        return failure("cpu.dtype", "the mode or the element types are not known here");
    if (!gridMisfit(x.extents, grid.extents).empty() ||
        elementCount(call.output(0).layout.extents).value_or(0) == 0 ||
        elementCount(x.extents).value_or(0) == 0 ||
        x.span() > std::numeric_limits<int32_t>::max() || x.extents.size() > 5)
        return failure("cpu.shape", "operands are empty, too large or do not fit each other");
    return std::unique_ptr<Kernel>(std::make_unique<GridKernel>(call, *settings));
}

} // namespace fuselage::cpu
