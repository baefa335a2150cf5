// SPDX-License-Identifier: Apache-2.0
// Runs a fuzz target without libFuzzer: every file of the folders given, then mutations of them,
// the same on every run. `fuzz_parse [--mutations N] [--most BYTES] FOLDER_OR_FILE...`; a failing
// input is left in fuzz-failure.bin.
#include "tests/fuzz/target.h"

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <vector>

namespace fs = std::filesystem;

namespace {

std::string current; ///< the input that runs; written to a file when it stops the process

void keepInput(int signal) {
    if (std::FILE* file = std::fopen("fuzz-failure.bin", "wb")) {
        std::fwrite(current.data(), 1, current.size(), file);
        std::fclose(file);
        std::fputs("the input is in fuzz-failure.bin\n", stderr);
    }
    std::signal(signal, SIG_DFL);
    std::raise(signal);
}

void runOne(std::string input) {
    current = std::move(input);
    LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(current.data()), current.size());
}

std::vector<std::string> inputsUnder(const std::vector<std::string>& paths, size_t most) {
    std::vector<fs::path> files;
    for (const std::string& path : paths)
        if (fs::is_directory(path)) {
            for (const auto& entry : fs::recursive_directory_iterator(path))
                if (entry.is_regular_file())
                    files.push_back(entry.path());
        } else {
            files.emplace_back(path);
        }
    std::sort(files.begin(), files.end());
    std::vector<std::string> out;
    for (const fs::path& file : files)
        if (fs::file_size(file) <= most) {
            std::ifstream in(file, std::ios::binary);
            out.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
        }
    return out;
}

/// A piece of a text: begin and length.
std::pair<size_t, size_t> pieceOf(const std::string& text, std::mt19937& engine) {
    size_t begin = engine() % (text.size() + 1);
    size_t length = std::min<size_t>(text.size() - begin, engine() % 24);
    return {begin, length};
}

/// One to four changes: bits, pieces taken out, doubled, or taken from another input, an early end.
std::string mutated(const std::vector<std::string>& inputs, std::mt19937& engine) {
    std::string out = inputs[engine() % inputs.size()];
    // Formats that count bytes lose their frame with every piece put in: half keep the length.
    bool sameLength = engine() % 2 == 0;
    for (uint32_t n = 1 + engine() % 4; n > 0; --n) {
        auto [begin, length] = pieceOf(out, engine);
        const std::string& other = inputs[engine() % inputs.size()];
        auto [from, count] = pieceOf(other, engine);
        switch (sameLength ? 0 : engine() % 6) {
        case 0:
            if (begin < out.size())
                out[begin] = static_cast<char>(out[begin] ^ (1 << engine() % 8));
            break;
        case 1:
            out.erase(begin, length);
            break;
        case 2:
            out.insert(begin, out.substr(begin, length));
            break;
        case 3:
            out.insert(begin, other.substr(from, count));
            break;
        case 4: // cut off, but not often: little is left to change
            if (engine() % 4 == 0)
                out.resize(begin);
            break;
        default:
            out.replace(begin, length, other.substr(from, count));
        }
    }
    return out;
}

} // namespace

int main(int argc, char** argv) {
    uint32_t mutations = 0;
    size_t most = 1 << 20;
    std::vector<std::string> paths;
    for (int i = 1; i < argc; ++i) {
        std::string argument = argv[i];
        if (argument == "--mutations" && i + 1 < argc)
            mutations = static_cast<uint32_t>(std::stoul(argv[++i]));
        else if (argument == "--most" && i + 1 < argc)
            most = std::stoul(argv[++i]);
        else
            paths.push_back(argument);
    }
    for (int signal : {SIGABRT, SIGSEGV, SIGFPE, SIGILL})
        std::signal(signal, keepInput);
    std::vector<std::string> inputs = inputsUnder(paths, most);
    if (inputs.empty()) {
        std::fputs("no inputs: name a folder of them\n", stderr);
        return 2;
    }
    for (const std::string& input : inputs)
        runOne(input);
    std::mt19937 engine(1);
    for (uint32_t i = 0; i < mutations; ++i)
        runOne(mutated(inputs, engine));
    std::printf("%zu inputs and %u mutations of them\n", inputs.size(), mutations);
    return 0;
}
