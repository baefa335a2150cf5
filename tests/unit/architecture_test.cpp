// SPDX-License-Identifier: Apache-2.0
// The house as ARCHITECTURE.md draws it, held against the source tree: who includes whom (read from
// the tables of rooms and of floors inside them), which room sees which foreign library, first
// lines and lengths of files, names in units of the release preset. Includes are read as text; what
// a room reaches through another room's header is not seen.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace {

namespace fs = std::filesystem;

constexpr size_t maxLines = 500;

struct File {
    std::string path; ///< relative to the root, with `/`
    std::vector<std::string> lines;
};

std::vector<std::string> linesOf(const fs::path& path) {
    std::ifstream in(path);
    std::vector<std::string> lines;
    for (std::string line; std::getline(in, line);)
        lines.push_back(line);
    return lines;
}

bool isSource(const fs::path& path) {
    static const std::set<std::string> endings = {".h", ".cpp", ".cmake", ".fuse", ".toml"};
    return endings.contains(path.extension().string()) || path.filename() == "CMakeLists.txt";
}

const std::vector<File>& sources() {
    static const std::vector<File> files = [] {
        std::vector<File> out;
        const fs::path root = FUSELAGE_SOURCE_DIR;
        for (const char* folder :
             {"app", "cmake", "core", "dsl", "examples", "gpu", "patterns", "resources", "tests"}) {
            if (!fs::exists(root / folder))
                continue;
            for (const auto& entry : fs::recursive_directory_iterator(root / folder))
                if (entry.is_regular_file() && isSource(entry.path()))
                    out.push_back(
                        {fs::relative(entry.path(), root).generic_string(), linesOf(entry.path())});
        }
        std::sort(out.begin(), out.end(),
                  [](const File& a, const File& b) { return a.path < b.path; });
        return out;
    }();
    return files;
}

bool isCode(const File& file) {
    return file.path.ends_with(".h") || file.path.ends_with(".cpp");
}

/// What stands between the quotes or brackets of an include; empty for other lines.
std::string includeOf(const std::string& line, char open, char close) {
    const size_t hash = line.find_first_not_of(" \t");
    if (hash == std::string::npos || line.compare(hash, 8, "#include") != 0)
        return {};
    const size_t begin = line.find(open, hash);
    const size_t end = begin == std::string::npos ? begin : line.find(close, begin + 1);
    return end == std::string::npos ? std::string() : line.substr(begin + 1, end - begin - 1);
}

/// "core/graph", "dsl", "tests"; folders of core and app are rooms of their own.
std::string roomOf(const std::string& path) {
    const size_t first = path.find('/');
    const std::string top = path.substr(0, first);
    if (top != "core" && top != "app")
        return top;
    return path.substr(0, path.find('/', first + 1));
}

std::string trimmed(std::string text) {
    std::erase(text, '`');
    const size_t begin = text.find_first_not_of(' ');
    const size_t end = text.find_last_not_of(' ');
    return begin == std::string::npos ? std::string() : text.substr(begin, end - begin + 1);
}

struct TableRow {
    std::string name;
    std::set<std::string> uses; ///< words of the third column
};

/// The table below a heading of ARCHITECTURE.md, up to the next heading.
std::vector<TableRow> tableUnder(const std::string& heading) {
    std::vector<TableRow> table;
    bool inside = false;
    for (const std::string& line : linesOf(fs::path(FUSELAGE_SOURCE_DIR) / "ARCHITECTURE.md")) {
        if (line.starts_with("##"))
            inside = line.starts_with(heading);
        if (!inside || !line.starts_with("| `"))
            continue;
        std::vector<std::string> cells;
        std::istringstream row(line.substr(1));
        for (std::string cell; std::getline(row, cell, '|');)
            cells.push_back(trimmed(cell));
        if (cells.size() < 3)
            continue;
        TableRow& added = table.emplace_back(TableRow{cells[0], {}});
        std::istringstream column(cells[2]);
        for (std::string word; std::getline(column, word, ',');)
            added.uses.insert(trimmed(word));
    }
    return table;
}

/// Rooms, and single headers, by the room that may use them.
std::map<std::string, std::set<std::string>> tableOfRooms() {
    std::map<std::string, std::set<std::string>> table;
    for (TableRow& row : tableUnder("## 4."))
        table[row.name] = std::move(row.uses);
    return table;
}

/// Everything a room may include: its row with short names written out, and what those may use.
class Permissions {
public:
    Permissions() : m_table(tableOfRooms()) {}

    size_t rooms() const { return m_table.size(); }

    bool knows(const std::string& room) const { return m_table.contains(room); }

    bool allows(const std::string& room, const std::string& header) const {
        std::set<std::string> seen;
        return reaches(room, roomOf(header), header, seen);
    }

private:
    bool reaches(const std::string& from, const std::string& room, const std::string& header,
                 std::set<std::string>& seen) const {
        if (from == room)
            return true;
        auto row = m_table.find(from);
        if (row == m_table.end() || !seen.insert(from).second)
            return false;
        for (const std::string& word : row->second) {
            if (word == "all" || word == header || (word == "core" && room.starts_with("core/")))
                return true;
            for (const std::string& used : {word, "core/" + word, "app/" + word})
                if (m_table.contains(used) && reaches(used, room, header, seen))
                    return true;
        }
        return false;
    }

    std::map<std::string, std::set<std::string>> m_table;
};

TEST(Architecture, theTableNamesEveryRoom) {
    const Permissions permissions;
    EXPECT_GE(permissions.rooms(), 15U) << "section 4 of ARCHITECTURE.md was not understood";
    for (const File& file : sources())
        if (const std::string room = roomOf(file.path); isCode(file) && room != file.path) {
            EXPECT_TRUE(permissions.knows(room)) << file.path;
        }
}

TEST(Architecture, roomsIncludeOnlyWhatTheTableAllows) {
    const Permissions permissions;
    size_t checked = 0;
    for (const File& file : sources()) {
        for (const std::string& line : file.lines) {
            const std::string header = includeOf(line, '"', '"');
            if (!isCode(file) || header.find('/') == std::string::npos)
                continue;
            ++checked;
            EXPECT_TRUE(permissions.allows(roomOf(file.path), header))
                << file.path << " includes " << header;
        }
    }
    EXPECT_GT(checked, 500U);
}

TEST(Architecture, theRulesRefuseAnArrowAgainstTheFlow) {
    const Permissions permissions;
    EXPECT_TRUE(permissions.allows("core/cpu", "core/graph/graph.h"));
    EXPECT_FALSE(permissions.allows("core/graph", "core/ops/tape.h"));
    EXPECT_FALSE(permissions.allows("core/kernel", "core/rewrite/match.h"));
    EXPECT_TRUE(permissions.allows("app/report", "app/pipeline/report.h"));
    EXPECT_FALSE(permissions.allows("app/report", "app/pipeline/fuse.h"));
}

/// Folders inside rooms by their floor; each with everything that it may include.
class Floors {
public:
    Floors() {
        for (const TableRow& row : tableUnder("### Floors")) {
            const std::string room = row.name.substr(0, row.name.rfind('/') + 1);
            std::set<std::string> reaches{row.name};
            for (const std::string& word : row.uses) {
                if (word == "nothing")
                    continue;
                auto used = m_reaches.find(room + word);
                if (used == m_reaches.end())
                    m_upward.push_back(row.name + " uses " + word);
                else
                    reaches.insert(used->second.begin(), used->second.end());
            }
            m_reaches[row.name] = reaches;
            m_rooms.insert(room);
        }
    }

    size_t size() const { return m_reaches.size(); }

    /// Rows that name a folder which does not stand above them.
    const std::vector<std::string>& upward() const { return m_upward; }

    /// The row of a file: empty outside of these rooms, and in a room's root, which is its roof.
    std::string folderOf(const std::string& path) const {
        for (const auto& [folder, reaches] : m_reaches)
            if (path.starts_with(folder + "/"))
                return folder;
        return {};
    }

    /// A file of these rooms that stands in a folder without a row.
    bool isLost(const std::string& path) const {
        for (const std::string& room : m_rooms)
            if (path.starts_with(room) && path.find('/', room.size()) != std::string::npos)
                return folderOf(path).empty();
        return false;
    }

    bool allows(const std::string& from, const std::string& header) const {
        const std::string folder = folderOf(from), used = folderOf(header);
        return folder.empty() || used.empty() || roomOf(from) != roomOf(header) ||
               m_reaches.at(folder).contains(used);
    }

private:
    std::map<std::string, std::set<std::string>> m_reaches;
    std::set<std::string> m_rooms;
    std::vector<std::string> m_upward;
};

TEST(Architecture, foldersInsideRoomsIncludeOnlyWhatLiesBelow) {
    const Floors floors;
    EXPECT_GE(floors.size(), 14U) << "the table of floors was not understood";
    EXPECT_EQ(floors.upward(), std::vector<std::string>());
    for (const File& file : sources()) {
        if (!isCode(file))
            continue;
        EXPECT_FALSE(floors.isLost(file.path)) << file.path << ": its folder has no row";
        for (const std::string& line : file.lines)
            if (const std::string header = includeOf(line, '"', '"'); !header.empty()) {
                EXPECT_TRUE(floors.allows(file.path, header))
                    << file.path << " includes " << header;
            }
    }
}

TEST(Architecture, theFloorsRefuseAnArrowUp) {
    const Floors floors;
    EXPECT_TRUE(floors.allows("gpu/backend/x.cpp", "gpu/emit/emit.h"));
    EXPECT_FALSE(floors.allows("gpu/emit/x.cpp", "gpu/backend/cuda_backend.h"));
    EXPECT_FALSE(floors.allows("gpu/tune/x.cpp", "gpu/runtime/device.h"));
    EXPECT_FALSE(floors.allows("app/studio/panels/steps/x.cpp", "app/studio/shell/main_window.h"));
    EXPECT_TRUE(floors.allows("app/studio/main.cpp", "app/studio/shell/main_window.h"));
    EXPECT_TRUE(floors.isLost("gpu/attic/x.cpp"));
}

// Whoever assembles the road again forgets something: once it was --strict.
TEST(Architecture, oneRoadLeadsFromAModelToAPlan) {
    const std::string pipeline = "app/pipeline/";
    const std::map<std::string, std::set<std::string>> mayInclude = {
        {"core/passes/precision.h", {pipeline + "prepared.h"}},
        {"core/passes/passes.h",
         {pipeline + "prepared.cpp", pipeline + "model.cpp",
          // Texts and generated graphs, which no one loads.
          pipeline + "probes.cpp", pipeline + "rule_tests.cpp", pipeline + "prove/generator.cpp",
          pipeline + "prove/generator_node.cpp", "app/batch/reduce/reduce.cpp",
          "app/batch/reduce/shrink.cpp", "app/batch/reduce/smaller.cpp",
          // The body of one match.
          pipeline + "gain.cpp"}},
        // Again the body of one match: what it would gain.
        {"core/plan/make_plan.h", {pipeline + "planned.h", pipeline + "gain.cpp"}},
        {"core/rewrite/replay.h", {pipeline + "fuse_plan.h"}},
        {"core/rewrite/rewrite_memo.h", {pipeline + "fuse.h"}},
        {"app/pipeline/planned.h",
         {pipeline + "planned.cpp", pipeline + "analysis.h", pipeline + "compiled.cpp",
          pipeline + "gain.cpp", pipeline + "measured_gain.cpp", pipeline + "summary.h",
          // Rules with a change, held to analyse() by Advice.PromisesOfChangesAreKept.
          pipeline + "flip.cpp"}},
        {"app/pipeline/prepared.h",
         {pipeline + "prepared.cpp", pipeline + "fuse.h", pipeline + "compiled.cpp",
          pipeline + "run_model.cpp", pipeline + "summary.h", "app/cli/cmd_inspect.cpp",
          // Judges, which want the sizes only.
          pipeline + "agreement.cpp", pipeline + "bench.cpp", pipeline + "check_elsewhere.cpp",
          pipeline + "run_check.cpp", "app/quantize/input_sets.cpp"}},
    };
    std::map<std::string, std::set<std::string>> found;
    for (const File& file : sources())
        for (const std::string& line : file.lines)
            if (const std::string header = includeOf(line, '"', '"');
                file.path.starts_with("app/") && mayInclude.contains(header))
                found[header].insert(file.path);
    for (const auto& [header, files] : mayInclude)
        EXPECT_EQ(found[header], files) << header;
}

TEST(Architecture, internalHeadersStayInTheirRoom) {
    for (const File& file : sources())
        for (const std::string& line : file.lines)
            if (const std::string header = includeOf(line, '"', '"');
                isCode(file) && header.ends_with("_internal.h") && roomOf(file.path) != "tests") {
                EXPECT_EQ(roomOf(header), roomOf(file.path)) << file.path << " includes " << header;
            }
}

TEST(Architecture, foreignLibrariesStayInTheirRoom) {
    const std::map<std::string, std::set<std::string>> owners = {
        {"onnx/", {"core/onnx"}},
        {"google/protobuf", {"core/onnx"}},
        {"boost/spirit", {"dsl"}},
        {"oneapi/dnnl", {"core/cpu"}},
        {"nlohmann/", {"app/lsp", "app/report", "core/onnx", "gpu"}},
        {"toml++/", {"app/batch", "app/lsp", "core/cost"}},
        {"CLI/", {"app/cli"}},
        {"Eigen/", {"core/ops"}},
        {"Q", {"app/studio"}}, // Qt
    };
    for (const File& file : sources())
        for (const std::string& line : file.lines)
            for (const auto& [prefix, rooms] : owners)
                if (const std::string header = includeOf(line, '<', '>');
                    header.starts_with(prefix) && roomOf(file.path) != "tests") {
                    EXPECT_TRUE(rooms.contains(roomOf(file.path)))
                        << file.path << " includes " << header;
                }
}

TEST(Architecture, everyFileBeginsWithItsLicense) {
    for (const File& file : sources()) {
        ASSERT_FALSE(file.lines.empty()) << file.path;
        EXPECT_NE(file.lines[0].find("SPDX-License-Identifier: Apache-2.0"), std::string::npos)
            << file.path;
    }
}

TEST(Architecture, theReadmeOfPatternsListsEveryRule) {
    std::string readme;
    for (const std::string& line : linesOf(fs::path(FUSELAGE_SOURCE_DIR) / "patterns/README.md"))
        readme += line + "\n";
    size_t rules = 0;
    for (const File& file : sources())
        for (const std::string& line : file.lines)
            if (file.path.starts_with("patterns/std/") && line.starts_with("rule ")) {
                std::string name = line.substr(5, line.find(' ', 5) - 5);
                EXPECT_NE(readme.find(name), std::string::npos) << name << " of " << file.path;
                ++rules;
            }
    EXPECT_GT(rules, 40U);
}

TEST(Architecture, filesAreShort) {
    for (const File& file : sources())
        EXPECT_LE(file.lines.size(), maxLines)
            << file.path << ": look for the phase or family that wants a file of its own";
}

TEST(Architecture, nothingIsLeftToDoAndNoMachineIsNamed) {
    // Split, so that this file passes its own test.
    const std::vector<std::string> words = {"TO"
                                            "DO",
                                            "FIX"
                                            "ME",
                                            "X"
                                            "XX:",
                                            "HA"
                                            "CK"};
    const std::vector<std::string> paths = {"/ho"
                                            "me/",
                                            "/wo"
                                            "rk/",
                                            "/ro"
                                            "ot/",
                                            "/Use"
                                            "rs/"};
    for (const File& file : sources())
        for (size_t i = 0; i < file.lines.size(); ++i) {
            const std::string& line = file.lines[i];
            for (const std::string& word : words)
                EXPECT_EQ(line.find(word), std::string::npos) << file.path << ":" << i + 1;
            for (const std::string& path : paths) {
                const size_t at = line.find(path);
                // "tests/work/x" is a relative path.
                const bool absolute =
                    at == 0 || (at != std::string::npos &&
                                std::string("\"'` =(<").find(line[at - 1]) != std::string::npos);
                EXPECT_FALSE(absolute) << file.path << ":" << i + 1 << ": " << line;
            }
        }
}

/// They read by the locale of the process, which a window's toolkit sets to the person's.
TEST(Architecture, numbersAreReadAlikeInEveryLocale) {
    static const std::regex reader(
        R"(\b(strto(d|f|ld)|atof|sto(d|f|ld)|[fs]?scanf\(.*%l?[efg])\b)");
    static const std::regex parser(R"(\bOnnxParser::)");
    for (const File& file : sources())
        for (size_t i = 0; i < file.lines.size() && roomOf(file.path) != "tests"; ++i) {
            if (!file.path.starts_with("core/support/number_text."))
                EXPECT_FALSE(std::regex_search(file.lines[i], reader))
                    << file.path << ":" << i + 1 << ": take core/support/number_text.h";
            if (file.path != "core/onnx/parse_text_internal.h")
                EXPECT_FALSE(std::regex_search(file.lines[i], parser))
                    << file.path << ":" << i + 1 << ": take core/onnx/parse_text_internal.h";
        }
}

/// Functions at the left margin of anonymous namespaces.
std::set<std::string> privateFunctionsOf(const std::vector<std::string>& lines) {
    static const std::regex function(
        R"(^(?:template <[^>]*> )?[A-Za-z_][\w:<>,&* \[\]]*[ &*]([a-z]\w*)\(.*)");
    std::set<std::string> out;
    bool isPrivate = false;
    for (const std::string& line : lines) {
        std::smatch found;
        if (line == "namespace {")
            isPrivate = true;
        else if (line == "} // namespace")
            isPrivate = false;
        else if (isPrivate && std::regex_match(line, found, function))
            out.insert(found[1]);
    }
    return out;
}

// Of two overloads in one unit a call may take the wrong one, and no compiler would say so.
TEST(Architecture, filesCompiledAsOneShareNoPrivateFunctionName) {
    std::ifstream plan(FUSELAGE_BINARY_DIR "/build.ninja");
    const std::string compiled{std::istreambuf_iterator<char>(plan), {}};
    size_t units = 0;
    for (const auto& entry : fs::recursive_directory_iterator(FUSELAGE_BINARY_DIR)) {
        const std::string name = entry.path().filename().string();
        if (!name.starts_with("unity_") || entry.path().extension() != ".cxx")
            continue;
        // An earlier configuration may have left some behind.
        const std::string unit = fs::relative(entry.path(), FUSELAGE_BINARY_DIR).string();
        if (plan.is_open() && compiled.find(unit) == std::string::npos)
            continue;
        ++units;
        std::map<std::string, std::string> owners;
        for (const std::string& line : linesOf(entry.path())) {
            constexpr std::string_view include = "#include \"";
            if (!line.starts_with(include))
                continue;
            const std::string path = line.substr(include.size(), line.size() - include.size() - 1);
            for (const std::string& function : privateFunctionsOf(linesOf(path))) {
                auto [at, isNew] = owners.emplace(function, path);
                EXPECT_TRUE(isNew) << "`" << function << "` of " << path << " and " << at->second
                                   << " is compiled as one unit: rename one";
            }
        }
    }
    if (units == 0)
        GTEST_SKIP() << "every file is compiled alone here; the release preset joins them";
}

} // namespace
