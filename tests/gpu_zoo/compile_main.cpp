// SPDX-License-Identifier: Apache-2.0
// The compile gate of the zoo: the kernels that are generated for zoo models when they are planned
// for a device of each architecture, each distinct one once, through NVRTC without a spill and
// within the registers and the shared memory that there are. Needs no GPU; exit status 77: NVRTC is
// not here. A run without options takes what fits a test: a kernel of each form on one of the
// architectures, in turn, and of each variant on all of them. --forms: one of each form on every
// architecture; --all: every kernel on every architecture.
#include "app/zoo/zoo.h"
#include "gpu/runtime/early_code.h"
#include "gpu/runtime/nvrtc.h"
#include "tests/gpu_zoo/zoo_kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

using namespace fuselage;

namespace {

constexpr int skipped = 77;
constexpr uint32_t registersOfUnit = 65536;

using Clock = std::chrono::steady_clock;

double secondsSince(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

struct Options {
    bool all = false, forms = false, list = false;
    uint32_t slice = 0, slices = 1;
    std::vector<std::string> models, archs;
};

/// False when the words are not understood.
bool read(int argc, char** argv, Options& options) {
    for (int i = 1; i < argc; ++i) {
        const std::string word = argv[i];
        const char* next = i + 1 < argc ? argv[i + 1] : nullptr;
        if (word == "--all")
            options.all = true;
        else if (word == "--forms")
            options.forms = true;
        else if (word == "--list")
            options.list = true;
        else if (word == "--model" && next != nullptr)
            options.models.emplace_back(argv[++i]);
        else if (word == "--slice" && next != nullptr) {
            if (std::sscanf(argv[++i], "%u/%u", &options.slice, &options.slices) != 2 ||
                options.slice >= options.slices)
                return false;
        } else if (word.starts_with("sm_"))
            options.archs.push_back(word);
        else
            return false;
    }
    if (options.models.empty())
        for (const zoo::ZooEntry& entry : zoo::models())
            options.models.push_back(entry.name);
    if (options.archs.empty())
        options.archs = gpu_zoo::architectures();
    return true;
}

/// One compilation.
struct Task {
    const gpu_zoo::ZooKernel* kernel;
    std::string arch;
};

/// What a block may have on a device; the system keeps some where it has more than 64 KiB.
uint32_t sharedLimitOf(const std::string& arch) {
    const auto unit = static_cast<uint32_t>(gpu_zoo::profileFor(arch).sharedBytesPerUnit);
    return unit > 65536 ? unit - 1024 : unit;
}

struct Figures {
    uint32_t kernels = 0, registers = 0;
    double seconds = 0;
};

struct Gate {
    gpu::Nvrtc& nvrtc;
    std::mutex mutex;
    int failures = 0;
    std::map<std::string, std::map<std::string, Figures>> figures; ///< variant, architecture

    void compile(const Task& task) {
        const gpu_zoo::ZooKernel& kernel = *task.kernel;
        gpu::CompileOptions options;
        options.arch = task.arch;
        const Clock::time_point start = Clock::now();
        auto compiled = nvrtc.compile(kernel.text, options);
        const std::lock_guard lock(mutex);
        Figures& sum = figures[kernel.variant][task.arch];
        ++sum.kernels;
        sum.seconds += secondsSince(start);
        if (!compiled) {
            std::printf("FAILED %s, %s: %s\n", kernel.from.c_str(), task.arch.c_str(),
                        compiled.error().text().c_str());
            ++failures;
            return;
        }
        sum.registers = std::max(sum.registers, compiled->registers);
        const uint32_t most = std::min(255U, registersOfUnit / kernel.text.block[0]);
        const uint32_t shared = kernel.text.sharedBytes + compiled->sharedBytes;
        if (shared > sharedLimitOf(task.arch)) {
            std::printf("FAILED %s, %s, %s: %u bytes of shared memory of %u\n", kernel.from.c_str(),
                        kernel.text.name.c_str(), task.arch.c_str(), shared,
                        sharedLimitOf(task.arch));
            ++failures;
        }
        const bool early = gpu::capabilityOf(task.arch) >= 90;
        if (const std::string why = gpu::whyNotEarly(compiled->cubin); early && !why.empty()) {
            std::printf("FAILED %s, %s, %s: it cannot be launched early: %s\n", kernel.from.c_str(),
                        kernel.text.name.c_str(), task.arch.c_str(), why.c_str());
            ++failures;
        }
        if (compiled->localBytes == 0 && compiled->registers <= most)
            return;
        std::printf("FAILED %s, %s, %s: %u registers of %u, %u bytes of local memory\n",
                    kernel.from.c_str(), kernel.text.name.c_str(), task.arch.c_str(),
                    compiled->registers, most, compiled->localBytes);
        ++failures;
    }
};

void compileAll(Gate& gate, const std::vector<Task>& tasks) {
    std::atomic<size_t> next{0};
    auto work = [&] {
        for (size_t i = next++; i < tasks.size(); i = next++)
            gate.compile(tasks[i]);
    };
    std::vector<std::thread> others;
    for (unsigned i = 1; i < std::min(4U, std::max(1U, std::thread::hardware_concurrency())); ++i)
        others.emplace_back(work);
    work();
    for (std::thread& other : others)
        other.join();
}

/// Distinct kernels of one model, by number of the architecture.
using ModelKernels = std::vector<std::vector<gpu_zoo::ZooKernel>>;

/// Chooses what is compiled, model after model, so that the same kernel is never taken twice.
class Selection {
public:
    explicit Selection(const Options& options) : m_options(options), m_seen(options.archs.size()) {}

    /// The kernels of a model's programs, planned for architecture `a`, that no model had before.
    std::vector<gpu_zoo::ZooKernel> fresh(const std::vector<gpu_zoo::ZooProgram>& programs,
                                          size_t a) {
        return gpu_zoo::kernelsOf(programs, m_seen[a]);
    }

    std::vector<Task> choose(const ModelKernels& kernels) {
        std::map<std::string, std::vector<size_t>> having; ///< architectures that have a new form
        for (size_t a = 0; a < kernels.size(); ++a)
            for (const gpu_zoo::ZooKernel& kernel : kernels[a])
                if (!m_forms.contains(kernel.form))
                    if (auto& archs = having[kernel.form]; archs.empty() || archs.back() != a)
                        archs.push_back(a);
        for (const auto& [form, archs] : having)
            m_forms.emplace(form, archs[m_forms.size() % archs.size()]);
        std::vector<Task> out;
        for (size_t a = 0; a < kernels.size(); ++a)
            for (const gpu_zoo::ZooKernel& kernel : kernels[a])
                if (wanted(kernel, a) && m_number++ % m_options.slices == m_options.slice)
                    out.push_back({&kernel, m_options.archs[a]});
        return out;
    }

private:
    bool wanted(const gpu_zoo::ZooKernel& kernel, size_t a) {
        if (m_options.all)
            return true;
        const bool first = m_taken.insert(m_options.archs[a] + kernel.form).second;
        if (m_options.forms)
            return first;
        const bool variant = m_taken.insert(m_options.archs[a] + kernel.variant).second;
        return variant || (first && m_forms.at(kernel.form) == a);
    }

    const Options& m_options;
    std::vector<std::set<std::string>> m_seen; ///< per architecture
    std::map<std::string, size_t> m_forms;     ///< the architecture whose turn it is
    std::set<std::string> m_taken;             ///< forms and variants of an architecture
    size_t m_number = 0;
};

void print(const Gate& gate) {
    std::printf("%-20s %-7s %7s %9s %9s\n", "variant", "arch", "kernels", "registers", "seconds");
    for (const auto& [variant, archs] : gate.figures)
        for (const auto& [arch, sum] : archs)
            std::printf("%-20s %-7s %7u %9u %9.1f\n", variant.c_str(), arch.c_str(), sum.kernels,
                        sum.registers, sum.seconds);
}

void list(const std::vector<Task>& tasks) {
    for (const Task& task : tasks)
        std::printf("%s %s %s %s %s\n", task.arch.c_str(), task.kernel->variant.c_str(),
                    task.kernel->form.c_str(), task.kernel->text.name.c_str(),
                    task.kernel->from.c_str());
}

/// Compiles (or lists) what is chosen of a model; how many kernels these are. None: it does not
/// plan.
std::optional<size_t> runModel(const std::string& model, const Options& options,
                               Selection& selection, Gate& gate) {
    const std::optional<app::LoadedModel> loaded = gpu_zoo::prepared(model);
    ModelKernels kernels;
    for (size_t a = 0; loaded && a < options.archs.size(); ++a) {
        std::vector<gpu_zoo::ZooProgram> programs;
        for (Precision precision : {Precision::Fp32, Precision::Fp16})
            for (gpu_zoo::ZooProgram& program :
                 gpu_zoo::programsOf(model, *loaded, precision, options.archs[a]))
                programs.push_back(std::move(program));
        if (programs.empty())
            return std::nullopt;
        kernels.push_back(selection.fresh(programs, a));
    }
    if (!loaded)
        return std::nullopt;
    const std::vector<Task> tasks = selection.choose(kernels);
    if (options.list)
        list(tasks);
    else
        compileAll(gate, tasks);
    return tasks.size();
}

int run(gpu::Nvrtc& nvrtc, const Options& options) {
    const Clock::time_point start = Clock::now();
    Gate gate{nvrtc, {}, 0, {}};
    Selection selection(options);
    size_t kernels = 0;
    for (const std::string& model : options.models) {
        const std::optional<size_t> tasks = runModel(model, options, selection, gate);
        if (!tasks) {
            std::printf("FAILED %s has no plan\n", model.c_str());
            ++gate.failures;
            continue;
        }
        kernels += *tasks;
        std::fprintf(stderr, "%-20s %5zu kernels, %6.1f s so far\n", model.c_str(), *tasks,
                     secondsSince(start));
    }
    if (options.list)
        return gate.failures == 0 ? 0 : 1;
    print(gate);
    std::printf("NVRTC %s: %zu kernels compiled for %zu architectures in %.1f s, %d failures\n",
                nvrtc.version().c_str(), kernels, options.archs.size(), secondsSince(start),
                gate.failures);
    return gate.failures == 0 ? 0 : 1;
}

} // namespace

int main(int argc, char** argv) {
    Options options;
    if (!read(argc, argv, options)) {
        std::fprintf(
            stderr,
            "usage: gpu_compile_zoo [--forms | --all] [--slice I/N] [--list] [--model NAME] "
            "[sm_75 ...]\n");
        return 2;
    }
    auto nvrtc = gpu::Nvrtc::open();
    if (!nvrtc) {
        std::printf("skipped: %s\n", nvrtc.error().text().c_str());
        return skipped;
    }
    const std::vector<std::string> known = (*nvrtc)->architectures();
    const std::vector<std::string> planned = gpu_zoo::architectures();
    std::erase_if(options.archs, [&](const std::string& arch) {
        return std::find(known.begin(), known.end(), arch) == known.end() ||
               std::find(planned.begin(), planned.end(), arch) == planned.end();
    });
    return options.archs.empty() ? skipped : run(**nvrtc, options);
}
