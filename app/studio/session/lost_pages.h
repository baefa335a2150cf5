// SPDX-License-Identifier: Apache-2.0
// Data files of models are mapped. Where another program makes one shorter, e.g. exports the model
// again, reading what is gone would end the program and take unsaved rules along.
#pragma once

#include <QObject>

namespace fuselage::studio {

class Session;

/// While it lives, what is gone reads as zeros and the session says so, once for each model. One in
/// a program.
class LostPages : public QObject {
    Q_OBJECT

public:
    explicit LostPages(Session& session);
    ~LostPages() override;

    /// Whether the model that is open has lost some: what is written of its weights is not whole.
    static bool any();

private:
    void say();

    Session& m_session;
    int m_ends[2] = {-1, -1}; ///< of the pipe by which the handler of the signal tells
};

} // namespace fuselage::studio
