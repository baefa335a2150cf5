// SPDX-License-Identifier: Apache-2.0
// Branch-free float functions that the compiler turns into vector code. Included only by
// vector_body.h, inside its unnamed namespace, so that every instruction set gets its own copies.
// The polynomials are minimax fits made for this file over the ranges noted at each.

inline float fromBits(uint32_t bits) {
    return __builtin_bit_cast(float, bits);
}

inline uint32_t toBits(float value) {
    return __builtin_bit_cast(uint32_t, value);
}

/// e^x: x = n ln2 + r with |r| <= ln2/2; 2^n is applied in two steps so that results near the ends
/// of the range (and denormals) are right.
inline float exp32(float x) {
    float clamped = x > 89.0F ? 89.0F : x;
    clamped = clamped < -104.0F ? -104.0F : clamped;
    float shifted = clamped * 1.44269504F + 12582912.0F; // adds 1.5 * 2^23: rounds to integer
    float n = shifted - 12582912.0F;
    auto exponent = static_cast<int32_t>(toBits(shifted) - 0x4b400000U);
    float r = clamped - n * 0.693145752F;
    r = r - n * 1.42860677e-6F;
    float p = 1.395171725e-03F;
    p = p * r + 8.369598410e-03F;
    p = p * r + 4.166618728e-02F;
    p = p * r + 1.666651289e-01F;
    p = p * r + 5.000000101e-01F;
    p = p * (r * r) + r + 1.0F;
    int32_t half = exponent >> 1;
    float first = fromBits(static_cast<uint32_t>(half + 127) << 23);
    float second = fromBits(static_cast<uint32_t>(exponent - half + 127) << 23);
    float result = p * first * second;
    return x != x ? x : result;
}

/// log(1 + f) for f in [sqrt(1/2) - 1, sqrt(2) - 1], added to n ln2.
inline float logReduced(float f, float n) {
    float p = 6.915367982e-02F;
    p = p * f - 1.178980766e-01F;
    p = p * f + 1.187297631e-01F;
    p = p * f - 1.238434848e-01F;
    p = p * f + 1.421865809e-01F;
    p = p * f - 1.666925082e-01F;
    p = p * f + 2.000222661e-01F;
    p = p * f - 2.499998660e-01F;
    p = p * f + 3.333331044e-01F;
    float square = f * f;
    float low = p * f * square + n * -2.12194440e-4F;
    low = low - 0.5F * square;
    return (f + low) + n * 0.693359375F;
}

inline float log32(float x) {
    bool tiny = x < 1.17549435e-38F;
    float scaled = tiny ? x * 8388608.0F : x;
    uint32_t bits = toBits(scaled);
    // Subtracting the bits of sqrt(1/2) makes the exponent field count from there.
    auto offset = static_cast<int32_t>(bits - 0x3f3504f3U);
    int32_t exponent = offset >> 23;
    float mantissa = fromBits(bits - (static_cast<uint32_t>(exponent) << 23));
    float n = static_cast<float>(exponent) - (tiny ? 23.0F : 0.0F);
    float result = logReduced(mantissa - 1.0F, n);
    result = x == __builtin_inff() ? x : result;
    result = x == 0.0F ? -__builtin_inff() : result;
    return x < 0.0F || x != x ? __builtin_nanf("") : result;
}

/// log(1 + x): the rounding of 1 + x is undone by the factor x / (u - 1).
inline float log1p32(float x) {
    float u = 1.0F + x;
    float difference = u - 1.0F;
    float result = log32(u) * (x / (difference == 0.0F ? 1.0F : difference));
    result = difference == 0.0F ? x : result;
    result = u == 0.0F ? -__builtin_inff() : result;
    return u == __builtin_inff() ? u : result;
}

inline float copySign32(float magnitude, float sign) {
    return fromBits((toBits(magnitude) & 0x7fffffffU) | (toBits(sign) & 0x80000000U));
}

inline float abs32(float x) {
    return fromBits(toBits(x) & 0x7fffffffU);
}

/// erf: x + x q(x^2) up to 0.93, then 1 - e^(-t Q(t)) with a fit of -log(erfc(t)) / t.
inline float erf32(float x) {
    float t = abs32(x);
    float s = x * x;
    float q = -5.976893797e-04F;
    q = q * s + 4.990980253e-03F;
    q = q * s - 2.676556700e-02F;
    q = q * s + 1.128180277e-01F;
    q = q * s - 3.761249432e-01F;
    q = q * s + 1.283791500e-01F;
    float small = q * x + x;
    float c = t > 4.0F ? 4.0F : t;
    float p = 1.123146542e-05F;
    p = p * c - 3.228053920e-04F;
    p = p * c + 3.642465019e-03F;
    p = p * c - 2.376207505e-02F;
    p = p * c + 1.062368911e-01F;
    p = p * c + 6.351513087e-01F;
    p = p * c + 1.128648492e+00F;
    float large = copySign32(1.0F - exp32(-(p * c)), x);
    float result = t > 0.93F ? large : small;
    return x != x ? x : result;
}

inline float tanh32(float x) {
    float t = abs32(x);
    float s = x * x;
    float q = -5.679303842e-03F;
    q = q * s + 2.061812182e-02F;
    q = q * s - 5.373399969e-02F;
    q = q * s + 1.333138364e-01F;
    q = q * s - 3.333328022e-01F;
    float small = q * s * x + x;
    float large = copySign32(1.0F - 2.0F / (exp32(2.0F * t) + 1.0F), x);
    float result = t > 0.625F ? large : small;
    return x != x ? x : result;
}

/// Arguments up to here are a whole number of quarter turns, below 2^20, and a rest.
constexpr float mostTurned = 1e6F;

/// sin(x + first quarter turns), |x| <= mostTurned: the rest |r| <= pi/4 in double precision, of
/// products that are exact, and a polynomial for odd and for even quarters. NaN gives NaN.
template <uint64_t first> inline float sineAfter(float value) {
    constexpr double round = 6755399441055744.0; // 1.5 * 2^52: rounds to integer
    const double x = value;
    const double shifted = x * 0.6366197723675814 + round;
    const double n = shifted - round;
    const uint64_t quarter = __builtin_bit_cast(uint64_t, shifted) + first;
    double r = x - n * 0x1.921fb544p+0; // pi/2 in three parts of 33 bits
    r = r - n * 0x1.0b4611a6p-34;
    r = r - n * 0x1.3198a2e037073p-69;
    const double s = r * r;
    double p = 2.718311445612867e-06;
    p = p * s - 1.9839334825820596e-04;
    p = p * s + 8.333329385833232e-03;
    p = p * s - 1.6666666641625733e-01;
    double q = 2.4390448991830696e-05;
    q = q * s - 1.3886763773108615e-03;
    q = q * s + 4.166662332352655e-02;
    q = q * s - 4.9999999725098837e-01;
    const double result = (quarter & 1) != 0 ? 1.0 + s * q : r + r * (s * p);
    return static_cast<float>((quarter & 2) != 0 ? -result : result);
}

/// atan: x is turned back by a quarter of pi or half of pi, so that |y| <= tan(pi/8) is left.
inline float atan32(float x) {
    const float t = abs32(x);
    const bool isLarge = t > 2.41421356F, isMiddle = t > 0.414213562F;
    const float above = isLarge ? -1.0F : isMiddle ? t - 1.0F : t;
    const float below = isLarge ? t : isMiddle ? t + 1.0F : 1.0F;
    const float turned = isLarge ? 1.57079637F : isMiddle ? 0.785398185F : 0.0F;
    const float y = above / below, z = y * y;
    float p = -6.083441217e-02F;
    p = p * z + 1.059599631e-01F;
    p = p * z - 1.424384795e-01F;
    p = p * z + 1.999848939e-01F;
    p = p * z - 3.333331550e-01F;
    return copySign32(turned + (p * z * y + y), x);
}
