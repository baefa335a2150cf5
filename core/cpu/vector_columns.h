// SPDX-License-Identifier: Apache-2.0
// Products in types that no library multiplies: some columns of some rows at a time. Part of
// vector_body.h.

template <typename T> void columnSums(T* out, const T* a, const T* b, size_t width, size_t depth) {
    constexpr size_t rows = ColumnLoops::rows, columns = ColumnLoops::columns;
    typedef T Columns __attribute__((vector_size(columns * sizeof(T))));
    Columns sums[rows] = {};
    for (size_t k = 0; k < depth; ++k) {
        Columns of;
        __builtin_memcpy(&of, b + k * width, sizeof of);
        for (size_t r = 0; r < rows; ++r)
            sums[r] += a[r * depth + k] * of;
    }
    for (size_t r = 0; r < rows; ++r)
        __builtin_memcpy(out + r * width, &sums[r], sizeof sums[r]);
}
