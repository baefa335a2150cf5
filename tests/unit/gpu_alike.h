// SPDX-License-Identifier: Apache-2.0
// Whether a function that we declare is that of a header: the same parameters by number, size and
// kind, and a result alike. Handles and enumerations have other types here.
#pragma once

#include <type_traits>

namespace fuselage::gpu {

template <typename A, typename B>
constexpr bool
    sameKind = sizeof(A) == sizeof(B) && std::is_pointer_v<A> ==
                                             std::is_pointer_v<B>&& std::is_floating_point_v<A> ==
                                             std::is_floating_point_v<B>;

template <typename Ours, typename Theirs> struct Alike;

template <typename R, typename... A, typename S, typename... B>
struct Alike<R (*)(A...), S (*)(B...)> {
    static constexpr bool value = [] {
        if constexpr (sizeof...(A) != sizeof...(B))
            return false;
        else if constexpr (std::is_void_v<R> || std::is_void_v<S>)
            return std::is_same_v<R, S> && (sameKind<A, B> && ...);
        else
            return sameKind<R, S> && (sameKind<A, B> && ...);
    }();
};

} // namespace fuselage::gpu
