// SPDX-License-Identifier: Apache-2.0
// Storage types and how their elements reach registers: float16 and bfloat16 become float, the
// others keep their type. Every instruction that C++ has no word for lies in one named function
// with a twin in plain C++, so that the text also compiles for the host. Needs no header.
#ifndef FUSELAGE_TYPES
#define FUSELAGE_TYPES

struct Half {
    unsigned short bits;
};

struct BFloat16 {
    unsigned short bits;
};

/// Any of the formats with 8 bits: see float8.cuh.
struct Float8 {
    unsigned char bits;
};

__device__ __forceinline__ unsigned bitsOf(float x) {
    union {
        float number;
        unsigned bits;
    } both;
    both.number = x;
    return both.bits;
}

__device__ __forceinline__ float floatOf(unsigned bits) {
    union {
        unsigned bits;
        float number;
    } both;
    both.bits = bits;
    return both.number;
}

#ifdef __CUDA_ARCH__

__device__ __forceinline__ float halfToFloat(unsigned short bits) {
    float out;
    asm("cvt.f32.f16 %0, %1;" : "=f"(out) : "h"(bits));
    return out;
}

__device__ __forceinline__ unsigned short floatToHalf(float x) {
    unsigned short out;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(out) : "f"(x));
    return out;
}

#else

__device__ __forceinline__ float halfToFloat(unsigned short bits) {
    const unsigned sign = (bits & 0x8000u) << 16, rest = bits & 0x7fffu;
    if (rest >= 0x7c00u)
        return floatOf(sign | 0x7f800000u | ((rest & 0x3ffu) << 13));
    if (rest < 0x400u) // zero and subnormals: rest * 2^-24
        return floatOf(sign | bitsOf(static_cast<float>(rest) * 5.9604644775390625e-8f));
    return floatOf(sign | ((rest << 13) + 0x38000000u));
}

__device__ __forceinline__ unsigned short floatToHalf(float x) {
    const unsigned sign = (bitsOf(x) >> 16) & 0x8000u, rest = bitsOf(x) & 0x7fffffffu;
    if (rest > 0x7f800000u)
        return static_cast<unsigned short>(sign | 0x7e00u);
    if (rest >= 0x477ff000u) // 65520 and above
        return static_cast<unsigned short>(sign | 0x7c00u);
    if (rest < 0x38800000u) { // a subnormal result: adding 0.5 rounds at 2^-24
        const unsigned sum = bitsOf(floatOf(rest) + 0.5f) - 0x3f000000u;
        return static_cast<unsigned short>(sign | sum);
    }
    const unsigned rounded = rest + 0xfffu + ((rest >> 13) & 1u);
    return static_cast<unsigned short>(sign | ((rounded - 0x38000000u) >> 13));
}

#endif

__device__ __forceinline__ float bfloat16ToFloat(unsigned short bits) {
    return floatOf(static_cast<unsigned>(bits) << 16);
}

__device__ __forceinline__ unsigned short floatToBFloat16(float x) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    unsigned short out;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(out) : "f"(x));
    return out;
#else
    const unsigned bits = bitsOf(x);
    if ((bits & 0x7fffffffu) > 0x7f800000u)
        return static_cast<unsigned short>((bits >> 16) | 0x40u);
    return static_cast<unsigned short>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
#endif
}

/// Two elements in one word, `low` first.
__device__ __forceinline__ unsigned packPair(float low, float high, const Half*) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    unsigned out;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(out) : "f"(high), "f"(low));
    return out;
#else
    return floatToHalf(low) | (static_cast<unsigned>(floatToHalf(high)) << 16);
#endif
}

__device__ __forceinline__ unsigned packPair(float low, float high, const BFloat16*) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    unsigned out;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(out) : "f"(high), "f"(low));
    return out;
#else
    return floatToBFloat16(low) | (static_cast<unsigned>(floatToBFloat16(high)) << 16);
#endif
}

__device__ __forceinline__ float roundToHalf(float x) {
    return halfToFloat(floatToHalf(x));
}

__device__ __forceinline__ float roundToBFloat16(float x) {
    return bfloat16ToFloat(floatToBFloat16(x));
}

template <typename T> __device__ __forceinline__ T load(const T* from) {
    return *from;
}

__device__ __forceinline__ float load(const Half* from) {
    return halfToFloat(from->bits);
}

__device__ __forceinline__ float load(const BFloat16* from) {
    return bfloat16ToFloat(from->bits);
}

template <typename T> __device__ __forceinline__ void store(T* to, T x) {
    *to = x;
}

__device__ __forceinline__ void store(Half* to, float x) {
    to->bits = floatToHalf(x);
}

__device__ __forceinline__ void store(BFloat16* to, float x) {
    to->bits = floatToBFloat16(x);
}

#endif
