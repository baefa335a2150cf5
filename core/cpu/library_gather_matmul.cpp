// SPDX-License-Identifier: Apache-2.0
// GatherMatMul: the rows that ask for one matrix are multiplied together, and matrices that nobody
// asks for are not read. Constant ones are packed while preparing, others when they are asked for.
#include "core/cpu/library.h"
#include "core/cpu/nibble_product.h"
#include "core/cpu/panel_product.h"
#include "core/ops/gather_matmul.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <variant>

namespace fuselage::cpu {

namespace {

using Product = std::variant<NibbleProduct, PanelProduct>;

const LibraryOperand& operand(const LibraryCall& call, GatherMatMulInput which) {
    return call.input(static_cast<size_t>(which));
}

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
    out.block = g.blocks == 1 ? blockOfOneScale : g.block;
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

/// Where an operand's data are: constant, or of a run.
using DataOf = std::function<const std::byte*(const LibraryOperand&)>;

const std::byte* constantData(const LibraryOperand& given) {
    return given.layout.constant->bytes();
}

/// The rows of a matrix as floats, from wherever its operands lie.
class FloatRows {
public:
    FloatRows(const LibraryCall& call, const GatherMatMul& sizes)
        : m_sizes(sizes), m_w(operand(call, GatherMatMulInput::W)),
          m_scales(operand(call, GatherMatMulInput::Scales)),
          m_origins(operand(call, GatherMatMulInput::Origins)), m_table(call.context().table) {}

    PanelProduct::Row of(int64_t matrix, const DataOf& dataOf) const {
        const std::byte *w = dataOf(m_w), *scales = m_scales ? dataOf(m_scales) : nullptr,
                        *origins = m_origins ? dataOf(m_origins) : nullptr;
        return [=, this](int64_t n, float* to) {
            const int64_t row = matrix * m_sizes.n + n;
            if (m_sizes.bits == 0)
                load(m_w, w, row * m_sizes.k, m_sizes.k, to);
            else
                unpack(reinterpret_cast<const uint8_t*>(w) + row * m_sizes.rowBytes(), scales,
                       origins, row * m_sizes.blocks, to);
        };
    }

private:
    void load(const LibraryOperand& from, const std::byte* data, int64_t first, int64_t count,
              float* to) const {
        const DType type = from.layout.dtype;
        m_table.load[static_cast<size_t>(type)](to,
                                                data + static_cast<size_t>(first) * sizeOf(type), 1,
                                                static_cast<size_t>(count), 0, 1);
    }

    void unpack(const uint8_t* codes, const std::byte* scales, const std::byte* origins,
                int64_t firstBlock, float* to) const {
        float scale[laneGroup] = {}, origin[laneGroup] = {};
        for (int64_t block = 0; block < m_sizes.blocks; ++block) {
            load(m_scales, scales, firstBlock + block, 1, scale);
            origin[0] = static_cast<float>(m_sizes.middle());
            if (origins)
                load(m_origins, origins, firstBlock + block, 1, origin);
            const int64_t end = std::min(m_sizes.k, (block + 1) * m_sizes.block);
            for (int64_t k = block * m_sizes.block; k < end; ++k)
                to[k] = (static_cast<float>(m_sizes.code(codes, k)) - origin[0]) * scale[0];
        }
    }

    GatherMatMul m_sizes;
    LibraryOperand m_w, m_scales, m_origins;
    const VectorTable& m_table;
};

bool isConstant(const LibraryCall& call) {
    for (GatherMatMulInput which :
         {GatherMatMulInput::W, GatherMatMulInput::Scales, GatherMatMulInput::Origins})
        if (operand(call, which) && !operand(call, which).layout.constant)
            return false;
    return true;
}

class GatherMatMulKernel final : public Kernel {
public:
    GatherMatMulKernel(const LibraryCall& call, const GatherMatMul& sizes)
        : m_node(call.node()), m_sizes(sizes), m_floatRows(call, sizes),
          m_x(operand(call, GatherMatMulInput::X)),
          m_index(operand(call, GatherMatMulInput::Index)), m_y(call.output(0)) {
        Threads& threads = call.context().threads;
        if (!isConstant(call)) {
            m_varying = std::make_unique<PanelProduct>(call.context().table, sizes.n, sizes.k);
        } else if (isOfNibbles(sizes)) {
            for (int64_t matrix = 0; matrix < sizes.matrices; ++matrix)
                m_products.emplace_back(std::in_place_type<NibbleProduct>, call.context().table,
                                        nibblesOfMatrix(call, sizes, matrix), threads.pages());
        } else {
            for (int64_t matrix = 0; matrix < sizes.matrices; ++matrix) {
                PanelProduct product(call.context().table, sizes.n, sizes.k);
                product.use(threads.pages().filled(product.packedBytes(), [&](std::byte* to) {
                    product.pack(m_floatRows.of(matrix, constantData), to, threads);
                }));
                m_products.emplace_back(product);
            }
        }
        tactic = fmt::format("rows by matrix, {}{}{}",
                             sizes.bits == 0 ? "" : fmt::format("{} bits, ", sizes.bits),
                             m_varying ? "of a run, " : "", call.context().table.name);
    }

    void run(const Operands& operands, RunContext& context) override {
        std::byte* y = m_y.write(operands);
        if (!y || m_sizes.rows() == 0 || m_sizes.n == 0)
            return;
        if (!sortRows(operands, context))
            return;
        for (size_t matrix = 0; matrix + 1 < m_first.size(); ++matrix)
            if (m_first[matrix + 1] > m_first[matrix])
                multiply(matrix, operands, y, context.threads);
    }

private:
    /// Rows of Y in the order of their matrices; those of one begin at its m_first.
    bool sortRows(const Operands& operands, RunContext& context) {
        const auto rows = static_cast<size_t>(m_sizes.rows());
        m_first.assign(static_cast<size_t>(m_sizes.matrices) + 1, 0);
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
    void multiply(size_t matrix, const Operands& operands, std::byte* y, Threads& threads) {
        const std::byte* x = m_x.read(operands);
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
        const size_t product = upTo64(
            m_varying ? m_varying->scratchBytes(call.rows)
                      : std::visit([&](const auto& each) { return each.scratchBytes(call.rows); },
                                   m_products[matrix]));
        const size_t copies = count == 1 ? 0 : upTo64(count * call.aStep) + count * call.yStep;
        const bool packs = m_varying && !PanelProduct::areFew(call.rows);
        const size_t packed = packs ? upTo64(m_varying->packedBytes()) : 0;
        std::byte* panels = threads.stepScratch().reserve(packed + product + copies);
        std::byte* scratch = panels + packed;
        std::byte *a = scratch + product, *out = a + upTo64(count * call.aStep);
        call.a = count == 1 ? rowOfX(0) : a;
        call.y = count == 1 ? y + rows[0] * call.yStep : out;
        for (size_t i = 0; copies > 0 && call.aStep > 0 && i < count; ++i)
            std::memcpy(a + i * call.aStep, rowOfX(i), call.aStep);
        const auto rowsOfRun = [&] {
            return m_floatRows.of(static_cast<int64_t>(matrix), [&](const LibraryOperand& given) {
                return given.read(operands);
            });
        };
        if (packs) {
            m_varying->pack(rowsOfRun(), panels, threads);
            m_varying->use(panels);
            m_varying->run(call, scratch, threads);
        } else if (m_varying) {
            m_varying->runUnpacked(rowsOfRun(), call, scratch, threads);
        } else {
            std::visit([&](const auto& each) { each.run(call, scratch, threads); },
                       m_products[matrix]);
        }
        for (size_t i = 0; copies > 0 && i < count; ++i)
            std::memcpy(y + rows[i] * call.yStep, out + i * call.yStep, call.yStep);
    }

    static size_t upTo64(size_t bytes) { return (bytes + 63) / 64 * 64; }

    Node m_node;
    GatherMatMul m_sizes;
    FloatRows m_floatRows;
    LibraryOperand m_x, m_index, m_y;
    std::vector<Product> m_products;         ///< by matrix, of constants
    std::unique_ptr<PanelProduct> m_varying; ///< else: for one after the other
    std::vector<size_t> m_first, m_rows;
};

} // namespace

KernelResult prepareGatherMatMul(const LibraryCall& call) {
    std::vector<std::optional<Extents>> extents;
    for (size_t i = 0; i < call.node().inputs.size(); ++i)
        extents.push_back(call.input(i) ? std::optional(call.input(i).layout.extents)
                                        : std::nullopt);
    const auto sizes = GatherMatMul::of(call.node(), extents);
    if (!sizes)
        return failure(sizes.error());
    const DType type = operand(call, GatherMatMulInput::X).layout.dtype;
    const DType stored = operand(call, GatherMatMulInput::W).layout.dtype;
    const DType index = operand(call, GatherMatMulInput::Index).layout.dtype;
    if (!isRowType(type) || stored != (sizes->bits == 0 ? type : DType::UInt8) ||
        (index != DType::Int32 && index != DType::Int64))
        return failure("cpu.support", "operands are of other types");
    for (GatherMatMulInput which : {GatherMatMulInput::Scales, GatherMatMulInput::Origins})
        if (operand(call, which) && !isRowType(operand(call, which).layout.dtype))
            return failure("cpu.support", "scales are of another type");
    return std::unique_ptr<Kernel>(std::make_unique<GatherMatMulKernel>(call, *sizes));
}

} // namespace fuselage::cpu
