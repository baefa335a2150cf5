// SPDX-License-Identifier: Apache-2.0
#include "core/cpu/choice_file.h"

#include "core/support/file.h"
#include "core/support/processor.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>
#include <set>

namespace fuselage::cpu {

namespace {

constexpr std::string_view header =
    "# fuselage cpu timings 1: machine, program, microseconds a way";
constexpr std::string_view unusable = "-";
constexpr uintmax_t largestFile = uintmax_t{64} << 20;

std::vector<std::string_view> split(std::string_view line, char separator) {
    std::vector<std::string_view> out;
    for (size_t at = 0; at <= line.size();) {
        const size_t end = std::min(line.find(separator, at), line.size());
        out.push_back(line.substr(at, end - at));
        at = end + 1;
    }
    return out;
}

struct Line {
    std::string machine, key;
    MeasuredWays ways;
};

std::string textOf(const Line& line) {
    std::string out = line.machine + "\t" + line.key;
    for (const auto& [name, seconds] : line.ways)
        out += std::isinf(seconds) ? fmt::format("\t{}={}", name, unusable)
                                   : fmt::format("\t{}={:.3f}", name, seconds * 1e6);
    return out;
}

/// None when it is damaged.
std::optional<Line> parse(std::string_view text) {
    const auto fields = split(text, '\t');
    if (fields.size() < 3 || fields[0].empty() || fields[1].empty())
        return std::nullopt;
    Line out{std::string(fields[0]), std::string(fields[1]), {}};
    for (size_t i = 2; i < fields.size(); ++i) {
        const size_t equals = fields[i].rfind('=');
        if (equals == std::string_view::npos || equals == 0)
            return std::nullopt;
        const std::string_view number = fields[i].substr(equals + 1);
        double microseconds = std::numeric_limits<double>::infinity();
        if (number != unusable) {
            const char* end = number.data() + number.size();
            auto read = std::from_chars(number.data(), end, microseconds);
            if (read.ec != std::errc() || read.ptr != end || !std::isfinite(microseconds) ||
                microseconds < 0)
                return std::nullopt;
        }
        out.ways.emplace(fields[i].substr(0, equals), microseconds * 1e-6);
    }
    return out;
}

/// What a file holds, and the numbers of lines that say nothing.
struct Content {
    std::vector<Line> parsed;
    std::vector<size_t> damaged;
};

Result<Content> read(const std::string& path) {
    Content out;
    std::error_code error;
    if (!std::filesystem::exists(path, error))
        return out;
    if (std::filesystem::is_directory(path, error))
        return failure("file.read", "this is a folder", path, "name a file");
    const uintmax_t size = std::filesystem::file_size(path, error);
    if (size == 0) // made to be filled
        return out;
    if (size > largestFile)
        return failure("cache.format", "the file of timings is larger than 64 MiB", path,
                       "remove it: what it lacks is measured again");
    auto text = readFile(path);
    if (!text)
        return failure(text.error());
    size_t number = 0;
    for (std::string_view line : split(*text, '\n')) {
        if (++number == 1 && !line.empty() && line != header)
            return failure("cache.format", "line 1 is not that of a file of cpu timings", path,
                           "name a file that `fuselage --backend cpu` wrote, or a new one");
        if (number == 1 || line.find_first_not_of(" \t\r") == std::string_view::npos)
            continue;
        if (auto parsed = parse(line))
            out.parsed.push_back(std::move(*parsed));
        else
            out.damaged.push_back(number);
    }
    return out;
}

} // namespace

std::string choiceMachine(const VectorTable& table, int threads) {
    const std::string model = cpuInfo("model name");
    return Choices::plain(fmt::format("{}, {}, {} thread{}, fuselage 1",
                                      model.empty() ? "unknown processor" : model, table.name,
                                      threads, threads == 1 ? "" : "s"));
}

Result<std::vector<size_t>> loadChoices(const std::string& path, const std::string& machine,
                                        Choices& choices) {
    auto content = read(path);
    if (!content)
        return failure(content.error());
    for (const Line& line : content->parsed)
        if (line.machine == machine)
            choices.add(line.key, line.ways);
    return std::move(content->damaged);
}

Result<void> saveChoices(const std::string& path, const std::string& machine,
                         const Choices& choices) {
    auto held = lockFile(path, "the file of timings");
    if (!held)
        return failure(held.error());
    auto content = read(path);
    if (!content)
        return failure(content.error());
    Choices merged;
    std::set<std::string> lines;
    for (const Line& line : content->parsed) {
        if (line.machine == machine)
            merged.add(line.key, line.ways);
        else
            lines.insert(textOf(line));
    }
    for (const auto& [key, ways] : choices.all())
        merged.add(key, ways);
    for (const auto& [key, ways] : merged.all())
        lines.insert(textOf({machine, key, ways}));
    std::string text(header);
    text += '\n';
    for (const std::string& line : lines)
        text += line + '\n';
    return writeFile(text, path);
}

} // namespace fuselage::cpu
