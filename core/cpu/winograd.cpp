// SPDX-License-Identifier: Apache-2.0
#include "core/cpu/winograd.h"

#include "core/cpu/layout.h"

#include <algorithm>
#include <array>
#include <limits>

namespace fuselage::cpu {

namespace {

constexpr size_t mostPositions = 36, mostResults = 16;
// Transformed filters are read once a run: this many operations take as long as a byte of them.
constexpr int64_t operationsPerByte = 4;
// Filters above this do not stay in a core's second-level cache: workers share them by channels.
constexpr int64_t sharedFilterBytes = int64_t{1536} << 10;
// Fitted to measured convolutions (32 to 512 channels, 7x7 to 320x320 results): its products take
// longer than those of oneDNN's direct sums, and transforming a value as long as so many of them.
constexpr double timePerOperation = 1.9, productsPerTransform = 18;
// No more than this is spent on one convolution's transformed filters.
constexpr int64_t mostFilterBytes = int64_t{64} << 20;
// Of transformed pixels and sums of a block of tiles.
constexpr size_t blockBytes = size_t{512} << 10;

struct Shape {
    int64_t images = 0, channels = 0, height = 0, width = 0; ///< of the operand
    int64_t filters = 0, outHeight = 0, outWidth = 0;
    int64_t padTop = 0, padLeft = 0;
};

Shape shapeOf(const Contraction& program, const Extents& x) {
    const Extents& y = program.space;
    return {x[0],
            x[1],
            x[2],
            x[3],
            y[1],
            y[2],
            y[3],
            program.window.padsBegin[0],
            program.window.padsBegin[1]};
}

int64_t tilesOf(const Shape& shape, int64_t results) {
    return shape.images * ((shape.outHeight + results - 1) / results) *
           ((shape.outWidth + results - 1) / results);
}

/// In operations for each pair of channel and filter.
int64_t costOf(int64_t products, int64_t filterElements) {
    return 2 * products + operationsPerByte * filterElements * int64_t{sizeof(float)};
}

int64_t costOf(const Shape& shape, int64_t results) {
    const int64_t positions = (results + 2) * (results + 2);
    return costOf(positions * tilesOf(shape, results), positions);
}

int64_t filterBytes(const Shape& shape, int64_t results) {
    return (results + 2) * (results + 2) * shape.channels * shape.filters * int64_t{sizeof(float)};
}

int64_t bestResults(const Shape& shape) {
    return costOf(shape, 4) <= costOf(shape, 2) ? 4 : 2;
}

/// Rows of the filters' transform that belongs to the loops of vector_winograd.h.
std::vector<std::array<double, 3>> filterTransform(int64_t results) {
    std::vector<double> points = {0, 1, -1};
    if (results == 4)
        points.insert(points.end(), {winogradPoint, -double{winogradPoint}});
    std::vector<std::array<double, 3>> out;
    for (double p : points) {
        double scale = 1;
        for (double other : points)
            scale *= other == p ? 1 : p - other;
        out.push_back({1 / scale, p / scale, p * p / scale});
    }
    out.push_back({0, 0, 1});
    return out;
}

/// The steps after the sums that the output loops do.
struct Finish {
    bool adds = false;
    float slope = 1;
    float low = -std::numeric_limits<float>::infinity();
    float high = std::numeric_limits<float>::infinity();
    uint32_t read = 0;
};

std::optional<Finish> finishOf(const MatchedEpilogue& epilogue) {
    Finish out;
    bool activated = false;
    for (const PostOp& op : epilogue.postOps) {
        if (activated)
            return std::nullopt;
        if (op.kind == PostOp::Kind::Sum && !out.adds) {
            out.adds = true;
            out.read = op.read;
            continue;
        }
        activated = true;
        const MatchedActivation& f = op.activation;
        if (op.kind == PostOp::Kind::Activate && f.kind == Activation::Relu) {
            out.slope = static_cast<float>(f.alpha);
        } else if (op.kind == PostOp::Kind::Activate && f.kind == Activation::Clip) {
            out.low = static_cast<float>(f.alpha);
            out.high = static_cast<float>(f.beta);
        } else {
            return std::nullopt;
        }
    }
    return out;
}

/// What one worker does: some tiles, some panels of filters.
struct Part {
    size_t tileBegin = 0, tileEnd = 0, filterBegin = 0, filterEnd = 0;
};

class WinogradEngine final : public ContractionEngine {
public:
    WinogradEngine(const Shape& shape, const OperandLayout& x, const StridedAccess& c,
                   const Finish& finish, const PrepareContext& context);

    void packFilters(const OperandLayout& w, const MatchedEpilogue& epilogue, Pages& pages);
    void divide();

    void run(const Arguments& arguments, std::byte* scratch) override;

    bool isShareable() const override { return false; }

    void runShared(const std::byte*, std::byte*, std::byte*) const override {}

private:
    struct Block {
        size_t tileBegin, tiles, filterBegin, filters;
        float *v, *m;
        size_t positionStrideV, positionStrideM;
    };

    void runPart(const Part& part, const Arguments& arguments, std::byte* scratch) const;
    void readTiles(const Block& block, const float* x) const;
    void multiply(const Block& block) const;
    void writeTiles(const Block& block, float* y) const;
    /// Image and position of a tile's first result.
    std::array<int64_t, 3> placeOf(size_t tile) const;

    size_t tilesPerBlock(const Part& part) const;

    Shape m_shape;
    size_t m_results, m_positions, m_tiles, m_channels, m_filters;
    Extents m_xStrides, m_cStrides;
    Finish m_finish;
    const WinogradLoops& m_loops;
    const Threads& m_threads;
    const float* m_packed = nullptr; ///< [position][panel][channel][panel's filters]
    std::vector<float> m_bias;
    std::vector<float> m_zeros; ///< pixels outside the image
    std::vector<Part> m_parts;
    size_t m_partBytes = 0;
};

WinogradEngine::WinogradEngine(const Shape& shape, const OperandLayout& x, const StridedAccess& c,
                               const Finish& finish, const PrepareContext& context)
    : m_shape(shape), m_results(static_cast<size_t>(bestResults(shape))),
      m_positions((m_results + 2) * (m_results + 2)),
      m_tiles(static_cast<size_t>(tilesOf(shape, static_cast<int64_t>(m_results)))),
      m_channels(static_cast<size_t>(shape.channels)),
      m_filters(static_cast<size_t>(shape.filters)), m_xStrides(x.strides), m_cStrides(c.strides),
      m_finish(finish), m_loops(context.table.winograd), m_threads(context.threads),
      m_zeros(static_cast<size_t>(std::max(shape.channels, shape.filters)), 0.0F) {
    implementation = m_results == 4 ? "winograd 4x4" : "winograd 2x2";
    if (finish.adds)
        sumRead = finish.read;
}

void WinogradEngine::packFilters(const OperandLayout& w, const MatchedEpilogue& epilogue,
                                 Pages& pages) {
    const size_t panel = m_loops.panel, n = m_results + 2;
    const auto rows = filterTransform(static_cast<int64_t>(m_results));
    const float* values = w.constant->as<float>().data();
    const size_t bytes = m_positions * m_channels * m_filters * sizeof(float);
    m_packed = reinterpret_cast<const float*>(pages.filled(bytes, [&](std::byte* memory) {
        auto* packed = reinterpret_cast<float*>(memory);
        m_threads.forRange(m_filters, 8, [&](size_t, size_t begin, size_t end) {
            std::array<std::array<double, 3>, 6> half{};
            for (size_t k = begin; k < end; ++k) {
                const auto& scales = epilogue.scale;
                const double scale = scales.empty() ? 1 : scales[scales.size() == 1 ? 0 : k];
                float* to = packed + k / panel * panel * m_channels + k % panel;
                for (size_t c = 0; c < m_channels; ++c, to += panel) {
                    const float* g = values + (k * m_channels + c) * 9;
                    for (size_t y = 0; y < n; ++y)
                        for (size_t x = 0; x < 3; ++x)
                            half[y][x] =
                                rows[y][0] * g[x] + rows[y][1] * g[3 + x] + rows[y][2] * g[6 + x];
                    for (size_t y = 0; y < n; ++y)
                        for (size_t x = 0; x < n; ++x)
                            to[(y * n + x) * m_channels * m_filters] = static_cast<float>(
                                scale * (half[y][0] * rows[x][0] + half[y][1] * rows[x][1] +
                                         half[y][2] * rows[x][2]));
                }
            }
        });
    }));
    m_bias.assign(m_filters, 0.0F);
    for (size_t k = 0; k < m_filters && !epilogue.shift.empty(); ++k)
        m_bias[k] = static_cast<float>(epilogue.shift[epilogue.shift.size() == 1 ? 0 : k]);
}

size_t WinogradEngine::tilesPerBlock(const Part& part) const {
    const size_t tiles = part.tileEnd - part.tileBegin;
    const size_t bytesPerTile =
        m_positions * (m_channels + part.filterEnd - part.filterBegin) * sizeof(float);
    const size_t blocks = (tiles * bytesPerTile + blockBytes - 1) / blockBytes;
    // Full groups of rows where there are several blocks.
    const size_t even = (tiles + blocks - 1) / blocks;
    return blocks == 1 ? tiles : std::max(even / m_loops.mostRows, size_t{1}) * m_loops.mostRows;
}

/// Cuts the work into parts, at most one a worker, none of which waits for another.
void WinogradEngine::divide() {
    const auto workers = static_cast<size_t>(m_threads.count());
    const size_t panels = m_filters / m_loops.panel;
    // Half a group of tiles still fills the pipelines.
    size_t rows = std::min(workers, std::max<size_t>(m_tiles / (m_loops.mostRows / 2), 1));
    size_t columns = std::min(workers / rows, panels);
    if (filterBytes(m_shape, static_cast<int64_t>(m_results)) > sharedFilterBytes) {
        columns = std::min(workers, panels);
        rows = std::min(workers / columns, m_tiles);
    }
    for (size_t i = 0; i < rows; ++i)
        for (size_t j = 0; j < columns; ++j)
            m_parts.push_back({m_tiles * i / rows, m_tiles * (i + 1) / rows,
                               panels * j / columns * m_loops.panel,
                               panels * (j + 1) / columns * m_loops.panel});
    for (const Part& part : m_parts) {
        const size_t widths = m_channels + part.filterEnd - part.filterBegin;
        const size_t floats =
            m_positions * (tilesPerBlock(part) * widths + 2 * laneGroup) + m_filters;
        m_partBytes = std::max(m_partBytes, (floats * sizeof(float) + 4095) / 4096 * 4096);
    }
    scratchBytes = m_partBytes * m_parts.size();
}

void WinogradEngine::run(const Arguments& arguments, std::byte* scratch) {
    m_threads.forRange(m_parts.size(), 1, [&](size_t, size_t begin, size_t end) {
        for (size_t i = begin; i < end; ++i)
            runPart(m_parts[i], arguments, scratch + i * m_partBytes);
    });
}

void WinogradEngine::runPart(const Part& part, const Arguments& arguments,
                             std::byte* scratch) const {
    const size_t most = tilesPerBlock(part);
    Block block{};
    block.filterBegin = part.filterBegin;
    block.filters = part.filterEnd - part.filterBegin;
    // An odd number of cache lines between positions: they would meet in the same sets otherwise.
    block.positionStrideV = most * m_channels + laneGroup;
    block.positionStrideM = most * block.filters + laneGroup;
    block.v = reinterpret_cast<float*>(scratch);
    block.m = block.v + m_positions * block.positionStrideV;
    for (size_t tile = part.tileBegin; tile < part.tileEnd; tile += most) {
        block.tileBegin = tile;
        block.tiles = std::min(most, part.tileEnd - tile);
        readTiles(block, reinterpret_cast<const float*>(arguments.a));
        multiply(block);
        writeTiles(block, reinterpret_cast<float*>(arguments.c));
    }
}

std::array<int64_t, 3> WinogradEngine::placeOf(size_t tile) const {
    const auto results = static_cast<int64_t>(m_results);
    const int64_t across = (m_shape.outWidth + results - 1) / results;
    const int64_t down = (m_shape.outHeight + results - 1) / results;
    const auto index = static_cast<int64_t>(tile);
    return {index / (across * down), index / across % down * results, index % across * results};
}

void WinogradEngine::readTiles(const Block& block, const float* x) const {
    const size_t n = m_results + 2;
    for (size_t t = 0; t < block.tiles; ++t) {
        const auto [image, top, left] = placeOf(block.tileBegin + t);
        std::array<const float*, mostPositions> pixels{};
        for (size_t i = 0; i < m_positions; ++i) {
            const int64_t row = top + static_cast<int64_t>(i / n) - m_shape.padTop;
            const int64_t column = left + static_cast<int64_t>(i % n) - m_shape.padLeft;
            const bool inside =
                row >= 0 && row < m_shape.height && column >= 0 && column < m_shape.width;
            pixels[i] =
                inside ? x + image * m_xStrides[0] + row * m_xStrides[2] + column * m_xStrides[3]
                       : m_zeros.data();
        }
        m_loops.input[m_results / 4](block.v + t * laneGroup, block.positionStrideV,
                                     block.tiles * laneGroup, pixels.data(), m_channels);
    }
}

void WinogradEngine::multiply(const Block& block) const {
    const size_t panel = m_loops.panel;
    const size_t groups = (block.tiles + m_loops.mostRows - 1) / m_loops.mostRows;
    for (size_t p = 0; p < m_positions; ++p) {
        const float* filters = m_packed + (p * m_filters + block.filterBegin) * m_channels;
        for (size_t k = 0; k < block.filters; k += panel, filters += panel * m_channels)
            for (size_t g = 0; g < groups; ++g) {
                const size_t row = block.tiles * g / groups;
                const size_t rows = block.tiles * (g + 1) / groups - row;
                m_loops.product[rows](block.v + p * block.positionStrideV + row * laneGroup,
                                      block.tiles * laneGroup, filters,
                                      block.m + p * block.positionStrideM + row * block.filters + k,
                                      block.filters, m_channels);
            }
    }
}

void WinogradEngine::writeTiles(const Block& block, float* y) const {
    float* outside = block.m + m_positions * block.positionStrideM;
    for (size_t t = 0; t < block.tiles; ++t) {
        const auto [image, top, left] = placeOf(block.tileBegin + t);
        std::array<float*, mostResults> results{};
        std::array<const float*, mostResults> added{};
        for (size_t i = 0; i < m_results * m_results; ++i) {
            const int64_t row = top + static_cast<int64_t>(i / m_results);
            const int64_t column = left + static_cast<int64_t>(i % m_results);
            const bool inside = row < m_shape.outHeight && column < m_shape.outWidth;
            results[i] = inside
                             ? y + image * m_cStrides[0] + row * m_cStrides[2] +
                                   column * m_cStrides[3] + static_cast<int64_t>(block.filterBegin)
                             : outside;
            added[i] = inside ? results[i] : m_zeros.data();
        }
        const WinogradTile tile{results.data(),
                                m_finish.adds ? added.data() : nullptr,
                                m_bias.data() + block.filterBegin,
                                m_finish.slope,
                                m_finish.low,
                                m_finish.high};
        m_loops.output[m_results / 4](block.m + t * block.filters, block.positionStrideM, tile,
                                      block.filters);
    }
}

} // namespace

bool canBeWinograd(const Contraction& program, const PrepareContext& context) {
    const SlidingWindow& window = program.window;
    if (program.kind != Contraction::Kind::Conv || program.groups != 1 ||
        program.space.size() != 4 || program.accumulate != DType::Float32 ||
        context.allowed < NumericClass::Reassociated || !areAll(window.kernel, 3) ||
        !areAll(window.strides, 1) || !areAll(window.dilations, 1))
        return false;
    const OperandLayout& x = context.inputs[program.a.operand];
    const OperandLayout& w = context.inputs[program.b.operand];
    if (!w.constant || x.strides[1] != 1 || x.extents[1] % static_cast<int64_t>(laneGroup) != 0 ||
        program.space[1] % static_cast<int64_t>(context.table.winograd.panel) != 0)
        return false;
    const Shape shape = shapeOf(program, x.extents);
    const int64_t results = bestResults(shape);
    return filterBytes(shape, results) <= mostFilterBytes &&
           costOf(shape, results) < costOf(9 * shape.images * shape.outHeight * shape.outWidth, 9);
}

double winogradCost(const Contraction& program, const PrepareContext& context) {
    const Shape shape = shapeOf(program, context.inputs[program.a.operand].extents);
    const int64_t results = bestResults(shape);
    const double positions = static_cast<double>((results + 2) * (results + 2));
    // Each pixel is transformed once for all filters, each sum once for all channels.
    const double transforms =
        2 * positions * static_cast<double>(tilesOf(shape, results)) * productsPerTransform *
        (1 / static_cast<double>(shape.filters) + 1 / static_cast<double>(shape.channels));
    return (timePerOperation * static_cast<double>(costOf(shape, results)) + transforms) /
           static_cast<double>(costOf(9 * shape.images * shape.outHeight * shape.outWidth, 9));
}

std::string winogradKey(const Contraction& program, const PrepareContext& context) {
    return "winograd" + text(program.space) + text(context.inputs[program.a.operand].extents) +
           text(program.window.padsBegin) + program.epilogue.tape.text();
}

EngineResult makeWinogradEngine(const Contraction& program, const OperandLayout& x,
                                const OperandLayout& w, const StridedAccess& c,
                                const MatchedEpilogue& epilogue, const PrepareContext& context) {
    auto finish = finishOf(epilogue);
    if (!finish)
        return Reason{"cpu-epilogue", "minimal filtering has no such activation", {}, {}};
    if (x.strides[1] != 1 || c.strides[1] != 1)
        return Reason{"layout", "minimal filtering needs channels innermost", {}, {}};
    auto engine =
        std::make_unique<WinogradEngine>(shapeOf(program, x.extents), x, c, *finish, context);
    engine->packFilters(w, epilogue, context.threads.pages());
    engine->divide();
    return engine;
}

} // namespace fuselage::cpu
