// SPDX-License-Identifier: Apache-2.0
// One generated kernel alone on a device, against the numbers of its program's evaluation: data
// from a seed in guarded memory, several runs. tests/gpu/contact starts a process for each, so that
// a fault or a hang costs that kernel only.
//     gpu_contact list               VARIANT CASE lines for this device, a case of every variant
//     gpu_contact version            what a verdict depends on: device and emitter
//     gpu_contact run VARIANT CASE [SECONDS]
// Exit codes of run: 0 right, 1 DIFFERS, 3 FAULT, 4 HUNG, 5 it cannot be built, loaded or launched;
// of all: 2 usage, 77 no device.
#include "core/plan/value_transfer.h"
#include "gpu/kernels/variant_table.h"
#include "gpu/runtime/device.h"
#include "gpu/runtime/generated_tactic.h"
#include "gpu/runtime/nvrtc.h"
#include "gpu/tune/tactic_key.h"
#include "tests/shim/suite.h"
#include "tests/shim/suite_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <map>
#include <string_view>

using namespace fuselage;
using namespace fuselage::gpu;
using gpu_suite::Case;
using gpu_suite::Prepared;

namespace {

enum Exit : int { Right = 0, Differs = 1, Usage = 2, Fault = 3, Hung = 4, Failed = 5, Absent = 77 };

constexpr size_t margin = 4096; ///< bytes on either side of an operand
constexpr std::byte poison{0xa5};
constexpr int runs = 3;

/// What went wrong, with its exit code.
struct Outcome {
    int code = Right;
    std::string text;
};

Outcome outcomeOf(const Error& error) {
    const int code = error.code == "device.lost"   ? Fault
                     : error.code == "device.hung" ? Hung
                                                   : Failed;
    return {code, error.text()};
}

/// The case as a plan for this device would ask for it.
Prepared preparedFor(const Case& source, uint32_t capability) {
    Prepared out = gpu_suite::prepare(source);
    out.request.capability = capability;
    return out;
}

/// One operand in memory of its own, with what the host wants to find there afterwards.
struct Place {
    PlanValue value; ///< type, extents and strides
    std::vector<std::byte> bytes;
    DeviceMemory memory;
    size_t first = 0; ///< byte of the first element

    DevicePointer address() const { return memory.address() + first; }
};

Result<Place> placeOf(Device& device, const OperandLayout& layout, const Tensor* content) {
    Place out;
    out.value.dtype = layout.dtype;
    out.value.extents = layout.extents;
    out.value.strides = layout.strides;
    // No better aligned than the request says.
    out.first = margin + (layout.alignment < 16 ? static_cast<size_t>(layout.alignment) : 0);
    const size_t span =
        static_cast<size_t>(spanOf(layout.extents, layout.strides)) * sizeOf(layout.dtype);
    out.bytes.assign(out.first + span + margin, poison);
    if (content != nullptr)
        toStrided(out.value, *content, out.bytes.data() + out.first);
    auto memory = device.allocate(static_cast<int64_t>(out.bytes.size()));
    if (!memory)
        return failure(memory.error());
    out.memory = std::move(*memory);
    if (auto sent = device.upload(out.memory.address(), out.bytes.data(), out.bytes.size()); !sent)
        return failure(sent.error());
    return out;
}

/// How the result differs from the evaluator's; empty: not by more than twice what the shim allows,
/// since a device's functions are not the host's.
std::string difference(const ReferenceValue& wanted, const Tensor& got, double tolerance) {
    double largest = 0, worst = 0;
    for (double number : wanted.floats)
        if (std::isfinite(number))
            largest = std::max(largest, std::fabs(number));
    const double allowed = 2 * tolerance * largest;
    int64_t count = 0, where = -1;
    for (int64_t i = 0; i < got.elementCount(); ++i) {
        const auto n = static_cast<size_t>(i);
        bool same = false;
        double off = 0;
        if (isFloat(wanted.dtype)) {
            const double want = roundTo(wanted.dtype, wanted.floats[n]), have = got.at(i);
            off = std::fabs(have - want);
            same = std::isfinite(want) ? off <= allowed
                                       : have == want || (have != have && want != want);
        } else {
            same = got.intAt(i) == wanted.ints[n];
            off = std::fabs(static_cast<double>(got.intAt(i) - wanted.ints[n]));
        }
        if (same)
            continue;
        if (++count == 1 || !(off <= worst)) {
            worst = off;
            where = i;
        }
    }
    return count == 0
               ? std::string()
               : fmt::format("{} of {} elements differ, by {:.3g} at element {}, allowed {:.3g}",
                             count, got.elementCount(), worst, where, allowed);
}

class Run {
public:
    Run(Device& device, const Prepared& prepared, double deadline)
        : m_device(device), m_prepared(prepared), m_deadline(deadline) {}

    Outcome of(Tactic& tactic);

private:
    Result<void> place();
    Result<void> launch(Tactic& tactic);
    Outcome check(size_t output, int run);
    Outcome checkInputs();

    Device& m_device;
    const Prepared& m_prepared;
    double m_deadline;
    Stream m_stream;
    std::vector<ReferenceValue> m_values, m_wanted;
    std::vector<Place> m_inputs, m_outputs;
    std::vector<std::vector<std::byte>> m_first; ///< outputs of the first run
    double m_tolerance = 0;
};

Result<void> Run::place() {
    gpu_suite::Random random;
    const KernelRequest& request = m_prepared.request;
    for (size_t i = 0; i < request.inputs.size(); ++i) {
        const bool special = m_prepared.source.special && (i == 0 || !m_prepared.source.finiteRest);
        m_values.push_back(gpu_suite::dataFor(m_prepared.program->inputs[i], special, random));
        const Tensor content = m_values.back().toTensor();
        // Emitted for zeros, packed from what the operand holds: the text must not know the
        // weights.
        if (const TensorPtr constant = request.constant(i))
            std::memcpy(const_cast<std::byte*>(constant->bytes()), content.bytes(),
                        content.byteCount());
        auto made = placeOf(m_device, request.inputs[i], &content);
        if (!made)
            return failure(made.error());
        m_inputs.push_back(std::move(*made));
    }
    for (const OperandLayout& layout : request.outputs) {
        auto made = placeOf(m_device, layout, nullptr);
        if (!made)
            return failure(made.error());
        m_outputs.push_back(std::move(*made));
    }
    m_wanted = gpu_suite::wantedFor(*m_prepared.program, m_values);
    if (m_wanted.size() != m_outputs.size())
        return failure("contact.evaluate", "the program cannot be evaluated");
    return m_device.finishUploads();
}

Result<void> Run::launch(Tactic& tactic) {
    std::vector<DevicePointer> inputs, outputs;
    for (const Place& at : m_inputs)
        inputs.push_back(at.address());
    for (const Place& at : m_outputs)
        outputs.push_back(at.address());
    auto memory = m_device.allocate(tactic.facts().workspaceBytes);
    if (!memory)
        return failure(memory.error());
    const auto bytes = static_cast<size_t>(tactic.facts().workspaceBytes);
    if (auto filled = m_stream.fill(memory->address(), 0xff, bytes); bytes > 0 && !filled)
        return filled;
    if (auto ran = tactic.enqueue(m_stream, {inputs, outputs, memory->address()}); !ran)
        return ran;
    auto end = Event::create(m_device.context());
    if (!end)
        return failure(end.error());
    if (auto recorded = m_stream.record(*end); !recorded)
        return recorded;
    return end->synchronize(m_deadline);
}

/// What lies around the elements, and the elements themselves.
Outcome Run::check(size_t output, int run) {
    Place& place = m_outputs[output];
    std::vector<std::byte> now(place.bytes.size());
    if (auto copied = m_stream.copyOut(now.data(), place.memory.address(), now.size()); !copied)
        return outcomeOf(copied.error());
    if (auto done = m_stream.synchronize(); !done)
        return outcomeOf(done.error());
    if (run > 0)
        return now == m_first[output]
                   ? Outcome{}
                   : Outcome{Differs,
                             fmt::format("output {}: run {} gives other bits than the first",
                                         output, run + 1)};
    m_first.push_back(now);
    const Tensor got = fromStrided(place.value, now.data() + place.first);
    std::vector<std::byte> around(now.size(), poison);
    toStrided(place.value, got, around.data() + place.first);
    if (around != now) {
        const auto at = std::mismatch(around.begin(), around.end(), now.begin()).first;
        return {Differs,
                fmt::format("output {}: byte {} beside its elements was written", output,
                            at - around.begin() - static_cast<std::ptrdiff_t>(place.first))};
    }
    const std::string how = difference(m_wanted[output], got, m_tolerance);
    return how.empty() ? Outcome{} : Outcome{Differs, fmt::format("output {}: {}", output, how)};
}

Outcome Run::checkInputs() {
    for (size_t i = 0; i < m_inputs.size(); ++i) {
        std::vector<std::byte> now(m_inputs[i].bytes.size());
        if (auto copied = m_stream.copyOut(now.data(), m_inputs[i].memory.address(), now.size());
            !copied)
            return outcomeOf(copied.error());
        if (auto done = m_stream.synchronize(); !done)
            return outcomeOf(done.error());
        if (now != m_inputs[i].bytes)
            return {Differs, fmt::format("input {} was written", i)};
    }
    return {};
}

Outcome Run::of(Tactic& tactic) {
    Progress progress;
    if (auto built = tactic.build(progress); !built)
        return outcomeOf(built.error());
    m_tolerance = tactic.kernels()->tolerance;
    auto stream = m_device.stream();
    if (!stream)
        return outcomeOf(stream.error());
    m_stream = std::move(*stream);
    if (auto placed = place(); !placed)
        return outcomeOf(placed.error());
    if (auto loaded = tactic.load(m_device); !loaded)
        return outcomeOf(loaded.error());
    if (auto sent = m_device.finishUploads(); !sent)
        return outcomeOf(sent.error());
    for (int run = 0; run < runs; ++run) {
        if (auto ran = launch(tactic); !ran)
            return outcomeOf(ran.error());
        for (size_t i = 0; i < m_outputs.size(); ++i)
            if (Outcome found = check(i, run); found.code != Right)
                return found;
    }
    return checkInputs();
}

/// In the order of the table, a case of each variant, then a second one of each, ...
int list(uint32_t capability) {
    std::map<std::string, std::vector<std::string>> small, large;
    for (const Case& source : gpu_suite::cases()) {
        const Prepared prepared = preparedFor(source, capability);
        if (!prepared.program)
            return Failed;
        for (const KernelSet& set : emitAll(prepared.request).accepted) {
            std::vector<std::string>& names = (source.compileOnly ? large : small)[set.variant];
            if (names.empty() || names.back() != source.name)
                names.push_back(source.name);
        }
    }
    for (const auto& [variant, names] : large) // the evaluator needs minutes for these
        if (small[variant].empty())
            std::fprintf(stderr, "no small case of %s\n", variant.c_str());
    for (size_t i = 0, printed = 1; printed > 0; ++i) {
        printed = 0;
        for (const VariantRow& row : kernelVariants())
            if (const auto& names = small[row.name]; i < names.size()) {
                std::printf("%s %s\n", row.name.c_str(), names[i].c_str());
                ++printed;
            }
    }
    return Right;
}

int runOne(Device& device, const std::string& variant, const std::string& name, double deadline) {
    auto nvrtc = Nvrtc::open();
    if (!nvrtc) {
        std::printf("%s\n", nvrtc.error().text().c_str());
        return Failed;
    }
    auto source =
        makeGeneratedSource(std::make_shared<CubinCache>(std::move(*nvrtc), cacheFolder({})));
    for (const Case& one : gpu_suite::cases()) {
        if (one.name != name)
            continue;
        const Prepared prepared = preparedFor(one, capabilityOf(device.facts().arch));
        TacticList all = source->candidates(prepared.request);
        for (const std::unique_ptr<Tactic>& tactic : all.candidates) {
            if (tactic->name() != variant)
                continue;
            Outcome out = Run(device, prepared, deadline).of(*tactic);
            std::printf("%s\n", out.code == Right ? "ok" : out.text.c_str());
            std::fflush(stdout);
            // Nothing is given back on a device that is gone: the driver would wait.
            if (out.code == Fault || out.code == Hung)
                std::_Exit(out.code);
            return out.code;
        }
        std::printf("%s does not accept %s\n", variant.c_str(), name.c_str());
        return Usage;
    }
    std::printf("no case %s\n", name.c_str());
    return Usage;
}

} // namespace

int main(int argc, char** argv) {
    const std::string_view what = argc > 1 ? argv[1] : "";
    const bool run = what == "run" && (argc == 4 || argc == 5);
    if (!run && !(argc == 2 && (what == "list" || what == "version"))) {
        std::fprintf(stderr, "usage: gpu_contact list|version, or run VARIANT CASE [SECONDS]\n");
        return Usage;
    }
    auto device = Device::open();
    if (!device) {
        std::fprintf(stderr, "%s\n", device.error().text().c_str());
        return Absent;
    }
    const DeviceFacts& facts = (*device)->facts();
    if (what == "list")
        return list(capabilityOf(facts.arch));
    if (what == "version") {
        std::printf("%s, %s, driver %s, emitter %s\n", facts.name.c_str(), facts.arch.c_str(),
                    facts.driverVersion.c_str(), emitterVersion().c_str());
        return Right;
    }
    if (auto current = (*device)->makeCurrent(); !current) {
        std::fprintf(stderr, "%s\n", current.error().text().c_str());
        return Failed;
    }
    return runOne(**device, argv[2], argv[3], argc == 5 ? std::atof(argv[4]) : 10);
}
