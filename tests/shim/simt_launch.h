// SPDX-License-Identifier: Apache-2.0
// Runs one kernel of the generated suite as the device would: block after block, or cluster after
// cluster, its threads as fibers. Stops the program with a message at divergent barriers,
// mismatched masks and accesses outside the operands.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

namespace simt {

/// A kernel of the generated suite.
struct KernelRow {
    const char* name;
    void (*entry)(void* const* arguments);
};

/// The generated suite.
std::span<const KernelRow> kernels();

struct Launch {
    std::string name; ///< for messages
    void (*entry)(void* const* arguments) = nullptr;
    void* const* arguments = nullptr;
    std::array<uint32_t, 3> grid{1, 1, 1}, block{1, 1, 1};
    uint32_t sharedBytes = 0;
    /// Asynchronous copies are done when they are asked for: else when they are waited for. A
    /// device may do either, so a kernel must be right with both.
    bool earlyCopies = false;
    /// Blocks come in any order; the last one first is as good.
    bool lastBlockFirst = false;
    /// Memory by which blocks pass values to each other: looked at (crossings.h).
    const void* passed = nullptr;
    size_t passedBytes = 0;
    /// Opens (true) and closes the memory that kernels before this one may write. Where it is given
    /// the launch is an early one: a thread finds that memory closed until it has waited for those
    /// kernels, and must not end before that.
    std::function<void(bool open)> gate;
    /// Neighbouring blocks along x that run at the same time, each with shared memory of its own.
    uint32_t clusterBlocks = 1;
};

/// Stops the program where the kernel does what it must not.
void run(const Launch& launch);

/// How a kernel ended that is not to stop the program.
struct Outcome {
    std::string message; ///< empty: as it should
    bool fault = false;  ///< it touched memory that is not there

    bool ok() const { return message.empty(); }
};

/// Leaves the kernel where it does what it must not.
Outcome tryRun(const Launch& launch);

/// Memory whose neighbourhood faults: bytes before and after it belong to no one. Filled with ones,
/// which is NaN in every float type.
class GuardedMemory {
public:
    explicit GuardedMemory(size_t bytes);
    ~GuardedMemory();
    GuardedMemory(const GuardedMemory&) = delete;
    GuardedMemory& operator=(const GuardedMemory&) = delete;
    GuardedMemory(GuardedMemory&& other) noexcept;

    std::byte* data() const { return m_data; }
    size_t size() const { return m_bytes; }

    /// Lets every access fault, or lets them in again.
    void setOpen(bool open) const;

    /// False when bytes right before or after, up to the alignment, were changed.
    bool intact() const;

private:
    std::byte* m_pages = nullptr;
    size_t m_mapped = 0, m_page = 0, m_bytes = 0;
    std::byte* m_data = nullptr;
};

} // namespace simt
