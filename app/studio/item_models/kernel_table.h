// SPDX-License-Identifier: Apache-2.0
// The kernels of the fused plan as a table, in plan order.
#pragma once

#include "app/pipeline/report.h"
#include "app/studio/item_models/row_table.h"

#include <memory>
#include <optional>
#include <unordered_map>

namespace fuselage::studio {

using KernelTable = RowTable<app::KernelReport>;

/// Times of another run's kernels by the nodes that they compute: exact, whatever was fused how.
class KernelBaseline {
public:
    /// Null: none.
    void set(const app::Report* report);

    bool empty() const { return m_kernels.empty(); }

    /// What the run spent on the kernel's nodes; nothing when its kernels reach beyond them.
    std::optional<double> seconds(const app::KernelReport& kernel) const;

private:
    struct Kernel {
        size_t nodes = 0;
        double seconds = 0;
    };

    std::vector<Kernel> m_kernels;
    std::unordered_map<std::string, std::vector<size_t>> m_byNode;
};

/// What a measurement said of the fused nodes, for their kernels.
class KernelVerdicts {
public:
    void set(const app::Report& report);

    /// Empty where none was said.
    QString text(const app::KernelReport& kernel) const;
    const char* token(const app::KernelReport& kernel) const;

private:
    struct Verdict {
        QString text;
        const char* token;
    };

    std::unordered_map<std::string, Verdict> m_verdicts; ///< by fused node
};

/// Predicted time and its error: of use beside measured times.
constexpr int predictedColumn = 2, errorColumn = 3;
/// Column of the bytes that hardware counters saw: empty unless a run counted.
constexpr int countedColumn = 8;

/// The last two columns compare with `baseline`, which the caller fills; null: there are none.
/// `verdicts` is the caller's, too.
KernelTable* makeKernelTable(QObject* parent,
                             std::shared_ptr<const KernelBaseline> baseline = nullptr,
                             std::shared_ptr<const KernelVerdicts> verdicts = nullptr);

} // namespace fuselage::studio
