// SPDX-License-Identifier: Apache-2.0
#include "app/studio/item_models/step_table.h"

#include "app/studio/item_models/words.h"

namespace fuselage::studio {

namespace {

QString nameOf(app::StepReport::Kind kind) {
    switch (kind) {
    case app::StepReport::Kind::Fused:
        return QObject::tr("fused");
    case app::StepReport::Kind::Rewritten:
        return QObject::tr("rewritten");
    case app::StepReport::Kind::Refused:
        return QObject::tr("refused");
    case app::StepReport::Kind::Stopped:
        break;
    }
    return QObject::tr("stopped");
}

} // namespace

StepTable* makeStepTable(QObject* parent) {
    using Row = const app::StepReport&;
    std::vector<Column<app::StepReport>> columns = {
        {"phase", "of the pipeline, with its round", Qt::AlignLeft,
         [](Row row) {
             return row.iteration > 1
                        ? QStringLiteral("%1 %2").arg(words(row.phase)).arg(row.iteration)
                        : words(row.phase);
         }},
        {"what", "was done with the match", Qt::AlignLeft,
         [](Row row) { return nameOf(row.kind); }},
        {"rule", "whose match it is", Qt::AlignLeft, [](Row row) { return words(row.rule); }},
        {"nodes", "as they were called then", Qt::AlignLeft,
         [](Row row) { return wordList(row.nodes).join(' '); }},
        {"made", "nodes that replaced them", Qt::AlignLeft,
         [](Row row) { return wordList(row.made).join(' '); }},
        {"why", "it was refused", Qt::AlignLeft,
         [](Row row) { return row.reason.code.empty() ? QString() : words(row.reason.text()); }},
    };
    return new StepTable(
        std::move(columns), [](Row row) { return wordList(row.nodes); }, parent);
}

} // namespace fuselage::studio
