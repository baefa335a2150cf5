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
constexpr int mostRestarts = 8;

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
    const char* text = std::getenv(counter);
    int out = 0;
    if (text != nullptr)
        std::from_chars(text, text + std::strlen(text), out);
    return std::clamp(out, 0, mostRestarts);
}

void startAgain(const std::string& why) {
    const int restarts = restartsSoFar() + 1;
    std::vector<std::string> words = ownArguments();
    if (restarts > mostRestarts || words.empty()) {
        std::fputs(fmt::format("\nfuselage: {}\nfuselage: was started again {} times, no more\n",
                               why, restarts - 1)
                       .c_str(),
                   stderr);
        return;
    }
    std::fputs(fmt::format("\nfuselage: {}\nfuselage: starting again without this candidate "
                           "({} of at most {} times)\n",
                           why, restarts, mostRestarts)
                   .c_str(),
               stderr);
    std::fflush(nullptr);
    std::vector<char*> arguments;
    for (std::string& word : words)
        arguments.push_back(word.data());
    arguments.push_back(nullptr);
    closeAtStart();
    if (::setenv(counter, std::to_string(restarts).c_str(), 1) == 0)
        ::execv("/proc/self/exe", arguments.data());
    ::setenv(counter, std::to_string(restarts - 1).c_str(), 1);
}

} // namespace fuselage::cli
