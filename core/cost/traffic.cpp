// SPDX-License-Identifier: Apache-2.0
// Bytes of one program: logical by counting, L2 by passes over tiles, DRAM by stack distance.
#include "core/cost/cost.h"
#include "core/cost/operand_bytes_internal.h"
#include "core/cost/pass_bytes.h"

#include <algorithm>
#include <numeric>

namespace fuselage {

Traffic& Traffic::operator+=(const Traffic& other) {
    logicalRead += other.logicalRead;
    logicalWritten += other.logicalWritten;
    l2 += other.l2;
    dram += other.dram;
    return *this;
}

namespace {

/// A GPU's writes all go out. A processor fetches a line before it writes into it, and keeps lines
/// that fit its caches until the arena's next value overwrites them.
int64_t writtenToDram(const OperandBytes& bytes, const DeviceProfile& profile, double resident) {
    double out = 0;
    for (int64_t written : bytes.written) {
        const auto size = static_cast<double>(written);
        const bool cached = profile.kind == DeviceKind::Cpu && resident > 0;
        out += cached ? 2 * size * std::min(1.0, size / resident) : size;
    }
    return static_cast<int64_t>(out);
}

/// Share of an operand that a core's own cache does not hold any more.
double coreMissShare(double distance, double bytes, const DeviceProfile& profile) {
    return std::clamp(4 * (distance + bytes) / (profile.coreBytes * profile.units) - 3, 0.0, 1.0);
}

/// Code and tables of a kernel.
constexpr double codeBytes = 65536;

/// Of a line that is written into and not in a core's own cache: it is fetched first, but nothing
/// waits for most of them.
constexpr double fetchedShare = 0.5;

/// Bytes of results whose memory a core's own cache does not hold any more; where nothing is known
/// of it, as much as of what is read.
double missedPlaces(const OperandBytes& bytes, const std::vector<int64_t>& distances,
                    double missedRead, const DeviceProfile& profile) {
    double read = 0, out = 0;
    for (int64_t size : bytes.read)
        read += static_cast<double>(size);
    for (size_t i = 0; i < bytes.written.size(); ++i) {
        const auto size = static_cast<double>(bytes.written[i]);
        if (i < distances.size())
            out += size * coreMissShare(static_cast<double>(distances[i]), size, profile);
        else if (read > 0)
            out += size * missedRead / read;
    }
    return out;
}

} // namespace

double missShare(double distance, double bytes, const DeviceProfile& profile) {
    const double resident = profile.residency * profile.l2Bytes;
    return resident > 0 ? std::clamp((distance + bytes) / resident, 0.0, 1.0) : 1;
}

PassBytes passBytes(const KernelProgram& program, const DeviceProfile& profile) {
    const OperandBytes bytes = operandBytes(program);
    PassBytes out;
    out.read.assign(bytes.read.begin(), bytes.read.end());
    out.written.assign(bytes.written.begin(), bytes.written.end());
    out.passes = readPasses(program, profile);
    out.passes.resize(out.read.size(), 1.0);
    return out;
}

namespace {

Traffic logicalOf(const OperandBytes& bytes) {
    Traffic out;
    out.logicalRead = std::accumulate(bytes.read.begin(), bytes.read.end(), int64_t(0));
    out.logicalWritten = std::accumulate(bytes.written.begin(), bytes.written.end(), int64_t(0));
    return out;
}

} // namespace

Traffic logicalTraffic(const KernelProgram& program) {
    return logicalOf(operandBytes(program));
}

Traffic predictTraffic(const KernelProgram& program, const DeviceProfile& profile,
                       const UseDistances& distances) {
    OperandBytes bytes = operandBytes(program);
    for (size_t i = 0; i < bytes.read.size() && i < distances.share.size(); ++i)
        bytes.read[i] =
            static_cast<int64_t>(static_cast<double>(bytes.read[i]) * distances.share[i]);
    std::vector<double> passes = readPasses(program, profile);
    passes.resize(bytes.read.size(), 1.0);
    const double resident = profile.residency * profile.l2Bytes;
    Traffic out = logicalOf(bytes);
    double l2 = 0, dram = 0, missed = 0;
    for (size_t i = 0; i < bytes.read.size(); ++i) {
        const auto size = static_cast<double>(bytes.read[i]);
        l2 += size * passes[i];
        const int64_t distance = i < distances.read.size() ? distances.read[i] : -1;
        // A producer's data is found as long as not too much came between.
        missed += size * (distance < 0 || profile.coreBytes <= 0
                              ? 1
                              : coreMissShare(static_cast<double>(distance), size, profile));
        dram += size * (distance < 0 ? 1 : missShare(static_cast<double>(distance), size, profile));
    }
    if (profile.kind == DeviceKind::Cpu) {
        const double staged = 4 * static_cast<double>(stagedElements(program));
        dram += staged * missShare(0, staged, profile);
        if (resident > 0)
            dram += 2 * staged * std::min(1.0, staged / resident);
        if (profile.coreBytes > 0)
            missed += staged * coreMissShare(0, staged, profile);
    }
    out.l2 = static_cast<int64_t>(l2) + out.logicalWritten;
    // A core cuts its work so that its own cache holds what it reads again.
    if (profile.coreBytes > 0)
        out.l2 = static_cast<int64_t>(
            missed + fetchedShare * missedPlaces(bytes, distances.written, missed, profile) +
            codeBytes * coreMissShare(static_cast<double>(distances.code), codeBytes, profile));
    out.dram = static_cast<int64_t>(dram) + writtenToDram(bytes, profile, resident);
    return out;
}

} // namespace fuselage
