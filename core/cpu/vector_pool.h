// SPDX-License-Identifier: Apache-2.0
// Loops of pooling: the largest, or the sum, of several rows and of neighbours within a row.
// Included only by vector_body.h, inside its unnamed namespace.

struct PoolMax {
    static Wide of(Wide a, Wide b) { return (a > b) | (a != a) ? a : b; }

    static float of(float a, float b) { return MaxOf<float>::of(a, b); }
};

struct PoolSum {
    static Wide of(Wide a, Wide b) { return a + b; }

    static float of(float a, float b) { return a + b; }
};

/// `width` vectors at once: their results stay in registers over all sources.
template <typename F, size_t width>
size_t foldVectors(float* out, const float* const* sources, size_t count, size_t i, size_t n) {
    constexpr size_t step = width * wideLanes;
    for (; i + step <= n; i += step) {
        Wide part[width];
        for (size_t j = 0; j < width; ++j)
            part[j] = loadWide(sources[0] + i + j * wideLanes);
        for (size_t s = 1; s < count; ++s)
            for (size_t j = 0; j < width; ++j)
                part[j] = F::of(part[j], loadWide(sources[s] + i + j * wideLanes));
        for (size_t j = 0; j < width; ++j)
            storeWide(out + i + j * wideLanes, part[j]);
    }
    return i;
}

template <typename F>
void foldSources(float* out, const float* const* sources, size_t count, size_t n) {
    size_t i = foldVectors<F, 4>(out, sources, count, 0, n);
    i = foldVectors<F, 1>(out, sources, count, i, n);
    for (; i < n; ++i) {
        float part = sources[0][i];
        for (size_t s = 1; s < count; ++s)
            part = F::of(part, sources[s][i]);
        out[i] = part;
    }
}

/// Every `step`-th element; a step that is known while compiling is a shuffle of vectors.
template <typename F, size_t known>
void foldSteps(float* out, const float* line, size_t step, size_t taps, size_t apart, size_t n) {
    const size_t by = known ? known : step;
#pragma GCC ivdep
    for (size_t i = 0; i < n; ++i)
        out[i] = line[i * by];
    for (size_t t = 1; t < taps; ++t) {
        const float* from = line + t * apart;
#pragma GCC ivdep
        for (size_t i = 0; i < n; ++i)
            out[i] = F::of(out[i], from[i * by]);
    }
}

template <typename F>
void foldNeighbours(float* out, const float* line, size_t step, size_t taps, size_t apart,
                    size_t n) {
    if (step == 2)
        return foldSteps<F, 2>(out, line, step, taps, apart, n);
    if (step != 1)
        return foldSteps<F, 0>(out, line, step, taps, apart, n);
    constexpr size_t most = 32;
    const float* sources[most];
    if (taps > most)
        return foldSteps<F, 1>(out, line, step, taps, apart, n);
    for (size_t t = 0; t < taps; ++t)
        sources[t] = line + t * apart;
    foldSources<F>(out, sources, taps, n);
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

void fillPool(PoolLoops& loops) {
    loops.sources[0] = foldSources<PoolMax>;
    loops.sources[1] = foldSources<PoolSum>;
    loops.neighbours[0] = foldNeighbours<PoolMax>;
    loops.neighbours[1] = foldNeighbours<PoolSum>;
    loops.divideEach = divideEach;
    loops.divideAll = divideAll;
}
