// SPDX-License-Identifier: Apache-2.0
#include "app/cli/restart.h"

#include "core/support/file.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <unistd.h>
#include <vector>

namespace fuselage::cli {

namespace {

constexpr const char* counter = "FUSELAGE_STARTS";
constexpr const char* idleCounter = "FUSELAGE_STARTS_IDLE";
/// In a row without a step measured in between: all sizes of two kinds of tiles.
constexpr int mostIdle = 12;
constexpr int mostRestarts = 100'000;

int countIn(const char* variable) {
    const char* text = std::getenv(variable);
    int out = 0;
    if (text != nullptr)
        std::from_chars(text, text + std::strlen(text), out);
    return std::clamp(out, 0, mostRestarts);
}

bool count(const char* variable, int value) {
    return ::setenv(variable, std::to_string(value).c_str(), 1) == 0;
}

/// Of this process, as it was started.
std::vector<std::string> ownArguments() {
    std::vector<std::string> out;
    const auto text = readFile("/proc/self/cmdline");
    for (size_t at = 0; text && at < text->size();) {
        const size_t end = std::min(text->find('\0', at), text->size());
        out.push_back(text->substr(at, end - at));
        at = end + 1;
    }
    return out;
}

/// Files of the driver must not outlive this program: with them the kernel would go on.
void closeAtStart() {
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd", error)) {
        const std::string name = entry.path().filename().string();
        int file = -1;
        std::from_chars(name.data(), name.data() + name.size(), file);
        if (file > STDERR_FILENO)
            ::fcntl(file, F_SETFD, FD_CLOEXEC);
    }
}

} // namespace

int restartsSoFar() {
    return countIn(counter);
}

void startAgain(const std::string& why, bool progressed) {
    const int restarts = restartsSoFar(), idle = progressed ? 0 : countIn(idleCounter);
    std::vector<std::string> words = ownArguments();
    if (idle >= mostIdle || words.empty()) {
        std::fputs(fmt::format("\nfuselage: {}\nfuselage: was started again {} times without a "
                               "step measured in between, no more\n",
                               why, idle)
                       .c_str(),
                   stderr);
        return;
    }
    std::fputs(fmt::format("\nfuselage: {}\nfuselage: starting again without this candidate "
                           "({} of at most {} times in a row)\n",
                           why, idle + 1, mostIdle)
                   .c_str(),
               stderr);
    std::fflush(nullptr);
    std::vector<char*> arguments;
    for (std::string& word : words)
        arguments.push_back(word.data());
    arguments.push_back(nullptr);
    closeAtStart();
    if (count(counter, restarts + 1) && count(idleCounter, idle + 1))
        ::execv("/proc/self/exe", arguments.data());
    count(counter, restarts);
}

} // namespace fuselage::cli
