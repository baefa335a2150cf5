// SPDX-License-Identifier: Apache-2.0
// Tiles between memory, of any strides, and lanes, where their rows lie one after the other.
// Included only by vector_body.h, inside its unnamed namespace.

/// Lanes are floats as they are stored.
template <typename F> constexpr bool isPlainFloat = false;
template <> constexpr bool isPlainFloat<StaticCast<float, float>> = true;

/// Where element (i, k) lies: at i * each + k * part.
struct Steps {
    int64_t each, part;
};

/// Elements (i, k) of n times `parts`, whose number is known while compiling: with steps that are
/// known too this is shuffles of vectors.
template <size_t parts, typename F, typename Out, typename In>
[[gnu::always_inline]] inline void moveParts(Out* out, Steps to, const In* in, Steps from,
                                             size_t n) {
#pragma GCC ivdep
    for (int64_t i = 0; i < static_cast<int64_t>(n); ++i)
        for (int64_t k = 0; k < static_cast<int64_t>(parts); ++k)
            out[i * to.each + k * to.part] = F::of(in[i * from.each + k * from.part]);
}

/// move(steps in lanes, steps in memory, n) of a tile with `few` columns, or as many rows that lie
/// beside each other in memory; false of any other.
template <int64_t few, typename Move>
[[gnu::always_inline]] inline bool moveFew(size_t rows, size_t cols, int64_t rowStride,
                                           int64_t colStride, Move&& move) {
    if (cols == few) {
        if (colStride == 1 && rowStride == 0)
            move(Steps{few, 1}, Steps{0, 1}, rows);
        else if (colStride == 1)
            move(Steps{few, 1}, Steps{rowStride, 1}, rows);
        else if (rowStride == 1)
            move(Steps{few, 1}, Steps{1, colStride}, rows);
        else
            move(Steps{few, 1}, Steps{rowStride, colStride}, rows);
        return true;
    }
    if (rows != few || rowStride != 1 || colStride == 0)
        return false;
    if (colStride == few)
        move(Steps{1, static_cast<int64_t>(cols)}, Steps{few, 1}, cols);
    else
        move(Steps{1, static_cast<int64_t>(cols)}, Steps{colStride, 1}, cols);
    return true;
}

/// Rows that lie one after the other are one.
inline void joinRows(size_t& rows, size_t& cols, int64_t rowStride, int64_t colStride) {
    if (colStride != 1 || rowStride != static_cast<int64_t>(cols))
        return;
    cols *= rows;
    rows = 1;
}

template <size_t few, typename L, typename S, typename F>
bool loadFew(L* out, const S* in, size_t rows, size_t cols, int64_t rowStride, int64_t colStride) {
    return moveFew<few>(
        rows, cols, rowStride,
        colStride, [=](Steps lanes, Steps memory, size_t n) __attribute__((always_inline)) {
            moveParts<few, F>(out, lanes, in, memory, n);
        });
}

template <size_t few, typename L, typename S, typename F>
bool storeFew(S* out, const L* in, size_t rows, size_t cols, int64_t rowStride, int64_t colStride) {
    return moveFew<few>(
        rows, cols, rowStride,
        colStride, [=](Steps lanes, Steps memory, size_t n) __attribute__((always_inline)) {
            moveParts<few, F>(out, memory, in, lanes, n);
        });
}

/// One number in each row of less than a vector: whole vectors as long as later rows, which are
/// written after them, have room for the rest. Steps behind these rows.
inline void fillShortRows(float*& out, const float*& in, size_t& rows, size_t cols,
                          int64_t rowStride) {
    for (; rows * cols >= wideLanes; --rows, out += cols, in += rowStride)
        storeWide(out, everyLane(*in));
}

template <typename L, typename S, typename F>
void loadLoop(void* lanes, const void* source, size_t rows, size_t cols, int64_t rowStride,
              int64_t colStride) {
    auto* out = static_cast<L*>(lanes);
    const auto* in = static_cast<const S*>(source);
    joinRows(rows, cols, rowStride, colStride);
    if (loadFew<2, L, S, F>(out, in, rows, cols, rowStride, colStride) ||
        loadFew<3, L, S, F>(out, in, rows, cols, rowStride, colStride) ||
        loadFew<4, L, S, F>(out, in, rows, cols, rowStride, colStride))
        return;
    if (colStride == 1) {
        for (size_t r = 0; r < rows; ++r, out += cols, in += rowStride)
#pragma GCC ivdep
            for (size_t c = 0; c < cols; ++c)
                out[c] = F::of(in[c]);
        return;
    }
    if (colStride == 0) {
        if constexpr (isPlainFloat<F>)
            if (cols < wideLanes)
                fillShortRows(out, in, rows, cols, rowStride);
        for (size_t r = 0; r < rows; ++r, out += cols, in += rowStride) {
            const L value = F::of(*in);
            for (size_t c = 0; c < cols; ++c)
                out[c] = value;
        }
        return;
    }
    if constexpr (isPlainFloat<F>)
        if (rowStride == 1)
            return transposeFloats(out, static_cast<int64_t>(cols), in, colStride, rows, cols);
    if (rowStride == 1) { // transposed: follow the memory, scatter within the tile
        for (size_t c = 0; c < cols; ++c, in += colStride)
            for (size_t r = 0; r < rows; ++r)
                out[r * cols + c] = F::of(in[r]);
        return;
    }
    for (size_t r = 0; r < rows; ++r)
        for (size_t c = 0; c < cols; ++c)
            *out++ = F::of(
                in[static_cast<int64_t>(r) * rowStride + static_cast<int64_t>(c) * colStride]);
}

template <typename L, typename S, typename F>
void storeLoop(void* target, const void* lanes, size_t rows, size_t cols, int64_t rowStride,
               int64_t colStride) {
    auto* out = static_cast<S*>(target);
    const auto* in = static_cast<const L*>(lanes);
    joinRows(rows, cols, rowStride, colStride);
    if (storeFew<2, L, S, F>(out, in, rows, cols, rowStride, colStride) ||
        storeFew<3, L, S, F>(out, in, rows, cols, rowStride, colStride) ||
        storeFew<4, L, S, F>(out, in, rows, cols, rowStride, colStride))
        return;
    if (colStride == 1) {
        for (size_t r = 0; r < rows; ++r, in += cols, out += rowStride)
#pragma GCC ivdep
            for (size_t c = 0; c < cols; ++c)
                out[c] = F::of(in[c]);
        return;
    }
    if constexpr (isPlainFloat<F>)
        if (rowStride == 1)
            return transposeFloats(out, colStride, in, static_cast<int64_t>(cols), cols, rows);
    if (rowStride == 1) {
        for (size_t c = 0; c < cols; ++c, out += colStride)
            for (size_t r = 0; r < rows; ++r)
                out[r] = F::of(in[r * cols + c]);
        return;
    }
    for (size_t r = 0; r < rows; ++r)
        for (size_t c = 0; c < cols; ++c)
            out[static_cast<int64_t>(r) * rowStride + static_cast<int64_t>(c) * colStride] =
                F::of(*in++);
}
