// SPDX-License-Identifier: Apache-2.0
#include "tests/shim/simt_launch.h"

#include <cstdlib>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

namespace simt {

GuardedMemory::GuardedMemory(size_t bytes)
    : m_page(static_cast<size_t>(sysconf(_SC_PAGESIZE))), m_bytes(bytes) {
    const size_t inner = (bytes + 16 + m_page - 1) / m_page * m_page;
    m_mapped = inner + 2 * m_page;
    m_pages = static_cast<std::byte*>(
        mmap(nullptr, m_mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (m_pages == MAP_FAILED)
        std::abort();
    mprotect(m_pages, m_page, PROT_NONE);
    mprotect(m_pages + m_page + inner, m_page, PROT_NONE);
    std::memset(m_pages + m_page, 0xff, inner);
    m_data = m_pages + m_page + inner - (bytes + 15) / 16 * 16;
}

GuardedMemory::GuardedMemory(GuardedMemory&& other) noexcept
    : m_pages(other.m_pages), m_mapped(other.m_mapped), m_page(other.m_page),
      m_bytes(other.m_bytes), m_data(other.m_data) {
    other.m_pages = nullptr;
}

GuardedMemory::~GuardedMemory() {
    if (m_pages != nullptr)
        munmap(m_pages, m_mapped);
}

void GuardedMemory::setOpen(bool open) const {
    mprotect(m_pages + m_page, m_mapped - 2 * m_page, open ? PROT_READ | PROT_WRITE : PROT_NONE);
}

bool GuardedMemory::intact() const {
    for (const std::byte* at = m_pages + m_page; at < m_data; ++at)
        if (*at != std::byte{0xff})
            return false;
    for (const std::byte* at = m_data + m_bytes; at < m_pages + m_mapped - m_page; ++at)
        if (*at != std::byte{0xff})
            return false;
    return true;
}

} // namespace simt
