// SPDX-License-Identifier: Apache-2.0
// Traffic, time and the decision whether a fusion pays. Formulas: README.md of this folder.
#pragma once

#include "core/kernel/program.h"
#include "core/support/result.h"

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace fuselage {

/// Bytes moved by one kernel; logical is exact (every operand element an Access touches counts
/// once per operand), L2 and DRAM are predicted from the device profile.
struct Traffic {
    int64_t logicalRead = 0;
    int64_t logicalWritten = 0;
    int64_t l2 = 0;
    int64_t dram = 0;

    int64_t logical() const { return logicalRead + logicalWritten; }

    Traffic& operator+=(const Traffic& other);
};

/// Predicted seconds with the resource that limits it.
struct TimeEstimate {
    double seconds = 0;
    double low = 0, high = 0; ///< interval of the estimate
    double launch = 0, dram = 0, l2 = 0, issue = 0, matrix = 0;
    std::string limiter; ///< "dram", "l2", "issue", "matrix", "launch"

    /// One after the other; what limits the sum is not said.
    TimeEstimate& operator+=(const TimeEstimate& other);
};

enum class DeviceKind { Gpu, Cpu };

const char* nameOf(DeviceKind kind); ///< "gpu", "cpu"

/// Numbers of one device; a data file in resources/devices. Bytes, seconds, hertz; FLOP/s.
struct DeviceProfile {
    std::string name;  ///< "h200"
    std::string title; ///< "NVIDIA H200"
    DeviceKind kind = DeviceKind::Gpu;
    std::string arch;     ///< "sm_90", "x86-64"
    std::string measured; ///< day on which its figures were measured, "2026-01-31"; may be empty
    std::string origin;   ///< where these figures come from: a built-in profile or a file
    double units = 1;     ///< SMs or cores
    double lanesPerUnit = 1;
    double clock = 1e9;
    double dramBandwidth = 1; ///< of a copy
    double l2Bandwidth = 1;
    double l2Bytes = 0;
    double fp32Flops = 1, fp16MatrixFlops = 1, tf32MatrixFlops = 1;
    double matrixEfficiency = 0.75; ///< share of the matrix peak that large tiles reach
    double filterGain = 1; ///< speed of 3x3 convolutions of stride 1 over that of their FLOPs
    /// Speed of products of 8-bit integers over that of float32; 0: they run on lanes.
    double integerGain = 0;
    double launchSeconds = 0;  ///< per node of a captured graph
    double productSeconds = 0; ///< of a GPU's product beside its work: its first and last tile
    double sharedBytesPerUnit = 0, registersPerUnit = 0, threadsPerUnit = 0;
    double linkBandwidth = 2.5e10; ///< between the host's memory and the device's, one way
    double linkSeconds = 1e-5;     ///< to wait for the device, and to start it again
    double issueEfficiency = 0.9;  ///< share of issue slots that tapes fill
    /// What kernels cost beside their tapes, in lane instructions: an element folded by a
    /// reduction, a row of a stage, an element of a pooling window, a score of an attention.
    double reduceIssue = 1, rowIssue = 0, windowIssue = 2, scoreIssue = 8;
    /// Beside loads and stores: a run that a copy moves, an element that it turns, one that a
    /// routine of an operator's own makes.
    double runIssue = 0, turnIssue = 0, routineIssue = 0;
    double laneProductIssue = 1; ///< a multiply-add of a product that runs on lanes
    double epilogueShare = 1;    ///< of a product's epilogue that takes time beside the product
    double convolutionShare = 1; ///< of matrixEfficiency that convolutions reach
    double fewChannels = 0;      ///< channels at which a convolution reaches half of its speed
    double vectorLanes = 1;      ///< results of a product are computed in multiples of so many
    double coreBytes = 0;        ///< cache of one core: programs that fit wait for no other
    /// Of what that has lost, for kernels that compute with it before they ask for more; 0: as the
    /// last cache sends a stream.
    double waitBandwidth = 0;
    double forkSeconds = 0; ///< to share a program among the cores
    /// Lane instructions of tape operations by TapeOp; 0: those of core/ops/tape.cpp.
    std::array<double, tapeOpCount> tapeIssue{};
    double overlap = 6;                         ///< p of the norm that combines the resources
    double residency = 0.7;                     ///< share of L2 that a producer's data can count on
    std::map<std::string, std::string> sources; ///< field -> "sheet", "measured", "recalled"
};

/// A processor's profile for so many of its cores; any other as it is.
DeviceProfile withCores(DeviceProfile profile, double cores);

/// All built-in profiles, and this machine's CPU as "cpu": the calibrated one, else a built-in one
/// for its kind. Nothing is measured.
std::vector<std::string> deviceProfileNames();
Result<DeviceProfile> deviceProfile(const std::string& nameOrPath);

/// Where the calibrated profile of this machine's CPU is looked for: $FUSELAGE_CPU_PROFILE (`none`:
/// nowhere), else the person's configuration folder. Empty: nowhere.
std::string calibratedProfilePath();

/// The profile as a file that deviceProfile() reads again, every figure with its source.
std::string text(const DeviceProfile& profile);

/// Logical bytes of one program (exact; equals the counter of the tile interpreter).
Traffic logicalTraffic(const KernelProgram& program);

/// What caches know of a program's operands where it runs: distinct bytes touched since.
struct UseDistances {
    std::vector<int64_t> read;    ///< per input, since it was made; below 0: it comes from DRAM
    std::vector<int64_t> written; ///< per output, since its memory was last used; may be empty
    int64_t code = 0;             ///< since a kernel ran that shares its code
    /// Per input, of its bytes what is read: below 1 for weights that a product multiplies by as
    /// they are stored, in fewer bits; empty: all.
    std::vector<double> share = {};
};

/// Adds L2 and DRAM predictions. Without distances of what is written a processor has lost as much
/// of that as of what is read.
Traffic predictTraffic(const KernelProgram& program, const DeviceProfile& profile,
                       const UseDistances& distances);

TimeEstimate predictTime(const KernelProgram& program, const Traffic& traffic,
                         const DeviceProfile& profile);

/// Of a step that the host's reference functions compute for a device: its operands come over the
/// link, its results go back, and the captured graph is broken. Limiter: "host" or "link".
TimeEstimate predictHostTime(const KernelProgram& program, const Traffic& traffic,
                             const DeviceProfile& profile);

} // namespace fuselage
