// SPDX-License-Identifier: Apache-2.0
#include "gpu/libs/cublaslt_descriptors.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace fuselage::gpu::cublaslt {

namespace {

constexpr int mostChoices = 16;

DataType dataType(DType type) {
    return type == DType::Float16    ? DataType::Float16
           : type == DType::BFloat16 ? DataType::BFloat16
                                     : DataType::Float32;
}

Reason refusal(const Library& library, Status status, const std::string& what) {
    return {"support",
            "cuBLASLt refuses " + what + ": " + library.words(status),
            {},
            {{"status", std::to_string(status)}}};
}

uint32_t epilogueOf(const LtCall& call) {
    uint32_t out = 0;
    if (call.activation == LtActivation::Relu)
        out |= static_cast<uint32_t>(Epilogue::Relu);
    if (call.activation == LtActivation::GeluTanh)
        out |= static_cast<uint32_t>(Epilogue::Gelu);
    if (call.bias)
        out |= static_cast<uint32_t>(Epilogue::Bias);
    return out != 0 ? out : static_cast<uint32_t>(Epilogue::Default);
}

/// Calls after the first failure do nothing.
class Setter {
public:
    Status status = 0;

    template <typename Descriptor, typename Attribute, typename Value>
    void operator()(Status (*set)(Descriptor, int, const void*, size_t), Descriptor descriptor,
                    Attribute attribute, const Value& value) {
        if (status == 0)
            status = set(descriptor, static_cast<int>(attribute), &value, sizeof value);
    }
};

struct FieldName {
    AlgorithmField field;
    const char* name;
    uint32_t usual; ///< not printed
};

constexpr FieldName fields[] = {
    {AlgorithmField::Id, "a", ~0U},
    {AlgorithmField::Tile, " tile ", ~0U},
    {AlgorithmField::Stages, " stages ", ~0U},
    {AlgorithmField::SplitK, " split-k ", 1},
    {AlgorithmField::ReductionScheme, " reduction ", 0},
    {AlgorithmField::Swizzle, " swizzle ", 0},
    {AlgorithmField::CustomOption, " option ", 0},
    {AlgorithmField::InnerShape, " inner ", 0},
    {AlgorithmField::ClusterShape, " cluster ", 0},
};

/// The last two are 16 bits wide.
bool isNarrow(AlgorithmField field) {
    return field == AlgorithmField::InnerShape || field == AlgorithmField::ClusterShape;
}

uint32_t read(const Library& library, const Algorithm& algorithm, AlgorithmField field) {
    uint32_t wide = 0;
    uint16_t narrow = 0;
    size_t written = 0;
    void* to = isNarrow(field) ? static_cast<void*>(&narrow) : &wide;
    if (library.call().algorithmGet(&algorithm, static_cast<int>(field), to,
                                    isNarrow(field) ? sizeof narrow : sizeof wide, &written) != 0)
        return 0;
    return isNarrow(field) ? narrow : wide;
}

Choice choiceOf(const Library& library, const HeuristicResult& result) {
    Choice out;
    out.algorithm = result.algorithm;
    out.workspaceBytes = static_cast<int64_t>(result.workspaceBytes);
    for (const FieldName& row : fields) {
        const uint32_t value = read(library, result.algorithm, row.field);
        if (value != row.usual)
            out.name += row.name + std::to_string(value);
        if (row.field == AlgorithmField::SplitK)
            out.splitK = std::max(value, 1U);
    }
    return out;
}

/// The descriptor for the length of a scope.
struct Preference {
    const Library& library;
    PreferenceDescriptor descriptor = nullptr;

    ~Preference() {
        if (descriptor != nullptr)
            (void)library.call().preferenceDestroy(descriptor);
    }
};

} // namespace

Descriptors::Descriptors(Descriptors&& other) noexcept
    : operation(std::exchange(other.operation, nullptr)), a(std::exchange(other.a, nullptr)),
      b(std::exchange(other.b, nullptr)), c(std::exchange(other.c, nullptr)),
      d(std::exchange(other.d, nullptr)), m_library(other.m_library) {}

Descriptors::~Descriptors() {
    for (LayoutDescriptor layout : {a, b, c, d})
        if (layout != nullptr)
            (void)m_library->call().layoutDestroy(layout);
    if (operation != nullptr)
        (void)m_library->call().operationDestroy(operation);
}

Status Descriptors::makeLayout(const LtMatrix& matrix, int64_t batch, LayoutDescriptor& out) {
    const Functions& call = m_library->call();
    if (Status status = call.layoutCreate(&out, static_cast<int>(dataType(matrix.dtype)),
                                          static_cast<uint64_t>(matrix.rows),
                                          static_cast<uint64_t>(matrix.cols), matrix.leading);
        status != 0)
        return status;
    Setter set;
    if (batch > 1) {
        set(call.layoutSet, out, LayoutAttribute::BatchCount, static_cast<int32_t>(batch));
        set(call.layoutSet, out, LayoutAttribute::BatchStride, matrix.batchStride);
    }
    return set.status;
}

void Descriptors::setBias(const void* address) {
    (void)m_library->call().operationSet(
        operation, static_cast<int>(OperationAttribute::BiasPointer), &address, sizeof address);
}

std::variant<Descriptors, Reason> Descriptors::make(const LibraryPtr& library, const LtCall& call) {
    Descriptors out(library);
    const Functions& lt = library->call();
    const Compute compute = call.tf32 ? Compute::Float32FastTf32 : Compute::Float32;
    Setter set;
    set.status = lt.operationCreate(&out.operation, static_cast<int>(compute),
                                    static_cast<int>(DataType::Float32));
    auto transpose = [](bool yes) { return yes ? Transpose::Yes : Transpose::No; };
    set(lt.operationSet, out.operation, OperationAttribute::TransposeA, transpose(call.transposeA));
    set(lt.operationSet, out.operation, OperationAttribute::TransposeB, transpose(call.transposeB));
    set(lt.operationSet, out.operation, OperationAttribute::Epilogue, epilogueOf(call));
    if (call.bias) {
        set(lt.operationSet, out.operation, OperationAttribute::BiasDataType,
            dataType(call.d.dtype));
        if (call.batch > 1)
            set(lt.operationSet, out.operation, OperationAttribute::BiasBatchStride,
                call.biasBatchStride);
    }
    if (set.status != 0)
        return refusal(*library, set.status, "the operation");
    for (auto [matrix, layout] :
         {std::pair{&call.a, &out.a}, std::pair{&call.b, &out.b},
          std::pair{call.c ? &*call.c : &call.d, &out.c}, std::pair{&call.d, &out.d}})
        if (Status status = out.makeLayout(*matrix, call.batch, *layout); status != 0)
            return refusal(*library, status, "a matrix");
    return out;
}

std::variant<std::vector<Choice>, Reason> choices(const LibraryPtr& library, Handle handle,
                                                  const LtCall& call, Descriptors& descriptors,
                                                  int64_t workspaceLimit, NumericClass allowed) {
    const Functions& lt = library->call();
    Preference preference{*library};
    Setter set;
    set.status = lt.preferenceCreate(&preference.descriptor);
    set(lt.preferenceSet, preference.descriptor, PreferenceAttribute::MaxWorkspace,
        static_cast<uint64_t>(std::max<int64_t>(workspaceLimit, 0)));
    auto schemes = static_cast<uint32_t>(Reduction::ComputeType);
    if (allowed == NumericClass::Approximate || call.d.dtype == DType::Float32)
        schemes |= static_cast<uint32_t>(Reduction::InPlace) |
                   static_cast<uint32_t>(Reduction::OutputType);
    set(lt.preferenceSet, preference.descriptor, PreferenceAttribute::ReductionSchemes, schemes);
    const LtMatrix& c = call.c ? *call.c : call.d;
    for (auto [attribute, matrix] : {std::pair{PreferenceAttribute::AlignmentA, &call.a},
                                     std::pair{PreferenceAttribute::AlignmentB, &call.b},
                                     std::pair{PreferenceAttribute::AlignmentC, &c},
                                     std::pair{PreferenceAttribute::AlignmentD, &call.d}})
        set(lt.preferenceSet, preference.descriptor, attribute,
            static_cast<uint32_t>(matrix->alignment));
    if (call.bias) // its alignment counts, not what lies there
        descriptors.setBias(reinterpret_cast<const void*>(uintptr_t{256}));
    std::array<HeuristicResult, mostChoices> results{};
    int count = 0;
    if (set.status == 0)
        set.status =
            lt.heuristic(handle, descriptors.operation, descriptors.a, descriptors.b, descriptors.c,
                         descriptors.d, preference.descriptor, mostChoices, results.data(), &count);
    if (set.status != 0)
        return refusal(*library, set.status, "`" + text(call) + "`");
    std::vector<Choice> out;
    for (int i = 0; i < count; ++i)
        if (results[static_cast<size_t>(i)].state == 0)
            out.push_back(choiceOf(*library, results[static_cast<size_t>(i)]));
    if (out.empty())
        return Reason{"support", "cuBLASLt has no algorithm for `" + text(call) + "`", {}, {}};
    return out;
}

} // namespace fuselage::gpu::cublaslt
