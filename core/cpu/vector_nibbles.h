// SPDX-License-Identifier: Apache-2.0
// Products with weights of 4 bits that become floats in registers. Included only by vector_body.h,
// inside its unnamed namespace; what is computed is said in vector_table.h.

typedef uint32_t WideWords __attribute__((vector_size(wideLanes * sizeof(uint32_t))));
typedef uint32_t WideWordsInMemory
    __attribute__((vector_size(wideLanes * sizeof(uint32_t)), aligned(1), may_alias));

/// The lowest four bits of each lane, less 8, as floats.
inline Wide nibbles(WideWords words) {
#if defined(__AVX512F__)
    // A table of sixteen is a register, and what picks from it reads four bits. Of the form without
    // a mask GCC 12 warns in its own header.
    const Wide values = {-8, -7, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7};
    return reinterpret_cast<Wide>(_mm512_maskz_permutexvar_ps(
        0xffff, reinterpret_cast<__m512i>(words), reinterpret_cast<__m512>(values)));
#else
    return __builtin_convertvector(reinterpret_cast<WideInts>(words & 15U), Wide) - 8.0F;
#endif
}

/// Some rows and panels over one block: parts are sums of products with whole numbers.
template <size_t rows, size_t vectors>
inline void nibbleBlock(const NibbleTile& tile, const float* a, const uint8_t* const (&at)[vectors],
                        Wide (&parts)[rows][vectors]) {
    constexpr size_t wordBytes = NibbleTile::columns * sizeof(uint32_t);
    for (size_t word = 0; word < tile.words; ++word) {
        WideWords words[vectors];
#pragma GCC unroll 16
        for (size_t v = 0; v < vectors; ++v)
            words[v] = *reinterpret_cast<const WideWordsInMemory*>(at[v] + word * wordBytes);
#pragma GCC unroll 8
        for (size_t i = 0; i < 8; ++i) {
            Wide values[vectors];
#pragma GCC unroll 16
            for (size_t v = 0; v < vectors; ++v)
                values[v] = nibbles(words[v] >> static_cast<uint32_t>(4 * i));
#pragma GCC unroll 16
            for (size_t r = 0; r < rows; ++r) {
                const Wide x = everyLane(a[r * tile.aStep + 8 * word + i]);
#pragma GCC unroll 16
                for (size_t v = 0; v < vectors; ++v)
                    parts[r][v] += values[v] * x;
            }
        }
    }
}

template <size_t rows, size_t panels> void nibbleTile(const NibbleTile& tile) {
    constexpr size_t perPanel = NibbleTile::columns / wideLanes, vectors = panels * perPanel;
    constexpr size_t lineBytes = NibbleTile::columns * sizeof(float);
    const size_t head = (tile.shifted ? 2 : 1) * lineBytes;
    const size_t blockBytes = head + tile.words * lineBytes;
    for (size_t block = 0; block < tile.blocks; ++block) {
        const uint8_t *heads[vectors], *at[vectors];
#pragma GCC unroll 16
        for (size_t v = 0; v < vectors; ++v) {
            heads[v] = tile.b + v / perPanel * tile.panelBytes + block * blockBytes +
                       v % perPanel * wideLanes * sizeof(float);
            at[v] = heads[v] + head;
        }
        Wide parts[rows][vectors] = {};
        nibbleBlock<rows, vectors>(tile, tile.a + block * 8 * tile.words, at, parts);
#pragma GCC unroll 16
        for (size_t v = 0; v < vectors; ++v) {
            const Wide scale = loadWide(reinterpret_cast<const float*>(heads[v]));
            const Wide offset = tile.shifted
                                    ? loadWide(reinterpret_cast<const float*>(heads[v] + lineBytes))
                                    : Wide{};
#pragma GCC unroll 16
            for (size_t r = 0; r < rows; ++r) {
                float* c = tile.c + r * tile.cStep + v * wideLanes;
                Wide sum = loadWide(c) + scale * parts[r][v];
                if (tile.shifted)
                    sum += offset * everyLane(tile.sums[r * tile.sumStep + block]);
                storeWide(c, sum);
            }
        }
    }
}

struct AsFloats {
    template <size_t rows, size_t panels> static void multiply(const NibbleTile& tile) {
        nibbleTile<rows, panels>(tile);
    }
};

void nibbleProduct(const NibbleTile& tile) {
    constexpr bool many = wideLanes == 16; // registers
    NibbleTile part = tile;
    auto advance = [&](size_t rows) {
        part.a += rows * part.aStep;
        part.c += rows * part.cStep;
        part.sums += tile.shifted ? rows * part.sumStep : 0;
        part.rows -= rows;
    };
    while (many && part.rows >= 12) {
        overPanels<AsFloats, many ? 12 : 1, many ? 2 : 1>(part);
        advance(12);
    }
    while (part.rows >= 4) {
        overPanels<AsFloats, 4, many ? 4 : 1>(part);
        advance(4);
    }
    if (part.rows >= 2) {
        overPanels<AsFloats, 2, many ? 4 : 1>(part);
        advance(2);
    }
    if (part.rows > 0)
        overPanels<AsFloats, 1, wideLanes >= 8 ? 4 : 1>(part);
}
