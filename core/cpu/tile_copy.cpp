// SPDX-License-Identifier: Apache-2.0
#include "core/cpu/tile_copy.h"

#include "core/cpu/tile_space.h"

#include <algorithm>
#include <cstring>

namespace fuselage::cpu {

namespace {

using MoveFunction = void (*)(std::byte* to, const std::byte* from, int64_t rows, int64_t cols,
                              int64_t toRow, int64_t toCol, int64_t fromRow, int64_t fromCol);

constexpr int64_t block = 4;
constexpr size_t lanesOfTile = 4096;

/// out[r * toRow + c] = in[c * fromCol + r] for `block` rows and columns.
template <typename T> void transposeBlock(T* out, const T* in, int64_t toRow, int64_t fromCol) {
    typedef T Four __attribute__((vector_size(block * sizeof(T))));
    Four column[block], row[block];
    for (int64_t c = 0; c < block; ++c)
        std::memcpy(&column[c], in + c * fromCol, sizeof(Four));
    const Four low02 = __builtin_shufflevector(column[0], column[2], 0, 4, 1, 5);
    const Four high02 = __builtin_shufflevector(column[0], column[2], 2, 6, 3, 7);
    const Four low13 = __builtin_shufflevector(column[1], column[3], 0, 4, 1, 5);
    const Four high13 = __builtin_shufflevector(column[1], column[3], 2, 6, 3, 7);
    row[0] = __builtin_shufflevector(low02, low13, 0, 4, 1, 5);
    row[1] = __builtin_shufflevector(low02, low13, 2, 6, 3, 7);
    row[2] = __builtin_shufflevector(high02, high13, 0, 4, 1, 5);
    row[3] = __builtin_shufflevector(high02, high13, 2, 6, 3, 7);
    for (int64_t r = 0; r < block; ++r)
        std::memcpy(out + r * toRow, &row[r], sizeof(Four));
}

/// A matrix read along its rows and written along its columns, a cache line of either at a time.
template <typename T>
void transpose(T* out, const T* in, int64_t rows, int64_t cols, int64_t toRow, int64_t fromCol) {
    constexpr int64_t line = std::max<int64_t>(block, 64 / sizeof(T));
    const int64_t wholeCols = cols / block * block;
    for (int64_t first = 0; first < rows; first += line) {
        const int64_t end = std::min(rows, first + line);
        const int64_t wholeRows = first + (end - first) / block * block;
        for (int64_t c = 0; c < wholeCols; c += block)
            for (int64_t r = first; r < wholeRows; r += block)
                transposeBlock(out + r * toRow + c, in + c * fromCol + r, toRow, fromCol);
        for (int64_t r = first; r < end; ++r)
            for (int64_t c = r < wholeRows ? wholeCols : 0; c < cols; ++c)
                out[r * toRow + c] = in[c * fromCol + r];
    }
}

/// Short rows: a call for each would take longer than its copy.
template <int64_t cols, typename T>
void moveRows(T* out, const T* in, int64_t rows, int64_t toRow, int64_t fromRow) {
    for (int64_t r = 0; r < rows; ++r)
        std::memcpy(out + r * toRow, in + r * fromRow, cols * sizeof(T));
}

/// One row several times, one after the other: what is there is copied behind itself.
template <typename T> void repeat(T* out, const T* in, int64_t times, int64_t cols) {
    std::copy_n(in, cols, out);
    const int64_t all = times * cols;
    for (int64_t have = cols; have < all; have *= 2)
        std::copy_n(out, std::min(have, all - have), out + have);
}

/// Strides are in elements.
template <typename T>
void move(std::byte* to, const std::byte* from, int64_t rows, int64_t cols, int64_t toRow,
          int64_t toCol, int64_t fromRow, int64_t fromCol) {
    auto* out = reinterpret_cast<T*>(to);
    const auto* in = reinterpret_cast<const T*>(from);
    if (toCol == 1 && fromCol == 1) {
        if (fromRow == 0 && toRow == cols)
            return repeat(out, in, rows, cols);
        switch (cols) {
        case 2:
            return moveRows<2>(out, in, rows, toRow, fromRow);
        case 3:
            return moveRows<3>(out, in, rows, toRow, fromRow);
        case 4:
            return moveRows<4>(out, in, rows, toRow, fromRow);
        default:
            break;
        }
        for (int64_t r = 0; r < rows; ++r)
            std::memcpy(out + r * toRow, in + r * fromRow, static_cast<size_t>(cols) * sizeof(T));
        return;
    }
    if (toCol == 1 && fromCol == 0) {
        for (int64_t r = 0; r < rows; ++r)
            std::fill_n(out + r * toRow, cols, in[r * fromRow]);
        return;
    }
    if (toCol == 1 && fromRow == 1)
        return transpose(out, in, rows, cols, toRow, fromCol);
    for (int64_t r = 0; r < rows; ++r)
        for (int64_t c = 0; c < cols; ++c)
            out[r * toRow + c * toCol] = in[r * fromRow + c * fromCol];
}

MoveFunction moveOf(size_t elementBytes) {
    switch (elementBytes) {
    case 1:
        return move<uint8_t>;
    case 2:
        return move<uint16_t>;
    case 4:
        return move<uint32_t>;
    default:
        return move<uint64_t>;
    }
}

class CopyKernel final : public Kernel {
public:
    CopyKernel(const Copy& program, const PrepareContext& context);
    void run(const Operands& operands, RunContext& context) override;

private:
    struct Piece {
        TileSpace space; ///< operands: what is written, what is read
        uint32_t output = 0;
        std::optional<uint32_t> input;
        size_t elementBytes = 4;
        uint64_t fill = 0; ///< its first bytes are the element
    };

    void count(CountedBytes& total) const;

    std::vector<OperandLayout> m_inputs, m_outputs;
    std::vector<Piece> m_pieces;
};

CopyKernel::CopyKernel(const Copy& program, const PrepareContext& context)
    : m_inputs(context.inputs), m_outputs(context.outputs) {
    for (const Copy::Piece& from : program.pieces) {
        Piece piece;
        piece.output = from.write.operand;
        const OperandLayout& target = m_outputs[piece.output];
        piece.elementBytes = sizeOf(target.dtype);
        size_t dims = from.space.size();
        std::vector<StridedAccess> accesses = {stridedFor(from.write, target, dims)};
        if (from.read) {
            piece.input = from.read->operand;
            accesses.push_back(stridedFor(*from.read, m_inputs[*piece.input], dims));
        } else {
            Tensor element(target.dtype, {});
            element.set(0, from.fill);
            std::memcpy(&piece.fill, element.bytes(), piece.elementBytes);
            accesses.push_back({0, Extents(dims, 0)});
        }
        piece.space = tileSpace(from.space, accesses, 0, lanesOfTile);
        addPlanes(piece.space, lanesOfTile);
        m_pieces.push_back(std::move(piece));
    }
    tactic = "copy";
}

void CopyKernel::run(const Operands& operands, RunContext& context) {
    for (const Piece& piece : m_pieces) {
        MoveFunction move = moveOf(piece.elementBytes);
        auto bytes = static_cast<int64_t>(piece.elementBytes);
        const std::byte* source = piece.input ? operands.inputs[*piece.input]
                                              : reinterpret_cast<const std::byte*>(&piece.fill);
        std::byte* target = operands.outputs[piece.output];
        size_t grain = 32768 / std::max<size_t>(piece.space.lanes(), 1) + 1;
        const TileSpace& s = piece.space;
        context.threads.forRange(s.tileCount(), grain, [&](size_t, size_t begin, size_t end) {
            const TileShape to = s.steps(0), at = s.steps(1);
            TileCursor cursor(s, begin);
            for (size_t tile = begin; tile < end; ++tile) {
                for (int64_t plane = 0; plane < cursor.shape().planes; ++plane)
                    move(target + (cursor.offset(0) + plane * to.planes) * bytes,
                         source + (cursor.offset(1) + plane * at.planes) * bytes, cursor.rows(),
                         cursor.cols(), to.rows, to.cols, at.rows, at.cols);
                if (tile + 1 < end)
                    cursor.next();
            }
        });
    }
    if (context.count) {
        count(*context.count);
        context.counted = true;
    }
}

/// Walks the tiles again and marks elements: pieces of one operand may overlap.
void CopyKernel::count(CountedBytes& total) const {
    std::vector<std::vector<uint8_t>> read(m_inputs.size()), written(m_outputs.size());
    auto markIn = [](std::vector<uint8_t>& marks, const OperandLayout& layout,
                     const TileSpace& space, size_t k) {
        if (marks.empty())
            marks.assign(static_cast<size_t>(layout.span()), 0);
        size_t tiles = space.tileCount();
        if (tiles == 0)
            return;
        const TileShape steps = space.steps(k);
        TileCursor cursor(space, 0);
        for (size_t tile = 0; tile < tiles; ++tile, cursor.next())
            for (int64_t p = 0; p < cursor.shape().planes; ++p)
                for (int64_t r = 0; r < cursor.rows(); ++r)
                    for (int64_t c = 0; c < cursor.cols(); ++c)
                        marks[static_cast<size_t>(cursor.offset(k) + p * steps.planes +
                                                  r * steps.rows + c * steps.cols)] = 1;
    };
    for (const Piece& piece : m_pieces) {
        markIn(written[piece.output], m_outputs[piece.output], piece.space, 0);
        if (piece.input)
            markIn(read[*piece.input], m_inputs[*piece.input], piece.space, 1);
    }
    auto sum = [](const std::vector<std::vector<uint8_t>>& marks,
                  const std::vector<OperandLayout>& layouts) {
        int64_t bytes = 0;
        for (size_t i = 0; i < marks.size(); ++i)
            bytes += std::count(marks[i].begin(), marks[i].end(), uint8_t{1}) *
                     static_cast<int64_t>(sizeOf(layouts[i].dtype));
        return bytes;
    };
    total.read += sum(read, m_inputs);
    total.written += sum(written, m_outputs);
}

} // namespace

std::unique_ptr<Kernel> prepareCopy(const Copy& program, const PrepareContext& context) {
    return std::make_unique<CopyKernel>(program, context);
}

} // namespace fuselage::cpu
