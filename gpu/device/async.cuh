// SPDX-License-Identifier: Apache-2.0
// Tiles in shared memory: rows of 16-byte chunks, swizzled, filled by copies that overlap with
// arithmetic. Below sm_80, and as host code for the shim, see each function.
#ifndef FUSELAGE_ASYNC
#define FUSELAGE_ASYNC

/// What is XORed into the chunk numbers of a row, so that one chunk of 8 neighbouring rows lies in
/// 8 different groups of banks.
template <int chunks> __device__ __forceinline__ int swizzleOf(int row) {
    if constexpr (chunks >= 8)
        return row & 7;
    else if constexpr (chunks == 4)
        return (row >> 1) & 3;
    else if constexpr (chunks == 2)
        return (row >> 2) & 1;
    else
        return 0;
}

/// Byte of a chunk in a tile with `chunks` chunks a row.
template <int chunks> __device__ __forceinline__ int tileByte(int row, int chunk) {
    return (row * chunks + (chunk ^ swizzleOf<chunks>(row))) * 16;
}

/// What is XORed into the column of a slab of floats whose rows are 8 banks apart, so that accesses
/// of 8 bytes down 4 rows, of 4 bytes down 8 rows, and of 16 bytes from every other unit of a line
/// each meet all banks once.
__device__ __forceinline__ int slabTurn(int row, int column) {
    return ((row ^ (row >> 2) ^ (column >> 5)) & 1) * 4;
}

#ifdef __CUDA_ARCH__
__device__ __forceinline__ unsigned sharedAddress(const void* pointer) {
    return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}
#endif

/// 16 bytes from registers to shared memory.
__device__ __forceinline__ void storeShared16(void* to, const unsigned* words) {
#ifdef __CUDA_ARCH__
    asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(sharedAddress(to)), "r"(words[0]),
                 "r"(words[1]), "r"(words[2]), "r"(words[3])
                 : "memory");
#else
    hostVectorAccess(to, 16);
    for (int i = 0; i < 4; ++i)
        static_cast<unsigned*>(to)[i] = words[i];
#endif
}

/// 2 floats, or words, to shared memory.
__device__ __forceinline__ void storeShared8(float* to, float first, float second) {
#ifdef __CUDA_ARCH__
    asm volatile("st.shared.v2.f32 [%0], {%1, %2};" ::"r"(sharedAddress(to)), "f"(first),
                 "f"(second)
                 : "memory");
#else
    hostVectorAccess(to, 8);
    to[0] = first;
    to[1] = second;
#endif
}

__device__ __forceinline__ void storeShared8(unsigned* to, unsigned first, unsigned second) {
    storeShared8(reinterpret_cast<float*>(to), floatOf(first), floatOf(second));
}

__device__ __forceinline__ void storeShared8(int* to, int first, int second) {
    storeShared8(reinterpret_cast<float*>(to), floatOf(static_cast<unsigned>(first)),
                 floatOf(static_cast<unsigned>(second)));
}

/// 16 times a byte to shared memory.
__device__ __forceinline__ void fillShared16(void* to, int byte) {
    const unsigned word = (static_cast<unsigned>(byte) & 0xffu) * 0x01010101u;
    const unsigned words[4] = {word, word, word, word};
    storeShared16(to, words);
}

/// 4 floats from shared memory.
__device__ __forceinline__ void loadShared16(const void* from, float* to) {
#ifdef __CUDA_ARCH__
    asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(to[0]), "=f"(to[1]), "=f"(to[2]), "=f"(to[3])
                 : "r"(sharedAddress(from))
                 : "memory");
#else
    hostVectorAccess(from, 16);
    for (int i = 0; i < 4; ++i)
        to[i] = static_cast<const float*>(from)[i];
#endif
}

__device__ __forceinline__ void loadShared16(const void* from, int* to) {
    float x[4];
    loadShared16(from, x);
#pragma unroll
    for (int i = 0; i < 4; ++i)
        to[i] = static_cast<int>(bitsOf(x[i]));
}

/// 16 bytes from global to shared memory, zeros when not `inside`; there after waitCopies. Below
/// sm_80 it is there at once, by way of registers. In the shim it is there as late as is allowed.
__device__ __forceinline__ void copyAsync16(void* to, const void* from, bool inside) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(sharedAddress(to)),
                 "l"(from), "r"(inside ? 16 : 0)
                 : "memory");
#elif defined(__CUDA_ARCH__)
    unsigned words[4] = {0, 0, 0, 0};
    if (inside)
        loadWords<16>(from, words);
    storeShared16(to, words);
#else
    hostVectorAccess(from, 16);
    hostVectorAccess(to, 16);
    hostCopyLater(to, from, 16, inside);
#endif
}

/// Closes the group of copies since the last call.
__device__ __forceinline__ void commitCopies() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;" ::: "memory");
#elif !defined(__CUDA_ARCH__)
    hostCommitCopies();
#endif
}

/// Waits until at most the `pending` latest groups of this thread are not there yet.
template <int pending> __device__ __forceinline__ void waitCopies() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory");
#elif !defined(__CUDA_ARCH__)
    hostWaitCopies(pending);
#endif
}

#endif
