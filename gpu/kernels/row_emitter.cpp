// SPDX-License-Identifier: Apache-2.0
#include "gpu/kernels/row_emitter.h"

#include "core/graph/type.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace fuselage::gpu {

namespace {

bool isArg(ReduceKind kind) {
    return kind >= ReduceKind::ArgMax;
}

const char* operationOf(ReduceKind kind) {
    switch (kind) {
    case ReduceKind::Sum:
        return "Sum";
    case ReduceKind::Product:
        return "Product";
    case ReduceKind::Max:
        return "Largest";
    case ReduceKind::Min:
        return "Smallest";
    case ReduceKind::ArgMax:
        return "Extremum<true, false>";
    case ReduceKind::ArgMin:
        return "Extremum<false, false>";
    case ReduceKind::ArgMaxLast:
        return "Extremum<true, true>";
    case ReduceKind::ArgMinLast:
        return "Extremum<false, true>";
    }
    return "Sum";
}

std::string literal(DType type, double value) {
    return isFloat(type) ? floatLiteral(type, value)
                         : integerLiteral(type, static_cast<int64_t>(value));
}

/// The smallest or largest value of a type.
std::string extreme(DType type, bool largest) {
    if (isFloat(type))
        return floatLiteral(type, largest ? std::numeric_limits<double>::infinity()
                                          : -std::numeric_limits<double>::infinity());
    const auto bits = static_cast<int>(sizeOf(type) * 8);
    if (type == DType::Bool)
        return largest ? "true" : "false";
    if (isSigned(type)) {
        const int64_t top = std::numeric_limits<int64_t>::max() >> (64 - bits);
        return integerLiteral(type, largest ? top : -top - 1);
    }
    return integerLiteral(type, largest ? -1 : 0);
}

/// Where an accumulator starts; of nothing, every reduction but the product is zero.
std::string identityOf(ReduceKind kind, DType type, bool empty) {
    if (isArg(kind))
        return fmt::format("candidate({}, -1ll)", literal(type, 0));
    if (kind == ReduceKind::Product)
        return literal(type, 1);
    if (kind == ReduceKind::Sum || empty)
        return literal(type, 0);
    return extreme(type, kind == ReduceKind::Min);
}

/// What a block's reduction holds in shared memory: an element of up to 16 bytes a warp.
uint32_t reduceBytes(uint32_t threads) {
    return threads / 32 * 16;
}

std::vector<KernelOperand> operandsOf(const KernelRequest& request, const Row& program) {
    const size_t dims = program.outer.size() + program.inner.size();
    std::vector<KernelOperand> out;
    for (const Access& write : program.elementWrites)
        out.push_back(writtenOperand(request, write, dims));
    for (const Access& write : program.rowWrites)
        out.push_back(writtenOperand(request, write, dims));
    for (const Access& read : program.reads)
        out.push_back(readOperand(request, read, dims));
    return out;
}

} // namespace

RowEmitter::RowEmitter(const KernelRequest& request)
    : m_request(request), m_program(std::get<Row>(request.program->code)),
      m_operands(operandsOf(request, m_program)),
      m_firstRead(m_program.elementWrites.size() + m_program.rowWrites.size()),
      m_outer(m_program.outer, m_operands, 0),
      m_inner(m_program.inner, m_operands, m_program.outer.size()),
      m_narrow(storesNarrow(
          request, {m_operands.begin(), m_operands.begin() + static_cast<ptrdiff_t>(m_firstRead)})),
      m_kept(keptMap(m_program)) {}

bool RowEmitter::needs(const Tape& tape, size_t read) const {
    return std::any_of(tape.code.begin(), tape.code.end(), [&](const TapeInstruction& x) {
        return x.op == TapeOp::Input && x.index == read;
    });
}

bool RowEmitter::cached(size_t read) const {
    if (m_held || !m_geometry.cache || !movesAlong(read))
        return m_held == read;
    size_t passes = needs(elementTape(), read) ? 1 : 0;
    for (size_t stage = 0; stage < m_program.stages.size(); ++stage)
        passes += needs(mapTape(stage), read) ? 1 : 0;
    return passes > 1;
}

size_t RowEmitter::cachedReads() const {
    RowEmitter all = *this;
    all.m_geometry.cache = true;
    size_t count = 0;
    bool inItsPlace = !all.kept();
    for (size_t read = 0; read < m_program.reads.size(); ++read) {
        count += all.cached(read) ? 1 : 0;
        inItsPlace =
            inItsPlace || (all.cached(read) && needs(all.mapTape(all.kept()->stage), read));
    }
    return count + (inItsPlace ? 0 : 1);
}

LaneAccess RowEmitter::accessOf(size_t number, int width) const {
    LaneAccess access = laneAccess(m_inner, m_operands[number], number, width);
    if (access != LaneAccess::Vector)
        return access;
    const auto size = static_cast<int64_t>(sizeOf(m_operands[number].dtype));
    const int64_t bytes = std::min<int64_t>(16, width * size);
    for (const Loop& loop : m_outer.loops())
        if (loop.strides[number] * size % bytes != 0)
            return LaneAccess::Gather;
    return access;
}

int RowEmitter::widestVector() const {
    size_t smallest = 8;
    for (const KernelOperand& operand : m_operands)
        smallest = std::min(smallest, sizeOf(operand.dtype));
    for (int width = std::min<int>(8, static_cast<int>(16 / smallest)); width >= 2; width /= 2) {
        bool all = length() % width == 0;
        for (size_t k = 0; k < m_operands.size(); ++k)
            all = all && accessOf(k, width) != LaneAccess::Gather &&
                  static_cast<size_t>(width) * sizeOf(m_operands[k].dtype) >= 2;
        if (all)
            return width;
    }
    return 1;
}

int64_t RowEmitter::narrowestBytes(int64_t elements) const {
    size_t out = 8;
    for (size_t k = 0; k < m_operands.size(); ++k)
        out = m_inner.moves(k) ? std::min(out, sizeOf(m_operands[k].dtype)) : out;
    return elements * static_cast<int64_t>(out);
}

bool RowEmitter::takesKept(const Tape& tape) const {
    if (kept() == nullptr)
        return false;
    bool out = kept()->element && &tape == &*kept()->element;
    for (const std::optional<Tape>& map : kept()->maps)
        out = out || (map && &tape == &*map);
    return out;
}

/// Tape inputs are the reads (`reads`), then the row scalars, then what is kept.
TapeFunction RowEmitter::print(const std::string& name, const Tape& tape, std::vector<DType> stored,
                               bool reads) const {
    TapeStyle style{m_request.strict, m_narrow, std::move(stored), {}};
    for (size_t i = 0; i < tape.inputs.size(); ++i)
        style.uniform.push_back(!reads || i >= m_program.reads.size() || !movesAlong(i));
    if (takesKept(tape))
        style.uniform.back() = false;
    return printTape(name, tape, style);
}

std::string RowEmitter::address(size_t number) const {
    const std::string along = m_inner.offset(number, "j", "at");
    return fmt::format("p{}{}", number, along == "0" ? "" : " + (" + along + ")");
}

/// Declares live and row from the wanted one.
std::string RowEmitter::liveRow() const {
    return fmt::format("    const bool live = wanted < {}u;\n    const {} row = live ? wanted : "
                       "{}u;\n",
                       rows(), m_outer.indexType(), rows() - 1);
}

/// Declares row, member, and a pointer for each operand to its row.
std::string RowEmitter::placeThreads() const {
    const char* type = m_outer.indexType();
    const uint32_t threads = m_geometry.threads, lanes = static_cast<uint32_t>(m_geometry.lanes);
    std::string out;
    switch (m_geometry.team) {
    case RowTeam::Thread:
        out = fmt::format("    const {0} row = static_cast<{0}>(block) * {1}u + threadIdx.x;\n"
                          "    const unsigned member = 0;\n",
                          type, threads);
        break;
    case RowTeam::Warp:
        out = fmt::format("    const {} {} = static_cast<{}>(block) * {}u + threadIdx.x / {}u;\n",
                          type, guardsRows() ? "wanted" : "row", type, threads / lanes, lanes);
        out += guardsRows() ? liveRow() : std::string();
        out += fmt::format("    const unsigned member = threadIdx.x % {}u;\n", lanes);
        break;
    case RowTeam::Block:
        out = fmt::format("    const {0} row = block;\n    const unsigned member = threadIdx.x;\n",
                          type);
        break;
    case RowTeam::Lanes:
        out = fmt::format(
                  "    const {0} wanted = static_cast<{0}>(block) * 32u + threadIdx.x % 32u;\n",
                  type) +
              liveRow() + "    const unsigned member = threadIdx.x / 32u;\n";
        break;
    }
    if (m_geometry.team == RowTeam::Thread || (m_geometry.team == RowTeam::Warp && !guardsRows()))
        out += fmt::format("    if (row >= {}u)\n        return;\n", rows());
    if (m_geometry.team == RowTeam::Block || m_geometry.team == RowTeam::Lanes)
        out += "    extern __shared__ __align__(16) unsigned char sharedMemory[];\n";
    out += m_outer.split("row", "i", "    ");
    for (size_t number = 0; number < m_operands.size(); ++number) {
        const KernelOperand& operand = m_operands[number];
        out +=
            fmt::format("    {}{}* __restrict__ const p{} = {} + {} + ({});\n",
                        number >= m_firstRead ? "const " : "", storageType(operand.dtype), number,
                        operand.pointer, operand.access.offset, m_outer.offset(number, "i"));
    }
    return out;
}

/// Loads a read's elements of this step into an array (or lane) of that name.
std::string RowEmitter::loadInto(size_t read, const std::string& target,
                                 const std::string& indent) const {
    const size_t number = readNumber(read);
    if (accessOf(number, m_geometry.width) == LaneAccess::Vector)
        return fmt::format("{}loadLanes<{}>({}, {});\n", indent, m_geometry.width, address(number),
                           target);
    return fmt::format("{}{}[0] = load({});\n", indent, target, address(number));
}

/// Reads that do not move along the row, and the cache.
std::string RowEmitter::loadCached() const {
    std::string out, loads;
    for (size_t read = 0; read < m_program.reads.size(); ++read) {
        const char* type = registerType(m_operands[readNumber(read)].dtype);
        if (!movesAlong(read)) {
            out += fmt::format("    const {} u{} = load(p{});\n", type, read, readNumber(read));
        } else if (cached(read)) {
            out += fmt::format("    {} c{}[{}][{}];\n", type, read, m_steps, m_geometry.width);
            loads += loadInto(read, fmt::format("c{}[step]", read), "            ");
        }
    }
    return loads.empty() ? out : out + loopHead() + loads + "        }\n    }\n";
}

/// Opens two braces: a loop over this thread's steps, and the guard of the row's end.
std::string RowEmitter::loopHead() const {
    const char* type = m_inner.indexType();
    const int64_t perStep = m_team * m_geometry.width;
    std::string out;
    if (m_geometry.cache) {
        out = fmt::format("#pragma unroll\n    for (int step = 0; step < {0}; ++step) {{\n"
                          "        const {1} at = static_cast<{1}>(step) * {2}u + member * {3}u;\n",
                          m_steps, type, perStep, m_geometry.width);
        out += length() % perStep == 0 ? "        {\n"
                                       : fmt::format("        if (at < {}u) {{\n", length());
    } else {
        out = fmt::format(
            "#pragma unroll {4}\n    for ({0} at = member * {1}u; at < {2}u; at += {3}u) {{\n"
            "        {{\n",
            type, m_geometry.width, length(), perStep, m_geometry.width >= 4 ? 2 : 4);
    }
    bool split = false;
    for (size_t k = 0; k < m_operands.size(); ++k)
        split = split || (m_inner.moves(k) && !m_inner.dense(k));
    return split ? out + m_inner.split("at", "j", "            ") : out;
}

std::string RowEmitter::loopLoads(const TapeFunction& function) const {
    std::string out;
    for (uint16_t input : function.used) {
        if (input >= m_program.reads.size() || !movesAlong(input) || cached(input))
            continue;
        out +=
            fmt::format("            {} x{}[{}];\n",
                        registerType(m_operands[readNumber(input)].dtype), input, m_geometry.width);
        out += loadInto(input, fmt::format("x{}", input), "            ");
    }
    return out;
}

std::vector<std::string> RowEmitter::inputNames(const char* lane) const {
    std::vector<std::string> out;
    for (size_t read = 0; read < m_program.reads.size(); ++read) {
        if (!movesAlong(read))
            out.push_back(fmt::format("u{}", read));
        else if (cached(read))
            out.push_back(fmt::format("c{}[step][{}]", read, lane));
        else
            out.push_back(fmt::format("x{}[{}]", read, lane));
    }
    for (size_t k = 0; k < m_scalars; ++k)
        out.push_back(fmt::format("s{}", k));
    out.push_back(fmt::format("kept[step][{}]", lane));
    return out;
}

/// The team's result from one value a thread.
std::string RowEmitter::reduced(ReduceKind kind, const std::string& value) {
    switch (m_geometry.team) {
    case RowTeam::Thread:
        return value;
    case RowTeam::Warp:
        return fmt::format("reduceWarp<{}, {}>({})", operationOf(kind), m_geometry.lanes, value);
    case RowTeam::Block:
        return fmt::format("reduceBlock<{}, {}>({}, sharedMemory + {})", operationOf(kind),
                           m_geometry.threads, value,
                           m_reductions++ % 2 * reduceBytes(m_geometry.threads));
    case RowTeam::Lanes:
        return fmt::format("reduceLanes<{}, {}>({}, sharedMemory)", operationOf(kind),
                           m_geometry.threads, value);
    }
    return value;
}

std::string RowEmitter::stage(size_t index) {
    const Row::Stage& stage = m_program.stages[index];
    const Tape& tape = mapTape(index);
    const TapeFunction map = print(fmt::format("@map{}", index), tape, {}, true);
    m_part.functions += map.text;
    m_part.numeric = std::max(m_part.numeric, map.numeric);
    std::string before, body, after;
    std::vector<std::string> mapped;
    for (size_t k = 0; k < stage.reduce.size(); ++k) {
        const ReduceKind kind = stage.reduce[k];
        const DType type = tape.type(tape.outputs[k]);
        const std::string name = fmt::format("a{}_{}", index, k);
        // One thread that adds up a whole row needs more digits than a tree of partial sums.
        const bool wide = m_geometry.team == RowTeam::Thread && kind == ReduceKind::Sum &&
                          isFloat(type) && type != DType::Float64;
        const std::string element = registerType(type);
        const std::string held = isArg(kind) ? "Candidate<" + element + ">"
                                 : wide      ? std::string("double")
                                             : element;
        before +=
            fmt::format("    {} {} = {};\n", held, name, identityOf(kind, type, length() == 0));
        mapped.push_back(fmt::format("m{}", k));
        std::string next = isArg(kind)
                               ? fmt::format("candidate(m{}, static_cast<long long>(at + v))", k)
                           : wide ? fmt::format("static_cast<double>(m{})", k)
                                  : fmt::format("m{}", k);
        body += fmt::format("                {0} = {1}::combine({0}, {2});\n", name,
                            operationOf(kind), next);
        if (kept() && kept()->stage == index && kept()->output == k) {
            before += fmt::format("    {} kept[{}][{}];\n", element, m_steps, m_geometry.width);
            body += fmt::format("                kept[step][v] = m{};\n", k);
        }
        const std::string scalar = fmt::format("s{}", m_scalars + k);
        if (isArg(kind))
            after += fmt::format("    const long long {} = {}.position;\n", scalar,
                                 length() == 0 ? "candidate(0, 0ll)" : reduced(kind, name));
        else
            after += fmt::format("    const {0} {1} = static_cast<{0}>({2});\n", element, scalar,
                                 reduced(kind, name));
    }
    std::string out = before + loopHead() + loopLoads(map);
    out += fmt::format("#pragma unroll\n            for (int v = 0; v < {}; ++v) {{\n",
                       m_geometry.width);
    for (size_t k = 0; k < mapped.size(); ++k)
        out += fmt::format("                {} {};\n", registerType(map.outputs[k]), mapped[k]);
    out += "                " + map.call(inputNames("v"), mapped) + ";\n" + body;
    out += "            }\n        }\n    }\n" + after;
    m_scalars += stage.reduce.size();

    const TapeFunction scalar = print(fmt::format("@scalar{}", index), stage.scalar, {}, false);
    if (scalar.name.empty())
        return out;
    m_part.functions += scalar.text;
    std::vector<std::string> inputs, results;
    for (size_t k = 0; k < m_scalars; ++k)
        inputs.push_back(fmt::format("s{}", k));
    for (size_t k = 0; k < scalar.outputs.size(); ++k) {
        results.push_back(fmt::format("s{}", m_scalars + k));
        out += fmt::format("    {} {};\n", registerType(scalar.outputs[k]), results.back());
    }
    m_scalars += scalar.outputs.size();
    m_part.numeric = std::max(m_part.numeric, scalar.numeric);
    return out + "    " + scalar.call(inputs, results) + ";\n";
}

std::string RowEmitter::elements() {
    std::vector<DType> stored;
    for (size_t w = 0; w < m_program.elementWrites.size(); ++w)
        stored.push_back(m_operands[w].dtype);
    const TapeFunction function = print("@element", elementTape(), stored, true);
    if (function.name.empty())
        return {};
    m_part.functions += function.text;
    m_part.numeric = std::max(m_part.numeric, function.numeric);
    std::string out = loopHead() + loopLoads(function);
    std::vector<std::string> results;
    for (size_t w = 0; w < stored.size(); ++w) {
        out += fmt::format("            {} y{}[{}];\n", registerType(function.outputs[w]), w,
                           m_geometry.width);
        results.push_back(fmt::format("y{}[v]", w));
    }
    out += fmt::format("#pragma unroll\n            for (int v = 0; v < {}; ++v)\n"
                       "                {};\n",
                       m_geometry.width, function.call(inputNames("v"), results));
    const std::string guard = guardsRows() ? "            if (live)\n    " : "";
    const char* many = m_staged ? "            stageLanes<{}>({}, y{});\n"
                                : "            storeLanes<{}, false>({}, y{});\n";
    for (size_t w = 0; w < stored.size(); ++w)
        out += guard + (m_geometry.width > 1
                            ? fmt::format(fmt::runtime(many), m_geometry.width, address(w), w)
                            : fmt::format("            store({}, y{}[0]);\n", address(w), w));
    return out + "        }\n    }\n";
}

std::string RowEmitter::rowResults() {
    std::vector<DType> stored;
    const size_t first = m_program.elementWrites.size();
    for (size_t w = 0; w < m_program.rowWrites.size(); ++w)
        stored.push_back(m_operands[first + w].dtype);
    const TapeFunction function = print("@row", m_program.row, stored, false);
    if (function.name.empty())
        return {};
    m_part.functions += function.text;
    m_part.numeric = std::max(m_part.numeric, function.numeric);
    std::string out =
        guardsRows() ? "    if (live && member == 0) {\n" : "    if (member == 0) {\n";
    std::vector<std::string> inputs, results;
    for (size_t k = 0; k < m_scalars; ++k)
        inputs.push_back(fmt::format("s{}", k));
    for (size_t w = 0; w < stored.size(); ++w) {
        results.push_back(fmt::format("z{}", w));
        out += fmt::format("        {} z{};\n", registerType(function.outputs[w]), w);
    }
    out += "        " + function.call(inputs, results) + ";\n";
    for (size_t w = 0; w < stored.size(); ++w)
        out += fmt::format("        store(p{}, z{});\n", first + w, w);
    return out + "    }\n";
}

KernelPart RowEmitter::emit(const RowGeometry& geometry) {
    m_geometry = geometry;
    m_scalars = 0;
    m_reductions = 0;
    m_part = {};
    if (geometry.outerLoop >= 0)
        m_outer.moveInnermost(static_cast<size_t>(geometry.outerLoop));
    const int64_t warps = geometry.threads / 32;
    const int64_t teams[] = {1, geometry.lanes, geometry.threads, warps};
    const int64_t rowsPerBlock[] = {geometry.threads, geometry.threads / geometry.lanes, 1, 32};
    const auto team = static_cast<size_t>(geometry.team);
    m_team = teams[team];
    m_steps = (length() + m_team * geometry.width - 1) / (m_team * geometry.width);
    m_part.threads = geometry.threads;
    m_part.blocks = (rows() + rowsPerBlock[team] - 1) / rowsPerBlock[team];
    m_part.helpers = {"vectors", "reduce"};
    if (geometry.team == RowTeam::Block)
        m_part.sharedBytes = 2 * reduceBytes(geometry.threads);
    if (geometry.team == RowTeam::Lanes)
        m_part.sharedBytes = geometry.threads * 16;
    m_part.comment = {
        fmt::format("{} rows of {} (outer {}, reduced {}), {} threads a row, {} elements at once",
                    rows(), length(), text(m_program.outer), text(m_program.inner), m_team,
                    geometry.width),
        fmt::format("sums: {} partial sums a row, then a tree in the order of the threads; {}",
                    m_team,
                    geometry.cache ? "the row stays in registers between passes"
                                   : "each pass reads the row again")};
    m_part.body = placeThreads() + loadCached();
    for (size_t index = 0; index < m_program.stages.size(); ++index)
        m_part.body += stage(index);
    m_part.body += elements() + rowResults();
    return m_part;
}

} // namespace fuselage::gpu
