// SPDX-License-Identifier: Apache-2.0
#include "gpu/libs/library_support.h"

#include "core/support/text.h"
#include "gpu/libs/cublaslt_call.h"
#include "gpu/libs/cudnn_plan.h"
#include "gpu/libs/device_json.h"

#include <fmt/format.h>

#include <algorithm>

namespace fuselage::gpu {

namespace {

using namespace cudnn;

constexpr size_t mostConfigurations = 16;

class CudnnPlanner final : public LibraryPlanner {
public:
    CudnnPlanner(std::shared_ptr<SharedLibrary> driver, LibraryPtr library,
                 std::shared_ptr<const Target> target, std::string arch)
        : m_driver(std::move(driver)), m_library(std::move(library)), m_target(std::move(target)),
          m_arch(std::move(arch)) {}

    std::string description() const override {
        return fmt::format("cuDNN {} ({}) for {}", m_library->version(), m_library->path(), m_arch);
    }

    bool asksCompilingEngines() const override { return m_driver != nullptr; }

    std::vector<LibrarySupport> support(const KernelRequest& request, bool finish) override {
        return {askCudnn(request, finish), askCublasLt(request)};
    }

private:
    static LibrarySupport askCublasLt(const KernelRequest& request) {
        LibrarySupport out;
        out.library = "cublaslt";
        auto call = describeLt(request);
        if (auto* reason = std::get_if<Reason>(&call)) {
            out.refused = std::move(*reason);
            return out;
        }
        out.askedOnDevice = true;
        out.notes = text(std::get<LtCall>(call));
        return out;
    }

    LibrarySupport askCudnn(const KernelRequest& request, bool finish) {
        LibrarySupport out;
        out.library = "cudnn";
        auto described = describe(request);
        if (auto* reason = std::get_if<Reason>(&described)) {
            out.refused = std::move(*reason);
            return out;
        }
        const GraphDescription& graph = std::get<std::vector<GraphDescription>>(described)[0];
        const std::string key =
            fmt::format("{}{} {} {} {}", planKey(graph), request.workspaceLimit, request.tf32,
                        static_cast<int>(request.allowed), finish);
        auto known = m_known.find(key);
        if (known == m_known.end())
            known = m_known.emplace(key, planned(request, graph, finish)).first;
        return known->second;
    }

    LibrarySupport planned(const KernelRequest& request, const GraphDescription& description,
                           bool finish) const {
        LibrarySupport out;
        out.library = "cudnn";
        auto graph = operationGraph(m_library, description, nullptr);
        if (auto* reason = std::get_if<Reason>(&graph)) {
            out.refused = std::move(*reason);
            return out;
        }
        auto found = configurations(*m_target, std::get<OperationGraph>(graph), mostConfigurations);
        if (auto* reason = std::get_if<Reason>(&found)) {
            out.refused = withDriver(withLayout(std::move(*reason), description));
            return out;
        }
        count(request, description, std::get<std::vector<FoundConfiguration>>(found), finish, out);
        return out;
    }

    void count(const KernelRequest& request, const GraphDescription& description,
               const std::vector<FoundConfiguration>& found, bool finish,
               LibrarySupport& out) const {
        const FoundConfiguration* first = nullptr;
        for (const FoundConfiguration& configuration : found) {
            if (auto reason = configurationReason(configuration, request, description)) {
                reason->facts.insert(reason->facts.begin(), {"tactic", configuration.name()});
                out.dropped.push_back(std::move(*reason));
                continue;
            }
            out.workspaceBytes = first ? std::min(out.workspaceBytes, configuration.workspaceBytes)
                                       : configuration.workspaceBytes;
            first = first ? first : &configuration;
            ++out.configurations;
        }
        if (first == nullptr) {
            out.refused = out.dropped.front();
            return;
        }
        out.notes = joined(first->notes);
        if (!finish)
            return;
        auto plan = finishPlan(*m_target, *first);
        if (auto* reason = std::get_if<Reason>(&plan))
            out.refused = std::move(*reason);
        else
            out.workspaceBytes = std::get<Plan>(plan).workspaceBytes;
    }

    Reason withDriver(Reason reason) const {
        if (m_driver == nullptr) {
            reason.message += "; engines that compile could not be asked, for want of libcuda";
            reason.facts.push_back({"library", "libcuda"});
        }
        return reason;
    }

    std::shared_ptr<SharedLibrary> m_driver; ///< open before cuDNN looks for it
    LibraryPtr m_library;
    std::shared_ptr<const Target> m_target;
    std::string m_arch;
    std::map<std::string, LibrarySupport> m_known;
};

} // namespace

std::string text(const LibrarySupport& support) {
    if (support.refused)
        return support.library + ": " + support.refused->text();
    if (support.askedOnDevice)
        return support.library + ": " + support.notes;
    return fmt::format("{}: {} configuration{}, workspace {}{}{}", support.library,
                       support.configurations, support.configurations == 1 ? "" : "s",
                       support.workspaceBytes, support.notes.empty() ? "" : ", ", support.notes);
}

Result<std::unique_ptr<LibraryPlanner>> LibraryPlanner::make(const DeviceProfile& profile) {
    auto driver = SharedLibrary::open({"libcuda.so.1"});
    auto library = Library::open();
    if (!library)
        return failure(library.error());
    auto target = describedTarget(*library, deviceJson(profile));
    if (!target)
        return failure(target.error());
    return std::unique_ptr<LibraryPlanner>(std::make_unique<CudnnPlanner>(
        driver ? *driver : nullptr, *library, std::move(*target), profile.arch));
}

} // namespace fuselage::gpu
