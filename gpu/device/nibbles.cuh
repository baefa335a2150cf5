// SPDX-License-Identifier: Apache-2.0
// Integers of 4 bits, eight a word, and of 8 bits, four a word, the lowest first: as floats, and
// as weights in float16, (stored - zero) * scale, eight at a time.
#ifndef FUSELAGE_NIBBLES
#define FUSELAGE_NIBBLES

/// The eight of a word, 0 to 15: two at a time become the lowest bits of 1024 as float16.
__device__ __forceinline__ void nibblesToFloat(unsigned word, float (&to)[8]) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
#ifdef __CUDA_ARCH__
        const unsigned pair = ((word >> (4 * i)) & 0x000f000fu) | 0x64006400u;
        unsigned exact;
        asm("sub.f16x2 %0, %1, %2;" : "=r"(exact) : "r"(pair), "r"(0x64006400u));
        to[i] = halfToFloat(static_cast<unsigned short>(exact));
        to[i + 4] = halfToFloat(static_cast<unsigned short>(exact >> 16));
#else
        to[i] = static_cast<float>((word >> (4 * i)) & 15u);
        to[i + 4] = static_cast<float>((word >> (4 * i + 16)) & 15u);
#endif
    }
}

/// The eight of two words, 0 to 255: each becomes the lowest bits of 2^23.
__device__ __forceinline__ void bytesToFloat(const unsigned* words, float (&to)[8]) {
#pragma unroll
    for (int i = 0; i < 8; ++i) {
        const unsigned byte = (words[i / 4] >> (i % 4 * 8)) & 0xffu;
        to[i] = floatOf(byte | 0x4b000000u) - 8388608.0f;
    }
}

/// What nibblesToHalves() adds for a zero point from 0 to 15: -(1024 + zero), and -(64 + zero) in
/// the upper half.
__device__ __forceinline__ unsigned nibbleZeros(unsigned zero) {
    return 0xd400e400u + zero * 0x00100001u;
}

/// What bytesToHalves() adds for one from 0 to 255: -(1024 + zero) twice.
__device__ __forceinline__ unsigned byteZeros(unsigned zero) {
    return 0xe400e400u + zero * 0x00010001u;
}

#ifndef __CUDA_ARCH__

/// Two weights of float16 from what is stored.
__device__ inline unsigned hostWeights(unsigned low, unsigned high, unsigned scale, float zero) {
    const float by = halfToFloat(static_cast<unsigned short>(scale));
    return packPair((static_cast<float>(low) - zero) * by, (static_cast<float>(high) - zero) * by,
                    static_cast<const Half*>(nullptr));
}

#endif

/// The eight of a word as weights, in their order. `scale` is there twice. A byte's upper nibble
/// is read sixteen times too large, as the lower bits of 1024 are, and becomes its sixteenth.
__device__ __forceinline__ void nibblesToHalves(unsigned word, unsigned scale, unsigned less,
                                                unsigned (&to)[4]) {
#pragma unroll
    for (unsigned i = 0; i < 4; ++i) {
#ifdef __CUDA_ARCH__
        const unsigned pair =
            (__byte_perm(word, 0u, 0x4040u + i * 0x0101u) & 0x00f0000fu) | 0x64006400u;
        unsigned exact;
        asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(exact) : "r"(pair), "r"(0x2c003c00u), "r"(less));
        asm("mul.rn.f16x2 %0, %1, %2;" : "=r"(to[i]) : "r"(exact), "r"(scale));
#else
        const float zero = -1024.0f - halfToFloat(static_cast<unsigned short>(less));
        to[i] = hostWeights((word >> (8 * i)) & 15u, (word >> (8 * i + 4)) & 15u, scale, zero);
#endif
    }
}

/// The same of the eight bytes of two words.
__device__ __forceinline__ void bytesToHalves(const unsigned* words, unsigned scale, unsigned less,
                                              unsigned (&to)[4]) {
#pragma unroll
    for (unsigned i = 0; i < 4; ++i) {
#ifdef __CUDA_ARCH__
        const unsigned pair =
            __byte_perm(words[i / 2], 0x64646464u, i % 2 == 0 ? 0x4140u : 0x4342u);
        unsigned exact;
        asm("add.rn.f16x2 %0, %1, %2;" : "=r"(exact) : "r"(pair), "r"(less));
        asm("mul.rn.f16x2 %0, %1, %2;" : "=r"(to[i]) : "r"(exact), "r"(scale));
#else
        const float zero = -1024.0f - halfToFloat(static_cast<unsigned short>(less));
        const unsigned pair = words[i / 2] >> (i % 2 * 16);
        to[i] = hostWeights(pair & 0xffu, (pair >> 8) & 0xffu, scale, zero);
#endif
    }
}

#endif
