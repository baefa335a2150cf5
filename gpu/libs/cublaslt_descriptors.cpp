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
    return type == DType::Float16    ? DataType::CUDA_R_16F
           : type == DType::BFloat16 ? DataType::CUDA_R_16BF
           : type == DType::Int8     ? DataType::CUDA_R_8I
           : type == DType::Int32    ? DataType::CUDA_R_32I
                                     : DataType::CUDA_R_32F;
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
        out |= static_cast<uint32_t>(Epilogue::CUBLASLT_EPILOGUE_RELU);
    if (call.activation == LtActivation::GeluTanh)
        out |= static_cast<uint32_t>(Epilogue::CUBLASLT_EPILOGUE_GELU);
    if (call.bias)
        out |= static_cast<uint32_t>(Epilogue::CUBLASLT_EPILOGUE_BIAS);
    return out != 0 ? out : static_cast<uint32_t>(Epilogue::CUBLASLT_EPILOGUE_DEFAULT);
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
    {AlgorithmField::CUBLASLT_ALGO_CONFIG_ID, "a", ~0U},
    {AlgorithmField::CUBLASLT_ALGO_CONFIG_TILE_ID, " tile ", ~0U},
    {AlgorithmField::CUBLASLT_ALGO_CONFIG_STAGES_ID, " stages ", ~0U},
    {AlgorithmField::CUBLASLT_ALGO_CONFIG_SPLITK_NUM, " split-k ", 1},
    {AlgorithmField::CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME, " reduction ", 0},
    {AlgorithmField::CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING, " swizzle ", 0},
    {AlgorithmField::CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION, " option ", 0},
    {AlgorithmField::CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID, " inner ", 0},
    {AlgorithmField::CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID, " cluster ", 0},
};

/// The last two are 16 bits wide.
bool isNarrow(AlgorithmField field) {
    return field == AlgorithmField::CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID ||
           field == AlgorithmField::CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID;
}

uint32_t read(const Library& library, const Algorithm& algorithm, AlgorithmField field) {
    uint32_t wide = 0;
    uint16_t narrow = 0;
    size_t written = 0;
    void* to = isNarrow(field) ? static_cast<void*>(&narrow) : &wide;
    if (library.call().cublasLtMatmulAlgoConfigGetAttribute(
            &algorithm, static_cast<int>(field), to, isNarrow(field) ? sizeof narrow : sizeof wide,
            &written) != 0)
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
        if (row.field == AlgorithmField::CUBLASLT_ALGO_CONFIG_SPLITK_NUM)
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
            (void)library.call().cublasLtMatmulPreferenceDestroy(descriptor);
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
            (void)m_library->call().cublasLtMatrixLayoutDestroy(layout);
    if (operation != nullptr)
        (void)m_library->call().cublasLtMatmulDescDestroy(operation);
}

Status Descriptors::makeLayout(const LtMatrix& matrix, int64_t batch, LayoutDescriptor& out) {
    const Functions& call = m_library->call();
    if (Status status = call.cublasLtMatrixLayoutCreate(
            &out, static_cast<int>(dataType(matrix.dtype)), static_cast<uint64_t>(matrix.rows),
            static_cast<uint64_t>(matrix.cols), matrix.leading);
        status != 0)
        return status;
    Setter set;
    if (batch > 1) {
        set(call.cublasLtMatrixLayoutSetAttribute, out,
            LayoutAttribute::CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, static_cast<int32_t>(batch));
        set(call.cublasLtMatrixLayoutSetAttribute, out,
            LayoutAttribute::CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, matrix.batchStride);
    }
    return set.status;
}

void Descriptors::setBias(const void* address) {
    (void)m_library->call().cublasLtMatmulDescSetAttribute(
        operation, static_cast<int>(OperationAttribute::CUBLASLT_MATMUL_DESC_BIAS_POINTER),
        &address, sizeof address);
}

std::variant<Descriptors, Reason> Descriptors::make(const LibraryPtr& library, const LtCall& call) {
    Descriptors out(library);
    const Functions& lt = library->call();
    const Compute compute = call.integers ? Compute::CUBLAS_COMPUTE_32I
                            : call.tf32   ? Compute::CUBLAS_COMPUTE_32F_FAST_TF32
                                          : Compute::CUBLAS_COMPUTE_32F;
    const DataType scale = call.integers ? DataType::CUDA_R_32I : DataType::CUDA_R_32F;
    Setter set;
    set.status = lt.cublasLtMatmulDescCreate(&out.operation, static_cast<int>(compute),
                                             static_cast<int>(scale));
    auto transpose = [](bool yes) { return yes ? Transpose::CUBLAS_OP_T : Transpose::CUBLAS_OP_N; };
    set(lt.cublasLtMatmulDescSetAttribute, out.operation,
        OperationAttribute::CUBLASLT_MATMUL_DESC_TRANSA, transpose(call.transposeA));
    set(lt.cublasLtMatmulDescSetAttribute, out.operation,
        OperationAttribute::CUBLASLT_MATMUL_DESC_TRANSB, transpose(call.transposeB));
    set(lt.cublasLtMatmulDescSetAttribute, out.operation,
        OperationAttribute::CUBLASLT_MATMUL_DESC_EPILOGUE, epilogueOf(call));
    if (call.bias) {
        set(lt.cublasLtMatmulDescSetAttribute, out.operation,
            OperationAttribute::CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, dataType(call.d.dtype));
        if (call.batch > 1)
            set(lt.cublasLtMatmulDescSetAttribute, out.operation,
                OperationAttribute::CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE, call.biasBatchStride);
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
    set.status = lt.cublasLtMatmulPreferenceCreate(&preference.descriptor);
    set(lt.cublasLtMatmulPreferenceSetAttribute, preference.descriptor,
        PreferenceAttribute::CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
        static_cast<uint64_t>(std::max<int64_t>(workspaceLimit, 0)));
    auto schemes = static_cast<uint32_t>(Reduction::CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE);
    if (allowed == NumericClass::Approximate || call.integers || call.d.dtype == DType::Float32)
        schemes |= static_cast<uint32_t>(Reduction::CUBLASLT_REDUCTION_SCHEME_INPLACE) |
                   static_cast<uint32_t>(Reduction::CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE);
    set(lt.cublasLtMatmulPreferenceSetAttribute, preference.descriptor,
        PreferenceAttribute::CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, schemes);
    const LtMatrix& c = call.c ? *call.c : call.d;
    for (auto [attribute, matrix] :
         {std::pair{PreferenceAttribute::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, &call.a},
          std::pair{PreferenceAttribute::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, &call.b},
          std::pair{PreferenceAttribute::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, &c},
          std::pair{PreferenceAttribute::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, &call.d}})
        set(lt.cublasLtMatmulPreferenceSetAttribute, preference.descriptor, attribute,
            static_cast<uint32_t>(matrix->alignment));
    if (call.bias) // its alignment counts, not what lies there
        descriptors.setBias(reinterpret_cast<const void*>(uintptr_t{256}));
    std::array<HeuristicResult, mostChoices> results{};
    int count = 0;
    if (set.status == 0)
        set.status = lt.cublasLtMatmulAlgoGetHeuristic(
            handle, descriptors.operation, descriptors.a, descriptors.b, descriptors.c,
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
