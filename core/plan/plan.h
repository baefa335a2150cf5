// SPDX-License-Identifier: Apache-2.0
// A Plan: the ordered kernel programs and the buffers of one graph with static shapes, for one
// device profile and precision. Built once, run many times.
#pragma once

#include "core/cost/cost.h"
#include "core/kernel/image_slice.h"
#include "core/kernel/program.h"
#include "core/ops/precision.h"
#include "core/support/progress.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace fuselage {

/// Where a value lives.
enum class Residence : uint8_t {
    Input,    ///< the caller's tensor
    Constant, ///< weights, owned by the graph
    Arena,    ///< offset in the plan's arena
    Output,   ///< the caller gets it
    Alias,    ///< a view of `aliasOf`: same memory, own extents, strides and offset
    Host,     ///< sequences, strings and other values without a fixed size
};

struct PlanValue {
    std::string name;
    ValueId value; ///< in Plan::graph
    DType dtype = DType::Undefined;
    Extents extents;
    Extents strides; ///< in elements, per logical dimension: the layout (row-major unless chosen)
    Residence residence = Residence::Arena;
    int64_t bytes = 0;  ///< of its own allocation; 0 for aliases
    int64_t offset = 0; ///< bytes from the start of the arena, of an alias from that of aliasOf
    uint32_t aliasOf = 0;
    TensorPtr constant;
    uint32_t firstStep = 0, lastStep = 0; ///< lifetime, inclusive
    /// Of a sweep: memory for the images of one pass, at `offset` in that of each worker.
    bool inner = false;
    /// A constant, or computed from constants alone, which backends do while they prepare, into
    /// memory of its own: an arena value without a place there.
    bool isFixed = false;
};

struct Plan;

/// A body of If, Loop or Scan, planned for the shapes that its step's operands have.
struct BodyPlan {
    std::string attribute;            ///< "then_branch"
    std::shared_ptr<const Plan> plan; ///< null where its shapes show in a run only
    std::string whyNot;               ///< of one without a plan
    /// How often the figures of the step count it: 1 for the branch of an If that is predicted to
    /// take longer and 0 for the other; iterations, and 1 where their number is not known.
    double times = 1;
};

/// One launch, or the bodies of If, Loop or Scan.
struct Step {
    NodeId node; ///< in Plan::graph
    std::string name;
    KernelProgram program;
    std::vector<uint32_t> inputs;     ///< plan values, parallel to program.inputs
    std::vector<uint32_t> outputs;    ///< plan values, parallel to program.outputs
    std::vector<std::string> sources; ///< names of the model's nodes it computes
    /// Of nodes that several steps compute, each for itself (RecomputeRecord); not in `sources`.
    std::vector<std::string> recomputed = {};
    std::string rule; ///< of a fused node, else empty
    Traffic traffic;
    TimeEstimate predicted;
    bool inPlace = false; ///< output 0 reuses the memory of an input
    /// The worst class against its nodes one by one that the rule and the options allow, and the
    /// class it got: that of the program. With tf32 it is approximate whatever is allowed.
    NumericClass allowed = NumericClass::Reassociated;
    NumericClass numeric = NumericClass::Exact;
    bool strict = false; ///< allowed is exact: backends keep the order of operations
    bool tf32 = false;   ///< float32 operands of its contractions may be rounded to TF32
    /// Of If, Loop and Scan. Where all have plans, traffic and predicted are theirs.
    std::vector<BodyPlan> bodies = {};

    bool hasBodyPlans() const; ///< all bodies have, and there are some
};

/// A fused node in parts: because no single program computes it, or because that one is predicted
/// to be slower. Where the whole was kept against the cheapest cut: that cut and its price.
struct SplitRecord {
    std::string node;
    std::string rule;
    Reason reason;
    uint32_t parts = 0;
    bool isCut = true;
    std::vector<std::vector<std::string>> cut = {}; ///< the model's nodes of each part, in order
    double seconds = 0;                             ///< predicted, of the parts one after the other
    std::optional<double> wholeSeconds = {};        ///< of the one kernel; none: there is none
};

/// Cheap work whose result several steps read, offered to each of them to compute again, so that
/// nobody writes it: all of them do, or none.
struct RecomputeRecord {
    std::string node;                 ///< makes what they read
    std::vector<std::string> nodes;   ///< computed again: it, and what leads to it alone
    std::vector<std::string> readers; ///< nodes of the planned graph
    int64_t bytesSaved = 0;           ///< logical, in all
    /// Predicted, of this work and its readers.
    double secondsBefore = 0, secondsAfter = 0;
    Reason reason; ///< what decided
    bool taken = false;
};

/// Values joined by steps that lie in one order of memory, and the best other order for all of
/// them.
struct LayoutRecord {
    std::vector<std::string> values;
    std::string order, rejected;             ///< in words: "channels innermost"
    double seconds = 0, secondsRejected = 0; ///< predicted, of the whole plan
    Reason reason;
};

/// Steps that were offered one launch together: small independent ones, products of one operand, or
/// a product and the one that multiplies what it makes.
struct GroupRecord {
    std::string name; ///< of the step that they became, or would have become
    std::vector<std::string> members;
    Reason reason; ///< what decided
    bool taken = false;
};

/// Consecutive steps that all run for a few images (positions along the first dimension) before
/// the next few, so that what passes between them stays in a cache. Every worker has passes of its
/// own.
struct Sweep {
    uint32_t first = 0, last = 0;   ///< steps, inclusive
    int64_t images = 1, passes = 1; ///< images of one pass
    uint32_t workers = 1;
    std::vector<ImageSlice> slices; ///< the steps' programs for one pass
    std::vector<Traffic> traffic;   ///< of the steps, over all passes
    int64_t workerBytes = 0;        ///< of inner values, for each worker
    int64_t offset = 0;             ///< in the arena, of the first worker's
    Reason reason;                  ///< what decided
};

/// A stretch of steps that was offered to run for a few images at a time: each sweep of a plan, or
/// of one without any the best that it might have had.
struct SweepRecord {
    std::string first, last; ///< names of steps
    int64_t images = 1, passes = 1;
    Reason reason; ///< what decided
    bool taken = false;
};

/// What a planner may do besides one kernel for each node; bodies are planned alike.
struct PlanForm {
    bool reuseMemory = true;
    /// Transpose, Slice, Split and Concat as views; false: one kernel each.
    bool stridedViews = true;
    /// Cheap work with several readers is done again in each, and Casts by what makes or reads
    /// their operand, where that is predicted to be faster.
    bool recompute = false;
    /// Products of one operand become one, and on a GPU small independent steps share a launch,
    /// where the cost model says that it pays. Not in strict plans or without strided views.
    bool groupSmall = false;
    /// Steps run for a few images at a time where the backend can and the cost model says that it
    /// pays; false: each step for the whole batch.
    bool sweeps = false;
    /// Worst class of each rule by name; reassociated where absent.
    std::map<std::string, NumericClass> allowed = {};
};

struct Plan {
    std::shared_ptr<const Graph> graph;
    PlanForm form;                         ///< as asked for
    Precision precision = Precision::Fp32; ///< as asked for; the graph is already converted
    bool strict = false;                   ///< every step is exact; layouts follow the model
    std::vector<PlanValue> values;
    std::vector<Step> steps;
    std::vector<uint32_t> inputs;  ///< plan values, parallel to the graph's inputs
    std::vector<uint32_t> outputs; ///< plan values, parallel to the graph's outputs
    std::vector<SplitRecord> splits;
    std::vector<RecomputeRecord> recomputes;
    std::vector<GroupRecord> groups;
    std::vector<LayoutRecord> layouts;
    std::vector<SweepRecord> sweepOffers;
    bool pricedLayouts = false; ///< predicted times know how operands lie
    std::vector<Sweep> sweeps;  ///< ascending, apart
    int64_t arenaBytes = 0;     ///< size of the arena after placement
    /// Exact: the largest sum of live arena and output bytes at any step, and what was computed
    /// while preparing and is read in a run.
    int64_t peakBytes = 0;
    int64_t constantBytes = 0;

    /// Whether the step is computed while preparing: its results are fixed, and live in the arena.
    /// It has no part in the figures of a run.
    bool isOnce(const Step& step) const;

    Traffic totalTraffic() const;
    TimeEstimate totalPredicted() const;
    /// Steps and FLOP of a run; those of bodies as often as their step counts them.
    int64_t totalLaunches() const;
    int64_t totalFlops() const;
};

/// The sweep that runs the step; null: none does.
const Sweep* sweepOf(const Plan& plan, size_t step);

/// Where a value lies in the memory of the one that owns it.
struct RootPlace {
    uint32_t root = 0;  ///< itself, or the end of its alias chain
    int64_t offset = 0; ///< bytes from the root's start
};

RootPlace placeOf(const Plan& plan, uint32_t value);

inline uint32_t rootOf(const Plan& plan, uint32_t value) {
    return placeOf(plan, value).root;
}

} // namespace fuselage
