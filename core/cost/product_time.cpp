// SPDX-License-Identifier: Apache-2.0
#include "core/cost/operand_bytes_internal.h"
#include "core/cost/product_time_internal.h"
#include "core/kernel/chain.h"
#include "core/kernel/few_bits_product.h"
#include "core/kernel/product_element.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

namespace fuselage {

namespace {

/// Products of 8-bit integers on a processor: what they take beyond their dot products. Measured on
/// a Xeon with AMX, kernel by kernel, in INT8 mobilenet_v3_large beside the same in float32.
struct IntegerProducts {
    double staging = 1.5;   ///< rows gathered, sums written
    double halfDepth = 16;  ///< terms of one result for which this takes as long as multiplying
    double shallow = 64;    ///< terms below which the pieces of a window's rows are so short
    double pieces = 3.5;    ///< that gathering takes so much longer
    double groups = 5;      ///< one small product a group and strip
    double depthwise = 1.3; ///< taps interleaved, then four at a time
};
constexpr IntegerProducts integerProducts;

/// Whether weights have one channel a group.
bool isDepthwise(const KernelProgram& program, const Contraction& code) {
    return code.kind != Contraction::Kind::MatMul && code.groups > 1 &&
           program.inputs[code.b.operand].extents[1] == 1;
}

/// Rows of many taps that a GPU multiplies as banded matrices on its tensor cores.
bool isBanded(const KernelProgram& program, const DeviceProfile& profile) {
    constexpr int64_t leastTaps = 5;
    const auto* code = std::get_if<Contraction>(&program.code);
    return profile.kind == DeviceKind::Gpu && code && code->kind == Contraction::Kind::Conv &&
           isDepthwise(program, *code) && isNarrowFloat(program.inputs[code->a.operand].dtype) &&
           code->window.kernel.size() == 2 && code->window.kernel[1] >= leastTaps &&
           code->window.strides[1] == 1 && code->groups % 8 == 0;
}

bool sumsIntegers(const KernelProgram& program, const DeviceProfile& profile) {
    const auto* code = std::get_if<Contraction>(&program.code);
    return code && code->accumulate == DType::Int32 && profile.kind == DeviceKind::Cpu;
}

/// Whose terms, tiles and columns are multiplied: those of the product where one stands alone
/// behind a Row.
const KernelProgram& multiplied(const KernelProgram& program) {
    const auto* chain = std::get_if<Chain>(&program.code);
    return chain && productCount(*chain) == 1 ? productProgram(*chain, 0) : program;
}

/// Products that a processor asks its library for one by one: two for each matrix of an attention.
/// What each takes besides its work: attentions of 4 to 64 rows, on a Xeon.
double secondsOfCalls(const KernelProgram& program) {
    constexpr double atOnce = 0.15e-6, ofRow = 0.02e-6, atMost = 0.9e-6;
    const auto* code = std::get_if<Attention>(&program.code);
    if (!code)
        return 0;
    return 2 * static_cast<double>(elementCount(code->batch).value_or(0)) *
           std::min(atMost, atOnce + ofRow * static_cast<double>(code->l));
}

int64_t productOf(const Extents& extents, size_t begin, size_t end) {
    int64_t out = 1;
    for (size_t d = begin; d < end; ++d)
        out *= extents[d];
    return out;
}

/// How many products fill stages of tiles before they multiply: of few rows the weights, or the
/// keys and values, are a stream.
double tiledProducts(const KernelProgram& program) {
    constexpr int64_t fewRows = 16;
    if (const auto* code = std::get_if<Attention>(&program.code))
        return code->l < fewRows ? 0 : 2;
    if (std::holds_alternative<Chain>(program.code))
        return 1;
    const auto* code = std::get_if<Contraction>(&program.code);
    if (!code)
        return 0;
    const int64_t columns = std::max<int64_t>(1, columnsOf(*code) * code->groups);
    const int64_t rows = elementCount(code->space).value_or(0) / columns;
    return rows < fewRows ? 0 : 1;
}

/// Whether a device multiplies the 8-bit integers of a program faster than lane by lane.
bool multipliesIntegers(const KernelProgram& program, const DeviceProfile& profile) {
    const auto* code = std::get_if<Contraction>(&program.code);
    if (!code || profile.integerGain <= 0 || code->accumulate != DType::Int32)
        return false;
    const OperandType& a = program.inputs[code->a.operand];
    const OperandType& b = program.inputs[code->b.operand];
    return sizeOf(a.dtype) == 1 && sizeOf(b.dtype) == 1 && !isDepthwise(program, *code);
}

double matrixPeak(const KernelProgram& program, const DeviceProfile& profile, bool tf32) {
    if (multipliesIntegers(program, profile))
        return profile.fp32Flops * profile.integerGain;
    switch (productElement(program)) {
    case DType::Float16:
    case DType::BFloat16:
        return profile.fp16MatrixFlops;
    case DType::Float64:
        return profile.fp32Flops / 2;
    default:
        return tf32 ? profile.tf32MatrixFlops : profile.fp32Flops;
    }
}

/// Tiles of a contraction's result, or of the rows of an attention or a chain.
double tilesOf(const KernelProgram& program, double tile) {
    if (const auto* code = std::get_if<Chain>(&program.code))
        return std::ceil(static_cast<double>(chainRows(*code)) / tile);
    auto along = [&](int64_t extent) { return std::ceil(static_cast<double>(extent) / tile); };
    if (const auto* code = std::get_if<Contraction>(&program.code)) {
        if (code->kind == Contraction::Kind::MatMul) {
            const size_t m = code->batchDims + code->mDims;
            return static_cast<double>(productOf(code->space, 0, code->batchDims)) *
                   along(productOf(code->space, code->batchDims, m)) *
                   along(productOf(code->space, m, code->space.size()));
        }
        const int64_t channels = code->space[1];
        return static_cast<double>(code->groups) * along(channels / code->groups) *
               along(productOf(code->space, 0, code->space.size()) / channels);
    }
    if (const auto* code = std::get_if<Attention>(&program.code))
        return static_cast<double>(productOf(code->batch, 0, code->batch.size())) * along(code->l);
    if (const auto product = fewBitsProduct(program))
        return along(product->rows) * along(product->columns);
    return 1;
}

/// Terms that are summed for one result.
double depthOf(const KernelProgram& program, const Contraction& code) {
    if (code.kind == Contraction::Kind::MatMul)
        return static_cast<double>(std::max<int64_t>(1, productOf(code.k, 0, code.k.size())));
    const Extents& weights = program.inputs[code.b.operand].extents;
    return static_cast<double>(std::max<int64_t>(1, productOf(weights, 1, weights.size())));
}

/// Rows of products of 8-bit integers are gathered from windows line by line, on a processor: that
/// is in the price of products as far as windows of two dimensions have lines. Convolutions of
/// 3x3x3 and 5x5x5 over 3 to 8 channels, on an EPYC.
double secondsOfLines(const KernelProgram& program, const DeviceProfile& profile) {
    constexpr double ofLine = 5e-9, ofByte = 0.15e-9, mostBytes = 40;
    const auto* code = std::get_if<Contraction>(&program.code);
    if (!code || !multipliesIntegers(program, profile) || profile.kind != DeviceKind::Cpu ||
        code->kind != Contraction::Kind::Conv || code->window.kernel.size() < 3)
        return 0;
    const Extents& kernel = code->window.kernel;
    const int64_t lines = productOf(kernel, 0, kernel.size() - 1) - kernel[kernel.size() - 2];
    const int64_t rows =
        elementCount(code->space).value_or(0) / std::max<int64_t>(1, code->space[1]);
    const auto bytes =
        static_cast<double>(program.inputs[code->b.operand].extents[1] * kernel.back());
    return static_cast<double>(rows * code->groups * lines) *
           (ofLine + ofByte * std::min(bytes, mostBytes));
}

/// The same for a product of 8-bit integers on a processor.
double integerLoss(const KernelProgram& program, const Contraction& code) {
    const double depth = depthOf(program, code);
    const bool slides =
        code.kind != Contraction::Kind::MatMul && elementCount(code.window.kernel).value_or(1) > 1;
    return integerProducts.staging * (1 + integerProducts.halfDepth / depth) *
           (slides && depth < integerProducts.shallow ? integerProducts.pieces : 1) *
           (code.groups > 1 ? integerProducts.groups : 1);
}

/// How much longer a convolution takes than a matrix product of its size: its inner loop runs over
/// the channels of a tap, or over those of a row of taps where windows neither overlap nor leave
/// gaps.
double convolutionLoss(const KernelProgram& program, const Contraction& code,
                       const DeviceProfile& profile) {
    const SlidingWindow& window = code.window;
    auto run = static_cast<double>(program.inputs[code.b.operand].extents[1]);
    if (profile.kind == DeviceKind::Gpu) {
        if (elementCount(window.kernel).value_or(1) == 1)
            return 1; // a matrix product by another name
        if (window.kernel.back() == window.strides.back())
            run *= static_cast<double>(window.kernel.back());
    }
    return (1 + profile.fewChannels / run) / profile.convolutionShare;
}

/// What the products of one attention lose on a processor, a matrix after the other: 12 heads of 49
/// to 512 rows and 8 to 128 columns on a Xeon.
constexpr double lossOfHeads = 1.27;

/// Storing a result of a matrix product, on a processor, takes as long as so many terms more: 4 and
/// 12 products of 128 to 512 rows with 8 to 64 terms on a Xeon.
constexpr double termsOfStoring = 40;

/// How much longer a product takes than its FLOPs say: results in whole vectors, operands of a
/// convolution that are too short for its inner loop, sums of a few terms.
double shapeLoss(const KernelProgram& program, const DeviceProfile& profile) {
    const bool isCpu = profile.kind == DeviceKind::Cpu;
    if (const auto* attention = std::get_if<Attention>(&program.code))
        return isCpu ? lossOfHeads * lossOfLanes(attention->s, profile) : 1;
    const auto* code = std::get_if<Contraction>(&program.code);
    if (!code || code->kind == Contraction::Kind::ConvTranspose)
        return 1;
    const bool matMul = code->kind == Contraction::Kind::MatMul;
    const double out = lossOfLanes(columnsOf(*code), profile);
    if (multipliesIntegers(program, profile) && isCpu)
        return out * integerLoss(program, *code);
    if (matMul)
        return isCpu ? out * (1 + termsOfStoring / depthOf(program, *code)) : out;
    return out * convolutionLoss(program, *code, profile);
}

/// Convolutions that minimal filtering (Winograd) computes with fewer products.
const Contraction* smallFilter(const KernelProgram& program, const DeviceProfile& profile) {
    const auto* code = std::get_if<Contraction>(&program.code);
    if (!code || code->kind != Contraction::Kind::Conv || code->groups != 1 ||
        profile.filterGain <= 1 || !isFloat(code->accumulate))
        return nullptr;
    const SlidingWindow& window = code->window;
    auto all = [](const Extents& extents, int64_t wanted) {
        return std::all_of(extents.begin(), extents.end(), [&](int64_t e) { return e == wanted; });
    };
    // Filters go through two vectors at a time.
    auto whole = [&](int64_t channels, double vectors) {
        return std::fmod(static_cast<double>(channels), vectors * profile.vectorLanes) == 0;
    };
    const bool small = window.kernel.size() == 2 && all(window.kernel, 3) &&
                       all(window.strides, 1) && all(window.dilations, 1) &&
                       whole(code->space[1], 2) &&
                       whole(program.inputs[code->b.operand].extents[1], 1);
    return small ? code : nullptr;
}

/// Tiles of 4x4 results, whose weights are four times as large.
ProductSeconds filteredSeconds(const KernelProgram& program, const Contraction& code, double direct,
                               const Traffic& traffic, const DeviceProfile& profile, double share) {
    constexpr double tile = 4, moreWeights = 3;
    double padded = 1;
    for (size_t d = 2; d < code.space.size(); ++d)
        padded *= std::ceil(static_cast<double>(code.space[d]) / tile) * tile /
                  static_cast<double>(code.space[d]);
    const OperandType& weights = program.inputs[code.b.operand];
    const double bytes = static_cast<double>(elementCount(weights.extents).value_or(0)) *
                         static_cast<double>(sizeOf(weights.dtype));
    auto missed = [&](int64_t moved) {
        return moreWeights * bytes *
               std::min(1.0, static_cast<double>(moved) / std::max(1.0, double(traffic.logical())));
    };
    return {direct * padded / profile.filterGain, missed(traffic.dram) / profile.dramBandwidth,
            profile.coreBytes > 0 ? missed(traffic.l2) / (profile.l2Bandwidth * share) : 0};
}

/// Terms of a product that a GPU may share among blocks; 0: of none.
double termsToSplit(const KernelProgram& program) {
    if (const auto* code = std::get_if<Contraction>(&program.code))
        return depthOf(program, *code);
    const auto product = fewBitsProduct(program);
    return product ? static_cast<double>(product->depth) : 0;
}

/// Seconds of a product that takes `ideal` at the peak, in the best of a few tiles: small ones fill
/// more units and use each less well. A GPU may also split the terms, whose partial sums are then
/// passed on.
double tiledSeconds(const KernelProgram& program, double ideal, const DeviceProfile& profile,
                    double units) {
    struct TileChoice {
        double extent, share; ///< of what large tiles reach
    };
    constexpr std::array choices{TileChoice{128, 1}, TileChoice{64, 2.0 / 3}, TileChoice{32, 0.4}};
    constexpr double secondsOfSplit = 1.5e-6; // sums passed through the last cache, and waited for
    constexpr double leastTerms = 128;        // that a block takes as long as fewer
    constexpr int64_t mostSplits = 16;
    constexpr double worstWave = 8; // of a processor, whose cores share tiles
    const bool isGpu = profile.kind == DeviceKind::Gpu;
    const double terms = isGpu ? termsToSplit(program) : 0;
    double best = std::numeric_limits<double>::infinity();
    for (const TileChoice& choice : choices) {
        const double tiles = std::max(1.0, tilesOf(program, choice.extent));
        for (int64_t splits = 1; splits <= (terms > 0 ? mostSplits : 1); splits *= 2) {
            const double blocks = tiles * static_cast<double>(splits);
            const double wave = std::ceil(blocks / units) * units / blocks;
            const double longer = static_cast<double>(splits) * std::min(1.0, leastTerms / terms);
            const double taken = ideal * (isGpu ? wave : std::min(wave, worstWave)) *
                                 std::max(1.0, longer) / (choice.share * profile.matrixEfficiency);
            best = std::min(best, taken + (splits > 1 ? secondsOfSplit : 0));
        }
    }
    return best;
}

/// Products with weights of a few bits on a GPU, in lane instructions of the machine code that
/// NVRTC makes for sm_90. No device has measured them.
struct FewBits {
    int64_t streamedRows = 4; ///< that share a weight, which two columns of a warp stream
    double unpack = 3.3;      ///< of a weight, once for those rows
    double fetch = 2.3;       ///< of an element of a row, once for those columns
    double expand = 4;        ///< of a weight that becomes an element of a tile, once for its rows
    double tileRows = 128;
    double shareOfTiles = 0.6; ///< of the speed of tiles that are copied as they are: a guess
    int64_t madeRows = 256;    ///< from which on a launch of its own may make the elements
};
constexpr FewBits fewBits;

/// One way to compute such a product.
struct FewBitsWay {
    double lanes = 0;  ///< lane instructions of a multiply-add
    double matrix = 0; ///< seconds of tensor cores
    double dram = 0;   ///< seconds for bytes beside the operands
    double fixed = 0;  ///< seconds before and behind all of that
};

/// The fastest one of streaming the weights on lanes, making elements of them for each tile, and
/// doing so once in memory. Tiles are those of 16-bit elements that the tensor cores multiply.
FewBitsWay fewBitsWay(const KernelProgram& program, const FewBitsProduct& product,
                      const DeviceProfile& profile) {
    const auto rows = static_cast<double>(std::max<int64_t>(1, product.rows));
    const double weights =
        static_cast<double>(product.columns) * static_cast<double>(product.depth);
    const double shared = std::min(rows, static_cast<double>(fewBits.streamedRows));
    const FewBitsWay streamed{1 + fewBits.unpack / shared + fewBits.fetch / 2, 0, 0, 0};
    if (product.rows == 1 || !isNarrowFloat(product.element) ||
        (product.element == DType::BFloat16 && profile.arch == "sm_75"))
        return streamed;
    const double ideal = 2 * rows * weights / profile.fp16MatrixFlops;
    std::vector<FewBitsWay> ways = {
        streamed,
        {fewBits.expand * std::ceil(rows / fewBits.tileRows) / rows,
         tiledSeconds(program, ideal / fewBits.shareOfTiles, profile, profile.units), 0,
         profile.productSeconds}};
    if (product.rows >= fewBits.madeRows) { // written by one launch, read by the other
        const double made = 2 * weights / profile.dramBandwidth;
        ways.push_back({0, tiledSeconds(program, ideal, profile, profile.units), made,
                        made + profile.launchSeconds + profile.productSeconds});
    }
    auto seconds = [&](const FewBitsWay& way) {
        return way.fixed + way.matrix + way.dram +
               rows * weights * way.lanes /
                   (profile.units * profile.lanesPerUnit * profile.clock * profile.issueEfficiency);
    };
    return *std::min_element(
        ways.begin(), ways.end(),
        [&](const FewBitsWay& a, const FewBitsWay& b) { return seconds(a) < seconds(b); });
}

/// Nothing for other programs and for processors.
std::optional<FewBitsWay> fewBitsWay(const KernelProgram& program, const DeviceProfile& profile) {
    const auto product = profile.kind == DeviceKind::Gpu ? fewBitsProduct(program) : std::nullopt;
    return product ? std::optional(fewBitsWay(program, *product, profile)) : std::nullopt;
}

/// Seconds on the tensor cores.
ProductSeconds matrixSeconds(const KernelProgram& program, const LaidWork& laid,
                             const Traffic& traffic, double peak, const DeviceProfile& profile,
                             double units) {
    const Work& work = laid.work;
    if (const auto way = fewBitsWay(program, profile))
        return {way->matrix, way->dram, 0};
    if (work.matrixFlops == 0 || (!work.matrix && !multipliesIntegers(program, profile)))
        return {};
    const double ideal = static_cast<double>(work.matrixFlops) * shapeLoss(program, profile) / peak;
    const double best = tiledSeconds(program, ideal, profile, units);
    const ProductSeconds direct{best, 0, 0};
    const Contraction* filter = laid.channelsTogether ? smallFilter(program, profile) : nullptr;
    if (!filter)
        return direct;
    const ProductSeconds filtered =
        filteredSeconds(program, *filter, best, traffic, profile, units / profile.units);
    return filtered.matrix + filtered.dram + filtered.l2 < direct.matrix ? filtered : direct;
}

} // namespace

ProductSeconds productSeconds(const KernelProgram& program, const LaidWork& laid,
                              const Traffic& traffic, const DeviceProfile& profile, bool tf32,
                              double units) {
    const KernelProgram& product = multiplied(program);
    const double peak = matrixPeak(product, profile, tf32) * (units / profile.units);
    return matrixSeconds(product, laid, traffic, peak, profile, units);
}

double lossOfLanes(int64_t elements, const DeviceProfile& profile) {
    const auto wanted = static_cast<double>(std::max<int64_t>(1, elements));
    return std::ceil(wanted / profile.vectorLanes) * profile.vectorLanes / wanted;
}

int64_t columnsOf(const Contraction& code) {
    return code.kind == Contraction::Kind::MatMul
               ? productOf(code.space, code.batchDims + code.mDims, code.space.size())
               : code.space[1] / code.groups;
}

double laneProductPrice(const KernelProgram& program, const Work& work,
                        const DeviceProfile& profile) {
    if (work.matrix || multipliesIntegers(program, profile))
        return 0;
    if (const auto way = fewBitsWay(program, profile))
        return way->lanes;
    constexpr double banded = 0.68; // of its price on lanes: ConvNeXt-T on an H200, batch 32
    return profile.laneProductIssue * (isBanded(program, profile) ? banded : 1) *
           (sumsIntegers(program, profile) ? integerProducts.depthwise : 1);
}

double unevenRows(const KernelProgram& program, double units) {
    if (!std::holds_alternative<Chain>(multiplied(program).code))
        return 1;
    // Few rows are cut once more.
    const double large = tilesOf(program, chainTile);
    const double blocks = std::max(1.0, large < units ? tilesOf(program, chainTile / 2) : large);
    return std::ceil(blocks / units) * units / blocks;
}

double fixedSeconds(const KernelProgram& program, const DeviceProfile& profile, double units) {
    if (profile.kind == DeviceKind::Cpu)
        return (secondsOfCalls(program) + secondsOfLines(program, profile)) / units;
    // A row is read and folded before anything of it is written.
    constexpr double secondsOfFold = 0.5e-6;
    if (std::holds_alternative<Row>(program.code))
        return secondsOfFold;
    if (const auto* group = std::get_if<Group>(&program.code)) { // side by side
        double most = 0;
        for (const KernelProgram& member : group->members)
            most = std::max(most, fixedSeconds(member, profile, units));
        return most;
    }
    if (const auto way = fewBitsWay(program, profile))
        return way->fixed;
    const auto* chain = std::get_if<Chain>(&program.code);
    return tiledProducts(multiplied(program)) * profile.productSeconds +
           (chain && rowsOf(*chain) ? secondsOfFold : 0);
}

} // namespace fuselage
