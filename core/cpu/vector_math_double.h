// SPDX-License-Identifier: Apache-2.0
// What vector_math.h does for float lanes, for double ones: e^x, log, log(1 + x) and tanh within a
// few units of the last place, by series that end below it. Included only by vector_body.h, inside
// its unnamed namespace.

inline double fromBits64(uint64_t bits) {
    return __builtin_bit_cast(double, bits);
}

inline uint64_t toBits64(double value) {
    return __builtin_bit_cast(uint64_t, value);
}

constexpr double wholeMark64 = 6755399441055744.0; ///< 1.5 * 2^52: adding it rounds to integer
constexpr double ln2High = 0x1.62e42feep-1;        ///< of 33 bits, so that n * ln2High is exact
constexpr double ln2Low = 0x1.a39ef35793c76p-33;

/// x = n ln2 + r with |r| <= ln2/2; `grown` is e^r - 1.
struct ReducedPower {
    int64_t n;
    double grown;
};

inline ReducedPower reducedPower(double x) {
    const double shifted = x * 1.4426950408889634 + wholeMark64;
    const double n = shifted - wholeMark64;
    const double r = (x - n * ln2High) - n * ln2Low;
    double p = 1.0 / 6227020800.0;
    p = p * r + 1.0 / 479001600.0;
    p = p * r + 1.0 / 39916800.0;
    p = p * r + 1.0 / 3628800.0;
    p = p * r + 1.0 / 362880.0;
    p = p * r + 1.0 / 40320.0;
    p = p * r + 1.0 / 5040.0;
    p = p * r + 1.0 / 720.0;
    p = p * r + 1.0 / 120.0;
    p = p * r + 1.0 / 24.0;
    p = p * r + 1.0 / 6.0;
    p = p * r + 0.5;
    return {static_cast<int64_t>(toBits64(shifted) - toBits64(wholeMark64)), p * (r * r) + r};
}

/// 2^n, |n| < 1023.
inline double powerOfTwo(int64_t n) {
    return fromBits64(static_cast<uint64_t>(n + 1023) << 52);
}

/// 2^n is applied in two steps, so that results near the ends of the range (and denormals) are
/// right.
inline double exp64(double x) {
    double clamped = x > 710.0 ? 710.0 : x;
    clamped = clamped < -746.0 ? -746.0 : clamped;
    const ReducedPower power = reducedPower(clamped);
    const int64_t half = power.n >> 1;
    const double result = (1.0 + power.grown) * powerOfTwo(half) * powerOfTwo(power.n - half);
    return x != x ? x : result;
}

inline double log64(double x) {
    const bool tiny = x < 0x1p-1022;
    const uint64_t bits = toBits64(tiny ? x * 0x1p54 : x);
    // Subtracting the bits of sqrt(1/2) makes the exponent field count from there.
    const int64_t exponent = static_cast<int64_t>(bits - 0x3fe6a09e667f3bcdULL) >> 52;
    const double f = fromBits64(bits - (static_cast<uint64_t>(exponent) << 52)) - 1.0;
    const double n = fromBits64(toBits64(wholeMark64) + static_cast<uint64_t>(exponent)) -
                     wholeMark64 - (tiny ? 54.0 : 0.0);
    // log(1 + f) = 2 atanh(f / (2 + f))
    const double s = f / (2.0 + f), z = s * s;
    double p = 2.0 / 23.0;
    p = p * z + 2.0 / 21.0;
    p = p * z + 2.0 / 19.0;
    p = p * z + 2.0 / 17.0;
    p = p * z + 2.0 / 15.0;
    p = p * z + 2.0 / 13.0;
    p = p * z + 2.0 / 11.0;
    p = p * z + 2.0 / 9.0;
    p = p * z + 2.0 / 7.0;
    p = p * z + 2.0 / 5.0;
    p = p * z + 2.0 / 3.0;
    const double square = 0.5 * f * f;
    double result = n * ln2High - ((square - (s * (square + p * z) + n * ln2Low)) - f);
    result = x == __builtin_inf() ? x : result;
    result = x == 0.0 ? -__builtin_inf() : result;
    return x < 0.0 || x != x ? __builtin_nan("") : result;
}

/// The rounding of 1 + x is undone by the factor x / (u - 1).
inline double log1p64(double x) {
    const double u = 1.0 + x, difference = u - 1.0;
    double result = log64(u) * (x / (difference == 0.0 ? 1.0 : difference));
    result = difference == 0.0 ? x : result;
    result = u == 0.0 ? -__builtin_inf() : result;
    return u == __builtin_inf() ? u : result;
}

/// (e^2t - 1) / (e^2t + 1)
inline double tanh64(double x) {
    const double t = __builtin_fabs(x);
    const ReducedPower power = reducedPower(t > 20.0 ? 40.0 : 2.0 * t);
    const double whole = powerOfTwo(power.n);
    const double grown = power.grown * whole + (whole - 1.0);
    return x != x ? x : __builtin_copysign(grown / (grown + 2.0), x);
}
