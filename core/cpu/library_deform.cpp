// SPDX-License-Identifier: Apache-2.0
// DeformConv: the samples of a block of output pixels become columns, which a product of matrices
// weighs.
#include "core/cpu/library.h"
#include "core/cpu/plane_taps.h"
#include "core/ops/deform_conv.h"

#include <oneapi/dnnl/dnnl.h>

#include <algorithm>
#include <limits>

namespace fuselage::cpu {

namespace {

constexpr size_t blockPixels = 256;
constexpr size_t sampleCorners = 4;

class DeformKernel final : public Kernel {
public:
    DeformKernel(const LibraryCall& call, const DeformGeometry& geometry)
        : m_x(call.input(0)), m_weights(call.input(1)), m_offsets(call.input(2)),
          m_bias(call.input(3)), m_mask(call.input(4)), m_result(call.output(0)),
          m_table(call.context().table), m_deform(geometry),
          m_pixels(static_cast<size_t>(geometry.window.outputCount())),
          m_kernel(static_cast<size_t>(geometry.window.kernelCount())),
          m_plane(static_cast<size_t>(geometry.window.inputCount())),
          m_channels(static_cast<size_t>(geometry.channels)),
          m_results(static_cast<size_t>(m_weights.layout.extents[0])) {
        tactic = std::string("columns of samples ") + m_table.name;
    }

    void run(const Operands& operands, RunContext& context) override {
        const size_t blocks = (m_pixels + blockPixels - 1) / blockPixels;
        const size_t images = static_cast<size_t>(m_x.layout.extents[0]);
        const size_t columns = m_channels * m_kernel * blockPixels * sizeof(float);
        context.threads.forRange(images * blocks, 1, [&](size_t worker, size_t begin, size_t end) {
            std::byte* memory = context.threads.scratch(worker).reserve(
                columns + PlaneTaps::bytes(sampleCorners, blockPixels));
            for (size_t block = begin; block < end; ++block)
                runBlock(operands, block / blocks, block % blocks * blockPixels,
                         reinterpret_cast<float*>(memory), memory + columns);
        });
    }

private:
    static const float* floats(const LibraryOperand& operand, const Operands& operands) {
        return operand ? reinterpret_cast<const float*>(operand.read(operands)) : nullptr;
    }

    void runBlock(const Operands& operands, size_t image, size_t first, float* columns,
                  std::byte* memory) const {
        const size_t count = std::min(blockPixels, m_pixels - first);
        const auto offsetGroups = static_cast<size_t>(m_deform.offsetGroups);
        const size_t together = m_channels / offsetGroups; // channels that share their offsets
        const float* x = floats(m_x, operands) + image * m_channels * m_plane;
        for (size_t group = 0; group < offsetGroups; ++group)
            for (size_t k = 0; k < m_kernel; ++k) {
                PlaneTaps taps(memory, sampleCorners, count);
                find(operands, (image * offsetGroups + group) * m_kernel + k, k, first, count,
                     taps);
                for (size_t c = group * together; c < (group + 1) * together; ++c)
                    taps.sum(m_table, x + c * m_plane, columns + (c * m_kernel + k) * count);
            }
        const auto groups = static_cast<size_t>(m_deform.groups);
        const size_t rows = m_results / groups, depth = m_channels / groups * m_kernel;
        const float *weights = floats(m_weights, operands), *bias = floats(m_bias, operands);
        auto* out = reinterpret_cast<float*>(m_result.write(operands)) +
                    image * m_results * m_pixels + first;
        for (size_t group = 0; group < groups; ++group) {
            float* to = out + group * rows * m_pixels;
            dnnl_sgemm('N', 'N', static_cast<dnnl_dim_t>(rows), static_cast<dnnl_dim_t>(count),
                       static_cast<dnnl_dim_t>(depth), 1, weights + group * rows * depth,
                       static_cast<dnnl_dim_t>(depth), columns + group * depth * count,
                       static_cast<dnnl_dim_t>(count), 0, to, static_cast<dnnl_dim_t>(m_pixels));
        }
        for (size_t row = 0; bias && row < m_results; ++row)
            for (size_t i = 0; i < count; ++i)
                out[row * m_pixels + i] += bias[row];
    }

    /// Of one kernel position; `at`: of its offsets among those of all images.
    void find(const Operands& operands, size_t at, size_t k, size_t first, size_t count,
              PlaneTaps& taps) const {
        const float* dy = floats(m_offsets, operands) + at * 2 * m_pixels + first;
        const float* dx = dy + m_pixels;
        const float* mask = floats(m_mask, operands);
        const Extents& input = m_deform.window.input;
        for (size_t i = 0; i < count; ++i) {
            const auto [y, x] =
                m_deform.placeOf(static_cast<int64_t>(first + i), static_cast<int64_t>(k));
            const PlaneSample sample = samplePlane(
                input[0], input[1], static_cast<double>(y) + dy[i], static_cast<double>(x) + dx[i]);
            const double share = mask ? mask[at * m_pixels + first + i] : 1;
            for (size_t corner = 0; corner < sample.count; ++corner)
                taps.set(i, corner, sample.at[corner], sample.weight[corner] * share);
            taps.end(i, sample.count);
        }
    }

    LibraryOperand m_x, m_weights, m_offsets, m_bias, m_mask, m_result;
    const VectorTable& m_table;
    DeformGeometry m_deform;
    size_t m_pixels, m_kernel, m_plane, m_channels, m_results;
};

} // namespace

KernelResult prepareDeform(const LibraryCall& call) {
    const OperandLayout& x = call.input(0).layout;
    const ShapeOperands operands(call, {});
    const auto geometry = deformGeometry(call.node(), operands.inputs);
    if (!geometry)
        return failure(geometry.error());
    if (x.dtype != DType::Float32)
        return failure("cpu.dtype", "only float32 is sampled here");
    if (elementCount(call.output(0).layout.extents).value_or(0) == 0 ||
        elementCount(x.extents).value_or(0) == 0 || x.span() > std::numeric_limits<int32_t>::max())
        return failure("cpu.shape", "operands are empty or too large");
    return std::unique_ptr<Kernel>(std::make_unique<DeformKernel>(call, *geometry));
}

} // namespace fuselage::cpu
