// SPDX-License-Identifier: Apache-2.0
// Between a kernel that was compiled for the host and the stand-in driver, which knows a kernel as
// a function of an array of pointers to its arguments. Included by what fake_nvrtc.cpp compiles.
#pragma once

#include <utility>

namespace fakecuda {

template <typename F> struct Signature;

template <typename... A> struct Signature<void (*)(A...)> {
    static constexpr unsigned count = sizeof...(A);
    static constexpr unsigned sizes[count + 1] = {sizeof(A)..., 0};

    static void run(void (*kernel)(A...), void* const* arguments) {
        run(kernel, arguments, std::index_sequence_for<A...>{});
    }

    template <size_t... I>
    static void run(void (*kernel)(A...), void* const* arguments, std::index_sequence<I...>) {
        kernel(*static_cast<A*>(arguments[I])...);
    }
};

} // namespace fakecuda

#define FAKECUDA_KERNEL(name)                                                                      \
    extern "C" void fakecudaRun_##name(void* const* arguments) {                                   \
        fakecuda::Signature<decltype(&name)>::run(name, arguments);                                \
    }                                                                                              \
    extern "C" const unsigned fakecudaCount_##name = fakecuda::Signature<decltype(&name)>::count;  \
    extern "C" const unsigned* const fakecudaSizes_##name =                                        \
        fakecuda::Signature<decltype(&name)>::sizes;
