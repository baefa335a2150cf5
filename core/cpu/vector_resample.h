// SPDX-License-Identifier: Apache-2.0
// Sums of a few weighted neighbours, for resampling. Included only by vector_body.h, inside its
// unnamed namespace. Products are added in the order of the taps.

void weightedSum(float* out, const float* const* sources, const float* weights, size_t taps,
                 size_t n) {
    const float* a = sources[0];
    if (taps == 1) {
        const float wa = weights[0];
#pragma GCC ivdep
        for (size_t i = 0; i < n; ++i)
            out[i] = wa * a[i];
        return;
    }
    const float* b = sources[1];
    const float wa = weights[0], wb = weights[1];
    size_t t = 2;
    if (taps < 4) {
#pragma GCC ivdep
        for (size_t i = 0; i < n; ++i)
            out[i] = wa * a[i] + wb * b[i];
    } else {
        const float *c = sources[2], *d = sources[3];
        const float wc = weights[2], wd = weights[3];
#pragma GCC ivdep
        for (size_t i = 0; i < n; ++i)
            out[i] = wa * a[i] + wb * b[i] + wc * c[i] + wd * d[i];
        t = 4;
    }
    for (; t < taps; ++t) {
        const float* source = sources[t];
        const float weight = weights[t];
#pragma GCC ivdep
        for (size_t i = 0; i < n; ++i)
            out[i] += weight * source[i];
    }
}

void gatherSum(float* out, const float* source, const int32_t* indices, const float* weights,
               size_t taps, size_t n) {
    if (taps == 2) {
        const int32_t* second = indices + n;
        const float* weight = weights + n;
#pragma GCC ivdep
        for (size_t i = 0; i < n; ++i)
            out[i] = weights[i] * source[indices[i]] + weight[i] * source[second[i]];
        return;
    }
#pragma GCC ivdep
    for (size_t i = 0; i < n; ++i)
        out[i] = weights[i] * source[indices[i]];
    for (size_t t = 1; t < taps; ++t) {
        const int32_t* index = indices + t * n;
        const float* weight = weights + t * n;
#pragma GCC ivdep
        for (size_t i = 0; i < n; ++i)
            out[i] += weight[i] * source[index[i]];
    }
}
