// SPDX-License-Identifier: Apache-2.0
#include "core/ops/gather_matmul.h"

#include "core/ops/dense_product.h"
#include "core/ops/infer_support.h"
#include "core/ops/tensor_index.h"

#include <fmt/format.h>

#include <algorithm>

namespace fuselage {

namespace {

using Results = Result<std::vector<ReferenceValue>>;

constexpr size_t slot(GatherMatMulInput input) {
    return static_cast<size_t>(input);
}

constexpr size_t ofX = slot(GatherMatMulInput::X), ofW = slot(GatherMatMulInput::W),
                 ofIndex = slot(GatherMatMulInput::Index),
                 ofScales = slot(GatherMatMulInput::Scales),
                 ofOrigins = slot(GatherMatMulInput::Origins);

/// Whatever the sizes are; none: the operands may go together.
std::optional<std::string> misfitOf(const InferContext& context) {
    const DType x = dtypeOf(context, ofX), w = dtypeOf(context, ofW),
                index = dtypeOf(context, ofIndex);
    const bool stored = context.node().attributes.integer("bits") != 0;
    if (stored != context.has(ofScales) || (!stored && context.has(ofOrigins)))
        return "scales and origins are of elements of few bits, which have them";
    if (index != DType::Undefined && index != DType::Int32 && index != DType::Int64)
        return fmt::format("indices are {}", nameOf(index));
    if (x != DType::Undefined && w != DType::Undefined && w != (stored ? DType::UInt8 : x))
        return fmt::format("rows are {}, matrices {}", nameOf(x), nameOf(w));
    return std::nullopt;
}

void inferGatherMatMul(InferContext& context) {
    if (const auto misfit = misfitOf(context))
        return context.fail("GatherMatMul: " + *misfit);
    std::vector<std::optional<Extents>> known;
    bool isKnown = true;
    for (size_t i = 0; i < context.inputCount(); ++i) {
        known.push_back(context.has(i) ? context.input(i).extents() : std::nullopt);
        isKnown = isKnown && (!context.has(i) || known.back());
    }
    if (isKnown)
        if (auto sizes = GatherMatMul::of(context.node(), known); !sizes)
            return context.fail(sizes.error().message);
    const Shape *w = shapeOf(context, ofW), *index = shapeOf(context, ofIndex);
    Shape y(3);
    if (index && index->size() == 2)
        std::copy(index->begin(), index->end(), y.begin());
    if (w && w->size() == 3)
        y[2] = (*w)[1];
    setTensor(context, 0, dtypeOf(context, ofX), std::move(y));
}

/// The operands of a call, whose sizes are checked.
class Multiplier {
public:
    Multiplier(const GatherMatMul& sizes, ReferenceInputs inputs)
        : m_sizes(sizes), m_x(*inputs[ofX]), m_w(*inputs[ofW]), m_scales(inputAt(inputs, ofScales)),
          m_origins(inputAt(inputs, ofOrigins)) {}

    /// The rows whose results are these of Y, by one matrix.
    void multiplyRows(int64_t matrix, const std::vector<int64_t>& rows, ReferenceValue& y) const {
        const auto count = static_cast<int64_t>(rows.size());
        const int64_t k = m_sizes.k, n = m_sizes.n;
        std::vector<double> a(static_cast<size_t>(count * k)), b(static_cast<size_t>(k * n)),
            c(static_cast<size_t>(count * n));
        for (int64_t r = 0; r < count; ++r) {
            const int64_t row = rows[static_cast<size_t>(r)];
            const int64_t from = m_sizes.ownRows ? row : row / m_sizes.chosen;
            std::copy_n(m_x.floats.begin() + from * k, k, a.begin() + r * k);
        }
        unpack(matrix, b);
        multiply(Rows2d<const double>{a.data(), k}, Rows2d<const double>{b.data(), n},
                 Rows2d<double>{c.data(), n}, count, n, k);
        for (int64_t r = 0; r < count; ++r)
            std::copy_n(c.begin() + r * n, n, y.floats.begin() + rows[static_cast<size_t>(r)] * n);
    }

private:
    /// A matrix as [K, N].
    void unpack(int64_t matrix, std::vector<double>& to) const {
        const int64_t k = m_sizes.k, n = m_sizes.n;
        std::vector<uint8_t> stored(static_cast<size_t>(m_sizes.rowBytes()));
        for (int64_t column = 0; column < n; ++column) {
            const int64_t row = matrix * n + column;
            for (size_t i = 0; i < stored.size(); ++i)
                stored[i] =
                    static_cast<uint8_t>(m_w.ints[static_cast<size_t>(row) * stored.size() + i]);
            for (int64_t i = 0; i < k; ++i)
                to[static_cast<size_t>(i * n + column)] =
                    m_sizes.bits == 0 ? m_w.floats[static_cast<size_t>(row * k + i)]
                                      : value(stored.data(), row, i);
        }
    }

    double value(const uint8_t* stored, int64_t row, int64_t at) const {
        const int64_t block = row * m_sizes.blocks + at / m_sizes.block;
        const double origin =
            m_origins ? m_origins->at(block) : static_cast<double>(m_sizes.middle());
        return (static_cast<double>(m_sizes.code(stored, at)) - origin) * m_scales->at(block);
    }

    const GatherMatMul& m_sizes;
    const ReferenceValue &m_x, &m_w, *m_scales, *m_origins;
};

Results runGatherMatMul(const Node& node, ReferenceInputs inputs, ReferenceContext& context) {
    std::vector<std::optional<Extents>> extents;
    for (const ReferenceValue* input : inputs)
        extents.push_back(input ? std::optional(input->extents) : std::nullopt);
    const auto sizes = GatherMatMul::of(node, extents);
    if (!sizes)
        return failure(sizes.error());
    const ReferenceValue &x = *inputs[ofX], &w = *inputs[ofW], &index = *inputs[ofIndex];
    const ReferenceValue *scales = inputAt(inputs, ofScales), *origins = inputAt(inputs, ofOrigins);
    if (!isFloat(x.dtype) || w.dtype != (sizes->bits == 0 ? x.dtype : DType::UInt8) ||
        (index.dtype != DType::Int32 && index.dtype != DType::Int64) ||
        (scales && !isFloat(scales->dtype)) || (origins && !isFloat(origins->dtype)))
        return badInput(node,
                        fmt::format("rows are {}, matrices {}, indices {}, or scales no floats",
                                    nameOf(x.dtype), nameOf(w.dtype), nameOf(index.dtype)));
    auto y = allocateResult(node, x.dtype, {sizes->tokens, sizes->chosen, sizes->n});
    if (!y)
        return failure(y.error());
    std::vector<std::vector<int64_t>> rowsOf(static_cast<size_t>(sizes->matrices));
    for (int64_t row = 0; row < sizes->rows(); ++row) {
        const int64_t matrix = index.intAt(row);
        if (matrix < 0 || matrix >= sizes->matrices)
            return badInput(
                node, fmt::format("index {} is of none of {} matrices", matrix, sizes->matrices));
        rowsOf[static_cast<size_t>(matrix)].push_back(row);
    }
    const Multiplier multiplier(*sizes, inputs);
    context.threads().forRange(rowsOf.size(), 1, [&](size_t begin, size_t end) {
        for (size_t matrix = begin; matrix < end; ++matrix)
            if (!rowsOf[matrix].empty())
                multiplier.multiplyRows(static_cast<int64_t>(matrix), rowsOf[matrix], *y);
    });
    return single(std::move(y));
}

bool hasCount(const Extents& extents, const Extents& wanted) {
    const auto count = elementCount(extents), expected = elementCount(wanted);
    return count && expected && *count == *expected;
}

} // namespace

Result<GatherMatMul> GatherMatMul::of(const Node& node, Operands inputs) {
    GatherMatMul out;
    out.bits = node.attributes.integer("bits");
    const int64_t blockSize = node.attributes.integer("block_size");
    const auto isGiven = [&](size_t input) { return input < inputs.size() && inputs[input]; };
    if (!isGiven(ofX) || !isGiven(ofW) || !isGiven(ofIndex))
        return badInput(node, "it takes rows, matrices and indices");
    const Extents &x = *inputs[ofX], &w = *inputs[ofW], &index = *inputs[ofIndex];
    const auto refuse = [&](const char* what) {
        const std::string stored =
            out.bits == 0 ? "" : fmt::format(" of {} bits in blocks of {}", out.bits, blockSize);
        return badInput(node, fmt::format("{}: rows {}, matrices {}{}, indices {}", what, text(x),
                                          text(w), stored, text(index)));
    };
    if (out.bits != 0 && out.bits != 2 && out.bits != 4 && out.bits != 8)
        return refuse("elements have 2, 4 or 8 bits, or X's type");
    if (x.size() < 2 || x.size() > 3 || w.size() != 3 || index.size() != 2)
        return refuse("operands of such ranks are not multiplied");
    out.ownRows = x.size() == 3;
    out.tokens = index[0];
    out.chosen = index[1];
    out.matrices = w[0];
    out.n = w[1];
    out.k = x.back();
    constexpr int64_t longest = int64_t{1} << 40;
    if (out.k > longest || !elementCount(index))
        return refuse("it is too large");
    if (x[0] != out.tokens || (out.ownRows && x[1] != out.chosen) ||
        w[2] != (out.bits == 0 ? out.k : out.rowBytes()))
        return refuse("the sizes do not go together");
    if (blockSize < 0 ||
        (out.bits == 0 && (blockSize != 0 || isGiven(ofScales) || isGiven(ofOrigins))))
        return refuse("blocks and scales are of elements of few bits");
    if (out.bits == 0)
        return out;
    out.block = blockSize == 0 ? std::max<int64_t>(out.k, 1) : blockSize;
    out.blocks = blockSize == 0 ? 1 : out.k == 0 ? 0 : (out.k - 1) / blockSize + 1;
    const Extents wanted = {out.matrices, out.n, out.blocks};
    if (!isGiven(ofScales) || !hasCount(*inputs[ofScales], wanted) ||
        (isGiven(ofOrigins) && !hasCount(*inputs[ofOrigins], wanted)))
        return refuse("there is not one scale, and one zero point if any, for each block");
    return out;
}

std::span<const OpRow> gatherMatMulRows() {
    static const OpRow rows[] = {
        {.op = Op::GatherMatMul,
         .name = "GatherMatMul",
         .domain = "fuselage",
         .minInputs = 3,
         .maxInputs = 5,
         .inputs = "X W index scales origins",
         .attributes = "bits:int=0 block_size:int=0 distinct:int=0",
         .infer = inferGatherMatMul,
         .reference = onTensors<runGatherMatMul>},
    };
    return rows;
}

} // namespace fuselage
