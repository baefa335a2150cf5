// SPDX-License-Identifier: Apache-2.0
// Handles of cuDNN for threads that plan and launch at one time.
#pragma once

#include "gpu/libs/cudnn_api.h"
#include "gpu/runtime/device.h"

#include <mutex>
#include <vector>

namespace fuselage::gpu::cudnn {

/// Handles may not be shared by threads at one time: each user takes one and gives it back.
class Handles {
public:
    Handles(LibraryPtr library, ContextPtr context)
        : m_library(std::move(library)), m_context(std::move(context)) {}

    Handles(const Handles&) = delete;
    Handles& operator=(const Handles&) = delete;

    ~Handles() {
        if (m_context->makeCurrent())
            for (Handle handle : m_all)
                (void)m_library->call().cudnnDestroy(handle);
    }

    /// Binds the device's context to the thread.
    Result<Handle> take() {
        if (auto done = m_context->makeCurrent(); !done)
            return failure(done.error());
        const std::lock_guard lock(m_mutex);
        if (!m_free.empty()) {
            Handle out = m_free.back();
            m_free.pop_back();
            return out;
        }
        Handle out = nullptr;
        if (Status status = m_library->call().cudnnCreate(&out); status != CUDNN_STATUS_SUCCESS)
            return failure("cudnn.create", "cuDNN does not start: " + m_library->words(status),
                           m_library->path());
        m_all.push_back(out);
        return out;
    }

    void giveBack(Handle handle) {
        const std::lock_guard lock(m_mutex);
        m_free.push_back(handle);
    }

    const LibraryPtr& library() const { return m_library; }

private:
    LibraryPtr m_library;
    ContextPtr m_context;
    std::mutex m_mutex;
    std::vector<Handle> m_all, m_free;
};

/// A handle for the length of a scope.
class Borrowed {
public:
    explicit Borrowed(Handles& handles) : m_handles(handles), m_handle(handles.take()) {}

    Borrowed(const Borrowed&) = delete;
    Borrowed& operator=(const Borrowed&) = delete;

    ~Borrowed() {
        if (m_handle)
            m_handles.giveBack(*m_handle);
    }

    const Result<Handle>& handle() const { return m_handle; }

private:
    Handles& m_handles;
    Result<Handle> m_handle;
};

} // namespace fuselage::gpu::cudnn
