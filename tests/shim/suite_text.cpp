// SPDX-License-Identifier: Apache-2.0
#include "tests/shim/suite_text.h"

#include <fmt/format.h>

#include <cstdio>
#include <fstream>

namespace fuselage::gpu_suite {

namespace {

/// "NAME(static_cast<const Half*>(a[0]), ...)": the parameters are read off the program's types.
std::string wrapper(const gpu::KernelText& kernel) {
    const size_t open = kernel.source.find(kernel.name + "(");
    const size_t close = kernel.source.find(") {", open);
    std::string list =
        kernel.source.substr(open + kernel.name.size() + 1, close - open - kernel.name.size() - 1);
    std::string call;
    size_t begin = 0;
    for (size_t i = 0; i < kernel.arguments.size(); ++i) {
        const size_t end = list.find('*', begin);
        std::string type = list.substr(begin, end - begin);
        type.erase(0, type.find_first_not_of(" \n,"));
        call += fmt::format("{}static_cast<{}*>(a[{}])", i == 0 ? "" : ", ", type, i);
        begin = list.find(',', end);
    }
    for (size_t i = 0; i < kernel.maps.size(); ++i)
        call += fmt::format(", *static_cast<const TensorMap*>(a[{}])", kernel.arguments.size() + i);
    return fmt::format("void run_{0}(void* const* a) {{\n    {0}({1});\n}}\n\n", kernel.name, call);
}

} // namespace

void SuiteText::add(const gpu::KernelText& kernel, const std::string& from) {
    m_kernels += "// " + from + "\n" + kernel.source + "\n";
    m_wrappers += wrapper(kernel);
    m_rows += fmt::format("    {{\"{0}\", run_{0}}},\n", kernel.name);
}

std::string SuiteText::file(const std::string& table) const {
    return "// Generated: kernels as host code.\n"
           "#include \"tests/shim/simt.h\"\n\n#include \"tests/shim/simt_launch.h\"\n\n" +
           m_kernels + "namespace {\n\n" + m_wrappers + "} // namespace\n\n" +
           "std::span<const simt::KernelRow> " + table +
           "() {\n    static constexpr simt::KernelRow rows[] = {\n" + m_rows +
           "    {\"\", nullptr}};\n    return rows;\n}\n";
}

bool writeText(const std::string& path, const std::string& text) {
    std::ofstream out(path, std::ios::binary);
    out << text;
    out.close();
    if (!out)
        std::fprintf(stderr, "%s cannot be written\n", path.c_str());
    return static_cast<bool>(out);
}

} // namespace fuselage::gpu_suite
