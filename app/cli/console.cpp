// SPDX-License-Identifier: Apache-2.0
#include "app/cli/console.h"

#include "app/cli/exit_codes.h"
#include "app/report/escape.h"

#include <fmt/format.h>

#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <set>
#include <time.h>
#include <unistd.h>

namespace fuselage::cli {

namespace {

using Clock = std::chrono::steady_clock;

// A signal handler can reach nothing but a global; ConsoleProgress owns what it points to.
std::atomic<Progress*> activeProgress{nullptr};
std::atomic<int> endedBy{SIGINT};

/// Milliseconds of a clock that a signal handler may ask.
int64_t nowInHandler() {
    timespec time{};
    ::clock_gettime(CLOCK_MONOTONIC, &time);
    return int64_t{1000} * time.tv_sec + time.tv_nsec / 1'000'000;
}

std::atomic<int64_t> endedAt{0};

void onInterrupt(int signal) {
    constexpr int64_t patience = 500; // `timeout` signals a process, then its group
    endedBy.store(signal);
    Progress* progress = activeProgress.load();
    if (progress == nullptr)
        _exit(interruptedCode());
    if (!progress->cancelled())
        endedAt.store(nowInHandler());
    else if (nowInHandler() - endedAt.load() > patience)
        _exit(interruptedCode());
    progress->cancel();
}

constexpr int64_t largestDim = int64_t{1} << 40;

int lostOutput = 0; // errno of the first write to standard output that failed

constexpr int barWidth = 24;

std::string bar(size_t done, size_t total) {
    if (total == 0)
        return std::string(barWidth, '.');
    size_t filled = std::min<size_t>(barWidth, barWidth * done / total);
    return std::string(filled, '#') + std::string(barWidth - filled, '.');
}

} // namespace

struct ConsoleProgress::State {
    std::mutex mutex;
    Clock::time_point start = Clock::now();
    Clock::time_point drawn = start;
    std::string stage;
    std::set<std::string, std::less<>> told; ///< stages that a log has a line of: work that
                                             ///< repeats would write it again and again
    bool quiet = false;
    bool terminal = false;
    bool onScreen = false;

    void erase() {
        if (onScreen)
            std::fputs("\r\033[K", stderr);
        onScreen = false;
    }
};

ConsoleProgress::ConsoleProgress(bool quiet) : m_state(std::make_unique<State>()) {
    m_state->quiet = quiet;
    m_state->terminal = isatty(STDERR_FILENO) != 0;
    activeProgress.store(this);
    for (int signal : {SIGINT, SIGTERM, SIGHUP})
        if (std::signal(signal, onInterrupt) == SIG_IGN && signal == SIGHUP)
            std::signal(signal, SIG_IGN); // nohup asked for it
}

ConsoleProgress::~ConsoleProgress() {
    activeProgress.store(nullptr);
    m_state->erase();
}

void ConsoleProgress::report(std::string_view stage, size_t done, size_t total) {
    State& state = *m_state;
    std::lock_guard lock(state.mutex);
    auto now = Clock::now();
    if (state.quiet || now - state.start < std::chrono::seconds(1))
        return;
    bool newStage = state.stage != stage;
    if (!newStage && (!state.terminal || now - state.drawn < std::chrono::milliseconds(100)))
        return;
    state.stage = stage;
    state.drawn = now;
    if (!state.terminal) {
        if (state.told.emplace(stage).second)
            fmt::print(stderr, "{} ...\n", stage);
        return;
    }
    fmt::print(stderr, "\r\033[K{:<12} [{}] {}", stage, bar(done, total),
               total > 0 ? fmt::format("{}/{}", done, total) : "");
    std::fflush(stderr);
    state.onScreen = true;
}

void printNotes(const std::vector<std::string>& notes, bool quiet) {
    if (quiet)
        return;
    for (const std::string& note : notes)
        fmt::print(stderr, "fuselage: note: {}\n", app::visible(note));
}

int interruptedCode() {
    return endedBy.load() == SIGINT ? ExitInterrupted : ExitTerminated;
}

int reportError(const Error& error) {
    const std::string place = error.where.empty() ? "" : error.where + ": ";
    // What compilers say has lines; else they come out of a name, and readers expect one.
    const bool hasLines = error.code == "rules.invalid" || error.code == "nvrtc.compile";
    fmt::print(stderr, "fuselage: {} [{}]\n",
               app::visible(place + error.message, hasLines ? "\n" : ""), error.code);
    if (!error.fix.empty())
        fmt::print(stderr, "  fix: {}\n", app::visible(error.fix));
    auto starts = [&](std::string_view prefix) { return error.code.rfind(prefix, 0) == 0; };
    if (error.code == "cancelled")
        return interruptedCode();
    if (starts("usage.") || error.code.ends_with(".unknown"))
        return ExitUsage; // a name on the command line
    if (error.code == "tune.frozen" || error.code == "tune.fallback")
        return ExitGate;
    if (starts("device.") || starts("tune."))
        return ExitDevice;
    if (starts("resource.") || starts("save."))
        return ExitResource;
    if (starts("internal."))
        return ExitInternal;
    return ExitInput;
}

Result<std::map<std::string, int64_t>> parseDims(const std::vector<std::string>& entries) {
    std::map<std::string, int64_t> out;
    for (const std::string& entry : entries) {
        size_t equals = entry.rfind('=');
        int64_t value = 0;
        const char* end = entry.data() + entry.size();
        bool good = equals != std::string::npos && equals > 0;
        if (good) {
            auto parsed = std::from_chars(entry.data() + equals + 1, end, value);
            good =
                parsed.ec == std::errc() && parsed.ptr == end && value >= 0 && value <= largestDim;
        }
        if (!good)
            return failure("usage.dim",
                           fmt::format("`{}` is not NAME=NUMBER with a number from 0 to {}", entry,
                                       largestDim),
                           "--dim", "write e.g. --dim N=4");
        const auto [known, isNew] = out.try_emplace(entry.substr(0, equals), value);
        if (known->second != value)
            return failure("usage.dim",
                           fmt::format("`{}` is given two sizes, {} and {}", known->first,
                                       known->second, value),
                           "--dim", "give one");
    }
    return out;
}

void printOut(const std::string& text) {
    writeOut(app::visible(text, "\n\t"));
}

void writeOut(const std::string& text) {
    const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
    if ((!written || std::fflush(stdout) != 0) && lostOutput == 0)
        lostOutput = errno;
}

int outputLost(int exitCode) {
    if (lostOutput == 0)
        return exitCode;
    const int code = reportError(
        failure("save.output",
                std::string("the output cannot be written: ") + std::strerror(lostOutput),
                "standard output", "check where it goes: a full disk?")
            .error);
    return exitCode == ExitOk ? code : exitCode;
}

} // namespace fuselage::cli
