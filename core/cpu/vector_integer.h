// SPDX-License-Identifier: Apache-2.0
// The loops around products of 8-bit integers: quantisation, depthwise sums, corrections. Included
// only by vector_body.h, inside its unnamed namespace; what they compute is said in vector_table.h.

typedef int32_t WideInts __attribute__((vector_size(wideLanes * sizeof(int32_t))));
typedef int32_t WideIntsInMemory
    __attribute__((vector_size(wideLanes * sizeof(int32_t)), aligned(sizeof(int32_t)), may_alias));
typedef uint8_t WideBytes __attribute__((vector_size(wideLanes)));
typedef uint8_t WideBytesInMemory __attribute__((vector_size(wideLanes), aligned(1), may_alias));
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

/// Short copies, in whole vectors; the last two may overlap.
inline void copyBytes(uint8_t* to, const uint8_t* from, size_t n) {
    constexpr size_t width = 4 * wideLanes;
    typedef uint8_t Bytes __attribute__((vector_size(width), aligned(1), may_alias));
    if (n < width) {
        for (size_t i = 0; i < n; ++i)
            to[i] = from[i];
        return;
    }
    for (size_t i = 0; i + width <= n; i += width)
        *reinterpret_cast<Bytes*>(to + i) = *reinterpret_cast<const Bytes*>(from + i);
    *reinterpret_cast<Bytes*>(to + n - width) = *reinterpret_cast<const Bytes*>(from + n - width);
}

/// 8-bit integers as floats: through int32, since there are no instructions for less.
template <typename Byte> inline Wide widened(const Byte* from) {
    typedef Byte Narrow __attribute__((vector_size(wideLanes), aligned(1), may_alias));
    const WideInts whole =
        __builtin_convertvector(*reinterpret_cast<const Narrow*>(from), WideInts);
    return __builtin_convertvector(whole, Wide);
}

/// What is the same in the whole row, held in registers.
template <typename Addend, RequantisedRow::To to> struct Requantiser {
    explicit Requantiser(const RequantisedRow& row)
        : addendScale(everyLane(row.addendScale)), addendZero(everyLane(row.addendZero)),
          low(everyLane(row.low)), high(everyLane(row.high)), step(everyLane(row.step)),
          inverse(everyLane(1 / row.step)), from(everyLane(least - row.zero)),
          until(everyLane(least + 255 - row.zero)),
          zero(WideInts{} + static_cast<int32_t>(row.zero)) {}

    /// A vector of sums becomes one of results.
    void operator()(const int32_t* sums, const int32_t* correction, const float* scale,
                    const float* shift, const Addend* addend, void* out) const {
        const WideInts corrected = *reinterpret_cast<const WideIntsInMemory*>(sums) +
                                   *reinterpret_cast<const WideIntsInMemory*>(correction);
        Wide value = __builtin_convertvector(corrected, Wide) * loadWide(scale) + loadWide(shift);
        if constexpr (sizeof(Addend) == 1)
            value += (widened(addend) - addendZero) * addendScale;
        value = value > low ? value : low;
        value = value < high ? value : high;
        if constexpr (to == RequantisedRow::To::Float32) {
            storeWide(static_cast<float*>(out), value);
        } else {
            // The bounds are whole numbers, so clamping before rounding changes nothing.
            Wide steps = quotientOf(value, step, inverse);
            steps = steps > from ? steps : from;
            steps = steps < until ? steps : until;
            const Wide rounded = (steps + roundingShift) - roundingShift;
            *static_cast<WideBytesInMemory*>(out) = __builtin_convertvector(
                __builtin_convertvector(rounded, WideInts) + zero, WideBytes);
        }
    }

    static constexpr float least = to == RequantisedRow::To::Int8 ? -128.0F : 0.0F;
    Wide addendScale, addendZero, low, high, step, inverse, from, until;
    WideInts zero;
};

template <typename Addend, RequantisedRow::To to>
inline void requantiseAll(const RequantisedRow& row) {
    constexpr size_t bytes = to == RequantisedRow::To::Float32 ? 4 : 1;
    const Requantiser<Addend, to> compute(row);
    const auto* addends = static_cast<const Addend*>(row.addend);
    auto* out = static_cast<uint8_t*>(row.out);
    const size_t n = row.n;
    size_t i = 0;
    for (; i + wideLanes <= n; i += wideLanes)
        compute(row.sums + i, row.correction + i, row.scale + i, row.shift + i, addends + i,
                out + i * bytes);
    if (i == n)
        return;
    int32_t sums[wideLanes] = {}, correction[wideLanes] = {};
    float scale[wideLanes] = {}, shift[wideLanes] = {};
    Addend addend[wideLanes] = {};
    uint8_t results[wideLanes * bytes];
    for (size_t lane = 0; i + lane < n; ++lane) {
        sums[lane] = row.sums[i + lane];
        correction[lane] = row.correction[i + lane];
        scale[lane] = row.scale[i + lane];
        shift[lane] = row.shift[i + lane];
        if (addends)
            addend[lane] = addends[i + lane];
    }
    compute(sums, correction, scale, shift, addend, results);
    for (size_t byte = 0; byte < (n - i) * bytes; ++byte)
        out[i * bytes + byte] = results[byte];
}

template <typename Addend> inline void requantiseTo(const RequantisedRow& row) {
    using To = RequantisedRow::To;
    if (row.to == To::Float32)
        requantiseAll<Addend, To::Float32>(row);
    else if (row.to == To::UInt8)
        requantiseAll<Addend, To::UInt8>(row);
    else
        requantiseAll<Addend, To::Int8>(row);
}

inline void requantise(const RequantisedRow& row) {
    if (!row.addend)
        requantiseTo<float>(row); // float: none
    else if (row.addendSigned)
        requantiseTo<int8_t>(row);
    else
        requantiseTo<uint8_t>(row);
}

inline void depthwise(int32_t* sums, const uint8_t* const* taps, const float* weights,
                      size_t tapCount, size_t channels, uint8_t flip) {
    size_t c = 0;
    for (; c + wideLanes <= channels; c += wideLanes) {
        Wide sum = {};
        for (size_t t = 0; t < tapCount; ++t) {
            const WideBytes x = *reinterpret_cast<const WideBytesInMemory*>(taps[t] + c) ^ flip;
            const WideInts whole = __builtin_convertvector(x, WideInts);
            sum += __builtin_convertvector(whole, Wide) * loadWide(weights + t * channels + c);
        }
        *reinterpret_cast<WideIntsInMemory*>(sums + c) = __builtin_convertvector(sum, WideInts);
    }
    for (; c < channels; ++c) {
        float sum = 0;
        for (size_t t = 0; t < tapCount; ++t)
            sum += static_cast<float>(taps[t][c] ^ flip) * weights[t * channels + c];
        sums[c] = static_cast<int32_t>(sum);
    }
}

void fillInteger(IntegerLoops& loops) {
    loops.range = rangeOf;
    loops.quantise = quantise;
    loops.flipSigns = flipSigns;
    loops.addScaled = addScaled;
    loops.requantise = requantise;
    loops.copy = copyBytes;
    loops.depthwise = depthwise;
}
