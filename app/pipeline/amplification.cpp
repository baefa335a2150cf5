// SPDX-License-Identifier: Apache-2.0
#include "app/pipeline/amplification.h"

#include "app/pipeline/parts.h"
#include "app/pipeline/verify.h"
#include "core/ops/op_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace fuselage::app {

namespace {

constexpr double roomForChance = 4; ///< a few samples do not show the worst one
constexpr double saysNothing = 0.1; ///< moved by more, an output shows no mistake either

Result<std::vector<ReferenceValue>> judge(const FailedCheck& check,
                                          const std::vector<Tensor>& inputs,
                                          std::optional<uint64_t> roundings, Progress& progress) {
    std::vector<ReferenceValue> values;
    for (const Tensor& input : inputs)
        values.push_back(ReferenceValue::from(input));
    ThreadPool pool(check.compile.threads);
    return interpret(check.model, std::move(values), pool, progress, {}, roundings);
}

const std::string& nameOfOutput(const FailedCheck& check, size_t i) {
    return check.model.value(check.model.outputs()[i]).name;
}

/// Mean distance of elements, relative to the largest one: as compareOutput() has the worst.
double meanDistance(const ReferenceValue& reference, const Tensor& actual) {
    double largest = 0, sum = 0;
    for (int64_t i = 0; i < actual.elementCount(); ++i) {
        const double want = reference.at(i), have = actual.at(i);
        if (!std::isfinite(want) || !std::isfinite(have))
            continue;
        largest = std::max(largest, std::fabs(want));
        sum += std::fabs(want - have);
    }
    const double mean = sum / static_cast<double>(std::max<int64_t>(actual.elementCount(), 1));
    return largest > 0 ? mean / largest : mean;
}

// --- inputs -------------------------------------------------------------------------------------

/// Of 16-bit storage: the most that moved inputs, or the weights alone, are seen to cost.
double knownLoss(const OutputAgreement& change, const Report& report) {
    double out = change.maxRelative;
    for (const OutputAgreement& side : report.agreement)
        if (side.output == change.output && side.side == "weights" &&
            std::isfinite(side.maxRelative))
            out = std::max(out, side.maxRelative);
    return out;
}

Result<void> moveInputs(const FailedCheck& check, Report& report, Progress& progress) {
    constexpr uint64_t nudges = 3; // the largest change of one is a matter of luck
    const size_t depth = roundingDepth(check.model, DType::Float32);
    std::vector<OutputAgreement> changes(check.reference.size());
    for (uint64_t seed = 1; seed <= nudges; ++seed) {
        auto moved =
            judge(check, nudged(check.inputs, seed, check.storage), std::nullopt, progress);
        if (!moved)
            return failure(moved.error());
        for (size_t i = 0; i < check.reference.size(); ++i) {
            auto change = compareOutput(nameOfOutput(check, i), "inputs", check.reference[i],
                                        (*moved)[i].toTensor());
            if (seed == 1 || change.maxRelative > changes[i].maxRelative)
                changes[i] = std::move(change);
        }
    }
    // Other extents or labels: decisions turn, and no distance says how far.
    std::erase_if(changes, [](const OutputAgreement& change) {
        return !std::isfinite(change.maxRelative) || change.tolerance == 0;
    });
    for (OutputAgreement& change : changes) {
        change.tolerance = amplifiedTolerance(change.maxRelative, depth);
        if (check.storage != DType::Float32)
            change.tolerance =
                std::min(change.tolerance, roomForChance * knownLoss(change, report));
        change.ok = true;
        for (OutputAgreement& side : report.agreement)
            if (side.output == change.output && !side.ok) {
                side.tolerance = std::max(side.tolerance, change.tolerance);
                side.ok = side.maxRelative <= side.tolerance;
            }
    }
    report.agreement.insert(report.agreement.begin(), changes.begin(), changes.end());
    return {};
}

// --- roundings ----------------------------------------------------------------------------------

/// "28800 .. 30600"
std::string countsText(const std::vector<int64_t>& counts) {
    const auto [least, most] = std::minmax_element(counts.begin(), counts.end());
    return *least == *most ? fmt::format("{}", *least) : fmt::format("{} .. {}", *least, *most);
}

/// One output under the roundings, and what that means for the sides that failed.
OutputAgreement judgeOutput(const FailedCheck& check, size_t output,
                            const std::vector<const ReferenceValue*>& moved, Report& report) {
    const ReferenceValue& reference = check.reference[output];
    OutputAgreement change;
    change.output = nameOfOutput(check, output);
    change.side = "rounding";
    change.ok = true;
    std::vector<int64_t> counts{reference.count()};
    bool sameExtents = true;
    for (const ReferenceValue* one : moved) {
        const auto found = compareOutput(change.output, "", reference, one->toTensor());
        change.maxAbsolute = std::max(change.maxAbsolute, found.maxAbsolute);
        change.maxRelative = std::max(change.maxRelative, found.maxRelative);
        counts.push_back(one->count());
        sameExtents = sameExtents && one->extents == reference.extents;
    }
    change.tolerance = roomForChance * change.maxRelative;
    if (!sameExtents)
        change.note = fmt::format("its length depends on data and on roundings: {} elements in the "
                                  "reference, {} when its float32 results are rounded otherwise",
                                  reference.count(), countsText(counts));
    else if (change.maxRelative > saysNothing && check.storage == DType::Float32)
        change.note = "roundings alone turn it over: only its parts show whether it is right";
    else if (change.maxRelative > saysNothing)
        change.note = "roundings alone turn it over: whether it is right shows in float32";
    if (!change.note.empty() && check.storage != DType::Float32) // whose parts nobody checks
        return change;
    for (OutputAgreement& side : report.agreement) {
        if (side.output != change.output || side.ok)
            continue;
        const Tensor& actual =
            (side.side == "fused" ? check.fusedOutputs : check.unfusedOutputs)[output];
        if (!sameExtents && actual.dtype() == reference.dtype) {
            side.ok = true;
            side.tolerance = change.tolerance;
            side.note = fmt::format("{} elements", actual.elementCount());
            continue;
        }
        if (sameExtents && actual.extents() != reference.extents)
            side.note = fmt::format("{} elements, the reference has {} however it is rounded",
                                    actual.elementCount(), reference.count());
        allowMoves(reference, actual, moved, side);
    }
    return change;
}

Result<void> moveResults(const FailedCheck& check, Report& report, Progress& progress) {
    std::vector<std::vector<ReferenceValue>> moved;
    for (uint64_t seed = 1; seed <= roundingSeeds; ++seed) {
        auto one = judge(check, check.inputs, seed, progress);
        if (!one)
            return failure(one.error());
        moved.push_back(std::move(*one));
    }
    std::vector<OutputAgreement> changes;
    for (size_t i = 0; i < check.reference.size(); ++i) {
        const bool failed = std::any_of(
            report.agreement.begin(), report.agreement.end(), [&](const OutputAgreement& side) {
                return side.output == nameOfOutput(check, i) && !side.ok;
            });
        if (!failed)
            continue;
        std::vector<const ReferenceValue*> moves;
        for (const auto& one : moved)
            moves.push_back(&one[i]);
        changes.push_back(judgeOutput(check, i, moves, report));
    }
    report.agreement.insert(report.agreement.begin(), changes.begin(), changes.end());
    return {};
}

Result<void> addParts(const FailedCheck& check, Report& report, Progress& progress) {
    for (const auto& [side, graph] :
         {std::pair("unfused parts", &check.model), std::pair("fused parts", &check.fused)}) {
        CompileOptions compile = check.compile;
        compile.oneKernelPerNode = graph == &check.model;
        compile.tune.tune = compile.measureTactics = false; // thousands of parts
        auto found = checkParts(check.model, *graph, compile, check.inputs, side, progress);
        if (!found)
            return failure(found.error());
        report.agreement.push_back(std::move(*found));
    }
    return {};
}

} // namespace

void allowMoves(const ReferenceValue& reference, const Tensor& actual,
                const std::vector<const ReferenceValue*>& moved, OutputAgreement& agreement) {
    double largest = 0, mean = 0;
    for (const ReferenceValue* one : moved) {
        const Tensor tensor = one->toTensor();
        const double change = compareOutput("", "", reference, tensor).maxRelative;
        if (!std::isfinite(change))
            continue;
        largest = std::max(largest, change);
        mean = std::max(mean, meanDistance(reference, tensor));
    }
    if (largest == 0 || actual.extents() != reference.extents ||
        actual.dtype() != reference.dtype || reference.dtype == DType::String)
        return;
    const double usual = agreement.tolerance;
    agreement.tolerance = std::max(usual, roomForChance * largest);
    agreement.ok = agreement.maxRelative <= agreement.tolerance &&
                   meanDistance(reference, actual) <= std::max(usual, roomForChance * mean);
    if (!agreement.ok && agreement.maxRelative <= agreement.tolerance)
        agreement.note = "off on average by more than roundings are";
}

bool hasJumps(const Graph& graph) {
    const auto nodes = graph.nodes();
    return std::any_of(nodes.begin(), nodes.end(), [&](NodeId id) {
        const Node& node = graph.node(id);
        bool reads = false; // a float that varies
        for (ValueId input : node.inputs)
            reads = reads || (input.valid() && !graph.isConstant(input) &&
                              isFloat(graph.value(input).type.dtype));
        const bool casts = node.op == Op::Cast && !node.outputs.empty() &&
                           !isFloat(graph.value(node.outputs[0]).type.dtype);
        if (reads && (hasTrait(node.op, Discontinuous) || casts))
            return true;
        for (const Attributes::Entry& entry : node.attributes)
            if (const auto* inner = std::get_if<std::shared_ptr<Graph>>(&entry.value);
                inner && hasJumps(**inner))
                return true;
        return false;
    });
}

namespace {

/// Whether the judge found that storing in 16 bits turned no decision over.
bool storageHolds(const Report& report) {
    const auto& sides = report.agreement;
    auto isWeights = [](const OutputAgreement& side) { return side.side == "weights"; };
    return std::any_of(sides.begin(), sides.end(), isWeights) &&
           std::all_of(sides.begin(), sides.end(),
                       [&](const OutputAgreement& side) { return !isWeights(side) || side.ok; });
}

} // namespace

Result<void> allowAmplification(const FailedCheck& check, Report& report, Progress& progress) {
    const bool isNarrow = check.storage != DType::Float32;
    const bool jumps = hasJumps(check.model);
    if (isNarrow && jumps && !storageHolds(report))
        return {}; // a step of 16 bits turns every decision over: nothing is shown
    if (jumps)
        if (auto moved = moveResults(check, report, progress); !moved)
            return moved;
    if (isNarrow && jumps)
        return {};
    if (!report.verified())
        if (auto moved = moveInputs(check, report, progress); !moved)
            return moved;
    return jumps && report.verified() ? addParts(check, report, progress) : Result<void>();
}

} // namespace fuselage::app
