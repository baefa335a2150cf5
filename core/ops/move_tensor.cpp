// SPDX-License-Identifier: Apache-2.0
#include "core/ops/move_tensor.h"

#include "core/ops/tensor_index.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace fuselage {

namespace {

struct Loop {
    int64_t extent, from, to; ///< strides in elements
};

/// The window's loops over both sides, outermost first: neighbours that are one walk joined.
std::vector<Loop> loopsOf(const ElementWindow& window) {
    const Extents to = rowMajorStrides(window.extents);
    std::vector<Loop> out;
    for (size_t d = 0; d < window.extents.size(); ++d) {
        const Loop loop{window.extents[d], window.strides[d], to[d]};
        if (loop.extent == 1)
            continue;
        if (!out.empty() && out.back().from == loop.from * loop.extent)
            out.back() = {out.back().extent * loop.extent, loop.from, loop.to};
        else
            out.push_back(loop);
    }
    return out;
}

/// Two loops, the first of which reads neighbours and the second of which writes them. Squares as
/// wide as a line of a cache go through a buffer, so that each line is met once on either side,
/// however many of them the strides put into one set.
template <typename T> void transposed(const T* from, T* to, const Loop& reads, const Loop& writes) {
    constexpr int64_t side = 64 / sizeof(T);
    std::array<T, static_cast<size_t>(side * side)> square;
    for (int64_t r = 0; r < reads.extent; r += side)
        for (int64_t w = 0; w < writes.extent; w += side) {
            const int64_t rows = std::min(side, reads.extent - r);
            const int64_t columns = std::min(side, writes.extent - w);
            for (int64_t j = 0; j < columns; ++j)
                for (int64_t i = 0; i < rows; ++i)
                    square[static_cast<size_t>(i * side + j)] = from[(w + j) * writes.from + r + i];
            for (int64_t i = 0; i < rows; ++i)
                std::copy_n(square.begin() + i * side, columns, to + (r + i) * reads.to + w);
        }
}

template <typename T> void row(const T* from, T* to, const Loop& loop) {
    if (loop.from == 1) {
        std::copy_n(from, loop.extent, to);
        return;
    }
    for (int64_t i = 0; i < loop.extent; ++i)
        to[i] = from[i * loop.from];
}

template <typename T> struct Copy {
    std::vector<Loop> outer;
    Loop last;                 ///< writes neighbours
    std::optional<Loop> reads; ///< reads neighbours, where the last does not

    explicit Copy(std::vector<Loop> loops) : outer(std::move(loops)), last{1, 1, 1} {
        if (outer.empty())
            return;
        last = outer.back();
        outer.pop_back();
        auto neighbours =
            std::find_if(outer.begin(), outer.end(), [](const Loop& l) { return l.from == 1; });
        if (last.from == 1 || neighbours == outer.end())
            return;
        reads = *neighbours;
        outer.erase(neighbours);
    }

    void run(const T* from, T* to, size_t depth = 0) const {
        if (depth == outer.size())
            return reads ? transposed(from, to, *reads, last) : row(from, to, last);
        for (int64_t i = 0; i < outer[depth].extent; ++i)
            run(from + i * outer[depth].from, to + i * outer[depth].to, depth + 1);
    }
};

template <typename T> void copyAs(const Tensor& tensor, const ElementWindow& window, Tensor& out) {
    Copy<T>(loopsOf(window)).run(tensor.as<T>().data() + window.origin, out.as<T>().data());
}

} // namespace

bool movesElements(Op op) {
    return op == Op::Transpose || op == Op::Slice || op == Op::Split;
}

std::optional<std::vector<ElementWindow>> windowsOf(const Node& node, const Extents& x,
                                                    ReferenceInputs inputs) {
    if (!movesElements(node.op) || !checkTensorInputs(node, inputs))
        return std::nullopt;
    if (node.op == Op::Split) {
        auto windows = splitWindows(node, x, inputs);
        return windows ? std::optional(std::move(*windows)) : std::nullopt;
    }
    auto window =
        node.op == Op::Transpose ? transposeWindow(node, x) : sliceWindow(node, x, inputs);
    return window ? std::optional(std::vector{std::move(*window)}) : std::nullopt;
}

Tensor copyWindow(const Tensor& tensor, const ElementWindow& window) {
    Tensor out(tensor.dtype(), window.extents);
    if (out.elementCount() == 0)
        return out;
    switch (sizeOf(tensor.dtype())) {
    case 1:
        copyAs<uint8_t>(tensor, window, out);
        break;
    case 2:
        copyAs<uint16_t>(tensor, window, out);
        break;
    case 4:
        copyAs<uint32_t>(tensor, window, out);
        break;
    default:
        copyAs<uint64_t>(tensor, window, out);
    }
    return out;
}

} // namespace fuselage
