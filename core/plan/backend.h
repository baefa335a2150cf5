// SPDX-License-Identifier: Apache-2.0
// Backends turn a Plan into something that runs.
#pragma once

#include "core/graph/run_shapes.h"
#include "core/ops/op_table.h"
#include "core/plan/kernel_facts.h"
#include "core/plan/plan.h"
#include "core/support/progress.h"

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace fuselage {

/// What a run should show besides its outputs. Each costs time; a run without them is what people
/// wait for.
struct RunOptions {
    bool stepSeconds = false;
    bool stepBytes = false;
    bool deviceSeconds = false;
    bool shapes = false;
};

/// What a run gave. Beyond `outputs`, what RunOptions asked for and the backend can tell.
struct RunResult {
    std::vector<Tensor> outputs;
    std::vector<double> stepSeconds; ///< parallel to Plan::steps
    std::string stepTimingNote;      ///< how steps were timed, where that needs a word
    /// Bytes read and written as the kernels counted them, parallel to Plan::steps; none for
    /// programs without a counter.
    std::vector<std::optional<int64_t>> stepBytes;
    /// The device's own time, without copies of inputs and outputs; none without a device.
    std::optional<double> deviceSeconds;
    /// What the run showed of shapes that depend on data; empty where the backend cannot look.
    RunShapes shapes;
};

/// A prepared Plan: weights packed, kernels chosen, arena allocated. Not thread-safe.
class Executable {
public:
    virtual ~Executable() = default;
    virtual Result<RunResult> run(std::span<const Tensor> inputs, const RunOptions& options,
                                  Progress& progress) = 0;

    /// A run for its outputs alone.
    Result<std::vector<Tensor>> outputs(std::span<const Tensor> inputs, Progress& progress) {
        auto ran = run(inputs, {}, progress);
        if (!ran)
            return failure(ran.error());
        return std::move(ran->outputs);
    }

    /// What computes a step: "onednn brgconv:avx512_core", "tile interpreter", "reference Conv".
    virtual std::string tactic(size_t step) const = 0;
    /// Why a better tactic was not taken; empty when none was better.
    virtual std::vector<Reason> fallbacks(size_t step) const = 0;

    /// Whether a step that such backends have kernels for (a product, a pool, a copy ...) runs by
    /// plain or reference loops instead, many times slower: times with it are no fair measure.
    virtual bool isFallback(size_t step) const { return (void)step, false; }

    /// The class of the way that the backend chose to compute a step, beside that of the plan.
    virtual NumericClass numeric(size_t step) const { return (void)step, NumericClass::Exact; }

    /// What the plan does not say of a step.
    virtual HiddenWork hiddenWork(size_t step) const { return (void)step, HiddenWork{}; }

    /// None where the backend has nothing to say.
    virtual std::optional<KernelFacts> kernelFacts(size_t step) const {
        return (void)step, std::nullopt;
    }

    /// Times a step by itself on the values of the last run. Error "run.isolated" where the backend
    /// cannot.
    virtual Result<IsolatedTimes> timeIsolated(size_t step, uint32_t rounds) {
        return (void)step, (void)rounds,
               failure("run.isolated", "this backend does not time single steps");
    }

    /// Bytes of each step by hardware counters: runs the plan again, as often as counters need, and
    /// outside of anything timed. Errors: "run.counters" where they cannot be read, which says why
    /// and costs nothing else; those of run().
    virtual Result<TrafficCounts> countTraffic(std::span<const Tensor> inputs, Progress& progress) {
        return (void)inputs, (void)progress,
               failure("run.counters", "this backend has no hardware counters");
    }
};

class Backend {
public:
    virtual ~Backend() = default;
    virtual std::string name() const = 0; ///< "cpu", "reference"
    /// One line for people: what was found on this machine.
    virtual std::string description() const = 0;
    /// None when the backend can run the program, else why not.
    virtual std::optional<Reason> supports(const KernelProgram& program) const = 0;
    /// Whether the planner chooses memory orders by price, as the time model knows what the
    /// backend's kernels take in each.
    virtual bool pricesLayouts(const Plan& plan) const { return (void)plan, false; }
    /// Whether a Library program writes its outputs in the order in which its inputs lie.
    virtual bool followsOrder(const KernelProgram& program) const { return (void)program, false; }
    /// Where they are not priced: other strides for values, by rules of the backend. Called with
    /// lowered steps, before views and buffers.
    virtual void chooseLayouts(Plan& plan) const { (void)plan; }
    /// The backend runs on a device, and the host computes this step between two copies.
    virtual bool isForHost(const Plan& plan, const Step& step) const {
        return (void)plan, (void)step, false;
    }
    /// Whether steps that read constants alone are computed while preparing.
    virtual bool preparesConstants() const { return true; }
    /// Plan values, and whole views of them, of which steps read nothing but the constants of fewer
    /// bits that they are dequantised from, and the bytes of these.
    virtual std::map<uint32_t, int64_t> storedBytes(const Plan& plan) const {
        return (void)plan, std::map<uint32_t, int64_t>();
    }
    /// Workers that take passes of a sweep side by side; 0: it runs none.
    virtual uint32_t sweepWorkers() const { return 0; }
    /// Numbers of the device it runs on, where it can ask for them or uses a part of it.
    virtual std::optional<DeviceProfile> profile() const { return std::nullopt; }

    /// What countTraffic() would count with; error "run.counters" as there.
    virtual Result<std::string> counters() const {
        return failure("run.counters", "this backend has no hardware counters");
    }

    /// What people should know of what was prepared: lines of a file that were skipped.
    virtual std::vector<std::string> notes() const { return {}; }

    virtual Result<std::unique_ptr<Executable>> prepare(std::shared_ptr<const Plan> plan,
                                                        Progress& progress) = 0;
};

namespace cpu {
class SharedPages;
}

struct CpuOptions {
    int threads = 0;     ///< 0: all of the machine
    bool strict = false; ///< round to the edge's dtype at every inner edge (N0)
    /// Whether ways to compute a step that are predicted to be about as fast are measured while
    /// preparing; if not, the same choice is made every time.
    bool tune = false;
    std::string timingCache; ///< file that keeps what was measured; empty: this process only
    /// Of packed weights, where the backend prepares many plans with the same ones; null: each plan
    /// holds its own.
    std::shared_ptr<cpu::SharedPages> shared = nullptr;
};

/// oneDNN for contractions, pooling and normalisation; the tile interpreter for the rest.
std::unique_ptr<Backend> makeCpuBackend(const CpuOptions& options);

/// Double precision, one operator at a time: the judge of the others.
std::unique_ptr<Backend> makeReferenceBackend(int threads = 0);

/// Runs any graph (dynamic shapes, control flow, sequences) through the reference functions,
/// without a Plan. Inputs are parallel to the graph's inputs; `keep` names inner values to
/// return besides the outputs. With `roundingSeed` not the exact answer but one that float32 might
/// give: every float32 result is moved by a few roundings (core/cpu/rounding_noise.h).
Result<std::vector<ReferenceValue>> interpret(const Graph& graph,
                                              std::vector<ReferenceValue> inputs,
                                              ThreadPool& threads, Progress& progress,
                                              const std::vector<ValueId>& keep = {},
                                              std::optional<uint64_t> roundingSeed = {});

} // namespace fuselage
