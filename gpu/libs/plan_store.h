// SPDX-License-Identifier: Apache-2.0
// What cuDNN answered, kept in a folder so that the next process asks for nothing: which
// configurations a graph has, and finished plans as the library's own JSON, which holds the code
// that an engine compiled. The name of a file is a hash of the graph and of all that the answer
// depends on: the library's version, the driver's, the device.
#pragma once

#include "gpu/libs/cudnn_plan.h"

#include <memory>
#include <mutex>

namespace fuselage::gpu::cudnn {

/// The configurations without their descriptors, or why there are none.
using StoredAnswer = std::variant<std::vector<Configuration>, Reason>;

class PlanStore {
public:
    /// `folder` is made when it is first written to; empty: nothing is kept. `machine` names the
    /// device and all versions.
    PlanStore(std::string folder, std::string machine)
        : m_folder(std::move(folder)), m_machine(std::move(machine)) {}

    std::optional<StoredAnswer> answer(const std::string& planKey) const;
    /// Refusals that may be the moment's (memory, a lost device) are not kept.
    void keepAnswer(const std::string& planKey, const StoredAnswer& answer) const;

    std::optional<std::string> planJson(const std::string& planKey,
                                        const std::string& configuration) const;
    void keepPlan(const std::string& planKey, const std::string& configuration,
                  const std::string& json) const;

private:
    std::string nameOf(const std::string& planKey, const std::string& what) const;
    void write(const std::string& name, const std::string& content) const;

    std::string m_folder, m_machine;
    std::shared_ptr<std::once_flag> m_cleared = std::make_shared<std::once_flag>();
};

/// One line of JSON and back; none for text that is no such line.
std::string answerText(const StoredAnswer& answer);
std::optional<StoredAnswer> parseAnswer(std::string_view text);

} // namespace fuselage::gpu::cudnn
