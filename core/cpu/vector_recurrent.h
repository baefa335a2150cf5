// SPDX-License-Identifier: Apache-2.0
// The gates of LSTM, GRU and RNN. Included only by vector_body.h, inside its unnamed namespace.

inline float logistic32(float x) {
    return 1.0F / (1.0F + exp32(-x));
}

void lstmStep(const float* fromInput, float* fromState, const float* bias, float* cell,
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

void rnnStep(const float* fromInput, float* fromState, const float* bias, float*, float* result,
             size_t hidden) {
#pragma GCC ivdep
    for (size_t j = 0; j < hidden; ++j)
        result[j] = tanh32(fromInput[j] + fromState[j] + bias[j]);
}

inline float between(float update, float candidate, float old) {
    return (1.0F - update) * candidate + update * old;
}

void gruOfResetProductStep(const float* fromInput, float* fromState, const float* bias, float*,
                           float* result, size_t hidden) {
    const float *xz = fromInput, *xr = xz + hidden, *xh = xr + hidden;
    const float *hz = fromState, *hr = hz + hidden, *hh = hr + hidden;
    const float *bz = bias, *br = bz + hidden, *bh = br + hidden, *apart = bh + hidden;
#pragma GCC ivdep
    for (size_t j = 0; j < hidden; ++j) {
        const float update = logistic32(xz[j] + hz[j] + bz[j]);
        const float reset = logistic32(xr[j] + hr[j] + br[j]);
        const float candidate = tanh32(xh[j] + bh[j] + reset * (hh[j] + apart[j]));
        result[j] = between(update, candidate, result[j]);
    }
}

void gruResetStep(const float* fromInput, float* fromState, const float* bias, float* carried,
                  float* result, size_t hidden) {
    const float *xz = fromInput, *xr = xz + hidden, *bz = bias, *br = bz + hidden;
    float *hz = fromState, *hr = hz + hidden;
#pragma GCC ivdep
    for (size_t j = 0; j < hidden; ++j) {
        hz[j] = logistic32(xz[j] + hz[j] + bz[j]);
        carried[j] = logistic32(xr[j] + hr[j] + br[j]) * result[j];
    }
}

void gruCandidateStep(const float* fromInput, float* fromState, const float* bias, float*,
                      float* result, size_t hidden) {
    const float *update = fromState, *hh = fromState + 2 * hidden;
    const float *xh = fromInput + 2 * hidden, *bh = bias + 2 * hidden;
#pragma GCC ivdep
    for (size_t j = 0; j < hidden; ++j)
        result[j] = between(update[j], tanh32(xh[j] + hh[j] + bh[j]), result[j]);
}

void fillRecurrent(RecurrentLoopTable& table) {
    table.lstm = lstmStep;
    table.rnn = rnnStep;
    table.gruOfResetProduct = gruOfResetProductStep;
    table.gruReset = gruResetStep;
    table.gruCandidate = gruCandidateStep;
}
