// SPDX-License-Identifier: Apache-2.0
// cuBLASLt's algorithms as tactics. The heuristics are asked once with a fixed workspace limit;
// each tactic keeps the algorithm it was made with and never takes another.
#include "gpu/libs/constant_memory.h"
#include "gpu/libs/cublaslt_descriptors.h"
#include "gpu/libs/library_sources.h"

#include <fmt/format.h>

namespace fuselage::gpu {

namespace {

using namespace cublaslt;

/// The library with a handle; threads may share it.
struct Session {
    LibraryPtr library;
    ContextPtr context;
    Handle handle = nullptr;

    Session() = default;
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    ~Session() {
        if (handle != nullptr && context->makeCurrent())
            (void)library->call().cublasLtDestroy(handle);
    }
};

/// What the candidates of one request share.
struct SharedCall {
    LtCall call;
    ConstantMemory constants;
    Descriptors descriptors;
    std::mutex mutex; ///< the bias' address is part of the descriptors

    SharedCall(LtCall from, const std::vector<TensorPtr>& tensors, Descriptors made)
        : call(std::move(from)), constants(call.packed, tensors), descriptors(std::move(made)) {}
};

class CublasLtTactic final : public Tactic {
public:
    CublasLtTactic(std::shared_ptr<Session> session, std::shared_ptr<SharedCall> shared,
                   Choice choice)
        : m_session(std::move(session)), m_shared(std::move(shared)), m_choice(std::move(choice)) {}

    std::string name() const override { return "cublaslt " + m_choice.name; }

    Result<void> build(Progress& progress) override {
        return progress.cancelled() ? Result<void>(cancelledFailure("planning " + name()))
                                    : Result<void>();
    }

    TacticFacts facts() const override {
        TacticFacts out;
        out.numeric = m_shared->call.numeric;
        out.workspaceBytes = m_choice.workspaceBytes;
        out.launches = m_choice.splitK > 1 ? 2 : 1;
        out.passedBytes = m_choice.splitK > 1 ? m_choice.workspaceBytes : 0;
        if (m_choice.splitK > 1)
            out.notes = fmt::format("split-k {}", m_choice.splitK);
        return out;
    }

    Result<void> packConstants() override { return m_shared->constants.pack(); }

    Result<void> load(Device& device) override { return m_shared->constants.load(device); }

    bool reads(size_t operand) const override {
        const LtCall& call = m_shared->call;
        auto from = [&](const LtMatrix& matrix) {
            return matrix.memory.kind == TensorMemory::Kind::Input &&
                   matrix.memory.index == operand;
        };
        return from(call.a) || from(call.b) || (call.c && from(*call.c));
    }

    Result<void> enqueue(Stream& stream, const LaunchArguments& arguments) override {
        const LtCall& call = m_shared->call;
        const auto alpha = static_cast<float>(call.alpha);
        const float beta = call.c ? 1.0F : 0.0F;
        const int32_t one = 1, zero = 0;
        const void* scales[] = {call.integers ? static_cast<const void*>(&one) : &alpha,
                                call.integers ? static_cast<const void*>(&zero) : &beta};
        auto* d = addressOf(call.d, arguments);
        const void* c = call.c ? addressOf(*call.c, arguments) : d;
        const std::lock_guard lock(m_shared->mutex);
        Descriptors& made = m_shared->descriptors;
        if (call.bias)
            made.setBias(addressOf(*call.bias, call.d.dtype, arguments));
        const Status status = m_session->library->call().cublasLtMatmul(
            m_session->handle, made.operation, scales[0], addressOf(call.a, arguments), made.a,
            addressOf(call.b, arguments), made.b, scales[1], c, made.c, d, made.d,
            &m_choice.algorithm, reinterpret_cast<void*>(arguments.workspace),
            static_cast<size_t>(m_choice.workspaceBytes), stream.handle());
        if (status != 0)
            return failure("cublaslt.execute", m_session->library->words(status), name());
        return {};
    }

private:
    void* addressOf(const LtMatrix& matrix, const LaunchArguments& arguments) const {
        return addressOf(matrix.memory, matrix.dtype, arguments);
    }

    void* addressOf(const TensorMemory& memory, DType dtype,
                    const LaunchArguments& arguments) const {
        DevicePointer start = 0;
        if (memory.kind == TensorMemory::Kind::Input)
            start = arguments.inputs[memory.index];
        else if (memory.kind == TensorMemory::Kind::Output)
            start = arguments.outputs[memory.index];
        else
            start = m_shared->constants.address(memory.index);
        const int64_t offset = memory.offset * static_cast<int64_t>(sizeOf(dtype));
        return reinterpret_cast<void*>(start + static_cast<DevicePointer>(offset));
    }

    std::shared_ptr<Session> m_session;
    std::shared_ptr<SharedCall> m_shared;
    Choice m_choice;
};

class CublasLtSource final : public TacticSource {
public:
    explicit CublasLtSource(std::shared_ptr<Session> session) : m_session(std::move(session)) {}

    const char* name() const override { return "cublaslt"; }

    std::string version() const override { return m_session->library->version(); }

    TacticList candidates(const KernelRequest& request) override {
        TacticList out;
        if (auto reason = add(request, out)) {
            reason->facts.insert(reason->facts.begin(), {"tactic", "cublaslt"});
            out.refused.push_back(std::move(*reason));
        }
        return out;
    }

private:
    std::optional<Reason> add(const KernelRequest& request, TacticList& out) {
        auto call = describeLt(request);
        if (auto* reason = std::get_if<Reason>(&call))
            return std::move(*reason);
        if (auto done = m_session->context->makeCurrent(); !done)
            return Reason{"library-missing", done.error().message, {}, {}};
        auto made = Descriptors::make(m_session->library, std::get<LtCall>(call));
        if (auto* reason = std::get_if<Reason>(&made))
            return std::move(*reason);
        auto shared =
            std::make_shared<SharedCall>(std::move(std::get<LtCall>(call)), request.constants,
                                         std::move(std::get<Descriptors>(made)));
        auto found = choices(m_session->library, m_session->handle, shared->call,
                             shared->descriptors, request.workspaceLimit, request.allowed);
        if (auto* reason = std::get_if<Reason>(&found))
            return std::move(*reason);
        for (Choice& choice : std::get<std::vector<Choice>>(found))
            out.candidates.push_back(
                std::make_unique<CublasLtTactic>(m_session, shared, std::move(choice)));
        return std::nullopt;
    }

    std::shared_ptr<Session> m_session;
};

} // namespace

Result<std::unique_ptr<TacticSource>> makeCublasLtSource(Device& device) {
    auto library = Library::open();
    if (!library)
        return failure(library.error());
    auto session = std::make_shared<Session>();
    session->library = *library;
    session->context = device.context();
    if (auto done = device.makeCurrent(); !done)
        return failure(done.error());
    if (Status status = session->library->call().cublasLtCreate(&session->handle); status != 0)
        return failure("cublaslt.create",
                       "cuBLASLt does not start: " + session->library->words(status),
                       session->library->path());
    return std::unique_ptr<TacticSource>(std::make_unique<CublasLtSource>(std::move(session)));
}

LibrarySources librarySources(Device& device, const std::string& cacheFolder) {
    LibrarySources out;
    auto add = [&](const char* name, Result<std::unique_ptr<TacticSource>> source) {
        if (source)
            out.sources.push_back(std::move(*source));
        else
            out.missing.push_back({"library-missing",
                                   source.error().text(),
                                   source.error().fix,
                                   {{"library", name}}});
    };
    add("cudnn", makeCudnnSource(device, cacheFolder));
    add("cublaslt", makeCublasLtSource(device));
    return out;
}

} // namespace fuselage::gpu
