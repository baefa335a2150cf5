// SPDX-License-Identifier: Apache-2.0
// What the installed CUPTI says without a device: the metrics that counting asks for exist on every
// chip that there is a profile for, and how many passes they take. Skipped where CUPTI is not.
#include "gpu/runtime/counter_host.h"

#include <gtest/gtest.h>

namespace {

using namespace fuselage::gpu;

class CounterHostTest : public testing::Test {
protected:
    void SetUp() override {
#ifdef __SANITIZE_ADDRESS__
        GTEST_SKIP() << "CUPTI opens its host library in a way that AddressSanitizer refuses";
#endif
        auto opened = profiler::Api::open();
        if (!opened)
            GTEST_SKIP() << opened.error().text();
        m_api = *opened;
    }

    std::vector<std::string> metricsOf(const std::string& chip) {
        auto host = CounterHost::create(m_api, chip);
        if (!host)
            return {host.error().text()};
        EXPECT_EQ((*host)->passes(), 1U) << chip;
        EXPECT_FALSE((*host)->config().empty()) << chip;
        return {(*host)->metrics().begin(), (*host)->metrics().end()};
    }

    std::shared_ptr<const profiler::Api> m_api;
};

using Names = std::vector<std::string>;

TEST_F(CounterHostTest, BytesOfDramAndL2AreCountedInOnePass) {
    // T4, A100, A10, L4, RTX 4090, H100 and H200.
    for (const char* chip : {"TU104", "GA100", "GA102", "AD104", "AD102", "GH100"})
        EXPECT_EQ(metricsOf(chip),
                  (Names{"dram__bytes_read.sum", "dram__bytes_write.sum", "lts__t_bytes.sum"}))
            << chip;
}

TEST_F(CounterHostTest, AChipWithOtherNamesIsAskedByThem) {
    // RTX 5090. A CUPTI of before it does not know it.
    const Names found = metricsOf("GB202");
    if (found.size() == 1 && found[0].find("does not know the device") != std::string::npos)
        GTEST_SKIP() << found[0];
    EXPECT_EQ(found,
              (Names{"dram__bytes_op_read.sum", "dram__bytes_op_write.sum", "lts__t_bytes.sum"}));
}

TEST_F(CounterHostTest, AChipWithoutMemoryOfItsOwnCountsItsL2) {
    EXPECT_EQ(metricsOf("GA10B"), Names{"lts__t_bytes.sum"});
}

TEST_F(CounterHostTest, AnUnknownChipIsRefusedInWords) {
    auto host = CounterHost::create(m_api, "ZZ999");
    ASSERT_FALSE(host);
    EXPECT_EQ(host.error().code, "run.counters");
    EXPECT_NE(host.error().text().find("does not know the device"), std::string::npos)
        << host.error().text();
    EXPECT_NE(host.error().text().find("newer CUDA toolkit"), std::string::npos);
}

} // namespace
