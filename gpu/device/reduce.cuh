// SPDX-License-Identifier: Apache-2.0
// Reductions across the threads that share a row: a warp, a block, or every 32nd thread of one.
// All of them end with the result in every thread, in an order that does not change from run to
// run. All threads of the warp or block take part.
#ifndef FUSELAGE_REDUCE
#define FUSELAGE_REDUCE

struct Sum {
    template <typename T> static __device__ __forceinline__ T combine(T a, T b) { return a + b; }
};

struct Product {
    template <typename T> static __device__ __forceinline__ T combine(T a, T b) { return a * b; }
};

struct Largest {
    template <typename T> static __device__ __forceinline__ T combine(T a, T b) {
        return maximum(a, b);
    }
};

struct Smallest {
    template <typename T> static __device__ __forceinline__ T combine(T a, T b) {
        return minimum(a, b);
    }
};

/// A candidate and its position in the row; a negative position is no candidate.
template <typename T> struct Candidate {
    T value;
    long long position;
};

template <typename T> __device__ __forceinline__ Candidate<T> candidate(T value, long long position) {
    Candidate<T> out;
    out.value = value;
    out.position = position;
    return out;
}

/// The first NaN, else the extremum: the first or the last of equal ones.
template <bool largest, bool last> struct Extremum {
    template <typename T>
    static __device__ __forceinline__ Candidate<T> combine(Candidate<T> a, Candidate<T> b) {
        if (b.position < 0)
            return a;
        if (a.position < 0)
            return b;
        const bool aNan = a.value != a.value, bNan = b.value != b.value;
        if (aNan || bNan)
            return aNan && (!bNan || a.position < b.position) ? a : b;
        if (a.value == b.value)
            return (a.position < b.position) != last ? a : b;
        return (a.value > b.value) == largest ? a : b;
    }
};

__device__ __forceinline__ float shuffled(float x, int distance) {
    return __shfl_xor_sync(0xffffffffu, x, distance);
}

__device__ __forceinline__ double shuffled(double x, int distance) {
    return __shfl_xor_sync(0xffffffffu, x, distance);
}

__device__ __forceinline__ long long shuffled(long long x, int distance) {
    return __shfl_xor_sync(0xffffffffu, x, distance);
}

__device__ __forceinline__ unsigned long long shuffled(unsigned long long x, int distance) {
    return static_cast<unsigned long long>(shuffled(static_cast<long long>(x), distance));
}

/// Integers of up to 32 bits.
template <typename T> __device__ __forceinline__ T shuffled(T x, int distance) {
    return static_cast<T>(__shfl_xor_sync(0xffffffffu, static_cast<int>(x), distance));
}

template <typename T> __device__ __forceinline__ Candidate<T> shuffled(Candidate<T> x, int distance) {
    return candidate(shuffled(x.value, distance), shuffled(x.position, distance));
}

/// Of `lanes` neighbours, each such team by itself: a power of two.
template <typename Operation, int lanes = 32, typename T>
__device__ __forceinline__ T reduceWarp(T x) {
#pragma unroll
    for (int distance = lanes / 2; distance > 0; distance /= 2)
        x = Operation::combine(x, shuffled(x, distance));
    return x;
}

/// `scratch` holds one element a warp. Reductions that follow each other use two of them in turn:
/// whoever writes has met everybody that read it since, at the barrier of the one between.
template <typename Operation, int threads, typename T>
__device__ __forceinline__ T reduceBlock(T x, void* scratch) {
    T* partial = static_cast<T*>(scratch);
    x = reduceWarp<Operation>(x);
    if (threadIdx.x % 32 == 0)
        partial[threadIdx.x / 32] = x;
    __syncthreads();
    T out = partial[0];
#pragma unroll
    for (int warp = 1; warp < threads / 32; ++warp)
        out = Operation::combine(out, partial[warp]);
    return out;
}

/// Threads of the same lane in all warps; `scratch` holds one element a thread.
template <typename Operation, int threads, typename T>
__device__ __forceinline__ T reduceLanes(T x, void* scratch) {
    T* partial = static_cast<T*>(scratch);
    __syncthreads();
    partial[threadIdx.x] = x;
    __syncthreads();
    T out = partial[threadIdx.x % 32];
#pragma unroll
    for (int warp = 1; warp < threads / 32; ++warp)
        out = Operation::combine(out, partial[threadIdx.x % 32 + 32 * warp]);
    return out;
}

#endif
