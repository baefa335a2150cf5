// SPDX-License-Identifier: Apache-2.0
// Reductions of packed tiles. Included only by vector_body.h, inside its unnamed namespace. Sums of
// float run in 32 independent float partial sums per tile (at most a few thousand elements) and are
// carried from tile to tile in double, in an order that depends on the shape alone.

template <typename T> struct AccumulatorOf { using Type = int64_t; };

template <> struct AccumulatorOf<float> { using Type = double; };

template <> struct AccumulatorOf<double> { using Type = double; };

constexpr size_t partials = 32;

// The same operations on vectors of floats. Branch-free: where the largest of a row stands nobody
// can predict.

template <typename V> V ofEach(AddOf<float>, V a, V b) {
    return a + b;
}

template <typename V> V ofEach(MulOf<float>, V a, V b) {
    return a * b;
}

template <typename V> V ofEach(MinOf<float>, V a, V b) {
    return ((a < b) | (a != a)) ? a : b;
}

template <typename V> V ofEach(MaxOf<float>, V a, V b) {
    return ((a > b) | (a != a)) ? a : b;
}

/// What changes nothing, not even the sign of a zero.
inline float neutralOf(AddOf<float>) {
    return -0.0F;
}

inline float neutralOf(MulOf<float>) {
    return 1;
}

inline float neutralOf(MinOf<float>) {
    return __builtin_inff();
}

inline float neutralOf(MaxOf<float>) {
    return -__builtin_inff();
}

/// Halves as long as there is more than one.
template <typename F> float foldQuads(const float* x, size_t quads) {
    Quad part[partials / 4];
    for (size_t j = 0; j < quads; ++j)
        part[j] = loadQuad(x + 4 * j);
    for (size_t width = quads / 2; width > 0; width /= 2)
        for (size_t j = 0; j < width; ++j)
            part[j] = ofEach(F{}, part[j], part[j + width]);
    const Quad two = ofEach(F{}, part[0], __builtin_shufflevector(part[0], part[0], 2, 3, 0, 1));
    return ofEach(F{}, two, __builtin_shufflevector(two, two, 1, 0, 3, 2))[0];
}

template <typename F> float foldFloats(const float* x, size_t cols) {
    constexpr size_t count = partials / wideLanes;
    Wide part[count];
    for (size_t j = 0; j < count; ++j)
        part[j] = loadWide(x + j * wideLanes);
    size_t i = partials;
    for (; i + partials <= cols; i += partials)
        for (size_t j = 0; j < count; ++j)
            part[j] = ofEach(F{}, part[j], loadWide(x + i + j * wideLanes));
    for (size_t j = 0; i + wideLanes <= cols; i += wideLanes, ++j)
        part[j] = ofEach(F{}, part[j], loadWide(x + i));
    if (i < cols) { // the last vector of the row, without what is in it already
        const Wide end = loadWide(x + cols - wideLanes);
        const auto known = static_cast<int32_t>(wideLanes - (cols - i));
        part[count - 1] =
            ofEach(F{}, part[count - 1], laneNumbers() < known ? everyLane(neutralOf(F{})) : end);
    }
    for (size_t width = count / 2; width > 0; width /= 2)
        for (size_t j = 0; j < width; ++j)
            part[j] = ofEach(F{}, part[j], part[j + width]);
    alignas(64) float last[wideLanes];
    storeWide(last, part[0]);
    return foldQuads<F>(last, wideLanes / 4);
}

/// Folds `cols` elements with 32 partial results.
template <typename T, typename F> T foldRow(const T* x, size_t cols) {
    if (cols < partials) {
        T result = x[0];
        for (size_t i = 1; i < cols; ++i)
            result = F::of(result, x[i]);
        return result;
    }
    if constexpr (sizeof(T) == sizeof(float))
        return foldFloats<F>(x, cols);
    T part[partials];
    for (size_t j = 0; j < partials; ++j)
        part[j] = x[j];
    size_t i = partials;
    for (; i + partials <= cols; i += partials)
        for (size_t j = 0; j < partials; ++j)
            part[j] = F::of(part[j], x[i + j]);
    for (size_t j = 0; i < cols; ++i, ++j)
        part[j] = F::of(part[j], x[i]);
    for (size_t width = partials / 2; width > 0; width /= 2)
        for (size_t j = 0; j < width; ++j)
            part[j] = F::of(part[j], part[j + width]);
    return part[0];
}

struct SameElement {
    template <typename T> static T of(T x) { return x; }
};

/// Rows whose length is known while compiling: first its columns, then all rows at once.
template <size_t cols, typename T, template <typename> typename F, typename Acc>
void foldFew(Acc* acc, const T* in, size_t rows) {
    constexpr size_t most = 64;
    T column[cols * most];
    for (size_t first = 0; first < rows; first += most, in += most * cols) {
        const size_t n = rows - first < most ? rows - first : most;
        moveParts<cols, SameElement>(column, Steps{1, most}, in, Steps{cols, 1}, n);
        for (size_t i = 1; i < cols; ++i)
#pragma GCC ivdep
            for (size_t r = 0; r < n; ++r)
                column[r] = F<T>::of(column[r], column[i * most + r]);
#pragma GCC ivdep
        for (size_t r = 0; r < n; ++r)
            acc[first + r] = F<Acc>::of(acc[first + r], static_cast<Acc>(column[r]));
    }
}

template <typename T, template <typename> typename F>
void innerFold(Accumulators into, const void* x, size_t rows, size_t cols, int64_t) {
    using Acc = typename AccumulatorOf<T>::Type;
    auto* acc = static_cast<Acc*>(into.values);
    const auto* in = static_cast<const T*>(x);
    switch (cols) {
    case 2:
        return foldFew<2, T, F>(acc, in, rows);
    case 3:
        return foldFew<3, T, F>(acc, in, rows);
    case 4:
        return foldFew<4, T, F>(acc, in, rows);
    default:
        break;
    }
    constexpr size_t together = 8; // short rows: one alone would wait for each of its results
    size_t r = 0;
    for (; cols < partials && r + together <= rows; r += together, in += together * cols) {
        T part[together];
        for (size_t j = 0; j < together; ++j)
            part[j] = in[j * cols];
        for (size_t i = 1; i < cols; ++i)
            for (size_t j = 0; j < together; ++j)
                part[j] = F<T>::of(part[j], in[j * cols + i]);
        for (size_t j = 0; j < together; ++j)
            acc[r + j] = F<Acc>::of(acc[r + j], static_cast<Acc>(part[j]));
    }
    for (; r < rows; ++r, in += cols)
        acc[r] = F<Acc>::of(acc[r], static_cast<Acc>(foldRow<T, F<T>>(in, cols)));
}

/// How many rows of so few columns are folded as one: whole vectors, and some of them, since each
/// waits for what it was a row before.
inline size_t rowsAsOne(size_t rows, size_t cols) {
    constexpr size_t lanes = 16, enough = 64;
    size_t together = 1;
    while (2 * together <= rows && (together * cols % lanes != 0 || together * cols < enough))
        together *= 2;
    return together;
}

constexpr size_t fewColumns = 32;

/// The rows of a tile with few columns.
template <typename T, template <typename> typename F>
void foldFewColumns(T* out, const T* in, size_t rows, size_t cols) {
    size_t together = rowsAsOne(rows, cols);
    const size_t all = rows * cols, width = together * cols;
    for (size_t j = 0; j < width; ++j)
        out[j] = in[j];
    for (size_t first = width; first < all; first += width) {
        const size_t n = all - first < width ? all - first : width;
        const T* row = in + first;
        for (size_t j = 0; j < n; ++j)
            out[j] = F<T>::of(out[j], row[j]);
    }
    for (together /= 2; together > 0; together /= 2) {
        const T* half = out + together * cols;
#pragma GCC ivdep
        for (size_t j = 0; j < together * cols; ++j)
            out[j] = F<T>::of(out[j], half[j]);
    }
}

/// One result for each column of some that lie beside each other, in registers.
template <template <typename> typename F>
void foldWideColumns(float* out, const float* in, size_t rows, size_t cols, bool isFirst) {
    constexpr size_t count = 4;
    Wide part[count];
    const float* from = isFirst ? in : out;
    for (size_t j = 0; j < count; ++j)
        part[j] = loadWide(from + j * wideLanes);
    for (size_t r = isFirst ? 1 : 0; r < rows; ++r)
        for (size_t j = 0; j < count; ++j)
            part[j] = ofEach(F<float>{}, part[j], loadWide(in + r * cols + j * wideLanes));
    for (size_t j = 0; j < count; ++j)
        storeWide(out + j * wideLanes, part[j]);
}

/// Folds the rows of a tile into one, in their own type; of the first tile they are all there is.
template <typename T, template <typename> typename F>
void foldRows(void* into, const void* x, size_t rows, size_t cols, bool isFirst) {
    auto* out = static_cast<T*>(into);
    const auto* in = static_cast<const T*>(x);
    if (cols < fewColumns) {
        T folded[16 * fewColumns];
        foldFewColumns<T, F>(folded, in, rows, cols);
        for (size_t j = 0; j < cols; ++j)
            out[j] = isFirst ? folded[j] : F<T>::of(out[j], folded[j]);
        return;
    }
    size_t done = 0;
    if constexpr (sizeof(T) == sizeof(float))
        for (; rows > 1 && done + 4 * wideLanes <= cols; done += 4 * wideLanes)
            foldWideColumns<F>(out + done, in + done, rows, cols, isFirst);
    for (size_t r = 0; r < rows; ++r, in += cols)
        if (r == 0 && isFirst)
#pragma GCC ivdep
            for (size_t j = done; j < cols; ++j)
                out[j] = in[j];
        else
#pragma GCC ivdep
            for (size_t j = done; j < cols; ++j)
                out[j] = F<T>::of(out[j], in[j]);
}

/// Folds one row after the other into wider accumulators.
template <typename T, template <typename> typename F>
void outerFold(Accumulators into, const void* x, size_t rows, size_t cols, int64_t) {
    using Acc = typename AccumulatorOf<T>::Type;
    auto* acc = static_cast<Acc*>(into.values);
    const auto* in = static_cast<const T*>(x);
    for (size_t r = 0; r < rows; ++r, in += cols)
#pragma GCC ivdep
        for (size_t j = 0; j < cols; ++j)
            acc[j] = F<Acc>::of(acc[j], static_cast<Acc>(in[j]));
}

/// True when x replaces the best so far; the first NaN wins (of the Last kinds the last one).
/// Without branches: where the best of a row stands nobody can predict.
template <typename T, bool maximum, bool last> bool isTaken(T x, T best) {
    const bool isBetter = (maximum ? x > best : x < best) | (last & (x == best)) | (x != x);
    return ((best == best) & isBetter) | (last & (best != best) & (x != x));
}

/// Carries what is best from `firstIndex` on into what was best before.
template <typename Acc, bool maximum, bool last>
void carryArg(Accumulators into, size_t row, Acc value, int64_t firstIndex, int64_t position) {
    auto& best = static_cast<Acc*>(into.values)[row];
    if (firstIndex != 0 && !isTaken<Acc, maximum, last>(value, best))
        return;
    best = value;
    into.indices[row] = firstIndex + position;
}

/// Some rows or columns at a time, each element `step` after the one before.
template <typename T, bool maximum, bool last>
void argOfSome(T* best, int32_t* at, const T* in, size_t count, size_t step, size_t apart,
               size_t some) {
    for (size_t j = 0; j < some; ++j) {
        best[j] = in[j * apart];
        at[j] = 0;
    }
    for (size_t i = 1; i < count; ++i) {
        const T* x = in + i * step;
#pragma GCC ivdep
        for (size_t j = 0; j < some; ++j) {
            const bool taken = isTaken<T, maximum, last>(x[j * apart], best[j]);
            best[j] = taken ? x[j * apart] : best[j];
            at[j] = taken ? static_cast<int32_t>(i) : at[j];
        }
    }
}

/// The first or last place of a value that is in the row, NaN too.
template <typename T, bool last> size_t placeOf(const T* x, size_t cols, T value) {
    constexpr size_t chunk = 64;
    const auto isIt = [=](size_t i) {
        return (x[i] == value) | ((value != value) & (x[i] != x[i]));
    };
    for (size_t passed = 0; passed < cols; passed += chunk) {
        const size_t left = cols - passed, some = left < chunk ? left : chunk;
        const size_t begin = last ? left - some : passed;
        int any = 0;
        for (size_t i = begin; i < begin + some; ++i)
            any |= isIt(i);
        for (size_t i = 0; any != 0 && i < some; ++i)
            if (const size_t place = last ? begin + some - 1 - i : begin + i; isIt(place))
                return place;
    }
    return 0;
}

template <typename T, bool maximum, bool last>
void innerArg(Accumulators into, const void* x, size_t rows, size_t cols, int64_t firstIndex) {
    using Acc = typename AccumulatorOf<T>::Type;
    constexpr size_t together = 16;
    const auto* in = static_cast<const T*>(x);
    for (size_t r = 0; cols >= partials && r < rows; ++r, in += cols) { // twice through the row
        T value;
        if constexpr (maximum)
            value = foldRow<T, MaxOf<T>>(in, cols);
        else
            value = foldRow<T, MinOf<T>>(in, cols);
        carryArg<Acc, maximum, last>(into, r, static_cast<Acc>(value), firstIndex,
                                     static_cast<int64_t>(placeOf<T, last>(in, cols, value)));
    }
    if (cols >= partials)
        return;
    T best[together];
    int32_t at[together];
    for (size_t r = 0; r < rows; r += together, in += together * cols) {
        const size_t some = rows - r < together ? rows - r : together;
        if (some == together) // a length that is known while compiling
            argOfSome<T, maximum, last>(best, at, in, cols, 1, cols, together);
        else
            argOfSome<T, maximum, last>(best, at, in, cols, 1, cols, some);
        for (size_t j = 0; j < some; ++j)
            carryArg<Acc, maximum, last>(into, r + j, static_cast<Acc>(best[j]), firstIndex, at[j]);
    }
}

template <typename T, bool maximum, bool last>
void outerArg(Accumulators into, const void* x, size_t rows, size_t cols, int64_t firstIndex) {
    using Acc = typename AccumulatorOf<T>::Type;
    constexpr size_t width = 64;
    const auto* in = static_cast<const T*>(x);
    T best[width];
    int32_t at[width];
    for (size_t first = 0; first < cols; first += width) {
        const size_t some = cols - first < width ? cols - first : width;
        argOfSome<T, maximum, last>(best, at, in + first, rows, cols, 1, some);
        for (size_t j = 0; j < some; ++j)
            carryArg<Acc, maximum, last>(into, first + j, static_cast<Acc>(best[j]), firstIndex,
                                         at[j]);
    }
}

void maskRow(float* x, size_t cols, float scale, const SoftmaxRows::Mask& mask, size_t row) {
    const int64_t at = static_cast<int64_t>(row) * mask.stride;
    if (mask.add) {
        const float* add = mask.add + at;
#pragma GCC ivdep
        for (size_t c = 0; c < cols; ++c)
            x[c] = x[c] * scale + add[c];
        return;
    }
    const uint8_t* condition = mask.condition + at;
    const uint8_t hides = mask.hides;
    const float fill = mask.fill;
#pragma GCC ivdep
    for (size_t c = 0; c < cols; ++c)
        x[c] = condition[c] == hides ? fill : x[c] * scale;
}

void softmaxRows(const SoftmaxRows& work) {
    for (size_t r = 0; r < work.rows; ++r) {
        float* x = work.scores + r * work.stride;
        const size_t cols = work.cols;
        if (work.maskCount == 0)
#pragma GCC ivdep
            for (size_t c = 0; c < cols; ++c)
                x[c] *= work.scale;
        for (size_t m = 0; m < work.maskCount; ++m)
            maskRow(x, cols, m == 0 ? work.scale : 1, work.masks[m], r);
        float top = foldRow<float, MaxOf<float>>(x, cols);
        if (work.sinks)
            top = MaxOf<float>::of(top, work.sinks[r]);
        // Subnormal numbers beside the largest, one, add nothing to a sum, and a product with them
        // takes the processor 100 times longer.
        constexpr float smallestNormal = -87.33654F; // its logarithm
#pragma GCC ivdep
        for (size_t c = 0; c < cols; ++c) {
            const float below = x[c] - top;
            x[c] = below < smallestNormal ? 0.0F : exp32(below);
        }
        work.sums[r] = foldRow<float, AddOf<float>>(x, cols);
        if (work.sinks && !(work.sinks[r] - top < smallestNormal))
            work.sums[r] += exp32(work.sinks[r] - top);
    }
}

template <typename T> void reductionsOf(VectorTable& t, Lane lane) {
    auto l = static_cast<size_t>(lane);
    auto set = [&](ReduceKind kind, ReduceFunction inner, ReduceFunction outer) {
        t.reduceInner[static_cast<size_t>(kind)][l] = inner;
        t.reduceOuter[static_cast<size_t>(kind)][l] = outer;
    };
    auto fold = [&](ReduceKind kind, FoldFunction rows) {
        t.foldRows[static_cast<size_t>(kind)][l] = rows;
    };
    set(ReduceKind::Sum, innerFold<T, AddOf>, outerFold<T, AddOf>);
    set(ReduceKind::Product, innerFold<T, MulOf>, outerFold<T, MulOf>);
    set(ReduceKind::Max, innerFold<T, MaxOf>, outerFold<T, MaxOf>);
    set(ReduceKind::Min, innerFold<T, MinOf>, outerFold<T, MinOf>);
    fold(ReduceKind::Sum, foldRows<T, AddOf>);
    fold(ReduceKind::Product, foldRows<T, MulOf>);
    fold(ReduceKind::Max, foldRows<T, MaxOf>);
    fold(ReduceKind::Min, foldRows<T, MinOf>);
    set(ReduceKind::ArgMax, innerArg<T, true, false>, outerArg<T, true, false>);
    set(ReduceKind::ArgMin, innerArg<T, false, false>, outerArg<T, false, false>);
    set(ReduceKind::ArgMaxLast, innerArg<T, true, true>, outerArg<T, true, true>);
    set(ReduceKind::ArgMinLast, innerArg<T, false, true>, outerArg<T, false, true>);
}

void fillReductions(VectorTable& t) {
    t.softmax = softmaxRows;
    reductionsOf<float>(t, Lane::F32);
    reductionsOf<double>(t, Lane::F64);
    reductionsOf<int64_t>(t, Lane::I64);
    reductionsOf<uint8_t>(t, Lane::Bool);
}
