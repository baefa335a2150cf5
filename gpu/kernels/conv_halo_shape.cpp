// SPDX-License-Identifier: Apache-2.0
// Which convolutions the halo kernel takes, and the tile that is predicted to be done first: clocks
// of products, of shared memory and of the second cache are counted, the longest of them decides.
#include "core/graph/type.h"
#include "gpu/kernels/conv_halo.h"
#include "gpu/kernels/parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>

namespace fuselage::gpu {

namespace {

constexpr int64_t unit = 8; ///< elements of 16 bytes
constexpr int64_t mostRegisters = 255, allRegisters = 65536, assumedShared = 228 << 10;
constexpr int64_t fewestChannels = 16;

constexpr double productsOfClock = 2048; ///< of a multiprocessor's tensor cores

std::optional<Reason> refuseKind(const ConvSpec& spec) {
    const Contraction& code = *spec.code;
    if (code.poolWindow)
        return refusal("support", "a pool follows");
    const auto plain = [](const ConvAxis& axis) {
        return axis.kernel == 3 && axis.stride == 1 && axis.dilation == 1;
    };
    if (spec.flat || !plain(spec.rows) || !plain(spec.columns) || code.groups != 1)
        return refusal("support", "not 3 by 3 taps with strides of one in one group");
    if (!spec.takesTensorCores() || code.accumulate != DType::Float32)
        return refusal("dtype", "tensor cores want 16-bit floats and sums in any order");
    if (spec.channels % unit != 0 || spec.results % unit != 0 || spec.channels < fewestChannels)
        return refusal("layout", "channels or results are no multiple of 8, or fewer than 16");
    if (!spec.vectors(spec.x, unit))
        return refusal("layout", "channels of the picture are not made of whole 16 bytes");
    if (spec.request->constant(code.b.operand) == nullptr)
        return refusal("layout", "weights that are no constant cannot be packed");
    if (spec.images == 0 || spec.rows.out <= 0 || spec.columns.out <= 0)
        return refusal("support", "there are no results");
    return std::nullopt;
}

/// What of the tile follows from its units: the lines of the tile that has most. Tiles are alike
/// again where one begins with a picture.
void countLines(HaloShape& shape) {
    const int64_t different =
        shape.picturesUnits() / std::gcd(shape.tileUnits(), shape.picturesUnits());
    shape.lines = 0;
    for (int64_t tile = 0; tile < std::min(shape.tiles(), different); ++tile) {
        const int64_t first = tile * shape.tileUnits();
        const int64_t last = std::min(first + shape.tileUnits(), shape.units()) - 1;
        shape.lines =
            std::max(shape.lines, shape.lineOf(last) - shape.lineOf(first) + shape.down + 2);
    }
}

/// Bytes of a line such that where 8 neighbours go on in the next row of units, these lie in the
/// banks that follow; else the fewest.
void chooseLinePitch(HaloShape& shape) {
    const int64_t place = shape.placePitch() / 16, least = shape.stagedColumns() * place;
    shape.linePitch = least * 16;
    for (int64_t pitch = least; pitch < least + 8; ++pitch)
        if ((shape.down * pitch - shape.bandColumns() * place) % 8 == 0) {
            shape.linePitch = pitch * 16;
            return;
        }
}

class Search {
public:
    explicit Search(const ConvSpec& spec) : m_spec(spec) {
        const DeviceProfile* profile = spec.request->profile;
        const auto all = static_cast<int64_t>(profile ? profile->sharedBytesPerUnit : 0);
        m_shared = all > 0 ? all : assumedShared;
        m_base.images = spec.images;
        m_base.rows = spec.rows.out;
        m_base.columns = spec.columns.out;
        m_base.allChannels = spec.channels;
        m_base.allResults = spec.results;
        m_base.reads = static_cast<int64_t>(spec.reads.size());
    }

    std::optional<HaloShape> best() {
        for (const int64_t groups : {4, 3, 2, 1})
            for (const int64_t down : {1, 2, 4})
                for (int64_t bands = 1; bands <= m_base.columns; ++bands) {
                    HaloShape shape = m_base;
                    shape.groups = groups;
                    shape.down = down;
                    shape.bands = bands;
                    if (m_base.columns % bands != 0 || (bands > 1 && shape.bandColumns() < unit))
                        continue;
                    countLines(shape);
                    chooseDepth(shape);
                }
        return m_best;
    }

private:
    /// Slices, results and stages for the tile of these units.
    void chooseDepth(HaloShape shape) {
        const int64_t most = std::min<int64_t>(128, roundUp(m_base.allResults, 16));
        for (shape.channels = 64; shape.channels >= 16; shape.channels /= 2) {
            chooseLinePitch(shape);
            for (shape.results = 16; shape.results <= most;
                 shape.results += shape.results < 64 ? 16 : 64)
                // Of stages with one group of products NVRTC gives up their order.
                for (shape.stepChannels = shape.channels;
                     shape.stepChannels >= std::min<int64_t>(32, shape.channels);
                     shape.stepChannels /= 2)
                    for (const int64_t stages : {shape.steps(), int64_t{4}, int64_t{3}})
                        for (const int64_t residents : {1, 2}) {
                            shape.stages = stages;
                            shape.residents = residents;
                            consider(shape);
                        }
        }
    }

    void consider(HaloShape& shape) {
        if (!shape.stays() &&
            (shape.stages >= shape.steps() || shape.ahead() >= shape.sliceSteps()))
            return;
        if (shape.registers() >
            std::min(mostRegisters, allRegisters / (shape.threads() * shape.residents)))
            return;
        const int64_t slots = m_spec.units() * shape.residents / shape.parts();
        shape.blocks = std::clamp<int64_t>(shape.tiles(), 1, std::max<int64_t>(slots, 1));
        shape.pictures = shape.slices() * divideUp(shape.tiles(), shape.blocks) > 1 ? 2 : 1;
        constexpr int64_t reserved = 1024; // of each block, by the driver
        if (shape.sharedBytes() > m_shared / shape.residents - reserved)
            return;
        const double clocks = haloClocks(shape, m_spec.units());
        if (!m_best || clocks < m_clocks) {
            m_best = shape;
            m_clocks = clocks;
        }
    }

    const ConvSpec& m_spec;
    int64_t m_shared = 0;
    HaloShape m_base;
    std::optional<HaloShape> m_best;
    double m_clocks = 0;
};

} // namespace

double haloClocks(const HaloShape& shape, int64_t units) {
    // What a multiprocessor does in a clock; of the second cache what tma_192x128 drew on an H200.
    constexpr double bytesOfShared = 128, bytesOfCache = 32;
    // Of a barrier; of a copy until it is there; of products until none is under way; of a tile's
    // end, and of its end for each 64 x 64 results; of a start.
    constexpr double barrier = 60, latency = 1200, drain = 150;
    constexpr double tileEnd = 600, end = 250, start = 1500;
    const auto groups = static_cast<double>(shape.groups), down = static_cast<double>(shape.down);
    const auto results = static_cast<double>(shape.results);
    const double steps = static_cast<double>(shape.paddedChannels()) / 16;
    const double products = groups * down * 9 * steps * 64 * 16 * results / productsOfClock;
    const double fragments = groups * steps * 3 * (down + 2) * 64 * 16 * 2;
    const double columns = groups * steps * down * 9 * 16 * results * 2;
    const auto picture =
        static_cast<double>(shape.lines * shape.stagedColumns() * 2 * shape.paddedChannels());
    const double weights = 9.0 * static_cast<double>(shape.paddedChannels()) * results * 2;
    const double copied = picture + (shape.stays() ? 0 : weights);
    const double shared = (fragments + columns + copied) / bytesOfShared;
    const auto together = static_cast<double>(divideUp(shape.blocks * shape.parts(), units));
    const auto turns = static_cast<double>(divideUp(shape.tiles(), shape.blocks));
    const double busy = together * std::max({products, shared, copied / bytesOfCache});
    // What a block waits for at a time, and how many of these are on their way.
    const auto waits = static_cast<double>(shape.stays() ? shape.slices() : shape.steps());
    const auto ahead = static_cast<double>(shape.stays() ? 1 : shape.ahead());
    // Of two blocks one multiplies while the other ends: about half of both ends is hidden.
    const double drained = shape.drains() ? drain * static_cast<double>(shape.slices()) : 0;
    const double tile = waits * (std::max(busy / waits, latency / ahead) + barrier) + drained +
                        tileEnd + end * groups * down * results / 64;
    const double first =
        together *
        (picture / static_cast<double>(shape.slices()) +
         static_cast<double>(shape.stays() ? shape.weightBytes() : shape.stageBytes())) /
        bytesOfCache;
    return turns * tile + first + start;
}

double haloShare(const HaloShape& shape, int64_t units) {
    const double products = 9.0 * static_cast<double>(shape.images * shape.rows * shape.columns) *
                            static_cast<double>(shape.allChannels * shape.allResults);
    return std::min(1.0, products / productsOfClock / static_cast<double>(units) /
                             haloClocks(shape, units));
}

std::variant<HaloShape, Reason> haloShape(const ConvSpec& spec) {
    if (auto reason = refuseKind(spec))
        return *reason;
    auto shape = Search(spec).best();
    if (!shape)
        return refusal("smem", "no tile fits shared memory");
    if (spec.request->profile && shape->blocks * shape->parts() * 4 < spec.units())
        return refusal("occupancy", fmt::format("{} blocks for {} multiprocessors",
                                                shape->blocks * shape->parts(), spec.units()));
    return *shape;
}

} // namespace fuselage::gpu
