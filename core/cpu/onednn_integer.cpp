// SPDX-License-Identifier: Apache-2.0
#include "core/cpu/integer_product.h"
#include "core/cpu/onednn_internal.h"

#include <algorithm>
#include <cstring>
#include <string_view>

namespace fuselage::cpu {

namespace {

using dnnl::memory;
using onednn::engine;

/// Without these instructions pairs of uint8 x int8 are added with saturation at 16 bits, so that
/// two of 255 * 64 are the largest that always come out right.
int32_t largestExactWeight() {
    constexpr auto needed = static_cast<unsigned>(dnnl::cpu_isa::avx512_core_vnni);
    const auto have = static_cast<unsigned>(dnnl::get_effective_cpu_isa());
    return (have & needed) == needed ? 127 : 64;
}

/// How many parts within the limit the values need; -128 is taken with 127, 64 stands for itself.
size_t partsOf(const IntegerMatrix& matrix, int32_t limit) {
    int32_t low = 0, high = 1;
    for (int32_t value : matrix.values) {
        low = std::min(low, value);
        high = std::max(high, value);
    }
    const int32_t largest = std::max(high, limit == 127 ? -low - 1 : -low);
    return static_cast<size_t>((largest + limit - 1) / limit);
}

class OnednnIntegerProduct final : public IntegerProduct {
public:
    OnednnIntegerProduct(const Shape& shape, const std::vector<IntegerMatrix>& matrices,
                         const VectorTable& table, Pages& pages)
        : m_shape(shape), m_table(table) {
        const int32_t limit = largestExactWeight();
        for (const IntegerMatrix& matrix : matrices)
            m_parts = std::max(m_parts, partsOf(matrix, limit));
        auto made = describe(shape);
        if (shape.m == 1 && !takesPacked(made)) {
            const auto two = describe({2, shape.k, shape.n, shape.k, shape.n, shape.aSigned});
            m_twoRows = takesPacked(two);
            made = m_twoRows ? two : made;
        }
        m_source = made.src_desc();
        m_sums = made.dst_desc();
        m_scratchpad = made.scratchpad_desc();
        m_primitive = dnnl::matmul(made);
        implementation = made.impl_info_str();
        const size_t pad = (m_scratchpad.get_size() + 63) / 64 * 64;
        m_partialAt = pad;
        m_rowsAt = pad + (m_parts > 1 ? static_cast<size_t>(shape.m * shape.cStride) * 4 : 0);
        m_rowsAt = (m_rowsAt + 63) / 64 * 64;
        scratchBytes = m_rowsAt;
        if (m_twoRows)
            scratchBytes += static_cast<size_t>(2 * shape.n) * 4 + static_cast<size_t>(2 * shape.k);
        for (const IntegerMatrix& matrix : matrices)
            pack(matrix, limit, made.weights_desc(), pages);
    }

    void run(const uint8_t* a, size_t matrix, int32_t* c, std::byte* scratch) const override {
        auto* partial = reinterpret_cast<int32_t*>(scratch + m_partialAt);
        for (size_t part = 0; part < m_parts; ++part) {
            multiply(a, m_weights[matrix * m_parts + part], part == 0 ? c : partial, scratch);
            for (int64_t row = 0; part > 0 && row < m_shape.m; ++row)
                m_table.integer.addScaled(c + row * m_shape.cStride,
                                          partial + row * m_shape.cStride, 1,
                                          static_cast<size_t>(m_shape.n));
        }
    }

private:
    static dnnl::matmul::primitive_desc describe(const Shape& shape) {
        using Type = memory::data_type;
        const memory::desc source({shape.m, shape.k}, shape.aSigned ? Type::s8 : Type::u8,
                                  {shape.aStride, 1});
        const memory::desc weights({shape.k, shape.n}, Type::s8, memory::format_tag::any);
        const memory::desc sums({shape.m, shape.n}, Type::s32, {shape.cStride, 1});
        dnnl::primitive_attr attributes;
        attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
        return {{source, weights, sums}, attributes, engine()};
    }

    static bool takesPacked(const dnnl::matmul::primitive_desc& made) {
        return std::string_view(made.impl_info_str()).find("brg") != std::string_view::npos;
    }

    void multiply(const uint8_t* a, const memory& weights, int32_t* c, std::byte* scratch) const {
        auto* rows = reinterpret_cast<int32_t*>(scratch + m_rowsAt);
        auto* source = const_cast<uint8_t*>(a);
        if (m_twoRows) {
            source = reinterpret_cast<uint8_t*>(rows + 2 * m_shape.n);
            std::memcpy(source, a, static_cast<size_t>(m_shape.k));
            std::memset(source + m_shape.k, 0, static_cast<size_t>(m_shape.k));
        }
        onednn::execute(m_primitive,
                        {{DNNL_ARG_SRC, memory(m_source, engine(), source)},
                         {DNNL_ARG_WEIGHTS, weights},
                         {DNNL_ARG_DST, memory(m_sums, engine(), m_twoRows ? rows : c)},
                         {DNNL_ARG_SCRATCHPAD, memory(m_scratchpad, engine(), scratch)}});
        if (m_twoRows)
            std::memcpy(c, rows, static_cast<size_t>(m_shape.n) * sizeof *c);
    }

    /// Each part takes as much of what the ones before left as it holds.
    void pack(const IntegerMatrix& matrix, int32_t limit, const memory::desc& packed,
              Pages& pages) {
        const int32_t low = limit == 127 ? -128 : -limit;
        std::vector<int8_t> values(matrix.values.size());
        std::vector<int32_t> left;
        if (m_parts > 1)
            left = matrix.values;
        for (size_t part = 0; part < m_parts; ++part) {
            if (m_parts == 1) // what fits is the part
                std::transform(matrix.values.begin(), matrix.values.end(), values.begin(),
                               [](int32_t value) { return static_cast<int8_t>(value); });
            for (size_t i = 0; i < left.size(); ++i) {
                const int32_t taken = std::clamp(left[i], low, limit);
                values[i] = static_cast<int8_t>(taken);
                left[i] -= taken;
            }
            const memory::desc plain({m_shape.k, m_shape.n}, memory::data_type::s8,
                                     memory::format_tag::ab);
            m_weights.push_back(onednn::packedWeights(values.data(), plain, packed, pages));
        }
    }

    Shape m_shape;
    const VectorTable& m_table;
    size_t m_parts = 1, m_partialAt = 0, m_rowsAt = 0;
    /// oneDNN packs the weights of some products of one row in every run; of two rows it does not.
    bool m_twoRows = false;
    memory::desc m_source, m_sums, m_scratchpad;
    dnnl::primitive m_primitive;
    std::vector<memory> m_weights; ///< parts of the first matrix, of the second ...
};

} // namespace

bool multipliesSigned() {
    return largestExactWeight() == 127;
}

IntegerProductResult makeIntegerProduct(const IntegerProduct::Shape& shape,
                                        const std::vector<IntegerMatrix>& matrices,
                                        const VectorTable& table, Pages& pages) {
    try {
        return std::make_unique<OnednnIntegerProduct>(shape, matrices, table, pages);
    } catch (const dnnl::error& error) {
        return Reason{"support", std::string("oneDNN matmul: ") + error.what(), {}, {}};
    }
}

} // namespace fuselage::cpu
