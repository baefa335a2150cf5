// SPDX-License-Identifier: Apache-2.0
#include "core/cpu/vector_table.h"

#include <vector>

namespace fuselage::cpu {

Lane laneOf(DType type) {
    switch (type) {
    case DType::Float32:
    case DType::Float16:
    case DType::BFloat16:
        return Lane::F32;
    case DType::Float64:
        return Lane::F64;
    case DType::Bool:
        return Lane::Bool;
    default:
        return Lane::I64;
    }
}

namespace {

VectorTable make(const char* name, void (*fill)(VectorTable&)) {
    VectorTable table;
    table.name = name;
    fill(table);
    return table;
}

const std::vector<VectorTable>& tables() {
    static const std::vector<VectorTable> all = [] {
        std::vector<VectorTable> out;
        if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
            __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq")) {
            const VectorTable table = make("avx512", avx512::fill);
            VectorTable dots = table;
            if (__builtin_cpu_supports("avx512vnni") && avx512vnni::fill(dots))
                out.push_back(dots);
            out.push_back(table);
        }
        if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
            out.push_back(make("avx2", avx2::fill));
        out.push_back(make("baseline", baseline::fill));
        return out;
    }();
    return all;
}

} // namespace

const VectorTable& vectorTable() {
    return tables().front();
}

size_t vectorTableCount() {
    return tables().size();
}

const VectorTable& vectorTable(size_t index) {
    return tables()[index];
}

} // namespace fuselage::cpu
