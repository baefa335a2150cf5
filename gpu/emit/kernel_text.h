// SPDX-License-Identifier: Apache-2.0
// A generated kernel as data: CUDA text, launch geometry, what each argument is. Plain enough to be
// compiled by NVRTC, written to a folder as a standalone repro, or built as host code by
// tests/shim.
#pragma once

#include "core/kernel/program.h"

#include <array>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fuselage::gpu {

/// What a pointer argument of a kernel points to.
struct KernelArgument {
    enum class Kind : uint8_t {
        Input,   ///< operand `index` of the program's inputs
        Output,  ///< operand `index` of the program's outputs
        Scratch, ///< the step's scratch memory, `offset` bytes in
        Table,   ///< constant bytes `KernelSet::tables[index]`, uploaded once
        Tickets, ///< `KernelSet::tickets` words of the step's own: zero between launches
        Packed,  ///< a weight as `KernelSet::packed[index]` wants it, made once (recipeOf)
    };

    Kind kind = Kind::Input;
    uint32_t index = 0;
    int64_t offset = 0;
};

/// The pixels that TMA's im2col mode goes through in a tensor of channels, one to three dims of
/// places, and images: from `lower`, counted from the first place, to `upper`, counted from the
/// last one, in these steps, then on in the next image. What is copied lies further by an offset,
/// that each copy says. Of the places' dims, innermost first.
struct PixelBox {
    Extents lower, upper, steps;
};

/// A tensor as sm_90's TMA reads it: what the driver's cuTensorMapEncodeTiled is told, or with
/// `pixels` its cuTensorMapEncodeIm2col, but for the address, which is known at the launch. Zeros
/// land where the tensor is not. Elements have 1, 2 or 4 bytes.
struct TensorMapText {
    KernelArgument memory; ///< `offset` for every kind
    DType element = DType::Float16;
    Extents dims;    ///< elements, innermost first; there they are consecutive
    Extents strides; ///< bytes, of the dims from the second on; none reaches into those before
    Extents box;     ///< of im2col mode: channels of a pixel, and pixels
    std::optional<PixelBox> pixels = {};
    /// Rows of the box, which have at most 128 bytes, land with their units of 16 bytes exchanged
    /// as by tileByte<8>; else as they are, of at most 256 elements. Those of pixels always do.
    bool swizzled = true;
};

/// One __global__ function with its launch. Its arguments are pointers, then tensor maps by value:
/// extents and strides are literals in the text, so that the compiler sees them.
struct KernelText {
    std::string name;   ///< of the extern "C" __global__ function
    std::string source; ///< complete text; its first comment gives layout, shapes, types, numerics
    std::array<uint32_t, 3> grid{1, 1, 1};
    std::array<uint32_t, 3> block{1, 1, 1};
    /// Neighbouring blocks along x that run at the same time and reach each other's shared memory
    /// (a cluster of sm_90); the grid is a multiple. 1: each block is alone.
    uint32_t clusterBlocks = 1;
    uint32_t sharedBytes = 0; ///< dynamic shared memory
    /// Blocks on a multiprocessor that registers must leave room for: the second launch bound.
    uint32_t residentBlocks = 1;
    /// Instructions of one architecture only, that no later one has: compiled for "sm_90a".
    bool ownArch = false;
    /// Every thread begins with waitForKernelsBefore() of device/launch.cuh, so that the kernel may
    /// be launched early.
    bool waits = false;
    std::vector<KernelArgument> arguments;
    std::vector<TensorMapText> maps;
};

/// 90 of "sm_90"; 0 when it is not so written.
inline uint32_t capabilityOf(std::string_view arch) {
    uint32_t out = 0;
    if (arch.starts_with("sm_"))
        std::from_chars(arch.data() + 3, arch.data() + arch.size(), out);
    return out;
}

/// "sm_90" of 90.
inline std::string archName(uint32_t capability) {
    return "sm_" + std::to_string(capability);
}

/// The architecture to compile the kernel for on a device of `arch`.
inline std::string archOf(const KernelText& kernel, const std::string& arch) {
    return kernel.ownArch ? arch + "a" : arch;
}

/// "__launch_bounds__(128, 3)", as it stands in the text.
std::string launchBounds(const KernelText& kernel);

/// A constant operand as a kernel wants it in memory: dims in another order, dense, with zeros
/// where `extents` go beyond the operand's own. Along dims that `order` leaves out, integers are
/// summed: the result is int32.
struct PackedOperand {
    uint32_t input = 0;          ///< operand of the program's inputs; a constant
    std::vector<uint32_t> order; ///< its logical dims, outermost first
    Extents extents;             ///< in that order
};

/// What products by tiles fetch, where that is counted; zeros: it is not.
struct TileFetches {
    double tiles = 0;  ///< multiplied, those beyond the results among them
    double lines = 0;  ///< rows of A and columns of B that a block fetches for a tile
    double bytes = 0;  ///< of operands, that all blocks ask the second cache for
    double filled = 1; ///< of the stages, those that there would be if no tap left one part empty
};

/// What the threads of a launch ask of memory, as far as that depends on where operands lie. A
/// sector is 32 bytes.
struct MemoryAsked {
    double requests = 0; ///< of single threads: an address and an instruction each
    double asked = 0;    ///< sectors of each warp's requests: what passes the first cache
    double fetched = 0;  ///< those that a first cache which keeps a block's cannot save
    double ideal = 0;    ///< those that the bytes of a block would fill

    MemoryAsked& operator+=(const MemoryAsked& other) {
        requests += other.requests;
        asked += other.asked;
        fetched += other.fetched;
        ideal += other.ideal;
        return *this;
    }

    MemoryAsked operator*(double times) const {
        return {requests * times, asked * times, fetched * times, ideal * times};
    }
};

/// What computes one kernel program: usually one kernel.
struct KernelSet {
    std::string variant;             ///< name of the row that made it, "row_warp"
    std::vector<KernelText> kernels; ///< launched in order on one stream
    std::vector<std::string> tables; ///< bytes of constant tables
    std::vector<PackedOperand> packed;
    int64_t scratchBytes = 0; ///< parts of sums: each is written once and read once
    int64_t tickets = 0;      ///< 32-bit words that are zero before each launch and after it
    NumericClass numeric = NumericClass::Exact;
    double tolerance = 0; ///< relative to the largest output, against the reference backend
    /// What its counted clocks leave of the device's peak, where they are counted; 0: they are not.
    double busy = 0;
    TileFetches fetches;
    MemoryAsked memory; ///< nothing of variants that do not say it
};

} // namespace fuselage::gpu
