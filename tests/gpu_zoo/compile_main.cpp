// SPDX-License-Identifier: Apache-2.0
// The compile gate of the zoo: the kernels that are generated for zoo models, each distinct one
// once, through NVRTC without a spill and within the registers that their launch allows. Needs no
// GPU; exit status 77: NVRTC is not here. A run without options takes what fits a test: a kernel of
// each form on one of the architectures, in turn, and of each variant on all of them. --forms: one
// of each form on every architecture; --all: every kernel on every architecture.
#include "app/zoo/zoo.h"
#include "gpu/nvrtc.h"
#include "tests/gpu_zoo/zoo_kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <map>
#include <mutex>
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
        options.archs = {"sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120"};
    return true;
}

/// One compilation.
struct Task {
    const gpu_zoo::ZooKernel* kernel;
    std::string arch;
};

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

uint32_t capabilityOf(const std::string& arch) {
    uint32_t out = 0;
    std::from_chars(arch.data() + std::min<size_t>(3, arch.size()), arch.data() + arch.size(), out);
    return out;
}

/// Chooses what is compiled, model after model, so that the same kernel is never taken twice.
class Selection {
public:
    explicit Selection(const Options& options) : m_options(options), m_seen(options.archs.size()) {}

    /// The tasks of one model; `kernels` owns what they point to.
    std::vector<Task> add(const std::vector<gpu_zoo::ZooProgram>& programs,
                          std::vector<std::vector<gpu_zoo::ZooKernel>>& kernels) {
        std::vector<Task> out;
        kernels.resize(m_options.archs.size());
        for (size_t a = 0; a < kernels.size(); ++a) {
            const std::string& arch = m_options.archs[a];
            kernels[a] = gpu_zoo::kernelsOf(programs, capabilityOf(arch), m_seen[a]);
            for (const gpu_zoo::ZooKernel& kernel : kernels[a])
                if ((m_options.all || wanted(kernel, a)) &&
                    m_number++ % m_options.slices == m_options.slice)
                    out.push_back({&kernel, arch});
        }
        return out;
    }

private:
    /// The first kernel of its variant on this architecture, or of its form where it is its turn.
    bool wanted(const gpu_zoo::ZooKernel& kernel, size_t arch) {
        if (m_options.forms)
            return m_forms.emplace(m_options.archs[arch] + kernel.form, arch).second;
        auto [place, fresh] = m_forms.emplace(kernel.form, m_forms.size() % m_seen.size());
        const bool turn = place->second == arch;
        if (turn)
            place->second = m_seen.size(); // done
        return m_variants.insert(m_options.archs[arch] + kernel.variant).second || turn;
    }

    const Options& m_options;
    std::vector<std::set<std::string>> m_seen; ///< per architecture
    std::map<std::string, size_t> m_forms;     ///< the architecture whose turn it is
    std::set<std::string> m_variants;
    size_t m_number = 0;
};

void print(const Gate& gate) {
    std::printf("%-20s %-7s %7s %9s %9s\n", "variant", "arch", "kernels", "registers", "seconds");
    for (const auto& [variant, archs] : gate.figures)
        for (const auto& [arch, sum] : archs)
            std::printf("%-20s %-7s %7u %9u %9.1f\n", variant.c_str(), arch.c_str(), sum.kernels,
                        sum.registers, sum.seconds);
}

int run(gpu::Nvrtc& nvrtc, const Options& options) {
    const Clock::time_point start = Clock::now();
    Gate gate{nvrtc, {}, 0, {}};
    Selection selection(options);
    size_t kernels = 0;
    for (const std::string& model : options.models) {
        std::vector<gpu_zoo::ZooProgram> programs;
        for (Precision precision : {Precision::Fp32, Precision::Fp16})
            for (gpu_zoo::ZooProgram& program : gpu_zoo::programsOf(model, precision))
                programs.push_back(std::move(program));
        std::vector<std::vector<gpu_zoo::ZooKernel>> owned;
        const std::vector<Task> tasks = selection.add(programs, owned);
        for (const Task& task : tasks)
            if (options.list)
                std::printf("%s %s %s %s %s\n", task.arch.c_str(), task.kernel->variant.c_str(),
                            task.kernel->form.c_str(), task.kernel->text.name.c_str(),
                            task.kernel->from.c_str());
        if (!options.list)
            compileAll(gate, tasks);
        kernels += tasks.size();
        std::fprintf(stderr, "%-20s %5zu programs, %5zu kernels to compile, %6.1f s so far\n",
                     model.c_str(), programs.size(), tasks.size(), secondsSince(start));
    }
    if (options.list)
        return 0;
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
    std::erase_if(options.archs, [&](const std::string& arch) {
        return std::find(known.begin(), known.end(), arch) == known.end();
    });
    return options.archs.empty() ? skipped : run(**nvrtc, options);
}
