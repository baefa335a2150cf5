// SPDX-License-Identifier: Apache-2.0
// Integers of 4 bits, eight a word, the lowest first.
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

#endif
