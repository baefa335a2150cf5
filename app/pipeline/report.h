// SPDX-License-Identifier: Apache-2.0
// Everything known about one run, as plain data. Every front end and format renders this one
// structure; nothing renders from the engine directly.
#pragma once

#include "app/pipeline/graph_report.h"
#include "app/pipeline/pair_report.h"
#include "core/cost/cost.h"
#include "core/plan/kernel_facts.h"
#include "core/plan/statistics.h"
#include "core/support/reason.h"

#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace fuselage::app {

/// What was found on this machine and what is used of it.
struct MachineReport {
    std::string cpu; ///< model name and instruction sets
    int cores = 0;
    int threadsUsed = 0;
    std::string backend;            ///< "cpu"
    std::string backendText;        ///< one line of the backend about itself
    std::vector<std::string> notes; ///< "no CUDA device: libcuda.so.1 not found"
    std::string stepTiming;         ///< how single kernels were timed; empty: by the host's clock
    /// Cores that other processes used while it was measured; none: not measured, or not known.
    std::optional<double> othersBusy;
    std::string counters; ///< how bytes were counted; empty: they were not
    std::string profile;  ///< device profile used for predictions
    std::string profileTitle;
    std::string profileOrigin; ///< the file, when it was measured, or that it is built-in
    double dramBandwidth = 0, l2Bandwidth = 0; ///< of the profile, bytes a second
    double peakFlops = 0; ///< of the profile in the precision of the plan, in a second
};

struct ModelReport {
    std::string path;
    std::string name;
    size_t nodes = 0;                         ///< in the file, after constants were folded
    std::vector<std::string> inputs, outputs; ///< "input: float[N,3,224,224]"
    std::map<std::string, int64_t> dims;      ///< what symbols were bound to
    std::vector<std::string> notes;           ///< of LoadedModel
};

/// What the precision of the plan changed in the graph.
struct PrecisionReport {
    struct Kept {
        std::string node;
        Reason reason;
    };

    std::string name = "fp32"; ///< fp32, tf32, fp16 or bf16
    size_t narrowed = 0;       ///< nodes that compute on 16-bit values
    size_t casts = 0;          ///< Cast nodes added
    int64_t weightBytesBefore = 0, weightBytesAfter = 0;
    std::vector<Kept> kept; ///< nodes that stay in float32
};

/// How often a rule fired and what that saved.
struct RuleReport {
    std::string rule, file;
    uint32_t line = 0;
    size_t fused = 0;
    size_t nearMisses = 0;
    int64_t launchesSaved = 0;
    int64_t bytesSaved = 0;
    std::vector<std::string> hints = {}; ///< what the rule says to its users
};

/// Agreement of one output with the reference.
struct OutputAgreement {
    std::string output;
    /// "unfused", "fused"; "exact": of a strict plan, fused against unfused; "weights": 16-bit
    /// weights and Casts, all else in double precision. Where a check failed: "inputs", "rounding":
    /// what the reference's own output changes by when its inputs, or its float32 results, move by
    /// roundings; "unfused parts", "fused parts": the part of a graph that is worst by itself.
    std::string side;
    double maxAbsolute = 0;
    double maxRelative = 0; ///< to the largest magnitude of the reference output
    double tolerance = 0;   ///< on maxRelative
    bool ok = false;
    std::string note = {}; ///< what the figures do not say
    bool empty = false;    ///< it has no elements in this run, so that nothing was compared

    /// False: the reference's own output has no fixed length, and other checks decide.
    bool compares() const { return std::isfinite(tolerance); }

    /// False: roundings alone move the output by its own size, so that any other would agree.
    bool tells() const { return tolerance < 1; }
};

struct KernelReport {
    std::string name, kind, tactic, rule;
    std::string node;                 ///< of the graph; one split in parts has several kernels
    std::vector<std::string> sources; ///< names of the model's nodes
    /// Of nodes that several kernels compute, each for itself; not in `sources`.
    std::vector<std::string> recomputed = {};
    /// "exact", "wider", "reassociated", "approximate": against its nodes one by one, and the worst
    /// that is allowed.
    std::string numeric, allowed;
    std::string textHash; ///< of its kernelText; empty: not of this plan, or of an older file
    Traffic traffic;
    int64_t flops = 0;
    double predictedSeconds = 0;
    std::string limiter;
    std::optional<double> measuredSeconds; ///< median
    double rooflineSeconds = 0; ///< least time for its DRAM traffic and matrix work, predicted
    /// Only of kernels on a device.
    std::optional<KernelFacts> facts;
    std::optional<TimingSummary> inSitu, cold, warm;
    std::optional<MeasuredTraffic> measuredTraffic;
    double share = 0;              ///< of the measured (else predicted) total
    std::vector<Reason> fallbacks; ///< why no better tactic was taken
    HiddenWork hidden;             ///< what its step does beyond what the plan says
    bool isFallback = false;       ///< code that is there to be right computes it, not to be fast
};

/// A body of If, Loop or Scan: one run of it. Names in it have its path in front.
struct BodyReport {
    std::string path; ///< "If_12/then_branch/"
    bool planned = false;
    std::string whyNot; ///< of one without a plan, whose figures are zero
    /// How often the side's figures count it: 1 for the branch of an If that is predicted to take
    /// longer and 0 for the other; iterations, and 1 where their number is not known.
    double times = 1;
    size_t nodes = 0;
    int64_t launches = 0;
    Traffic traffic;
    double predictedSeconds = 0;
    std::vector<KernelReport> kernels; ///< of its plan, in order
    GraphReport graph;
};

/// A side as its kernels run, where the plan does not say all: launches of split sums, results of
/// full size that pass through a kernel's own memory.
struct RunFigures {
    int64_t launches = 0, logicalBytes = 0, intermediateBuffers = 0, peakBytes = 0;
    int64_t flops = 0;

    /// FLOP per byte that its kernels move.
    double intensity() const {
        return logicalBytes != 0 ? static_cast<double>(flops) / static_cast<double>(logicalBytes)
                                 : 0;
    }
};

/// One side, before or after fusion.
struct SideReport {
    size_t nodes = 0;    ///< with those of bodies
    size_t launches = 0; ///< with those of bodies, as often as they count
    Traffic traffic;
    int64_t peakBytes = 0;
    int64_t constantBytes = 0;
    int64_t intermediateBuffers = 0; ///< arena values
    int64_t flops = 0;
    double predictedSeconds = 0;
    std::optional<TimingSummary> measured;
    /// Of all its kernels; none unless each was counted.
    std::optional<MeasuredTraffic> measuredTraffic;
    std::vector<KernelReport> kernels; ///< of its plan, in order
    GraphReport graph;                 ///< with numbers for symbolic dimensions
    std::vector<BodyReport> bodies;    ///< inner ones before the one that they are in

    /// Steps take their memory in turns: the largest counts.
    RunFigures asRun() const {
        RunFigures out{static_cast<int64_t>(launches), traffic.logical(), intermediateBuffers,
                       peakBytes, flops};
        int64_t scratch = 0;
        for (const KernelReport& kernel : kernels) {
            if (kernel.hidden.launches == 0) // done while preparing: none of the figures has it
                continue;
            out.launches += static_cast<int64_t>(kernel.hidden.launches) - 1;
            out.logicalBytes += 2 * kernel.hidden.passedBytes;
            out.intermediateBuffers += kernel.hidden.values;
            scratch = scratch < kernel.hidden.scratchBytes ? kernel.hidden.scratchBytes : scratch;
        }
        out.peakBytes += scratch;
        return out;
    }

    /// FLOP per logical byte of its plan.
    double intensity() const {
        return traffic.logical()
                   ? static_cast<double>(flops) / static_cast<double>(traffic.logical())
                   : 0;
    }

    /// With one it was not measured as what it could be.
    size_t fallbackCount() const {
        size_t out = 0;
        for (const KernelReport& kernel : kernels)
            out += kernel.isFallback ? 1 : 0;
        return out;
    }
};

/// Small independent kernels that were offered one launch together.
struct GroupReport {
    std::vector<std::string> members;
    Reason reason;
    bool taken = false;
};

/// A fused node in several kernels, or one kernel with the cheapest cut that was not taken.
struct SplitReport {
    std::string node, rule;
    Reason reason;
    size_t parts = 0; ///< of the cut
    bool isCut = true;
    std::vector<std::vector<std::string>> cut = {}; ///< the model's nodes of each part, in order
    double secondsInParts = 0;                      ///< predicted
    std::optional<double> secondsInOne = {};        ///< none: no single kernel computes it
};

/// A stretch of kernels that runs for a few images of the batch at a time, or the best one that was
/// not taken where none was.
struct SweepReport {
    std::string first, last; ///< kernels
    int64_t images = 1, passes = 1;
    Reason reason;
    bool taken = false;
};

/// Cheap work whose result several kernels read, and whether each of them does it itself.
struct RecomputeReport {
    std::string node;
    std::vector<std::string> nodes, readers; ///< of the planned graph
    int64_t bytesSaved = 0;                  ///< logical, in all
    Reason reason;                           ///< facts once_us and again_us: predicted
    bool taken = false;
};

/// Values that kernels pass on in one order of memory, and the best other order for all of them.
struct LayoutReport {
    std::vector<std::string> values;
    std::string order, rejected;
    Reason reason; ///< facts chosen_us and rejected_us: predicted, of the whole plan
};

struct BindingReport {
    std::string name;                ///< of the rule's text
    std::vector<std::string> values; ///< names in the graph as the match found it
};

/// One fused node: where it comes from and what it saved against its nodes one by one.
struct MatchReport {
    std::string fusedNode;
    std::string body; ///< path of the body that it is in; empty: of none
    std::string rule, file;
    uint32_t line = 0;
    std::vector<std::string> nodes;   ///< of the model
    std::vector<std::string> origins; ///< of GraphNodeReport
    std::vector<std::string> labels;  ///< alternatives taken
    std::vector<BindingReport> bindings;
    int64_t bytesBefore = 0, bytesAfter = 0; ///< logical
    /// A kernel that several matches share is the launch of the first, and costs each its part.
    int64_t launchesBefore = 0, launchesAfter = 0;
    int64_t flops = 0;
    double secondsBefore = 0, secondsAfter = 0; ///< predicted
    /// Predicted seconds that the match saved when it was taken: the nodes planned by themselves
    /// against the fused node. Below zero only where deciding did not ask for a gain.
    std::optional<double> gain;
    std::optional<double> measuredBefore, measuredAfter;
    /// After / before, of the rounds in which steps were timed one by one.
    std::optional<RatioSummary> measuredRatio;
    std::string unjudged; ///< why there is none although steps were timed
    /// Largest difference of its outputs from the reference, relative to the largest magnitude
    /// there; what the nodes before it lost is in it. Only when verified.
    std::optional<double> error;

    int64_t bytesSaved() const { return bytesBefore - bytesAfter; }

    int64_t launchesSaved() const { return launchesBefore - launchesAfter; }

    /// Fusing lost time: the whole interval says so, and by more than what two measurements of one
    /// thing differ by.
    bool slower() const {
        constexpr double noise = 1.02;
        return measuredRatio && measuredRatio->low > 1 && measuredRatio->ratio > noise;
    }
};

/// One thing that the rewriter did, or a match that it refused, in order.
struct StepReport {
    enum class Kind : uint8_t { Fused, Rewritten, Refused, Stopped };

    Kind kind = Kind::Fused;
    std::string phase;
    uint32_t iteration = 0;
    std::string rule, file;
    uint32_t line = 0;
    std::vector<std::string> nodes; ///< as they were called then
    std::vector<std::string> made;
    Reason reason; ///< of Refused and Stopped
};

/// What the result of a node loses by how values are stored (8-bit pairs, 16-bit precision), with
/// what the nodes before it lost.
struct NodeErrorReport {
    std::string node, value;
    double relative = 0; ///< root of squared errors over root of squared values
    double maxAbsolute = 0;

    double decibels() const { return -20 * std::log10(relative); } ///< infinite where equal
};

struct NearMissReport {
    std::string rule, anchor, node;
    uint32_t step = 0, steps = 0;
    Reason reason;
    std::string file = {}; ///< of the rule
    uint32_t line = 0;
    std::vector<std::string> bound = {}; ///< nodes that matched before it ended
};

struct Report {
    MachineReport machine;
    ModelReport model;
    PrecisionReport precision;
    std::vector<RuleReport> rules;
    SideReport before, after;
    std::optional<RatioSummary> ratio;    ///< after / before, measured
    std::vector<std::string> timingNotes; ///< what the time to measure had no room for
    std::vector<OutputAgreement> agreement;
    std::vector<MatchReport> matches; ///< fused nodes, in the order of the fused graph
    std::vector<StepReport> steps;
    std::vector<NearMissReport> nearMisses;  ///< only when explaining
    std::vector<NodeErrorReport> nodeErrors; ///< only when asked for (app/quantize/node_error.h)
    std::vector<SplitReport> splits;
    std::vector<RecomputeReport> recomputes;
    std::vector<GroupReport> groups;
    std::vector<LayoutReport> layouts;
    std::vector<SweepReport> sweeps;
    std::vector<PairReport> pairs; ///< of a quantised model
    /// rules, load, prepare, fuse, plan_unfused, plan_fused, verify; first_run of the fused side,
    /// and first_result: from the file to the end of that run, without the unfused side.
    std::map<std::string, double> stageSeconds;

    bool verified() const {
        for (const OutputAgreement& output : agreement)
            if (!output.ok)
                return false;
        return !agreement.empty();
    }

    size_t fallbackCount() const { return before.fallbackCount() + after.fallbackCount(); }

    /// Fused nodes that lost; none when no step was timed.
    std::optional<size_t> slowerMatchCount() const {
        std::optional<size_t> out;
        for (const MatchReport& match : matches)
            if (match.measuredRatio)
                out = out.value_or(0) + (match.slower() ? 1 : 0);
        return out;
    }

    /// The ratio may be called a speed-up: of results that agree, or that nobody asked to compare.
    bool hasSpeedUp() const {
        return ratio && (verified() || agreement.empty()) && fallbackCount() == 0;
    }
};

} // namespace fuselage::app
