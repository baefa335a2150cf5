// SPDX-License-Identifier: Apache-2.0
#include "tests/support/process.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace fuselage::testing_support {

namespace {

/// Both ends of a pipe, closed on exec.
bool makePipe(std::array<int, 2>& ends) {
    return ::pipe2(ends.data(), O_CLOEXEC) == 0;
}

std::vector<std::string> environmentWith(const ProcessOptions& options) {
    std::vector<std::string> out;
    for (char** entry = environ; *entry != nullptr; ++entry) {
        std::string text = *entry;
        bool replaced = false;
        for (const auto& [name, value] : options.environment)
            replaced = replaced || text.rfind(name + "=", 0) == 0;
        if (!replaced)
            out.push_back(std::move(text));
    }
    for (const auto& [name, value] : options.environment)
        out.push_back(name + "=" + value);
    return out;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
    std::vector<char*> out;
    for (std::string& text : texts)
        out.push_back(text.data());
    out.push_back(nullptr);
    return out;
}

void closeEnd(int& end) {
    if (end >= 0)
        ::close(end);
    end = -1;
}

/// Appends what is there; closes the end when there will be no more.
void drain(int& end, std::string& text) {
    std::array<char, 4096> piece{};
    ssize_t count = ::read(end, piece.data(), piece.size());
    if (count > 0)
        text.append(piece.data(), static_cast<size_t>(count));
    else if (count == 0 || errno != EINTR)
        closeEnd(end);
}

} // namespace

Result<Process> Process::start(const std::vector<std::string>& arguments,
                               const ProcessOptions& options) {
    std::array<int, 2> input{-1, -1}, output{-1, -1}, errors{-1, -1};
    if ((options.takesInput && !makePipe(input)) || !makePipe(output) || !makePipe(errors))
        return failure("process.start", std::string("no pipe: ") + strerror(errno));
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    if (options.takesInput)
        posix_spawn_file_actions_adddup2(&actions, input[0], STDIN_FILENO);
    else
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, output[1], STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, errors[1], STDERR_FILENO);
    if (!options.folder.empty())
        posix_spawn_file_actions_addchdir_np(&actions, options.folder.c_str());
    std::vector<std::string> words = arguments, environment = environmentWith(options);
    Process process;
    int failed = posix_spawnp(&process.m_pid, words[0].c_str(), &actions, nullptr,
                              pointers(words).data(), pointers(environment).data());
    posix_spawn_file_actions_destroy(&actions);
    closeEnd(input[0]);
    closeEnd(output[1]);
    closeEnd(errors[1]);
    process.m_input = input[1];
    process.m_output = output[0];
    process.m_errors = errors[0];
    if (failed != 0) {
        process.m_pid = -1;
        return failure("process.start", std::string("cannot be started: ") + strerror(failed),
                       arguments[0]);
    }
    return process;
}

Process::Process(Process&& other) noexcept {
    *this = std::move(other);
}

Process& Process::operator=(Process&& other) noexcept {
    std::swap(m_pid, other.m_pid);
    std::swap(m_input, other.m_input);
    std::swap(m_output, other.m_output);
    std::swap(m_errors, other.m_errors);
    std::swap(m_result, other.m_result);
    return *this;
}

Process::~Process() {
    if (m_pid > 0) {
        ::kill(m_pid, SIGKILL);
        finish();
    }
    closeEnd(m_input);
    closeEnd(m_output);
    closeEnd(m_errors);
}

bool Process::read() {
    std::array<pollfd, 2> streams{{{m_output, POLLIN, 0}, {m_errors, POLLIN, 0}}};
    if (m_output < 0 && m_errors < 0)
        return false;
    if (::poll(streams.data(), streams.size(), -1) < 0)
        return errno == EINTR;
    if (streams[0].revents != 0)
        drain(m_output, m_result.output);
    if (streams[1].revents != 0)
        drain(m_errors, m_result.errors);
    return true;
}

bool Process::waitUntil(const std::function<bool(const ProcessResult&)>& condition) {
    while (!condition(m_result))
        if (!read())
            return false;
    return true;
}

void Process::signal(int number) const {
    ::kill(m_pid, number);
}

bool Process::write(const std::string& text) const {
    std::signal(SIGPIPE, SIG_IGN); // one that ended is an answer, not our end
    return m_input >= 0 &&
           ::write(m_input, text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

ProcessResult Process::finish() {
    closeEnd(m_input);
    while (read()) {
    }
    int status = 0;
    while (::waitpid(m_pid, &status, 0) < 0 && errno == EINTR) {
    }
    m_pid = -1;
    m_result.exitCode = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    return m_result;
}

Result<ProcessResult> runProcess(const std::vector<std::string>& arguments,
                                 const ProcessOptions& options) {
    auto process = Process::start(arguments, options);
    if (!process)
        return failure(process.error());
    return process->finish();
}

} // namespace fuselage::testing_support
