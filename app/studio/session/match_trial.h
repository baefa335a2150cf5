// SPDX-License-Identifier: Apache-2.0
// Whether single fusions pay off on this machine: the model is measured with them and without them,
// then everything is as it was. What came out is a note of the session ("measure.trial").
#pragma once

#include "app/studio/session/measurements.h"

namespace fuselage::studio {

class MatchTrial : public QObject {
    Q_OBJECT

public:
    MatchTrial(Session& session, Measurements& measurements, QObject* parent = nullptr);

    /// Nothing while another trial runs. What the present figures were measured with is not
    /// measured again. Cancelling the measurement ends the trial.
    void start(const std::vector<MatchKey>& keys);

    bool running() const { return m_step != Step::Idle; }

private:
    enum class Step { Idle, With, Without };

    void take();
    void measureWithout();
    void end();
    void say(const Run& with, const Run& without);

    Session& m_session;
    Measurements& m_measurements;
    Step m_step = Step::Idle;
    std::vector<MatchKey> m_keys, m_earlier;
    int m_with = 0; ///< number of the run
    size_t m_runs = 0;
};

} // namespace fuselage::studio
