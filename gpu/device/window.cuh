// SPDX-License-Identifier: Apache-2.0
// The taps of a sliding window.
#ifndef FUSELAGE_WINDOW
#define FUSELAGE_WINDOW

/// How many of start, start + step, ... (`taps` of them) lie in [0, extent).
__device__ __forceinline__ int tapsInside(int start, int step, int taps, int extent) {
    const int low = start < 0 ? (-start + step - 1) / step : 0;
    const int beyond = extent > start ? (extent - start + step - 1) / step : 0;
    const int high = beyond < taps ? beyond : taps;
    return high > low ? high - low : 0;
}

/// The number of 0 .. last that is nearest to i.
__device__ __forceinline__ int clamped(int i, int last) {
    return i < 0 ? 0 : i < last ? i : last;
}

#endif
