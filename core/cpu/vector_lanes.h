// SPDX-License-Identifier: Apache-2.0
// Vectors of floats as wide as the processor's, for loops that keep them in registers. Included
// only by vector_body.h, inside its unnamed namespace.

#if defined(__AVX512F__)
constexpr size_t wideLanes = 16;
#elif defined(__AVX__)
constexpr size_t wideLanes = 8;
#else
constexpr size_t wideLanes = 4;
#endif

typedef float Wide __attribute__((vector_size(wideLanes * sizeof(float))));
typedef float WideInMemory
    __attribute__((vector_size(wideLanes * sizeof(float)), aligned(sizeof(float)), may_alias));

/// The same in every lane. Subtracting nothing is no operation; adding it is one, since it would
/// make -0 a 0.
inline Wide everyLane(float value) {
    return value - Wide{};
}

inline Wide loadWide(const float* from) {
    return *reinterpret_cast<const WideInMemory*>(from);
}

inline void storeWide(float* to, Wide value) {
    *reinterpret_cast<WideInMemory*>(to) = value;
}
