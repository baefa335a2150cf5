// SPDX-License-Identifier: Apache-2.0
// Several elements with one access: loadLanes and storeLanes move n elements of consecutive memory
// as words of up to 16 bytes. Addresses are multiples of the access's size.
#ifndef FUSELAGE_VECTORS
#define FUSELAGE_VECTORS

/// Reads through the read-only path: no thread writes these bytes while the kernel runs.
template <int bytes> __device__ __forceinline__ void loadWords(const void* from, unsigned* to) {
    if constexpr (bytes > 16) {
        loadWords<16>(from, to);
        loadWords<bytes - 16>(static_cast<const char*>(from) + 16, to + 4);
    } else {
        static_assert(bytes == 16 || bytes == 8 || bytes == 4 || bytes == 2, "one access");
#ifdef __CUDA_ARCH__
        if constexpr (bytes == 16)
            asm("ld.global.nc.v4.u32 {%0, %1, %2, %3}, [%4];"
                : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                : "l"(from));
        else if constexpr (bytes == 8)
            asm("ld.global.nc.v2.u32 {%0, %1}, [%2];" : "=r"(to[0]), "=r"(to[1]) : "l"(from));
        else if constexpr (bytes == 4)
            asm("ld.global.nc.u32 %0, [%1];" : "=r"(to[0]) : "l"(from));
        else
            to[0] = *static_cast<const unsigned short*>(from);
#else
        hostVectorAccess(from, bytes);
        for (int i = 0; i < bytes / 2; ++i) {
            const unsigned half = static_cast<const unsigned short*>(from)[i];
            to[i / 2] = i % 2 == 0 ? half : to[i / 2] | (half << 16);
        }
#endif
    }
}

/// The same, never moved behind what follows: for reads that are to be under way together.
template <int bytes> __device__ __forceinline__ void fetchWords(const void* from, unsigned* to) {
    if constexpr (bytes > 16) {
        fetchWords<16>(from, to);
        fetchWords<bytes - 16>(static_cast<const char*>(from) + 16, to + 4);
    } else {
#ifdef __CUDA_ARCH__
        if constexpr (bytes == 16)
            asm volatile("ld.global.nc.v4.u32 {%0, %1, %2, %3}, [%4];"
                         : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                         : "l"(from));
        else if constexpr (bytes == 8)
            asm volatile("ld.global.nc.v2.u32 {%0, %1}, [%2];"
                         : "=r"(to[0]), "=r"(to[1])
                         : "l"(from));
        else if constexpr (bytes == 4)
            asm volatile("ld.global.nc.u32 %0, [%1];" : "=r"(to[0]) : "l"(from));
        else
            loadWords<bytes>(from, to);
#else
        loadWords<bytes>(from, to);
#endif
    }
}

/// `streamed`: the data is not read again soon, so the caches may drop it first.
template <int bytes, bool streamed>
__device__ __forceinline__ void storeWords(void* to, const unsigned* from) {
    if constexpr (bytes > 16) {
        storeWords<16, streamed>(to, from);
        storeWords<bytes - 16, streamed>(static_cast<char*>(to) + 16, from + 4);
    } else {
        static_assert(bytes == 16 || bytes == 8 || bytes == 4 || bytes == 2, "one access");
#ifdef __CUDA_ARCH__
        if constexpr (bytes == 16 && streamed)
            asm volatile("st.global.cs.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(from[0]),
                         "r"(from[1]), "r"(from[2]), "r"(from[3])
                         : "memory");
        else if constexpr (bytes == 16)
            asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(from[0]),
                         "r"(from[1]), "r"(from[2]), "r"(from[3])
                         : "memory");
        else if constexpr (bytes == 8)
            asm volatile("st.global.v2.u32 [%0], {%1, %2};" ::"l"(to), "r"(from[0]), "r"(from[1])
                         : "memory");
        else if constexpr (bytes == 4)
            *static_cast<unsigned*>(to) = from[0];
        else
            *static_cast<unsigned short*>(to) = static_cast<unsigned short>(from[0]);
#else
        hostVectorAccess(to, bytes);
        for (int i = 0; i < bytes / 2; ++i)
            static_cast<unsigned short*>(to)[i] =
                static_cast<unsigned short>(from[i / 2] >> (i % 2 * 16));
#endif
    }
}

/// The low halves of two words, and their high ones, as one word.
__device__ __forceinline__ unsigned lowHalves(unsigned a, unsigned b) {
#ifdef __CUDA_ARCH__
    return __byte_perm(a, b, 0x5410);
#else
    return (a & 0xffffu) | (b << 16);
#endif
}

__device__ __forceinline__ unsigned highHalves(unsigned a, unsigned b) {
#ifdef __CUDA_ARCH__
    return __byte_perm(a, b, 0x7632);
#else
    return (a >> 16) | (b & 0xffff0000u);
#endif
}

/// Element i of packed words, as its register type.
template <typename T> __device__ __forceinline__ T lane(const unsigned* words, int i, const T*) {
    union {
        unsigned long long bits;
        T value;
    } both;
    if constexpr (sizeof(T) == 8)
        both.bits = words[2 * i] | (static_cast<unsigned long long>(words[2 * i + 1]) << 32);
    else if constexpr (sizeof(T) == 4)
        both.bits = words[i];
    else
        both.bits =
            words[i * static_cast<int>(sizeof(T)) / 4] >> (i * static_cast<int>(sizeof(T)) % 4 * 8);
    return both.value;
}

__device__ __forceinline__ float lane(const unsigned* words, int i, const float*) {
    return floatOf(words[i]);
}

__device__ __forceinline__ bool lane(const unsigned* words, int i, const bool*) {
    return ((words[i / 4] >> (i % 4 * 8)) & 0xffu) != 0;
}

__device__ __forceinline__ float lane(const unsigned* words, int i, const Half*) {
    return halfToFloat(static_cast<unsigned short>(words[i / 2] >> (i % 2 * 16)));
}

__device__ __forceinline__ float lane(const unsigned* words, int i, const BFloat16*) {
    return i % 2 == 0 ? floatOf(words[i / 2] << 16) : floatOf(words[i / 2] & 0xffff0000u);
}

template <int n, typename T, typename Register>
__device__ __forceinline__ void loadLanes(const T* from, Register* to) {
    constexpr int bytes = n * static_cast<int>(sizeof(T));
    unsigned words[(bytes + 3) / 4];
    loadWords<bytes>(from, words);
#pragma unroll
    for (int i = 0; i < n; ++i)
        to[i] = lane(words, i, from);
}

template <int n, typename T>
__device__ __forceinline__ void packLanes(const T* from, unsigned* words, const T*) {
    constexpr int size = static_cast<int>(sizeof(T));
#pragma unroll
    for (int i = 0; i < (n * size + 3) / 4; ++i)
        words[i] = 0;
#pragma unroll
    for (int i = 0; i < n; ++i) {
        union {
            unsigned long long bits;
            T value;
        } both;
        both.bits = 0;
        both.value = from[i];
        if constexpr (size == 8) {
            words[2 * i] = static_cast<unsigned>(both.bits);
            words[2 * i + 1] = static_cast<unsigned>(both.bits >> 32);
        } else {
            words[i * size / 4] |= static_cast<unsigned>(both.bits) << (i * size % 4 * 8);
        }
    }
}

template <int n>
__device__ __forceinline__ void packLanes(const float* from, unsigned* words, const Half* type) {
    if constexpr (n == 1)
        words[0] = floatToHalf(from[0]);
#pragma unroll
    for (int i = 0; i < n / 2; ++i)
        words[i] = packPair(from[2 * i], from[2 * i + 1], type);
}

template <int n>
__device__ __forceinline__ void packLanes(const float* from, unsigned* words,
                                          const BFloat16* type) {
    if constexpr (n == 1)
        words[0] = floatToBFloat16(from[0]);
#pragma unroll
    for (int i = 0; i < n / 2; ++i)
        words[i] = packPair(from[2 * i], from[2 * i + 1], type);
}

template <int n, bool streamed, typename T, typename Register>
__device__ __forceinline__ void storeLanes(T* to, const Register* from) {
    constexpr int bytes = n * static_cast<int>(sizeof(T));
    unsigned words[(bytes + 3) / 4];
    packLanes<n>(from, words, static_cast<const T*>(to));
    storeWords<bytes, streamed>(to, words);
}

/// n registers from consecutive shared memory, aligned to n elements (16 bytes at most).
template <int n, typename T> __device__ __forceinline__ void loadShared(const T* from, T* to) {
    constexpr int bytes = n * static_cast<int>(sizeof(T)), access = bytes >= 16 ? 16 : bytes;
#ifdef __CUDA_ARCH__
    struct __align__(access) Lanes {
        T lane[n];
    };
    const Lanes lanes = *reinterpret_cast<const Lanes*>(from);
#pragma unroll
    for (int i = 0; i < n; ++i)
        to[i] = lanes.lane[i];
#else
    for (int i = 0; i < n; ++i) {
        if (i * static_cast<int>(sizeof(T)) % access == 0)
            hostVectorAccess(from + i, access);
        to[i] = from[i];
    }
#endif
}

/// n registers to consecutive shared memory, likewise.
template <int n, typename T>
__device__ __forceinline__ void storeShared(T* to, const T (&from)[n]) {
    constexpr int bytes = n * static_cast<int>(sizeof(T)), access = bytes >= 16 ? 16 : bytes;
#ifdef __CUDA_ARCH__
    struct __align__(access) Lanes {
        T lane[n];
    };
    Lanes lanes;
#pragma unroll
    for (int i = 0; i < n; ++i)
        lanes.lane[i] = from[i];
    *reinterpret_cast<Lanes*>(to) = lanes;
#else
    for (int i = 0; i < n; ++i) {
        if (i * static_cast<int>(sizeof(T)) % access == 0)
            hostVectorAccess(to + i, access);
        to[i] = from[i];
    }
#endif
}

/// n elements of consecutive shared memory in registers of their kind, one access of 4 to 16 bytes.
template <int n, typename T, typename Register>
__device__ __forceinline__ void loadStaged(const T* from, Register* to) {
    constexpr int count = n * static_cast<int>(sizeof(T)) / 4;
    unsigned words[count];
    loadShared<count>(reinterpret_cast<const unsigned*>(from), words);
#pragma unroll
    for (int i = 0; i < n; ++i)
        to[i] = lane(words, i, from);
}

/// The same to shared memory.
template <int n, typename T, typename Register>
__device__ __forceinline__ void stageLanes(T* to, const Register* from) {
    constexpr int count = n * static_cast<int>(sizeof(T)) / 4;
    unsigned words[count];
    packLanes<n>(from, words, static_cast<const T*>(to));
    storeShared<count>(reinterpret_cast<unsigned*>(to), words);
}

/// Asks for the line with this byte, to be in the last cache when it is read.
__device__ __forceinline__ void prefetchLine(const void* from) {
#ifdef __CUDA_ARCH__
    asm volatile("prefetch.global.L2 [%0];" ::"l"(from));
#endif
}

/// The larger of each of two elements in one word; NaN wins.
__device__ __forceinline__ unsigned maximumPair(unsigned a, unsigned b, const Half* type) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    unsigned out;
    asm("max.NaN.f16x2 %0, %1, %2;" : "=r"(out) : "r"(a), "r"(b));
    return out;
#else
    return packPair(maximum(lane(&a, 0, type), lane(&b, 0, type)),
                    maximum(lane(&a, 1, type), lane(&b, 1, type)), type);
#endif
}

__device__ __forceinline__ unsigned maximumPair(unsigned a, unsigned b, const BFloat16* type) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    unsigned out;
    asm("max.NaN.bf16x2 %0, %1, %2;" : "=r"(out) : "r"(a), "r"(b));
    return out;
#else
    return packPair(maximum(lane(&a, 0, type), lane(&b, 0, type)),
                    maximum(lane(&a, 1, type), lane(&b, 1, type)), type);
#endif
}

#endif
