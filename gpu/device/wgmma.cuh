// SPDX-License-Identifier: Apache-2.0
// Products of a warpgroup (four warps, sm_90a): 64 rows times 64 to 256 columns of 16-bit elements,
// both read from shared memory while the warps go on, sums in registers. Sums lie as those of
// mma.cuh: warp w of the four has rows 16 w to 16 w + 15. As host code a product happens as late as
// is allowed, or as early.
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

#if defined(__CUDA_ARCH__) && defined(__CUDA_ARCH_FEAT_SM90_ALL)

template <typename T> constexpr bool isHalf = false;
template <> constexpr bool isHalf<Half> = true;

#define FUSELAGE_SUMS1(i) "+f"(sums[i][0]), "+f"(sums[i][1]), "+f"(sums[i][2]), "+f"(sums[i][3])
#define FUSELAGE_SUMS4(i)                                                                          \
    FUSELAGE_SUMS1(i), FUSELAGE_SUMS1(i + 1), FUSELAGE_SUMS1(i + 2), FUSELAGE_SUMS1(i + 3)
#define FUSELAGE_SUMS8(i) FUSELAGE_SUMS4(i), FUSELAGE_SUMS4(i + 4)
#define FUSELAGE_SUMS16(i) FUSELAGE_SUMS8(i), FUSELAGE_SUMS8(i + 8)
#define FUSELAGE_SUMS32(i) FUSELAGE_SUMS16(i), FUSELAGE_SUMS16(i + 16)
#define FUSELAGE_GROUP_64(type)                                                                    \
    asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32." type "." type " "                   \
                 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, "              \
                 "%15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, "               \
                 "%28, %29, %30, %31}, "                                                           \
                 "%32, %33, 1, 1, 1, 0, 0;"                                                        \
                 : FUSELAGE_SUMS8(0)                                                               \
                 : "l"(a), "l"(b))
#define FUSELAGE_GROUP_128(type)                                                                   \
    asm volatile("wgmma.mma_async.sync.aligned.m64n128k16.f32." type "." type " "                  \
                 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, "              \
                 "%15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, "               \
                 "%28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, "               \
                 "%41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, "               \
                 "%54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "                             \
                 "%64, %65, 1, 1, 1, 0, 0;"                                                        \
                 : FUSELAGE_SUMS16(0)                                                              \
                 : "l"(a), "l"(b))
#define FUSELAGE_GROUP_256(type)                                                                   \
    asm volatile("wgmma.mma_async.sync.aligned.m64n256k16.f32." type "." type " "                  \
                 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, "              \
                 "%15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, "               \
                 "%28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, "               \
                 "%41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, "               \
                 "%54, %55, %56, %57, %58, %59, %60, %61, %62, %63, %64, %65, %66, "               \
                 "%67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "               \
                 "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, "               \
                 "%93, %94, %95, %96, %97, %98, %99, %100, %101, %102, %103, %104, "               \
                 "%105, %106, %107, %108, %109, %110, %111, %112, %113, %114, %115, "              \
                 "%116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, "              \
                 "%127}, "                                                                         \
                 "%128, %129, 1, 1, 1, 0, 0;"                                                      \
                 : FUSELAGE_SUMS32(0)                                                              \
                 : "l"(a), "l"(b))

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

/// sums += A B for 64 x 16 times 16 x columns: descriptors of 64 rows and of `columns` rows along
/// k.
template <int columns, typename T>
__device__ __forceinline__ void multiplyGroup(float (&sums)[columns / 8][4], unsigned long long a,
                                              unsigned long long b) {
#if defined(__CUDA_ARCH__) && defined(__CUDA_ARCH_FEAT_SM90_ALL)
    static_assert(columns == 64 || columns == 128 || columns == 256, "no such product");
    if constexpr (columns == 64) {
        if constexpr (isHalf<T>)
            FUSELAGE_GROUP_64("f16");
        else
            FUSELAGE_GROUP_64("bf16");
    } else if constexpr (columns == 128) {
        if constexpr (isHalf<T>)
            FUSELAGE_GROUP_128("f16");
        else
            FUSELAGE_GROUP_128("bf16");
    } else if constexpr (columns == 256) {
        if constexpr (isHalf<T>)
            FUSELAGE_GROUP_256("f16");
        else
            FUSELAGE_GROUP_256("bf16");
    }
#elif defined(__CUDA_ARCH__)
    __trap();
#else
    hostMultiplyGroup(&sums[0][0], columns, a, b, hostNumberOf<T>);
#endif
}

#endif
