// SPDX-License-Identifier: Apache-2.0
#include "gpu/backend/repro_text.h"

#include "core/support/text.h"

#include <fmt/format.h>

#include <algorithm>

namespace fuselage::gpu {

namespace {

/// nvcc reads device code once more for the host, where the emitted text calls what stands for the
/// device's units. It is read and not compiled there, so declarations will do.
const char* const readByHost = R"cpp(
#ifndef __CUDA_ARCH__
__device__ void hostWaitForKernelsBefore();
__device__ void hostVectorAccess(const void* address, int bytes);
__device__ void hostCopyLater(void* to, const void* from, int bytes, bool inside);
__device__ void hostCommitCopies();
__device__ void hostWaitCopies(int pending);
__device__ const unsigned* const* hostRows(const void* mine);
__device__ void hostFenceForProducts();
__device__ void hostOpenProducts();
__device__ void hostCommitProducts();
__device__ void hostWaitProducts(int pending);
__device__ unsigned hostSharedAddress(const void* address);
__device__ void hostMultiplyGroup(float* sums, int columns, unsigned long long a,
                                  unsigned long long b, bool add, float (*number)(unsigned short));
__device__ void hostMultiplyWeighted(float* sums, int columns, const unsigned* a,
                                     const unsigned (*lanes)[4], unsigned long long b, bool add,
                                     float (*number)(unsigned short));
__device__ void hostInitBarrier(unsigned long long* barrier, unsigned arrivals);
__device__ void hostPublishBarriers();
__device__ void hostArrive(unsigned long long* barrier);
__device__ void hostArriveExpecting(unsigned long long* barrier, unsigned bytes);
__device__ void hostWaitBarrier(unsigned long long* barrier, unsigned parity);
__device__ void hostFetchMap(const void* map);
__device__ void hostCopyBox(void* to, const void* map, unsigned long long* barrier, const int* at,
                            int rank, unsigned blocks);
__device__ void hostCopyPixels(void* to, const void* map, unsigned long long* barrier,
                               const int* at, const unsigned short* offset, int rank,
                               unsigned blocks);
__device__ void hostMeetCluster();
__device__ void hostArriveIn(unsigned block, unsigned long long* barrier);
__device__ void hostWaitForCluster(unsigned long long* barrier, unsigned parity);
template <int count>
__device__ const unsigned (*hostGatherWarp(const unsigned (&mine)[count]))[count];
#endif
)cpp";

/// What a kernel with tensor maps needs besides: the driver's functions, found at run time so that
/// nothing more is linked.
const char* const mapFrame = R"cpp(
#include <cuda.h>

namespace repro {

template <typename Encode> Encode encoder(const char* name) {
    void* found = nullptr;
    cudaDriverEntryPointQueryResult result;
    check(cudaGetDriverEntryPointByVersion(name, &found, 12000, cudaEnableDefault, &result), name);
    return reinterpret_cast<Encode>(found);
}

void checkMap(CUresult code, const char* name) {
    if (code == CUDA_SUCCESS)
        return;
    std::fprintf(stderr, "%s: %d\n", name, static_cast<int>(code));
    std::exit(2);
}

CUtensorMap tensorMap(CUtensorMapDataType type, void* memory, std::vector<cuuint64_t> dims,
                      std::vector<cuuint64_t> strides, std::vector<cuuint32_t> box,
                      CUtensorMapSwizzle swizzle) {
    const char* const name = "cuTensorMapEncodeTiled";
    const std::vector<cuuint32_t> ones(box.size(), 1);
    CUtensorMap out;
    checkMap(encoder<decltype(&cuTensorMapEncodeTiled)>(name)(
                 &out, type, static_cast<cuuint32_t>(dims.size()), memory, dims.data(),
                 strides.data(), box.data(), ones.data(), CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle,
                 CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE),
             name);
    return out;
}

/// Columns of `box[1]` pixels with `box[0]` channels; `steps` are of all dims.
CUtensorMap pixelMap(CUtensorMapDataType type, void* memory, std::vector<cuuint64_t> dims,
                     std::vector<cuuint64_t> strides, std::vector<cuuint32_t> box,
                     std::vector<int> lower, std::vector<int> upper,
                     std::vector<cuuint32_t> steps) {
    const char* const name = "cuTensorMapEncodeIm2col";
    CUtensorMap out;
    checkMap(encoder<decltype(&cuTensorMapEncodeIm2col)>(name)(
                 &out, type, static_cast<cuuint32_t>(dims.size()), memory, dims.data(),
                 strides.data(), lower.data(), upper.data(), box[0], box[1], steps.data(),
                 CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                 CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE),
             name);
    return out;
}

} // namespace repro

)cpp";

/// What one in clusters of blocks needs.
const char* const clusterFrame = R"cpp(
namespace repro {

cudaError_t launchClusters(const void* kernel, dim3 grid, dim3 block, void** pointers,
                           size_t sharedBytes, unsigned clusterBlocks) {
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim.x = clusterBlocks;
    attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = grid;
    config.blockDim = block;
    config.dynamicSmemBytes = sharedBytes;
    config.attrs = &attribute;
    config.numAttrs = 1;
    return cudaLaunchKernelExC(&config, kernel, pointers);
}

} // namespace repro

)cpp";

/// Everything of main() that does not depend on the kernel.
const char* const frame = R"cpp(
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace repro {

void check(cudaError_t code, const char* what) {
    if (code == cudaSuccess)
        return;
    std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(code));
    std::exit(2);
}

struct Operand {
    const char* type;
    std::vector<long long> extents, strides;
    unsigned long long seed; // 0: from the file
    const char* file;
};

std::vector<char> readFile(const std::string& name) {
    std::ifstream file(name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

size_t sizeOf(const std::string& type) {
    if (type.find("64") != std::string::npos)
        return 8;
    if (type.find("32") != std::string::npos || type == "float")
        return 4;
    if (type == "double")
        return 8;
    return type.find("16") != std::string::npos ? 2 : 1;
}

bool isFloat(const std::string& type) {
    return type.find("float") != std::string::npos || type == "double";
}

void encode(const std::string& type, double number, char* to) {
    const float narrow = static_cast<float>(number);
    const long long integer = static_cast<long long>(number);
    if (type == "float" || type == "float32") {
        std::memcpy(to, &narrow, 4);
    } else if (type == "double" || type == "float64") {
        std::memcpy(to, &number, 8);
    } else if (type == "float16") {
        const __half half = __float2half(narrow);
        std::memcpy(to, &half, 2);
    } else if (type == "bfloat16") {
        const __nv_bfloat16 half = __float2bfloat16(narrow);
        std::memcpy(to, &half, 2);
    } else {
        std::memcpy(to, &integer, sizeOf(type));
    }
}

double decode(const std::string& type, const char* from) {
    if (type == "float" || type == "float32") {
        float number;
        std::memcpy(&number, from, 4);
        return number;
    }
    if (type == "double" || type == "float64") {
        double number;
        std::memcpy(&number, from, 8);
        return number;
    }
    if (type == "float16") {
        __half number;
        std::memcpy(&number, from, 2);
        return __half2float(number);
    }
    if (type == "bfloat16") {
        __nv_bfloat16 number;
        std::memcpy(&number, from, 2);
        return __bfloat162float(number);
    }
    long long number = 0;
    std::memcpy(&number, from, sizeOf(type));
    const int unused = 64 - static_cast<int>(sizeOf(type)) * 8;
    const bool isSigned = type[0] == 'i';
    return isSigned ? static_cast<double>(number << unused >> unused)
                    : static_cast<double>(static_cast<unsigned long long>(number));
}

/// Elements from the first to one past the last.
long long spanOf(const Operand& operand) {
    long long last = 0;
    for (size_t d = 0; d < operand.extents.size(); ++d) {
        if (operand.extents[d] == 0)
            return 0;
        last += (operand.extents[d] - 1) * operand.strides[d];
    }
    return last + 1;
}

template <typename Visit> void forEach(const Operand& operand, Visit visit) {
    long long count = 1;
    for (long long extent : operand.extents)
        count *= extent;
    for (long long i = 0; i < count; ++i) {
        long long rest = i, offset = 0;
        for (size_t d = operand.extents.size(); d-- > 0;) {
            offset += rest % operand.extents[d] * operand.strides[d];
            rest /= operand.extents[d];
        }
        visit(i, offset);
    }
}

void* upload(const std::vector<char>& bytes) {
    void* memory = nullptr;
    check(cudaMalloc(&memory, bytes.size() + 256), "cudaMalloc");
    check(cudaMemcpy(memory, bytes.data(), bytes.size(), cudaMemcpyHostToDevice), "cudaMemcpy");
    return memory;
}

void* input(const Operand& operand) {
    const size_t size = sizeOf(operand.type);
    std::vector<char> bytes(static_cast<size_t>(spanOf(operand)) * size);
    const std::vector<char> known = operand.seed == 0 ? readFile(operand.file) : std::vector<char>();
    unsigned long long state = operand.seed * 2862933555777941757ULL + 3037000493ULL;
    forEach(operand, [&](long long i, long long offset) {
        char* to = bytes.data() + static_cast<size_t>(offset) * size;
        if (operand.seed == 0) {
            std::memcpy(to, known.data() + static_cast<size_t>(i) * size, size);
            return;
        }
        state = state * 6364136223846793005ULL + 1442695040888963407ULL;
        const long long bits = static_cast<long long>(state >> 33);
        encode(operand.type,
               isFloat(operand.type) ? static_cast<double>(bits % 2047 - 1023) / 1024
                                     : static_cast<double>(bits % 2),
               to);
    });
    return upload(bytes);
}

void* output(const Operand& operand) {
    return upload(std::vector<char>(static_cast<size_t>(spanOf(operand)) * sizeOf(operand.type),
                                    static_cast<char>(0xff)));
}

/// Largest difference relative to the largest expected number; sets `checked`.
bool agrees(const Operand& operand, const void* memory, double tolerance) {
    const size_t size = sizeOf(operand.type);
    std::vector<char> bytes(static_cast<size_t>(spanOf(operand)) * size);
    check(cudaMemcpy(bytes.data(), memory, bytes.size(), cudaMemcpyDeviceToHost), "cudaMemcpy");
    const std::vector<char> file = readFile(operand.file);
    double sum = 0, largest = 0, worst = 0;
    bool special = true;
    forEach(operand, [&](long long i, long long offset) {
        const double got = decode(operand.type, bytes.data() + static_cast<size_t>(offset) * size);
        sum += std::isfinite(got) ? got : 0;
        if (file.empty())
            return;
        double wanted;
        std::memcpy(&wanted, file.data() + static_cast<size_t>(i) * 8, 8);
        if (std::isfinite(wanted) && std::isfinite(got)) {
            largest = std::fmax(largest, std::fabs(wanted));
            worst = std::fmax(worst, std::fabs(wanted - got));
        } else {
            special = special && (got == wanted || (got != got && wanted != wanted));
        }
    });
    if (file.empty()) {
        std::printf("sum %.17g, not checked: %s is not here\n", sum, operand.file);
        return true;
    }
    const double error = largest > 0 ? worst / largest : worst;
    std::printf("sum %.17g, error %.3g of at most %.3g\n", sum, error, tolerance);
    return special && error <= tolerance;
}

} // namespace repro

)cpp";

} // namespace

std::string ReproText::operandRow(const OperandLayout& layout, size_t seed,
                                  const std::string& file) const {
    return fmt::format("        {{\"{}\", {{{}}}, {{{}}}, {}, \"{}\"}},\n", nameOf(layout.dtype),
                       joined(layout.extents, [](int64_t n) { return std::to_string(n); }),
                       joined(layout.strides, [](int64_t n) { return std::to_string(n); }), seed,
                       file);
}

namespace {

/// "in[0]", the vector's element that an argument's memory is.
std::string memoryText(const KernelArgument& argument) {
    using Kind = KernelArgument::Kind;
    const char* group = argument.kind == Kind::Input     ? "in"
                        : argument.kind == Kind::Output  ? "out"
                        : argument.kind == Kind::Table   ? "table"
                        : argument.kind == Kind::Packed  ? "packed"
                        : argument.kind == Kind::Tickets ? "tickets"
                                                         : "scratch";
    return fmt::format("address(static_cast<char*>({}[{}]) + {})", group,
                       argument.kind == Kind::Scratch ? 0 : argument.index, argument.offset);
}

/// "        CUtensorMap map0 = tensorMap(...);"
std::string mapText(const TensorMapText& map, size_t number) {
    const auto list = [](const Extents& numbers) {
        return ", {" + joined(numbers, [](int64_t n) { return std::to_string(n); }) + "}";
    };
    std::string walk =
        map.swizzled ? ", CU_TENSOR_MAP_SWIZZLE_128B" : ", CU_TENSOR_MAP_SWIZZLE_NONE";
    if (map.pixels) {
        Extents steps = map.pixels->steps;
        steps.insert(steps.begin(), 1);
        steps.push_back(1);
        walk = list(map.pixels->lower) + list(map.pixels->upper) + list(steps);
    }
    return fmt::format("        CUtensorMap map{} = {}({}, {}{}{}{}{});\n", number,
                       map.pixels ? "pixelMap" : "tensorMap",
                       sizeOf(map.element) == 1        ? "CU_TENSOR_MAP_DATA_TYPE_UINT8"
                       : sizeOf(map.element) == 4      ? "CU_TENSOR_MAP_DATA_TYPE_UINT32"
                       : map.element == DType::Float16 ? "CU_TENSOR_MAP_DATA_TYPE_FLOAT16"
                                                       : "CU_TENSOR_MAP_DATA_TYPE_BFLOAT16",
                       memoryText(map.memory), list(map.dims), list(map.strides), list(map.box),
                       walk);
}

} // namespace

namespace {

/// The launch with `kernel` and `pointers` at hand, as an expression.
std::string launchText(const KernelText& kernel) {
    const auto& [gx, gy, gz] = kernel.grid;
    const auto& [bx, by, bz] = kernel.block;
    const std::string sizes =
        fmt::format("dim3({}, {}, {}), dim3({}, {}, {})", gx, gy, gz, bx, by, bz);
    return kernel.clusterBlocks == 1
               ? fmt::format("cudaLaunchKernel(kernel, {}, pointers, {}, nullptr)", sizes,
                             kernel.sharedBytes)
               : fmt::format("launchClusters(kernel, {}, pointers, {}, {})", sizes,
                             kernel.sharedBytes, kernel.clusterBlocks);
}

} // namespace

std::string ReproText::launches() const {
    std::string out;
    for (const KernelText& kernel : m_set.kernels) {
        std::string arguments, maps;
        for (const KernelArgument& argument : kernel.arguments)
            arguments += "        " + memoryText(argument) + ",\n";
        for (size_t i = 0; i < kernel.maps.size(); ++i)
            maps += mapText(kernel.maps[i], i) +
                    fmt::format("        pointers[{}] = &map{};\n", kernel.arguments.size() + i, i);
        out += fmt::format(
            "    {{\n        void* values[] = {{\n{0}        }};\n"
            "        void* pointers[{5}];\n"
            "        for (int i = 0; i < {1}; ++i)\n            pointers[i] = &values[i];\n{6}"
            "        const void* kernel = reinterpret_cast<const void*>({2});\n"
            "        check(cudaFuncSetAttribute(kernel, "
            "cudaFuncAttributeMaxDynamicSharedMemorySize, {3}),\n"
            "              \"cudaFuncSetAttribute\");\n"
            "        check({4},\n              \"{2}\");\n    }}\n",
            arguments, kernel.arguments.size(), kernel.name, kernel.sharedBytes, launchText(kernel),
            kernel.arguments.size() + kernel.maps.size(), maps);
    }
    return out;
}

std::string ReproText::text(const std::string& arch) const {
    // `-arch=sm_90a` alone also compiles for compute_90, which lacks what `a` is asked for.
    const std::string number = arch.substr(arch.find('_') + 1);
    std::string out = fmt::format("// A generated kernel with a repro: nvcc "
                                  "-gencode=arch=compute_{0},code=sm_{0} -std=c++17 -o "
                                  "repro {1}.cu && ./repro\n",
                                  number, m_name);
    out += readByHost;
    for (const KernelText& kernel : m_set.kernels)
        out += kernel.source;
    out += frame;
    if (std::any_of(m_set.kernels.begin(), m_set.kernels.end(),
                    [](const KernelText& kernel) { return !kernel.maps.empty(); }))
        out += mapFrame;
    if (std::any_of(m_set.kernels.begin(), m_set.kernels.end(),
                    [](const KernelText& kernel) { return kernel.clusterBlocks > 1; }))
        out += clusterFrame;
    out += "int main() {\n    using namespace repro;\n    const Operand inputs[] = {\n";
    for (size_t i = 0; i < m_request.inputs.size(); ++i) {
        const bool known = m_request.constant(i) && !isFloat(m_request.inputs[i].dtype);
        out += operandRow(m_request.inputs[i], known ? 0 : i + 1, known ? inputFile(i) : "");
    }
    out += "    };\n    const Operand outputs[] = {\n";
    for (size_t i = 0; i < m_request.outputs.size(); ++i)
        out += operandRow(m_request.outputs[i], 0, expectedFile(i));
    out += "    };\n    std::vector<void*> in, out, table, packed, scratch, tickets;\n"
           "    const auto address = [](char* at) { return static_cast<void*>(at); };\n"
           "    for (const Operand& operand : inputs)\n        in.push_back(input(operand));\n"
           "    for (const Operand& operand : outputs)\n        out.push_back(output(operand));\n";
    for (size_t i = 0; i < m_set.tables.size(); ++i)
        out += fmt::format("    table.push_back(upload(readFile(\"{}\")));\n", tableFile(i));
    for (size_t i = 0; i < m_set.packed.size(); ++i)
        out += fmt::format("    packed.push_back(upload(readFile(\"{}\")));\n", packedFile(i));
    out +=
        fmt::format("    scratch.push_back(upload(std::vector<char>({})));\n", m_set.scratchBytes);
    out += fmt::format("    tickets.push_back(upload(std::vector<char>({}, 0)));\n",
                       m_set.tickets * 4);
    out += launches();
    out += fmt::format("    check(cudaDeviceSynchronize(), \"run\");\n    bool good = true;\n"
                       "    for (size_t i = 0; i < out.size(); ++i)\n"
                       "        good = agrees(outputs[i], out[i], {:.9g}) && good;\n"
                       "    std::puts(good ? \"ok\" : \"DIFFERS\");\n"
                       "    return good ? 0 : 1;\n}}\n",
                       m_set.tolerance);
    return out;
}

} // namespace fuselage::gpu
