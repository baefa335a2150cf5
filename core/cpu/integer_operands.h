// SPDX-License-Identifier: Apache-2.0
// The operands of a contraction of 8-bit integers as its kernel takes them: rows of A, gathered
// from an image's windows where A is one, and the weights less their zero points as matrices.
#pragma once

#include "core/cpu/integer_product.h"

#include <optional>

namespace fuselage::cpu {

/// The rows of the result that are computed at a time: a box in the program's space. All dims of
/// rows but two have extent 1 there; those of columns are whole.
struct Strip {
    Extents origin; ///< in the program's space; zero in the columns' dims
    Extents box;
};

/// Of the strip's first element.
int64_t firstOffset(const Strip& strip, const StridedAccess& at);

/// Which dims of a contraction's space are rows of the result and which are its columns.
struct RowDims {
    explicit RowDims(const Contraction& program);

    bool isColumn(size_t dim) const { return dim >= firstColumn && dim < endColumn; }

    /// How many rows a box in the program's space has.
    int64_t rowsOf(const Extents& box) const;

    size_t firstColumn = 0, endColumn = 0;
    size_t inner = 0;            ///< whose neighbours are neighbouring rows of a strip
    std::optional<size_t> outer; ///< the other dim along which a strip may have several rows
};

/// Rows of A as uint8 along k, where k of a convolution is [taps..., channels of the group].
class IntegerRows {
public:
    static constexpr size_t mostDims = 4; ///< that windows slide along

    /// `a`: convolutions need contiguous channels. `keepSigned`: int8 stays as it is.
    IntegerRows(const Contraction& program, const OperandLayout& a, const VectorTable& table,
                bool keepSigned);

    int64_t depth() const { return m_depth; }

    /// Whether the rows of such boxes lie in memory as a product can take them.
    bool inPlace(const Extents& box) const;

    /// Bytes from row to row of what rows() gives.
    int64_t stride(const Extents& box) const;

    /// The strip's rows for one group: in A itself, or gathered into `buffer`. Signed elements are
    /// 128 more, unless they are kept. `zero` fills the padding.
    const uint8_t* rows(const std::byte* a, const Strip& strip, int64_t group, uint8_t zero,
                        uint8_t* buffer) const;

    /// The rows [first, last) along the inner dim, from `at` on, whose windows lie in the image.
    struct Inside {
        int64_t first = 0, last = 0;
    };

    Inside insideFrom(const Extents& at, int64_t count) const;

    /// Where the taps of one row of a depthwise convolution read all channels: `padding` outside,
    /// which no row of insideFrom() has.
    void taps(const std::byte* a, const Extents& at, bool inside, const uint8_t* padding,
              const uint8_t** out) const;

    /// Bytes from the window of one row to that of the next along the inner dim.
    int64_t step() const { return m_rowStrides[m_dims.inner]; }

    /// What an element must be xor-ed with to be unsigned.
    uint8_t flip() const { return m_flip; }

private:
    bool lieEvenly(const Extents& box) const;
    bool areOneCopy(const Extents& box) const;
    void gatherWindow(const uint8_t* a, const Extents& at, int64_t group, uint8_t zero,
                      uint8_t* to) const;
    void gatherProduct(const uint8_t* a, const Extents& at, uint8_t* to) const;
    void copy(uint8_t* to, const uint8_t* from, size_t n) const;
    /// Offset of a row's window or first element, from its indices in the program's space.
    int64_t offsetOf(const Extents& at) const;

    /// Of a window: its offset, and its indices in the image.
    struct Corner {
        int64_t offset = 0;
        int64_t index[mostDims] = {};
    };

    Corner cornerOf(const Extents& at) const;
    std::optional<int64_t> tapOffset(const Corner& corner, size_t tap) const;
    void findRuns();
    void gatherInside(const uint8_t* from, uint8_t* to) const;

    struct Run {
        int64_t from = 0; ///< from the window's first element
        size_t bytes = 0;
    };

    const VectorTable& m_table;
    bool m_isConvolution;
    SlidingWindow m_window;
    RowDims m_dims;
    Extents m_extents;               ///< of A
    Extents m_rowStrides;            ///< of A, per dim of the space
    int64_t m_offset = 0;            ///< of the first row
    std::vector<int64_t> m_kOffsets; ///< MatMul: of elements along k
    bool m_contiguous = true;        ///< ... which are neighbours
    Extents m_taps;                  ///< Conv: indices of each tap, from the window's first
    std::vector<int64_t> m_tapsFrom; ///< Conv: where they lie, from the window's first element
    std::vector<Run> m_runs;         ///< Conv: of a window inside the image, for one group
    Extents m_strides;               ///< Conv: of A's dims
    int64_t m_channels = 1, m_depth = 1;
    uint8_t m_flip = 0;
};

/// B less its zero point, computed while preparing.
class IntegerWeights {
public:
    static bool areConstant(const Contraction& program, const PrepareContext& context);
    IntegerWeights(const Contraction& program, const PrepareContext& context);

    /// One a group, or one for every matrix of a batch.
    std::vector<IntegerMatrix> matrices;
    std::vector<size_t> matrixOfBatch; ///< MatMul: by position in the batch dims

    /// Sums over k of all columns of a matrix, or of all groups one after the other.
    std::vector<int32_t> columnSums(size_t matrix, bool allGroups) const;
};

} // namespace fuselage::cpu
