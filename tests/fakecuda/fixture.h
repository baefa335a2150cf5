// SPDX-License-Identifier: Apache-2.0
// Makes a test see the stand-in driver and nothing else of CUDA, and forget failures of the test
// before.
#pragma once

#include "tests/fakecuda/control.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <dlfcn.h>
#include <string>

/// The stand-in driver's own functions; the library stays open for the whole test program.
struct FakeCuda {
    decltype(&fakecudaFail) fail = nullptr;
    decltype(&fakecudaReset) reset = nullptr;
    decltype(&fakecudaSpoil) spoil = nullptr;
    decltype(&fakecudaMessage) message = nullptr;
    decltype(&fakecudaCounts) counts = nullptr;

    FakeCuda() {
        setenv("FUSELAGE_CUDA_LIBRARIES", FAKECUDA_FOLDER, 1);
        void* library = dlopen(FAKECUDA_FOLDER "/libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
        if (library == nullptr) {
            ADD_FAILURE() << dlerror();
            std::abort();
        }
        fail = reinterpret_cast<decltype(fail)>(dlsym(library, "fakecudaFail"));
        spoil = reinterpret_cast<decltype(spoil)>(dlsym(library, "fakecudaSpoil"));
        reset = reinterpret_cast<decltype(reset)>(dlsym(library, "fakecudaReset"));
        message = reinterpret_cast<decltype(message)>(dlsym(library, "fakecudaMessage"));
        counts = reinterpret_cast<decltype(counts)>(dlsym(library, "fakecudaCounts"));
    }

    FakeCudaCounts now() const {
        FakeCudaCounts out;
        counts(&out);
        return out;
    }
};

class FakeCudaTest : public testing::Test {
protected:
    static FakeCuda& fake() {
        static FakeCuda instance;
        return instance;
    }

    void SetUp() override { fake().reset(); }

    void TearDown() override {
        fake().reset();
        for (const char* name :
             {"FAKECUDA_DEVICES", "FAKECUDA_NO_CLOCKS", "FAKECUDA_VERSION", "FAKECUDA_MEMORY_MIB"})
            unsetenv(name);
        setenv("FUSELAGE_CUDA_LIBRARIES", FAKECUDA_FOLDER, 1);
    }
};
