// SPDX-License-Identifier: Apache-2.0
// The vector functions of the tile interpreter: one loop per tape operation, lane type and operand
// form, compiled once per instruction set. This header fixes their signatures and picks the set
// that this machine runs; the loops are in vector_body.h.
#pragma once

#include "core/graph/dtype.h"
#include "core/kernel/program.h"
#include "core/ops/recurrent_activation.h"
#include "core/ops/tape.h"

#include <cstddef>
#include <cstdint>

namespace fuselage::cpu {

/// How a tile holds a dtype: 16-bit floats as float, every integer as int64, bool as one byte.
enum class Lane : uint8_t { F32, F64, I64, Bool };
constexpr size_t laneCount = 4;

Lane laneOf(DType type);

constexpr size_t laneBytes(Lane lane) {
    return lane == Lane::F32 ? 4 : lane == Lane::Bool ? 1 : 8;
}

/// Which operands are one value for the whole tile (read from their first lane). Of Select they are
/// the second and third operand; its condition is always a vector.
enum class Form : uint8_t { VectorVector, VectorScalar, ScalarVector };
constexpr size_t formCount = 3;

/// Lanes are computed in groups of this many: every count is a multiple of it.
constexpr size_t laneGroup = 16;

constexpr size_t roundUpToGroup(size_t n) {
    return (n + laneGroup - 1) / laneGroup * laneGroup;
}

/// out may be one of the operands when lane sizes agree. Tails of groups are slow.
using VectorFunction = void (*)(void* out, const void* a, const void* b, const void* c, size_t n);

/// Lanes from `rows` x `cols` stored elements (strides in elements), packed row after row.
using LoadFunction = void (*)(void* lanes, const void* source, size_t rows, size_t cols,
                              int64_t rowStride, int64_t colStride);
using StoreFunction = void (*)(void* target, const void* lanes, size_t rows, size_t cols,
                               int64_t rowStride, int64_t colStride);

/// A reduction under way: values are double for float lanes and int64 for the others.
struct Accumulators {
    void* values = nullptr;
    int64_t* indices = nullptr; ///< of arg-reductions
};

/// Folds `rows` x `cols` packed lanes into accumulators. Inner: one accumulator a row. Outer: one
/// accumulator a column. firstIndex: position of the first element along the reduced dimension.
using ReduceFunction = void (*)(Accumulators into, const void* x, size_t rows, size_t cols,
                                int64_t firstIndex);
/// Folds `rows` x `cols` packed lanes into one row of such lanes, which holds nothing before the
/// first call.
using FoldFunction = void (*)(void* into, const void* x, size_t rows, size_t cols, bool isFirst);

/// Softmax without the division, in place: row r becomes e^(x - max) with x = scale * score (+
/// mask, or `fill` where a condition hides it); its sum, with the sink, goes to sums[r]. Strides
/// are in elements; a mask's is zero when all rows share it.
struct SoftmaxRows {
    /// Rows of what is added, or of conditions; rows that lie `stride` elements apart.
    struct Mask {
        const float* add = nullptr;
        const uint8_t* condition = nullptr;
        uint8_t hides = 0; ///< scores get `fill` where the condition is this
        float fill = 0;
        int64_t stride = 0;
    };

    float* scores = nullptr;
    size_t rows = 0, cols = 0, stride = 0;
    float scale = 1;
    const Mask* masks = nullptr;
    size_t maskCount = 0;
    const float* sinks = nullptr; ///< of each row the score of one more element; null: none
    float* sums = nullptr;
};
using SoftmaxFunction = void (*)(const SoftmaxRows& rows);

/// out[i] = sum over taps t of weights[t] * sources[t][i]
using WeightedSumFunction = void (*)(float* out, const float* const* sources, const float* weights,
                                     size_t taps, size_t n);
/// out[i] = sum over taps t of weights[t * n + i] * source[indices[t * n + i]]
using GatherSumFunction = void (*)(float* out, const float* source, const int32_t* indices,
                                   const float* weights, size_t taps, size_t n);

/// One factor of a Fourier transform (fourier.h). Runs lie one behind the other: `radix` times
/// `groups` of them, read with `groups` between those of one butterfly, written side by side.
struct FourierPass {
    size_t radix = 2;
    size_t groups = 1;
    size_t run = 1;                 ///< floats
    const float* factors = nullptr; ///< [groups][radix - 1][real, imaginary]
    const float* roots = nullptr;   ///< [radix][real, imaginary]: of 1
};
/// Nothing overlaps.
using FourierFunction = void (*)(const FourierPass& pass, const float* re, const float* im,
                                 float* outRe, float* outIm);

/// One element of one sequence of a recurrence: gates in ONNX's order, each `hidden` apart, are the
/// sums of three; `result` is the state, old and new.
using RecurrentFunction = void (*)(const float* fromInput, float* fromState, const float* bias,
                                   float* carried, float* result, size_t hidden);

/// What stands between the sums and the state, where that is not the usual.
struct RecurrentGates {
    RecurrentActivation f, g, h;
    float clip = 0;                   ///< bound of what f and g are given; 0: none
    bool coupled = false;             ///< LSTM: forgets what its input gate does not let in
    const float* peepholes = nullptr; ///< LSTM: of input, output and forget gate; or null
};

using GatedRecurrentFunction = void (*)(const float* fromInput, float* fromState, const float* bias,
                                        float* carried, float* result, size_t hidden,
                                        const RecurrentGates& gates);

template <typename Function> struct RecurrentLoopsOf {
    Function lstm = nullptr; ///< carries the cell
    Function rnn = nullptr;
    /// The bias of the candidate's product with the state stands behind the others.
    Function gruOfResetProduct = nullptr;
    /// In two parts: `carried` becomes the state times the reset gate; the update gate stays in
    /// fromState; then the candidate, of the product with what was carried.
    Function gruReset = nullptr, gruCandidate = nullptr;
};

struct RecurrentLoopTable : RecurrentLoopsOf<RecurrentFunction> {
    RecurrentLoopsOf<GatedRecurrentFunction> gated;
};

// Minimal filtering (Winograd) of 3x3 convolutions: each tile of R x R results comes from
// (R+2) x (R+2) pixels through as many independent sums of products over the channels, one for each
// position of the transformed tile. R is 2 or 4: index 0 or 1 in the tables.

/// The point besides 0, 1, -1 and infinity at which tiles of 4 x 4 are interpolated.
constexpr float winogradPoint = 0.625F;

/// Where the results of one tile go; pixels outside the image have rows of their own.
struct WinogradTile {
    float* const* result = nullptr;
    const float* const* add = nullptr; ///< or null: added before the activation
    const float* bias = nullptr;
    float slope = 1; ///< of negative values, before the limits
    float low = 0, high = 0;
};

constexpr size_t panelsTogether = 4;

struct WinogradLoops {
    /// From the pixels' channels to v[position][channel / laneGroup][.][channel % laneGroup].
    using Input = void (*)(float* v, size_t positionStride, size_t groupStride,
                           const float* const* pixels, size_t channels);
    /// c[r][0..panel) = sum over k of a[k / laneGroup][r][k % laneGroup] * b[k][0..panel)
    using Product = void (*)(const float* a, size_t groupStride, const float* b, float* c,
                             size_t rowStride, size_t depth);
    /// The same of panelsTogether panels, `panelStride` apart, for few rows.
    using Panels = void (*)(const float* a, size_t groupStride, const float* b, size_t panelStride,
                            float* c, size_t rowStride, size_t depth);
    using Output = void (*)(const float* m, size_t positionStride, const WinogradTile& tile,
                            size_t channels);

    size_t panel = 0;
    size_t mostRows = 0;
    Input input[2] = {};
    Product product[15] = {}; ///< by the number of rows, 1 .. mostRows
    Panels panels[15] = {};   ///< null: one panel is as fast
    Output output[2] = {};
};

/// Pooling: index 0 takes the largest (a NaN wins), 1 the sum. Nothing overlaps the results.
template <typename T> struct PoolFolds {
    /// out[i] = sources[0][i] (op) sources[1][i] ...
    using Sources = void (*)(T* out, const T* const* sources, size_t count, size_t n);
    /// Elements behind the last of a line that may be read.
    static constexpr size_t readPast = 64;
    /// out[i] = line[i * step] (op) line[i * step + apart] ..., `taps` of them
    using Neighbours = void (*)(T* out, const T* line, size_t step, size_t taps, size_t apart,
                                size_t n);

    Sources sources[2] = {};
    Neighbours neighbours[2] = {};
};

struct PoolLoops {
    PoolFolds<float> floats;
    PoolFolds<int8_t> int8;   ///< the largest only
    PoolFolds<uint8_t> uint8; ///< the same
    void (*divideEach)(float* out, const float* divisors, float factor, size_t n) = nullptr;
    void (*divideAll)(float* out, float divisor, size_t n) = nullptr;
};

/// What becomes of the sums of rows: v = f(clamp(scale * (sum + correction) + shift + addendScale
/// * (addend - addendZero), low, high)), stored, or as round(v / step) + zero within its type.
struct RequantisedRow {
    enum class To : uint8_t { Float32, UInt8, Int8 };
    /// f(x): x, x * unit(x) or unit(x), where unit(x) is slope * x + offset within 0 and 1.
    enum class Bend : uint8_t { None, TimesUnit, Unit };

    const int32_t* sums = nullptr;
    /// Of `period` columns, whose number is a multiple of the lanes where there are several rows.
    const int32_t* correction = nullptr;
    const float *scale = nullptr, *shift = nullptr;
    size_t period = 0;
    const void* addend = nullptr; ///< or null
    bool addendSigned = false;
    float addendScale = 0, addendZero = 0;
    float low = 0, high = 0;
    Bend bend = Bend::None;
    float slope = 0, offset = 0;
    To to = To::Float32;
    float step = 1, zero = 0;
    void* out = nullptr;
    size_t n = 0; ///< of all rows, which lie one behind the other
};

/// Sums of products of uint8 x int8 in quads: four bytes each, which meet in one lane of int32.
struct ByteDots {
    static constexpr size_t columns = 16; ///< of a panel
    static constexpr size_t block = 64;   ///< channels of a wide block

    /// c[r][0..n) = sum over k of a[r][k] * b[k][0..n); k is `quads` quads. b is packed as
    /// [panel][quad][column of the panel][byte of the quad], zero past n.
    using Products = void (*)(int32_t* c, size_t cStep, const uint8_t* a, size_t aStep,
                              const int8_t* b, size_t rows, size_t quads, size_t n);
    /// sums[p][c] = sum over taps t of (taps[t][p * step + c] ^ flip) * weight[c][t]; taps are
    /// `quads` quads. Weights are packed block after block (blockAt), each [quad][part][byte]: wide
    /// ones in parts of 64 bytes that depthwiseChannel() orders, narrow ones in the channels'
    /// order.
    using Depthwise = void (*)(int32_t* sums, const uint8_t* const* taps, size_t step,
                               size_t pixels, const int8_t* weights, size_t quads, size_t channels,
                               uint8_t flip);

    struct Block {
        size_t first = 0;  ///< channel
        bool wide = false; ///< `block` channels, else up to `columns`
        size_t next = 0;   ///< the channel from which on another one is needed
    };

    /// The block that computes channel `at`. A wide one may begin within the one before.
    [[gnu::always_inline]] static constexpr Block blockAt(size_t at, size_t channels) {
        if (channels >= at + block)
            return {at, true, at + block};
        if (channels >= block && channels - at > 2 * columns)
            return {channels - block, true, channels};
        return {at, false, at + columns};
    }

    /// The channel of a wide block whose quad is the `index`-th of its 64.
    static constexpr size_t depthwiseChannel(size_t index) {
        const size_t part = index / 16, lane = index % 16 / 4;
        return lane * 16 + part * 4 + index % 4;
    }

    Products products = nullptr;
    Depthwise depthwise = nullptr;
};

/// Around products of 8-bit integers; everything wraps.
struct IntegerLoops {
    /// The least and the greatest of x and zero, without NaN.
    void (*range)(const float* x, size_t n, float* low, float* high) = nullptr;
    /// q[i] = x[i] / scale + zero, nearest (ties to even), within 0 and 255; NaN: 0
    void (*quantise)(const float* x, uint8_t* q, size_t n, float scale, float zero) = nullptr;
    /// sums[i] += factor * terms[i]
    void (*addScaled)(int32_t* sums, const int32_t* terms, int32_t factor, size_t n) = nullptr;
    /// out[i] = float(sums[i] + correction[i]) * scale[i] (+ shift[i], unless null); out may be
    /// sums
    void (*dequantise)(float* out, const int32_t* sums, const int32_t* correction,
                       const float* scale, const float* shift, size_t n) = nullptr;
    /// Scales, shifts and bounds must be finite, so that nothing on the way is not.
    void (*requantise)(const RequantisedRow& row) = nullptr;
    /// A few hundred bytes, each xor-ed with `flip`: 0x80 makes int8 uint8 that is 128 more.
    void (*copy)(uint8_t* to, const uint8_t* from, size_t n, uint8_t flip) = nullptr;
    /// sums[c] = sum over taps t of (taps[t][c] ^ flip) * weights[t * channels + c]; weights are
    /// whole numbers up to 255, and taps so few that float32 holds their sums.
    static constexpr size_t mostTaps = 258;
    void (*depthwise)(int32_t* sums, const uint8_t* const* taps, const float* weights,
                      size_t tapCount, size_t channels, uint8_t flip) = nullptr;
    /// By instructions that add four products to a lane; null where the table has none.
    ByteDots dots;
};

/// Some rows of A times weights of 4 bits, added to c. The weights of a panel are `blocks` blocks
/// of k: the scales of its columns, then, if `shifted`, what the sum of A's elements of the block
/// is multiplied with, then `words` words for each column, of eight k each, lowest bits first. A
/// nibble stands for itself less 8.
struct NibbleTile {
    static constexpr size_t columns = 16; ///< of a panel

    float* c = nullptr; ///< [rows, panels * columns]
    size_t cStep = 0;
    const float* a = nullptr; ///< [rows, blocks * words * 8]
    size_t aStep = 0;
    const float* sums = nullptr; ///< [rows, blocks], if shifted
    size_t sumStep = 0;
    const uint8_t* b = nullptr;
    size_t panelBytes = 0;
    size_t rows = 0, panels = 0, blocks = 0, words = 0;
    bool shifted = false;
    /// In place of a and sums where elements are digits: [rows][blocks] of DigitBlock, each with
    /// its words.
    const uint8_t* digits = nullptr;
    size_t digitStep = 0; ///< bytes from row to row
};

/// A block of A as whole numbers of units, (d2 * 256 + d1) * 256 + d0 with digits that are int8,
/// for products of bytes. Behind it, for each word of eight k: the digits 0, 1 and 2 of its even k,
/// four bytes each, then those of its odd ones.
struct DigitBlock {
    static constexpr size_t digits = 3;
    static constexpr size_t wordBytes = 8 * digits;

    int32_t start[digits] = {}; ///< -8 times the sum of the digits
    float unit = 0;
    float sum = 0; ///< of the elements
    int32_t unused[3] = {};
};

/// One token of a recurrence (core/ops/linear_recurrence.h): what it makes of some columns of a
/// state, which need nothing of the others.
struct RecurrenceTile {
    static constexpr size_t columns = 32;

    float* state = nullptr;       ///< [depth, columns]
    const float* key = nullptr;   ///< [depth]
    const float* decay = nullptr; ///< [depth, at decayStep], what is kept; null: all
    const float* value = nullptr; ///< [columns]
    const float* query = nullptr; ///< [rows, depth]
    float* result = nullptr;      ///< [rows, columns]
    size_t depth = 0, rows = 0;
    size_t decayStep = 1; ///< 0: one for all
    float rate = 1;
    bool corrects = false; ///< what the state says of the key is taken from the value
};

constexpr size_t dtypeCount = static_cast<size_t>(DType::String) + 1;
constexpr size_t reduceKindCount = static_cast<size_t>(ReduceKind::ArgMinLast) + 1;

/// Some rows and columns of a product: out[r, i] = sum over k of a[k, r] * b[k, i], where
/// consecutive k are ColumnLoops::rows and `bStep` elements apart; integers wrap.
template <typename T> struct ColumnTile {
    T* out = nullptr; ///< all of the tile is written, `outStep` elements from row to row
    const T* a = nullptr;
    const T* b = nullptr;
    size_t outStep = 0, bStep = 0, depth = 0;
    size_t rows = 0; ///< that are wanted
};

struct ColumnLoops {
    static constexpr size_t rows = 8;
    /// Two of the largest vectors.
    template <typename T> static constexpr size_t columns = 128 / sizeof(T);
    template <typename T> using Tile = void (*)(ColumnTile<T>);

    Tile<double> doubles = nullptr;
    Tile<uint32_t> words = nullptr;
    Tile<uint64_t> longWords = nullptr;
};

struct VectorTable {
    const char* name = "";
    VectorFunction op[tapeOpCount][laneCount][formCount] = {}; ///< by lane of the last operand
    VectorFunction opUnsigned[tapeOpCount][formCount] = {};    ///< uint64 where it differs
    VectorFunction convert[laneCount][laneCount] = {};         ///< from, to
    VectorFunction fromUnsigned[laneCount] = {}; ///< uint64 held in I64, to a float lane
    VectorFunction round[dtypeCount] = {};       ///< F32 to a 16-bit float's grid, I64 wraps
    VectorFunction splat[laneCount] = {};        ///< the first lane of a into all lanes
    LoadFunction load[dtypeCount] = {};
    StoreFunction store[dtypeCount] = {};
    LoadFunction loadFloat[dtypeCount] = {};   ///< narrow integers to F32
    StoreFunction storeFloat[dtypeCount] = {}; ///< F32 within the bounds of int8 or uint8; NaN: 0
    SoftmaxFunction softmax = nullptr;
    WeightedSumFunction weightedSum = nullptr;
    GatherSumFunction gatherSum = nullptr;
    FourierFunction fourierPass = nullptr;
    WinogradLoops winograd;
    PoolLoops pool;
    RecurrentLoopTable recurrent;
    IntegerLoops integer;
    ColumnLoops columns;
    void (*recur)(const RecurrenceTile& tile) = nullptr;
    void (*nibbles)(const NibbleTile& tile) = nullptr;
    void (*nibblesByDigits)(const NibbleTile& tile) = nullptr; ///< or null
    ReduceFunction reduceInner[reduceKindCount][laneCount] = {};
    ReduceFunction reduceOuter[reduceKindCount][laneCount] = {};
    FoldFunction foldRows[reduceKindCount][laneCount] = {}; ///< not of positions
};

/// The best table that this processor runs.
const VectorTable& vectorTable();

/// All tables that this processor runs, best first; for tests.
size_t vectorTableCount();
const VectorTable& vectorTable(size_t index);

namespace baseline {
void fill(VectorTable& table);
}

namespace avx2 {
void fill(VectorTable& table);
}

namespace avx512 {
void fill(VectorTable& table);
}

namespace avx512vnni {
/// On top of avx512's: false where the compiler has no 8-bit dot products.
bool fill(VectorTable& table);
} // namespace avx512vnni

} // namespace fuselage::cpu
