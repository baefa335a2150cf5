// SPDX-License-Identifier: Apache-2.0
// Loops of pooling: the largest, or the sum, of several rows and of neighbours within a row.
// Included only by vector_body.h, inside its unnamed namespace.

struct PoolMax {
    static Wide of(Wide a, Wide b) { return (a > b) | (a != a) ? a : b; }

    static float of(float a, float b) { return MaxOf<float>::of(a, b); }

    template <typename Integers> static Integers of(Integers a, Integers b) {
        return a > b ? a : b;
    }
};

struct PoolSum {
    static Wide of(Wide a, Wide b) { return a + b; }

    static float of(float a, float b) { return a + b; }
};

/// A register of elements, and the same in memory.
template <typename T> struct PoolVector {
    static constexpr size_t lanes = wideLanes * sizeof(float) / sizeof(T);
    typedef T Type __attribute__((vector_size(lanes * sizeof(T))));
    typedef T InMemory
        __attribute__((vector_size(lanes * sizeof(T)), aligned(sizeof(T)), may_alias));

    static Type load(const T* from) { return *reinterpret_cast<const InMemory*>(from); }

    static void store(T* to, Type value) { *reinterpret_cast<InMemory*>(to) = value; }
};

/// `width` vectors at once: their results stay in registers over all sources.
template <typename F, typename T, size_t width>
size_t foldVectors(T* out, const T* const* sources, size_t count, size_t i, size_t n) {
    using Vector = PoolVector<T>;
    constexpr size_t step = width * Vector::lanes;
    for (; i + step <= n; i += step) {
        typename Vector::Type part[width];
        for (size_t j = 0; j < width; ++j)
            part[j] = Vector::load(sources[0] + i + j * Vector::lanes);
        for (size_t s = 1; s < count; ++s)
            for (size_t j = 0; j < width; ++j)
                part[j] = F::of(part[j], Vector::load(sources[s] + i + j * Vector::lanes));
        for (size_t j = 0; j < width; ++j)
            Vector::store(out + i + j * Vector::lanes, part[j]);
    }
    return i;
}

template <typename F, typename T>
void foldSources(T* out, const T* const* sources, size_t count, size_t n) {
    size_t i = foldVectors<F, T, 4>(out, sources, count, 0, n);
    i = foldVectors<F, T, 1>(out, sources, count, i, n);
    for (; i < n; ++i) {
        T part = sources[0][i];
        for (size_t s = 1; s < count; ++s)
            part = F::of(part, sources[s][i]);
        out[i] = part;
    }
}

/// Every `step`-th element; a step that is known while compiling is a shuffle of vectors.
template <typename F, typename T, size_t known>
void foldSteps(T* out, const T* line, size_t step, size_t taps, size_t apart, size_t n) {
    const size_t by = known ? known : step;
#pragma GCC ivdep
    for (size_t i = 0; i < n; ++i)
        out[i] = line[i * by];
    for (size_t t = 1; t < taps; ++t) {
        const T* from = line + t * apart;
#pragma GCC ivdep
        for (size_t i = 0; i < n; ++i)
            out[i] = F::of(out[i], from[i * by]);
    }
}

/// Of two vectors after one another the elements 0, 2, 4 ...
inline Wide everySecond(const float* from) {
    const Wide a = loadWide(from), b = loadWide(from + wideLanes);
#if defined(__AVX512F__)
    return __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
#elif defined(__AVX__)
    return __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14);
#else
    return __builtin_shufflevector(a, b, 0, 2, 4, 6);
#endif
}

/// foldSteps of 2 that reads past the last element: what the compiler makes of that takes as many
/// results as a vector has one by one.
template <typename F>
void foldSecond(float* out, const float* line, size_t taps, size_t apart, size_t n) {
    for (size_t i = 0; i < n; i += wideLanes) {
        Wide part = everySecond(line + 2 * i);
        for (size_t t = 1; t < taps; ++t)
            part = F::of(part, everySecond(line + 2 * i + t * apart));
        if (i + wideLanes <= n) {
            storeWide(out + i, part);
            continue;
        }
        for (size_t j = 0; i + j < n; ++j)
            out[i + j] = part[j];
    }
}

template <typename F, typename T>
void foldNeighbours(T* out, const T* line, size_t step, size_t taps, size_t apart, size_t n) {
    if constexpr (sizeof(T) == sizeof(float))
        if (step == 2)
            return foldSecond<F>(out, line, taps, apart, n);
    if (step == 2)
        return foldSteps<F, T, 2>(out, line, step, taps, apart, n);
    if (step != 1)
        return foldSteps<F, T, 0>(out, line, step, taps, apart, n);
    constexpr size_t most = 32;
    const T* sources[most];
    if (taps > most)
        return foldSteps<F, T, 1>(out, line, step, taps, apart, n);
    for (size_t t = 0; t < taps; ++t)
        sources[t] = line + t * apart;
    foldSources<F, T>(out, sources, taps, n);
}

void divideEach(float* out, const float* divisors, float factor, size_t n) {
#pragma GCC ivdep
    for (size_t i = 0; i < n; ++i)
        out[i] /= divisors[i] * factor;
}

void divideAll(float* out, float divisor, size_t n) {
#pragma GCC ivdep
    for (size_t i = 0; i < n; ++i)
        out[i] /= divisor;
}

template <typename F, typename T> void fillFolds(PoolFolds<T>& folds, size_t index) {
    folds.sources[index] = foldSources<F, T>;
    folds.neighbours[index] = foldNeighbours<F, T>;
}

void fillPool(PoolLoops& loops) {
    fillFolds<PoolMax>(loops.floats, 0);
    fillFolds<PoolSum>(loops.floats, 1);
    fillFolds<PoolMax>(loops.int8, 0);
    fillFolds<PoolMax>(loops.uint8, 0);
    loops.divideEach = divideEach;
    loops.divideAll = divideAll;
}
