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

/// To the nearest whole number, ties to even; only of what lies within 2^22 of zero.
inline WideInts nearest(Wide x) {
#if defined(__AVX512F__)
    // Of the form without a mask GCC 12 warns in its own header.
    return reinterpret_cast<WideInts>(
        _mm512_maskz_cvtps_epi32(0xffff, reinterpret_cast<__m512>(x)));
#else
    return __builtin_convertvector((x + roundingShift) - roundingShift, WideInts);
#endif
}

/// The bounds are whole numbers, so clamping before rounding changes nothing. NaN takes the lower.
template <bool byProducts>
inline void quantiseBy(const float* x, uint8_t* q, size_t n, float scale, float zero) {
    const float low = -zero, high = 255 - zero;
    const auto origin = static_cast<int32_t>(zero);
    const Wide lows = Wide{} + low, highs = Wide{} + high;
    const Wide divisor = everyLane(scale), inverse = everyLane(1 / scale);
    size_t i = 0;
    for (; i + wideLanes <= n; i += wideLanes) {
        const Wide value = loadWide(x + i);
        Wide steps = byProducts ? quotientOf(value, divisor, inverse) : value / divisor;
        steps = steps > lows ? steps : lows;
        steps = steps < highs ? steps : highs;
        *reinterpret_cast<WideBytesInMemory*>(q + i) =
            __builtin_convertvector(nearest(steps) + origin, WideBytes);
    }
    for (; i < n; ++i) {
        float steps = x[i] / scale;
        steps = steps > low ? steps : low;
        steps = steps < high ? steps : high;
        const float whole = (steps + roundingShift) - roundingShift;
        q[i] = static_cast<uint8_t>(static_cast<int32_t>(whole) + origin);
    }
}

/// Within the range that gave the scale, quotients are small: dividends that lose bits are so much
/// smaller than a step that they become zero.
inline void quantise(const float* x, uint8_t* q, size_t n, float scale, float zero) {
    if (scale >= 0x1p-40F && scale <= 0x1p40F)
        quantiseBy<true>(x, q, n, scale, zero);
    else
        quantiseBy<false>(x, q, n, scale, zero);
}

inline void addScaled(int32_t* sums, const int32_t* terms, int32_t factor, size_t n) {
    for (size_t i = 0; i < n; ++i)
        sums[i] += factor * terms[i];
}

/// `width` bytes at a time; the last two may overlap.
template <size_t width> struct Chunks {
    typedef uint8_t InMemory __attribute__((vector_size(width), aligned(1), may_alias));

    static void copy(uint8_t* to, const uint8_t* from, size_t n, uint8_t flip) {
        for (size_t i = 0; i + width <= n; i += width)
            copyOne(to + i, from + i, flip);
        copyOne(to + n - width, from + n - width, flip);
    }

    static void copyOne(uint8_t* to, const uint8_t* from, uint8_t flip) {
        *reinterpret_cast<InMemory*>(to) = *reinterpret_cast<const InMemory*>(from) ^ flip;
    }
};

inline void copyBytes(uint8_t* to, const uint8_t* from, size_t n, uint8_t flip) {
    constexpr size_t widest = 4 * wideLanes;
    if (n >= widest)
        return Chunks<widest>::copy(to, from, n, flip);
    if (n >= 16)
        return Chunks<16>::copy(to, from, n, flip);
    if (n >= 8)
        return Chunks<8>::copy(to, from, n, flip);
    if (n >= 4)
        return Chunks<4>::copy(to, from, n, flip);
    for (size_t i = 0; i < n; ++i)
        to[i] = from[i] ^ flip;
}

/// 8-bit integers as floats: through int32, since there are no instructions for less.
template <typename Byte> inline Wide widened(const Byte* from) {
    typedef Byte Narrow __attribute__((vector_size(wideLanes), aligned(1), may_alias));
    const WideInts whole =
        __builtin_convertvector(*reinterpret_cast<const Narrow*>(from), WideInts);
    return __builtin_convertvector(whole, Wide);
}

/// What is the same in all rows, held in registers.
template <typename Addend, RequantisedRow::To to, RequantisedRow::Bend bend> struct Requantiser {
    using Bend = RequantisedRow::Bend;
    static constexpr bool rounds = to != RequantisedRow::To::Float32;
    /// Clamping before a division and rounding is clamping to what its bounds become.
    static constexpr bool clampsSteps = rounds && bend == Bend::None;

    explicit Requantiser(const RequantisedRow& row)
        : addendScale(everyLane(row.addendScale)), addendZero(everyLane(row.addendZero)),
          low(everyLane(row.low)), high(everyLane(row.high)), slope(everyLane(row.slope)),
          offset(everyLane(row.offset)), step(everyLane(row.step)),
          inverse(everyLane(1 / row.step)), zero(WideInts{} + static_cast<int32_t>(row.zero)) {
        float first = least - row.zero, last = least + 255 - row.zero;
        if (clampsSteps) {
            const float lowest = wholeSteps(row.low / row.step, first, last);
            const float highest = wholeSteps(row.high / row.step, first, last);
            first = lowest;
            last = highest;
        }
        from = everyLane(first);
        until = everyLane(last);
    }

    /// A number of steps that is a bound, as a whole one within the type's.
    static float wholeSteps(float steps, float first, float last) {
        steps = steps > first ? steps : first;
        steps = steps < last ? steps : last;
        return (steps + roundingShift) - roundingShift;
    }

    static Wide unitOf(Wide x, Wide slope, Wide offset) {
        Wide unit = slope * x + offset;
        const Wide one = Wide{} + 1;
        unit = unit < one ? unit : one;
        return unit > Wide{} ? unit : Wide{};
    }

    /// A vector of sums becomes one of results.
    void operator()(const int32_t* sums, const int32_t* correction, const float* scale,
                    const float* shift, const Addend* addend, void* out) const {
        const WideInts corrected = *reinterpret_cast<const WideIntsInMemory*>(sums) +
                                   *reinterpret_cast<const WideIntsInMemory*>(correction);
        Wide value = __builtin_convertvector(corrected, Wide) * loadWide(scale) + loadWide(shift);
        if constexpr (sizeof(Addend) == 1)
            value += (widened(addend) - addendZero) * addendScale;
        if constexpr (!clampsSteps) {
            value = value > low ? value : low;
            value = value < high ? value : high;
        }
        if constexpr (bend == Bend::TimesUnit)
            value *= unitOf(value, slope, offset);
        if constexpr (bend == Bend::Unit)
            value = unitOf(value, slope, offset);
        if constexpr (!rounds) {
            storeWide(static_cast<float*>(out), value);
        } else {
            // The bounds are whole numbers, so clamping before rounding changes nothing.
            Wide steps = quotientOf(value, step, inverse);
            steps = steps > from ? steps : from;
            steps = steps < until ? steps : until;
            *static_cast<WideBytesInMemory*>(out) =
                __builtin_convertvector(nearest(steps) + zero, WideBytes);
        }
    }

    static constexpr float least = to == RequantisedRow::To::Int8 ? -128.0F : 0.0F;
    Wide addendScale, addendZero, low, high, slope, offset, step, inverse, from, until;
    WideInts zero;
};

template <typename Addend, RequantisedRow::To to, RequantisedRow::Bend bend>
inline void requantiseAll(const RequantisedRow& row) {
    constexpr size_t bytes = to == RequantisedRow::To::Float32 ? 4 : 1;
    const Requantiser<Addend, to, bend> compute(row);
    const auto* addends = static_cast<const Addend*>(row.addend);
    auto* out = static_cast<uint8_t*>(row.out);
    const size_t n = row.n;
    size_t i = 0, column = 0;
    for (; i + wideLanes <= n; i += wideLanes, column += wideLanes) {
        column = column == row.period ? 0 : column;
        compute(row.sums + i, row.correction + column, row.scale + column, row.shift + column,
                addends + i, out + i * bytes);
    }
    if (i == n)
        return;
    column = column == row.period ? 0 : column;
    int32_t sums[wideLanes] = {}, correction[wideLanes] = {};
    float scale[wideLanes] = {}, shift[wideLanes] = {};
    Addend addend[wideLanes] = {};
    uint8_t results[wideLanes * bytes];
    for (size_t lane = 0; i + lane < n; ++lane) {
        sums[lane] = row.sums[i + lane];
        correction[lane] = row.correction[column + lane];
        scale[lane] = row.scale[column + lane];
        shift[lane] = row.shift[column + lane];
        if (addends)
            addend[lane] = addends[i + lane];
    }
    compute(sums, correction, scale, shift, addend, results);
    for (size_t byte = 0; byte < (n - i) * bytes; ++byte)
        out[i * bytes + byte] = results[byte];
}

template <typename Addend, RequantisedRow::To to>
inline void requantiseBent(const RequantisedRow& row) {
    using Bend = RequantisedRow::Bend;
    if (row.bend == Bend::TimesUnit)
        requantiseAll<Addend, to, Bend::TimesUnit>(row);
    else if (row.bend == Bend::Unit)
        requantiseAll<Addend, to, Bend::Unit>(row);
    else
        requantiseAll<Addend, to, Bend::None>(row);
}

template <typename Addend> inline void requantiseTo(const RequantisedRow& row) {
    using To = RequantisedRow::To;
    if (row.to == To::Float32)
        requantiseBent<Addend, To::Float32>(row);
    else if (row.to == To::UInt8)
        requantiseBent<Addend, To::UInt8>(row);
    else
        requantiseBent<Addend, To::Int8>(row);
}

inline void requantise(const RequantisedRow& row) {
    if (!row.addend)
        requantiseTo<float>(row); // float: none
    else if (row.addendSigned)
        requantiseTo<int8_t>(row);
    else
        requantiseTo<uint8_t>(row);
}

inline void dequantise(float* out, const int32_t* sums, const int32_t* correction,
                       const float* scale, const float* shift, size_t n) {
    size_t i = 0;
    for (; i + wideLanes <= n; i += wideLanes) {
        const WideInts corrected = *reinterpret_cast<const WideIntsInMemory*>(sums + i) +
                                   *reinterpret_cast<const WideIntsInMemory*>(correction + i);
        Wide value = __builtin_convertvector(corrected, Wide) * loadWide(scale + i);
        if (shift)
            value += loadWide(shift + i);
        storeWide(out + i, value);
    }
    for (; i < n; ++i) {
        const float value = static_cast<float>(sums[i] + correction[i]) * scale[i];
        out[i] = shift ? value + shift[i] : value;
    }
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
    loops.addScaled = addScaled;
    loops.dequantise = dequantise;
    loops.requantise = requantise;
    loops.copy = copyBytes;
    loops.depthwise = depthwise;
}
