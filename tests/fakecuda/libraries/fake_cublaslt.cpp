// SPDX-License-Identifier: Apache-2.0
// A stand-in for cuBLASLt over the stand-in driver: it holds descriptors to the documented types
// and sizes, offers three algorithms, and computes products in double on the host when the stream
// runs. Knows nothing of the program but the values of NVIDIA's enumerators.
#include "gpu/libs/cublaslt_api.h"
#include "tests/fakecuda/fake_state.h"
#include "tests/fakecuda/libraries/strided.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <optional>
#include <set>

using namespace fakelibs;
namespace lt = fuselage::gpu::cublaslt;

namespace {

enum Status : int { Ok = 0, NotInitialized = 1, Invalid = 7, Unsupported = 15, Failed = 13 };

/// Attributes by number, each of a fixed size.
struct Attributes {
    std::map<int, std::vector<std::byte>> values;

    int set(const std::map<int, size_t>& sizes, int attribute, const void* from, size_t bytes) {
        auto size = sizes.find(attribute);
        if (size == sizes.end() || size->second != bytes || from == nullptr)
            return Invalid;
        const auto* begin = static_cast<const std::byte*>(from);
        values[attribute] = std::vector<std::byte>(begin, begin + bytes);
        return Ok;
    }

    bool operator==(const Attributes&) const = default;

    template <typename T, typename E> T value(E attribute, T otherwise) const {
        auto found = values.find(static_cast<int>(attribute));
        if (found == values.end() || found->second.size() != sizeof(T))
            return otherwise;
        T out;
        std::memcpy(&out, found->second.data(), sizeof out);
        return out;
    }
};

template <typename E> int number(E value) {
    return static_cast<int>(value);
}

using Operation = lt::OperationAttribute;
using Layout = lt::LayoutAttribute;
using Preference = lt::PreferenceAttribute;

const std::map<int, size_t> operationSizes = {
    {number(Operation::CUBLASLT_MATMUL_DESC_TRANSA), 4},
    {number(Operation::CUBLASLT_MATMUL_DESC_TRANSB), 4},
    {number(Operation::CUBLASLT_MATMUL_DESC_EPILOGUE), 4},
    {number(Operation::CUBLASLT_MATMUL_DESC_BIAS_POINTER), 8},
    {number(Operation::CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE), 4},
    {number(Operation::CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE), 8}};
const std::map<int, size_t> layoutSizes = {
    {number(Layout::CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT), 4},
    {number(Layout::CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET), 8}};
const std::map<int, size_t> preferenceSizes = {
    {number(Preference::CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES), 8},
    {number(Preference::CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK), 4},
    {number(Preference::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES), 4},
    {number(Preference::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES), 4},
    {number(Preference::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES), 4},
    {number(Preference::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES), 4}};

struct OperationObject : Attributes {
    int compute = 0;
};

struct LayoutObject : Attributes {
    int type = 0;
    int64_t rows = 0, cols = 0, leading = 0;

    int32_t batch() const { return value<int32_t>(Layout::CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, 1); }

    int64_t batchStride() const {
        return value<int64_t>(Layout::CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, 0);
    }

    bool operator==(const LayoutObject&) const = default;
};

std::optional<Element> elementOf(int type) {
    for (auto [code, element] : {std::pair{lt::DataType::CUDA_R_32F, Element::Float32},
                                 std::pair{lt::DataType::CUDA_R_16F, Element::Float16},
                                 std::pair{lt::DataType::CUDA_R_16BF, Element::BFloat16},
                                 std::pair{lt::DataType::CUDA_R_8I, Element::Int8},
                                 std::pair{lt::DataType::CUDA_R_32I, Element::Int32}})
        if (number(code) == type)
            return element;
    return std::nullopt;
}

/// Everything that decides which algorithms there are; what matmul() gets must be the same.
struct Problem {
    int64_t m = 0, n = 0, k = 0;
    int32_t batch = 1;
    bool transposeA = false, transposeB = false;
    uint32_t epilogue = 1;
    Strided a, b, c, d; ///< as stored: [batch, cols, rows]
    Strided bias;

    bool has(lt::Epilogue bit) const { return (epilogue & static_cast<uint32_t>(bit)) != 0; }
};

Strided stridedOf(const LayoutObject& from) {
    return {*elementOf(from.type),
            {from.batch(), from.cols, from.rows},
            {from.batchStride(), from.leading, 1}};
}

/// None where the documentation allows no such call.
std::optional<Problem> problemOf(const OperationObject* op, const LayoutObject* a,
                                 const LayoutObject* b, const LayoutObject* c,
                                 const LayoutObject* d) {
    if (!op || !a || !b || !c || !d)
        return std::nullopt;
    Problem out;
    out.transposeA = op->value<int32_t>(Operation::CUBLASLT_MATMUL_DESC_TRANSA, 0) == 1;
    out.transposeB = op->value<int32_t>(Operation::CUBLASLT_MATMUL_DESC_TRANSB, 0) == 1;
    out.epilogue = op->value<uint32_t>(Operation::CUBLASLT_MATMUL_DESC_EPILOGUE, 1);
    out.m = d->rows;
    out.n = d->cols;
    out.k = out.transposeA ? a->rows : a->cols;
    out.batch = d->batch();
    const auto side = [](const LayoutObject& x, bool turned) {
        return turned ? std::pair{x.cols, x.rows} : std::pair{x.rows, x.cols};
    };
    const bool fits = side(*a, out.transposeA) == std::pair{out.m, out.k} &&
                      side(*b, out.transposeB) == std::pair{out.k, out.n} && c->rows == out.m &&
                      c->cols == out.n && a->batch() == out.batch && b->batch() == out.batch &&
                      c->batch() == out.batch;
    // The table of types: A and B equal; C and D equal, and float32 or A's. Bytes are summed in 32
    // bits, A turned and B not, all in steps of four, and nothing is done with the sums.
    const bool bytes = op->compute == number(lt::Compute::CUBLAS_COMPUTE_32I);
    const int float32 = number(lt::DataType::CUDA_R_32F), sums = number(lt::DataType::CUDA_R_32I);
    const bool types = a->type == b->type && c->type == d->type &&
                       (bytes ? a->type == number(lt::DataType::CUDA_R_8I) && d->type == sums
                              : a->type != number(lt::DataType::CUDA_R_8I) && a->type != sums &&
                                    (d->type == a->type || d->type == float32));
    if (bytes && (!out.transposeA || out.transposeB || out.epilogue != 1 || out.m % 4 != 0 ||
                  out.k % 4 != 0 || a->leading % 4 != 0 || b->leading % 4 != 0))
        return std::nullopt;
    const bool tf32 = op->compute == number(lt::Compute::CUBLAS_COMPUTE_32F_FAST_TF32);
    constexpr uint32_t known[] = {1, 2, 4, 6, 32, 36};
    const bool epilogue =
        std::find(std::begin(known), std::end(known), out.epilogue) != std::end(known);
    if (!fits || !types || !epilogue || (tf32 && a->type != number(lt::DataType::CUDA_R_32F)))
        return std::nullopt;
    if (out.has(lt::Epilogue::CUBLASLT_EPILOGUE_BIAS)) {
        if (op->value<int32_t>(Operation::CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, d->type) != d->type)
            return std::nullopt;
        out.bias = {*elementOf(d->type),
                    {out.batch, out.m},
                    {op->value<int64_t>(Operation::CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE, 0), 1}};
    }
    out.a = stridedOf(*a);
    out.b = stridedOf(*b);
    out.c = stridedOf(*c);
    out.d = stridedOf(*d);
    return out;
}

uint64_t hashOf(const Problem& problem) {
    uint64_t out = 1469598103934665603ULL;
    auto mix = [&](uint64_t value) { out = (out ^ value) * 1099511628211ULL; };
    for (int64_t value : {problem.m, problem.n, problem.k, int64_t{problem.batch}})
        mix(static_cast<uint64_t>(value));
    for (const Strided* x : {&problem.a, &problem.b, &problem.c, &problem.d}) {
        mix(static_cast<uint64_t>(x->type));
        for (int64_t stride : x->strides)
            mix(static_cast<uint64_t>(stride));
    }
    mix(problem.epilogue);
    mix(problem.transposeA * 2 + problem.transposeB);
    return out;
}

/// What lies in cublasLtMatmulAlgo_t: opaque to callers.
struct AlgorithmState {
    uint64_t problem;
    uint32_t id, tile, splitK, reduction;
    uint32_t alignment[4]; ///< of A, B, C, D as the preference promised
    uint64_t workspace;
    uint64_t unused[2];
};

static_assert(sizeof(AlgorithmState) == sizeof(lt::Algorithm));

struct Addresses {
    const void *a, *b, *c;
    void* d;
    const void* bias;
    void* workspace;
};

double activated(const Problem& problem, double x) {
    if (problem.has(lt::Epilogue::CUBLASLT_EPILOGUE_RELU))
        return std::max(x, 0.0);
    if (problem.has(lt::Epilogue::CUBLASLT_EPILOGUE_GELU))
        return 0.5 * x * (1 + std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
    return x;
}

void compute(const Problem& p, const Addresses& at, float alpha, float beta) {
    const std::vector<double> a = read(at.a, p.a), b = read(at.b, p.b);
    const std::vector<double> c = beta != 0 ? read(at.c, p.c) : std::vector<double>{};
    const std::vector<double> bias =
        p.has(lt::Epilogue::CUBLASLT_EPILOGUE_BIAS) ? read(at.bias, p.bias) : std::vector<double>{};
    std::vector<double> d(static_cast<size_t>(p.batch * p.m * p.n));
    auto element = [](const std::vector<double>& x, const Strided& as, int64_t batch, int64_t row,
                      int64_t col) {
        return x[static_cast<size_t>((batch * as.extents[1] + col) * as.extents[2] + row)];
    };
    for (int64_t g = 0, next = 0; g < p.batch; ++g)
        for (int64_t col = 0; col < p.n; ++col)
            for (int64_t row = 0; row < p.m; ++row, ++next) {
                double sum = 0;
                for (int64_t k = 0; k < p.k; ++k)
                    sum +=
                        (p.transposeA ? element(a, p.a, g, k, row) : element(a, p.a, g, row, k)) *
                        (p.transposeB ? element(b, p.b, g, col, k) : element(b, p.b, g, k, col));
                sum *= static_cast<double>(alpha);
                if (beta != 0)
                    sum += static_cast<double>(beta) * c[static_cast<size_t>(next)];
                if (!bias.empty())
                    sum += bias[static_cast<size_t>(g * p.m + row)];
                d[static_cast<size_t>(next)] = activated(p, sum);
            }
    write(at.d, p.d, d);
}

bool aligned(const void* address, uint32_t bytes) {
    return reinterpret_cast<uintptr_t>(address) % bytes == 0;
}

/// Every operand lies in live device memory and as it was promised.
bool placed(const Problem& p, const Addresses& at, float beta, const AlgorithmState& state) {
    auto fits = [](const void* address, const Strided& tensor, uint32_t alignment) {
        return onDevice(address, tensor.spanBytes()) && aligned(address, alignment);
    };
    return fits(at.a, p.a, state.alignment[0]) && fits(at.b, p.b, state.alignment[1]) &&
           (beta == 0 || fits(at.c, p.c, state.alignment[2])) &&
           fits(at.d, p.d, state.alignment[3]) &&
           (!p.has(lt::Epilogue::CUBLASLT_EPILOGUE_BIAS) || fits(at.bias, p.bias, 2)) &&
           (state.workspace == 0 ||
            (onDevice(at.workspace, state.workspace) && aligned(at.workspace, 16)));
}

struct Session {};

std::set<const void*>& sessions() {
    static auto* instance = new std::set<const void*>;
    return *instance;
}

} // namespace

extern "C" {

size_t cublasLtGetVersion() {
    return 130199;
}

const char* cublasLtGetStatusString(int status) {
    switch (status) {
    case Ok:
        return "CUBLAS_STATUS_SUCCESS";
    case NotInitialized:
        return "CUBLAS_STATUS_NOT_INITIALIZED";
    case Invalid:
        return "CUBLAS_STATUS_INVALID_VALUE";
    case Unsupported:
        return "CUBLAS_STATUS_NOT_SUPPORTED";
    case Failed:
        return "CUBLAS_STATUS_EXECUTION_FAILED";
    default:
        return "CUBLAS_STATUS_INTERNAL_ERROR";
    }
}

int cublasLtCreate(Session** out) {
    FAKE_CALL("cublasLtCreate", Context);
    *out = new Session;
    sessions().insert(*out);
    return Ok;
}

int cublasLtDestroy(Session* session) {
    FAKE_CALL("cublasLtDestroy", Context);
    if (sessions().erase(session) == 0)
        return NotInitialized;
    delete session;
    return Ok;
}

int cublasLtMatmulDescCreate(OperationObject** out, int compute, int scale) {
    FAKE_CALL("cublasLtMatmulDescCreate", Nothing);
    const bool floats = compute == number(lt::Compute::CUBLAS_COMPUTE_32F) ||
                        compute == number(lt::Compute::CUBLAS_COMPUTE_32F_FAST_TF32);
    const bool bytes = compute == number(lt::Compute::CUBLAS_COMPUTE_32I);
    if (!(floats && scale == number(lt::DataType::CUDA_R_32F)) &&
        !(bytes && scale == number(lt::DataType::CUDA_R_32I)))
        return Invalid;
    *out = new OperationObject;
    (*out)->compute = compute;
    return Ok;
}

int cublasLtMatmulDescDestroy(OperationObject* object) {
    delete object;
    return Ok;
}

int cublasLtMatmulDescSetAttribute(OperationObject* object, int attribute, const void* from,
                                   size_t bytes) {
    FAKE_CALL("cublasLtMatmulDescSetAttribute", Nothing);
    return object->set(operationSizes, attribute, from, bytes);
}

int cublasLtMatrixLayoutCreate(LayoutObject** out, int type, uint64_t rows, uint64_t cols,
                               int64_t leading) {
    FAKE_CALL("cublasLtMatrixLayoutCreate", Nothing);
    if (!elementOf(type) || rows == 0 || cols == 0 || leading < static_cast<int64_t>(rows))
        return Invalid;
    *out =
        new LayoutObject{{}, type, static_cast<int64_t>(rows), static_cast<int64_t>(cols), leading};
    return Ok;
}

int cublasLtMatrixLayoutDestroy(LayoutObject* object) {
    delete object;
    return Ok;
}

int cublasLtMatrixLayoutSetAttribute(LayoutObject* object, int attribute, const void* from,
                                     size_t bytes) {
    FAKE_CALL("cublasLtMatrixLayoutSetAttribute", Nothing);
    return object->set(layoutSizes, attribute, from, bytes);
}

int cublasLtMatmulPreferenceCreate(Attributes** out) {
    FAKE_CALL("cublasLtMatmulPreferenceCreate", Nothing);
    *out = new Attributes;
    return Ok;
}

int cublasLtMatmulPreferenceDestroy(Attributes* object) {
    delete object;
    return Ok;
}

int cublasLtMatmulPreferenceSetAttribute(Attributes* object, int attribute, const void* from,
                                         size_t bytes) {
    FAKE_CALL("cublasLtMatmulPreferenceSetAttribute", Nothing);
    return object->set(preferenceSizes, attribute, from, bytes);
}

int cublasLtMatmulAlgoGetHeuristic(Session* session, OperationObject* op, LayoutObject* a,
                                   LayoutObject* b, LayoutObject* c, LayoutObject* d,
                                   Attributes* preference, int room, lt::HeuristicResult* results,
                                   int* count) {
    FAKE_CALL("cublasLtMatmulAlgoGetHeuristic", Context);
    *count = 0;
    if (sessions().count(session) == 0)
        return NotInitialized;
    const std::optional<Problem> problem = problemOf(op, a, b, c, d);
    if (!problem || room < 1)
        return Invalid;
    AlgorithmState base{hashOf(*problem), 0, 15, 1, 0, {}, 0, {}};
    size_t at = 0;
    for (Preference side : {Preference::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES,
                            Preference::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
                            Preference::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES,
                            Preference::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES}) {
        base.alignment[at] = preference->value<uint32_t>(side, 256);
        if (base.alignment[at] == 0 || (base.alignment[at] & (base.alignment[at] - 1)) != 0)
            return Invalid;
        ++at;
    }
    std::vector<AlgorithmState> offered(3, base);
    offered[1].id = 66;
    offered[1].tile = 20;
    offered[2].id = 21; // a split sum: partial sums in float32
    offered[2].splitK = 2;
    offered[2].reduction =
        static_cast<uint32_t>(lt::Reduction::CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE);
    offered[2].workspace =
        static_cast<uint64_t>(problem->batch * problem->m * problem->n) * 4 * offered[2].splitK;
    const auto schemes =
        preference->value<uint32_t>(Preference::CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, 7);
    const auto most =
        preference->value<uint64_t>(Preference::CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, 0);
    for (const AlgorithmState& state : offered) {
        if (*count == room || state.workspace > most || (state.reduction & ~schemes) != 0)
            continue;
        lt::HeuristicResult& out = results[(*count)++];
        out = {};
        std::memcpy(&out.algorithm, &state, sizeof state);
        out.workspaceBytes = state.workspace;
        out.waves = 1;
    }
    return *count == 0 ? Unsupported : Ok;
}

int cublasLtMatmulAlgoConfigGetAttribute(const lt::Algorithm* algorithm, int attribute, void* to,
                                         size_t bytes, size_t* written) {
    FAKE_CALL("cublasLtMatmulAlgoConfigGetAttribute", Nothing);
    AlgorithmState state;
    std::memcpy(&state, algorithm, sizeof state);
    const bool narrow =
        attribute == number(lt::AlgorithmField::CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID) ||
        attribute == number(lt::AlgorithmField::CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID);
    uint32_t value = 0;
    switch (static_cast<lt::AlgorithmField>(attribute)) {
    case lt::AlgorithmField::CUBLASLT_ALGO_CONFIG_ID:
        value = state.id;
        break;
    case lt::AlgorithmField::CUBLASLT_ALGO_CONFIG_TILE_ID:
        value = state.tile;
        break;
    case lt::AlgorithmField::CUBLASLT_ALGO_CONFIG_SPLITK_NUM:
        value = state.splitK;
        break;
    case lt::AlgorithmField::CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME:
        value = state.reduction;
        break;
    default:
        break;
    }
    *written = narrow ? 2 : 4;
    if (bytes != *written)
        return Invalid;
    std::memcpy(to, &value, bytes); // little-endian: the low bytes come first
    return Ok;
}

int cublasLtMatmul(Session* session, OperationObject* op, const void* alpha, const void* a,
                   LayoutObject* layoutA, const void* b, LayoutObject* layoutB, const void* beta,
                   const void* c, LayoutObject* layoutC, void* d, LayoutObject* layoutD,
                   const lt::Algorithm* algorithm, void* workspace, size_t workspaceBytes,
                   fakecuda::Stream* stream) {
    FAKE_CALL("cublasLtMatmul", Context);
    if (sessions().count(session) == 0)
        return NotInitialized;
    const std::optional<Problem> problem = problemOf(op, layoutA, layoutB, layoutC, layoutD);
    if (!problem || algorithm == nullptr)
        return Invalid;
    AlgorithmState state;
    std::memcpy(&state, algorithm, sizeof state);
    const Addresses at{
        a,
        b,
        c,
        d,
        op->value<const void*>(Operation::CUBLASLT_MATMUL_DESC_BIAS_POINTER, nullptr),
        workspace};
    float scale = 0, old = 0;
    if (op->compute == number(lt::Compute::CUBLAS_COMPUTE_32I)) {
        int32_t whole[2];
        std::memcpy(&whole[0], alpha, sizeof whole[0]);
        std::memcpy(&whole[1], beta, sizeof whole[1]);
        scale = static_cast<float>(whole[0]);
        old = static_cast<float>(whole[1]);
    } else {
        std::memcpy(&scale, alpha, sizeof scale);
        std::memcpy(&old, beta, sizeof old);
    }
    const bool ofThis = state.problem == hashOf(*problem) && workspaceBytes >= state.workspace;
    if (!ofThis || !placed(*problem, at, old, state) || (c == d && !(*layoutC == *layoutD)))
        return Invalid;
    auto queue = [&](const char* name, std::function<int()> run) {
        return fakecuda::enqueue(stream, fakecuda::NodeKind::Kernel, name, std::move(run));
    };
    if (state.splitK > 1) {
        const int code = queue("fakelt_split", [at, state] {
            std::memset(at.workspace, 0xff, state.workspace);
            return Ok;
        });
        if (code != 0)
            return Failed;
    }
    const int code = queue("fakelt_matmul", [problem = *problem, at, scale, old] {
        compute(problem, at, scale, old);
        return Ok;
    });
    return code == 0 ? Ok : Failed;
}
}
