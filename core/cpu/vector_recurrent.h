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

// --- gates of any functions: each a pass of its own -------------------------------------------

template <typename F> void inPlace(float* x, size_t n, F f) {
#pragma GCC ivdep
    for (size_t j = 0; j < n; ++j)
        x[j] = f(x[j]);
}

void activateAll(const RecurrentActivation& function, float* x, size_t n) {
    const auto a = static_cast<float>(function.alpha), b = static_cast<float>(function.beta);
    switch (function.name) {
    case RecurrentFunctionName::Sigmoid:
        return inPlace(x, n, [](float v) { return logistic32(v); });
    case RecurrentFunctionName::Tanh:
        return inPlace(x, n, [](float v) { return tanh32(v); });
    case RecurrentFunctionName::Relu:
        return inPlace(x, n, [](float v) { return v < 0 ? 0.0F : v; });
    case RecurrentFunctionName::Softsign:
        return inPlace(x, n, [](float v) { return v / (1.0F + __builtin_fabsf(v)); });
    case RecurrentFunctionName::Softplus:
        return inPlace(x, n, [](float v) { // e^v may be too large
            return (v > 0 ? v : 0.0F) + log1p32(exp32(-__builtin_fabsf(v)));
        });
    case RecurrentFunctionName::LeakyRelu:
        return inPlace(x, n, [a](float v) { return v < 0 ? a * v : v; });
    case RecurrentFunctionName::ThresholdedRelu:
        return inPlace(x, n, [a](float v) { return v > a ? v : 0.0F; });
    case RecurrentFunctionName::Elu:
        return inPlace(x, n, [a](float v) { return v < 0 ? a * (exp32(v) - 1.0F) : v; });
    case RecurrentFunctionName::Affine:
        return inPlace(x, n, [a, b](float v) { return a * v + b; });
    case RecurrentFunctionName::ScaledTanh:
        return inPlace(x, n, [a, b](float v) { return a * tanh32(b * v); });
    case RecurrentFunctionName::HardSigmoid:
        return inPlace(x, n, [a, b](float v) {
            const float y = a * v + b;
            return y < 0 ? 0.0F : y > 1 ? 1.0F : y;
        });
    }
}

/// A gate of its sum, which is bounded first.
void openGate(const RecurrentGates& gates, const RecurrentActivation& function, float* x,
              size_t n) {
    const float most = gates.clip;
    if (most > 0)
        inPlace(x, n, [most](float v) { return v < -most ? -most : v > most ? most : v; });
    activateAll(function, x, n);
}

void sumUp(const float* fromInput, float* fromState, const float* bias, size_t n) {
#pragma GCC ivdep
    for (size_t j = 0; j < n; ++j)
        fromState[j] += fromInput[j] + bias[j];
}

void addPeephole(const float* weights, const float* cell, float* x, size_t n) {
#pragma GCC ivdep
    for (size_t j = 0; weights && j < n; ++j)
        x[j] += weights[j] * cell[j];
}

void gatedLstmStep(const float* fromInput, float* fromState, const float* bias, float* cell,
                   float* result, size_t hidden, const RecurrentGates& gates) {
    float *in = fromState, *out = in + hidden, *forget = out + hidden, *fresh = forget + hidden;
    const float* p = gates.peepholes;
    sumUp(fromInput, fromState, bias, 4 * hidden);
    addPeephole(p, cell, in, hidden);
    openGate(gates, gates.f, in, hidden);
    if (gates.coupled) {
        for (size_t j = 0; j < hidden; ++j)
            forget[j] = 1.0F - in[j];
    } else {
        addPeephole(p ? p + 2 * hidden : p, cell, forget, hidden);
        openGate(gates, gates.f, forget, hidden);
    }
    openGate(gates, gates.g, fresh, hidden);
#pragma GCC ivdep
    for (size_t j = 0; j < hidden; ++j)
        result[j] = cell[j] = forget[j] * cell[j] + in[j] * fresh[j];
    addPeephole(p ? p + hidden : p, cell, out, hidden);
    openGate(gates, gates.f, out, hidden);
    activateAll(gates.h, result, hidden); // runtimes bound gates, not the cell
#pragma GCC ivdep
    for (size_t j = 0; j < hidden; ++j)
        result[j] *= out[j];
}

void gatedRnnStep(const float* fromInput, float* fromState, const float* bias, float*,
                  float* result, size_t hidden, const RecurrentGates& gates) {
#pragma GCC ivdep
    for (size_t j = 0; j < hidden; ++j)
        result[j] = fromInput[j] + fromState[j] + bias[j];
    openGate(gates, gates.f, result, hidden);
}

/// The state between the old one and a candidate, by the update gate.
void moveOn(const float* update, const float* candidate, float* result, size_t hidden) {
#pragma GCC ivdep
    for (size_t j = 0; j < hidden; ++j)
        result[j] = between(update[j], candidate[j], result[j]);
}

void gatedGruOfResetProductStep(const float* fromInput, float* fromState, const float* bias, float*,
                                float* result, size_t hidden, const RecurrentGates& gates) {
    float *update = fromState, *reset = update + hidden, *fresh = reset + hidden;
    const float *xh = fromInput + 2 * hidden, *bh = bias + 2 * hidden, *apart = bh + hidden;
    sumUp(fromInput, fromState, bias, 2 * hidden);
    openGate(gates, gates.f, update, hidden);
    openGate(gates, gates.f, reset, hidden);
#pragma GCC ivdep
    for (size_t j = 0; j < hidden; ++j)
        fresh[j] = xh[j] + bh[j] + reset[j] * (fresh[j] + apart[j]);
    openGate(gates, gates.g, fresh, hidden);
    moveOn(update, fresh, result, hidden);
}

void gatedGruResetStep(const float* fromInput, float* fromState, const float* bias, float* carried,
                       float* result, size_t hidden, const RecurrentGates& gates) {
    float *update = fromState, *reset = update + hidden;
    sumUp(fromInput, fromState, bias, 2 * hidden);
    openGate(gates, gates.f, update, hidden);
    openGate(gates, gates.f, reset, hidden);
#pragma GCC ivdep
    for (size_t j = 0; j < hidden; ++j)
        carried[j] = reset[j] * result[j];
}

void gatedGruCandidateStep(const float* fromInput, float* fromState, const float* bias, float*,
                           float* result, size_t hidden, const RecurrentGates& gates) {
    float* fresh = fromState + 2 * hidden;
    sumUp(fromInput + 2 * hidden, fresh, bias + 2 * hidden, hidden);
    openGate(gates, gates.g, fresh, hidden);
    moveOn(fromState, fresh, result, hidden);
}

void fillRecurrent(RecurrentLoopTable& table) {
    table.lstm = lstmStep;
    table.rnn = rnnStep;
    table.gruOfResetProduct = gruOfResetProductStep;
    table.gruReset = gruResetStep;
    table.gruCandidate = gruCandidateStep;
    table.gated = {gatedLstmStep, gatedRnnStep, gatedGruOfResetProductStep, gatedGruResetStep,
                   gatedGruCandidateStep};
}
