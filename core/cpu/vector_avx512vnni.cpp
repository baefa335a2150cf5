// SPDX-License-Identifier: Apache-2.0
// Sums of products of bytes, and of nibbles, with the instructions that add four to a lane. No
// standard template is used, for the reason that vector_body.h gives.
#include "core/cpu/vector_table.h"

#if defined(__AVX512VNNI__) && defined(__AVX512BW__) && defined(__AVX512VL__)
#include <immintrin.h>

namespace fuselage::cpu::avx512vnni {

namespace {

#include "core/cpu/vector_panels.h"

constexpr size_t lanes = ByteDots::columns;
constexpr size_t quadBytes = 4 * lanes; // of one quad of a panel

inline __mmask16 firstLanes(size_t n) {
    return n >= lanes ? 0xffff : static_cast<__mmask16>((1U << n) - 1);
}

/// Four products to each lane. With the intrinsic, GCC 12 copies and stores the sums in every step.
inline void addDots(__m512i& sums, __m512i unsignedBytes, __m512i signedBytes) {
    asm("vpdpbusd %2, %1, %0" : "+v"(sums) : "v"(unsignedBytes), "v"(signedBytes));
}

/// Everything that a product needs beside the tile's place.
struct Operands {
    size_t cStep, aStep, quads;
};

template <size_t rows, size_t panels>
inline void tile(int32_t* c, const uint8_t* a, const int8_t* b, const Operands& at,
                 __mmask16 last) {
    __m512i sums[rows][panels];
#pragma GCC unroll 16
    for (size_t r = 0; r < rows; ++r)
#pragma GCC unroll 16
        for (size_t p = 0; p < panels; ++p)
            sums[r][p] = _mm512_setzero_si512();
    for (size_t q = 0; q < at.quads; ++q) {
        __m512i weights[panels];
#pragma GCC unroll 16
        for (size_t p = 0; p < panels; ++p)
            weights[p] = _mm512_loadu_si512(b + (p * at.quads + q) * quadBytes);
#pragma GCC unroll 16
        for (size_t r = 0; r < rows; ++r) {
            int32_t quad;
            __builtin_memcpy(&quad, a + r * at.aStep + 4 * q, sizeof quad);
            const __m512i x = _mm512_set1_epi32(quad);
#pragma GCC unroll 16
            for (size_t p = 0; p < panels; ++p)
                addDots(sums[r][p], x, weights[p]);
        }
    }
#pragma GCC unroll 16
    for (size_t r = 0; r < rows; ++r)
#pragma GCC unroll 16
        for (size_t p = 0; p < panels; ++p)
            _mm512_mask_storeu_epi32(c + r * at.cStep + p * lanes,
                                     p + 1 < panels ? static_cast<__mmask16>(0xffff) : last,
                                     sums[r][p]);
}

/// Tiles of `step` rows from row `r` on; the first row that is left.
template <size_t step, size_t panels>
size_t tiles(int32_t* c, const uint8_t* a, const int8_t* b, size_t r, size_t rows,
             const Operands& at, __mmask16 last) {
    for (; r + step <= rows; r += step)
        tile<step, panels>(c + r * at.cStep, a + r * at.aStep, b, at, last);
    return r;
}

/// All rows of some panels; the registers hold `most` rows of them.
template <size_t most, size_t panels>
void columns(int32_t* c, const uint8_t* a, const int8_t* b, size_t rows, const Operands& at,
             __mmask16 last) {
    size_t r = tiles<most, panels>(c, a, b, 0, rows, at, last);
    r = tiles<4, panels>(c, a, b, r, rows, at, last);
    r = tiles<2, panels>(c, a, b, r, rows, at, last);
    tiles<1, panels>(c, a, b, r, rows, at, last);
}

void products(int32_t* c, size_t cStep, const uint8_t* a, size_t aStep, const int8_t* b,
              size_t rows, size_t quads, size_t n) {
    const Operands at{cStep, aStep, quads};
    constexpr size_t together = 4;
    for (size_t left = n; left > 0;) {
        const size_t panels = left >= together * lanes ? together : (left + lanes - 1) / lanes;
        const size_t taken = left < panels * lanes ? left : panels * lanes;
        const __mmask16 last = firstLanes(taken - (panels - 1) * lanes);
        switch (panels) {
        case 4:
            columns<6, 4>(c, a, b, rows, at, last);
            break;
        case 3:
            columns<8, 3>(c, a, b, rows, at, last);
            break;
        case 2:
            columns<12, 2>(c, a, b, rows, at, last);
            break;
        default:
            columns<16, 1>(c, a, b, rows, at, last);
        }
        c += taken;
        b += panels * quads * quadBytes;
        left -= taken;
    }
}

/// One quad of taps of a block: channels in the order of depthwiseChannel().
inline void addQuad(__m512i (&sums)[4], const uint8_t* const* taps, size_t offset, __m512i flip,
                    const int8_t* weights) {
    __m512i x[4];
#pragma GCC unroll 4
    for (size_t t = 0; t < 4; ++t)
        x[t] = _mm512_xor_si512(_mm512_loadu_si512(taps[t] + offset), flip);
    const __m512i low01 = _mm512_unpacklo_epi8(x[0], x[1]),
                  low23 = _mm512_unpacklo_epi8(x[2], x[3]);
    const __m512i high01 = _mm512_unpackhi_epi8(x[0], x[1]),
                  high23 = _mm512_unpackhi_epi8(x[2], x[3]);
    const __m512i quads[4] = {
        _mm512_unpacklo_epi16(low01, low23), _mm512_unpackhi_epi16(low01, low23),
        _mm512_unpacklo_epi16(high01, high23), _mm512_unpackhi_epi16(high01, high23)};
#pragma GCC unroll 4
    for (size_t part = 0; part < 4; ++part)
        sums[part] =
            _mm512_dpbusd_epi32(sums[part], quads[part], _mm512_loadu_si512(weights + 64 * part));
}

/// The sums of a block in the order of its channels: a transposition of quarters.
inline void storeBlock(int32_t* to, const __m512i (&sums)[4]) {
    typedef int64_t Pairs __attribute__((vector_size(64)));
    Pairs s[4];
#pragma GCC unroll 4
    for (size_t i = 0; i < 4; ++i)
        s[i] = reinterpret_cast<Pairs>(sums[i]);
    const Pairs first01 = __builtin_shufflevector(s[0], s[1], 0, 1, 2, 3, 8, 9, 10, 11),
                first23 = __builtin_shufflevector(s[2], s[3], 0, 1, 2, 3, 8, 9, 10, 11),
                last01 = __builtin_shufflevector(s[0], s[1], 4, 5, 6, 7, 12, 13, 14, 15),
                last23 = __builtin_shufflevector(s[2], s[3], 4, 5, 6, 7, 12, 13, 14, 15);
    auto store = [&](size_t at, Pairs quarters) {
        _mm512_storeu_si512(to + at, reinterpret_cast<__m512i>(quarters));
    };
    store(0, __builtin_shufflevector(first01, first23, 0, 1, 4, 5, 8, 9, 12, 13));
    store(16, __builtin_shufflevector(first01, first23, 2, 3, 6, 7, 10, 11, 14, 15));
    store(32, __builtin_shufflevector(last01, last23, 0, 1, 4, 5, 8, 9, 12, 13));
    store(48, __builtin_shufflevector(last01, last23, 2, 3, 6, 7, 10, 11, 14, 15));
}

/// `known`: the number of quads, 0 where it is any.
template <size_t known>
void wideBlock(int32_t* sums, const uint8_t* const* taps, size_t first, size_t step, size_t pixels,
               const int8_t* weights, size_t count, size_t channels, uint8_t flip) {
    const size_t quads = known ? known : count;
    const __m512i flips = _mm512_set1_epi8(static_cast<char>(flip));
    for (size_t p = 0; p < pixels; ++p) {
        __m512i out[4] = {};
        for (size_t q = 0; q < quads; ++q)
            addQuad(out, taps + 4 * q, p * step + first, flips, weights + 256 * q);
        storeBlock(sums + p * channels + first, out);
    }
}

/// Sixteen channels or fewer.
template <size_t known>
void narrowBlock(int32_t* sums, const uint8_t* const* taps, size_t first, size_t step,
                 size_t pixels, const int8_t* weights, size_t count, size_t channels,
                 uint8_t flip) {
    const size_t quads = known ? known : count;
    const __m128i flips = _mm_set1_epi8(static_cast<char>(flip));
    const size_t left = channels - first;
    const __mmask16 mask = firstLanes(left);
    for (size_t p = 0; p < pixels; ++p) {
        __m128i out[4] = {};
        const size_t offset = p * step + first;
        for (size_t q = 0; q < quads; ++q) {
            __m128i x[4];
#pragma GCC unroll 4
            for (size_t t = 0; t < 4; ++t)
                x[t] = _mm_xor_si128(_mm_maskz_loadu_epi8(mask, taps[4 * q + t] + offset), flips);
            const __m128i low01 = _mm_unpacklo_epi8(x[0], x[1]),
                          low23 = _mm_unpacklo_epi8(x[2], x[3]),
                          high01 = _mm_unpackhi_epi8(x[0], x[1]),
                          high23 = _mm_unpackhi_epi8(x[2], x[3]);
            const __m128i parts[4] = {
                _mm_unpacklo_epi16(low01, low23), _mm_unpackhi_epi16(low01, low23),
                _mm_unpacklo_epi16(high01, high23), _mm_unpackhi_epi16(high01, high23)};
#pragma GCC unroll 4
            for (size_t part = 0; part < 4; ++part)
                out[part] = _mm_dpbusd_epi32(out[part], parts[part],
                                             _mm_loadu_si128(reinterpret_cast<const __m128i*>(
                                                 weights + 64 * q + 16 * part)));
        }
        int32_t* to = sums + p * channels + first;
#pragma GCC unroll 4
        for (size_t part = 0; part < 4; ++part)
            _mm_mask_storeu_epi32(to + 4 * part, static_cast<__mmask8>(mask >> (4 * part) & 0xf),
                                  out[part]);
    }
}

template <size_t known>
void depthwiseOf(int32_t* sums, const uint8_t* const* taps, size_t step, size_t pixels,
                 const int8_t* weights, size_t quads, size_t channels, uint8_t flip) {
    for (size_t at = 0; at < channels;) {
        const ByteDots::Block block = ByteDots::blockAt(at, channels);
        if (block.wide)
            wideBlock<known>(sums, taps, block.first, step, pixels, weights, quads, channels, flip);
        else
            narrowBlock<known>(sums, taps, block.first, step, pixels, weights, quads, channels,
                               flip);
        weights += (block.wide ? ByteDots::block : lanes) * 4 * quads;
        at = block.next;
    }
}

void depthwise(int32_t* sums, const uint8_t* const* taps, size_t step, size_t pixels,
               const int8_t* weights, size_t quads, size_t channels, uint8_t flip) {
    if (quads == 3)
        return depthwiseOf<3>(sums, taps, step, pixels, weights, quads, channels, flip);
    depthwiseOf<0>(sums, taps, step, pixels, weights, quads, channels, flip);
}

// --- weights of 4 bits ---------------------------------------------------------------------

// As vectors of the language: GCC 12 warns of its own header where these are intrinsics.
inline __m512 floatsOf(__m512i whole) {
    typedef int32_t Numbers __attribute__((vector_size(64)));
    typedef float Floats __attribute__((vector_size(64)));
    return reinterpret_cast<__m512>(
        __builtin_convertvector(reinterpret_cast<Numbers>(whole), Floats));
}

inline __m512i highNibbles(__m512i bytes) {
    typedef uint32_t Words __attribute__((vector_size(64)));
    return reinterpret_cast<__m512i>(reinterpret_cast<Words>(bytes) >> 4U);
}

/// Digits of some rows times the weights of some panels, over one block.
template <size_t rows, size_t panels>
inline void digitBlock(const NibbleTile& tile, const uint8_t* const (&heads)[rows],
                       const uint8_t* weights, __m512i (&sums)[rows][panels][DigitBlock::digits]) {
    constexpr size_t lineBytes = 64;
    const __m512i low = _mm512_set1_epi8(15);
    for (size_t word = 0; word < tile.words; ++word) {
        __m512i nibbles[panels][2];
#pragma GCC unroll 16
        for (size_t p = 0; p < panels; ++p) {
            const __m512i both =
                _mm512_loadu_si512(weights + p * tile.panelBytes + word * lineBytes);
            nibbles[p][0] = _mm512_and_si512(both, low);
            nibbles[p][1] = _mm512_and_si512(highNibbles(both), low);
        }
#pragma GCC unroll 16
        for (size_t r = 0; r < rows; ++r)
#pragma GCC unroll 16
            for (size_t half = 0; half < 2; ++half)
#pragma GCC unroll 16
                for (size_t d = 0; d < DigitBlock::digits; ++d) {
                    int32_t four;
                    __builtin_memcpy(&four,
                                     heads[r] + sizeof(DigitBlock) + word * DigitBlock::wordBytes +
                                         (half * DigitBlock::digits + d) * sizeof four,
                                     sizeof four);
                    const __m512i x = _mm512_set1_epi32(four);
#pragma GCC unroll 16
                    for (size_t p = 0; p < panels; ++p)
                        addDots(sums[r][p][d], nibbles[p][half], x);
                }
    }
}

template <size_t rows, size_t panels> void digitTile(const NibbleTile& tile) {
    constexpr size_t lineBytes = 64;
    const size_t head = (tile.shifted ? 2 : 1) * lineBytes;
    const size_t blockBytes = head + tile.words * lineBytes;
    const size_t digitBytes = sizeof(DigitBlock) + tile.words * DigitBlock::wordBytes;
    for (size_t block = 0; block < tile.blocks; ++block) {
        const uint8_t* heads[rows];
        __m512i sums[rows][panels][DigitBlock::digits];
#pragma GCC unroll 16
        for (size_t r = 0; r < rows; ++r) {
            heads[r] = tile.digits + r * tile.digitStep + block * digitBytes;
            const auto* known = reinterpret_cast<const DigitBlock*>(heads[r]);
#pragma GCC unroll 16
            for (size_t p = 0; p < panels; ++p)
#pragma GCC unroll 16
                for (size_t d = 0; d < DigitBlock::digits; ++d)
                    sums[r][p][d] = _mm512_set1_epi32(known->start[d]);
        }
        const uint8_t* weights = tile.b + block * blockBytes;
        digitBlock<rows, panels>(tile, heads, weights + head, sums);
#pragma GCC unroll 16
        for (size_t r = 0; r < rows; ++r) {
            const auto* known = reinterpret_cast<const DigitBlock*>(heads[r]);
            const __m512 base = _mm512_set1_ps(256), unit = _mm512_set1_ps(known->unit);
#pragma GCC unroll 16
            for (size_t p = 0; p < panels; ++p) {
                const auto* scales = reinterpret_cast<const float*>(weights + p * tile.panelBytes);
                float* c = tile.c + r * tile.cStep + p * NibbleTile::columns;
                __m512 x = _mm512_fmadd_ps(floatsOf(sums[r][p][2]), base, floatsOf(sums[r][p][1]));
                x = _mm512_mul_ps(_mm512_fmadd_ps(x, base, floatsOf(sums[r][p][0])), unit);
                x = _mm512_fmadd_ps(x, _mm512_loadu_ps(scales), _mm512_loadu_ps(c));
                if (tile.shifted)
                    x = _mm512_fmadd_ps(_mm512_loadu_ps(scales + NibbleTile::columns),
                                        _mm512_set1_ps(known->sum), x);
                _mm512_storeu_ps(c, x);
            }
        }
    }
}

struct AsDigits {
    template <size_t rows, size_t panels> static void multiply(const NibbleTile& tile) {
        digitTile<rows, panels>(tile);
    }
};

void nibblesByDigits(const NibbleTile& tile) {
    NibbleTile part = tile;
    auto advance = [&](size_t rows) {
        part.digits += rows * part.digitStep;
        part.c += rows * part.cStep;
        part.rows -= rows;
    };
    while (part.rows >= 4) {
        overPanels<AsDigits, 4, 2>(part);
        advance(4);
    }
    if (part.rows >= 2) {
        overPanels<AsDigits, 2, 4>(part);
        advance(2);
    }
    if (part.rows > 0)
        overPanels<AsDigits, 1, 4>(part);
}

} // namespace

bool fill(VectorTable& table) {
    table.integer.dots = {products, depthwise};
    table.nibblesByDigits = nibblesByDigits;
    return true;
}

} // namespace fuselage::cpu::avx512vnni

#else

namespace fuselage::cpu::avx512vnni {

bool fill(VectorTable&) {
    return false;
}

} // namespace fuselage::cpu::avx512vnni

#endif
