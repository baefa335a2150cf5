// SPDX-License-Identifier: Apache-2.0
#include "tests/fakecuda/fake_state.h"

#include "tests/fakecuda/control.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace fakecuda {

thread_local void* currentContext = nullptr;

namespace {

/// "cuMemAlloc_v2=2@3,cuLaunchKernel=719": the call, its code, calls that still succeed.
void readInjections(State& state) {
    const char* text = std::getenv("FAKECUDA_FAIL");
    std::string rest = text == nullptr ? "" : text;
    while (!rest.empty()) {
        const size_t comma = std::min(rest.find(','), rest.size());
        const std::string entry = rest.substr(0, comma);
        rest.erase(0, comma + 1);
        const size_t equals = entry.find('='), at = entry.find('@');
        if (equals == std::string::npos)
            continue;
        state.injections[entry.substr(0, equals)] = {
            std::atoi(entry.c_str() + equals + 1),
            at == std::string::npos ? 0 : std::atoi(entry.c_str() + at + 1)};
    }
}

/// As cuThreadExchangeStreamCaptureMode says: a global capture forbids in every thread what might
/// be meant to be recorded, a thread-local one in its own, a relaxed one nowhere.
bool forbidsUnsafe(const Stream& stream) {
    return stream.captureMode == 0 ||
           (stream.captureMode == 1 && stream.captureThread == std::this_thread::get_id());
}

/// "row_warp=fault,copy_vector=wrong"
void readSpoiled(State& state) {
    constexpr const char* kinds[] = {"wrong", "unwritten", "fault", "hang",
                                     "crash", "inplace",   "early", "earlyfault"};
    const char* text = std::getenv("FAKECUDA_SPOIL");
    std::string rest = text == nullptr ? "" : text;
    while (!rest.empty()) {
        const size_t comma = std::min(rest.find(','), rest.size());
        const std::string entry = rest.substr(0, comma);
        rest.erase(0, comma + 1);
        const size_t equals = std::min(entry.find('='), entry.size());
        for (int kind = 0; kind < 8; ++kind)
            if (entry.substr(equals) == std::string("=") + kinds[kind])
                state.spoiled[entry.substr(0, equals)] = static_cast<Spoiled>(kind + 1);
    }
}

} // namespace

State& state() {
    static State* instance = [] {
        auto* made = new State; // outlives every thread
        readInjections(*made);
        readSpoiled(*made);
        return made;
    }();
    return *instance;
}

int setting(const char* name, int fallback) {
    const char* text = std::getenv(name);
    return text == nullptr ? fallback : std::atoi(text);
}

double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

Call::Call(const char* name, Needs needs) : m_lock(state().mutex) {
    State& s = state();
    if (auto found = s.injections.find(name); found != s.injections.end()) {
        if (found->second.skip-- <= 0) {
            m_code = found->second.code;
            return;
        }
    }
    if (needs == Needs::Nothing)
        return;
    if (!s.initialised) {
        m_code = NotInitialized;
        return;
    }
    if (needs == Needs::Start)
        return;
    if (currentContext == nullptr) {
        m_code = InvalidContext;
        return;
    }
    if (s.sticky != Success) {
        m_code = s.sticky;
        return;
    }
    if (needs == Needs::Unsafe || needs == Needs::NoCapture)
        for (Stream* stream : s.streams)
            if (stream->capture && (needs == Needs::NoCapture || forbidsUnsafe(*stream))) {
                stream->invalidated = true;
                m_code = CaptureUnsupported;
            }
}

int enqueue(Stream* stream, NodeKind kind, std::string name, std::function<int()> run) {
    if (state().streams.count(stream) == 0)
        return InvalidHandle;
    auto node = std::make_shared<Node>(Node{kind, std::move(name), std::move(run), 0});
    if (stream->capture) {
        if (stream->invalidated)
            return CaptureInvalidated;
        node->id = state().nextNodeId++;
        stream->capture->nodes.push_back(std::move(node));
        return Success;
    }
    stream->queue.push_back(std::move(node));
    ++stream->queued;
    return Success;
}

int drain(Stream* stream, uint64_t position, bool ask) {
    State& s = state();
    while (stream->done < position && s.sticky == Success) {
        const std::shared_ptr<Node> node = stream->queue.front();
        if (stream->hanging.empty() && node->kind == NodeKind::Kernel)
            if (const Spoiled* how = spoiledAs(node->name); how && *how == Spoiled::Hang)
                stream->hanging = node->name;
        if (!stream->hanging.empty()) {
            if (ask)
                return NotReady;
            std::fprintf(stderr, "stand-in driver: waits forever for `%s`\n",
                         stream->hanging.c_str());
            std::_Exit(99);
        }
        stream->queue.pop_front();
        ++stream->done;
        const double begin = now();
        if (const int code = node->run(); code != Success)
            s.sticky = code;
        if (s.observer != nullptr && node->kind == NodeKind::Kernel)
            s.observer(node->name.c_str(), static_cast<uint64_t>(begin * 1e9),
                       static_cast<uint64_t>(now() * 1e9) + 1, node->id);
    }
    for (const auto& [address, allocation] : s.memory)
        if (s.sticky == Success && !allocation.intact()) {
            s.sticky = IllegalAddress;
            s.lastMessage = "bytes behind an allocation were written";
            allocation.mark(); // reported once
        }
    return s.sticky;
}

const Spoiled* spoiledAs(const std::string& kernel) {
    for (const auto& [piece, how] : state().spoiled)
        if (kernel.find(piece) != std::string::npos)
            return &how;
    return nullptr;
}

int drainAll() {
    for (Stream* stream : state().streams)
        if (const int code = drain(stream, stream->queued); code != Success)
            return code;
    return Success;
}

} // namespace fakecuda

using namespace fakecuda;

extern "C" {

void fakecudaFail(const char* call, int code, int skip) {
    std::lock_guard lock(state().mutex);
    state().injections[call] = {code, skip};
}

void fakecudaSpoil(const char* kernel, int how) {
    std::lock_guard lock(state().mutex);
    state().spoiled[kernel] = static_cast<Spoiled>(how);
}

void fakecudaReset() {
    std::lock_guard lock(state().mutex);
    state().injections.clear();
    state().spoiled.clear();
    for (Stream* stream : state().streams)
        if (!stream->hanging.empty()) { // the device was reset
            stream->queue.clear();
            stream->done = stream->queued;
            stream->hanging.clear();
        }
    state().sticky = Success;
    state().lastMessage.clear();
}

void fakecudaCounts(FakeCudaCounts* out) {
    State& s = state();
    std::lock_guard lock(s.mutex);
    *out = {s.memory.size(),   s.streams.size(), s.launches,      s.graphLaunches,  s.moduleLoads,
            s.primaryContexts, s.fills,          s.earlyLaunches, s.clusterLaunches};
}

const char* fakecudaMessage() {
    return state().lastMessage.c_str();
}

void fakecudaObserve(void (*observer)(const char*, uint64_t, uint64_t, uint64_t)) {
    std::lock_guard lock(state().mutex);
    state().observer = observer;
}
}
