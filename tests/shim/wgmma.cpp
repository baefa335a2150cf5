// SPDX-License-Identifier: Apache-2.0
// Products of warpgroups as host code, after the PTX manual's "Asynchronous warpgroup level matrix
// instructions": four warps take part with the same descriptors, operands are read from shared
// memory at some time between the product and the wait for its group, sums may not be touched
// meanwhile. Every thread computes its own sums; what they are read from is checked once a warp.
#include "tests/shim/races.h"
#include "tests/shim/simt.h"
#include "tests/shim/simt_internal.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

namespace simt {

namespace {

constexpr size_t groupThreads = 128;
constexpr int rowsOfGroup = 64, rowsOfWarp = 16, kSteps = 16, kBytes = 2 * kSteps;

/// What a product's elements are: of 16 bits, or bytes without a `number`.
struct Elements {
    Number number = nullptr;
    bool signedA = false, signedB = false;

    bool operator==(const Elements&) const = default;
};

/// What a warpgroup asks for.
struct Issue {
    uint64_t a = 0, b = 0;
    int columns = 0;
    bool add = true;        ///< to what the sums are
    bool registers = false; ///< A is there; a row of B is a step along k
    Elements elements;

    bool operator==(const Issue&) const = default;
};

/// The two rows of A whose sums a thread has, and its words of them where they are in registers.
struct Fragment {
    const uint32_t* place = nullptr;
    std::array<uint32_t, 4> words{};
    std::array<std::array<float, kSteps>, 2> rows{};
};

struct Product {
    Issue issue;
    Fragment fragment;
    size_t sums = 0; ///< number of the thread's sums
    size_t group = 0;
    bool done = false; ///< early; its sums may still not be read
    const void* place = nullptr;
};

/// Sums of a thread while products are under way.
struct Sums {
    uint32_t* place = nullptr;
    int columns = 0;
    std::vector<uint32_t> values; ///< the bits of float or int
};

struct Thread {
    bool open = false; ///< wgmma.fence since the sums were last free
    size_t groups = 0; ///< closed so far
    size_t issued = 0;
    std::vector<Sums> sums;
    std::vector<Product> products; ///< not waited for
};

struct Block {
    std::vector<Thread> threads;
    std::vector<std::vector<Issue>> issues; ///< by warpgroup: what its first thread asked for
    bool early = false;
};

Block current;

Thread& self() {
    return current.threads[currentThread()];
}

/// Offset in shared memory of a byte of a row. The swizzle exchanges the 16-byte units of an
/// address by bits 7 to 9 of it.
size_t offsetOf(uint64_t descriptor, int row, int byte) {
    const uint64_t start = (descriptor & 0x3fff) << 4, eightRows = (descriptor >> 32 & 0x3fff) << 4;
    const uint64_t linear = start + static_cast<uint64_t>(row / 8) * eightRows +
                            static_cast<uint64_t>(row % 8 * 128 + byte);
    return linear ^ (linear >> 7 & 7) << 4;
}

void checkDescriptor(uint64_t descriptor) {
    constexpr uint64_t swizzleOf128Bytes = 1;
    if (descriptor >> 62 != swizzleOf128Bytes || (descriptor >> 49 & 7) != 0)
        stop("a matrix descriptor of a layout that is not modelled", 0);
    const uint64_t start = (descriptor & 0x3fff) << 4;
    if (start % 1024 >= 128)
        stop("a matrix that does not begin with a row at a multiple of 1024 bytes", 0);
}

void noteRows(uint64_t descriptor, int first, int rows, int bytes, const void* place) {
    for (int row = first; row < first + rows; ++row)
        for (int byte = 0; byte < bytes; byte += 16)
            races::noteProduct(sharedMemory + offsetOf(descriptor, row, byte), 16, place);
}

int warpOfGroup() {
    return static_cast<int>(currentThread() % groupThreads / 32);
}

/// Once a warp: another thread's writes would race with the read.
void noteOperands(const Product& product) {
    if (currentThread() % 32 != 0)
        return;
    const Issue& issue = product.issue;
    if (!issue.registers)
        noteRows(issue.a, warpOfGroup() * rowsOfWarp, rowsOfWarp, kBytes, product.place);
    noteRows(issue.b, 0, issue.registers ? kSteps : issue.columns,
             issue.registers ? 2 * issue.columns : kBytes, product.place);
}

float elementAt(uint64_t descriptor, int row, int column, Number number) {
    uint16_t bits = 0;
    std::memcpy(&bits, sharedMemory + offsetOf(descriptor, row, 2 * column), sizeof bits);
    return number(bits);
}

/// Adds the products of bytes to sums of integers.
void performBytes(Sums& sums, const Issue& issue) {
    const int lane = static_cast<int>(currentThread() % 32);
    const int row = warpOfGroup() * rowsOfWarp + lane / 4;
    const auto byteAt = [](uint64_t descriptor, int line, int k, bool isSigned) -> int {
        const unsigned char bits = sharedMemory[offsetOf(descriptor, line, k)];
        return isSigned ? static_cast<signed char>(bits) : bits;
    };
    for (int column = lane % 4 * 2; column < sums.columns; column += column % 2 == 0 ? 1 : 7)
        for (int high = 0; high < 2; ++high) {
            uint32_t& sum =
                sums.values[static_cast<size_t>(column / 8 * 4 + high * 2 + column % 2)];
            for (int k = 0; k < kBytes; ++k)
                sum += static_cast<uint32_t>(
                    byteAt(issue.a, row + 8 * high, k, issue.elements.signedA) *
                    byteAt(issue.b, column, k, issue.elements.signedB));
        }
}

/// The 16 elements along k of a row.
std::array<float, kSteps> rowOf(uint64_t descriptor, int row, Number number) {
    std::array<float, kSteps> out{};
    for (int k = 0; k < kSteps; ++k)
        out[static_cast<size_t>(k)] = elementAt(descriptor, row, k, number);
    return out;
}

std::array<float, kSteps> columnOf(uint64_t descriptor, int column, Number number) {
    std::array<float, kSteps> out{};
    for (int k = 0; k < kSteps; ++k)
        out[static_cast<size_t>(k)] = elementAt(descriptor, k, column, number);
    return out;
}

void performProduct(Sums& sums, const Product& product) {
    const Issue& issue = product.issue;
    const Number number = issue.elements.number;
    if (!issue.add)
        std::fill(sums.values.begin(), sums.values.end(), 0U); // of either type
    if (number == nullptr) {
        performBytes(sums, issue);
        return;
    }
    const int lane = static_cast<int>(currentThread() % 32);
    const int row = warpOfGroup() * rowsOfWarp + lane / 4;
    const std::array a =
        issue.registers ? product.fragment.rows
                        : std::array{rowOf(issue.a, row, number), rowOf(issue.a, row + 8, number)};
    for (int column = lane % 4 * 2; column < sums.columns; column += column % 2 == 0 ? 1 : 7) {
        const auto b =
            issue.registers ? columnOf(issue.b, column, number) : rowOf(issue.b, column, number);
        for (int high = 0; high < 2; ++high) {
            uint32_t& bits =
                sums.values[static_cast<size_t>(column / 8 * 4 + high * 2 + column % 2)];
            auto sum = std::bit_cast<float>(bits);
            for (size_t k = 0; k < b.size(); ++k)
                sum += a[static_cast<size_t>(high)][k] * b[k];
            bits = std::bit_cast<uint32_t>(sum);
        }
    }
}

/// All threads of a warpgroup ask for the same products in the same order.
void checkIssue(const Issue& issue) {
    std::vector<Issue>& issues = current.issues[currentThread() / groupThreads];
    const size_t number = self().issued++;
    if (number == issues.size())
        issues.push_back(issue);
    if (issues[number] != issue)
        stop("threads of a warpgroup ask for different products", 0);
}

/// The thread's sums at this place; those that join are hidden: nobody may look.
size_t sumsAt(Thread& thread, uint32_t* place, int columns) {
    for (size_t i = 0; i < thread.sums.size(); ++i)
        if (thread.sums[i].place == place) {
            if (thread.sums[i].columns != columns)
                stop("products of other sizes for the same sums", 0);
            return i;
        }
    std::vector<uint32_t> values(static_cast<size_t>(columns / 2));
    std::memcpy(values.data(), place, values.size() * 4);
    thread.sums.push_back({place, columns, std::move(values)});
    const std::vector<float> poison(static_cast<size_t>(columns / 2), NAN);
    std::memcpy(place, poison.data(), poison.size() * 4);
    return thread.sums.size() - 1;
}

void ask(void* sums, const Issue& issue, const Fragment& fragment, const void* place) {
    Thread& thread = self();
    if (current.threads.size() % groupThreads != 0)
        stop("a product of a warpgroup that is not whole", 0);
    if (!thread.open)
        stop("a product without wgmma.fence before it", 0);
    checkIssue(issue);
    const size_t at = sumsAt(thread, static_cast<uint32_t*>(sums), issue.columns);
    const Product product{issue, fragment, at, thread.groups, current.early, place};
    noteOperands(product);
    if (product.done)
        performProduct(thread.sums[at], product);
    thread.products.push_back(product);
}

/// Rows g and g + 8 of A from the words of their four lanes.
Fragment fragmentOf(const uint32_t* a, const uint32_t (*lanes)[4], Number number) {
    Fragment out{a, {a[0], a[1], a[2], a[3]}, {}};
    const size_t quad = currentThread() % 32 / 4 * 4;
    for (size_t high = 0; high < 2; ++high)
        for (size_t k = 0; k < kSteps; ++k) {
            const uint32_t word = lanes[quad + k % 8 / 2][high + k / 8 * 2];
            out.rows[high][k] = number(static_cast<uint16_t>(word >> k % 2 * 16));
        }
    return out;
}

/// A's registers are read until the product is done.
void checkFragment(const Product& product) {
    const Fragment& fragment = product.fragment;
    if (product.issue.registers &&
        !std::equal(fragment.words.begin(), fragment.words.end(), fragment.place))
        stop("registers of a product that changed before the wait for it", 0);
}

} // namespace

void startWarpgroups(size_t threads, bool early) {
    current.threads.assign(threads, {});
    current.issues.assign((threads + groupThreads - 1) / groupThreads, {});
    current.early = early;
}

void endWarpgroups() {
    for (size_t i = 0; i < current.threads.size(); ++i) {
        if (!current.threads[i].products.empty())
            stop("a kernel ends before its products", 0);
        if (current.threads[i].issued != current.issues[i / groupThreads].size())
            stop("threads of a warpgroup ask for different products", 0);
    }
}

unsigned sharedOffset(const void* address) {
    return static_cast<unsigned>(static_cast<const unsigned char*>(address) - sharedMemory);
}

void fenceForProducts() {
    races::fenceForProducts();
}

void openProducts() {
    self().open = true;
}

void multiplyGroup(float* sums, int columns, uint64_t a, uint64_t b, bool add, Number number) {
    checkDescriptor(a);
    checkDescriptor(b);
    ask(sums, {a, b, columns, add, false, {number}}, {}, __builtin_return_address(0));
}

void multiplyBytes(int* sums, int columns, uint64_t a, uint64_t b, bool add, bool signedA,
                   bool signedB) {
    checkDescriptor(a);
    checkDescriptor(b);
    ask(sums, {a, b, columns, add, false, {nullptr, signedA, signedB}}, {},
        __builtin_return_address(0));
}

void multiplyWeighted(float* sums, int columns, const uint32_t* a, const uint32_t (*lanes)[4],
                      uint64_t b, bool add, Number number) {
    checkDescriptor(b);
    if ((b & 0x3fff) % 64 != 0)
        stop("rows along k that do not begin at a multiple of 1024 bytes", 0);
    ask(sums, {0, b, columns, add, true, {number}}, fragmentOf(a, lanes, number),
        __builtin_return_address(0));
}

void commitProducts() {
    ++self().groups;
}

void waitProducts(int pending) {
    Thread& thread = self();
    size_t done = 0;
    while (done < thread.products.size() &&
           thread.products[done].group + static_cast<size_t>(pending) < thread.groups) {
        const Product& product = thread.products[done++];
        Sums& sums = thread.sums[product.sums];
        noteOperands(product);
        checkFragment(product);
        if (!product.done)
            performProduct(sums, product);
    }
    thread.products.erase(thread.products.begin(),
                          thread.products.begin() + static_cast<ptrdiff_t>(done));
    if (done > 0 && thread.products.empty()) {
        for (const Sums& sums : thread.sums)
            std::memcpy(sums.place, sums.values.data(), sums.values.size() * 4);
        thread.sums.clear();
        thread.open = false;
    }
}

} // namespace simt
