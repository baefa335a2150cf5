// SPDX-License-Identifier: Apache-2.0
// The loops of minimal filtering: tiles of pixels to products' operands, sums of products, and back
// to results. Included only by vector_body.h, inside its unnamed namespace. What the numbers mean
// and how the parts lie in memory is said in vector_table.h; the filters' side is winograd.cpp's.

#if defined(__AVX512F__)
constexpr size_t mostProductRows = 14; // with two vectors of sums a row: 28 of 32 registers
constexpr size_t mostPanelRows = 3;
#else
constexpr size_t mostProductRows = 6;
constexpr size_t mostPanelRows = 1;
#endif

// --- one dimension of the transforms ---------------------------------------------------------
// Interpolation points 0, 1, -1, a, -a and infinity (four results), or 0, 1, -1 and infinity (two).

constexpr float square(float x) {
    return x * x;
}

template <size_t results> struct Transform;

template <> struct Transform<4> {
    static constexpr float a = winogradPoint;

    static void input(const Wide (&d)[6], Wide (&out)[6]) {
        constexpr float aa = square(a), both = 1 + square(a);
        const Wide even = d[4] - aa * d[2], odd = d[3] - aa * d[1];
        const Wide evenA = d[4] - d[2], oddA = a * (d[3] - d[1]);
        out[0] = aa * d[0] - both * d[2] + d[4];
        out[1] = even + odd;
        out[2] = even - odd;
        out[3] = evenA + oddA;
        out[4] = evenA - oddA;
        out[5] = aa * d[1] - both * d[3] + d[5];
    }

    static void output(const Wide (&m)[6], Wide (&out)[4]) {
        const Wide sum = m[1] + m[2], difference = m[1] - m[2];
        const Wide sumA = m[3] + m[4], differenceA = m[3] - m[4];
        out[0] = m[0] + sum + sumA;
        out[1] = difference + a * differenceA;
        out[2] = sum + square(a) * sumA;
        out[3] = difference + a * square(a) * differenceA + m[5];
    }
};

template <> struct Transform<2> {
    static void input(const Wide (&d)[4], Wide (&out)[4]) {
        out[0] = d[2] - d[0];
        out[1] = d[2] + d[1];
        out[2] = d[2] - d[1];
        out[3] = d[3] - d[1];
    }

    static void output(const Wide (&m)[4], Wide (&out)[2]) {
        out[0] = m[0] + m[1] + m[2];
        out[1] = m[1] - m[2] + m[3];
    }
};

// --- tiles -----------------------------------------------------------------------------------

template <size_t results>
void winogradInput(float* v, size_t positionStride, size_t groupStride, const float* const* pixels,
                   size_t channels) {
    constexpr size_t n = results + 2;
    for (size_t c = 0; c < channels; c += wideLanes) {
        float* out = v + c / laneGroup * groupStride + c % laneGroup;
        Wide half[n][n];
#pragma GCC unroll 6
        for (size_t x = 0; x < n; ++x) {
            Wide column[n], turned[n];
#pragma GCC unroll 6
            for (size_t y = 0; y < n; ++y)
                column[y] = loadWide(pixels[y * n + x] + c);
            Transform<results>::input(column, turned);
#pragma GCC unroll 6
            for (size_t y = 0; y < n; ++y)
                half[y][x] = turned[y];
        }
        for (size_t y = 0; y < n; ++y) {
            Wide turned[n];
            Transform<results>::input(half[y], turned);
#pragma GCC unroll 6
            for (size_t x = 0; x < n; ++x)
                storeWide(out + (y * n + x) * positionStride, turned[x]);
        }
    }
}

/// The steps after the sums; NaN passes through all of them.
template <bool adds>
inline Wide finished(Wide value, const WinogradTile& tile, size_t i, size_t c) {
    if constexpr (adds)
        value += loadWide(tile.add[i] + c);
    const Wide low = everyLane(tile.low), high = everyLane(tile.high);
    value = value < Wide{} ? value * tile.slope : value;
    value = value < low ? low : value;
    return value > high ? high : value;
}

template <size_t results, bool adds>
void winogradResults(const float* m, size_t positionStride, const WinogradTile& tile,
                     size_t channels) {
    constexpr size_t n = results + 2;
    for (size_t c = 0; c < channels; c += wideLanes) {
        Wide half[results][n];
#pragma GCC unroll 6
        for (size_t x = 0; x < n; ++x) {
            Wide column[n], turned[results];
#pragma GCC unroll 6
            for (size_t y = 0; y < n; ++y)
                column[y] = loadWide(m + (y * n + x) * positionStride + c);
            Transform<results>::output(column, turned);
#pragma GCC unroll 6
            for (size_t y = 0; y < results; ++y)
                half[y][x] = turned[y];
        }
        const Wide bias = loadWide(tile.bias + c);
        for (size_t y = 0; y < results; ++y) {
            Wide turned[results];
            Transform<results>::output(half[y], turned);
#pragma GCC unroll 6
            for (size_t x = 0; x < results; ++x) {
                const size_t i = y * results + x;
                storeWide(tile.result[i] + c, finished<adds>(turned[x] + bias, tile, i, c));
            }
        }
    }
}

template <size_t results>
void winogradOutput(const float* m, size_t positionStride, const WinogradTile& tile,
                    size_t channels) {
    if (tile.add)
        winogradResults<results, true>(m, positionStride, tile, channels);
    else
        winogradResults<results, false>(m, positionStride, tile, channels);
}

// --- sums of products ------------------------------------------------------------------------

// Filters come from memory at every run, and in runs too short for the processor's own prefetcher.
constexpr size_t prefetchedAhead = 2048;

template <size_t rows>
void productRows(const float* a, size_t groupStride, const float* b, float* c, size_t rowStride,
                 size_t depth) {
    Wide sum[rows][2] = {};
    for (size_t k = 0; k < depth; k += laneGroup, a += groupStride) {
        for (size_t i = 0; i < laneGroup; ++i, b += 2 * wideLanes) {
            const Wide b0 = loadWide(b), b1 = loadWide(b + wideLanes);
            __builtin_prefetch(b + prefetchedAhead);
            __builtin_prefetch(b + prefetchedAhead + wideLanes);
#pragma GCC unroll 16
            for (size_t r = 0; r < rows; ++r) {
                const Wide x = everyLane(a[r * laneGroup + i]);
                sum[r][0] += x * b0;
                sum[r][1] += x * b1;
            }
        }
    }
#pragma GCC unroll 16
    for (size_t r = 0; r < rows; ++r) {
        storeWide(c + r * rowStride, sum[r][0]);
        storeWide(c + r * rowStride + wideLanes, sum[r][1]);
    }
}

/// Of so few rows the sums of one panel wait for each other: several panels go side by side. Each
/// sum is added up in the same order as by productRows().
template <size_t rows>
void productPanels(const float* a, size_t groupStride, const float* b, size_t panelStride, float* c,
                   size_t rowStride, size_t depth) {
    Wide sum[rows][panelsTogether][2] = {};
    for (size_t k = 0; k < depth; k += laneGroup, a += groupStride)
        for (size_t i = 0; i < laneGroup; ++i, b += 2 * wideLanes) {
#pragma GCC unroll 8
            for (size_t p = 0; p < panelsTogether; ++p) {
                const Wide b0 = loadWide(b + p * panelStride);
                const Wide b1 = loadWide(b + p * panelStride + wideLanes);
#pragma GCC unroll 16
                for (size_t r = 0; r < rows; ++r) {
                    const Wide x = everyLane(a[r * laneGroup + i]);
                    sum[r][p][0] += x * b0;
                    sum[r][p][1] += x * b1;
                }
            }
        }
#pragma GCC unroll 16
    for (size_t r = 0; r < rows; ++r)
#pragma GCC unroll 8
        for (size_t p = 0; p < panelsTogether; ++p) {
            storeWide(c + r * rowStride + 2 * p * wideLanes, sum[r][p][0]);
            storeWide(c + r * rowStride + (2 * p + 1) * wideLanes, sum[r][p][1]);
        }
}

template <size_t rows> void fillPanels(WinogradLoops& loops) {
    loops.panels[rows] = productPanels<rows>;
    if constexpr (rows > 1)
        fillPanels<rows - 1>(loops);
}

template <size_t rows> void fillProducts(WinogradLoops& loops) {
    loops.product[rows] = productRows<rows>;
    if constexpr (rows > 1)
        fillProducts<rows - 1>(loops);
}

void fillWinograd(WinogradLoops& loops) {
    loops.panel = 2 * wideLanes;
    loops.mostRows = mostProductRows;
    loops.input[0] = winogradInput<2>;
    loops.input[1] = winogradInput<4>;
    loops.output[0] = winogradOutput<2>;
    loops.output[1] = winogradOutput<4>;
    fillProducts<mostProductRows>(loops);
    fillPanels<mostPanelRows>(loops);
}
