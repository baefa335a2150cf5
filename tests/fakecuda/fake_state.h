// SPDX-License-Identifier: Apache-2.0
// State of the stand-in driver. Work is queued and runs only where the caller waits for it, so a
// missing wait shows; capture records; what the real driver forbids fails with its codes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace fakecuda {

enum Code : int {
    Success = 0,
    InvalidValue = 1,
    OutOfMemory = 2,
    NotInitialized = 3,
    InvalidDevice = 101,
    InvalidImage = 200,
    InvalidContext = 201,
    InvalidHandle = 400,
    LossyQuery = 402,
    NotFound = 500,
    NotReady = 600,
    IllegalAddress = 700,
    LaunchFailed = 719,
    NotSupported = 801,
    CaptureUnsupported = 900,
    CaptureInvalidated = 901,
    CaptureUnmatched = 903,
    CaptureWrongThread = 908,
    InvalidClusterSize = 912,
};

/// Device or pinned memory with unreadable pages on both sides. Filled with ones, which is NaN in
/// every float type; stays unreadable for good once it is freed.
struct Allocation {
    std::byte* pages = nullptr;
    size_t mapped = 0;
    std::byte* data = nullptr;
    size_t bytes = 0, margin = 0; ///< bytes behind the data that must keep their pattern
    bool pinned = false;

    void setOpen(bool open) const; ///< false: every access faults
    void mark() const;             ///< writes the margin's pattern
    bool intact() const;
};

/// One kernel of a loaded module.
struct Function {
    std::string name;
    void (*run)(void* const*) = nullptr;
    std::vector<unsigned> sizes; ///< of its arguments
    int dynamicShared = 48 << 10;
};

struct Module {
    void* handle = nullptr; ///< of dlopen
    std::map<std::string, std::unique_ptr<Function>> functions;
};

/// CUgraphNodeType of what is recorded.
enum class NodeKind : int { Kernel = 0, Copy = 1, Fill = 2, Empty = 5 };

/// One piece of work; `run` does it and gives the code that it ends with.
struct Node {
    NodeKind kind = NodeKind::Empty;
    std::string name;
    std::function<int()> run;
    uint64_t id = 0;
};

struct Graph {
    std::vector<std::shared_ptr<Node>> nodes;
};

struct Stream {
    std::deque<std::shared_ptr<Node>> queue;
    uint64_t queued = 0, done = 0; ///< pieces of work so far
    std::unique_ptr<Graph> capture;
    int captureMode = 0; ///< CUstreamCaptureMode
    std::thread::id captureThread;
    bool invalidated = false;
    std::string hanging; ///< a kernel that never ends; empty: none
};

struct Event {
    Stream* stream = nullptr;
    uint64_t position = 0; ///< reached when the stream has done so many
    double seconds = -1;   ///< when it was reached
};

/// One call that fails from now on, after `skip` more that do not.
struct Injection {
    int code = 0, skip = 0;
};

/// What kernels of some name do in place of what they should.
enum class Spoiled : int {
    Wrong = 1,      ///< one element of the result is another
    Unwritten = 2,  ///< one element stays as it was
    Fault = 3,      ///< an illegal address, after which nothing runs
    Hang = 4,       ///< never ends
    Crash = 5,      ///< the process is killed
    InPlace = 6,    ///< one element of the result is another where it lies on an operand
    Early = 7,      ///< one element of the result is another where the kernel is launched early
    EarlyFault = 8, ///< an illegal address where the kernel is launched early
};

struct State {
    std::recursive_mutex mutex;
    bool initialised = false;
    int sticky = Success; ///< a kernel's fault: every later call gives it
    std::string lastMessage;
    std::map<uint64_t, Allocation> memory;
    std::set<Stream*> streams;
    std::map<std::string, Injection> injections;
    std::map<std::string, Spoiled> spoiled; ///< by a piece of the kernel's name
    uint64_t nextNodeId = 1, launches = 0, graphLaunches = 0, moduleLoads = 0, fills = 0,
             earlyLaunches = 0, clusterLaunches = 0;
    int primaryContexts = 0;
    void (*observer)(const char* name, uint64_t begin, uint64_t end, uint64_t node) = nullptr;
    void (*cloned)(Node* original, Node* copy) = nullptr; ///< while a graph is made executable
};

State& state();

/// The context that is current on this thread; any value but null will do.
extern thread_local void* currentContext;

/// What every call begins with: injected failures, a start, a context. Holds the lock of the state.
class Call {
public:
    /// Unsafe: what a capture forbids that is not relaxed; NoCapture: what every capture forbids.
    enum class Needs : uint8_t { Nothing, Start, Context, Unsafe, NoCapture };

    Call(const char* name, Needs needs);

    int code() const { return m_code; }

private:
    std::unique_lock<std::recursive_mutex> m_lock;
    int m_code = Success;
};

/// Adds to the stream's queue, or to what it captures.
int enqueue(Stream* stream, NodeKind kind, std::string name, std::function<int()> run);

/// Does the stream's work up to a position; the first failure becomes sticky. Where a kernel never
/// ends neither does this: the process stops with a message. `ask` gives NotReady instead.
int drain(Stream* stream, uint64_t position, bool ask = false);
int drainAll();

double now();

/// A launch of a kernel, as the driver's functions for that describe it.
struct KernelCall {
    Function* function;
    unsigned grid[3], block[3];
    unsigned sharedBytes;
    bool early;                 ///< it may be started while the kernel before it runs
    unsigned clusterBlocks = 1; ///< along x
};

/// Adds the launch to the stream. An early one must come behind a kernel and finds all device
/// memory closed until its threads have waited (simt::Launch::gate).
int launchKernel(const KernelCall& call, Stream* stream, void** arguments);

/// What a function that makes tensor maps returns: a map that the rules allow must lie within the
/// device's memory too. `broken`: a rule that does not allow it.
int mapMade(const void* map, void* address, const char* broken);

/// The live allocation that holds all the bytes, or null.
const Allocation* find(uint64_t address, size_t bytes);

/// What the kernel of that name does; none: what it should.
const Spoiled* spoiledAs(const std::string& kernel);

/// An environment variable as a number.
int setting(const char* name, int fallback);

} // namespace fakecuda

#define FAKE_CALL(name, needs)                                                                     \
    fakecuda::Call call(name, fakecuda::Call::Needs::needs);                                       \
    if (call.code() != 0)                                                                          \
    return call.code()
