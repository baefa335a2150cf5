// SPDX-License-Identifier: Apache-2.0
// What two kernels wrote for one operand, element by element: `have` against `want`. Memory before
// `first` and from `last` on is not the operand's. Both lay full of a pattern of their own before.
// The including text defines `Bits` (an element as it is stored) and numberOf(Bits).
#ifndef FUSELAGE_COMPARE
#define FUSELAGE_COMPARE

/// A count of elements, and the smallest place of one.
struct Places {
    unsigned long long count, at;
};

struct Comparison {
    Places different; ///< further apart than allowed
    Places unwritten; ///< `have` left it as it was, `want` did not
    Places strange;   ///< `have` wrote where `want` did not
    Places untouched; ///< by both
    Places outside;   ///< `have` wrote what is not the operand's
    double largest;   ///< difference; the largest double where only one of the two is finite
    unsigned long long largestAt;
    double magnitude; ///< largest finite one of `want`
};

__device__ __forceinline__ Comparison nothingCompared() {
    const Places none = {0ull, ~0ull};
    return {none, none, none, none, none, 0., 0ull, 0.};
}

__device__ __forceinline__ void add(Places& to, unsigned long long count, unsigned long long at) {
    to.count += count;
    to.at = at < to.at ? at : to.at;
}

__device__ __forceinline__ double distance(double a, double b) {
    if (a == b || (a != a && b != b))
        return 0.;
    const double apart = a < b ? b - a : a - b;
    return apart - apart == 0. ? apart : 1.7976931348623157e308;
}

__device__ __forceinline__ void compareElement(Comparison& to, unsigned long long at, Bits have,
                                               Bits want, Bits havePattern, Bits wantPattern,
                                               double allowed, bool whole) {
    const double wanted = numberOf(want), apart = distance(numberOf(have), wanted);
    // A whole number may be its pattern by chance, one beside what is wanted by rounding.
    if (have == havePattern && want == wantPattern)
        return add(to.untouched, 1, at);
    if (have == havePattern && (!whole || apart > 1.))
        return add(to.unwritten, 1, at);
    if (want == wantPattern && have != want)
        return add(to.strange, 1, at);
    if (have != want && apart > allowed)
        add(to.different, 1, at);
    if (apart > to.largest) {
        to.largest = apart;
        to.largestAt = at;
    }
    const double size = wanted < 0. ? -wanted : wanted;
    if (size - size == 0. && size > to.magnitude)
        to.magnitude = size;
}

__device__ __forceinline__ void join(Comparison& to, const Comparison& from) {
    add(to.different, from.different.count, from.different.at);
    add(to.unwritten, from.unwritten.count, from.unwritten.at);
    add(to.strange, from.strange.count, from.strange.at);
    add(to.untouched, from.untouched.count, from.untouched.at);
    add(to.outside, from.outside.count, from.outside.at);
    if (from.largest > to.largest || (from.largest == to.largest && from.largestAt < to.largestAt)) {
        to.largest = from.largest;
        to.largestAt = from.largestAt;
    }
    to.magnitude = from.magnitude > to.magnitude ? from.magnitude : to.magnitude;
}

/// One Comparison a thread.
extern "C" __global__ void __launch_bounds__(256, 1)
    compareOutputs(const Bits* __restrict__ have, const Bits* __restrict__ want,
                   Comparison* __restrict__ out, unsigned long long count,
                   unsigned long long first, unsigned long long last,
                   unsigned long long havePattern, unsigned long long wantPattern,
                   unsigned long long allowedBits, unsigned long long whole) {
    union {
        unsigned long long bits;
        double number;
    } allowed;
    allowed.bits = allowedBits;
    Comparison mine = nothingCompared();
    const unsigned long long threads = 256ull * gridDim.x, me = 256ull * blockIdx.x + threadIdx.x;
    for (unsigned long long i = me; i < count; i += threads) {
        if (i >= first && i < last)
            compareElement(mine, i - first, have[i], want[i], static_cast<Bits>(havePattern),
                           static_cast<Bits>(wantPattern), allowed.number, whole != 0);
        else if (have[i] != static_cast<Bits>(havePattern))
            add(mine.outside, 1, i);
    }
    out[me] = mine;
}

/// The Comparisons of `count` threads as 256, in one block.
extern "C" __global__ void __launch_bounds__(256, 1)
    joinComparisons(const Comparison* __restrict__ from, Comparison* __restrict__ out,
                    unsigned long long count) {
    Comparison mine = nothingCompared();
    for (unsigned long long i = threadIdx.x; i < count; i += 256ull)
        join(mine, from[i]);
    out[threadIdx.x] = mine;
}

#endif
