// SPDX-License-Identifier: Apache-2.0
#include "app/batch/child.h"

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace fuselage::batch {

namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* parentVariable = "FUSELAGE_PARENT";
constexpr size_t errorsKept = 64U << 10U;
constexpr int pollMilliseconds = 100; ///< how soon a cancellation or a limit is seen

struct Running {
    size_t task = 0;
    pid_t process = -1;
    int errors = -1; ///< our end of its standard error
    Clock::time_point start;
    bool timedOut = false, cancelled = false;
    std::string text;
};

std::vector<std::string> environmentOfChild() {
    std::vector<std::string> out;
    const std::string own = std::string(parentVariable) + "=";
    for (char** entry = environ; *entry != nullptr; ++entry)
        if (std::strncmp(*entry, own.c_str(), own.size()) != 0)
            out.emplace_back(*entry);
    out.push_back(own + std::to_string(::getpid()));
    return out;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
    std::vector<char*> out;
    for (std::string& text : texts)
        out.push_back(text.data());
    out.push_back(nullptr);
    return out;
}

/// The process id, or -1 with errno.
pid_t spawn(const ChildTask& task, int errors) {
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (task.keepOutput)
        posix_spawn_file_actions_adddup2(&actions, errors, STDOUT_FILENO);
    else
        posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, errors, STDERR_FILENO);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    sigset_t none, defaults;
    sigemptyset(&none);
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGINT);
    sigaddset(&defaults, SIGTERM);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF |
                                              POSIX_SPAWN_SETSIGMASK);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &defaults);
    std::vector<std::string> words = task.arguments, environment = environmentOfChild();
    pid_t process = -1;
    const int failed = posix_spawnp(&process, words[0].c_str(), &actions, &attributes,
                                    pointers(words).data(), pointers(environment).data());
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    if (failed != 0) {
        errno = failed;
        return -1;
    }
    if (task.memoryBytes > 0) {
        // It has read nothing of the model yet.
        const rlimit limit{static_cast<rlim_t>(task.memoryBytes),
                           static_cast<rlim_t>(task.memoryBytes)};
        ::prlimit(process, RLIMIT_AS, &limit, nullptr);
    }
    return process;
}

Result<Running> startChild(size_t number, const ChildTask& task) {
    std::array<int, 2> ends{-1, -1};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0)
        return failure("resource.pipe", std::strerror(errno));
    Running out;
    out.task = number;
    out.errors = ends[0];
    out.start = Clock::now();
    ::fcntl(out.errors, F_SETFL, O_NONBLOCK);
    out.process = spawn(task, ends[1]);
    const int problem = errno;
    ::close(ends[1]);
    if (out.process < 0) {
        ::close(out.errors);
        return failure("resource.process", std::strerror(problem), task.arguments[0]);
    }
    return out;
}

void readErrors(Running& child) {
    std::array<char, 4096> piece{};
    ssize_t count = 0;
    while ((count = ::read(child.errors, piece.data(), piece.size())) > 0) {
        child.text.append(piece.data(), static_cast<size_t>(count));
        if (child.text.size() > 2 * errorsKept)
            child.text.erase(0, child.text.size() - errorsKept);
    }
}

double secondsSince(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

void killGroup(const Running& child) {
    ::kill(-child.process, SIGKILL);
    ::kill(child.process, SIGKILL); // before it had a group
}

/// True when it has ended; then its group is gone too.
bool ended(Running& child, ChildResult& result) {
    int status = 0;
    const pid_t waited = ::waitpid(child.process, &status, WNOHANG);
    if (waited == 0 || (waited < 0 && errno == EINTR))
        return false;
    ::kill(-child.process, SIGKILL); // what it left behind
    readErrors(child);
    ::close(child.errors);
    result.seconds = secondsSince(child.start);
    result.errors = std::move(child.text);
    if (child.cancelled) {
        result.end = ChildResult::End::Cancelled;
    } else if (child.timedOut) {
        result.end = ChildResult::End::Timeout;
    } else if (WIFSIGNALED(status)) {
        result.end = ChildResult::End::Signalled;
        result.code = WTERMSIG(status);
    } else {
        result.end = ChildResult::End::Exited;
        result.code = WEXITSTATUS(status);
    }
    return true;
}

/// Waits until one of them writes, ends its output or a limit may be reached.
void waitForNews(std::vector<Running>& running) {
    std::vector<pollfd> ends;
    for (const Running& child : running)
        ends.push_back({child.errors, POLLIN, 0});
    ::poll(ends.data(), ends.size(), pollMilliseconds);
    bool hangUp = false;
    for (size_t i = 0; i < ends.size(); ++i) {
        readErrors(running[i]);
        hangUp = hangUp || (ends[i].revents & POLLHUP) != 0;
    }
    // The output of an ending child closes a moment before it can be waited for.
    if (hangUp)
        ::poll(nullptr, 0, 1);
}

} // namespace

std::vector<ChildResult> runChildren(const std::vector<ChildTask>& tasks, size_t jobs,
                                     const Progress& progress, const ChildEvents& events) {
    std::vector<ChildResult> results(tasks.size());
    std::vector<Running> running;
    size_t next = 0;
    while (next < tasks.size() || !running.empty()) {
        while (next < tasks.size() && running.size() < jobs && !progress.cancelled()) {
            const size_t task = next++;
            if (!events.starting(task))
                continue;
            auto child = startChild(task, tasks[task]);
            if (child) {
                running.push_back(std::move(*child));
            } else {
                results[task].errors = child.error().text();
                events.ended(task, results[task]);
            }
        }
        if (progress.cancelled())
            next = tasks.size();
        if (running.empty())
            continue;
        waitForNews(running);
        for (size_t i = 0; i < running.size();) {
            Running& child = running[i];
            const double limit = tasks[child.task].seconds;
            child.timedOut = child.timedOut || (limit > 0 && secondsSince(child.start) > limit);
            child.cancelled = child.cancelled || progress.cancelled();
            if (child.timedOut || child.cancelled)
                killGroup(child);
            if (!ended(child, results[child.task])) {
                ++i;
                continue;
            }
            const size_t task = child.task;
            running.erase(running.begin() + static_cast<ptrdiff_t>(i));
            events.ended(task, results[task]);
        }
    }
    return results;
}

Result<std::string> ownProgram() {
    std::array<char, 4096> path{};
    const ssize_t size = ::readlink("/proc/self/exe", path.data(), path.size() - 1);
    if (size <= 0)
        return failure("internal.program", "the path of this program is not known");
    return std::string(path.data(), static_cast<size_t>(size));
}

void followParent() {
    const char* parent = std::getenv(parentVariable);
    // A program that a child starts inherits the variable and has another parent.
    if (parent == nullptr || std::to_string(::getppid()) != parent)
        return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (std::to_string(::getppid()) != parent)
        ::_exit(1);
}

} // namespace fuselage::batch
