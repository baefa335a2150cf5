// SPDX-License-Identifier: Apache-2.0
// A device of the stand-in driver with a stream, kernels of two pointers, and floats up and down.
#pragma once

#include "gpu/runtime/device.h"
#include "gpu/runtime/nvrtc.h"
#include "tests/fakecuda/fixture.h"

#include <memory>
#include <string>
#include <vector>

namespace fuselage::gpu {

class Runtime : public FakeCudaTest {
protected:
    void SetUp() override {
        FakeCudaTest::SetUp();
        auto opened = Device::open();
        ASSERT_TRUE(opened) << opened.error().text();
        m_device = *opened;
        auto stream = m_device->stream();
        ASSERT_TRUE(stream);
        m_stream = std::move(*stream);
    }

    /// A kernel `name` of two pointers with this body.
    LoadedKernel kernel(const std::string& name, const std::string& body, uint32_t shared = 0) {
        KernelText text;
        text.name = name;
        text.source = "extern \"C\" __global__ void " + name +
                      "(const float* __restrict__ in0, float* __restrict__ out0) {\n" + body +
                      "}\n";
        auto nvrtc = Nvrtc::open();
        EXPECT_TRUE(nvrtc) << nvrtc.error().text();
        auto compiled = (*nvrtc)->compile(text, {});
        EXPECT_TRUE(compiled) << compiled.error().text();
        auto module = m_device->load(compiled->cubin);
        EXPECT_TRUE(module) << module.error().text() << fake().message();
        m_modules.push_back(*module);
        auto loaded = (*module)->kernel(name, shared);
        EXPECT_TRUE(loaded) << loaded.error().text();
        return *loaded;
    }

    DeviceMemory upload(const std::vector<float>& values) {
        auto memory = m_device->allocate(static_cast<int64_t>(values.size() * 4));
        EXPECT_TRUE(memory);
        EXPECT_TRUE(m_device->upload(memory->address(), values.data(), values.size() * 4));
        EXPECT_TRUE(m_device->finishUploads());
        return std::move(*memory);
    }

    std::vector<float> download(const DeviceMemory& memory) {
        std::vector<float> out(static_cast<size_t>(memory.bytes()) / 4);
        EXPECT_TRUE(m_stream.copyOut(out.data(), memory.address(), out.size() * 4));
        EXPECT_TRUE(m_stream.synchronize());
        return out;
    }

    Result<void> launch(const LoadedKernel& kernel, std::vector<DevicePointer> arguments,
                        uint32_t threads, uint32_t shared = 0) {
        return m_stream.launch(
            {kernel.function, "k", {1, 1, 1}, {threads, 1, 1}, shared, arguments});
    }

    std::shared_ptr<Device> m_device;
    Stream m_stream;
    std::vector<std::shared_ptr<const Module>> m_modules;
};

/// A kernel's body.
inline const char* const addOne = "    out0[threadIdx.x] = in0[threadIdx.x] + 1.0f;\n";

} // namespace fuselage::gpu
