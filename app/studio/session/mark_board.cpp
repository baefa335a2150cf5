// SPDX-License-Identifier: Apache-2.0
#include "app/studio/session/mark_board.h"

namespace fuselage::studio {

void MarkBoard::set(const QString& owner, const QList<NodeMark>& marks) {
    if (m_marks.value(owner) == marks)
        return;
    m_marks[owner] = marks;
    Q_EMIT changed();
}

QList<NodeMark> MarkBoard::all() const {
    QList<NodeMark> out;
    for (const QList<NodeMark>& marks : m_marks)
        out += marks;
    return out;
}

void MarkBoard::setStep(std::optional<int> step) {
    if (step == m_step)
        return;
    m_step = step;
    Q_EMIT changed();
}

void MarkBoard::setHits(const QStringList& nodes) {
    if (nodes == m_hits)
        return;
    m_hits = nodes;
    Q_EMIT changed();
}

void MarkBoard::setTimes(const QHash<QString, double>& times) {
    if (times == m_times)
        return;
    m_times = times;
    Q_EMIT timesChanged();
    Q_EMIT changed();
}

} // namespace fuselage::studio
