// SPDX-License-Identifier: Apache-2.0
// GatherMatMul of constant matrices: the rows that ask for one matrix are multiplied together, and
// matrices that nobody asks for are not read.
#include "core/cpu/library.h"
#include "core/cpu/nibble_product.h"
#include "core/cpu/panel_product.h"
#include "core/ops/gather_matmul.h"

#include <fmt/format.h>

#include <cstring>
#include <variant>

namespace fuselage::cpu {

namespace {

using Product = std::variant<NibbleProduct, PanelProduct>;

const LibraryOperand& operand(const LibraryCall& call, GatherMatMulInput which) {
    return call.input(static_cast<size_t>(which));
}

/// Where a row has one scale: these lose nothing, and digits are those of few neighbours.
constexpr int64_t blockOfRow = 64;

constexpr int64_t nibbleBits = 4;

bool isOfNibbles(const GatherMatMul& g) {
    constexpr int64_t perWord = 8;
    return g.bits == nibbleBits && (g.blocks == 1 || g.block % perWord == 0);
}

/// One matrix of 4 bits, as panels want it.
NibbleSource nibblesOfMatrix(const LibraryCall& call, const GatherMatMul& g, int64_t matrix) {
    const TensorPtr w = operand(call, GatherMatMulInput::W).layout.constant,
                    scales = operand(call, GatherMatMulInput::Scales).layout.constant;
    const LibraryOperand& given = operand(call, GatherMatMulInput::Origins);
    const TensorPtr origins = given ? given.layout.constant : nullptr;
    NibbleSource out;
    out.k = g.k;
    out.n = g.n;
    out.block = g.blocks == 1 ? blockOfRow : g.block;
    out.shifted = origins != nullptr;
    const auto* rows = reinterpret_cast<const uint8_t*>(w->bytes()) + matrix * g.n * g.rowBytes();
    out.codes = [w, rows, g](int64_t n, int64_t word) {
        constexpr int64_t wordBytes = 4;
        uint32_t code = 0;
        const int64_t left = g.rowBytes() - word * wordBytes;
        if (left > 0)
            std::memcpy(&code, rows + n * g.rowBytes() + word * wordBytes,
                        static_cast<size_t>(std::min(left, wordBytes)));
        return code;
    };
    const auto placeOf = [g, matrix](int64_t n, int64_t block) {
        return (matrix * g.n + n) * g.blocks + (g.blocks == 1 ? 0 : block);
    };
    out.scale = [scales, placeOf](int64_t n, int64_t block) {
        return static_cast<float>(scales->at(placeOf(n, block)));
    };
    if (origins)
        out.shift = [scales, origins, placeOf, g](int64_t n, int64_t block) {
            const int64_t at = placeOf(n, block);
            return static_cast<float>((static_cast<double>(g.middle()) - origins->at(at)) *
                                      scales->at(at));
        };
    return out;
}

/// One matrix of few bits as floats.
std::vector<float> widened(const LibraryCall& call, const GatherMatMul& g, int64_t matrix) {
    const TensorPtr w = operand(call, GatherMatMulInput::W).layout.constant,
                    scales = operand(call, GatherMatMulInput::Scales).layout.constant;
    const LibraryOperand& given = operand(call, GatherMatMulInput::Origins);
    const auto* stored = reinterpret_cast<const uint8_t*>(w->bytes());
    std::vector<float> out(static_cast<size_t>(g.n * g.k));
    for (int64_t n = 0; n < g.n; ++n) {
        const int64_t row = matrix * g.n + n;
        for (int64_t k = 0; k < g.k; ++k) {
            const int64_t at = row * g.blocks + k / g.block;
            const double origin =
                given ? given.layout.constant->at(at) : static_cast<double>(g.middle());
            const auto code = static_cast<double>(g.code(stored + row * g.rowBytes(), k));
            out[static_cast<size_t>(n * g.k + k)] =
                static_cast<float>((code - origin) * scales->at(at));
        }
    }
    return out;
}

class GatherMatMulKernel final : public Kernel {
public:
    GatherMatMulKernel(const LibraryCall& call, const GatherMatMul& sizes)
        : m_node(call.node()), m_sizes(sizes), m_x(operand(call, GatherMatMulInput::X)),
          m_index(operand(call, GatherMatMulInput::Index)), m_y(call.output(0)) {
        const VectorTable& table = call.context().table;
        Pages& pages = call.context().threads.pages();
        const OperandLayout& w = operand(call, GatherMatMulInput::W).layout;
        for (int64_t matrix = 0; matrix < sizes.matrices; ++matrix) {
            if (isOfNibbles(sizes)) {
                m_products.emplace_back(std::in_place_type<NibbleProduct>, table,
                                        nibblesOfMatrix(call, sizes, matrix), pages);
            } else if (sizes.bits != 0) {
                const std::vector<float> floats = widened(call, sizes, matrix);
                m_products.emplace_back(std::in_place_type<PanelProduct>, table, sizes.n, sizes.k,
                                        reinterpret_cast<const std::byte*>(floats.data()),
                                        DType::Float32, pages);
            } else {
                const size_t bytes = static_cast<size_t>(sizes.n * sizes.k) * sizeOf(w.dtype);
                m_products.emplace_back(std::in_place_type<PanelProduct>, table, sizes.n, sizes.k,
                                        w.constant->bytes() + static_cast<size_t>(matrix) * bytes,
                                        w.dtype, pages);
            }
        }
        tactic =
            fmt::format("rows by matrix, {}{}",
                        sizes.bits == 0 ? "" : fmt::format("{} bits, ", sizes.bits), table.name);
    }

    void run(const Operands& operands, RunContext& context) override {
        std::byte* y = m_y.write(operands);
        if (!y || m_sizes.rows() == 0 || m_sizes.n == 0)
            return;
        if (!sortRows(operands, context))
            return;
        for (size_t matrix = 0; matrix < m_products.size(); ++matrix)
            if (m_first[matrix + 1] > m_first[matrix])
                multiply(matrix, m_x.read(operands), y, context.threads);
    }

private:
    /// Rows of Y in the order of their matrices; those of one begin at its m_first.
    bool sortRows(const Operands& operands, RunContext& context) {
        const auto rows = static_cast<size_t>(m_sizes.rows());
        m_first.assign(m_products.size() + 1, 0);
        m_rows.resize(rows);
        const auto matrixOf = [&](size_t row) { return m_index.integerAt(operands, row); };
        for (size_t row = 0; row < rows; ++row) {
            const int64_t matrix = matrixOf(row);
            if (matrix < 0 || matrix >= m_sizes.matrices) {
                context.error = indexOutside(m_node, matrix, m_sizes.matrices);
                return false;
            }
            ++m_first[static_cast<size_t>(matrix) + 1];
        }
        for (size_t matrix = 1; matrix < m_first.size(); ++matrix)
            m_first[matrix] += m_first[matrix - 1];
        std::vector<size_t> next(m_first.begin(), m_first.end() - 1);
        for (size_t row = 0; row < rows; ++row)
            m_rows[next[static_cast<size_t>(matrixOf(row))]++] = row;
        return true;
    }

    /// The rows of one matrix side by side, and their results to where they belong.
    void multiply(size_t matrix, const std::byte* x, std::byte* y, Threads& threads) {
        const size_t count = m_first[matrix + 1] - m_first[matrix];
        const size_t* rows = m_rows.data() + m_first[matrix];
        RowCall call;
        call.rows = static_cast<int64_t>(count);
        call.aType = m_x.layout.dtype;
        call.yType = m_y.layout.dtype;
        call.aStep = static_cast<size_t>(m_sizes.k) * sizeOf(call.aType);
        call.yStep = static_cast<size_t>(m_sizes.n) * sizeOf(call.yType);
        const auto chosen = static_cast<size_t>(m_sizes.chosen);
        const auto rowOfX = [&](size_t i) {
            return x + (m_sizes.ownRows ? rows[i] : rows[i] / chosen) * call.aStep;
        };
        const size_t product = upTo64(std::visit(
            [&](const auto& each) { return each.scratchBytes(call.rows); }, m_products[matrix]));
        const size_t copies = count == 1 ? 0 : upTo64(count * call.aStep) + count * call.yStep;
        std::byte* scratch = threads.stepScratch().reserve(product + copies);
        std::byte *a = scratch + product, *out = a + upTo64(count * call.aStep);
        call.a = count == 1 ? rowOfX(0) : a;
        call.y = count == 1 ? y + rows[0] * call.yStep : out;
        for (size_t i = 0; copies > 0 && i < count; ++i)
            std::memcpy(a + i * call.aStep, rowOfX(i), call.aStep);
        std::visit([&](const auto& each) { each.run(call, scratch, threads); }, m_products[matrix]);
        for (size_t i = 0; copies > 0 && i < count; ++i)
            std::memcpy(y + rows[i] * call.yStep, out + i * call.yStep, call.yStep);
    }

    static size_t upTo64(size_t bytes) { return (bytes + 63) / 64 * 64; }

    Node m_node;
    GatherMatMul m_sizes;
    LibraryOperand m_x, m_index, m_y;
    std::vector<Product> m_products; ///< by matrix
    std::vector<size_t> m_first, m_rows;
};

} // namespace

KernelResult prepareGatherMatMul(const LibraryCall& call) {
    std::vector<Extents> extents;
    for (size_t i = 0; i < call.node().inputs.size(); ++i)
        extents.push_back(call.input(i).layout.extents);
    const auto sizes = GatherMatMul::of(call.node(), extents);
    if (!sizes)
        return failure(sizes.error());
    const DType type = operand(call, GatherMatMulInput::X).layout.dtype;
    const DType stored = operand(call, GatherMatMulInput::W).layout.dtype;
    if (!isRowType(type) || stored != (sizes->bits == 0 ? type : DType::UInt8))
        return failure("cpu.support", "operands are of other types");
    for (GatherMatMulInput which :
         {GatherMatMulInput::W, GatherMatMulInput::Scales, GatherMatMulInput::Origins})
        if (operand(call, which) && !operand(call, which).layout.constant)
            return failure("cpu.support", "matrices are not constant");
    return std::unique_ptr<Kernel>(std::make_unique<GatherMatMulKernel>(call, *sizes));
}

} // namespace fuselage::cpu
