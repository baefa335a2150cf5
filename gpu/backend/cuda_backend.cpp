// SPDX-License-Identifier: Apache-2.0
#include "gpu/backend/cuda_backend.h"

#include "core/plan/channels_last.h"
#include "gpu/backend/cuda_executable.h"
#include "gpu/backend/order_price.h"
#include "gpu/backend/plan_steps.h"
#include "gpu/backend/planned_step.h"
#include "gpu/libs/library_sources.h"
#include "gpu/runtime/generated_tactic.h"
#include "gpu/runtime/host_tactic.h"
#include "gpu/runtime/range_counters.h"
#include "gpu/tune/left_out.h"
#include "gpu/tune/tune_store.h"
#include "gpu/tune/tuner.h"

#include <fmt/format.h>

#include <optional>

namespace fuselage::gpu {

namespace {

class CudaBackend final : public Backend, public OrderPricing {
public:
    CudaBackend(CudaOptions options, std::shared_ptr<Device> device, const std::string& folder,
                TuneStore store)
        : m_options(std::move(options)), m_device(std::move(device)),
          m_profile(profileOf(m_device->facts())), m_prices(m_profile, m_options.tune.without),
          m_store(std::move(store)) {
        openSources(folder);
    }

    std::string name() const override { return "cuda"; }

    std::string description() const override {
        const DeviceFacts& facts = m_device->facts();
        std::string out =
            fmt::format("{} ({}, {} multiprocessors, {:.0f} GiB), driver {}", facts.name,
                        facts.arch, facts.multiprocessors,
                        static_cast<double>(facts.memoryBytes) / (1 << 30), facts.driverVersion);
        for (const auto& source : m_sources)
            if (source->name() != std::string_view("host"))
                out += fmt::format(", {} {}", source->name(), source->version());
        for (const Reason& reason : m_missing)
            for (const ReasonFact& fact : reason.facts)
                out += "; without " + fact.value;
        return out;
    }

    bool isForHost(const Plan& plan, const Step& step) const override {
        std::vector<std::string> without = m_options.tune.without;
        if (std::holds_alternative<Chain>(step.program.code)) {
            if (!m_compiler)
                return true;
            // Two launches have other kernels where those of chains took the device with them.
            const KernelRequest request = requestOf(plan, step, {m_profile, m_profile.arch, 0});
            const auto condemned =
                condemnedFamilies(m_store.cache, tacticKey(request, environmentOf(context())));
            without.insert(without.end(), condemned.begin(), condemned.end());
        }
        return gpu::isForHost(plan, step, m_profile, without);
    }

    std::optional<DeviceProfile> profile() const override { return m_profile; }

    Result<std::string> counters() const override {
        if (auto current = m_device->makeCurrent(); !current)
            return failure(current.error());
        auto opened = RangeCounters::open(*m_device);
        return opened ? Result<std::string>((*opened)->description()) : failure(opened.error());
    }

    /// The host computes what no kernel does, so every program can run.
    std::optional<Reason> supports(const KernelProgram& program) const override {
        if (program.body || !std::holds_alternative<Library>(program.code))
            return std::nullopt;
        return Reason{"kind", "a library program without its body", {}, {}};
    }

    double orderLoss(const LaidProgram& laid, const TimeEstimate& estimate) const override {
        return m_prices.loss(laid, estimate);
    }

    void chooseLayouts(Plan& plan) const override { chooseChannelsLast(plan, {{}, true}); }

    Result<std::unique_ptr<Executable>> prepare(std::shared_ptr<const Plan> plan,
                                                Progress& progress) override {
        if (auto current = m_device->makeCurrent(); !current)
            return failure(current.error());
        for (;;) {
            StepContext steady = context();
            steady.deviceGone = [this](const Error& error) { onDeviceGone(error); };
            auto steps = prepareSteps(*plan, steady, m_store, progress);
            const auto saved = m_store.save(); // also what was measured before an error
            if (!steps || !saved)
                return failure(!steps ? steps.error() : saved.error());
            std::optional<FailedCall> failed;
            EarlyLaunch early = earlyLaunchOf(*steps);
            auto out = makeCudaExecutable(plan, m_device, std::move(*steps), m_threads,
                                          m_options.tune.deadlineSeconds, early, failed);
            if (!out && early.lost())
                failed = FailedCall{early.key(), earlyLaunch, out.error()};
            if (out && !early.note().empty())
                addNote(fmt::format("plan of {} steps: {}", plan->steps.size(), early.note()));
            if (out && early.learned())
                if (auto kept = m_store.save(); !kept)
                    return failure(kept.error());
            if (out || !failed || !refuse(*failed))
                return out;
        }
    }

    std::vector<std::string> notes() const override { return m_notes; }

private:
    void openSources(const std::string& folder);

    StepContext context() const {
        return {m_options, *m_device, m_profile, m_sources, m_missing, m_compiler, {}};
    }

    EarlyLaunch earlyLaunchOf(const std::vector<PreparedStep>& steps) {
        std::vector<PlannedTactic> tactics;
        for (const PreparedStep& step : steps)
            tactics.push_back({step.key, step.tactic ? step.tactic->name() : "host"});
        EarlyLaunch out(m_store.cache, earlyLaunchKey(tactics),
                        m_options.measure && !m_options.tune.frozen, m_options.tune.without);
        if (!canLaunchEarly(*m_device) || !m_options.measure)
            out.refuse("");
        return out;
    }

    /// True: the plan is to be prepared again without that tactic. Each is refused once, so this
    /// comes to an end.
    bool refuse(const FailedCall& failed) {
        if (failed.error.code == "device.memory")
            return false;
        CandidateRecord record;
        record.name = failed.tactic;
        const bool gone = endsDevice(failed.error);
        record.refused = gone ? failed.error.code : "first-call";
        record.why = "its first call failed: " + failed.error.text();
        m_store.cache.add(failed.key, {std::move(record)});
        if (gone)
            onDeviceGone(failed.error);
        return !gone;
    }

    /// What was learned is kept. Nothing more runs in this process, but the next one may.
    void onDeviceGone(const Error& error) {
        const auto saved = m_store.save();
        if (saved && m_options.tune.startAgain)
            m_options.tune.startAgain(error.text(), m_store.measuredKeys() > 0);
    }

    CudaOptions m_options;
    std::shared_ptr<Device> m_device;
    DeviceProfile m_profile;
    mutable OrderPrices m_prices;
    std::shared_ptr<ThreadPool> m_threads;
    std::vector<std::unique_ptr<TacticSource>> m_sources;
    std::vector<Reason> m_missing;          ///< sources that could not be opened
    std::shared_ptr<CubinCache> m_compiler; ///< null: there is none
    void addNote(std::string note) {
        if (std::find(m_notes.begin(), m_notes.end(), note) == m_notes.end())
            m_notes.push_back(std::move(note));
    }

    std::vector<std::string> m_notes;
    TuneStore m_store;
};

void CudaBackend::openSources(const std::string& folder) {
    m_threads = std::make_shared<ThreadPool>(m_options.threads);
    auto nvrtc = Nvrtc::open();
    if (nvrtc) {
        m_compiler = std::make_shared<CubinCache>(std::move(*nvrtc), folder);
        m_sources.push_back(makeGeneratedSource(m_compiler));
    } else {
        m_missing.push_back({"library-missing",
                             "no generated kernels: " + nvrtc.error().message,
                             nvrtc.error().fix,
                             {{"library", "nvrtc"}}});
    }
    LibrarySources libraries = librarySources(*m_device, folder);
    for (auto& source : libraries.sources)
        m_sources.push_back(std::move(source));
    for (Reason& reason : libraries.missing)
        m_missing.push_back(std::move(reason));
    m_sources.push_back(makeHostSource(m_threads));
}

} // namespace

Result<std::unique_ptr<Backend>> makeCudaBackend(const CudaOptions& options) {
    auto device = Device::open(options.device);
    if (!device)
        return failure(device.error());
    const std::string folder = cacheFolder(options.cache);
    auto store = TuneStore::open(options.tune, folder, options.tune.frozen || !options.measure);
    if (!store)
        return failure(store.error());
    return std::unique_ptr<Backend>(
        std::make_unique<CudaBackend>(options, std::move(*device), folder, std::move(*store)));
}

} // namespace fuselage::gpu
