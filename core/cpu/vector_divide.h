// SPDX-License-Identifier: Apache-2.0
// Division of many floats by one: products and a correction instead of the slow instruction, with
// the same bits. Included only by vector_body.h, inside its unnamed namespace.

/// x / divisor, rounded as a division is, and -0 / divisor is -0; `inverse` is 1 / divisor. Numbers
/// that are not isPlainDivisor() and arePlainDividends() may lose last bits, or come out as NaN.
inline Wide quotientOf(Wide x, Wide divisor, Wide inverse) {
#ifdef __FMA__
    // The remainder of a product with the rounded inverse corrects its last bit (Markstein).
    const Wide quotient = x * inverse;
    const Wide excess = quotient * divisor - x; // one operation, exact
    return quotient - excess * inverse;         // one operation
#else
    (void)inverse;
    return x / divisor;
#endif
}

#ifdef __FMA__

inline bool isPlainDivisor(float x) {
    return x >= 0x1p-40F && x <= 0x1p40F;
}

/// Whether all are 0, or neither so small that a remainder is not exact nor so large that a product
/// is infinite: of sizes from 2^-80 to 2^80.
inline bool arePlainDividends(const float* x, size_t n) {
    typedef uint32_t Bits __attribute__((may_alias));
    // Without the sign, bits are in the order of sizes; zero less one is the largest of all.
    const auto* bits = reinterpret_cast<const Bits*>(x);
    uint32_t most = 0, leastLessOne = ~0U;
    for (size_t i = 0; i < n; ++i) {
        const uint32_t size = bits[i] & 0x7fffffffU, lessOne = size - 1;
        most = size > most ? size : most;
        leastLessOne = lessOne < leastLessOne ? lessOne : leastLessOne;
    }
    return most <= (127U + 80U) << 23U && leastLessOne >= ((127U - 80U) << 23U) - 1;
}

/// The form of a division with one divisor in the whole tile.
void divideByOne(void* out, const void* a, const void* b, const void* c, size_t n) {
    constexpr size_t block = 32 * laneGroup; // one unusual number costs the others no more
    const float divisor = *static_cast<const float*>(b);
    const Wide divisors = everyLane(divisor), inverse = everyLane(1 / divisor);
    const bool isPlain = isPlainDivisor(divisor);
    auto* o = static_cast<float*>(out);
    const auto* x = static_cast<const float*>(a);
    for (size_t begin = 0; begin < n; begin += block) {
        const size_t end = n - begin < block ? n : begin + block;
        if (!isPlain || !arePlainDividends(x + begin, end - begin)) {
            vectorScalar<float, float, DivOf<float>>(o + begin, x + begin, b, c, end - begin);
            continue;
        }
        size_t i = begin;
        for (; i + wideLanes <= end; i += wideLanes)
            storeWide(o + i, quotientOf(loadWide(x + i), divisors, inverse));
        if (i < end)
            vectorScalar<float, float, DivOf<float>>(o + i, x + i, b, c, end - i);
    }
}

#endif
