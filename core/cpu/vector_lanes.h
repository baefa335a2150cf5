// SPDX-License-Identifier: Apache-2.0
// Vectors of floats as wide as the processor's, for loops that keep them in registers. Included
// only by vector_body.h, inside its unnamed namespace.

#if defined(__AVX512F__)
constexpr size_t wideLanes = 16;
#elif defined(__AVX__)
constexpr size_t wideLanes = 8;
#else
constexpr size_t wideLanes = 4;
#endif

typedef float Wide __attribute__((vector_size(wideLanes * sizeof(float))));
typedef float WideInMemory
    __attribute__((vector_size(wideLanes * sizeof(float)), aligned(sizeof(float)), may_alias));

/// The same in every lane. Subtracting nothing is no operation; adding it is one, since it would
/// make -0 a 0.
inline Wide everyLane(float value) {
    return value - Wide{};
}

typedef int32_t WideNumbers __attribute__((vector_size(wideLanes * sizeof(int32_t))));

/// 0, 1, 2 ...
inline WideNumbers laneNumbers() {
    WideNumbers out = {};
    for (size_t i = 0; i < wideLanes; ++i)
        out[i] = static_cast<int32_t>(i);
    return out;
}

inline Wide loadWide(const float* from) {
    return *reinterpret_cast<const WideInMemory*>(from);
}

inline void storeWide(float* to, Wide value) {
    *reinterpret_cast<WideInMemory*>(to) = value;
}

// Four floats, on every processor.
typedef float Quad __attribute__((vector_size(4 * sizeof(float))));
typedef float QuadInMemory
    __attribute__((vector_size(4 * sizeof(float)), aligned(sizeof(float)), may_alias));

inline Quad loadQuad(const float* from) {
    return *reinterpret_cast<const QuadInMemory*>(from);
}

inline void storeQuad(float* to, Quad value) {
    *reinterpret_cast<QuadInMemory*>(to) = value;
}

/// out[r * outRow + c] = in[c * inCol + r] of columns whose number is known while compiling.
template <size_t cols>
inline void transposeFew(float* out, int64_t outRow, const float* in, int64_t inCol, size_t rows) {
    for (size_t r = 0; r < rows; ++r, out += outRow, ++in)
        for (size_t c = 0; c < cols; ++c)
            out[c] = in[static_cast<int64_t>(c) * inCol];
}

/// out[r * outRow + c] = in[c * inCol + r]: four rows of four columns at a time, within a cache
/// line of either side.
inline void transposeFloats(float* out, int64_t outRow, const float* in, int64_t inCol, size_t rows,
                            size_t cols) {
    constexpr size_t line = 16;
    const size_t wholeCols = cols / 4 * 4;
    for (size_t first = 0; first < rows; first += line) {
        const size_t end = rows - first < line ? rows : first + line;
        const size_t wholeRows = first + (end - first) / 4 * 4;
        for (size_t c = 0; c < wholeCols; c += 4)
            for (size_t r = first; r < wholeRows; r += 4) {
                const float* from = in + static_cast<int64_t>(c) * inCol + r;
                float* to = out + static_cast<int64_t>(r) * outRow + c;
                const Quad c0 = loadQuad(from), c1 = loadQuad(from + inCol),
                           c2 = loadQuad(from + 2 * inCol), c3 = loadQuad(from + 3 * inCol);
                const Quad low02 = __builtin_shufflevector(c0, c2, 0, 4, 1, 5);
                const Quad high02 = __builtin_shufflevector(c0, c2, 2, 6, 3, 7);
                const Quad low13 = __builtin_shufflevector(c1, c3, 0, 4, 1, 5);
                const Quad high13 = __builtin_shufflevector(c1, c3, 2, 6, 3, 7);
                storeQuad(to, __builtin_shufflevector(low02, low13, 0, 4, 1, 5));
                storeQuad(to + outRow, __builtin_shufflevector(low02, low13, 2, 6, 3, 7));
                storeQuad(to + 2 * outRow, __builtin_shufflevector(high02, high13, 0, 4, 1, 5));
                storeQuad(to + 3 * outRow, __builtin_shufflevector(high02, high13, 2, 6, 3, 7));
            }
        for (size_t r = wholeRows; r < end; ++r)
            for (size_t c = 0; c < wholeCols; ++c)
                out[static_cast<int64_t>(r) * outRow + static_cast<int64_t>(c)] =
                    in[static_cast<int64_t>(c) * inCol + static_cast<int64_t>(r)];
    }
    out += wholeCols;
    in += static_cast<int64_t>(wholeCols) * inCol;
    switch (cols - wholeCols) {
    case 1:
        return transposeFew<1>(out, outRow, in, inCol, rows);
    case 2:
        return transposeFew<2>(out, outRow, in, inCol, rows);
    case 3:
        return transposeFew<3>(out, outRow, in, inCol, rows);
    default:
        return;
    }
}
