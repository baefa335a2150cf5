// SPDX-License-Identifier: Apache-2.0
// Tensor cores: fragments from shared memory and 16 x 8 products with float32 sums. All lanes of a
// warp take part. Which element a lane holds is that of the PTX manual, "Matrix fragments for
// mma.m16n8k16" (16-bit elements) and "mma.m16n8k8" (TF32): with g = lane / 4 and t = lane % 4,
// sums 0 and 1 are row g, columns 2t and 2t + 1; sums 2 and 3 the same of row g + 8.
#ifndef FUSELAGE_MMA
#define FUSELAGE_MMA

/// float32 rounded to the 10 bits of mantissa that the tensor cores take.
struct Tf32 {
    float value;
};

#ifndef __CUDA_ARCH__

/// Element e of 16 bits in a word, as float.
__device__ inline float hostElement(unsigned word, int e, const Half*) {
    return halfToFloat(static_cast<unsigned short>(word >> (16 * e)));
}

__device__ inline float hostElement(unsigned word, int e, const BFloat16*) {
    return bfloat16ToFloat(static_cast<unsigned short>(word >> (16 * e)));
}

__device__ inline float hostElement(unsigned word, int, const Tf32*) {
    return floatOf(word & 0xffffe000u); // the units do not see the rest
}

/// The product as every lane's sums, from the words of all lanes: element (row, k) of A is word
/// row / 8 + 2 * (k's half) of lane row % 8 * 4 + k's word, and B alike.
template <int perWord, typename T>
__device__ inline void hostMultiply(float (&sums)[4], const unsigned (&a)[4], unsigned b0,
                                    unsigned b1, const T* type) {
    const unsigned mine[6] = {a[0], a[1], a[2], a[3], b0, b1};
    const unsigned(*all)[6] = hostGatherWarp(mine);
    const int lane = static_cast<int>(threadIdx.x % 32u), g = lane / 4, t = lane % 4;
    for (int s = 0; s < 4; ++s) {
        const int high = s / 2, column = 2 * t + s % 2;
        float sum = sums[s];
        for (int k = 0; k < 8 * perWord; ++k) {
            const int upper = k / (4 * perWord), word = k / perWord % 4, e = k % perWord;
            sum += hostElement(all[g * 4 + word][high + 2 * upper], e, type) *
                   hostElement(all[column * 4 + word][4 + upper], e, type);
        }
        sums[s] = sum;
    }
}

#endif

/// Four matrices of 8 rows of 16 bytes; lane l gives row l % 8 of matrix l / 8. A lane gets word
/// t of row g of each.
__device__ __forceinline__ void loadFragments(unsigned (&to)[4], const void* row) {
#ifdef __CUDA_ARCH__
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(sharedAddress(row))
                 : "memory");
#else
    const int lane = static_cast<int>(threadIdx.x % 32u);
    const unsigned* const* rows = hostRows(row);
    for (int i = 0; i < 4; ++i)
        to[i] = rows[i * 8 + lane / 4][lane % 4];
#endif
}

/// The same with each matrix of 8 x 8 elements of 16 bits transposed.
__device__ __forceinline__ void loadFragmentsTransposed(unsigned (&to)[4], const void* row) {
#ifdef __CUDA_ARCH__
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(sharedAddress(row))
                 : "memory");
#else
    const int lane = static_cast<int>(threadIdx.x % 32u), g = lane / 4, t = lane % 4;
    const unsigned* const* rows = hostRows(row);
    for (int i = 0; i < 4; ++i) {
        to[i] = 0;
        for (int e = 0; e < 2; ++e) {
            const unsigned word = rows[i * 8 + 2 * t + e][g / 2];
            to[i] |= ((word >> (g % 2 * 16)) & 0xffffu) << (16 * e);
        }
    }
#endif
}

/// Word i of lane t of each four lanes becomes word t of lane i: what lies beside each other in the
/// sums of four products comes into one lane.
__device__ __forceinline__ void exchangeQuad(unsigned (&words)[4]) {
    const bool high = (threadIdx.x & 2u) != 0, odd = (threadIdx.x & 1u) != 0;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
        const unsigned got = __shfl_xor_sync(0xffffffffu, high ? words[i] : words[i + 2], 2);
        words[i] = high ? got : words[i];
        words[i + 2] = high ? words[i + 2] : got;
    }
#pragma unroll
    for (int i = 0; i < 4; i += 2) {
        const unsigned got = __shfl_xor_sync(0xffffffffu, odd ? words[i] : words[i + 1], 1);
        words[i] = odd ? got : words[i];
        words[i + 1] = odd ? words[i + 1] : got;
    }
}

/// The sums of two neighbouring products as a fragment of A, 16 columns along k.
template <typename T>
__device__ __forceinline__ void packWeights(unsigned (&a)[4], const float (&low)[4],
                                            const float (&high)[4], const T* type) {
    a[0] = packPair(low[0], low[1], type);
    a[1] = packPair(low[2], low[3], type);
    a[2] = packPair(high[0], high[1], type);
    a[3] = packPair(high[2], high[3], type);
}

/// sums += A B for 16 x 16 times 16 x 8.
__device__ __forceinline__ void multiply(float (&sums)[4], const unsigned (&a)[4], unsigned b0,
                                         unsigned b1, const Half* type) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, "
                 "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
#elif defined(__CUDA_ARCH__)
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, "
                 "{%4, %5}, {%6}, {%0, %1, %2, %3};"
                 : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
                 : "r"(a[0]), "r"(a[1]), "r"(b0));
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, "
                 "{%4, %5}, {%6}, {%0, %1, %2, %3};"
                 : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
                 : "r"(a[2]), "r"(a[3]), "r"(b1));
#else
    hostMultiply<2>(sums, a, b0, b1, type);
#endif
}

/// The same; needs sm_80.
__device__ __forceinline__ void multiply(float (&sums)[4], const unsigned (&a)[4], unsigned b0,
                                         unsigned b1, const BFloat16* type) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, "
                 "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
#elif defined(__CUDA_ARCH__)
    __trap();
#else
    hostMultiply<2>(sums, a, b0, b1, type);
#endif
}

#ifndef __CUDA_ARCH__

template <typename T> __device__ inline int hostByte(unsigned word, int e, const T*) {
    return static_cast<T>(word >> (8 * e));
}

/// hostMultiply() of bytes, four a word, with sums that wrap.
template <typename A, typename B>
__device__ inline void hostMultiplyBytes(int (&sums)[4], const unsigned (&a)[4], unsigned b0,
                                         unsigned b1, const A* typeA, const B* typeB) {
    const unsigned mine[6] = {a[0], a[1], a[2], a[3], b0, b1};
    const unsigned(*all)[6] = hostGatherWarp(mine);
    const int lane = static_cast<int>(threadIdx.x % 32u), g = lane / 4, t = lane % 4;
    for (int s = 0; s < 4; ++s) {
        const int high = s / 2, column = 2 * t + s % 2;
        for (int k = 0; k < 32; ++k) {
            const int upper = k / 16, word = k / 4 % 4, e = k % 4;
            sums[s] =
                addWrapped(sums[s], hostByte(all[g * 4 + word][high + 2 * upper], e, typeA) *
                                        hostByte(all[column * 4 + word][4 + upper], e, typeB));
        }
    }
}

#endif

/// sums += A B for 16 x 32 times 32 x 8 of bytes, signed or not, fragments word for word those of
/// 16-bit elements ("Matrix fragments for mma.m16n8k32"). Below sm_80 four products of 8 x 16 times
/// 16 x 8, whose fragments are words of these.
template <typename A, typename B>
__device__ __forceinline__ void multiply(int (&sums)[4], const unsigned (&a)[4], unsigned b0,
                                         unsigned b1, const A* typeA, const B* typeB) {
#if defined(__CUDA_ARCH__)
#if __CUDA_ARCH__ >= 800
#define FUSELAGE_MULTIPLY_BYTES(types)                                                             \
    asm volatile("mma.sync.aligned.m16n8k32.row.col.s32." types ".s32 {%0, %1, %2, %3}, "          \
                 "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"                                   \
                 : "+r"(sums[0]), "+r"(sums[1]), "+r"(sums[2]), "+r"(sums[3])                      \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1))
#else
#define FUSELAGE_MULTIPLY_EIGHTH(types, first, a, b)                                               \
    asm volatile("mma.sync.aligned.m8n8k16.row.col.s32." types ".s32 {%0, %1}, {%2}, {%3}, "       \
                 "{%0, %1};"                                                                       \
                 : "+r"(sums[first]), "+r"(sums[first + 1])                                        \
                 : "r"(a), "r"(b))
#define FUSELAGE_MULTIPLY_BYTES(types)                                                             \
    do {                                                                                           \
        FUSELAGE_MULTIPLY_EIGHTH(types, 0, a[0], b0);                                              \
        FUSELAGE_MULTIPLY_EIGHTH(types, 2, a[1], b0);                                              \
        FUSELAGE_MULTIPLY_EIGHTH(types, 0, a[2], b1);                                              \
        FUSELAGE_MULTIPLY_EIGHTH(types, 2, a[3], b1);                                              \
    } while (false)
#endif
    constexpr bool signA = static_cast<A>(-1) < 0, signB = static_cast<B>(-1) < 0;
    if constexpr (signA && signB)
        FUSELAGE_MULTIPLY_BYTES("s8.s8");
    else if constexpr (signA)
        FUSELAGE_MULTIPLY_BYTES("s8.u8");
    else if constexpr (signB)
        FUSELAGE_MULTIPLY_BYTES("u8.s8");
    else
        FUSELAGE_MULTIPLY_BYTES("u8.u8");
#undef FUSELAGE_MULTIPLY_BYTES
#undef FUSELAGE_MULTIPLY_EIGHTH
#else
    hostMultiplyBytes(sums, a, b0, b1, typeA, typeB);
#endif
}

/// A float32 in a word, rounded to TF32.
__device__ __forceinline__ unsigned roundedTf32(unsigned word) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    unsigned out;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(out) : "r"(word));
    return out;
#else
    return (word & 0x7f800000u) == 0x7f800000u ? word : word + 0x1000u;
#endif
}

/// sums += A B for 16 x 8 times 8 x 8 of float32 words; needs sm_80.
__device__ __forceinline__ void multiply(float (&sums)[4], const unsigned (&a)[4], unsigned b0,
                                         unsigned b1, const Tf32* type) {
    const unsigned x[4] = {roundedTf32(a[0]), roundedTf32(a[1]), roundedTf32(a[2]),
                           roundedTf32(a[3])};
    const unsigned y0 = roundedTf32(b0), y1 = roundedTf32(b1);
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, "
                 "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
                 : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y0), "r"(y1));
#elif defined(__CUDA_ARCH__)
    __trap();
#else
    hostMultiply<1>(sums, x, y0, y1, type);
#endif
}

#endif
