// SPDX-License-Identifier: Apache-2.0
// The loops around products of 8-bit integers: quantisation, depthwise sums, corrections. Included
// only by vector_body.h, inside its unnamed namespace; what they compute is said in vector_table.h.

typedef int32_t WideInts __attribute__((vector_size(wideLanes * sizeof(int32_t))));
typedef int32_t WideIntsInMemory
    __attribute__((vector_size(wideLanes * sizeof(int32_t)), aligned(sizeof(int32_t)), may_alias));
typedef uint8_t WideBytes __attribute__((vector_size(wideLanes)));
typedef uint8_t WideBytesInMemory __attribute__((vector_size(wideLanes), aligned(1), may_alias));
typedef int16_t WideShorts __attribute__((vector_size(wideLanes * sizeof(int16_t))));
typedef int16_t WideShortsInMemory
    __attribute__((vector_size(wideLanes * sizeof(int16_t)), aligned(sizeof(int16_t)), may_alias));

/// NaN is in no range.
inline void rangeOf(const float* x, size_t n, float* low, float* high) {
    Wide lows = {}, highs = {};
    size_t i = 0;
    for (; i + wideLanes <= n; i += wideLanes) {
        const Wide value = loadWide(x + i);
        lows = value < lows ? value : lows;
        highs = value > highs ? value : highs;
    }
    float least = 0, most = 0;
    for (size_t lane = 0; lane < wideLanes; ++lane) {
        least = lows[lane] < least ? lows[lane] : least;
        most = highs[lane] > most ? highs[lane] : most;
    }
    for (; i < n; ++i) {
        least = x[i] < least ? x[i] : least;
        most = x[i] > most ? x[i] : most;
    }
    *low = least;
    *high = most;
}

// Within 2^22 of zero, adding this leaves no room for a fraction: rounds to nearest, ties to even.
constexpr float roundingShift = 12582912.0F; // 1.5 * 2^23

/// The bounds are whole numbers, so clamping before rounding changes nothing. NaN takes the lower.
inline void quantise(const float* x, uint8_t* q, size_t n, float scale, float zero) {
    const float low = -zero, high = 255 - zero;
    const auto origin = static_cast<int32_t>(zero);
    const Wide lows = Wide{} + low, highs = Wide{} + high;
    size_t i = 0;
    for (; i + wideLanes <= n; i += wideLanes) {
        Wide steps = loadWide(x + i) / scale;
        steps = steps > lows ? steps : lows;
        steps = steps < highs ? steps : highs;
        const Wide whole = (steps + roundingShift) - roundingShift;
        const WideInts shifted = __builtin_convertvector(whole, WideInts) + origin;
        *reinterpret_cast<WideBytesInMemory*>(q + i) = __builtin_convertvector(shifted, WideBytes);
    }
    for (; i < n; ++i) {
        float steps = x[i] / scale;
        steps = steps > low ? steps : low;
        steps = steps < high ? steps : high;
        const float whole = (steps + roundingShift) - roundingShift;
        q[i] = static_cast<uint8_t>(static_cast<int32_t>(whole) + origin);
    }
}

inline void flipSigns(uint8_t* to, const uint8_t* from, size_t n) {
    for (size_t i = 0; i < n; ++i)
        to[i] = static_cast<uint8_t>(from[i] ^ 0x80U);
}

inline void addScaled(int32_t* sums, const int32_t* terms, int32_t factor, size_t n) {
    for (size_t i = 0; i < n; ++i)
        sums[i] += factor * terms[i];
}

inline void depthwise(int32_t* sums, const uint8_t* const* taps, const int16_t* weights,
                      size_t tapCount, size_t channels, uint8_t flip) {
    size_t c = 0;
    for (; c + wideLanes <= channels; c += wideLanes) {
        WideInts sum = {};
        for (size_t t = 0; t < tapCount; ++t) {
            const WideBytes x = *reinterpret_cast<const WideBytesInMemory*>(taps[t] + c) ^ flip;
            const WideShorts w =
                *reinterpret_cast<const WideShortsInMemory*>(weights + t * channels + c);
            sum += __builtin_convertvector(x, WideInts) * __builtin_convertvector(w, WideInts);
        }
        *reinterpret_cast<WideIntsInMemory*>(sums + c) = sum;
    }
    for (; c < channels; ++c) {
        int32_t sum = 0;
        for (size_t t = 0; t < tapCount; ++t)
            sum += static_cast<int32_t>(taps[t][c] ^ flip) * weights[t * channels + c];
        sums[c] = sum;
    }
}

void fillInteger(IntegerLoops& loops) {
    loops.range = rangeOf;
    loops.quantise = quantise;
    loops.flipSigns = flipSigns;
    loops.addScaled = addScaled;
    loops.depthwise = depthwise;
}
