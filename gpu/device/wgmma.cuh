// SPDX-License-Identifier: Apache-2.0
// Products of a warpgroup (four warps, sm_90a): 64 rows times 8 to 256 columns of 16-bit elements
// or, with both operands along k, of bytes, since only 16-bit ones can be transposed on the way:
// read from shared memory while the warps go on, or the rows from registers; sums in registers.
// Sums lie as those of mma.cuh: warp w of the four has rows 16 w to 16 w + 15. As host code a
// product happens as late as is allowed, or as early.
#ifndef FUSELAGE_WGMMA
#define FUSELAGE_WGMMA

/// What this thread wrote to shared memory so far, copies that it waited for among it, is there for
/// products that start behind the next barrier.
__device__ __forceinline__ void fenceForProducts() {
#ifdef __CUDA_ARCH__
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#else
    hostFenceForProducts();
#endif
}

/// Between other uses of the sums and the next product.
__device__ __forceinline__ void openProducts() {
#ifdef __CUDA_ARCH__
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#else
    hostOpenProducts();
#endif
}

/// Closes the group of products since the last call.
__device__ __forceinline__ void commitProducts() {
#ifdef __CUDA_ARCH__
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
#else
    hostCommitProducts();
#endif
}

/// Waits until at most the `pending` latest groups are not done; only behind <0> are sums there.
template <int pending> __device__ __forceinline__ void waitProducts() {
#ifdef __CUDA_ARCH__
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(pending) : "memory");
#else
    hostWaitProducts(pending);
#endif
}

/// Arithmetic on these sums stays behind the wait in front of this: the compiler knows of no tie.
template <int count> __device__ __forceinline__ void keepBehindWait(int (&sums)[count][4]) {
#ifdef __CUDA_ARCH__
#pragma unroll
    for (int i = 0; i < count; ++i)
        asm volatile(""
                     : "+r"(sums[i][0]), "+r"(sums[i][1]), "+r"(sums[i][2]),
                       "+r"(sums[i][3])::"memory");
#endif
}

/// The PTX manual's matrix descriptor of rows of 128 bytes that are swizzled as by tileByte<8>, the
/// first at a multiple of 1024 bytes: address, 1024 bytes from 8 rows to the next, this swizzle.
/// All in units of 16 bytes; k steps of 32 bytes are two units on.
__device__ __forceinline__ unsigned long long rowsOf128Bytes(const void* first) {
#ifdef __CUDA_ARCH__
    const unsigned address = sharedAddress(first);
#else
    const unsigned address = hostSharedAddress(first);
#endif
    return (address & 0x3ffffu) >> 4 | 1ull << 16 | 64ull << 32 | 1ull << 62;
}

/// Of bytes.
template <typename T> constexpr bool isSigned = static_cast<T>(-1) < 0;

#if defined(__CUDA_ARCH__) && defined(__CUDA_ARCH_FEAT_SM90_ALL)

template <typename T> constexpr bool isHalf = false;
template <> constexpr bool isHalf<Half> = true;

/// By columns: the sums that a thread has of them, from sums[first + i] on, in registers of a kind,
/// and their operands.
#define FUSELAGE_SUMS8(kind, i)                                                                    \
    kind(sums[first + i][0]), kind(sums[first + i][1]), kind(sums[first + i][2]),                  \
        kind(sums[first + i][3])
#define FUSELAGE_SUMS16(kind, i) FUSELAGE_SUMS8(kind, i), FUSELAGE_SUMS8(kind, i + 1)
#define FUSELAGE_SUMS32(kind, i) FUSELAGE_SUMS16(kind, i), FUSELAGE_SUMS16(kind, i + 2)
#define FUSELAGE_SUMS48(kind, i) FUSELAGE_SUMS32(kind, i), FUSELAGE_SUMS16(kind, i + 4)
#define FUSELAGE_SUMS64(kind, i) FUSELAGE_SUMS48(kind, i), FUSELAGE_SUMS16(kind, i + 6)
#define FUSELAGE_SUMS80(kind, i) FUSELAGE_SUMS64(kind, i), FUSELAGE_SUMS16(kind, i + 8)
#define FUSELAGE_SUMS96(kind, i) FUSELAGE_SUMS80(kind, i), FUSELAGE_SUMS16(kind, i + 10)
#define FUSELAGE_SUMS112(kind, i) FUSELAGE_SUMS96(kind, i), FUSELAGE_SUMS16(kind, i + 12)
#define FUSELAGE_SUMS128(kind, i) FUSELAGE_SUMS112(kind, i), FUSELAGE_SUMS16(kind, i + 14)
#define FUSELAGE_SUMS256(kind, i) FUSELAGE_SUMS128(kind, i), FUSELAGE_SUMS128(kind, i + 16)
#define FUSELAGE_NAMES8 "%0, %1, %2, %3"
#define FUSELAGE_NAMES16 "%0, %1, %2, %3, %4, %5, %6, %7"
#define FUSELAGE_NAMES32 FUSELAGE_NAMES16 ", %8, %9, %10, %11, %12, %13, %14, %15"
#define FUSELAGE_NAMES48 FUSELAGE_NAMES32 ", %16, %17, %18, %19, %20, %21, %22, %23"
#define FUSELAGE_NAMES64 FUSELAGE_NAMES48 ", %24, %25, %26, %27, %28, %29, %30, %31"
#define FUSELAGE_NAMES80 FUSELAGE_NAMES64 ", %32, %33, %34, %35, %36, %37, %38, %39"
#define FUSELAGE_NAMES96 FUSELAGE_NAMES80 ", %40, %41, %42, %43, %44, %45, %46, %47"
#define FUSELAGE_NAMES112 FUSELAGE_NAMES96 ", %48, %49, %50, %51, %52, %53, %54, %55"
#define FUSELAGE_NAMES128 FUSELAGE_NAMES112 ", %56, %57, %58, %59, %60, %61, %62, %63"
#define FUSELAGE_NAMES256                                                                          \
    FUSELAGE_NAMES128                                                                              \
    ", %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79"             \
    ", %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95"             \
    ", %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111" \
    ", %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, " \
    "%127"
#define FUSELAGE_GROUP_OF(type, columns, a, b, adds)                                               \
    asm volatile("wgmma.mma_async.sync.aligned.m64n" #columns "k16.f32." type "." type             \
                 " {" FUSELAGE_NAMES##columns "}, " a ", " b ", " adds ", 1, 1, 0, 0;"             \
                 : FUSELAGE_SUMS##columns("+f", 0)                                                 \
                 : "l"(rowsA), "l"(rowsB), "n"(add))
#define FUSELAGE_GROUP(columns, a, b, adds)                                                        \
    if constexpr (isHalf<T>)                                                                       \
        FUSELAGE_GROUP_OF("f16", columns, a, b, adds);                                             \
    else                                                                                           \
        FUSELAGE_GROUP_OF("bf16", columns, a, b, adds)
#define FUSELAGE_BYTES_OF(types, columns, a, b, adds)                                              \
    asm volatile("wgmma.mma_async.sync.aligned.m64n" #columns "k32.s32." types                     \
                 " {" FUSELAGE_NAMES##columns "}, " a ", " b ", " adds ";"                         \
                 : FUSELAGE_SUMS##columns("+r", 0)                                                 \
                 : "l"(rowsA), "l"(rowsB), "n"(add))
#define FUSELAGE_BYTES(columns, a, b, adds)                                                        \
    if constexpr (isSigned<A> && isSigned<B>)                                                      \
        FUSELAGE_BYTES_OF("s8.s8", columns, a, b, adds);                                           \
    else if constexpr (isSigned<A>)                                                                \
        FUSELAGE_BYTES_OF("s8.u8", columns, a, b, adds);                                           \
    else if constexpr (isSigned<B>)                                                                \
        FUSELAGE_BYTES_OF("u8.s8", columns, a, b, adds);                                           \
    else                                                                                           \
        FUSELAGE_BYTES_OF("u8.u8", columns, a, b, adds)
#define FUSELAGE_WEIGHTED_OF(type, columns, a0, a1, a2, a3, b, adds)                               \
    asm volatile("wgmma.mma_async.sync.aligned.m64n" #columns "k16.f32." type "." type             \
                 " {" FUSELAGE_NAMES##columns "}, {" a0 ", " a1 ", " a2 ", " a3 "}, " b ", " adds  \
                                              ", 1, 1, 1;"                                         \
                 : FUSELAGE_SUMS##columns("+f", 0)                                                 \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(rowsB), "n"(add))
#define FUSELAGE_WEIGHTED(columns, a0, a1, a2, a3, b, adds)                                        \
    if constexpr (isHalf<T>)                                                                       \
        FUSELAGE_WEIGHTED_OF("f16", columns, a0, a1, a2, a3, b, adds);                             \
    else                                                                                           \
        FUSELAGE_WEIGHTED_OF("bf16", columns, a0, a1, a2, a3, b, adds)

#else

__device__ inline float hostNumber(unsigned short bits, const Half*) {
    return halfToFloat(bits);
}

__device__ inline float hostNumber(unsigned short bits, const BFloat16*) {
    return bfloat16ToFloat(bits);
}

template <typename T> __device__ inline float hostNumberOf(unsigned short bits) {
    return hostNumber(bits, static_cast<const T*>(nullptr));
}

#endif

/// sums (+)= A B for 64 x 16 times 16 x columns: descriptors of 64 rows and of `columns` rows along
/// k. Without `add` what the sums were does not count.
template <int columns, typename T, bool add = true>
__device__ __forceinline__ void multiplyGroup(float (&sums)[columns / 8][4],
                                              unsigned long long rowsA, unsigned long long rowsB) {
#if defined(__CUDA_ARCH__) && defined(__CUDA_ARCH_FEAT_SM90_ALL)
    static_assert((columns % 16 == 0 && columns <= 128) || columns == 256, "no such product");
    constexpr int first = 0;
    if constexpr (columns == 16) {
        FUSELAGE_GROUP(16, "%8", "%9", "%10");
    } else if constexpr (columns == 32) {
        FUSELAGE_GROUP(32, "%16", "%17", "%18");
    } else if constexpr (columns == 48) {
        FUSELAGE_GROUP(48, "%24", "%25", "%26");
    } else if constexpr (columns == 64) {
        FUSELAGE_GROUP(64, "%32", "%33", "%34");
    } else if constexpr (columns == 80) {
        FUSELAGE_GROUP(80, "%40", "%41", "%42");
    } else if constexpr (columns == 96) {
        FUSELAGE_GROUP(96, "%48", "%49", "%50");
    } else if constexpr (columns == 112) {
        FUSELAGE_GROUP(112, "%56", "%57", "%58");
    } else if constexpr (columns == 128) {
        FUSELAGE_GROUP(128, "%64", "%65", "%66");
    } else if constexpr (columns == 256) {
        FUSELAGE_GROUP(256, "%128", "%129", "%130");
    }
#elif defined(__CUDA_ARCH__)
    __trap();
#else
    hostMultiplyGroup(&sums[0][0], columns, rowsA, rowsB, add, hostNumberOf<T>);
#endif
}

/// The same for 64 x 32 times 32 x columns of bytes, signed or not, with sums that wrap: steps of k
/// are 32 bytes here too.
template <int columns, typename A, typename B, bool add = true>
__device__ __forceinline__ void multiplyGroup(int (&sums)[columns / 8][4], unsigned long long rowsA,
                                              unsigned long long rowsB) {
#if defined(__CUDA_ARCH__) && defined(__CUDA_ARCH_FEAT_SM90_ALL)
    static_assert(columns == 8 || columns == 64 || columns == 128 || columns == 256,
                  "no such product");
    constexpr int first = 0;
    if constexpr (columns == 8) {
        FUSELAGE_BYTES(8, "%4", "%5", "%6");
    } else if constexpr (columns == 64) {
        FUSELAGE_BYTES(64, "%32", "%33", "%34");
    } else if constexpr (columns == 128) {
        FUSELAGE_BYTES(128, "%64", "%65", "%66");
    } else if constexpr (columns == 256) {
        FUSELAGE_BYTES(256, "%128", "%129", "%130");
    }
#elif defined(__CUDA_ARCH__)
    __trap();
#else
    hostMultiplyBytes(&sums[0][0], columns, rowsA, rowsB, add, isSigned<A>, isSigned<B>);
#endif
}

/// sums[first] to those of `columns` columns (+)= A B, as above, with A in registers, a fragment of
/// mma.cuh a warp, that stays as it is until the wait; and 16 rows of B, one a step along k, of up
/// to 64 columns side by side in rows of 128 bytes: the next 16 rows are 128 units on.
template <int columns, int first, typename T, bool add = true, int all>
__device__ __forceinline__ void multiplyWeighted(float (&sums)[all][4], const unsigned (&a)[4],
                                                 unsigned long long rowsB) {
    static_assert(columns % 16 == 0 && columns <= 64 && first + columns / 8 <= all, "no such sums");
#if defined(__CUDA_ARCH__) && defined(__CUDA_ARCH_FEAT_SM90_ALL)
    if constexpr (columns == 16) {
        FUSELAGE_WEIGHTED(16, "%8", "%9", "%10", "%11", "%12", "%13");
    } else if constexpr (columns == 32) {
        FUSELAGE_WEIGHTED(32, "%16", "%17", "%18", "%19", "%20", "%21");
    } else if constexpr (columns == 48) {
        FUSELAGE_WEIGHTED(48, "%24", "%25", "%26", "%27", "%28", "%29");
    } else if constexpr (columns == 64) {
        FUSELAGE_WEIGHTED(64, "%32", "%33", "%34", "%35", "%36", "%37");
    }
#elif defined(__CUDA_ARCH__)
    __trap();
#else
    hostMultiplyWeighted(&sums[first][0], columns, a, hostGatherWarp(a), rowsB, add,
                         hostNumberOf<T>);
#endif
}

#endif
