// SPDX-License-Identifier: Apache-2.0
// A kernel among those that are launched before and after it. From sm_90 on it may be started while
// the one before it still runs (programmatic dependent launch), and waits itself.
#ifndef FUSELAGE_LAUNCH
#define FUSELAGE_LAUNCH

/// Returns when the kernels before this one have ended, and what they wrote is there. Each thread
/// calls it before it touches memory that another kernel may write; constants may be read earlier.
/// From then on the kernel behind this one may be started. Not earlier: so a kernel that starts
/// meets one other at most, and all before that one have ended. Where the kernel was not launched
/// early there is nothing to wait for.
__device__ __forceinline__ void waitForKernelsBefore() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#elif !defined(__CUDA_ARCH__)
    hostWaitForKernelsBefore();
#endif
}

#endif
