// SPDX-License-Identifier: Apache-2.0
// Boxes of a tensor copied to shared memory by TMA, and the barriers in shared
// memory (mbarriers) that say when a stage is full or empty: sm_90. A barrier's phase ends when so
// many threads have arrived as it was made for and all bytes that it expects are there. As host
// code a copy lands as early or as late as is allowed.
#ifndef FUSELAGE_TMA
#define FUSELAGE_TMA

/// What the driver made of an operand's address, extents, strides and box.
struct __align__(128) TensorMap {
    unsigned long long words[16];
};

using Barrier = unsigned long long;

/// One thread makes a barrier, then calls publishBarriers(); the others use it behind a
/// __syncthreads.
__device__ __forceinline__ void initBarrier(Barrier* barrier, unsigned arrivals) {
#ifdef __CUDA_ARCH__
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(sharedAddress(barrier)),
                 "r"(arrivals)
                 : "memory");
#else
    hostInitBarrier(barrier, arrivals);
#endif
}

/// The barriers that this thread made are there for other threads and for TMA.
__device__ __forceinline__ void publishBarriers() {
#ifdef __CUDA_ARCH__
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#else
    hostPublishBarriers();
#endif
}

/// What this thread did before is done for who waits for the phase.
__device__ __forceinline__ void arrive(Barrier* barrier) {
#ifdef __CUDA_ARCH__
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(sharedAddress(barrier))
                 : "memory");
#else
    hostArrive(barrier);
#endif
}

/// Arrives, and lets the phase wait for this many bytes of copies too.
__device__ __forceinline__ void arriveExpecting(Barrier* barrier, unsigned bytes) {
#ifdef __CUDA_ARCH__
    asm volatile(
        "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(sharedAddress(barrier)),
        "r"(bytes)
        : "memory");
#else
    hostArriveExpecting(barrier, bytes);
#endif
}

/// Waits for the end of the phase of this parity: the first phase has 0. Of a barrier that no
/// phase of ended, the one before the first, which has 1, counts as ended.
__device__ __forceinline__ void waitBarrier(Barrier* barrier, unsigned parity) {
#ifdef __CUDA_ARCH__
    unsigned ended;
    do
        asm volatile("{\n\t.reg .pred ended;\n\t"
                     "mbarrier.try_wait.parity.shared::cta.b64 ended, [%1], %2;\n\t"
                     "selp.u32 %0, 1, 0, ended;\n\t}"
                     : "=r"(ended)
                     : "r"(sharedAddress(barrier)), "r"(parity)
                     : "memory");
    while (ended == 0);
#else
    hostWaitBarrier(barrier, parity);
#endif
}

/// Brings the map closer before its first copy.
__device__ __forceinline__ void fetchMap(const TensorMap& map) {
#ifdef __CUDA_ARCH__
    asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
#else
    hostFetchMap(&map);
#endif
}

#ifdef __CUDA_ARCH__
#define FUSELAGE_COPY_OF(dims, mode, more, coordinates, behind, ...)                               \
    asm volatile("cp.async.bulk.tensor." dims ".shared::cluster.global." mode                      \
                 ".mbarrier::complete_tx::bytes" more " [%0], [%1, " coordinates "], [%2]" behind  \
                 ";" ::"r"(sharedAddress(to)),                                                     \
                 "l"(&map), "r"(sharedAddress(barrier)), "h"(static_cast<unsigned short>(blocks)), \
                 __VA_ARGS__                                                                       \
                 : "memory")
#define FUSELAGE_COPY(dims, mode, coordinates, offsets, ...)                                       \
    if constexpr (blocks == 0)                                                                     \
        FUSELAGE_COPY_OF(dims, mode, "", coordinates, offsets, __VA_ARGS__);                       \
    else                                                                                           \
        FUSELAGE_COPY_OF(dims, mode, ".multicast::cluster", coordinates, offsets ", %3",           \
                         __VA_ARGS__)
#endif

/// Copies the map's box from element `at`, innermost dimension first, to shared memory (a multiple
/// of 128 bytes), zeros where the tensor ends; its bytes count for the barrier's phase. With
/// `blocks`, a bit for each block of the cluster: it is fetched once and lands in all of these, at
/// this place and for the barrier at this place in each.
template <int rank, unsigned blocks = 0>
__device__ __forceinline__ void copyBox(void* to, const TensorMap& map, Barrier* barrier,
                                        const int (&at)[rank]) {
    static_assert(rank >= 2 && rank <= 5, "no such box");
#ifdef __CUDA_ARCH__
    if constexpr (rank == 2) {
        FUSELAGE_COPY("2d", "tile", "{%4, %5}", "", "r"(at[0]), "r"(at[1]));
    } else if constexpr (rank == 3) {
        FUSELAGE_COPY("3d", "tile", "{%4, %5, %6}", "", "r"(at[0]), "r"(at[1]), "r"(at[2]));
    } else if constexpr (rank == 4) {
        FUSELAGE_COPY("4d", "tile", "{%4, %5, %6, %7}", "", "r"(at[0]), "r"(at[1]), "r"(at[2]),
                      "r"(at[3]));
    } else {
        FUSELAGE_COPY("5d", "tile", "{%4, %5, %6, %7, %8}", "", "r"(at[0]), "r"(at[1]), "r"(at[2]),
                      "r"(at[3]), "r"(at[4]));
    }
#else
    hostCopyBox(to, &map, barrier, at, rank, blocks);
#endif
}

/// Copies a column of pixels by a map of im2col mode, which goes through them from `at` on:
/// channel, place (innermost first; within the map's box of pixels), image. Of each it copies what
/// lies `offset` places further, zeros where the tensor is not. `to` and `blocks` as of a box.
template <int rank, unsigned blocks = 0>
__device__ __forceinline__ void copyPixels(void* to, const TensorMap& map, Barrier* barrier,
                                           const int (&at)[rank],
                                           const unsigned short (&offset)[rank - 2]) {
    static_assert(rank >= 3 && rank <= 5, "no such pixels");
#ifdef __CUDA_ARCH__
    if constexpr (rank == 3) {
        FUSELAGE_COPY("3d", "im2col", "{%4, %5, %6}", ", {%7}", "r"(at[0]), "r"(at[1]), "r"(at[2]),
                      "h"(offset[0]));
    } else if constexpr (rank == 4) {
        FUSELAGE_COPY("4d", "im2col", "{%4, %5, %6, %7}", ", {%8, %9}", "r"(at[0]), "r"(at[1]),
                      "r"(at[2]), "r"(at[3]), "h"(offset[0]), "h"(offset[1]));
    } else {
        FUSELAGE_COPY("5d", "im2col", "{%4, %5, %6, %7, %8}", ", {%9, %10, %11}", "r"(at[0]),
                      "r"(at[1]), "r"(at[2]), "r"(at[3]), "r"(at[4]), "h"(offset[0]),
                      "h"(offset[1]), "h"(offset[2]));
    }
#else
    hostCopyPixels(to, &map, barrier, at, offset, rank, blocks);
#endif
}

#ifdef __CUDA_ARCH__
#undef FUSELAGE_COPY
#undef FUSELAGE_COPY_OF
#endif

/// Where the sum of a row and a column lies in a slab of 16 x 64 floats: exchanged so that neither
/// the fragments of a warp nor 8 columns a lane meet in a bank.
__device__ __forceinline__ int slabAt(int row, int column) {
    return row * 64 + ((column / 8 ^ row % 4) * 8) + (column % 8 ^ column / 32 * 4);
}

/// A warpgroup gives registers back, or takes some that another gave: all of its warps, in a kernel
/// whose launch bounds name its blocks. The host has no registers to move.
template <int registers> __device__ __forceinline__ void releaseRegisters() {
    static_assert(registers >= 24 && registers <= 256 && registers % 8 == 0, "no such count");
#ifdef __CUDA_ARCH__
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(registers));
#endif
}

template <int registers> __device__ __forceinline__ void claimRegisters() {
    static_assert(registers >= 24 && registers <= 256 && registers % 8 == 0, "no such count");
#ifdef __CUDA_ARCH__
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(registers));
#endif
}

#endif
