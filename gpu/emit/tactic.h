// SPDX-License-Identifier: Apache-2.0
// A tactic is one way to compute one step of a plan on a CUDA device: a generated kernel, a
// cuBLASLt call, a cuDNN plan, or a copy to the host and the reference function. Sources enumerate
// the legal ones, the tuner measures them, the executable records the chosen one. No source knows a
// rule's name.
#pragma once

#include "core/support/progress.h"
#include "core/support/result.h"
#include "gpu/emit/emit.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace fuselage::gpu {

class Device; ///< gpu/runtime/device.h: context, memory, modules
class Stream; ///< gpu/runtime/stream.h

using DevicePointer = uint64_t;

/// What is known of a tactic once it is built; goes into the timing cache and the report.
struct TacticFacts {
    NumericClass numeric = NumericClass::Exact;
    int64_t workspaceBytes = 0;
    int64_t passedBytes = 0; ///< of those: parts of sums, which blocks or launches leave to others
    int64_t valueBytes = 0;  ///< of those: a value between two launches, which no limit is for
    bool deterministic = true; ///< same bits on every run
    uint32_t registers = 0;    ///< a thread's; 0: a library's kernel
    uint32_t sharedBytes = 0;
    uint32_t localBytes = 0; ///< spills of a thread
    uint32_t launches = 1;
    uint32_t residentBlocks = 0; ///< on a multiprocessor, of the kernel with the fewest threads
                                 ///< there; 0: not known
    double occupancy = 0;        ///< share of the multiprocessor's threads that those are
    std::string notes;           ///< "split-k 4", "engine 7, JIT"
    bool fallback = false;       ///< a last resort: the host computes it
    bool plain = false;          ///< simple scalar code: the others are compared with it
};

/// Where a launch reads and writes: device addresses of the program's operands. For a constant that
/// the tactic packed for itself the entry is not used.
struct LaunchArguments {
    std::span<const DevicePointer> inputs, outputs;
    DevicePointer workspace = 0;
};

class Tactic {
public:
    virtual ~Tactic() = default;
    /// Stable between processes and machines, unique within a request: "row_warp", "cublaslt 128x64
    /// k2". The tuner's last tie-breaker and the cache's key for this candidate.
    virtual std::string name() const = 0;
    /// Compiles or plans. Needs no device memory; may run beside other tactics' builds.
    virtual Result<void> build(Progress& progress) = 0;
    /// Valid after build(); of generated kernels `plain` is so before.
    virtual TacticFacts facts() const = 0;
    /// Packs the constants it wants in its own form, on the host; may run beside other tactics'.
    virtual Result<void> packConstants() { return {}; }
    /// Loads code and uploads those constants, which it packs where nobody has asked it to. Once,
    /// before enqueue.
    virtual Result<void> load(Device& device) = 0;
    /// Whether enqueue reads inputs[operand]: false for a constant that load() packed for itself.
    virtual bool reads(size_t operand) const { return (void)operand, true; }
    /// Adds the launches to the stream: no allocation, no synchronisation, may be captured.
    virtual Result<void> enqueue(Stream& stream, const LaunchArguments& arguments) = 0;
    /// The text of generated kernels, null for libraries.
    virtual const KernelSet* kernels() const { return nullptr; }
    /// Those whose launches it adds: itself, but for tactics that are made of others.
    virtual std::vector<const Tactic*> parts() const { return {this}; }
};

struct TacticList {
    std::vector<std::unique_ptr<Tactic>> candidates; ///< cheap to make: nothing is built yet
    std::vector<Reason> refused;                     ///< facts name the tactic
};

/// Generated kernels, cuBLASLt, cuDNN, host.
class TacticSource {
public:
    virtual ~TacticSource() = default;
    virtual const char* name() const = 0;
    /// Of the library behind it; part of every key of the timing cache.
    virtual std::string version() const = 0;
    virtual TacticList candidates(const KernelRequest& request) = 0;
    /// All of its tactics are what is left where nothing else is.
    virtual bool isLastResort() const { return false; }
};

} // namespace fuselage::gpu
