// SPDX-License-Identifier: Apache-2.0
// One change that a person can take back, as two functions.
#pragma once

#include <QUndoCommand>
#include <functional>

namespace fuselage::studio {

class UndoStep : public QUndoCommand {
public:
    /// `forward` runs when the step is pushed and at each redo.
    UndoStep(const QString& text, std::function<void()> forward, std::function<void()> back)
        : QUndoCommand(text), m_forward(std::move(forward)), m_back(std::move(back)) {}

    void redo() override { m_forward(); }

    void undo() override { m_back(); }

private:
    std::function<void()> m_forward, m_back;
};

} // namespace fuselage::studio
