// SPDX-License-Identifier: Apache-2.0
#include "gpu/kernels/copy.h"

#include "core/graph/type.h"
#include "gpu/emit/lane_memory.h"
#include "gpu/kernels/pointwise.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <optional>

namespace fuselage::gpu {

namespace {

constexpr int64_t tile = 32;

DType bitsType(DType type) {
    switch (sizeOf(type)) {
    case 1:
        return DType::UInt8;
    case 2:
        return DType::UInt16;
    case 4:
        return DType::UInt32;
    default:
        return DType::UInt64;
    }
}

int64_t bitsOf(DType type, double value) {
    const auto narrow = static_cast<float>(value);
    switch (type) {
    case DType::Float64:
        return std::bit_cast<int64_t>(value);
    case DType::Float32:
        return std::bit_cast<int32_t>(narrow);
    case DType::Float16:
        return floatToHalf(narrow);
    case DType::BFloat16:
        return floatToBfloat16(narrow);
    default:
        return static_cast<int64_t>(value);
    }
}

PointwiseSpec pieceSpec(const KernelRequest& request, const Copy::Piece& piece) {
    PointwiseSpec out;
    out.space = piece.space;
    const KernelOperand write = writtenOperand(request, piece.write, piece.space.size());
    out.writes = {asBits(write, true)};
    const DType bits = bitsType(write.dtype);
    TapeBuilder builder;
    if (piece.read) {
        out.reads = {asBits(readOperand(request, *piece.read, piece.space.size()), false)};
        out.tape = builder.finish({builder.input(bits)});
    } else {
        out.tape = builder.finish({builder.integer(bits, bitsOf(write.dtype, piece.fill))});
    }
    return out;
}

/// A transposing piece: loops around a tile whose columns are contiguous in what is read and whose
/// rows are contiguous in what is written.
struct TilePlan {
    LoopNest around;
    Loop columns, rows; ///< strides: write, read
};

std::optional<TilePlan> tilePlan(const PointwiseSpec& spec) {
    if (spec.reads.empty())
        return std::nullopt;
    const std::vector<KernelOperand> operands = {spec.writes[0], spec.reads[0]};
    const LoopNest nest(spec.space, operands, 0, 0);
    std::vector<Loop> loops = nest.loops();
    if (loops.size() < 2 || loops.back().strides[0] != 1 || loops.back().strides[1] == 1)
        return std::nullopt;
    for (size_t i = 0; i + 1 < loops.size(); ++i) {
        if (loops[i].strides[1] != 1)
            continue;
        TilePlan out{nest, loops[i], loops.back()};
        loops.pop_back();
        loops.erase(loops.begin() + static_cast<ptrdiff_t>(i));
        out.around = LoopNest(std::move(loops), nest.wide());
        return out;
    }
    return std::nullopt;
}

/// A warp reads a line of a tile along the columns, and writes one along the rows.
MemoryAsked transposeMemory(const PointwiseSpec& spec, const TilePlan& plan, int64_t blocks) {
    MemoryAsked out;
    const int64_t rows = std::min(tile, plan.rows.extent);
    const int64_t columns = std::min(tile, plan.columns.extent);
    for (const bool isWritten : {true, false}) {
        const KernelOperand& operand = isWritten ? spec.writes[0] : spec.reads[0];
        const size_t k = isWritten ? 0 : 1;
        const int64_t along = isWritten ? rows : columns;
        const int64_t stride = isWritten ? plan.columns.strides[k] : plan.rows.strides[k];
        LaneRequests line;
        line.places = isWritten ? columns : rows;
        line.dtype = operand.dtype;
        line.isWritten = isWritten;
        line.at = [stride](int64_t lane, int64_t place) { return lane + place * stride; };
        out += askedBy(along, line, static_cast<double>(blocks));
    }
    return out;
}

/// Neighbouring threads read neighbouring columns and write neighbouring rows; the exclusive or
/// keeps both free of bank conflicts.
KernelPart transposePart(const PointwiseSpec& spec, const TilePlan& plan) {
    const int64_t rowTiles = (plan.rows.extent + tile - 1) / tile;
    const int64_t columnTiles = (plan.columns.extent + tile - 1) / tile;
    const char* index = plan.around.indexType();
    const char* offset = plan.around.offsetType();
    const char* type = storageType(spec.writes[0].dtype);
    KernelPart part;
    part.blocks = rowTiles * columnTiles * plan.around.count();
    part.sharedBytes =
        static_cast<uint32_t>(tile * tile) * static_cast<uint32_t>(sizeOf(spec.writes[0].dtype));
    part.comment = {fmt::format("tiles of 32 x 32 through shared memory over {}: {} rows that are "
                                "contiguous when written, {} columns that are when read",
                                text(spec.space), plan.rows.extent, plan.columns.extent)};
    part.body = fmt::format(
        "    extern __shared__ __align__(16) unsigned char sharedMemory[];\n"
        "    {0}* const cells = reinterpret_cast<{0}*>(sharedMemory);\n"
        "    const unsigned lane = threadIdx.x % 32u, first = threadIdx.x / 32u;\n"
        "    const {1} row0 = block % {2}u * 32u, column0 = block / {2}u % {3}u * 32u;\n"
        "    const {1} around = block / {4}u;\n",
        type, index, rowTiles, columnTiles, rowTiles * columnTiles);
    part.body += plan.around.split("around", "i", "    ");
    part.body +=
        fmt::format("    const {}* const from = {} + {} + ({});\n", type, spec.reads[0].pointer,
                    spec.reads[0].access.offset, plan.around.offset(1, "i"));
    part.body += fmt::format("    {}* const to = {} + {} + ({});\n", type, spec.writes[0].pointer,
                             spec.writes[0].access.offset, plan.around.offset(0, "i"));
    const std::string inside =
        fmt::format("row < {}u && column < {}u", plan.rows.extent, plan.columns.extent);
    part.body += fmt::format(
        "#pragma unroll\n    for (unsigned k = first; k < 32u; k += {0}u) {{\n"
        "        const {1} row = row0 + k, column = column0 + lane;\n"
        "        if ({2})\n"
        "            cells[k * 32u + (lane ^ k)] =\n"
        "                from[static_cast<{3}>(row) * {4} + static_cast<{3}>(column)];\n"
        "    }}\n    __syncthreads();\n"
        "#pragma unroll\n    for (unsigned k = first; k < 32u; k += {0}u) {{\n"
        "        const {1} row = row0 + lane, column = column0 + k;\n"
        "        if ({2})\n"
        "            to[static_cast<{3}>(column) * {5} + static_cast<{3}>(row)] =\n"
        "                cells[lane * 32u + (k ^ lane)];\n    }}\n",
        defaultThreads / 32, index, inside, offset, plan.rows.strides[1], plan.columns.strides[0]);
    part.memory = transposeMemory(spec, plan, part.blocks);
    return part;
}

} // namespace

KernelOperand asBits(KernelOperand operand, bool written) {
    operand.dtype = bitsType(operand.dtype);
    operand.pointer = fmt::format("reinterpret_cast<{}{}*>({})", written ? "" : "const ",
                                  storageType(operand.dtype), operand.pointer);
    return operand;
}

std::vector<KernelPart> copyParts(const KernelRequest& request, const Copy& program, bool& any) {
    std::vector<KernelPart> out;
    for (const Copy::Piece& piece : program.pieces) {
        const PointwiseSpec spec = pieceSpec(request, piece);
        PartResult part = vectorPart(spec, request.profile);
        if (auto* made = std::get_if<KernelPart>(&part)) {
            out.push_back(std::move(*made));
            any = true;
        } else {
            out.push_back(plainPart(spec));
        }
    }
    return out;
}

EmitResult emitCopyVector(const KernelRequest& request) {
    const char* name = "copy_vector";
    if (auto reason = refuseTypes(request))
        return finish(name, request, PartResult(*reason));
    bool any = false;
    std::vector<KernelPart> parts = copyParts(request, std::get<Copy>(request.program->code), any);
    if (!any)
        return finish(name, request,
                      PartResult(refusal("layout", "no piece has consecutive aligned elements")));
    return finish(name, request, std::move(parts));
}

EmitResult emitCopyTranspose(const KernelRequest& request) {
    const char* name = "copy_transpose";
    if (auto reason = refuseTypes(request))
        return finish(name, request, PartResult(*reason));
    bool any = false;
    std::vector<KernelPart> parts;
    for (const Copy::Piece& piece : std::get<Copy>(request.program->code).pieces) {
        const PointwiseSpec spec = pieceSpec(request, piece);
        if (auto plan = tilePlan(spec)) {
            parts.push_back(transposePart(spec, *plan));
            any = true;
            continue;
        }
        PartResult part = vectorPart(spec, request.profile);
        parts.push_back(std::holds_alternative<KernelPart>(part)
                            ? std::move(std::get<KernelPart>(part))
                            : plainPart(spec));
    }
    if (!any)
        return finish(name, request,
                      PartResult(refusal("layout", "no piece reads across what it writes")));
    return finish(name, request, std::move(parts));
}

EmitResult emitCopyPlain(const KernelRequest& request) {
    if (auto reason = refuseTypes(request))
        return finish("copy_plain", request, PartResult(*reason));
    std::vector<KernelPart> parts;
    for (const Copy::Piece& piece : std::get<Copy>(request.program->code).pieces)
        parts.push_back(plainPart(pieceSpec(request, piece)));
    return finish("copy_plain", request, std::move(parts));
}

} // namespace fuselage::gpu
