// SPDX-License-Identifier: Apache-2.0
// Operations of tapes that C++ has no operator or function for, with the reference's meaning: NaN
// wins in minima and maxima, integers wrap, division by zero gives zero.
#ifndef FUSELAGE_MATH
#define FUSELAGE_MATH

typedef unsigned long long Wide;

template <typename T> __device__ __forceinline__ T maximum(T a, T b) {
    return a > b || a != a ? a : b;
}

template <typename T> __device__ __forceinline__ T minimum(T a, T b) {
    return a < b || a != a ? a : b;
}

__device__ __forceinline__ float maximum(float a, float b) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    float out;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(out) : "f"(a), "f"(b));
    return out;
#else
    return a > b || a != a ? a : b;
#endif
}

__device__ __forceinline__ float minimum(float a, float b) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    float out;
    asm("min.NaN.f32 %0, %1, %2;" : "=f"(out) : "f"(a), "f"(b));
    return out;
#else
    return a < b || a != a ? a : b;
#endif
}

template <typename T> __device__ __forceinline__ T signOf(T x) {
    return x > T(0) ? T(1) : x < T(0) ? T(-1) : x; // zero and NaN stay
}

template <typename T> __device__ __forceinline__ bool isNan(T x) {
    return x != x;
}

template <typename T> __device__ __forceinline__ bool isInf(T x) {
    return x == x && x - x != x - x;
}

__device__ __forceinline__ float floorMod(float a, float b) {
    const float r = fmodf(a, b);
    return r != 0.0f && (r < 0.0f) != (b < 0.0f) ? r + b : r;
}

__device__ __forceinline__ double floorMod(double a, double b) {
    const double r = fmod(a, b);
    return r != 0.0 && (r < 0.0) != (b < 0.0) ? r + b : r;
}

/// 2^x to 2^-20 or better, results below 1.2e-38 are zero: for results stored in 16 bits.
__device__ __forceinline__ float exp2Narrow(float x) {
#ifdef __CUDA_ARCH__
    float out;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(out) : "f"(x));
    return out;
#else
    return exp2f(x);
#endif
}

/// e^x alike.
__device__ __forceinline__ float expNarrow(float x) {
    return exp2Narrow(x * 1.44269504f);
}

/// 1 / x to one unit in the last place, for |x| in [1, 2^126] and what is beyond becomes zero.
__device__ __forceinline__ float reciprocalNarrow(float x) {
#ifdef __CUDA_ARCH__
    float out;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(out) : "f"(x));
    return out;
#else
    return 1.0f / x;
#endif
}

/// x / 2 * (1 + erf(s x)) for results stored in 16 bits, at most 1 ULP of float16 or bfloat16 off:
/// half the complement erfc(|s x|) / 2 = p(t) e^-(s x)^2 with t = 1 / (1 + 0.52 |s x|), where p is
/// a fit with a relative error of 4.4e-5 up to |s x| = 9.6.
__device__ __forceinline__ float geluNarrow(float x, float s) {
    const float t = reciprocalNarrow(fabsf(x) * (0.52f * s) + 1.0f);
    float p = -8.94919340e-2f;
    p = p * t + 2.12811832e-1f;
    p = p * t + 7.39046207e-2f;
    p = p * t + 1.56820677e-1f;
    p = p * t + 1.45976616e-1f;
#ifdef __CUDA_ARCH__
    float e;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(e) : "f"(x * x * (-1.44269504f * s * s)));
#else
    const float e = exp2f(x * x * (-1.44269504f * s * s));
#endif
    const float h = p * t * e;
    return x * (x > 0.0f ? 1.0f - h : h);
}

template <typename T> __device__ __forceinline__ T addWrapped(T a, T b) {
    return static_cast<T>(static_cast<Wide>(a) + static_cast<Wide>(b));
}

template <typename T> __device__ __forceinline__ T subtractWrapped(T a, T b) {
    return static_cast<T>(static_cast<Wide>(a) - static_cast<Wide>(b));
}

template <typename T> __device__ __forceinline__ T multiplyWrapped(T a, T b) {
    return static_cast<T>(static_cast<Wide>(a) * static_cast<Wide>(b));
}

template <typename T> __device__ __forceinline__ T negateWrapped(T a) {
    return static_cast<T>(Wide(0) - static_cast<Wide>(a));
}

template <typename T> __device__ __forceinline__ T divideWhole(T a, T b) {
    if (b == T(0))
        return T(0);
    if (T(-1) < T(0) && b == T(-1)) // the smallest integer has no opposite
        return negateWrapped(a);
    return static_cast<T>(a / b);
}

template <typename T> __device__ __forceinline__ T remainderWhole(T a, T b) {
    if (b == T(0) || (T(-1) < T(0) && b == T(-1)))
        return T(0);
    return static_cast<T>(a % b);
}

template <typename T> __device__ __forceinline__ T floorModWhole(T a, T b) {
    const T r = remainderWhole(a, b);
    return r != T(0) && (r < T(0)) != (b < T(0)) ? static_cast<T>(r + b) : r;
}

template <typename T> __device__ __forceinline__ T powerWhole(T base, T exponent) {
    if (exponent < T(0))
        return base == T(1) ? T(1) : base == T(-1) ? (exponent % 2 != 0 ? T(-1) : T(1)) : T(0);
    Wide result = 1, factor = static_cast<Wide>(base);
    for (Wide rest = static_cast<Wide>(exponent); rest != 0; rest >>= 1) {
        if (rest & 1)
            result *= factor;
        factor *= factor;
    }
    return static_cast<T>(result);
}

template <typename T> __device__ __forceinline__ T shiftLeft(T a, T b) {
    return b < T(0) || static_cast<Wide>(b) >= 8 * sizeof(T)
               ? T(0)
               : static_cast<T>(static_cast<Wide>(a) << static_cast<int>(b));
}

template <typename T> __device__ __forceinline__ T shiftRight(T a, T b) {
    return b < T(0) || static_cast<Wide>(b) >= 8 * sizeof(T)
               ? T(0)
               : static_cast<T>(a >> static_cast<int>(b));
}

/// Towards zero; what has no integer becomes the smallest, larger integers wrap.
__device__ __forceinline__ long long truncated(double x) {
    const double limit = 9223372036854775808.0;
    if (!(x >= -limit && x < 2.0 * limit))
        return static_cast<long long>(0x8000000000000000ull);
    return x >= limit ? static_cast<long long>(static_cast<Wide>(x)) : static_cast<long long>(x);
}

__device__ __forceinline__ long long truncated(float x) {
    const float limit = 9223372036854775808.0f;
    if (!(x >= -limit && x < 2.0f * limit))
        return static_cast<long long>(0x8000000000000000ull);
    return x >= limit ? static_cast<long long>(static_cast<Wide>(x)) : static_cast<long long>(x);
}

/// The low 32 bits of truncated() of a number that int32 holds, or of NaN: one instruction.
__device__ __forceinline__ int truncatedSmall(float x) {
#ifdef __CUDA_ARCH__
    return __float2int_rz(x);
#else
    return x == x ? static_cast<int>(x) : 0;
#endif
}

#endif
