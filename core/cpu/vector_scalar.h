// SPDX-License-Identifier: Apache-2.0
// What each tape operation does to one lane. Included only by vector_body.h, inside its unnamed
// namespace. Integers wrap (these files are compiled with -fwrapv) and division by zero gives zero,
// since a model must not be able to trap the process.

template <typename T> constexpr bool isFloatLane = false;
template <> constexpr bool isFloatLane<float> = true;
template <> constexpr bool isFloatLane<double> = true;

template <typename T> struct AddOf {
    static T of(T a, T b) { return static_cast<T>(a + b); }
};

template <typename T> struct SubOf {
    static T of(T a, T b) { return static_cast<T>(a - b); }
};

template <typename T> struct MulOf {
    static T of(T a, T b) { return static_cast<T>(a * b); }
};

template <typename T> struct DivOf {
    static T of(T a, T b) {
        if constexpr (isFloatLane<T>)
            return a / b;
        else if (b == 0)
            return 0;
        else
            return b == -1 ? -a : a / b;
    }
};

struct DivUnsigned {
    static uint64_t of(uint64_t a, uint64_t b) { return b == 0 ? 0 : a / b; }
};

struct ModUnsigned {
    static uint64_t of(uint64_t a, uint64_t b) { return b == 0 ? 0 : a % b; }
};

struct ShiftRightUnsigned {
    static uint64_t of(uint64_t a, uint64_t b) { return b > 63 ? 0 : a >> b; }
};

template <typename T> struct FmodOf {
    static T of(T a, T b) {
        if constexpr (isFloatLane<T>)
            return static_cast<T>(fmod(a, b));
        else
            return b == 0 || b == -1 ? 0 : a % b;
    }
};

template <typename T> struct ModOf {
    static T of(T a, T b) {
        T r = FmodOf<T>::of(a, b);
        return r != 0 && (r < 0) != (b < 0) ? r + b : r;
    }
};

template <typename T> struct PowOf {
    static T of(T a, T b) {
        if constexpr (sizeof(T) == 4) {
            return powf(a, b);
        } else if constexpr (isFloatLane<T>) {
            return pow(a, b);
        } else {
            if (b < 0)
                return a == 1 ? 1 : a == -1 ? ((b & 1) ? -1 : 1) : 0;
            T result = 1;
            for (; b > 0; b >>= 1, a *= a)
                if (b & 1)
                    result *= a;
            return result;
        }
    }
};

// A NaN in either operand comes out: a comparison with NaN is false and picks b.
template <typename T> struct MinOf {
    static T of(T a, T b) { return a < b || a != a ? a : b; }
};

template <typename T> struct MaxOf {
    static T of(T a, T b) { return a > b || a != a ? a : b; }
};

template <typename T> struct NegOf {
    static T of(T a) { return -a; }
};

template <typename T> struct AbsOf {
    static T of(T a) {
        if constexpr (sizeof(T) == 4)
            return __builtin_fabsf(a);
        else if constexpr (isFloatLane<T>)
            return __builtin_fabs(a);
        else
            return a < 0 ? -a : a;
    }
};

template <typename T> struct SignOf {
    static T of(T a) { return a > 0 ? T(1) : a < 0 ? T(-1) : a; }
};

// Lanes use the functions of vector_math.h and vector_math_double.h where there is one; the rest
// call the C library element by element.
#define FUSELAGE_FLOAT_FUNCTION(Name, f32, f64)                                                    \
    template <typename T> struct Name {                                                            \
        static T of(T a) {                                                                         \
            if constexpr (sizeof(T) == 4)                                                          \
                return f32(a);                                                                     \
            else                                                                                   \
                return f64(a);                                                                     \
        }                                                                                          \
    };
FUSELAGE_FLOAT_FUNCTION(SqrtOf, __builtin_sqrtf, __builtin_sqrt)
FUSELAGE_FLOAT_FUNCTION(ExpOf, exp32, exp64)
FUSELAGE_FLOAT_FUNCTION(LogOf, log32, log64)
FUSELAGE_FLOAT_FUNCTION(Log1pOf, log1p32, log1p64)
FUSELAGE_FLOAT_FUNCTION(ErfOf, erf32, erf)
FUSELAGE_FLOAT_FUNCTION(TanhOf, tanh32, tanh64)
FUSELAGE_FLOAT_FUNCTION(SinOf, sinf, sin)
FUSELAGE_FLOAT_FUNCTION(CosOf, cosf, cos)
FUSELAGE_FLOAT_FUNCTION(TanOf, tanf, tan)
FUSELAGE_FLOAT_FUNCTION(AsinOf, asinf, asin)
FUSELAGE_FLOAT_FUNCTION(AcosOf, acosf, acos)
FUSELAGE_FLOAT_FUNCTION(AtanOf, atan32, atan)
FUSELAGE_FLOAT_FUNCTION(SinhOf, sinhf, sinh)
FUSELAGE_FLOAT_FUNCTION(CoshOf, coshf, cosh)
FUSELAGE_FLOAT_FUNCTION(AsinhOf, asinhf, asinh)
FUSELAGE_FLOAT_FUNCTION(AcoshOf, acoshf, acosh)
FUSELAGE_FLOAT_FUNCTION(AtanhOf, atanhf, atanh)
FUSELAGE_FLOAT_FUNCTION(FloorOf, __builtin_floorf, __builtin_floor)
FUSELAGE_FLOAT_FUNCTION(CeilOf, __builtin_ceilf, __builtin_ceil)
FUSELAGE_FLOAT_FUNCTION(RoundOf, __builtin_rintf, __builtin_rint)
#undef FUSELAGE_FLOAT_FUNCTION

template <typename T> struct IsNanOf {
    static uint8_t of(T a) { return a != a; }
};

template <typename T> struct IsInfOf {
    static uint8_t of(T a) { return AbsOf<T>::of(a) == T(__builtin_inff()); }
};

template <typename T> struct AndOf {
    static T of(T a, T b) { return a & b; }
};

template <typename T> struct OrOf {
    static T of(T a, T b) { return a | b; }
};

template <typename T> struct XorOf {
    static T of(T a, T b) { return a ^ b; }
};

template <typename T> struct BitNotOf {
    static T of(T a) { return ~a; }
};

template <typename T> struct NotOf {
    static T of(T a) { return a == 0; }
};

template <typename T> struct ShiftLeftOf {
    static T of(T a, T b) { return b < 0 || b > 63 ? 0 : a << b; }
};

template <typename T> struct ShiftRightOf {
    static T of(T a, T b) { return b < 0 || b > 63 ? 0 : a >> b; }
};

template <typename T> struct EqualOf {
    static uint8_t of(T a, T b) { return a == b; }
};

template <typename T> struct LessOf {
    static uint8_t of(T a, T b) { return a < b; }
};

template <typename T> struct LessOrEqualOf {
    static uint8_t of(T a, T b) { return a <= b; }
};

template <typename From, typename To> struct StaticCast {
    static To of(From a) { return static_cast<To>(a); }
};

/// A float within the bounds of the type; NaN gives 0.
template <typename To> struct ByteOf {
    static To of(float a) { return static_cast<To>(a == a ? static_cast<int32_t>(a) : 0); }
};

/// A float outside int64's range (or NaN) gives its smallest value, so that no conversion is
/// undefined.
template <typename From, typename To> struct ConvertOf {
    static To of(From a) {
        if constexpr (isFloatLane<From> && !isFloatLane<To>) {
            constexpr From limit = From(9223372036854775808.0); // 2^63
            bool inside = a >= -limit && a < limit;
            auto value = static_cast<To>(inside ? a : From(0));
            return inside ? value : static_cast<To>(uint64_t{1} << 63);
        } else {
            return static_cast<To>(a);
        }
    }
};

template <typename T> struct TruthOf {
    static uint8_t of(T a) { return a != 0; }
};

template <typename Narrow> struct WrapOf {
    static int64_t of(int64_t a) { return static_cast<Narrow>(a); }
};

#if defined(__F16C__)
struct FromHalf {
    static float of(uint16_t bits) { return _cvtsh_ss(bits); }
};

struct ToHalf {
    static uint16_t of(float value) { return _cvtss_sh(value, 0); }
};
#else
struct FromHalf {
    static float of(uint16_t bits) { return halfToFloat(bits); }
};

struct ToHalf {
    static uint16_t of(float value) { return floatToHalf(value); }
};
#endif

struct FromBfloat {
    static float of(uint16_t bits) { return fromBits(static_cast<uint32_t>(bits) << 16); }
};

struct ToBfloat {
    static uint16_t of(float value) {
        uint32_t bits = toBits(value);
        uint32_t rounded = (bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16;
        return static_cast<uint16_t>(value != value ? ((bits >> 16) | 0x40U) : rounded);
    }
};

struct RoundHalf {
    static float of(float value) { return FromHalf::of(ToHalf::of(value)); }
};

struct RoundBfloat {
    static float of(float value) { return FromBfloat::of(ToBfloat::of(value)); }
};
