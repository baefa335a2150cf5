// SPDX-License-Identifier: Apache-2.0
// Models larger than the memory that a process may have, and data files that become shorter: an
// error in words, never a signal.
#include "core/onnx/model_file.h"
#include "tests/cli/cli.h"

#include <onnx/onnx_pb.h>

#include <filesystem>
#include <sys/resource.h>

using namespace fuselage::cli_test;
namespace fs = std::filesystem;

namespace {

/// For this process and those that it starts.
class AddressLimit {
public:
    explicit AddressLimit(rlim_t bytes) {
        ::getrlimit(RLIMIT_AS, &m_before);
        const rlimit less{bytes, m_before.rlim_max};
        ::setrlimit(RLIMIT_AS, &less);
    }

    ~AddressLimit() { ::setrlimit(RLIMIT_AS, &m_before); }

private:
    rlimit m_before{};
};

class CliMemory : public Command {
protected:
    /// y = x w with a w of 256 MiB of zeros that take no room on the disk.
    CliMemory() {
        writeText("g (float[1,1024] x, float[1024,65536] w) => (float[1,65536] y) "
                  "{ y = MatMul(x, w) }");
        ::onnx::ModelProto model;
        EXPECT_TRUE(model.ParseFromString(readAll(folder.file("m.onnx"))));
        model.mutable_graph()->mutable_input()->RemoveLast();
        ::onnx::TensorProto& w = *model.mutable_graph()->add_initializer();
        w.set_name("w");
        w.set_data_type(::onnx::TensorProto::FLOAT);
        w.add_dims(1024);
        w.add_dims(65536);
        w.set_data_location(::onnx::TensorProto::EXTERNAL);
        auto& entry = *w.add_external_data();
        entry.set_key("location");
        entry.set_value("w.bin");
        folder.write("m.onnx", model.SerializeAsString());
        folder.write("w.bin", "");
        fs::resize_file(folder.file("w.bin"), uintmax_t{1} << 28);
    }
};

} // namespace

#ifndef __SANITIZE_ADDRESS__ // which takes addresses by the terabyte

TEST_F(CliMemory, WhatDoesNotFitIsSaid) {
    std::set<int> codes;
    for (rlim_t mebibytes : {250, 350, 450, 550, 700, 900, 1200, 3000}) {
        const ProcessResult result = [&] {
            const AddressLimit limit(mebibytes << 20);
            return run({"run", "m.onnx", "-q", "--threads", "1"});
        }();
        codes.insert(result.exitCode);
        EXPECT_TRUE(result.exitCode == ExitOk || result.exitCode == ExitResource)
            << mebibytes << " MiB: " << result.exitCode << ", " << result.errors;
        if (result.exitCode == ExitResource)
            expectHas(result.errors, "[resource.memory]");
    }
    EXPECT_EQ(codes, (std::set<int>{ExitOk, ExitResource}));
}

#endif
