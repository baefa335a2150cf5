// SPDX-License-Identifier: Apache-2.0
// Products in types that no library multiplies: the tile of ColumnLoops, in as many registers as an
// instruction set has. Part of vector_body.h.

/// `rows` rows and two vectors of columns of the tile.
template <typename T, size_t rows> void columnsOfTile(const ColumnTile<T>& tile, T* out) {
    typedef T Lanes __attribute__((vector_size(wideLanes * sizeof(float))));
    typedef T LanesInMemory __attribute__((vector_size(sizeof(Lanes)), aligned(1), may_alias));
    constexpr size_t lanes = sizeof(Lanes) / sizeof(T);
    Lanes left[rows] = {}, right[rows] = {};
    const T* a = tile.a;
    const T* b = tile.b;
    for (size_t k = 0; k < tile.depth; ++k, a += ColumnLoops::rows, b += tile.bStep) {
        const Lanes first = *reinterpret_cast<const LanesInMemory*>(b),
                    second = *reinterpret_cast<const LanesInMemory*>(b + lanes);
#pragma GCC unroll 16
        for (size_t r = 0; r < rows; ++r) {
            left[r] += a[r] * first;
            right[r] += a[r] * second;
        }
    }
    for (size_t r = 0; r < rows; ++r) {
        *reinterpret_cast<LanesInMemory*>(out + r * tile.outStep) = left[r];
        *reinterpret_cast<LanesInMemory*>(out + r * tile.outStep + lanes) = right[r];
    }
}

template <typename T> void columnTile(ColumnTile<T> tile) {
    constexpr size_t together = 2 * wideLanes * sizeof(float) / sizeof(T);
    constexpr size_t inRegisters = wideLanes >= 16 ? ColumnLoops::rows : 4;
    static_assert(ColumnLoops::columns<T> % together == 0);
    T* const out = tile.out;
    const T* const a = tile.a;
    const T* const b = tile.b;
    for (size_t n = 0; n < ColumnLoops::columns<T>; n += together)
        for (size_t r = 0; r < tile.rows; r += inRegisters) {
            tile.a = a + r;
            tile.b = b + n;
            T* const at = out + r * tile.outStep + n;
            if (tile.rows == 1)
                columnsOfTile<T, 1>(tile, at);
            else if (tile.rows <= 4)
                columnsOfTile<T, 4>(tile, at);
            else
                columnsOfTile<T, inRegisters>(tile, at);
        }
}
