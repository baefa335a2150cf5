// SPDX-License-Identifier: Apache-2.0
// ScatterElements as copies of elements: the data as it is, then each update in its place, or
// combined with what is there.
#include "core/cpu/library.h"
#include "core/ops/tensor_index.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

namespace fuselage::cpu {

namespace {

/// Integers wrap; of floats NaN stays where it is found, as std::min has it.
template <typename T, typename F>
void combineEach(std::byte* into, const std::byte* updates, size_t count) {
    for (size_t i = 0; i < count; ++i) {
        T found, update;
        std::memcpy(&found, into + i * sizeof(T), sizeof(T));
        std::memcpy(&update, updates + i * sizeof(T), sizeof(T));
        found = F::of(found, update);
        std::memcpy(into + i * sizeof(T), &found, sizeof(T));
    }
}

template <typename T> struct Wrapping { using Type = T; };
template <typename T>
requires std::is_integral_v<T>
struct Wrapping<T> {
    using Type = std::make_unsigned_t<T>;
};

struct ScatterSum {
    template <typename T> static T of(T a, T b) {
        using U = typename Wrapping<T>::Type;
        return static_cast<T>(static_cast<U>(a) + static_cast<U>(b));
    }
};

struct ScatterProduct {
    template <typename T> static T of(T a, T b) {
        using U = typename Wrapping<T>::Type;
        return static_cast<T>(static_cast<U>(a) * static_cast<U>(b));
    }
};

/// What is no number stays, as with Min and Max.
struct ScatterLeast {
    template <typename T> static T of(T a, T b) { return b < a || b != b ? b : a; }
};

struct ScatterGreatest {
    template <typename T> static T of(T a, T b) { return b > a || b != b ? b : a; }
};

template <typename T> CombineFunction combineOf(const std::string& reduction) {
    return reduction == "add"   ? combineEach<T, ScatterSum>
           : reduction == "mul" ? combineEach<T, ScatterProduct>
           : reduction == "min" ? combineEach<T, ScatterLeast>
           : reduction == "max" ? combineEach<T, ScatterGreatest>
                                : nullptr;
}

/// Writes updates one after the other, so that of two for one place the later one stays.
class ScatterKernel final : public Kernel {
public:
    ScatterKernel(const LibraryCall& call, size_t axis, CombineFunction combine)
        : m_node(call.node()), m_data(call.input(0)), m_index(call.input(1)),
          m_updates(call.input(2)), m_result(call.output(0)), m_extent(m_data.layout.extents[axis]),
          m_strides(rowMajorStrides(m_data.layout.extents)), m_axisStride(m_strides[axis]),
          m_elementBytes(sizeOf(m_data.layout.dtype)), m_combine(combine),
          m_bytes(static_cast<size_t>(*elementCount(m_data.layout.extents)) * m_elementBytes) {
        m_strides[axis] = 0; // the index says where along it
        tactic = "scatter";
    }

    void run(const Operands& operands, RunContext& context) override {
        const std::byte* updates = m_updates.read(operands);
        std::byte* to = m_result.write(operands);
        if (m_bytes != 0)
            std::memcpy(to, m_data.read(operands), m_bytes);
        for (StridedWalk walk(m_index.layout.extents, {m_strides}); walk.valid(); walk.next()) {
            const auto at = static_cast<size_t>(walk.position());
            const int64_t index = m_index.placeAt(operands, at, m_extent);
            if (index < 0) {
                context.error = indexOutside(m_node, m_index.integerAt(operands, at), m_extent);
                return;
            }
            const auto place = static_cast<size_t>(walk.offset(0) + index * m_axisStride);
            std::byte* into = to + place * m_elementBytes;
            const std::byte* update = updates + at * m_elementBytes;
            m_combine ? m_combine(into, update, 1)
                      : static_cast<void>(std::memcpy(into, update, m_elementBytes));
        }
    }

private:
    const Node& m_node;
    LibraryOperand m_data, m_index, m_updates, m_result;
    int64_t m_extent;
    Extents m_strides;
    int64_t m_axisStride;
    size_t m_elementBytes;
    CombineFunction m_combine; ///< null: the update replaces
    size_t m_bytes;
};

} // namespace

Result<CombineFunction> scatterReduction(const Node& node, DType type) {
    const std::string reduction = node.attributes.string("reduction", "none");
    if (reduction == "none")
        return CombineFunction(nullptr);
    const CombineFunction found = type == DType::Float32   ? combineOf<float>(reduction)
                                  : type == DType::Float64 ? combineOf<double>(reduction)
                                  : type == DType::Int32   ? combineOf<int32_t>(reduction)
                                  : type == DType::Int64   ? combineOf<int64_t>(reduction)
                                                           : nullptr;
    if (!found)
        return failure("cpu.support",
                       "`" + reduction + "` of " + nameOf(type) + " is not known here");
    return found;
}

KernelResult prepareScatter(const LibraryCall& call) {
    const OperandLayout &data = call.input(0).layout, &index = call.input(1).layout,
                        &updates = call.input(2).layout;
    const auto axis = call.axis(0);
    const auto combine = scatterReduction(call.node(), data.dtype);
    if (!combine)
        return failure(combine.error());
    if (!axis || !coversElsewhere(data.extents, index.extents, *axis) ||
        updates.extents != index.extents || updates.dtype != data.dtype ||
        call.output(0).layout.extents != data.extents || sizeOf(data.dtype) == 0 ||
        (index.dtype != DType::Int64 && index.dtype != DType::Int32))
        return failure("cpu.support", "data, indices and updates do not fit each other");
    return std::unique_ptr<Kernel>(std::make_unique<ScatterKernel>(call, *axis, *combine));
}

} // namespace fuselage::cpu
