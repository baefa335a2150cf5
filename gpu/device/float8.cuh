// SPDX-License-Identifier: Apache-2.0
// Floats of 8 bits by their mantissa's bits and their exponent's bias, in plain arithmetic: nothing
// but the bits decides, so that device and host agree for every code. `infinity`: all ones in the
// exponent is infinity and NaN, as in float16; else only all ones everywhere is NaN. Without a
// `signedZero` the code of -0 is the one NaN.
#ifndef FUSELAGE_FLOAT8
#define FUSELAGE_FLOAT8

template <int mantissa, int bias, bool infinity, bool signedZero> struct Float8Format {
    static constexpr unsigned notANumber = signedZero ? 0x7fu : 0x80u;
    static constexpr unsigned infinite = 0x7fu & ~((1u << mantissa) - 1u); ///< where there is one
    static constexpr unsigned largest = infinity ? infinite - 1u : signedZero ? 0x7eu : 0x7fu;

    static __device__ __forceinline__ float decode(unsigned code) {
        const unsigned sign = (code & 0x80u) << 24, rest = code & 0x7fu;
        if (signedZero ? rest > largest && !(infinity && rest == infinite) : code == notANumber)
            return floatOf(0x7fc00000u);
        if (infinity && rest == infinite)
            return floatOf(sign | 0x7f800000u);
        if (rest < (1u << mantissa)) // zero and subnormals: rest * 2^(1 - bias - mantissa)
            return floatOf(sign | bitsOf(static_cast<float>(rest) *
                                         floatOf(static_cast<unsigned>(128 - bias - mantissa) << 23)));
        return floatOf(sign |
                       ((rest << (23 - mantissa)) + (static_cast<unsigned>(127 - bias) << 23)));
    }

    /// The nearest, of two the even one. Beyond the largest: it, or where that is not wanted the
    /// infinity, or NaN.
    template <bool saturates> static __device__ __forceinline__ unsigned encode(float x) {
        const unsigned bits = bitsOf(x), rest = bits & 0x7fffffffu;
        const unsigned sign = (bits >> 24) & 0x80u;
        if (rest > 0x7f800000u)
            return notANumber;
        if (!signedZero && rest == 0x7f800000u)
            return notANumber;
        unsigned code;
        if (rest < static_cast<unsigned>(128 - bias) << 23) {
            // A sum with this number rounds where the last subnormal bit is.
            const unsigned large = static_cast<unsigned>(128 - bias - mantissa + 23) << 23;
            code = bitsOf(floatOf(rest) + floatOf(large)) - large;
        } else {
            const unsigned rounded =
                rest + ((1u << (22 - mantissa)) - 1u) + ((rest >> (23 - mantissa)) & 1u);
            code = (rounded - (static_cast<unsigned>(127 - bias) << 23)) >> (23 - mantissa);
        }
        if (code > largest)
            code = saturates ? largest : infinity ? infinite : notANumber;
        if (!signedZero && (code == 0 || code == notANumber))
            return code;
        return sign | code;
    }
};

using Float8E4M3FN = Float8Format<3, 7, false, true>;
using Float8E5M2 = Float8Format<2, 15, true, true>;
using Float8E4M3FNUZ = Float8Format<3, 8, false, false>;
using Float8E5M2FNUZ = Float8Format<2, 16, false, false>;

#endif
