// SPDX-License-Identifier: Apache-2.0
// NumPy's files: what is written is read again, whatever its type and extents; headers as other
// versions write them; and files that somebody broke.
#include "core/onnx/npy_file.h"
#include "core/support/file.h"
#include "tests/support/temporary_folder.h"

#include <gtest/gtest.h>

#include <random>

using namespace fuselage;

namespace {

class NpyFile : public testing::Test {
protected:
    Result<Tensor> read(const std::string& bytes) {
        const std::string path = m_folder.path() + "/a.npy";
        EXPECT_TRUE(writeFile(bytes, path));
        return model_io::loadNpy(path);
    }

    std::string messageOf(const std::string& bytes) {
        const auto made = read(bytes);
        EXPECT_FALSE(made);
        return made ? "" : made.error().text();
    }

    static std::string file(const std::string& header, const std::string& data, int version = 1) {
        std::string out = "\x93NUMPY";
        out += {static_cast<char>(version), 0};
        for (size_t i = 0; i < (version == 1 ? 2U : 4U); ++i)
            out += static_cast<char>(header.size() >> (8 * i) & 0xff);
        return out + header + data;
    }

private:
    testing_support::TemporaryFolder m_folder;
};

Tensor drawn(std::mt19937& random) {
    const DType types[] = {DType::Float32,   DType::Float64,   DType::Float16, DType::Int8,
                           DType::Int16,     DType::Int32,     DType::Int64,   DType::UInt8,
                           DType::UInt16,    DType::UInt32,    DType::UInt64,  DType::Bool,
                           DType::Complex64, DType::Complex128};
    Extents extents;
    for (size_t rank = random() % 5; rank > 0; --rank)
        extents.push_back(random() % 6);
    Tensor out(types[random() % std::size(types)], extents);
    for (size_t i = 0; i < out.byteCount(); ++i)
        out.bytes()[i] = static_cast<std::byte>(random());
    return out;
}

} // namespace

TEST_F(NpyFile, WhatIsWrittenIsReadAgain) {
    std::mt19937 random(1);
    for (int i = 0; i < 200; ++i) {
        const Tensor tensor = drawn(random);
        const auto bytes = model_io::npyOf(tensor);
        ASSERT_TRUE(bytes);
        const size_t length =
            static_cast<uint8_t>((*bytes)[8]) + 256U * static_cast<uint8_t>((*bytes)[9]);
        EXPECT_EQ((10 + length) % 64, 0U) << "data lie on the grid";
        const auto again = read(*bytes);
        ASSERT_TRUE(again) << again.error().text();
        EXPECT_EQ(again->dtype(), tensor.dtype());
        EXPECT_EQ(again->extents(), tensor.extents());
        EXPECT_TRUE(
            std::equal(again->bytes(), again->bytes() + again->byteCount(), tensor.bytes()));
    }
    EXPECT_FALSE(model_io::npyOf(Tensor(DType::BFloat16, {2})));
}

TEST_F(NpyFile, ColumnsFirstAndOtherVersions) {
    const std::string data = "abcdef"; // columns of two: ab, cd, ef
    for (int version : {1, 2, 3}) {
        const auto read = this->read(
            file("{\"shape\":(2,3),'fortran_order': True , 'descr':'|u1'}  \n", data, version));
        ASSERT_TRUE(read) << read.error().text();
        EXPECT_EQ(read->extents(), (Extents{2, 3}));
        EXPECT_EQ(std::string(reinterpret_cast<const char*>(read->bytes()), 6), "acebdf");
    }
    const auto scalar = read(file("{'descr': '|i1', 'fortran_order': False, 'shape': (), }", "x"));
    ASSERT_TRUE(scalar) << scalar.error().text();
    EXPECT_EQ(scalar->rank(), 0U);
}

TEST_F(NpyFile, WhatItIsNotIsSaid) {
    const auto of = [](const std::string& type, const std::string& shape) {
        return "{'descr': '" + type + "', 'fortran_order': False, 'shape': " + shape + ", }";
    };
    EXPECT_NE(messageOf(file(of(">f4", "(1,)"), "1234")).find("astype('<f4')"), std::string::npos);
    EXPECT_NE(messageOf(file(of("|O", "(1,)"), "1234")).find("`|O`"), std::string::npos);
    EXPECT_NE(messageOf(file(of("<f4", "(2,)"), "1234")).find("truncated"), std::string::npos);
    EXPECT_NE(messageOf("PK\x03\x04").find("no file of NumPy's"), std::string::npos);
    EXPECT_NE(messageOf("").find("no file of NumPy's"), std::string::npos);
    for (const std::string& shape : {"(9223372036854775807, 3)", "(-1,)", "(99999999999999999999,)",
                                     "(4611686018427387904, 4)"})
        messageOf(file(of("<f4", shape), "1234"));
    messageOf(file("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}", "1234"));
    EXPECT_FALSE(model_io::loadNpy("/nowhere/a.npy"));
}

TEST_F(NpyFile, NoBrokenFileIsMoreThanAnError) {
    std::mt19937 random(7);
    for (int i = 0; i < 3000; ++i) {
        std::string bytes = *model_io::npyOf(drawn(random));
        for (size_t changes = 1 + random() % 3; changes > 0; --changes)
            switch (random() % 3) {
            case 0:
                bytes[random() % bytes.size()] = static_cast<char>(random());
                break;
            case 1:
                bytes.resize(random() % bytes.size() + 1);
                break;
            default:
                bytes.insert(random() % bytes.size(), 1, "0(),'{}:9"[random() % 9]);
            }
        (void)read(bytes);
    }
}
