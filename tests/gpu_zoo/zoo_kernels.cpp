// SPDX-License-Identifier: Apache-2.0
#include "tests/gpu_zoo/zoo_kernels.h"

#include "core/support/hash.h"
#include "gpu/kernels/variant_table.h"

#include <algorithm>
#include <cctype>

namespace fuselage::gpu_zoo {

namespace {

bool isWord(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.';
}

} // namespace

std::string codeOf(const gpu::KernelText& kernel) {
    std::string out;
    const std::string& text = kernel.source;
    out.reserve(text.size());
    for (size_t at = 0; at < text.size();) {
        if (text.compare(at, 2, "//") == 0) {
            at = std::min(text.find('\n', at), text.size());
        } else if (text.compare(at, kernel.name.size(), kernel.name) == 0) {
            out += "kernel";
            at += kernel.name.size();
        } else {
            out += text[at++];
        }
    }
    return out;
}

std::string formOf(const std::string& code) {
    std::string out;
    out.reserve(code.size());
    for (size_t at = 0; at < code.size();) {
        const bool starts = std::isdigit(static_cast<unsigned char>(code[at])) != 0 &&
                            (at == 0 || !isWord(code[at - 1]));
        if (!starts) {
            out += code[at++];
            continue;
        }
        size_t end = at;
        while (end < code.size() && std::isdigit(static_cast<unsigned char>(code[end])) != 0)
            ++end;
        const bool whole = end == code.size() || !isWord(code[end]) || code[end] == 'u';
        if (whole)
            out += "#";
        else
            out.append(code, at, end - at);
        at = end;
    }
    return Hasher().text(out).hex();
}

std::vector<ZooKernel> kernelsOf(const std::vector<ZooProgram>& programs,
                                 std::set<std::string>& seen) {
    std::vector<ZooKernel> out;
    for (const ZooProgram& program : programs)
        for (gpu::KernelSet& set : gpu::emitAll(program.request).accepted)
            for (gpu::KernelText& kernel : set.kernels) {
                const std::string code = codeOf(kernel);
                if (seen.insert(Hasher().text(code).hex()).second)
                    out.push_back(
                        {set.variant, describe(program), formOf(code), std::move(kernel)});
            }
    return out;
}

} // namespace fuselage::gpu_zoo
