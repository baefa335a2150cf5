// SPDX-License-Identifier: Apache-2.0
// Blocks of a cluster, which run at the same time on neighbouring multiprocessors of sm_90 and
// reach each other's shared memory: where they meet, and arrivals at the barriers (tma.cuh) of
// another one. A block must not end while another may still arrive at its barriers or copy into its
// shared memory, and not do so before the other is there.
#ifndef FUSELAGE_CLUSTER
#define FUSELAGE_CLUSTER

/// All threads of all blocks of the cluster meet here: what they did before, barriers that they
/// made and published among it, is there for all.
__device__ __forceinline__ void meetCluster() {
#ifdef __CUDA_ARCH__
    asm volatile("barrier.cluster.arrive.release;\n\tbarrier.cluster.wait.acquire;" ::: "memory");
#else
    hostMeetCluster();
#endif
}

/// Arrives at the barrier at this place in shared memory of block `block` of the cluster, which may
/// be the thread's own.
__device__ __forceinline__ void arriveIn(unsigned block, Barrier* barrier) {
#ifdef __CUDA_ARCH__
    asm volatile("{\n\t.reg .b32 there;\n\tmapa.shared::cluster.u32 there, %0, %1;\n\t"
                 "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [there];\n\t}" ::"r"(
                     sharedAddress(barrier)),
                 "r"(block)
                 : "memory");
#else
    hostArriveIn(block, barrier);
#endif
}

/// waitBarrier() where other blocks of the cluster arrive too.
__device__ __forceinline__ void waitForCluster(Barrier* barrier, unsigned parity) {
#ifdef __CUDA_ARCH__
    unsigned ended;
    do
        asm volatile("{\n\t.reg .pred ended;\n\t"
                     "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 ended, [%1], %2;\n\t"
                     "selp.u32 %0, 1, 0, ended;\n\t}"
                     : "=r"(ended)
                     : "r"(sharedAddress(barrier)), "r"(parity)
                     : "memory");
    while (ended == 0);
#else
    hostWaitForCluster(barrier, parity);
#endif
}

#endif
