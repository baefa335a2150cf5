// SPDX-License-Identifier: Apache-2.0
// Blocks that share a result: each leaves its part in memory and takes a ticket, and the last one
// adds the parts in their own order, whoever came when.
#ifndef FUSELAGE_TICKETS
#define FUSELAGE_TICKETS

/// Whether this block is the last of `parts` to come here, the same for all of its threads; if so,
/// they see what the threads of the others wrote to memory before. `ticket` is zero before the
/// first came and after the last. `shared`: a word of shared memory that nobody reads any more.
__device__ __forceinline__ bool lastOfParts(unsigned* ticket, unsigned parts, unsigned* shared) {
    __threadfence(); // with the barrier: all that this block wrote comes before its ticket
    __syncthreads();
    if (threadIdx.x == 0) {
        const unsigned taken = atomicAdd(ticket, 1u);
        if (taken == parts - 1)
            *ticket = 0;
        *shared = taken;
        __threadfence(); // what is read from here on comes after the tickets of the others
    }
    __syncthreads();
    return *shared == parts - 1;
}

/// Adds n floats that other blocks wrote during this launch; never through a cache that may hold
/// older ones. Multiples of 4 lie at multiples of 16 bytes.
template <int n> __device__ __forceinline__ void addPart(const float* from, float* to) {
    if constexpr (n % 4 == 0) {
#pragma unroll
        for (int i = 0; i < n; i += 4) {
            float x[4];
#ifdef __CUDA_ARCH__
            asm volatile("ld.global.cg.v4.f32 {%0, %1, %2, %3}, [%4];"
                         : "=f"(x[0]), "=f"(x[1]), "=f"(x[2]), "=f"(x[3])
                         : "l"(from + i));
#else
            hostVectorAccess(from + i, 16);
            for (int v = 0; v < 4; ++v)
                x[v] = from[i + v];
#endif
#pragma unroll
            for (int v = 0; v < 4; ++v)
                to[i + v] += x[v];
        }
    } else {
#pragma unroll
        for (int i = 0; i < n; ++i) {
            float x;
#ifdef __CUDA_ARCH__
            asm volatile("ld.global.cg.f32 %0, [%1];" : "=f"(x) : "l"(from + i));
#else
            x = from[i];
#endif
            to[i] += x;
        }
    }
}

/// The same of integers, whose sums wrap.
template <int n> __device__ __forceinline__ void addPart(const int* from, int* to) {
#pragma unroll
    for (int i = 0; i < n; ++i) {
        int x;
#ifdef __CUDA_ARCH__
        asm volatile("ld.global.cg.s32 %0, [%1];" : "=r"(x) : "l"(from + i));
#else
        x = from[i];
#endif
        to[i] = addWrapped(to[i], x);
    }
}

#endif
