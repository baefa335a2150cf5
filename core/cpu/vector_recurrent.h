// SPDX-License-Identifier: Apache-2.0
// The gates of an LSTM. Included only by vector_body.h, inside its unnamed namespace.

inline float logistic32(float x) {
    return 1.0F / (1.0F + exp32(-x));
}

void lstmStep(const float* fromInput, const float* fromState, const float* bias, float* cell,
              float* result, size_t hidden) {
    const float *xi = fromInput, *xo = xi + hidden, *xf = xo + hidden, *xc = xf + hidden;
    const float *hi = fromState, *ho = hi + hidden, *hf = ho + hidden, *hc = hf + hidden;
    const float *bi = bias, *bo = bi + hidden, *bf = bo + hidden, *bc = bf + hidden;
#pragma GCC ivdep
    for (size_t j = 0; j < hidden; ++j) {
        const float in = logistic32(xi[j] + hi[j] + bi[j]);
        const float forget = logistic32(xf[j] + hf[j] + bf[j]);
        const float c = forget * cell[j] + in * tanh32(xc[j] + hc[j] + bc[j]);
        cell[j] = c;
        result[j] = logistic32(xo[j] + ho[j] + bo[j]) * tanh32(c);
    }
}
